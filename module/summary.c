/*
 * See summary.h.
 *
 * Whoever waits is a blocked client; the first change wakes all of them, and their answers are made when the server
 * comes to it, of what the names hold then. A client that goes away, or has waited long enough, leaves the list itself.
 *
 * The time is kept by a timer of ours: a server that finds a client's time to be over in the very turn in which it was
 * woken (Redis 7.0, after a slow command) would let it go without any answer.
 */
#include "summary.h"

#include <limits.h>
#include <stdio.h>

#include "arguments.h"
#include "cursors.h"
#include "registry.h"
#include "replies.h"

#define MOST_WAIT (24LL * 3600 * 1000) /* milliseconds */

struct question {
    uint64_t since;
    long long count, wait;
};

/* ---- the digest ----------------------------------------------------------------------------------------------------
 */

static sum128 part_of(const struct registry_entry *entry)
{
    size_t size;
    uint8_t digest[16];
    uint64_t generation = registry_generation_of(entry);
    const char *name = RedisModule_StringPtrLen(entry->name, &size);
    if (!entry->value && generation == 0)
        return 0;
    sum128 sum = checksum_wide(SUM128_START, &entry->database, sizeof entry->database);
    sum = checksum_wide(checksum_wide(sum, name, size), &generation, sizeof generation);
    if (!entry->value)
        return sum;
    entry->value->class->digest(entry->value, digest);
    return checksum_wide(sum, digest, sizeof digest);
}

static void bring_up_to_date(void)
{
    for (struct registry_entry *entry = registry.newest; entry && entry->stale; entry = entry->older) {
        registry.digest -= entry->part;
        entry->part = part_of(entry);
        registry.digest += entry->part;
        entry->stale = false;
    }
}

/* ---- the answer ----------------------------------------------------------------------------------------------------
 */

static void reply_value(RedisModuleCtx *ctx, struct value *value)
{
    roost_digest digest;
    roost_cursor cursor;
    value->class->digest(value, digest.bytes);
    reply_digest(ctx, digest);
    if (value->class->cursor(value, &cursor) == ROOST_OK)
        reply_cursor(ctx, cursor);
    else
        RedisModule_ReplyWithNull(ctx);
}

static void reply_entry(RedisModuleCtx *ctx, const struct registry_entry *entry)
{
    RedisModule_ReplyWithArray(ctx, 5);
    RedisModule_ReplyWithLongLong(ctx, entry->database);
    RedisModule_ReplyWithString(ctx, entry->name);
    RedisModule_ReplyWithLongLong(ctx, (long long)registry_generation_of(entry));
    if (entry->value) {
        reply_value(ctx, entry->value);
    } else {
        RedisModule_ReplyWithNull(ctx);
        RedisModule_ReplyWithNull(ctx);
    }
}

/* Up to where this many entries tell. */
static uint64_t told_by(const struct registry_entry *entry, long long count)
{
    while (entry && --count > 0)
        entry = entry->newer;
    return entry && entry->newer ? entry->sequence : registry.sequence;
}

static void reply_changed(RedisModuleCtx *ctx, const struct registry_entry *entry, uint64_t told)
{
    long count = 0;
    RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
    for (; entry && entry->sequence <= told; entry = entry->newer, count++)
        reply_entry(ctx, entry);
    RedisModule_ReplySetArrayLength(ctx, count);
}

static int reply_summary(RedisModuleCtx *ctx, const struct question *question)
{
    char mark[40];
    roost_digest sum;
    bring_up_to_date();
    sum128_bytes(registry.digest, sum.bytes);
    const struct registry_entry *first = registry_after(question->since);
    uint64_t told = told_by(first, question->count);
    snprintf(mark, sizeof mark, "%016llx-%llx", (unsigned long long)registry.incarnation, (unsigned long long)told);
    reply_map_begin(ctx, 5);
    reply_name(ctx, "digest");
    reply_digest(ctx, sum);
    reply_text_pair(ctx, "mark", mark);
    reply_number_pair(ctx, "keys", (long long)registry.keys);
    reply_name(ctx, "changed");
    reply_changed(ctx, first, told);
    reply_name(ctx, "more");
    return RedisModule_ReplyWithBool(ctx, told != registry.sequence);
}

/* ---- waiting -------------------------------------------------------------------------------------------------------
 */

struct waiting {
    struct waiting *next;
    RedisModuleBlockedClient *client;
    struct question question;
    uint64_t incarnation;
    RedisModuleTimerID timer;
};
static struct waiting *all_waiting;

static void wake_all(void)
{
    registry_wake_at_change(NULL);
    while (all_waiting) {
        struct waiting *waiting = all_waiting;
        all_waiting = waiting->next;
        RedisModule_UnblockClient(waiting->client, waiting);
    }
}

static int answer_woken(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    (void)argv, (void)argc;
    struct waiting *waiting = RedisModule_GetBlockedClientPrivateData(ctx);
    if (waiting->incarnation != registry.incarnation)
        waiting->question.since = 0;
    registry_complete(ctx);
    return reply_summary(ctx, &waiting->question);
}

static struct waiting *stop_waiting(RedisModuleBlockedClient *client)
{
    for (struct waiting **place = &all_waiting; *place; place = &(*place)->next) {
        if ((*place)->client != client)
            continue;
        struct waiting *waiting = *place;
        *place = waiting->next;
        return waiting;
    }
    return NULL;
}

/* CLIENT UNBLOCK. */
static int answer_unblocked(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    (void)argv, (void)argc;
    RedisModuleBlockedClient *client = RedisModule_GetBlockedClientHandle(ctx);
    struct waiting *waiting = stop_waiting(client);
    if (!waiting)
        return REDISMODULE_OK;
    reply_summary(ctx, &waiting->question);
    return RedisModule_UnblockClient(client, waiting);
}

static void waited_enough(RedisModuleCtx *ctx, void *data)
{
    (void)ctx;
    struct waiting *waiting = data;
    if (stop_waiting(waiting->client)) /* else it is woken already */
        RedisModule_UnblockClient(waiting->client, waiting);
}

static void forget_waiting(RedisModuleCtx *ctx, RedisModuleBlockedClient *client)
{
    (void)ctx;
    struct waiting *waiting = stop_waiting(client);
    if (waiting)
        RedisModule_UnblockClient(client, waiting);
}

static void free_waiting(RedisModuleCtx *ctx, void *data)
{
    struct waiting *waiting = data;
    RedisModule_StopTimer(ctx, waiting->timer, NULL);
    RedisModule_Free(waiting);
}

static int wait_for_change(RedisModuleCtx *ctx, const struct question *question)
{
    struct waiting *waiting = RedisModule_Alloc(sizeof *waiting);
    *waiting = (struct waiting){.next = all_waiting, .question = *question, .incarnation = registry.incarnation};
    waiting->client = RedisModule_BlockClient(ctx, answer_woken, answer_unblocked, free_waiting, 0);
    waiting->timer = RedisModule_CreateTimer(ctx, question->wait, waited_enough, waiting);
    RedisModule_SetDisconnectCallback(waiting->client, forget_waiting);
    all_waiting = waiting;
    registry_wake_at_change(wake_all);
    return REDISMODULE_OK;
}

/* ---- the command ---------------------------------------------------------------------------------------------------
 */

/* "incarnation-sequence", in hexadecimal; 0 for a mark that is none of this life's, or may have missed something. */
static uint64_t sequence_of(RedisModuleString *mark)
{
    roost_cursor read;
    if (!read_cursor(&read, mark) || read.incarnation != registry.incarnation || read.sequence < registry.floor)
        return 0;
    return read.sequence <= registry.sequence ? read.sequence : 0;
}

/* NULL, or the error. */
static const char *read_question(struct question *question, RedisModuleString **argv, int argc)
{
    *question = (struct question){.count = LLONG_MAX};
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return ERROR_UNKNOWN;
        if (argument_is(argv[i], "SINCE"))
            question->since = sequence_of(argv[i + 1]);
        else if (argument_is(argv[i], "COUNT") && !argument_number(argv[i + 1], &question->count, 1, LLONG_MAX))
            return "ERR COUNT must be at least 1";
        else if (argument_is(argv[i], "WAIT") && !argument_number(argv[i + 1], &question->wait, 0, MOST_WAIT))
            return "ERR WAIT must be from 0 to 86400000 milliseconds";
        else if (!argument_is(argv[i], "COUNT") && !argument_is(argv[i], "WAIT"))
            return ERROR_UNKNOWN;
    }
    return NULL;
}

static bool may_wait(RedisModuleCtx *ctx)
{
    return !(RedisModule_GetContextFlags(ctx) &
             (REDISMODULE_CTX_FLAGS_MULTI | REDISMODULE_CTX_FLAGS_LUA | REDISMODULE_CTX_FLAGS_DENY_BLOCKING));
}

int summary_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct question question;
    registry_complete(ctx);
    const char *error = read_question(&question, argv, argc);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    if (question.wait && question.since && question.since == registry.sequence && may_wait(ctx))
        return wait_for_change(ctx, &question);
    return reply_summary(ctx, &question);
}
