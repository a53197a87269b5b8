/*
 * See tidying.h.
 *
 * A Bloom filter hashes what changed when somebody asks for its digest: a gigabyte of changes takes some tenths of a
 * second. To do that with each addition would cost more than the addition. So whoever asks waits, while the chunks are
 * hashed in turns (steps.h). Additions go on meanwhile and leave chunks to be hashed again, fewer in each turn than the
 * turn can do; the answer is given in the step that finds nothing left.
 */
#include "tidying.h"

#include "arguments.h"
#include "replies.h"
#include "steps.h"

#define AT_ONCE   1000 /* chunks, in the command itself */
#define IN_A_STEP 200

struct tidy_job {
    struct job job;
    RedisModuleString *message; /* of a sync; NULL: the digest alone is wanted */
    RedisModuleString *reply;   /* bytes that do not belong to the filter, which may go away */
    roost_status status;
    char text[33];
    const char *error;
};

bool digest_is_long(struct target *target)
{
    return roost_filter_tidy(target->filter->filter, AT_ONCE);
}

static void answer(struct tidy_job *tidy, struct target *target)
{
    if (tidy->message) {
        roost_bytes message = argument_bytes(tidy->message);
        roost_buffer reply;
        tidy->status = target_sync(target, &reply, message.data, message.size);
        tidy->reply = RedisModule_CreateString(NULL, (const char *)reply.data, reply.size);
        roost_buffer_release(&reply);
    } else {
        roost_digest_text(roost_filter_digest(target->filter->filter), tidy->text);
    }
}

static enum progress tidy_step(RedisModuleCtx *ctx, struct job *job)
{
    struct tidy_job *tidy = (struct tidy_job *)job;
    struct target target;
    if (tidy->message && !may_write(ctx, &tidy->error))
        return tidy->error ? ALL_DONE : NOTHING_TO_DO_NOW;
    bool there = job_open(ctx, job, &target, tidy->message ? REDISMODULE_READ | REDISMODULE_WRITE : REDISMODULE_READ);
    bool more = there && roost_filter_tidy(target.filter->filter, IN_A_STEP);
    if (!there)
        tidy->error = "ERR the key has changed while it was read";
    else if (!more)
        answer(tidy, &target);
    target_close(&target);
    return more ? MORE_TO_DO : ALL_DONE;
}

int reply_sync(RedisModuleCtx *ctx, const void *reply, size_t size, roost_status status)
{
    if (size)
        return RedisModule_ReplyWithStringBuffer(ctx, reply, size);
    return reply_status(ctx, status == ROOST_OK ? ROOST_PROTOCOL : status);
}

static int reply_tidy(RedisModuleCtx *ctx, struct job *job)
{
    const struct tidy_job *tidy = (const struct tidy_job *)job;
    if (tidy->error)
        return RedisModule_ReplyWithError(ctx, tidy->error);
    if (!tidy->message)
        return RedisModule_ReplyWithStringBuffer(ctx, tidy->text, 32);
    roost_bytes bytes = argument_bytes(tidy->reply);
    return reply_sync(ctx, bytes.data, bytes.size, tidy->status);
}

static void free_tidy(struct job *job)
{
    struct tidy_job *tidy = (struct tidy_job *)job;
    if (tidy->message)
        RedisModule_FreeString(NULL, tidy->message);
    if (tidy->reply)
        RedisModule_FreeString(NULL, tidy->reply);
    RedisModule_Free(tidy);
}

static const struct job_class tidy_class = {tidy_step, reply_tidy, free_tidy};

static int begin(struct target *target, RedisModuleString *message)
{
    struct tidy_job *tidy = RedisModule_Calloc(1, sizeof *tidy);
    tidy->job.class = &tidy_class;
    tidy->message = message ? RedisModule_HoldString(NULL, message) : NULL;
    target_close(target);
    return job_begin(target->ctx, &tidy->job, target->name, target->filter);
}

int digest_in_steps(struct target *target)
{
    return begin(target, NULL);
}

int sync_in_steps(struct target *target, RedisModuleString *message)
{
    return begin(target, message);
}
