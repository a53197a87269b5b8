/* ROOST.ADD, REM, REMONE, EXISTS and COUNT for filters of every kind, and the table of all ROOST.* commands. */
#include "module/base/arguments.h"
#include "module/base/replies.h"
#include "module/job/batch.h"
#include "module/key/changes.h"
#include "module/key/target.h"
#include "module/value/timed.h"
#include "ask.h"
#include "commands.h"
#include "create.h"
#include "delta.h"
#include "dump_restore.h"
#include "generation.h"
#include "identity.h"
#include "info.h"
#include "items.h"
#include "link.h"
#include "merge.h"
#include "pull_push.h"
#include "summary.h"
#include "sync.h"
#include "window.h"

static const char *add_error(const struct target *target, roost_status status)
{
    (void)target;
    return status == ROOST_FULL ? "ERR the filter is full"
           : status == ROOST_NO_MEMORY || status == ROOST_TOO_LARGE
               ? memory_error()
               : "ERR the filter cannot tell more writers apart, or the system gives no random numbers";
}

static int refuse_timed(struct target *target)
{
    bool window = config_of(target->filter)->kind == ROOST_WINDOW;
    target_close(target);
    return RedisModule_ReplyWithError(target->ctx, window ? "ERR the key holds a window: ROOST.SEEN adds to it"
                                                          : "ERR the key holds a counter: ROOST.INCR counts there");
}

static roost_status add_slice(struct target *target, size_t *done, struct batch_items items)
{
    return batch_add(target, done, items, "roost.add");
}

static const struct batch_verb add_verb = {add_slice, batch_reply_booleans, add_error};

static int add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc < 3)
        return RedisModule_WrongArity(ctx);
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE))
        return REDISMODULE_OK;
    if (is_timed(target.filter->filter))
        return refuse_timed(&target);
    return batch_run(&target, &add_verb, argv + 2, (size_t)argc - 2);
}

static roost_status remove_slice(struct target *target, size_t *done, struct batch_items items, bool one)
{
    bool changed[BATCH_SLICE] = {false};
    roost_bytes keys[BATCH_SLICE] = {{0}};
    if (config_of(target->filter)->kind != ROOST_ORCUCKOO)
        return ROOST_UNSUPPORTED;
    batch_keys(&items, keys);
    roost_status status = target_remove(target, changed, keys, items.count, one);
    batch_results(&items, changed, items.count);
    if (status == ROOST_OK)
        target_changed(target, "roost.rem");
    *done = items.count;
    return status;
}

static roost_status rem_slice(struct target *target, size_t *done, struct batch_items items)
{
    return remove_slice(target, done, items, false);
}

static roost_status remone_slice(struct target *target, size_t *done, struct batch_items items)
{
    return remove_slice(target, done, items, true);
}

static const char *no_error(const struct target *target, roost_status status)
{
    (void)target;
    (void)status;
    return NULL;
}

static int reply_removed(RedisModuleCtx *ctx, const int *results, size_t done, roost_status status, const char *error)
{
    return status == ROOST_OK ? batch_reply_booleans(ctx, results, done, status, error) : reply_status(ctx, status);
}

static const struct batch_verb rem_verb = {rem_slice, reply_removed, no_error};
static const struct batch_verb remone_verb = {remone_slice, reply_removed, no_error};

/* ROOST.REM removes all copies, ROOST.REMONE one. */
static int remove_items(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, const struct batch_verb *verb)
{
    struct target target;
    if (argc < 3)
        return RedisModule_WrongArity(ctx);
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE))
        return REDISMODULE_OK;
    return batch_run(&target, verb, argv + 2, (size_t)argc - 2);
}

static int rem_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return remove_items(ctx, argv, argc, &rem_verb);
}

static int remone_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return remove_items(ctx, argv, argc, &remone_verb);
}

static bool is_filter(const struct target *target)
{
    return target->filter;
}

static int exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return reply_contained(ctx, argv, argc, &(struct membership_query){.takes = is_filter, .refuses_others = true});
}

static uint64_t count_of(const struct filter_value *filter, roost_bytes key)
{
    bool found;
    if (!is_timed(filter->filter))
        return roost_filter_count(filter->filter, key.data, key.size);
    timed_contains(filter->filter, &found, &key, 1);
    return found;
}

static int count_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc < 3)
        return RedisModule_WrongArity(ctx);
    target_open(&target, ctx, argv[1], REDISMODULE_READ);
    if (!target.filter && !target.missing)
        return target_refuse(&target, ERROR_NOT_FOUND);
    RedisModule_ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i++) {
        roost_bytes key = argument_bytes(argv[i]);
        uint64_t count = target.filter ? count_of(target.filter, key) : 0;
        RedisModule_ReplyWithLongLong(ctx, (long long)count);
    }
    target_close(&target);
    return REDISMODULE_OK;
}

const struct command roost_commands[] = {
    {"roost.create", create_command, "write deny-oom fast", ONE_KEY, -2, "Creates an empty filter of any kind", "O(1)",
     "key [KIND bloom|cuckoo|orcuckoo|window|counter] [CAPACITY capacity:i] [FPR rate:d] [SEED seed:i] [SCALABLE] "
     "[WRITERS writers:i] [GROWTH growth:i] [SCHEDULE gentle|quadratic|halving] [LAYOUT blocked|classic] [BITS bits:i] "
     "[BUCKET size:i] [ENTRY bits:i] [MULTISET] [WINDOW milliseconds:i] [PAST slots:i]"},
    {"roost.add", add_command, "write deny-oom", ONE_KEY, -3, "Adds items", "O(n), n items", "key item..."},
    {"roost.rem", rem_command, "write", ONE_KEY, -3, "Removes items from an observed-remove filter", "O(n), n items",
     "key item..."},
    {"roost.remone", remone_command, "write", ONE_KEY, -3, "Removes one copy of each item from a multiset",
     "O(n), n items", "key item..."},
    {"roost.exists", exists_command, "readonly", ONE_KEY, -3, "Checks whether items are (probably) in the filter",
     "O(n), n items", "key item..."},
    {"roost.count", count_command, "readonly", ONE_KEY, -3, "Returns how many copies of each item there are",
     "O(n), n items", "key item..."},
    {"roost.seen", seen_command, "write deny-oom fast", ONE_KEY, -3,
     "Checks whether an id came within the window, and records that it came now", "O(k), k hash functions",
     "key id [WINDOW milliseconds:i]"},
    {"roost.mseen", mseen_command, "write deny-oom", ONE_KEY, -3, "Checks and records several ids", "O(k * n), n ids",
     "key id..."},
    {"roost.incr", incr_command, "write deny-oom fast", ONE_KEY, 4,
     "Adds to a counter, unless the id was counted within the window", "O(k), k hash functions", "key id amount:i"},
    {"roost.get", get_command, "readonly fast", ONE_KEY, 2, "Returns the value of a counter",
     "O(n), n actors: one for each start of a server that has counted", "key"},
    {"roost.merge", merge_command, "write deny-oom", ONE_KEY, 3, "Merges a frame: a state or a delta",
     "O(n), n bytes of the frame", "key frame"},
    {"roost.mergestore", mergestore_command, "write deny-oom", KEYS_FROM_FIRST, -3,
     "Stores the merge of several filters", "O(n), n bytes of the filters", "destination:k source:k..."},
    {"roost.delta", delta_command, "readonly", ONE_KEY, 3,
     "Returns the changes since a cursor as a frame, and the next cursor", "O(n), n changes", "key cursor"},
    {"roost.digest", digest_command, "readonly", ONE_KEY, 2,
     "Returns the digest of a filter: 32 digits, equal if the filters are",
     "O(n), n bytes that changed since the last one", "key"},
    {"roost.dump", dump_command, "readonly", ONE_KEY, 3, "Returns a value in chunks, for ROOST.RESTORE",
     "O(n), n bytes of the value", "key iterator:i"},
    {"roost.restore", restore_command, "write deny-oom", ONE_KEY, 4, "Loads a chunk that ROOST.DUMP returned",
     "O(n), n bytes of the value", "key iterator:i chunk"},
    {"roost.sync", sync_command, "write deny-oom", ONE_KEY, -3, "Replies to one message of a sync, as responder",
     "O(n), n bytes that differ", "key message [GENERATION generation:i]"},
    {"roost.ask", ask_command, "write deny-oom", ONE_KEY, -3, "Initiates a sync, one message at a time",
     "O(n), n bytes that differ", "key session-or-generation [reply]"},
    {"roost.pull", pull_command, "readonly", ONE_KEY, -3,
     "Returns the changes since a cursor, with the present generation, cursor and digest", "O(n), n changes",
     "key cursor [applied-range...]"},
    {"roost.push", push_command, "write", ONE_KEY, -4,
     "Merges what another deployment holds at a generation: a state, a delta, or a deletion",
     "O(n), n bytes of the frame", "key generation:i frame [REGION number:i time:i]"},
    {"roost.info", info_command, "readonly", ONE_KEY, -2, "Returns options and state of a filter; FULL reads all of it",
     "O(1), with FULL O(n)", "key [FULL]"},
    {"roost.summary", summary_command, "readonly", NO_KEY, -1,
     "Returns a digest over all keys, and the keys that changed since a cursor; may wait for a change",
     "O(n), n changes since the cursor", "[SINCE cursor] [COUNT count:i] [WAIT milliseconds:i]"},
    {"roost.identity", identity_command, "write fast", ONE_KEY, 3,
     "Replicates the identity of a filter; not for clients", "O(1)", "key number:i"},
    {"roost.mergeimported", mergeimported_command, "write", KEYS_FROM_FIRST, 3,
     "Replicates a merge of parts that RedisBloom made; not for clients", "O(n), n parts", "destination:k source:k"},
    {"roost.link", link_command, "write fast", ONE_KEY, -3, "Takes a message of a link to a region; not for clients",
     "O(n), n regions", "key message [argument...]"},
    {"roost.generation", generation_command, "write fast", FIRST_AND_THIRD, -4,
     "Replicates a tombstone; not for clients", "O(log n), n tombstones", "key generation:i tombstones [time:i]"},
    {NULL, NULL, NULL, NO_KEY, 0, NULL, NULL, NULL},
};
