/*
 * Long calls with an executor of two threads, beside the same calls without, in turn.
 *
 *     clock        the best of all rounds of each, with two real threads. On a machine that does something else as
 *                  well, two threads seldom get both cores at once, and the figure says more about that than about
 *                  the call
 *     computed     from processor time: the tasks run one after the other on one thread, each is timed, and those of
 *                  one run are given to two threads in turn, to whichever is free first. What is not in tasks counts
 *                  in full. So other programs do not count; nor do caches and memory that two cores share, and waking
 *                  a thread
 *     spent        processor time of all tasks and the rest, as a multiple of that without an executor
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "parts.h"
#include "tests/pool.h"

#define THREADS 2

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Not seconds() of the bench: that is the processor time of all threads together. */
static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Seconds that two threads would save, by all runs so far. */
static double saved;

static void run_in_turn(void *context, void (*task)(void *argument, size_t index), void *argument, size_t count)
{
    double busy[THREADS] = {0}, begin = processor_seconds(), all = 0;
    (void)context;
    for (size_t i = 0; i < count; i++) {
        unsigned thread = busy[1] < busy[0];
        task(argument, i);
        double end = processor_seconds();
        busy[thread] += end - begin;
        all += end - begin;
        begin = end;
    }
    saved += all - (busy[0] > busy[1] ? busy[0] : busy[1]);
}

/* Seconds: on the clock, of the processor, and what two threads would take. */
struct spent {
    double clock, processor, computed;
};

static struct spent now(void)
{
    return (struct spent){clock_seconds(), processor_seconds(), processor_seconds() - saved};
}

enum call { ENCODE, DECODE, MERGE, MERGE_FEW, DIGEST, LOOK_UP, CALLS };
static const char *const call_names[CALLS] = {"encode",           "decode", "merge of halves",
                                              "merge of 1 % new", "digest", "look-up"};

struct subject {
    roost_filter *half, *other, *few, *whole; /* keys: the first half, the second, one in a hundred others, all */
    roost_hash *hashes;                       /* of all keys */
    bool *found;
    uint64_t keys;
    roost_buffer frame;
};

static void begin(struct spent *spent)
{
    *spent = now();
}

static void end(struct spent *spent)
{
    struct spent then = now();
    spent->clock = then.clock - spent->clock;
    spent->processor = then.processor - spent->processor;
    spent->computed = then.computed - spent->computed;
}

static struct spent timed_merge_of(const roost_filter *filter, const roost_filter *other,
                                   const roost_environment *environment)
{
    struct spent spent;
    roost_filter *copy = from_frame(filter, environment);
    begin(&spent);
    must(roost_filter_merge(copy, NULL, other), "merge");
    end(&spent);
    roost_filter_free(copy);
    return spent;
}

/* A copy that no digest was taken of, as it comes from a frame. */
static struct spent timed_digest(const roost_filter *filter, const roost_environment *environment)
{
    struct spent spent;
    roost_filter *copy = from_frame(filter, environment);
    begin(&spent);
    (void)roost_filter_digest(copy);
    end(&spent);
    roost_filter_free(copy);
    return spent;
}

static struct spent timed_decode(const struct subject *subject, const roost_environment *environment)
{
    struct spent spent;
    roost_filter *decoded;
    begin(&spent);
    must(roost_filter_decode(&decoded, subject->frame.data, subject->frame.size, environment), "decode");
    end(&spent);
    roost_filter_free(decoded);
    return spent;
}

static struct spent timed_encode(const struct subject *subject, const roost_environment *environment)
{
    struct spent spent;
    roost_buffer frame;
    roost_filter *copy = from_frame(subject->whole, environment);
    begin(&spent);
    must(roost_filter_encode(copy, &frame), "encode");
    end(&spent);
    roost_buffer_release(&frame);
    roost_filter_free(copy);
    return spent;
}

static struct spent timed_look_ups(const struct subject *subject, const roost_environment *environment)
{
    struct spent spent;
    roost_filter *filter = from_frame(subject->whole, environment);
    begin(&spent);
    roost_filter_contains_many_hash(filter, subject->found, subject->hashes, subject->keys);
    end(&spent);
    roost_filter_free(filter);
    return spent;
}

static struct spent timed_call(enum call call, const struct subject *subject, const roost_environment *environment)
{
    switch (call) {
    case ENCODE:
        return timed_encode(subject, environment);
    case DECODE:
        return timed_decode(subject, environment);
    case MERGE:
        return timed_merge_of(subject->half, subject->other, environment);
    case MERGE_FEW:
        return timed_merge_of(subject->whole, subject->few, environment);
    case DIGEST:
        return timed_digest(subject->whole, environment);
    default:
        return timed_look_ups(subject, environment);
    }
}

static void keep_best(struct spent *best, struct spent spent)
{
    best->clock = spent.clock < best->clock ? spent.clock : best->clock;
    best->processor = spent.processor < best->processor ? spent.processor : best->processor;
    best->computed = spent.computed < best->computed ? spent.computed : best->computed;
}

static void bench_call(const char *name, enum call call, const struct subject *subject,
                       const roost_environment *with_pool)
{
    static const roost_environment none, in_turn = {.executor = {NULL, run_in_turn, THREADS}};
    const roost_environment *environments[] = {&none, with_pool, &in_turn};
    struct spent best[3];
    char text[64];
    for (unsigned i = 0; i < 3; i++)
        best[i] = (struct spent){1e9, 1e9, 1e9};
    for (int round = 0; round < 2 * rounds; round++)
        for (unsigned i = 0; i < 3; i++)
            keep_best(&best[i], timed_call(call, subject, environments[i]));
    snprintf(text, sizeof text, "%s: %s", name, call_names[call]);
    report_plain(text, subject->keys, "one thread", best[0].processor / (double)subject->keys * 1e9, "ns");
    report_plain(text, subject->keys, "clock", best[0].clock / best[1].clock, "times");
    report_plain(text, subject->keys, "computed", best[0].processor / best[2].computed, "times");
    report_plain(text, subject->keys, "spent", best[2].processor / best[0].processor, "times");
}

static roost_filter *filled(const roost_config *config, const roost_hash *hashes, uint64_t count)
{
    roost_filter *filter = make(config);
    must(roost_filter_add_many_hash(filter, NULL, NULL, hashes, count), "add");
    return filter;
}

static void bench_kind(const char *name, const roost_config *config, uint64_t keys, unsigned calls)
{
    struct pool pool;
    roost_environment environment = {.executor = pool_open(&pool, THREADS)};
    struct subject subject = {
        .hashes = malloc((keys + keys / 100) * sizeof(roost_hash)), .found = malloc(keys), .keys = keys};
    if (!subject.hashes || !subject.found)
        must(ROOST_NO_MEMORY, "hashes");
    fill_hashes(subject.hashes, 0, keys + keys / 100);
    subject.half = filled(config, subject.hashes, keys / 2);
    subject.other = filled(config, subject.hashes + keys / 2, keys - keys / 2);
    subject.few = filled(config, subject.hashes + keys, keys / 100);
    subject.whole = filled(config, subject.hashes, keys);
    must(roost_filter_merge(subject.few, NULL, subject.whole), "merge");
    must(roost_filter_encode(subject.whole, &subject.frame), "encode");
    for (unsigned call = 0; call < CALLS; call++)
        if (calls >> call & 1)
            bench_call(name, call, &subject, &environment);
    roost_filter_free(subject.half);
    roost_filter_free(subject.other);
    roost_filter_free(subject.few);
    roost_filter_free(subject.whole);
    roost_buffer_release(&subject.frame);
    free(subject.hashes);
    free(subject.found);
    pool_close(&pool);
}

void bench_executors(uint64_t keys)
{
    roost_config bloom = roost_config_default(), growing = roost_config_default();
    bloom.capacity = keys;
    growing.kind = ROOST_CUCKOO;
    growing.scalable = true;
    bench_kind("executor: growing cuckoo", &growing, keys,
               1u << ENCODE | 1u << DECODE | 1u << MERGE | 1u << MERGE_FEW | 1u << LOOK_UP);
    bench_kind("executor: Bloom", &bloom, keys, 1u << MERGE | 1u << DIGEST | 1u << LOOK_UP);
}
