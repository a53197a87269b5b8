/* See sync.h. */
#include "sync.h"

#include "module/base/arguments.h"
#include "module/base/replies.h"
#include "module/job/digest_job.h"
#include "module/key/changes.h"

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
