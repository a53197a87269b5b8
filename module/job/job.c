/* See steps.h. */
#include "job.h"

#include <time.h>

#include "module/base/replies.h"

#define SLICE_MICROSECONDS 1000 /* microseconds */
#define PAUSE              1    /* milliseconds */

static struct {
    struct job *first, **last;
    bool timed; /* a turn is due */
    uint64_t longest;
} jobs = {.last = &jobs.first};
static RedisModuleCtx *lasting; /* a context where the server gives none */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

uint64_t microseconds_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t longest_slice(void)
{
    return jobs.longest;
}

bool can_wait(RedisModuleCtx *ctx)
{
    return !(RedisModule_GetContextFlags(ctx) &
             (REDISMODULE_CTX_FLAGS_MULTI | REDISMODULE_CTX_FLAGS_LUA | REDISMODULE_CTX_FLAGS_DENY_BLOCKING |
              REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING | REDISMODULE_CTX_FLAGS_ASYNC_LOADING));
}

static void put_last(struct job *job)
{
    job->next = NULL;
    *jobs.last = job;
    jobs.last = &job->next;
}

static struct job *take_first(void)
{
    struct job *job = jobs.first;
    jobs.first = job->next;
    if (!jobs.first)
        jobs.last = &jobs.first;
    return job;
}

/* ---- turns ---------------------------------------------------------------------------------------------------------
 */

static enum progress work(RedisModuleCtx *ctx, struct job *job, uint64_t begin)
{
    enum progress progress = NOTHING_TO_DO_NOW;
    if (RedisModule_SelectDb(ctx, job->database) != REDISMODULE_OK)
        return ALL_DONE;
    do
        progress = job->class->step(ctx, job);
    while (progress == MORE_TO_DO && microseconds_now() - begin < SLICE_MICROSECONDS);
    return progress;
}

static void run_slice(RedisModuleCtx *ctx, void *unused);

static void set_timer(void)
{
    if (!jobs.first || jobs.timed)
        return;
    RedisModule_CreateTimer(lasting, PAUSE, run_slice, NULL);
    jobs.timed = true;
}

/* The job that had the last word of this turn is the last of the next one. */
static void run_slice(RedisModuleCtx *ctx, void *unused)
{
    uint64_t begin = microseconds_now(), worked = read_clock(CLOCK_THREAD_CPUTIME_ID), count = 0;
    (void)unused;
    jobs.timed = false;
    for (const struct job *job = jobs.first; job; job = job->next)
        count++;
    while (count-- > 0 && microseconds_now() - begin < SLICE_MICROSECONDS) {
        struct job *job = take_first();
        if (work(ctx, job, begin) == ALL_DONE)
            job_end(job);
        else
            put_last(job);
    }
    worked = read_clock(CLOCK_THREAD_CPUTIME_ID) - worked;
    jobs.longest = worked > jobs.longest ? worked : jobs.longest;
    set_timer();
}

/* ---- life of a job -------------------------------------------------------------------------------------------------
 */

static int reply(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct job *job = RedisModule_GetBlockedClientPrivateData(ctx);
    (void)argv;
    (void)argc;
    return job->class->reply(ctx, job);
}

/* Also where the client has gone: the job was done all the same. */
static void free_job(RedisModuleCtx *ctx, void *private)
{
    struct job *job = private;
    if (job->timer)
        RedisModule_StopTimer(ctx, job->timer, NULL);
    if (job->name)
        RedisModule_FreeString(NULL, job->name);
    job->class->free(job);
}

static void wait_is_over(RedisModuleCtx *ctx, void *private)
{
    struct job *job = private;
    (void)ctx;
    job->timer = 0;
    job->enough(job);
}

void job_wait(RedisModuleCtx *ctx, struct job *job, const struct job_patience *patience)
{
    if (!lasting)
        lasting = RedisModule_GetDetachedThreadSafeContext(ctx);
    job->database = RedisModule_GetSelectedDb(ctx);
    job->client = RedisModule_BlockClient(ctx, reply, patience->unblocked, free_job, 0);
    job->enough = patience->enough;
    if (job->enough)
        job->timer = RedisModule_CreateTimer(ctx, patience->most, wait_is_over, job);
    if (patience->disconnected)
        RedisModule_SetDisconnectCallback(job->client, patience->disconnected);
}

void job_go_on(struct job *job)
{
    put_last(job);
    set_timer();
}

void job_end(struct job *job)
{
    RedisModule_UnblockClient(job->client, job);
}

int job_begin(RedisModuleCtx *ctx, struct job *job, struct target *target)
{
    if (target) {
        job->name = RedisModule_CreateStringFromString(NULL, target->name);
        job->object = target->filter ? target->filter->object : 0;
        job->generation = target_generation(target);
        target_close(target);
    }
    job_wait(ctx, job, &(struct job_patience){0});
    job_go_on(job);
    return REDISMODULE_OK;
}

void jobs_end(void)
{
    if (lasting)
        RedisModule_FreeThreadSafeContext(lasting);
    lasting = NULL;
}

bool may_write(RedisModuleCtx *ctx, const char **error)
{
    int flags = RedisModule_GetContextFlags(ctx);
    if (!(flags & REDISMODULE_CTX_FLAGS_MASTER))
        *error = "READONLY the server has become a replica meanwhile";
    return !*error && !(flags & REDISMODULE_CTX_FLAGS_LOADING) && !RedisModule_AvoidReplicaTraffic();
}

bool job_open(RedisModuleCtx *ctx, const struct job *job, struct target *target, int mode)
{
    target_open(target, ctx, job->name, mode);
    bool same = job->object ? target->filter && target->filter->object == job->object : target->missing;
    return same && target_generation(target) == job->generation;
}
