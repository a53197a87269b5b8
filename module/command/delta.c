/* See delta.h. */
#include "delta.h"

#include "module/base/replies.h"
#include "module/job/digest_job.h"
#include "module/job/reading.h"
#include "module/key/target.h"
#include "cursors.h"

/* ---- large filters ----------------------------------------------------------------------------------------------- */

static int reply_delta(RedisModuleCtx *ctx, roost_cursor cursor, roost_buffer *frame, roost_status status)
{
    if (status != ROOST_OK)
        return reply_status(ctx, status);
    RedisModule_ReplyWithArray(ctx, 2);
    reply_cursor(ctx, cursor);
    RedisModule_ReplyWithStringBuffer(ctx, (const char *)frame->data, frame->size);
    roost_buffer_release(frame);
    return REDISMODULE_OK;
}

static int delta_reply(RedisModuleCtx *ctx, struct reading *reading)
{
    struct state_reading *state = (struct state_reading *)reading;
    return reply_delta(ctx, state->cursor, &state->frame, state->placed ? state->status : ROOST_NO_MEMORY);
}

static const struct reading_verb delta_verb = {.size = sizeof(struct state_reading),
                                               .stage = state_reading_stage,
                                               .copied = state_reading_copied,
                                               .read = state_reading_read,
                                               .reply = delta_reply,
                                               .release = state_reading_release};

static int reply_on_thread(struct target *target, roost_cursor since)
{
    struct reading *reading = reading_new(&delta_verb, target, NULL);
    struct state_reading *state = (struct state_reading *)reading;
    state->since = since;
    state->or_state = true;
    return reading_begin(reading, target);
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

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
    if (delta_is_long(&target, cursor))
        return reply_on_thread(&target, cursor);
    bool alone = reading_is_long(&target); /* without the whole state, if the cursor is not known */
    roost_filter *filter = target.filter->filter;
    roost_status status = alone ? roost_filter_encode_delta_without(filter, &frame, &cursor, &cursor, NULL, 0)
                                : roost_filter_encode_delta(filter, &frame, &cursor, &cursor);
    if (status == ROOST_OK && !extra_of(target.filter)->replicated.incarnation)
        filter_value_extra(target.filter)->replicated = cursor; /* everything so far was replicated */
    if (status == ROOST_OK && alone && frame.size == 0)
        return reply_on_thread(&target, (roost_cursor){0});
    target_close(&target);
    return reply_delta(ctx, cursor, &frame, status);
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
