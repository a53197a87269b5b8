/*
 * Filters that threads share: the same keys added, and looked up, by one thread and by two, one a call, bytes in. The time
 * is that of the thread that took longest, of the processor: so other programs on the machine do not count, and threads
 * that wait for each other do.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "parts.h"

#define MOST_THREADS 2

struct task {
    pthread_t thread;
    roost_shared *shared;
    uint64_t first, step, end;
    bool adds;
    double spent;
    uint64_t found;
};

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *run(void *context)
{
    struct task *task = context;
    double begin = thread_seconds();
    for (uint64_t i = task->first; i < task->end; i += task->step) {
        uint64_t key = mix(i);
        if (task->adds)
            must(roost_shared_add(task->shared, NULL, &key, sizeof key), "add");
        else
            task->found += roost_shared_contains(task->shared, &key, sizeof key);
    }
    task->spent = thread_seconds() - begin;
    return NULL;
}

/* Nanoseconds of the longest thread, by all keys. */
static double run_all(roost_shared *shared, unsigned threads, uint64_t keys, bool adds)
{
    struct task tasks[MOST_THREADS] = {0};
    double longest = 0;
    uint64_t found = 0;
    for (unsigned i = 0; i < threads; i++) {
        tasks[i] = (struct task){.shared = shared, .first = i, .step = threads, .end = keys, .adds = adds};
        if (pthread_create(&tasks[i].thread, NULL, run, &tasks[i]) != 0)
            must(ROOST_NO_MEMORY, "a thread");
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(tasks[i].thread, NULL);
        longest = tasks[i].spent > longest ? tasks[i].spent : longest;
        found += tasks[i].found;
    }
    if (!adds && found != keys)
        must(ROOST_CORRUPT, "an element is missing");
    return longest / (double)keys * 1e9;
}

static void bench_shared(const char *name, const roost_config *config, uint64_t keys)
{
    double add[MOST_THREADS][MOST_ROUNDS], look[MOST_THREADS][MOST_ROUNDS];
    char with[64];
    for (int round = 0; round < rounds; round++)
        for (unsigned threads = 1; threads <= MOST_THREADS; threads++) {
            roost_shared *shared;
            must(roost_shared_new(&shared, config, NULL), "new");
            add[threads - 1][round] = run_all(shared, threads, keys, true);
            look[threads - 1][round] = run_all(shared, threads, keys, false);
            roost_shared_free(shared);
        }
    for (unsigned threads = 1; threads <= MOST_THREADS; threads++) {
        snprintf(with, sizeof with, "%s: %u thread%s", name, threads, threads == 1 ? "" : "s");
        report_times(with, keys, "add", add[threads - 1], 0);
        report_times(with, keys, "look-up", look[threads - 1], 0);
    }
    report_plain(name, keys, "two threads: add", median(add[0], rounds) / median(add[1], rounds), "times");
    report_plain(name, keys, "two threads: look-up", median(look[0], rounds) / median(look[1], rounds), "times");
}

void bench_threads(uint64_t keys)
{
    roost_config bloom = roost_config_default(), growing = roost_config_default();
    bloom.capacity = keys;
    growing.kind = ROOST_CUCKOO;
    growing.scalable = true;
    bench_shared("shared Bloom", &bloom, keys);
    bench_shared("shared scalable cuckoo", &growing, keys);
}
