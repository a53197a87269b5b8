/*
 * Frames in and out: what the library, its files and `roost sync` speak.
 *
 * A cursor is written as two numbers in hexadecimal with a hyphen between them; 0 means "nothing so far". It is good
 * for one key of one server as long as that runs; any other gets the whole state.
 */
#include "exchange.h"

#include <stdio.h>

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/job/digest_job.h"
#include "module/job/job.h"
#include "module/job/merging.h"
#include "module/key/changes.h"
#include "module/key/target.h"
#include "module/registry/tombstones.h"
#include "module/value/timed.h"
#include "cursors.h"
#include "dumps.h"
#include "load_chunk.h"

/* ---- merge ------------------------------------------------------------------------------------------------------- */

/* Creates the filter of a missing key from a state. */
static roost_status create_from_frame(struct target *target, roost_bytes frame)
{
    struct filter_value *filter;
    roost_status status = filter_value_decode(&filter, frame.data, frame.size);
    if (status == ROOST_OK)
        target_put(target, filter);
    return status;
}

static int reply_merged(RedisModuleCtx *ctx, const struct merged *merged)
{
    return RedisModule_ReplyWithBool(ctx, merged->changed);
}

static const struct merge_verb merge_verb = {"roost.merge", false, reply_merged};

int merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    bool changed = true;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    if (!target.filter && !target.missing)
        return target_refuse(&target, ERROR_NOT_FOUND);
    roost_bytes frame = argument_bytes(argv[2]);
    if (merge_is_long(&target, frame) && can_wait(ctx))
        return merge_incrementally(&target, argv[2], target_generation(&target), &merge_verb);
    roost_status status =
        target.missing ? create_from_frame(&target, frame) : target_merge(&target, &changed, frame.data, frame.size);
    if (status == ROOST_OK && changed)
        target_changed(&target, "roost.merge");
    target_close(&target);
    return status == ROOST_OK ? RedisModule_ReplyWithBool(ctx, changed) : reply_status(ctx, status);
}

/* A filter that takes more bytes is copied by an incremental job. */
#define LONG_TO_COPY ((size_t)2 << 20)

/* Merges one more source into the result, or copies the first one. Returns NULL or the error. */
static const char *take_source(struct filter_value **result, roost_status *status, RedisModuleCtx *ctx,
                               RedisModuleString *name)
{
    struct target source;
    const char *error = NULL;
    target_open(&source, ctx, name, REDISMODULE_READ);
    if (!source.filter) {
        error = source.missing ? ERROR_NOT_FOUND : source.staged ? ERROR_STAGED : REDISMODULE_ERRORMSG_WRONGTYPE;
    } else if (timed_is_ahead(source.filter->filter)) {
        *status = ROOST_CLOCK;
    } else if (*result) {
        (*result)->inserted_known = false;
        *status = roost_filter_merge((*result)->filter, NULL, source.filter->filter);
    } else {
        *status = filter_value_copy(result, source.filter, UINT64_MAX >> 1);
    }
    target_close(&source);
    return error;
}

static int reply_stored(RedisModuleCtx *ctx, const struct merged *merged)
{
    (void)merged;
    return reply_ok(ctx);
}

static const struct merge_verb store_verb = {"roost.mergestore", false, reply_stored};

/* Whether all sources can be merged incrementally, and any of them is large. */
static bool store_is_long(RedisModuleCtx *ctx, RedisModuleString **names, int count)
{
    bool large = false, sound = true;
    for (int i = 0; i < count && sound; i++) {
        struct target source;
        target_open(&source, ctx, names[i], REDISMODULE_READ);
        sound = source.filter && !is_timed(source.filter->filter);
        large |= sound && source.filter->value.bytes > LONG_TO_COPY;
        target_close(&source);
    }
    return sound && large;
}

static int store_incrementally(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    return merge_filters_incrementally(&target, argv + 2, argc - 2, &store_verb);
}

int mergestore_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct filter_value *result = NULL;
    roost_status status = ROOST_OK;
    const char *error = NULL;
    if (argc < 3)
        return RedisModule_WrongArity(ctx);
    if (!is_mirrored(ctx) && is_reserved_key(argv[1]))
        return RedisModule_ReplyWithError(ctx, ERROR_RESERVED);
    if (can_wait(ctx) && store_is_long(ctx, argv + 2, argc - 2))
        return store_incrementally(ctx, argv, argc);
    for (int i = 2; i < argc && status == ROOST_OK && !error; i++)
        error = take_source(&result, &status, ctx, argv[i]);
    if (error || status != ROOST_OK) {
        value_free(result ? &result->value : NULL);
        return error ? RedisModule_ReplyWithError(ctx, error) : reply_status(ctx, status);
    }
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    target_put(&target, result);
    target_changed(&target, "roost.mergestore");
    target_close(&target);
    return reply_ok(ctx);
}

/* ---- delta and digest -------------------------------------------------------------------------------------------- */

int delta_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    roost_cursor cursor;
    roost_buffer frame;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!read_cursor(&cursor, argv[2]))
        return RedisModule_ReplyWithError(ctx, "ERR invalid cursor");
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ))
        return REDISMODULE_OK;
    roost_status status = roost_filter_delta(target.filter->filter, &frame, &cursor, &cursor);
    if (status == ROOST_OK) {
        if (!target.filter->replicated.incarnation)
            target.filter->replicated = cursor; /* everything so far was replicated */
        RedisModule_ReplyWithArray(ctx, 2);
        reply_cursor(ctx, cursor);
        RedisModule_ReplyWithStringBuffer(ctx, (const char *)frame.data, frame.size);
        roost_buffer_release(&frame);
    } else {
        reply_status(ctx, status);
    }
    target_close(&target);
    return REDISMODULE_OK;
}

static void act_digest(struct target *target, void *outcome, RedisModuleString **argv, int argc)
{
    roost_digest *digest = outcome;
    (void)argv;
    (void)argc;
    *digest = roost_filter_digest(target->filter->filter);
}

static int reply_digest_alone(RedisModuleCtx *ctx, const void *outcome)
{
    const roost_digest *digest = outcome;
    return reply_digest(ctx, *digest);
}

static const struct digest_verb digest_verb = {sizeof(roost_digest), REDISMODULE_READ, act_digest, reply_digest_alone,
                                               NULL};

int digest_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 2)
        return RedisModule_WrongArity(ctx);
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ))
        return REDISMODULE_OK;
    return digest_run(&target, &digest_verb, argv, argc);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

int dump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    long long iterator;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!argument_number(argv[2], &iterator, 0, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, "ERR invalid iterator");
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ))
        return REDISMODULE_OK;
    return reply_chunk(&target, iterator, "ERR invalid iterator");
}

int restore_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return load_chunk(ctx, argv, argc,
                      &(struct load_errors){.number = "ERR invalid iterator",
                                            .position = "ERR not the piece that is due here",
                                            .data = ERROR_BAD_DATA,
                                            .event = "roost.restore"});
}

/* ---- sync -------------------------------------------------------------------------------------------------------- */

struct synced {
    RedisModuleString *reply;
    roost_status status;
};

static void act_sync(struct target *target, void *outcome, RedisModuleString **argv, int argc)
{
    struct synced *synced = outcome;
    roost_bytes message = argument_bytes(argv[2]);
    roost_buffer reply;
    (void)argc;
    synced->status = target_sync(target, &reply, message.data, message.size);
    synced->reply = outcome_bytes(&reply);
}

/* The reply to an invalid message is a message of the sync protocol that says so. */
static int reply_synced(RedisModuleCtx *ctx, const void *outcome)
{
    const struct synced *synced = outcome;
    if (synced->reply)
        return RedisModule_ReplyWithString(ctx, synced->reply);
    return reply_status(ctx, synced->status == ROOST_OK ? ROOST_PROTOCOL : synced->status);
}

static void release_synced(void *outcome)
{
    outcome_release(((struct synced *)outcome)->reply);
}

static const struct digest_verb sync_verb = {sizeof(struct synced), REDISMODULE_READ | REDISMODULE_WRITE, act_sync,
                                             reply_synced, release_synced};

int sync_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 3 && !(argc == 5 && argument_is(argv[3], "GENERATION")))
        return RedisModule_WrongArity(ctx);
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE))
        return REDISMODULE_OK;
    if (argc == 5 && !target_is_at(&target, argv[4]))
        return REDISMODULE_OK;
    return digest_run(&target, &sync_verb, argv, argc);
}

/* ---- identity ---------------------------------------------------------------------------------------------------- */

/* Comes from a primary or the AOF, before the first additions that depend on it. */
int identity_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    long long identity;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!argument_number(argv[2], &identity, INT64_MIN, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, "ERR invalid identity");
    if (!is_mirrored(ctx))
        return RedisModule_ReplyWithError(ctx, "ERR only a primary tells identities");
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE))
        return REDISMODULE_OK;
    target.filter->identity = (uint64_t)identity;
    RedisModule_ReplicateVerbatim(ctx);
    target_close(&target);
    return reply_ok(ctx);
}
