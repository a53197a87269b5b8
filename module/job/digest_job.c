/*
 * See digest_job.h.
 *
 * A Bloom filter hashes what has changed when its digest is asked for: a gigabyte of changes takes some tenths of a
 * second. Hashing with each addition would cost more than the addition. So the command waits while a job precomputes
 * the digest, block by block in time slices (job.h). Meanwhile additions make blocks stale again, but fewer per slice
 * than a slice can hash. The command is executed in the step that finds nothing left to hash.
 */
#include "digest_job.h"

#include <string.h>

#include "module/base/context.h"
#include "key_job.h"

#define AT_ONCE   1000 /* blocks, in the command itself */
#define IN_A_STEP 200

struct digest_job {
    struct key_job job;
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

static enum progress digest_job_step(RedisModuleCtx *ctx, struct job *job)
{
    struct digest_job *later = (struct digest_job *)job;
    struct target target;
    if (later->verb->mode & REDISMODULE_WRITE && !may_write(ctx, &later->error))
        return later->error ? ALL_DONE : NOTHING_TO_DO_NOW;
    bool there = key_job_open(ctx, &later->job, &target, later->verb->mode), more = there && digest_step(&target);
    if (!there)
        later->error = "STALE the key has changed while it was read";
    else if (!more)
        later->verb->act(&target, later->outcome, later->argv, later->argc);
    target_close(&target);
    return more ? MORE_TO_DO : ALL_DONE;
}

static int reply_digest_job(RedisModuleCtx *ctx, struct job *job)
{
    const struct digest_job *later = (const struct digest_job *)job;
    return later->error ? job_reply_error(ctx, later->error) : later->verb->reply(ctx, later->outcome);
}

static void free_digest_job(struct job *job)
{
    struct digest_job *later = (struct digest_job *)job;
    key_job_release(&later->job);
    if (later->verb->release)
        later->verb->release(later->outcome);
    for (int i = 0; i < later->argc; i++)
        RedisModule_FreeString(NULL, later->argv[i]);
    RedisModule_Free(later->argv);
    RedisModule_Free(later->outcome);
    RedisModule_Free(later);
}

static const struct job_class digest_job_class = {digest_job_step, reply_digest_job, free_digest_job, SLOW_DIGEST};

static int run_later(struct target *target, const struct digest_verb *verb, RedisModuleString **argv, int argc)
{
    struct digest_job *later = RedisModule_Calloc(1, sizeof *later);
    *later = (struct digest_job){.job.job.class = &digest_job_class, .verb = verb, .argc = argc};
    later->outcome = RedisModule_Calloc(1, verb->size);
    later->argv = RedisModule_Alloc((size_t)argc * sizeof(RedisModuleString *));
    for (int i = 0; i < argc; i++)
        later->argv[i] = RedisModule_HoldString(NULL, argv[i]);
    return key_job_begin(&later->job, target);
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
