/*
 * Jobs about a key. Anything may happen to the key between two time slices. So a job opens the key again for each step,
 * and compares the number of the object and the generation. If either has changed, the reply is an error that begins
 * with STALE.
 */
#ifndef MODULE_JOB_KEY_JOB_H
#define MODULE_JOB_KEY_JOB_H

#include "module/key/target.h"
#include "job.h"

struct key_job {
    struct job job;
    RedisModuleString *key;
    uint64_t object; /* 0: there is none yet */
    uint64_t generation;
};

/* As job_begin, about the key of the target, which is closed. */
int key_job_begin(struct key_job *job, struct target *target);
/* Opens the key; false if it no longer holds the object at its generation. The caller closes the target in any case. */
bool key_job_open(RedisModuleCtx *ctx, const struct key_job *job, struct target *target, int mode);
/* For the `free` of a class: frees the name of the key. */
void key_job_release(struct key_job *job);

#endif
