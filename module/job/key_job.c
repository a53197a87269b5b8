/* See key_job.h. */
#include "key_job.h"

int key_job_begin(struct key_job *job, struct target *target)
{
    job->key = RedisModule_CreateStringFromString(NULL, target->name);
    job->object = target->filter ? target->filter->object : 0;
    job->generation = target_generation(target);
    target_close(target);
    return job_begin(target->ctx, &job->job);
}

bool key_job_open(RedisModuleCtx *ctx, const struct key_job *job, struct target *target, int mode)
{
    target_open(target, ctx, job->key, mode);
    bool same = job->object ? target->filter && target->filter->object == job->object : target->missing;
    return same && target_generation(target) == job->generation;
}

void key_job_release(struct key_job *job)
{
    if (job->key)
        RedisModule_FreeString(NULL, job->key);
}
