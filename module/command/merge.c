/* See merge.h. */
#include "merge.h"

#include <stdio.h>

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/job/merging.h"
#include "module/key/changes.h"
#include "module/value/timed.h"
#include "create.h"

/* Creates the filter of a missing key from a state. */
static roost_status create_from_frame(struct target *target, roost_bytes frame)
{
    struct filter_value *filter;
    roost_status status = filter_value_decode(&filter, frame.data, frame.size);
    if (status == ROOST_OK)
        target_put(target, filter);
    return status;
}

/* What to say where two filters do not merge because of their kinds; NULL if these are equal. */
static const char *different_kinds(const struct filter_value *filter, const struct filter_value *other)
{
    static char text[128];
    roost_kind kind = config_of(filter)->kind, other_kind = config_of(other)->kind;
    if (kind == other_kind)
        return NULL;
    snprintf(text, sizeof text, "ERR %s: kind %s and kind %s", roost_status_text(ROOST_MISMATCH), kind_word(kind),
             kind_word(other_kind));
    return text;
}

/* The same for a frame, if it is a state: a delta has nothing to make a filter of. */
static int reply_not_merged(RedisModuleCtx *ctx, const struct filter_value *filter, roost_status status,
                            roost_bytes frame)
{
    struct filter_value *other;
    const char *error = NULL;
    if (status == ROOST_MISMATCH && filter_value_decode(&other, frame.data, frame.size) == ROOST_OK) {
        error = different_kinds(filter, other);
        value_free(&other->value);
    }
    return error ? RedisModule_ReplyWithError(ctx, error) : reply_status(ctx, status);
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
    return status == ROOST_OK ? RedisModule_ReplyWithBool(ctx, changed)
                              : reply_not_merged(ctx, target.filter, status, frame);
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
        if (*status == ROOST_MISMATCH)
            error = different_kinds(*result, source.filter);
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
static bool store_is_long(RedisModuleCtx *ctx, RedisModuleString **keys, int count)
{
    bool large = false, sound = true;
    for (int i = 0; i < count && sound; i++) {
        struct target source;
        target_open(&source, ctx, keys[i], REDISMODULE_READ);
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

int mergeimported_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target, source;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!is_mirrored(ctx))
        return RedisModule_ReplyWithError(ctx, "ERR only a primary merges imported parts");
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE))
        return REDISMODULE_OK;
    target_open(&source, ctx, argv[2], REDISMODULE_READ);
    roost_status status = source.filter ? target_merge_imported(&target, &source) : ROOST_INVALID;
    target_close(&source);
    target_close(&target);
    return reply_status(ctx, status);
}
