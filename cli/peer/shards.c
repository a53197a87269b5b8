/*
 * The shard of an element is where the upper half of its XXH3 (64 bits, seed 0) lies among the shards:
 *
 *     shard = (XXH3(element) >> 32) * shards >> 32           key {NAME:shard}
 *
 *                 "heron"  -> 0xd0b744747effe2ad   0xd0b74474 * 12 >> 32 = 9   -> {NAME:9}
 *
 * The braces make the name and the number the part of the key that a cluster hashes, so that shards spread over its
 * slots.
 *
 * The elements of a call are sorted by their shards, and each shard gets commands of up to ITEMS_A_COMMAND of them. All
 * commands are sent before the first reply is waited for. The deployment (client/deployment.h) finds the primary of
 * each key, follows slots that move, and connects again; a command whose reply was lost is sent again from here, since
 * only the caller knows whether it may be carried out twice.
 */
#include "shards.h"

#include "cli/base/messages.h"

bool shards_options_fit(const struct shards_options *options, const char *operand)
{
    if (options->count && !is_server_name(operand))
        return complain("--shards", "only for a filter in servers, redis://host:port/KEY");
    if (options->server.password_file && !is_server_name(operand))
        return complain("--password-file", "only for a filter in servers, redis://host:port/KEY");
    return connection_options_are_valid(&options->server.connection, is_encrypted_server(operand));
}

#if defined(HAVE_HIREDIS)
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <hiredis/hiredis.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/interrupt.h"
#include "cli/base/kinds.h"
#include "cli/base/numbers.h"
#include "client/deployment.h"
#include "client/event_loop.h"
#include "client/reply_fields.h"
#include "client/secrets.h"

#define WHAT_A_FILTER_IS "a filter in servers is redis://[user[:password]@]host[:port]/KEY, or rediss:// with TLS"
#define ITEMS_A_COMMAND  1024
#define PATIENCE         60000 /* milliseconds without any reply, after which commands are not sent again */
#define ERROR_ROOM       600

struct shards {
    struct event_loop *loop;
    struct deployment *deployment;
    char *name; /* for messages */
    char *key;  /* as in the URL */
    size_t key_size;
    size_t count;        /* 0: the key itself */
    size_t outstanding;  /* calls without a reply */
    uint64_t replied_at; /* milliseconds */
    bool reached;        /* a primary has replied */
    bool failed, closing;
    char error[ERROR_ROOM]; /* the first one */
};

/* ---- connecting -------------------------------------------------------------------------------------------------- */

static void fail(struct shards *shards, const char *error)
{
    if (!shards->failed)
        snprintf(shards->error, sizeof shards->error, "%s", error);
    shards->failed = true;
    event_loop_stop(shards->loop);
}

static void node_up(void *context, struct node *node)
{
    struct shards *shards = context;
    (void)node;
    shards->reached = true;
}

/* Before any server was reached it is the URL that is wrong, or the password: no reason to wait. */
static void deployment_error(void *context, const char *text)
{
    struct shards *shards = context;
    if (text && !shards->reached)
        fail(shards, text);
}

static bool connect_to(struct shards *shards, struct server_name *name, const struct connection_options *connection)
{
    struct connection_options with_needs = *connection;
    const struct deployment_events events = {.context = shards, .node_up = node_up, .error = deployment_error};
    with_needs.needs = "ROOST.ADD";
    shards->loop = event_loop_new();
    if (shards->loop)
        shards->deployment = deployment_open_named(shards->loop, name, &with_needs, &events);
    return shards->deployment || (shards->loop ? false : complain(shards->name, "no memory"));
}

/* A brace within the name would end what a cluster hashes, and put all shards into one slot. */
static bool name_fits(const struct shards *shards)
{
    return shards->count == 0 || !memchr(shards->key, '}', shards->key_size) ||
           complain(shards->name, "the name of a filter with --shards must not contain a }");
}

static bool open_named(struct shards *shards, struct server_name *name, const char *url,
                       const struct shards_options *options)
{
    shards->name = server_name_plain(name, url);
    shards->key = name->path;
    shards->key_size = name->path_size;
    shards->count = options->count;
    name->path = NULL;
    return shards->name ? name_fits(shards) && connect_to(shards, name, &options->server.connection)
                        : complain_plainly("no memory");
}

bool shards_open(struct shards **place, const char *url, const struct shards_options *options)
{
    struct shards *shards = *place = calloc(1, sizeof *shards);
    if (!shards)
        return complain_plainly("no memory");
    struct server_name name;
    struct secrets *secrets = secrets_read(options->server.password_file);
    bool fine = (server_name_read(&name, url) && name.path_size > 0) || complain("redis://", WHAT_A_FILTER_IS);
    fine = fine && secrets && (secrets_complete(secrets, &name) || complain_plainly("no memory"));
    fine = fine && open_named(shards, &name, url, options);
    secrets_free(secrets);
    server_name_release(&name);
    return fine;
}

/* Its calls are answered, with an error. */
static void disconnect(struct shards *shards)
{
    shards->closing = true;
    deployment_close(shards->deployment);
    shards->deployment = NULL;
}

void shards_close(struct shards *shards)
{
    if (!shards)
        return;
    disconnect(shards);
    event_loop_free(shards->loop);
    free(shards->name);
    free(shards->key);
    free(shards);
}

const char *shards_name(const struct shards *shards)
{
    return shards->name;
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static size_t key_count(const struct shards *shards)
{
    return shards->count ? shards->count : 1;
}

static size_t shard_of(const struct shards *shards, roost_bytes item)
{
    uint64_t hash = XXH3_64bits(item.data, item.size);
    return (size_t)((hash >> 32) * key_count(shards) >> 32);
}

/* The key of a shard, to be freed; without data if there is no memory. */
static roost_bytes key_of(const struct shards *shards, size_t shard)
{
    size_t room = shards->key_size + 24;
    char *key = malloc(room);
    if (!key)
        return (roost_bytes){0};
    if (shards->count == 0) {
        memcpy(key, shards->key, shards->key_size);
        return (roost_bytes){key, shards->key_size};
    }
    key[0] = '{';
    memcpy(key + 1, shards->key, shards->key_size);
    size_t size = 1 + shards->key_size;
    size += (size_t)snprintf(key + size, room - size, ":%zu}", shard);
    return (roost_bytes){key, size};
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* One command about one shard. */
struct call {
    struct shards *shards;
    size_t shard;
    bool repeatable;
    bool sending; /* an answer within send_call is one of ours */
    roost_bytes key;
    char *text; /* words, up to a NUL each, that follow the key; NULL: items do */
    const char *command;
    const roost_bytes *keys; /* of the caller */
    const size_t *items;     /* which of them */
    size_t count;
    bool *marks;
    void (*take)(struct call *call, const struct redisReply *reply);
    void *result;
};

static void call_answered(void *context, const struct redisReply *reply, const char *error);

static size_t word_count(const struct call *call)
{
    size_t words = 0;
    for (const char *word = call->text; word && *word; word += strlen(word) + 1)
        words++;
    return 2 + words + (call->text ? 0 : call->count);
}

static void send_call(struct call *call)
{
    size_t count = word_count(call), next = 2;
    roost_bytes *words = malloc(count * sizeof *words);
    if (!words) {
        call->repeatable = false;
        call_answered(call, NULL, "no memory");
        return;
    }
    words[0] = (roost_bytes){call->command, strlen(call->command)};
    words[1] = call->key;
    for (const char *word = call->text; word && *word; word += strlen(word) + 1)
        words[next++] = (roost_bytes){word, strlen(word)};
    for (size_t i = 0; !call->text && i < call->count; i++)
        words[next++] = call->keys[call->items[i]];
    call->sending = true;
    deployment_ask(call->shards->deployment, 0, call->key, (struct words){words, count}, call_answered, call);
    call->sending = false;
    free(words);
}

static void fail_at_key(struct call *call, const char *error)
{
    char text[ERROR_ROOM];
    snprintf(text, sizeof text, "%s%.*s%s%s", call->shards->count ? "key " : "",
             call->shards->count ? (int)call->key.size : 0, (const char *)call->key.data,
             call->shards->count ? ": " : "", error);
    fail(call->shards, text);
}

static bool is_worth_repeating(const struct call *call)
{
    const struct shards *shards = call->shards;
    return call->repeatable && !call->sending && shards->reached && !shards->failed && !shards->closing &&
           event_loop_now(shards->loop) - shards->replied_at < PATIENCE;
}

static void call_answered(void *context, const struct redisReply *reply, const char *error)
{
    struct call *call = context;
    struct shards *shards = call->shards;
    if (!reply && is_worth_repeating(call)) {
        send_call(call);
        return;
    }
    shards->outstanding--;
    if (reply) {
        shards->replied_at = event_loop_now(shards->loop);
        call->take(call, reply);
    } else if (!shards->closing) {
        fail_at_key(call, error);
    }
    if (shards->outstanding == 0)
        event_loop_stop(shards->loop);
}

/* Sends the calls, and waits for all replies. */
static bool run_calls(struct shards *shards, struct call *calls, size_t count)
{
    if (!shards->deployment || shards->failed)
        return complain(shards->name, "%s", shards->failed ? shards->error : "the connection is closed");
    shards->outstanding = count;
    shards->replied_at = event_loop_now(shards->loop);
    for (size_t i = 0; i < count && !shards->failed; i++) {
        if (calls[i].key.data)
            send_call(&calls[i]);
        else
            fail(shards, "no memory");
    }
    while (shards->outstanding > 0 && !shards->failed && !interrupted())
        event_loop_run(shards->loop);
    if (shards->outstanding > 0 || shards->failed)
        disconnect(shards);
    if (shards->failed)
        return complain(shards->name, "%s", shards->error);
    return !interrupted();
}

static void free_calls(struct call *calls, size_t count)
{
    for (size_t i = 0; calls && i < count; i++)
        free((void *)calls[i].key.data);
    free(calls);
}

/* One call of this command for each shard. */
static bool call_each(struct shards *shards, const char *command, char *text,
                      void (*take)(struct call *call, const struct redisReply *reply), void *result, size_t count)
{
    struct call *calls = calloc(count, sizeof *calls);
    if (!calls)
        return complain(shards->name, "no memory");
    for (size_t i = 0; i < count; i++)
        calls[i] = (struct call){.shards = shards,
                                 .shard = i,
                                 .repeatable = true,
                                 .key = key_of(shards, i),
                                 .text = text,
                                 .command = command,
                                 .take = take,
                                 .result = result};
    bool fine = run_calls(shards, calls, count);
    free_calls(calls, count);
    return fine;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static void take_marks(struct call *call, const struct redisReply *reply)
{
    bool fine = reply->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; fine && i < reply->elements && i < call->count; i++) {
        const struct redisReply *element = reply->element[i];
        if (element->type == REDIS_REPLY_ERROR) {
            fail_at_key(call, element->str);
            return;
        }
        fine = element->type == REDIS_REPLY_INTEGER;
        call->marks[call->items[i]] = fine && element->integer > 0;
    }
    if (reply->type == REDIS_REPLY_ERROR)
        fail_at_key(call, reply->str);
    else if (!fine || reply->elements != call->count)
        fail_at_key(call, "the server sent a reply that was not expected");
}

struct sorting {
    size_t *first; /* of each shard, in `items`; one more at the end */
    size_t *items; /* by shard, and in their order within it */
};

static bool sort_items(const struct shards *shards, struct sorting *sorting, const roost_bytes *keys, size_t count)
{
    size_t shard_count = key_count(shards);
    sorting->first = calloc(shard_count + 1, sizeof *sorting->first);
    sorting->items = malloc((count + 1) * sizeof *sorting->items);
    size_t *shard = malloc((count + 1) * sizeof *shard), *next = malloc((shard_count + 1) * sizeof *next);
    bool fine = sorting->first && sorting->items && shard && next;
    for (size_t i = 0; fine && i < count; i++) {
        shard[i] = shard_of(shards, keys[i]);
        sorting->first[shard[i] + 1]++;
    }
    for (size_t i = 0; fine && i < shard_count; i++)
        sorting->first[i + 1] += sorting->first[i];
    if (fine)
        memcpy(next, sorting->first, (shard_count + 1) * sizeof *next);
    for (size_t i = 0; fine && i < count; i++)
        sorting->items[next[shard[i]]++] = i;
    free(shard);
    free(next);
    return fine;
}

static size_t commands_for(size_t items)
{
    return (items + ITEMS_A_COMMAND - 1) / ITEMS_A_COMMAND;
}

/* Cuts the items of each shard into commands like `model`. Returns how many. */
static size_t make_calls(struct call *calls, const struct call *model, const struct sorting *sorting)
{
    size_t made = 0;
    for (size_t shard = 0; shard < key_count(model->shards); shard++)
        for (size_t i = sorting->first[shard]; i < sorting->first[shard + 1]; i += ITEMS_A_COMMAND) {
            size_t left = sorting->first[shard + 1] - i;
            calls[made] = *model;
            calls[made].shard = shard;
            calls[made].key = key_of(model->shards, shard);
            calls[made].items = sorting->items + i;
            calls[made++].count = left < ITEMS_A_COMMAND ? left : ITEMS_A_COMMAND;
        }
    return made;
}

bool shards_call(struct shards *shards, const char *command, bool repeatable, bool *marks, const roost_bytes *keys,
                 size_t count)
{
    struct sorting sorting = {0};
    const struct call model = {.shards = shards,
                               .repeatable = repeatable,
                               .command = command,
                               .keys = keys,
                               .marks = marks,
                               .take = take_marks};
    bool fine = sort_items(shards, &sorting, keys, count);
    size_t room = 0, made = 0;
    for (size_t i = 0; fine && i < key_count(shards); i++)
        room += commands_for(sorting.first[i + 1] - sorting.first[i]);
    struct call *calls = fine ? calloc(room + 1, sizeof *calls) : NULL;
    if (calls)
        made = make_calls(calls, &model, &sorting);
    fine = calls ? made == 0 || run_calls(shards, calls, made) : complain(shards->name, "no memory");
    free_calls(calls, made);
    free(sorting.first);
    free(sorting.items);
    return fine;
}

/* ---- what they are and hold -------------------------------------------------------------------------------------- */

/* Whether a key can be a shard beside another one. Capacities may differ. A rate of 0 follows from other options. */
static bool same_kind(const roost_config *one, const roost_config *other)
{
    return one->kind == other->kind && one->scalable == other->scalable && one->multiset == other->multiset &&
           one->semantics == other->semantics && one->seed == other->seed &&
           (one->fpr == other->fpr || one->fpr <= 0 || other->fpr <= 0);
}

static void add_facts(struct shards_facts *facts, const roost_config *config, const struct redisReply *reply)
{
    int64_t inserted, bytes, parts, holds;
    read_field(&inserted, reply, "inserted");
    read_field(&bytes, reply, "bytes_memory");
    read_field(&parts, reply, "imported_parts");
    double elements = fraction_in(reply, "elements"), fpr = fraction_in(reply, "fpr_now");
    facts->shards++;
    facts->config = *config;
    facts->capacity += config->capacity;
    facts->inserted += (uint64_t)inserted;
    facts->bytes_memory += (uint64_t)bytes;
    facts->imported |= parts > 0;
    facts->elements += elements;
    facts->most_elements = fmax(facts->most_elements, elements);
    facts->fpr_now += fpr;
    facts->worst_fpr = fmax(facts->worst_fpr, fpr);
    facts->promise_holds &= read_field(&holds, reply, "promise_holds") && holds;
}

static void add_missing(struct shards_facts *facts, size_t shard)
{
    facts->first_missing = facts->missing == 0 || shard < facts->first_missing ? shard : facts->first_missing;
    facts->missing++;
}

/* The shard behind the last one is asked for, too: if it is there, there are more shards than was said. */
static void take_info(struct call *call, const struct redisReply *reply)
{
    struct shards *shards = call->shards;
    struct shards_facts *facts = call->result;
    roost_config config;
    bool extra = call->shard >= key_count(shards), absent = is_error(reply, "ERR not found");
    if (absent && !extra)
        add_missing(facts, call->shard);
    if (absent)
        return;
    if (extra)
        fail_at_key(call, "is there as well: the filter has more than this many --shards");
    else if (reply->type == REDIS_REPLY_ERROR)
        fail_at_key(call, reply->str);
    else if (!read_config(&config, reply))
        fail_at_key(call, "the server sent a reply that was not expected");
    else if (facts->shards > 0 && !same_kind(&facts->config, &config))
        fail_at_key(call, "was created with other options than the keys before it");
    else
        add_facts(facts, &config, reply);
}

static void count_nodes(struct shards *shards, struct shards_facts *facts)
{
    struct node **seen = calloc(key_count(shards), sizeof(struct node *));
    for (size_t i = 0; seen && i < key_count(shards); i++) {
        roost_bytes key = key_of(shards, i);
        struct node *node = key.data ? deployment_node(shards->deployment, key) : NULL;
        size_t known = 0;
        while (known < facts->nodes && seen[known] != node)
            known++;
        if (node && known == facts->nodes)
            seen[facts->nodes++] = node;
        free((void *)key.data);
    }
    free(seen);
}

bool shards_look(struct shards *shards, struct shards_facts *facts, bool whole)
{
    static char full[] = "FULL\0", nothing[] = "\0";
    *facts = (struct shards_facts){.promise_holds = true};
    if (!call_each(shards, "ROOST.INFO", whole ? full : nothing, take_info, facts,
                   shards->count ? shards->count + 1 : 1))
        return false;
    if (facts->shards > 0)
        facts->fpr_now /= (double)facts->shards;
    count_nodes(shards, facts);
    return true;
}

static bool is_a_filter(const struct shards *shards, const struct shards_facts *facts)
{
    roost_kind kind = facts->config.kind;
    return (kind != ROOST_WINDOW && kind != ROOST_COUNTER) ||
           complain(shards->name, "holds a %s; use ROOST.SEEN and ROOST.INCR there", kind_name(kind));
}

static bool complain_of_missing(const struct shards *shards, const struct shards_facts *facts)
{
    char present[THINGS_ROOM];
    format_things(present, facts->shards, "key");
    if (facts->first_missing == facts->shards && facts->inserted > 0)
        return complain(shards->name,
                        "has %s, and not %zu: give --shards %llu; or, if the others were lost, create them with roost "
                        "create --force and add all elements again",
                        present, shards->count, (unsigned long long)facts->shards);
    return complain(
        shards->name,
        "%llu of its %zu keys %s missing, with the elements that were in them: create them with roost create%s, "
        "and add all elements again",
        (unsigned long long)facts->missing, shards->count, facts->missing == 1 ? "is" : "are",
        facts->inserted > 0 ? " --force" : "");
}

bool shards_look_at_all(struct shards *shards, struct shards_facts *facts, bool whole)
{
    if (!shards_look(shards, facts, whole))
        return false;
    if (facts->missing == 0)
        return is_a_filter(shards, facts);
    if (shards->count == 0)
        return complain(shards->name, "does not exist; roost create creates it (or is it one with --shards?)");
    if (facts->missing == shards->count)
        return complain(shards->name, "does not exist; roost create with --shards %zu creates it", shards->count);
    return complain_of_missing(shards, facts);
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/*
 * How many elements come to a shard is a matter of chance: about the square root of their mean more or less. The
 * capacity is so much larger that no shard exceeds it as long as the whole does not, but for a chance below 10^-6: by
 * Bernstein's inequality the chance of one is at most exp(-t^2 / 2(mean + t / 3)), which is below 4 * 10^-11 for every
 * mean.
 */
static uint64_t capacity_of_one(const struct shards *shards, uint64_t whole)
{
    double mean = (double)whole / (double)key_count(shards);
    return key_count(shards) == 1 ? whole : (uint64_t)ceil(mean + 7 * sqrt(mean) + 16);
}

#define WORDS_ROOM 400

struct word_list {
    char text[WORDS_ROOM]; /* each word ends with a NUL, the last one with two */
    size_t size;
};

static void put_word(struct word_list *list, const char *word)
{
    size_t size = strlen(word) + 1;
    if (list->size + size < WORDS_ROOM) /* as all of them do together */
        memcpy(list->text + list->size, word, size);
    list->size += size;
}

static void put_pair(struct word_list *list, const char *name, const char *value)
{
    put_word(list, name);
    put_word(list, value);
}

static void put_number(struct word_list *list, const char *name, uint64_t number)
{
    char text[24];
    if (number == 0)
        return;
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    put_pair(list, name, text);
}

/* The options of ROOST.CREATE; what is 0 is left out, and has its default there. */
static void put_config(struct word_list *list, const roost_config *config)
{
    char rate[40], seed[24];
    snprintf(rate, sizeof rate, "%.17g", config->fpr);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)config->seed);
    put_pair(list, "KIND", kind_name(config->kind));
    put_number(list, "CAPACITY", config->capacity);
    if (config->fpr > 0)
        put_pair(list, "FPR", rate);
    put_pair(list, "SEED", seed);
    if (config->kind == ROOST_BLOOM)
        put_pair(list, "LAYOUT", layout_name(config->layout));
    put_number(list, "BITS", config->fingerprint_bits);
    if (config->kind != ROOST_BLOOM && !config->scalable)
        put_number(list, "BUCKET", config->bucket_size);
    put_number(list, "ENTRY", config->entry_bits);
    if (config->multiset)
        put_word(list, "MULTISET");
    if (config->semantics)
        put_pair(list, "SEMANTICS", semantics_name(config->semantics));
    if (config->scalable)
        put_word(list, "SCALABLE");
    put_number(list, "WRITERS", config->writers);
    put_number(list, "GROWTH", config->growth);
    if (config->schedule)
        put_pair(list, "SCHEDULE", schedule_name(config->schedule));
}

/* One that is there already stays as it is; a look afterwards compares it with the others. */
static void take_created(struct call *call, const struct redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR && !is_error(reply, "ERR item exists"))
        fail_at_key(call, reply->str);
}

/* Empty shards are those of a creation that was interrupted. Beside others, a new one would be asked for elements that
   are elsewhere, or lost. */
static bool may_complete(const struct shards *shards, const struct shards_facts *facts, const roost_config *config,
                         bool force)
{
    if (facts->missing == 0)
        return complain(shards->name, "already exists");
    if (facts->shards > 0 && !same_kind(&facts->config, config))
        return complain(shards->name, "some of its keys exist already, with other options");
    return facts->inserted == 0 || force || complain_of_missing(shards, facts);
}

bool shards_create(struct shards *shards, const roost_config *config, bool force)
{
    struct shards_facts facts;
    struct word_list list = {.size = 0};
    roost_config one = *config;
    if (!shards_look(shards, &facts, false) || !may_complete(shards, &facts, config, force))
        return false;
    one.capacity = config->capacity ? capacity_of_one(shards, config->capacity) : 0;
    put_config(&list, &one);
    return call_each(shards, "ROOST.CREATE", list.text, take_created, NULL, key_count(shards)) &&
           shards_look_at_all(shards, &facts, false);
}

#else

bool shards_open(struct shards **shards, const char *url, const struct shards_options *options)
{
    (void)url;
    (void)options;
    *shards = NULL;
    return complain("redis://", "this roost was built without hiredis and libevent, and cannot talk to servers");
}

void shards_close(struct shards *shards)
{
    (void)shards;
}

const char *shards_name(const struct shards *shards)
{
    (void)shards;
    return "redis://";
}

bool shards_look(struct shards *shards, struct shards_facts *facts, bool whole)
{
    (void)shards;
    (void)facts;
    (void)whole;
    return false;
}

bool shards_look_at_all(struct shards *shards, struct shards_facts *facts, bool whole)
{
    return shards_look(shards, facts, whole);
}

bool shards_create(struct shards *shards, const roost_config *config, bool force)
{
    (void)force;
    (void)shards;
    (void)config;
    return false;
}

bool shards_call(struct shards *shards, const char *command, bool repeatable, bool *marks, const roost_bytes *keys,
                 size_t count)
{
    (void)shards;
    (void)command;
    (void)repeatable;
    (void)marks;
    (void)keys;
    (void)count;
    return false;
}

#endif
