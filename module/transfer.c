/*
 * See transfer.h.
 *
 * A *span* is a stretch of the journal in which one push was taken in: from the cursor before it to the cursor after.
 * Whoever pushed knows those changes and has them left out of what he pulls.
 *
 * A delta is worth something only to a value of its own generation. Where there is none, the push is answered with
 * `whole`, and the caller comes again with the whole state.
 */
#include "transfer.h"

#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "cursors.h"
#include "registry.h"
#include "replies.h"
#include "target.h"

#define FRAME_TYPE_AT 5
#define FRAME_DELTA   2
#define FARTHEST      (UINT64_C(1) << 62) /* generation that a push may lead to at once; */
#define LONGEST_STEP  (UINT64_C(1) << 32) /* from there on it goes in steps */

static bool is_delta(const uint8_t *frame, size_t size)
{
    return size > FRAME_TYPE_AT && memcmp(frame, "Rost", 4) == 0 && frame[FRAME_TYPE_AT] == FRAME_DELTA;
}

static void reply_cursor_of(RedisModuleCtx *ctx, struct filter_value *filter)
{
    roost_cursor cursor;
    if (filter && filter_value_cursor(filter, &cursor) == ROOST_OK)
        reply_cursor(ctx, cursor);
    else
        RedisModule_ReplyWithNull(ctx);
}

static void reply_digest_of(RedisModuleCtx *ctx, struct filter_value *filter)
{
    if (filter)
        reply_digest(ctx, roost_filter_digest(filter->filter));
    else
        RedisModule_ReplyWithNull(ctx);
}

/* ---- ROOST.PULL ----------------------------------------------------------------------------------------------------
 */

/* Which changes are asked for. */
struct pull {
    roost_cursor since;
    roost_span *spans;
    size_t count;
};

static bool read_span(roost_span *span, const RedisModuleString *argument)
{
    roost_cursor numbers;
    bool good = read_cursor(&numbers, argument) && numbers.incarnation <= numbers.sequence;
    *span = (roost_span){numbers.incarnation, numbers.sequence};
    return good;
}

/* NULL, or the error. */
static const char *read_pull(struct pull *pull, RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    if (!read_cursor(&pull->since, argv[2]))
        return "ERR invalid cursor";
    pull->count = (size_t)argc - 3;
    pull->spans = RedisModule_PoolAlloc(ctx, sizeof *pull->spans * (pull->count + 1));
    for (size_t i = 0; i < pull->count; i++)
        if (!read_span(&pull->spans[i], argv[3 + i]))
            return "ERR invalid span";
    return NULL;
}

/* Empty where the cursor is not known. */
static roost_status frame_of(struct filter_value *filter, roost_buffer *frame, const struct pull *pull)
{
    roost_cursor next;
    return pull->since.incarnation
               ? roost_filter_delta_without(filter->filter, frame, &next, &pull->since, pull->spans, pull->count)
               : roost_filter_encode(filter->filter, frame);
}

static int reply_pulled(struct target *target, const struct pull *pull)
{
    roost_buffer frame = {0};
    roost_status status = target->filter ? frame_of(target->filter, &frame, pull) : ROOST_OK;
    if (status != ROOST_OK)
        return reply_status(target->ctx, status);
    RedisModule_ReplyWithArray(target->ctx, 4);
    RedisModule_ReplyWithLongLong(target->ctx, (long long)target_generation(target));
    reply_cursor_of(target->ctx, target->filter);
    reply_digest_of(target->ctx, target->filter);
    if (frame.size)
        RedisModule_ReplyWithStringBuffer(target->ctx, (const char *)frame.data, frame.size);
    else
        RedisModule_ReplyWithNull(target->ctx);
    roost_buffer_release(&frame);
    return REDISMODULE_OK;
}

int pull_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct pull pull;
    if (argc < 3)
        return RedisModule_WrongArity(ctx);
    const char *error = read_pull(&pull, ctx, argv, argc);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    target_open(&target, ctx, argv[1], REDISMODULE_READ);
    if (!target.filter && !target.missing)
        return target_refuse(&target, ERROR_NOT_FOUND);
    reply_pulled(&target, &pull);
    target_close(&target);
    return REDISMODULE_OK;
}

/* ---- ROOST.PUSH ----------------------------------------------------------------------------------------------------
 */

/* What became of a push. */
struct push {
    const char *outcome;
    roost_cursor from;
};

static void reply_pushed(struct target *target, const struct push *push)
{
    RedisModule_ReplyWithArray(target->ctx, 5);
    RedisModule_ReplyWithCString(target->ctx, push->outcome);
    RedisModule_ReplyWithLongLong(target->ctx, (long long)target_generation(target));
    reply_digest_of(target->ctx, target->filter);
    if (push->from.incarnation)
        reply_cursor(target->ctx, push->from);
    else
        reply_cursor_of(target->ctx, target->filter);
    reply_cursor_of(target->ctx, target->filter);
}

static roost_status push_whole(struct target *target, struct push *push, uint64_t generation, roost_bytes frame)
{
    struct filter_value *filter;
    roost_status status = filter_value_decode(&filter, frame.data, frame.size);
    if (status != ROOST_OK)
        return status;
    target_put_at(target, filter, generation);
    target_changed(target, "roost.push");
    push->outcome = "merged";
    return ROOST_OK;
}

static roost_status push_into(struct target *target, struct push *push, roost_bytes frame)
{
    bool changed;
    roost_status status = filter_value_cursor(target->filter, &push->from);
    if (status == ROOST_OK)
        status = target_merge(target, &changed, frame.data, frame.size);
    if (status != ROOST_OK)
        return status;
    if (changed)
        target_changed(target, "roost.push");
    push->outcome = changed ? "merged" : "same";
    return ROOST_OK;
}

static roost_status push_burial(struct target *target, struct push *push, uint64_t generation)
{
    push->outcome = generation > target_generation(target) ? "merged" : "same";
    if (generation > target_generation(target))
        target_bury(target, generation);
    return ROOST_OK;
}

static roost_status push(struct target *target, struct push *push, uint64_t generation, roost_bytes frame)
{
    uint64_t here = target_generation(target);
    *push = (struct push){.outcome = generation < here ? "stale" : "whole"};
    if (generation < here)
        return ROOST_OK;
    if (frame.size == 0)
        return push_burial(target, push, generation);
    if (generation == here && target->filter)
        return push_into(target, push, frame);
    return is_delta(frame.data, frame.size) ? ROOST_OK : push_whole(target, push, generation, frame);
}

/* No peer can use up the generations of a name. */
static bool is_too_far(const struct target *target, uint64_t generation)
{
    return generation > FARTHEST && generation > target_generation(target) + LONGEST_STEP;
}

/* A deletion is welcome at any time, where there is something to delete. */
static bool is_out_of_memory(const struct target *target, roost_bytes frame)
{
    return (frame.size || target->missing) && RedisModule_GetContextFlags(target->ctx) & REDISMODULE_CTX_FLAGS_OOM;
}

int push_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct push pushed;
    long long generation;
    if (argc != 4)
        return RedisModule_WrongArity(ctx);
    if (!argument_number(argv[2], &generation, 0, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, "ERR invalid generation");
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    if (!target.filter && !target.missing)
        return target_refuse(&target, ERROR_NOT_FOUND);
    roost_bytes frame = argument_bytes(argv[3]);
    const char *error = is_too_far(&target, (uint64_t)generation) ? "ERR invalid generation"
                        : is_out_of_memory(&target, frame)        ? ERROR_MAXMEMORY
                                                                  : NULL;
    if (error) {
        target_close(&target);
        return RedisModule_ReplyWithError(ctx, error);
    }
    roost_status status = push(&target, &pushed, (uint64_t)generation, frame);
    if (status == ROOST_OK)
        reply_pushed(&target, &pushed);
    else
        reply_status(ctx, status);
    target_close(&target);
    return REDISMODULE_OK;
}
