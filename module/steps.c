/* See steps.h. */
#include "steps.h"

#include <time.h>

#include "replies.h"

#define TURN  1000 /* microseconds */
#define PAUSE 1    /* milliseconds */

static struct {
    struct job *first, **last;
    bool timed; /* a turn is due */
    uint64_t longest;
} jobs = {.last = &jobs.first};

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

uint64_t longest_turn(void)
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
    while (progress == MORE_TO_DO && microseconds_now() - begin < TURN);
    return progress;
}

static void turn(RedisModuleCtx *ctx, void *unused);

static void set_timer(RedisModuleCtx *ctx)
{
    if (!jobs.first || jobs.timed)
        return;
    RedisModule_CreateTimer(ctx, PAUSE, turn, NULL);
    jobs.timed = true;
}

/* The job that had the last word of this turn is the last of the next one. */
static void turn(RedisModuleCtx *ctx, void *unused)
{
    uint64_t begin = microseconds_now(), worked = read_clock(CLOCK_THREAD_CPUTIME_ID), count = 0;
    (void)unused;
    jobs.timed = false;
    for (const struct job *job = jobs.first; job; job = job->next)
        count++;
    while (count-- > 0 && microseconds_now() - begin < TURN) {
        struct job *job = take_first();
        if (work(ctx, job, begin) == ALL_DONE)
            RedisModule_UnblockClient(job->client, job);
        else
            put_last(job);
    }
    worked = read_clock(CLOCK_THREAD_CPUTIME_ID) - worked;
    jobs.longest = worked > jobs.longest ? worked : jobs.longest;
    set_timer(ctx);
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
    RedisModule_FreeString(ctx, job->name);
    job->class->free(job);
}

int job_begin(RedisModuleCtx *ctx, struct job *job, RedisModuleString *name, const struct filter_value *filter)
{
    job->name = RedisModule_CreateStringFromString(NULL, name);
    job->object = filter ? filter->object : 0;
    job->database = RedisModule_GetSelectedDb(ctx);
    job->client = RedisModule_BlockClient(ctx, reply, NULL, free_job, 0);
    put_last(job);
    set_timer(ctx);
    return REDISMODULE_OK;
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
    return job->object ? target->filter && target->filter->object == job->object : target->missing;
}
