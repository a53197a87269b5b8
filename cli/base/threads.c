/*
 * One job at a time, which all threads take tasks of. A thread that calls the library while others are at a job, as
 * those that look blocks of keys up do, does its tasks itself: the processors are busy then.
 */
#define _GNU_SOURCE
#include "threads.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#define MOST_BY_DEFAULT 8

uint64_t thread_count(uint64_t wanted)
{
    cpu_set_t usable;
    if (wanted > 0)
        return wanted < MOST_THREADS ? wanted : MOST_THREADS;
    int processors = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
    return processors < MOST_BY_DEFAULT ? (uint64_t)processors : MOST_BY_DEFAULT;
}

size_t start_quietly(pthread_t *threads, size_t wanted, void *(*begin)(void *context), void *context)
{
    sigset_t all, before;
    size_t started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < wanted && pthread_create(&threads[started], NULL, begin, context) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* ---- executor ---------------------------------------------------------------------------------------------------- */

static struct {
    uint64_t wanted;
    atomic_flag busy; /* somebody's job is under way */
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_end;
    void (*task)(void *argument, size_t index);
    void *argument;
    size_t next, count; /* tasks that nobody has begun: from `next` on */
    size_t done;
    bool started;
    pthread_t threads[MOST_THREADS];
} crew = {.busy = ATOMIC_FLAG_INIT,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .has_work = PTHREAD_COND_INITIALIZER,
          .has_end = PTHREAD_COND_INITIALIZER};

/* With the lock, but for the task itself. */
static void do_next(void)
{
    void (*task)(void *argument, size_t index) = crew.task;
    void *argument = crew.argument;
    size_t index = crew.next++;
    pthread_mutex_unlock(&crew.lock);
    task(argument, index);
    pthread_mutex_lock(&crew.lock);
    if (++crew.done == crew.count)
        pthread_cond_signal(&crew.has_end);
}

static void *help(void *context)
{
    (void)context;
    pthread_mutex_lock(&crew.lock);
    for (;;)
        if (crew.next < crew.count)
            do_next();
        else
            pthread_cond_wait(&crew.has_work, &crew.lock);
    return NULL;
}

static void run_together(void (*task)(void *argument, size_t index), void *argument, size_t count)
{
    pthread_mutex_lock(&crew.lock);
    if (!crew.started)
        start_quietly(crew.threads, thread_count(crew.wanted) - 1, help, NULL);
    crew.started = true;
    crew.task = task;
    crew.argument = argument;
    crew.next = crew.done = 0;
    crew.count = count;
    pthread_cond_broadcast(&crew.has_work);
    while (crew.next < crew.count)
        do_next();
    while (crew.done < crew.count)
        pthread_cond_wait(&crew.has_end, &crew.lock);
    pthread_mutex_unlock(&crew.lock);
}

static void run(void *context, void (*task)(void *argument, size_t index), void *argument, size_t count)
{
    (void)context;
    if (atomic_flag_test_and_set(&crew.busy)) {
        for (size_t i = 0; i < count; i++)
            task(argument, i);
        return;
    }
    run_together(task, argument, count);
    atomic_flag_clear(&crew.busy);
}

void set_executor_threads(uint64_t wanted)
{
    crew.wanted = wanted;
}

roost_executor program_executor(void)
{
    return (roost_executor){NULL, run, (uint32_t)thread_count(crew.wanted)};
}
