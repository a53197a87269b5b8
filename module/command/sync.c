/* See sync.h. */
#include "sync.h"

#include "module/base/arguments.h"
#include "module/base/replies.h"
#include "module/job/digest_job.h"
#include "module/job/reading.h"
#include "module/key/changes.h"

struct synced {
    RedisModuleString *reply;
    roost_status status;
};

/* The reply to an invalid message is a message of the sync protocol that says so. */
static int reply_message(RedisModuleCtx *ctx, roost_bytes reply, roost_status status)
{
    if (reply.size)
        return RedisModule_ReplyWithStringBuffer(ctx, reply.data, reply.size);
    return reply_status(ctx, status == ROOST_OK ? ROOST_PROTOCOL : status);
}

static void act_sync(struct target *target, void *outcome, RedisModuleString **argv, int argc)
{
    struct synced *synced = outcome;
    roost_bytes message = argument_bytes(argv[2]);
    roost_buffer reply;
    (void)argc;
    synced->status = target_sync(target, &reply, message.data, message.size);
    synced->reply = outcome_bytes(&reply);
}

static int reply_synced(RedisModuleCtx *ctx, const void *outcome)
{
    const struct synced *synced = outcome;
    return reply_message(ctx, synced->reply ? argument_bytes(synced->reply) : (roost_bytes){NULL, 0}, synced->status);
}

static void release_synced(void *outcome)
{
    outcome_release(((struct synced *)outcome)->reply);
}

static const struct digest_verb sync_verb = {sizeof(struct synced), REDISMODULE_READ | REDISMODULE_WRITE, act_sync,
                                             reply_synced, release_synced};

/* ---- large filters ----------------------------------------------------------------------------------------------- */

struct sync_reading {
    struct reading reading;
    roost_reply_job *job;
};

static enum reading_stage sync_stage(const struct reading *reading)
{
    static const enum reading_stage stages[] = {
        [ROOST_REPLY_READ] = TO_BE_READ, [ROOST_REPLY_STEP] = TO_BE_STEPPED, [ROOST_REPLY_DONE] = TO_BE_ANSWERED};
    return stages[roost_reply_job_get_stage(((const struct sync_reading *)reading)->job)];
}

static void sync_read(struct reading *reading)
{
    roost_reply_job_read(((struct sync_reading *)reading)->job);
}

static void sync_step(struct reading *reading, struct target *target)
{
    target_step_sync(target, ((struct sync_reading *)reading)->job);
}

static int sync_reply(RedisModuleCtx *ctx, struct reading *reading)
{
    struct sync_reading *sync = (struct sync_reading *)reading;
    roost_buffer reply;
    roost_status status = roost_reply_job_finish(sync->job, &reply);
    sync->job = NULL;
    int replied = reply_message(ctx, (roost_bytes){reply.data, reply.size}, status);
    roost_buffer_release(&reply);
    return replied;
}

static void sync_release(struct reading *reading)
{
    roost_reply_job_free(((struct sync_reading *)reading)->job);
}

static const struct reading_verb sync_reading_verb = {
    sizeof(struct sync_reading), sync_stage, sync_read, sync_step, sync_reply, sync_release};

static int sync_on_thread(struct target *target, RedisModuleString *message)
{
    struct reading *reading = reading_new(&sync_reading_verb, target, message);
    roost_environment environment = environment_for_job(&reading->memory);
    roost_status status = target_begin_sync(target, &((struct sync_reading *)reading)->job,
                                            argument_bytes(reading->argument), &environment);
    return status == ROOST_OK ? reading_begin(reading, target) : reading_refuse(reading, target, status);
}

int sync_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 3 && !(argc == 5 && argument_is(argv[3], "GENERATION")))
        return RedisModule_WrongArity(ctx);
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE))
        return REDISMODULE_OK;
    if (argc == 5 && !target_is_at(&target, argv[4]))
        return REDISMODULE_OK;
    if (reading_is_long(&target))
        return sync_on_thread(&target, argv[2]);
    return digest_run(&target, &sync_verb, argv, argc);
}
