/* See delta.h. */
#include "delta.h"

#include "module/base/replies.h"
#include "module/job/digest_job.h"
#include "module/key/target.h"
#include "cursors.h"

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
    roost_status status = roost_filter_encode_delta(target.filter->filter, &frame, &cursor, &cursor);
    if (status == ROOST_OK) {
        if (!extra_of(target.filter)->replicated.incarnation)
            filter_value_extra(target.filter)->replicated = cursor; /* everything so far was replicated */
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
