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
    roost_reply_job *job; /* NULL: not begun */
    roost_status status;  /* of its beginning */
};

static enum reading_stage sync_stage(const struct reading *reading)
{
    static const enum reading_stage stages[] = {[ROOST_REPLY_COPY] = TO_BE_COPIED,
                                                [ROOST_REPLY_READ] = TO_BE_READ,
                                                [ROOST_REPLY_STEP] = TO_BE_STEPPED,
                                                [ROOST_REPLY_DONE] = TO_BE_ANSWERED};
    const struct sync_reading *sync = (const struct sync_reading *)reading;
    return sync->status != ROOST_OK ? TO_BE_ANSWERED
           : sync->job              ? stages[roost_reply_job_get_stage(sync->job)]
                                    : TO_BE_STEPPED;
}

static void sync_copied(struct reading *reading, struct target *target, roost_filter *copy)
{
    roost_reply_job_take_copy(((struct sync_reading *)reading)->job, target->filter->filter, copy);
}

static void sync_read(struct reading *reading)
{
    roost_reply_job_read(((struct sync_reading *)reading)->job);
}

/* The digest comes first: it may take long, and stages ask for it. */
static void sync_step(struct reading *reading, struct target *target)
{
    struct sync_reading *sync = (struct sync_reading *)reading;
    roost_environment environment = environment_for_job(reading->memory);
    if (digest_step(target))
        return;
    if (sync->job)
        target_step_sync(target, sync->job);
    else
        sync->status = target_begin_sync(target, &sync->job, argument_bytes(reading->argument), &environment);
}

static int sync_reply(RedisModuleCtx *ctx, struct reading *reading)
{
    struct sync_reading *sync = (struct sync_reading *)reading;
    roost_buffer reply;
    if (sync->status != ROOST_OK)
        return reply_status(ctx, sync->status);
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
    sizeof(struct sync_reading), sync_stage, sync_copied, sync_read, sync_step, sync_reply, sync_release};

static int sync_on_thread(struct target *target, RedisModuleString *message)
{
    struct reading *reading = reading_new(&sync_reading_verb, target, message);
    sync_step(reading, target);
    return reading_begin(reading, target);
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
