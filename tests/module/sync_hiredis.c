/*
 * A replica of its own that syncs with keys of a server, through hiredis: the initiator of ROOST.SYNC.
 *
 *     sync-hiredis SOCKET
 *
 * For each kind of filter: changes here and there, a sync, equal digests; with cursors that are remembered, and
 * without. At the end each side asks the other for what it added.
 */
#include <hiredis/hiredis.h>
#include <roost.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 6

static const struct kind {
    const char *key, *options;
    roost_config config;
} kinds[] = {
    {"sync-bloom", "CAPACITY 20000", {.kind = ROOST_BLOOM, .layout = ROOST_BLOCKED, .capacity = 20000, .fpr = 0.01}},
    {"sync-scalable",
     "KIND bloom SCALABLE CAPACITY 500 WRITERS 4",
     {.kind = ROOST_BLOOM, .layout = ROOST_BLOCKED, .capacity = 500, .fpr = 0.01, .scalable = true, .writers = 4}},
    {"sync-cuckoo",
     "KIND cuckoo CAPACITY 20000",
     {.kind = ROOST_CUCKOO, .capacity = 20000, .fpr = 0.01, .bucket_size = 4}},
    {"sync-set",
     "KIND orcuckoo SCALABLE CAPACITY 500",
     {.kind = ROOST_ORCUCKOO, .capacity = 500, .fpr = 0.01, .bucket_size = 4, .scalable = true}},
    {"sync-multi",
     "KIND orcuckoo MULTISET CAPACITY 20000",
     {.kind = ROOST_ORCUCKOO, .capacity = 20000, .fpr = 0.01, .bucket_size = 4, .multiset = true}},
};

static void must(int holds, const char *what)
{
    if (holds)
        return;
    printf("not ok %s\n", what);
    exit(1);
}

static redisReply *ask(redisContext *server, const char *command)
{
    redisReply *reply = redisCommand(server, command);
    must(reply && reply->type != REDIS_REPLY_ERROR, reply ? reply->str : command);
    return reply;
}

static void tell(redisContext *server, const char *command)
{
    freeReplyObject(ask(server, command));
}

static void add_there(redisContext *server, const char *key, unsigned round, unsigned count)
{
    char command[128];
    for (unsigned i = 0; i < count; i++) {
        snprintf(command, sizeof command, "ROOST.ADD %s there-%u-%u", key, round, i);
        tell(server, command);
    }
}

static void add_here(roost_filter *filter, unsigned round, unsigned count)
{
    char item[64];
    for (unsigned i = 0; i < count; i++) {
        int size = snprintf(item, sizeof item, "here-%u-%u", round, i);
        must(roost_filter_add(filter, NULL, item, (size_t)size) == ROOST_OK, "an addition here");
    }
}

static void exchange(redisContext *server, const char *key, roost_sync *sync)
{
    roost_buffer request;
    must(roost_sync_next(sync, &request, NULL, 0) == ROOST_OK, "the first request");
    while (request.size) {
        redisReply *reply = redisCommand(server, "ROOST.SYNC %s %b", key, request.data, request.size);
        roost_buffer_release(&request);
        must(reply && reply->type == REDIS_REPLY_STRING, "a reply");
        must(roost_sync_next(sync, &request, reply->str, reply->len) == ROOST_OK, "the next request");
        freeReplyObject(reply);
    }
    roost_buffer_release(&request);
    must(roost_sync_get_result(sync).equal, "both are equal");
}

static void compare_digests(redisContext *server, const char *key, roost_filter *filter)
{
    char text[33], command[64];
    snprintf(command, sizeof command, "ROOST.DIGEST %s", key);
    redisReply *reply = ask(server, command);
    roost_digest_text(roost_filter_digest(filter), text);
    must(reply->len == 32 && memcmp(reply->str, text, 32) == 0, "digests are equal");
    freeReplyObject(reply);
}

/* Every other round the cursors are forgotten. */
static void sync_once(redisContext *server, const char *key, roost_filter *filter, roost_buffer *memory, unsigned round)
{
    roost_sync *sync;
    bool remember = round % 2 == 1;
    must(roost_sync_new(&sync, filter, remember ? memory->data : NULL, remember ? memory->size : 0) == ROOST_OK,
         "a sync");
    exchange(server, key, sync);
    roost_buffer_release(memory);
    must(roost_sync_save_memory(sync, memory) == ROOST_OK, "its memory");
    roost_sync_free(sync);
    compare_digests(server, key, filter);
}

static void check_all(redisContext *server, const struct kind *kind, roost_filter *filter)
{
    char item[64], command[128];
    for (unsigned round = 0; round < ROUNDS; round++) {
        int size = snprintf(item, sizeof item, "there-%u-1", round);
        bool removed = kind->config.kind == ROOST_ORCUCKOO && round % 3 == 2;
        must(roost_filter_contains(filter, item, (size_t)size) == !removed, "what was added there");
        snprintf(command, sizeof command, "ROOST.EXISTS %s here-%u-1", kind->key, round);
        redisReply *reply = ask(server, command);
        must(reply->elements == 1 && reply->element[0]->integer == 1, "what was added here");
        freeReplyObject(reply);
    }
}

static void run_kind(redisContext *server, const struct kind *kind)
{
    char command[160];
    roost_filter *filter;
    roost_buffer memory = {0};
    roost_config config = kind->config;
    config.seed = ROOST_DEFAULT_SEED;
    must(roost_filter_new(&filter, &config, NULL) == ROOST_OK, "a filter");
    snprintf(command, sizeof command, "ROOST.CREATE %s %s", kind->key, kind->options);
    tell(server, command);
    for (unsigned round = 0; round < ROUNDS; round++) {
        add_there(server, kind->key, round, 40);
        add_here(filter, round, 200);
        sync_once(server, kind->key, filter, &memory, round);
        if (kind->config.kind == ROOST_ORCUCKOO && round % 3 == 2) {
            snprintf(command, sizeof command, "there-%u-1", round);
            must(roost_filter_remove(filter, NULL, command, strlen(command)) == ROOST_OK, "a removal");
            sync_once(server, kind->key, filter, &memory, round);
        }
    }
    check_all(server, kind, filter);
    roost_buffer_release(&memory);
    roost_filter_free(filter);
    printf("ok %s is synced through hiredis\n", kind->key);
}

int main(int count, char **arguments)
{
    must(count == 2, "usage: sync-hiredis SOCKET");
    redisContext *server = redisConnectUnix(arguments[1]);
    must(server && !server->err, "a connection");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        run_kind(server, &kinds[i]);
    redisFree(server);
    return 0;
}
