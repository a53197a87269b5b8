/* See job.h. */
#include "job.h"

#include <time.h>

#include "module/base/replies.h"

#define SLICE_MICROSECONDS 1000
#define PAUSE              1 /* milliseconds */

static struct {
    struct job *first, **last;
    bool timed; /* a timer for the next slice is set */
    uint64_t longest, running;
} jobs = {.last = &jobs.first};
static RedisModuleCtx *lasting; /* for calls outside of a command */

static uint64_t processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

uint64_t longest_slice(void)
{
    return jobs.longest;
}

uint64_t jobs_running(void)
{
    return jobs.running;
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

/* ---- time slices ------------------------------------------------------------------------------------------------- */

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

static void finish(struct job *job)
{
    jobs.running--;
    count_one(JOBS_FINISHED);
    if (job->class->path != NO_SLOW_PATH)
        count_slow(job->class->path, microseconds_now() - job->begun);
    job_end(job);
}

/* A job that has run goes to the end of the queue. */
static void run_slice(RedisModuleCtx *ctx, void *unused)
{
    uint64_t begin = microseconds_now(), worked = processor_time(), count = 0;
    (void)unused;
    jobs.timed = false;
    for (const struct job *job = jobs.first; job; job = job->next)
        count++;
    while (count-- > 0 && microseconds_now() - begin < SLICE_MICROSECONDS) {
        struct job *job = take_first();
        if (work(ctx, job, begin) == ALL_DONE)
            finish(job);
        else
            put_last(job);
    }
    worked = processor_time() - worked;
    jobs.longest = worked > jobs.longest ? worked : jobs.longest;
    set_timer();
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static int reply(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct job *job = RedisModule_GetBlockedClientPrivateData(ctx);
    (void)argv;
    (void)argc;
    return job->class->reply(ctx, job);
}

/* Also called if the client has disconnected; the job was done all the same. */
static void free_job(RedisModuleCtx *ctx, void *private)
{
    struct job *job = private;
    if (job->timer)
        RedisModule_StopTimer(ctx, job->timer, NULL);
    job->class->free(job);
}

static void time_out(RedisModuleCtx *ctx, void *private)
{
    struct job *job = private;
    (void)ctx;
    job->timer = 0;
    job->timed_out(job);
}

void job_wait(RedisModuleCtx *ctx, struct job *job, const struct job_wait *wait)
{
    if (!lasting)
        lasting = RedisModule_GetDetachedThreadSafeContext(ctx);
    job->database = RedisModule_GetSelectedDb(ctx);
    job->client = RedisModule_BlockClient(ctx, reply, wait->unblocked, free_job, 0);
    job->timed_out = wait->timed_out;
    if (job->timed_out)
        job->timer = RedisModule_CreateTimer(ctx, wait->most, time_out, job);
    if (wait->disconnected)
        RedisModule_SetDisconnectCallback(job->client, wait->disconnected);
}

void job_go_on(struct job *job)
{
    job->begun = microseconds_now();
    jobs.running++;
    put_last(job);
    set_timer();
}

void job_end(struct job *job)
{
    RedisModule_UnblockClient(job->client, job);
}

int job_reply_error(RedisModuleCtx *ctx, const char *error)
{
    count_one(JOBS_FAILED);
    return RedisModule_ReplyWithError(ctx, error);
}

int job_reply_status(RedisModuleCtx *ctx, roost_status status)
{
    count_one(JOBS_FAILED);
    return reply_status(ctx, status);
}

int job_begin(RedisModuleCtx *ctx, struct job *job)
{
    job_wait(ctx, job, &(struct job_wait){0});
    job_go_on(job);
    return REDISMODULE_OK;
}
