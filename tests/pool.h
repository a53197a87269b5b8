/*
 * A thread pool as an executor (roost_executor), for tests and benches: a list of jobs under one lock. Whoever calls
 * `run` works on its own job, the other threads on any.
 */
#ifndef TESTS_POOL_H
#define TESTS_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "roost/types.h"

#define MOST_POOL_THREADS 16

struct pool_job {
    void (*task)(void *argument, size_t index);
    void *argument;
    size_t count, next, done;
    struct pool_job *after;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_end;
    struct pool_job *jobs; /* with tasks that nobody has begun */
    bool closed;
    pthread_t threads[MOST_POOL_THREADS];
    size_t started;
    size_t runs; /* how often it was used */
};

/* The lock is held. Takes one task of a job and does it without the lock. */
static void pool_do_one(struct pool *pool, struct pool_job *job)
{
    size_t index = job->next++;
    if (job->next == job->count) {
        struct pool_job **place = &pool->jobs;
        while (*place != job)
            place = &(*place)->after;
        *place = job->after;
    }
    pthread_mutex_unlock(&pool->lock);
    job->task(job->argument, index);
    pthread_mutex_lock(&pool->lock);
    if (++job->done == job->count)
        pthread_cond_broadcast(&pool->has_end);
}

static void *pool_work(void *context)
{
    struct pool *pool = context;
    pthread_mutex_lock(&pool->lock);
    while (!pool->closed)
        if (pool->jobs)
            pool_do_one(pool, pool->jobs);
        else
            pthread_cond_wait(&pool->has_work, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void pool_run(void *context, void (*task)(void *argument, size_t index), void *argument, size_t count)
{
    struct pool *pool = context;
    struct pool_job job = {.task = task, .argument = argument, .count = count};
    if (count == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->runs++;
    job.after = pool->jobs;
    pool->jobs = &job;
    pthread_cond_broadcast(&pool->has_work);
    while (job.next < job.count)
        pool_do_one(pool, &job);
    while (job.done < job.count)
        pthread_cond_wait(&pool->has_end, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

/* With so many threads, the one that calls included. */
static inline roost_executor pool_open(struct pool *pool, uint32_t threads)
{
    *pool = (struct pool){.started = 0};
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->has_work, NULL);
    pthread_cond_init(&pool->has_end, NULL);
    while (pool->started + 1 < threads && pthread_create(&pool->threads[pool->started], NULL, pool_work, pool) == 0)
        pool->started++;
    return (roost_executor){pool, pool_run, threads};
}

static inline void pool_close(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    pthread_cond_broadcast(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
    while (pool->started > 0)
        pthread_join(pool->threads[--pool->started], NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->has_work);
    pthread_cond_destroy(&pool->has_end);
}

#endif
