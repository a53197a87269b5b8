/*
 * See pull_push.h.
 *
 * An *applied range* is the range of the journal in which one push was merged: from the cursor before it to the cursor
 * after. The caller that pushed has those changes already, and ROOST.PULL leaves them out.
 *
 * A delta can only be merged into a value of its own generation. If there is none, the reply to a push is `whole`, and
 * the caller sends the whole state.
 */
#include "pull_push.h"

#include <stdio.h>
#include <string.h>

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/job/digest_job.h"
#include "module/job/merging.h"
#include "module/job/reading.h"
#include "module/key/changes.h"
#include "module/key/target.h"
#include "module/registry/links.h"
#include "module/registry/tombstones.h"
#include "cursors.h"

static void reply_cursor_if(RedisModuleCtx *ctx, bool there, roost_cursor cursor)
{
    if (there)
        reply_cursor(ctx, cursor);
    else
        RedisModule_ReplyWithNull(ctx);
}

static void reply_digest_if(RedisModuleCtx *ctx, bool there, roost_digest digest)
{
    if (there)
        reply_digest(ctx, digest);
    else
        RedisModule_ReplyWithNull(ctx);
}

/* ---- ROOST.PULL -------------------------------------------------------------------------------------------------- */

/* The changes that are asked for. */
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

/* Returns NULL or the error. The caller frees the spans. */
static const char *read_pull(struct pull *pull, RedisModuleString **argv, int argc)
{
    *pull = (struct pull){.count = (size_t)argc - 3};
    if (!read_cursor(&pull->since, argv[2]))
        return "ERR invalid cursor";
    pull->spans = RedisModule_Alloc(sizeof *pull->spans * (pull->count + 1));
    for (size_t i = 0; i < pull->count; i++)
        if (!read_span(&pull->spans[i], argv[3 + i]))
            return "ERR invalid range";
    return NULL;
}

/* Empty if the cursor is not known. */
static roost_status frame_of(struct filter_value *filter, roost_buffer *frame, const struct pull *pull)
{
    roost_cursor next;
    return pull->since.incarnation
               ? roost_filter_encode_delta_without(filter->filter, frame, &next, &pull->since, pull->spans, pull->count)
               : roost_filter_encode(filter->filter, frame);
}

/* The result. */
struct pulled {
    roost_status status;
    uint64_t generation;
    uint64_t time;      /* of the tombstone */
    bool there, placed; /* a value; a cursor */
    roost_cursor cursor;
    roost_digest digest;
    RedisModuleString *frame;
};

static void pull_generation(struct target *target, struct pulled *pulled)
{
    pulled->there = true;
    pulled->generation = target_generation(target);
    pulled->time = tombstones_time(RedisModule_GetSelectedDb(target->ctx), target->name);
}

static void pull_all_but_frame(struct target *target, struct pulled *pulled)
{
    pull_generation(target, pulled);
    pulled->placed = filter_value_cursor(target->filter, &pulled->cursor) == ROOST_OK;
    pulled->digest = roost_filter_digest(target->filter->filter);
}

static void act_pull(struct target *target, void *outcome, RedisModuleString **argv, int argc)
{
    struct pulled *pulled = outcome;
    struct pull pull;
    roost_buffer frame = {0};
    read_pull(&pull, argv, argc);
    pulled->status = frame_of(target->filter, &frame, &pull);
    pull_all_but_frame(target, pulled);
    pulled->frame = outcome_bytes(&frame);
    RedisModule_Free(pull.spans);
}

static int reply_pull(RedisModuleCtx *ctx, const struct pulled *pulled, roost_bytes frame)
{
    if (pulled->status != ROOST_OK)
        return reply_status(ctx, pulled->status);
    RedisModule_ReplyWithArray(ctx, 5);
    RedisModule_ReplyWithLongLong(ctx, (long long)pulled->generation);
    reply_cursor_if(ctx, pulled->placed, pulled->cursor);
    reply_digest_if(ctx, pulled->there, pulled->digest);
    if (frame.size)
        RedisModule_ReplyWithStringBuffer(ctx, frame.data, frame.size);
    else
        RedisModule_ReplyWithNull(ctx);
    return RedisModule_ReplyWithLongLong(ctx, (long long)pulled->time);
}

static int reply_pulled(RedisModuleCtx *ctx, const void *outcome)
{
    const struct pulled *pulled = outcome;
    return reply_pull(ctx, pulled, pulled->frame ? argument_bytes(pulled->frame) : (roost_bytes){NULL, 0});
}

static void release_pulled(void *outcome)
{
    outcome_release(((struct pulled *)outcome)->frame);
}

static const struct digest_verb pull_verb = {sizeof(struct pulled), REDISMODULE_READ, act_pull, reply_pulled,
                                             release_pulled};

/* Of a large filter, the whole state or much of it. */
struct pull_reading {
    struct state_reading state;
    struct pulled pulled;
};

static int reply_pulled_state(RedisModuleCtx *ctx, struct reading *reading)
{
    struct pull_reading *pull = (struct pull_reading *)reading;
    pull->pulled.status = pull->state.status;
    pull->pulled.cursor = pull->state.cursor;
    pull->pulled.placed = pull->state.placed;
    pull->pulled.digest = pull->state.digest;
    reply_pull(ctx, &pull->pulled, (roost_bytes){pull->state.frame.data, pull->state.frame.size});
    roost_buffer_release(&pull->state.frame);
    return REDISMODULE_OK;
}

static const struct reading_verb pull_reading_verb = {.size = sizeof(struct pull_reading),
                                                      .stage = state_reading_stage,
                                                      .copied = state_reading_copied,
                                                      .read = state_reading_read,
                                                      .reply = reply_pulled_state,
                                                      .release = state_reading_release};

/* Takes the spans. */
static int pull_on_thread(struct target *target, const struct pull *wanted)
{
    struct reading *reading = reading_new(&pull_reading_verb, target, NULL);
    struct pull_reading *pull = (struct pull_reading *)reading;
    pull_generation(target, &pull->pulled);
    pull->state.since = wanted->since;
    pull->state.spans = wanted->spans;
    pull->state.span_count = wanted->count;
    return reading_begin(reading, target);
}

static bool pull_is_long(struct target *target, const struct pull *pull)
{
    return pull->since.incarnation ? delta_is_long(target, pull->since) : reading_is_long(target);
}

int pull_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct pull pull;
    if (argc < 3)
        return RedisModule_WrongArity(ctx);
    const char *error = read_pull(&pull, argv, argc);
    if (!error)
        target_open(&target, ctx, argv[1], REDISMODULE_READ);
    if (!error && target.filter && pull_is_long(&target, &pull))
        return pull_on_thread(&target, &pull);
    RedisModule_Free(pull.spans);
    if (error)
        return RedisModule_ReplyWithError(ctx, error);
    if (target.filter)
        return digest_run(&target, &pull_verb, argv, argc);
    if (!target.missing)
        return target_refuse(&target, ERROR_NOT_FOUND);
    struct pulled nothing = {.generation = target_generation(&target),
                             .time = tombstones_time(RedisModule_GetSelectedDb(ctx), argv[1])};
    target_close(&target);
    return reply_pulled(ctx, &nothing);
}

/* ---- ROOST.PUSH -------------------------------------------------------------------------------------------------- */

/* The result of a push. */
struct push {
    const char *outcome;
    roost_cursor from;
};

static void reply_pushed(struct target *target, const struct push *push)
{
    roost_cursor to = {0, 0};
    bool there = target->filter, placed = there && filter_value_cursor(target->filter, &to) == ROOST_OK;
    RedisModule_ReplyWithArray(target->ctx, 5);
    RedisModule_ReplyWithCString(target->ctx, push->outcome);
    RedisModule_ReplyWithLongLong(target->ctx, (long long)target_generation(target));
    reply_digest_if(target->ctx, there, there ? roost_filter_digest(target->filter->filter) : (roost_digest){{0}});
    reply_cursor_if(target->ctx, placed || push->from.incarnation, push->from.incarnation ? push->from : to);
    reply_cursor_if(target->ctx, placed, to);
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

static roost_status push_deletion(struct target *target, struct push *push, uint64_t generation)
{
    push->outcome = generation > target_generation(target) ? "merged" : "same";
    if (generation > target_generation(target))
        target_delete(target, generation);
    return ROOST_OK;
}

static roost_status push(struct target *target, struct push *push, uint64_t generation, roost_bytes frame)
{
    uint64_t here = target_generation(target);
    *push = (struct push){.outcome = generation < here ? "stale" : "whole"};
    if (generation < here)
        return ROOST_OK;
    if (frame.size == 0)
        return push_deletion(target, push, generation);
    if (generation == here && target->filter)
        return push_into(target, push, frame);
    return roost_frame_is_delta(frame.data, frame.size) ? ROOST_OK : push_whole(target, push, generation, frame);
}

/* Whether the merge, or the digest afterwards, takes long. */
static bool is_incremental(struct target *target, uint64_t generation, roost_bytes frame)
{
    uint64_t here = target_generation(target);
    bool whole = !target->filter || generation > here;
    if (frame.size == 0 || generation < here || (whole && roost_frame_is_delta(frame.data, frame.size)))
        return false;
    return (merge_is_long(target, frame) || (!whole && digest_is_long(target))) && can_wait(target->ctx);
}

static int reply_pushed_later(RedisModuleCtx *ctx, const struct merged *merged)
{
    RedisModule_ReplyWithArray(ctx, 5);
    RedisModule_ReplyWithCString(ctx, merged->changed ? "merged" : "same");
    RedisModule_ReplyWithLongLong(ctx, (long long)merged->generation);
    reply_digest(ctx, merged->digest);
    reply_cursor(ctx, merged->from);
    return reply_cursor(ctx, merged->to);
}

static const struct merge_verb push_verb = {"roost.push", true, reply_pushed_later};

/* Deleting a value is always allowed. */
static bool is_out_of_memory(const struct target *target, roost_bytes frame)
{
    return (frame.size || target->missing) && RedisModule_GetContextFlags(target->ctx) & REDISMODULE_CTX_FLAGS_OOM;
}

/*
 * `REGION number time`: that region wrote the tombstone of this generation at that time. If we had everything from
 * before a later time, we had this tombstone and have dropped it (registry/links.h). Then what is here was created
 * afterwards: it stays, and takes the generation. If nothing is here, no tombstone has to be written again.
 */
static bool read_origin(bool *had, RedisModuleString **argv, int argc)
{
    long long region, time;
    *had = false;
    if (argc == 4)
        return true;
    if (argc != 7 || !argument_is(argv[4], "REGION") || !argument_number(argv[5], &region, 1, INT64_MAX) ||
        !argument_number(argv[6], &time, 0, UINT32_MAX))
        return false;
    *had = links_had((uint64_t)region, (uint64_t)time);
    return true;
}

static int reply_dropped(struct target *target, long long generation)
{
    target_close(target);
    RedisModule_ReplyWithArray(target->ctx, 5);
    RedisModule_ReplyWithCString(target->ctx, "same");
    RedisModule_ReplyWithLongLong(target->ctx, generation);
    for (int i = 0; i < 3; i++)
        RedisModule_ReplyWithNull(target->ctx);
    return REDISMODULE_OK;
}

int push_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct push pushed;
    long long generation;
    bool had;
    if (argc < 4)
        return RedisModule_WrongArity(ctx);
    if (!read_origin(&had, argv, argc))
        return RedisModule_ReplyWithError(ctx, ERROR_UNKNOWN);
    if (!argument_number(argv[2], &generation, 0, LAST_GENERATION))
        return RedisModule_ReplyWithError(ctx, "ERR the generation must be from 0 to 281474976710656");
    if (links_emptied())
        return RedisModule_ReplyWithError(ctx, "TRYAGAIN the server was emptied, and a link has not joined it yet");
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    if (!target.filter && !target.missing)
        return target_refuse(&target, ERROR_NOT_FOUND);
    roost_bytes frame = argument_bytes(argv[3]);
    if (is_out_of_memory(&target, frame)) {
        target_close(&target);
        return RedisModule_ReplyWithError(ctx, ERROR_MAXMEMORY);
    }
    bool dropped = had && (uint64_t)generation > target_generation(&target);
    if (dropped && target.missing && frame.size == 0)
        return reply_dropped(&target, generation);
    if (dropped && target.filter)
        tombstones_raise(ctx, argv[1], (uint64_t)generation);
    if (is_incremental(&target, (uint64_t)generation, frame))
        return merge_incrementally(&target, argv[3], (uint64_t)generation, &push_verb);
    roost_status status = push(&target, &pushed, (uint64_t)generation, frame);
    if (status == ROOST_OK)
        reply_pushed(&target, &pushed);
    else
        reply_status(ctx, status);
    target_close(&target);
    return REDISMODULE_OK;
}
