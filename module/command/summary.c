/*
 * See summary.h.
 *
 * A reply needs the digests of all keys that changed. If these take long, a job precomputes them in time slices, key by
 * key from the oldest change on, and the client gets its reply when none is left.
 *
 * A client that waits for a change (WAIT) is a blocked job (job/job.h). The first change wakes all of them. Each reply
 * is made a little later, from what the keys hold then.
 */
#include "summary.h"

#include <limits.h>

#include "module/base/access.h"
#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/job/job.h"
#include "module/registry/change_cursor.h"
#include "module/registry/links.h"
#include "module/registry/registry.h"
#include "module/registry/tombstones.h"
#include "cursors.h"

#define MOST_WAIT (24LL * 3600 * 1000) /* milliseconds */
#define AT_ONCE   1000                 /* microseconds of hashing */
#define IN_A_STEP 200
#define BLOCKS    100               /* blocks of a filter, a microsecond each or less */
#define LARGE     ((size_t)4 << 20) /* bytes of a filter */

#define NEARLY_FULL 0.95 /* part of maxmemory: from here on a new key evicts others */

struct request {
    struct change_cursor since;
    long long count, wait;
};

/* ---- the digest -------------------------------------------------------------------------------------------------- */

static sum128 part_of(const struct registry_entry *entry)
{
    uint8_t digest[16];
    uint64_t generation = registry_generation_of(entry);
    if (!entry->value)
        return 0;
    sum128 sum = checksum_wide(SUM128_START, &entry->database, sizeof entry->database);
    sum = checksum_wide(checksum_wide(sum, entry->key, entry->size), &generation, sizeof generation);
    entry->value->class->digest(entry->value, digest);
    return checksum_wide(sum, digest, sizeof digest);
}

static void bring_up_to_date(struct registry_entry *entry)
{
    registry.digest -= entry->part;
    entry->part = part_of(entry);
    registry.digest += entry->part;
    entry->stale = false;
    registry.stale = entry->newer;
}

/* Precomputes digests for about this long; returns whether there is more. */
static bool precompute(uint64_t microseconds)
{
    uint64_t begin = microseconds_now();
    while (registry.stale && microseconds_now() - begin < microseconds) {
        struct value *value = registry.stale->value;
        if (!value || !value->class->precompute_digest || !value->class->precompute_digest(value, BLOCKS))
            bring_up_to_date(registry.stale);
    }
    return registry.stale;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

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

/* When the tombstone of a key was written; -1: it was dropped. */
static long long time_of(RedisModuleCtx *ctx, const struct registry_entry *entry)
{
    if (!entry->deleted)
        return entry->dropped ? -1 : 0;
    RedisModuleString *key = RedisModule_CreateString(ctx, entry->key, entry->size);
    long long time = (long long)tombstones_time(entry->database, key);
    RedisModule_FreeString(ctx, key);
    return time;
}

/* The sixth element says why the key holds nothing, if that is known; the seventh is the time of its tombstone. */
static void reply_entry(RedisModuleCtx *ctx, const struct registry_entry *entry)
{
    RedisModule_ReplyWithArray(ctx, 7);
    RedisModule_ReplyWithLongLong(ctx, entry->database);
    RedisModule_ReplyWithStringBuffer(ctx, entry->key, entry->size);
    RedisModule_ReplyWithLongLong(ctx, (long long)registry_generation_of(entry));
    if (entry->value) {
        reply_value(ctx, entry->value);
    } else {
        RedisModule_ReplyWithNull(ctx);
        RedisModule_ReplyWithNull(ctx);
    }
    if (entry->evicted && !entry->value)
        RedisModule_ReplyWithCString(ctx, "evicted");
    else
        RedisModule_ReplyWithNull(ctx);
    RedisModule_ReplyWithLongLong(ctx, time_of(ctx, entry));
}

/* What a link needs to begin: the key for ROOST.LINK, and the clock by which this server dates tombstones. */
static void reply_for_links(RedisModuleCtx *ctx)
{
    RedisModuleString *key = links_key(ctx);
    reply_name(ctx, "link");
    RedisModule_ReplyWithString(ctx, key);
    RedisModule_FreeString(NULL, key);
    reply_number_pair(ctx, "time", (long long)links_time());
}

/* The position after this many entries. */
static uint64_t position_after(const struct registry_entry *entry, long long count)
{
    while (entry && --count > 0)
        entry = entry->newer;
    return entry && entry->newer ? entry->sequence : registry.sequence;
}

static void reply_changed(RedisModuleCtx *ctx, const struct registry_entry *entry, uint64_t last)
{
    long count = 0;
    RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
    for (; entry && entry->sequence <= last; entry = entry->newer, count++)
        reply_entry(ctx, entry);
    RedisModule_ReplySetArrayLength(ctx, count);
}

static bool is_nearly_full(RedisModuleCtx *ctx)
{
    return RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_EVICT &&
           RedisModule_GetUsedMemoryRatio() >= NEARLY_FULL;
}

static void reply_boolean_pair(RedisModuleCtx *ctx, const char *name, bool value)
{
    reply_name(ctx, name);
    RedisModule_ReplyWithBool(ctx, value);
}

static int reply_summary(RedisModuleCtx *ctx, const struct request *request)
{
    char cursor[CHANGE_CURSOR_ROOM];
    roost_digest sum;
    struct change_cursor next = request->since;
    while (registry.stale)
        bring_up_to_date(registry.stale);
    sum128_bytes(registry.digest, sum.bytes);
    const struct registry_entry *first = registry_after(request->since.position);
    next.position = position_after(first, request->count);
    change_cursor_text(cursor, &next);
    reply_map_begin(ctx, 10);
    reply_name(ctx, "digest");
    // cppcheck-suppress uninitvar ; sum128_bytes sets all of it
    reply_digest(ctx, sum);
    reply_text_pair(ctx, "mark", cursor);
    reply_number_pair(ctx, "keys", (long long)registry.keys);
    reply_name(ctx, "changed");
    reply_changed(ctx, first, next.position);
    reply_for_links(ctx);
    reply_boolean_pair(ctx, "more", next.position != registry.sequence);
    reply_boolean_pair(ctx, "listed", change_cursor_has_listed(&next));
    reply_boolean_pair(ctx, "missed", change_cursor_has_missed(&request->since, registry.floor));
    reply_boolean_pair(ctx, "full", is_nearly_full(ctx));
    return REDISMODULE_OK;
}

/* ---- later ------------------------------------------------------------------------------------------------------- */

struct summary_job {
    struct job job;
    struct request request;
    /* If it waits for a change: */
    struct summary_job *next;
    bool woken;
};
static struct summary_job *all_waiting;

static enum progress summary_step(RedisModuleCtx *ctx, struct job *job)
{
    (void)job;
    registry_complete(ctx);
    return precompute(IN_A_STEP) ? MORE_TO_DO : ALL_DONE;
}

/* If there is another incarnation meanwhile, the listing begins anew. */
static int answer(RedisModuleCtx *ctx, struct job *job)
{
    struct summary_job *summary = (struct summary_job *)job;
    registry_complete(ctx);
    if (summary->request.since.incarnation != registry.incarnation)
        summary->request.since = change_cursor_begin(registry.incarnation, registry.sequence);
    return reply_summary(ctx, &summary->request);
}

static void stop_waiting(const struct summary_job *summary)
{
    for (struct summary_job **place = &all_waiting; *place; place = &(*place)->next) {
        if (*place != summary)
            continue;
        *place = summary->next;
        return;
    }
}

static void free_summary(struct job *job)
{
    stop_waiting((struct summary_job *)job);
    RedisModule_Free(job);
}

static const struct job_class summary_class = {summary_step, answer, free_summary, SLOW_DIGEST};

static struct summary_job *new_job(const struct request *request)
{
    struct summary_job *summary = RedisModule_Calloc(1, sizeof *summary);
    *summary = (struct summary_job){.job.class = &summary_class, .request = *request};
    return summary;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* Clients that wait have everything so far, so only the newest change has to be hashed. */
static bool is_long_to_answer(void)
{
    const struct value *value = registry.newest ? registry.newest->value : NULL;
    return !registry.newest || (value && value->bytes > LARGE);
}

static void wake_all(void)
{
    bool incrementally = is_long_to_answer();
    registry_wake_at_change(NULL);
    for (struct summary_job *summary = all_waiting; summary; summary = summary->next) {
        if (!summary->woken)
            (incrementally ? job_go_on : job_end)(&summary->job);
        summary->woken = true;
    }
}

static struct summary_job *waiting_of(const RedisModuleBlockedClient *client)
{
    struct summary_job *summary = all_waiting;
    while (summary && summary->job.client != client)
        summary = summary->next;
    return summary;
}

/* A job that was woken ends by itself. */
static void give_up(struct summary_job *summary)
{
    if (summary->woken)
        return;
    summary->woken = true;
    job_end(&summary->job);
}

/* CLIENT UNBLOCK. Only called before the reply, possibly while the job is running. */
static int answer_unblocked(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    (void)argv, (void)argc;
    struct summary_job *summary = waiting_of(RedisModule_GetBlockedClientHandle(ctx));
    if (!summary)
        return REDISMODULE_OK;
    answer(ctx, &summary->job);
    give_up(summary);
    return REDISMODULE_OK;
}

static void waited_enough(struct job *job)
{
    give_up((struct summary_job *)job);
}

static void forget_waiting(RedisModuleCtx *ctx, RedisModuleBlockedClient *client)
{
    (void)ctx;
    struct summary_job *summary = waiting_of(client);
    if (summary)
        give_up(summary);
}

static int wait_for_change(RedisModuleCtx *ctx, const struct request *request)
{
    struct summary_job *summary = new_job(request);
    job_wait(ctx, &summary->job, &(struct job_wait){request->wait, waited_enough, answer_unblocked, forget_waiting});
    summary->next = all_waiting;
    all_waiting = summary;
    registry_wake_at_change(wake_all);
    return REDISMODULE_OK;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* NULL, or the error. */
static const char *read_request(struct request *request, RedisModuleString **argv, int argc)
{
    *request =
        (struct request){.since = change_cursor_begin(registry.incarnation, registry.sequence), .count = LLONG_MAX};
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return ERROR_UNKNOWN;
        if (argument_is(argv[i], "SINCE"))
            request->since = change_cursor_read(RedisModule_StringPtrLen(argv[i + 1], NULL), registry.incarnation,
                                                registry.sequence);
        else if (argument_is(argv[i], "COUNT") && !argument_number(argv[i + 1], &request->count, 1, LLONG_MAX))
            return "ERR COUNT must be at least 1";
        else if (argument_is(argv[i], "WAIT") && !argument_number(argv[i + 1], &request->wait, 0, MOST_WAIT))
            return "ERR WAIT must be from 0 to 86400000 milliseconds";
        else if (!argument_is(argv[i], "COUNT") && !argument_is(argv[i], "WAIT"))
            return ERROR_UNKNOWN;
    }
    return NULL;
}

int summary_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct request request;
    if (!may_use_all_databases(ctx, argv, argc))
        return RedisModule_ReplyWithError(ctx, ERROR_DATABASES);
    registry_complete(ctx);
    const char *error = read_request(&request, argv, argc);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    if (request.wait && request.since.position == registry.sequence && can_wait(ctx))
        return wait_for_change(ctx, &request);
    if (precompute(AT_ONCE) && can_wait(ctx))
        return job_begin(ctx, &new_job(&request)->job);
    return reply_summary(ctx, &request);
}
