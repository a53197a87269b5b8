/*
 * See tidying.h.
 *
 * A Bloom filter hashes what changed when somebody asks for its digest: a gigabyte of changes takes some tenths of a
 * second. To do that with each addition would cost more than the addition. So whoever asks waits, while the chunks are
 * hashed in turns (steps.h). Additions go on meanwhile and leave chunks to be hashed again, fewer in each turn than the
 * turn can do; the command does what it has to do in the step that finds nothing left.
 */
#include "digest_job.h"

#include <string.h>

#include "job.h"

#define AT_ONCE   1000 /* chunks, in the command itself */
#define IN_A_STEP 200

struct tidy_job {
    struct job job;
    const struct digest_verb *verb;
    RedisModuleString **argv;
    int argc;
    const char *error;
    void *outcome;
};

RedisModuleString *outcome_bytes(roost_buffer *buffer)
{
    RedisModuleString *bytes =
        buffer->size ? RedisModule_CreateString(NULL, (const char *)buffer->data, buffer->size) : NULL;
    roost_buffer_release(buffer);
    return bytes;
}

void outcome_release(RedisModuleString *bytes)
{
    if (bytes)
        RedisModule_FreeString(NULL, bytes);
}

bool digest_is_long(struct target *target)
{
    return roost_filter_precompute_digest(target->filter->filter, AT_ONCE);
}

bool digest_step(struct target *target)
{
    return roost_filter_precompute_digest(target->filter->filter, IN_A_STEP);
}

static enum progress tidy_step(RedisModuleCtx *ctx, struct job *job)
{
    struct tidy_job *tidy = (struct tidy_job *)job;
    struct target target;
    if (tidy->verb->mode & REDISMODULE_WRITE && !may_write(ctx, &tidy->error))
        return tidy->error ? ALL_DONE : NOTHING_TO_DO_NOW;
    bool there = job_open(ctx, job, &target, tidy->verb->mode), more = there && digest_step(&target);
    if (!there)
        tidy->error = "STALE the key has changed while it was read";
    else if (!more)
        tidy->verb->act(&target, tidy->outcome, tidy->argv, tidy->argc);
    target_close(&target);
    return more ? MORE_TO_DO : ALL_DONE;
}

static int reply_tidy(RedisModuleCtx *ctx, struct job *job)
{
    const struct tidy_job *tidy = (const struct tidy_job *)job;
    return tidy->error ? RedisModule_ReplyWithError(ctx, tidy->error) : tidy->verb->reply(ctx, tidy->outcome);
}

static void free_tidy(struct job *job)
{
    struct tidy_job *tidy = (struct tidy_job *)job;
    if (tidy->verb->release)
        tidy->verb->release(tidy->outcome);
    for (int i = 0; i < tidy->argc; i++)
        RedisModule_FreeString(NULL, tidy->argv[i]);
    RedisModule_Free(tidy->argv);
    RedisModule_Free(tidy->outcome);
    RedisModule_Free(tidy);
}

static const struct job_class tidy_class = {tidy_step, reply_tidy, free_tidy};

static int run_later(struct target *target, const struct digest_verb *verb, RedisModuleString **argv, int argc)
{
    struct tidy_job *tidy = RedisModule_Calloc(1, sizeof *tidy);
    *tidy = (struct tidy_job){.job.class = &tidy_class, .verb = verb, .argc = argc};
    tidy->outcome = RedisModule_Calloc(1, verb->size);
    tidy->argv = RedisModule_Alloc((size_t)argc * sizeof(RedisModuleString *));
    for (int i = 0; i < argc; i++)
        tidy->argv[i] = RedisModule_HoldString(NULL, argv[i]);
    return job_begin(target->ctx, &tidy->job, target);
}

int digest_run(struct target *target, const struct digest_verb *verb, RedisModuleString **argv, int argc)
{
    RedisModuleCtx *ctx = target->ctx;
    if (digest_is_long(target) && can_wait(ctx))
        return run_later(target, verb, argv, argc);
    void *outcome = RedisModule_PoolAlloc(ctx, verb->size);
    memset(outcome, 0, verb->size);
    verb->act(target, outcome, argv, argc);
    target_close(target);
    verb->reply(ctx, outcome);
    if (verb->release)
        verb->release(outcome);
    return REDISMODULE_OK;
}
