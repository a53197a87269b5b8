/*
 * Filters that grow: from a first capacity of 1,000 on, timed at every power of ten, beside a filter that knew its
 * capacity.
 *
 *     insert            of the keys since the last power of ten; the other filter is filled from empty
 *     look-up           of a sample of all keys so far, and of keys that were never added; the two filters take turns
 *     memory            at the power of ten, and just before and just after the last growth step before it: a series
 *                       that has just grown has an empty table as large as all others together
 *     memory by plan    what tables of the planned capacities and rates take, added up; for sizes that are not filled
 *
 * One writer, 1 %, growth 2, the quadratic schedule: the default but for the number of writers. 2^20 keys, the size
 * that the rest of the bench has, are measured for the default four writers as well, of whom one adds.
 *
 * Healed: ten replicas of a series that were filled apart and then merged, beside one series of the same configuration
 * that was filled with the same keys in one place: what a partition does to look-ups.
 */
#include <stdlib.h>

#include "parts.h"

#define FIRST_CAPACITY 1000
#define SAMPLE         (1u << 20)
#define HEALED         10
#define ABSENT         (UINT64_C(1) << 39)

struct figures {
    double insert[MOST_ROUNDS], present[MOST_ROUNDS], absent[MOST_ROUNDS];
    double memory, before, after, rate;
    uint32_t tables;
};

static roost_config growing(roost_kind kind, uint32_t writers)
{
    roost_config config = roost_config_default();
    config.kind = kind;
    config.capacity = FIRST_CAPACITY;
    config.scalable = true;
    config.writers = writers;
    return config;
}

static roost_config knowing(roost_kind kind, uint64_t keys)
{
    roost_config config = roost_config_default();
    config.kind = kind;
    config.capacity = keys;
    return config;
}

static double bits_a_key(const roost_filter *filter, uint64_t keys)
{
    roost_info info;
    roost_filter_get_info(filter, &info);
    return (double)info.bytes_memory * 8 / (double)keys;
}

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

static void time_lookups(struct figures *figures, int round, const roost_filter *filter, uint64_t base, uint64_t keys)
{
    uint64_t sample = keys < SAMPLE ? keys : SAMPLE, found;
    uint64_t passes = (SAMPLE / 16 + sample - 1) / sample; /* few keys: often enough for the clock */
    double hit = 0, miss = 0;
    for (uint64_t pass = 0; pass < passes; pass++) {
        hit += timed_lookups(filter, base, keys / sample, sample, &found);
        if (found != sample)
            must(ROOST_CORRUPT, "an element is missing");
        miss += timed_lookups(filter, base + ABSENT + pass * sample, 1, sample, &found);
    }
    figures->present[round] = hit / (double)(sample * passes) * 1e9;
    figures->absent[round] = miss / (double)(sample * passes) * 1e9;
    figures->rate = (double)found / (double)sample;
}

static void report_figures(const char *name, uint64_t keys, struct figures *figures)
{
    report_times(name, keys, "insert", figures->insert, 0);
    report_times(name, keys, "look-up present", figures->present, 0);
    report_times(name, keys, "look-up absent", figures->absent, 0);
    report_plain(name, keys, "memory", figures->memory, "bits/key");
    if (figures->after > 0) {
        report_plain(name, keys, "memory before a step", figures->before, "bits/key");
        report_plain(name, keys, "memory after a step", figures->after, "bits/key");
    }
    report_plain(name, keys, "false positives", figures->rate * 100, "%");
    if (figures->tables > 1)
        report_plain(name, keys, "tables", figures->tables, "");
}

/* ---- growing ----------------------------------------------------------------------------------------------------- */

/* The last number of keys up to `keys` at which one writer has filled all of its tables; 0: none. */
static uint64_t last_step(uint64_t keys)
{
    uint64_t step = FIRST_CAPACITY;
    while (2 * step + FIRST_CAPACITY <= keys)
        step = 2 * step + FIRST_CAPACITY;
    return step < keys ? step : 0;
}

/* Adds up to `keys`, with a look at the memory on both sides of the last step: it comes up to 1 % late, since keys that
   are reported already are not added. */
static double grow(struct figures *figures, roost_filter *filter, uint64_t base, uint64_t from, uint64_t keys)
{
    uint64_t step = last_step(keys), beyond = step + step / 64;
    double spent = 0;
    if (step > 0 && step >= from && beyond < keys) {
        spent += timed_adds(filter, base + from, step - from);
        figures->before = bits_a_key(filter, step);
        spent += timed_adds(filter, base + step, beyond - step);
        figures->after = bits_a_key(filter, beyond);
        from = beyond;
    }
    return spent + timed_adds(filter, base + from, keys - from);
}

static void measure_grown(struct figures *figures, int round, roost_filter *filter, uint64_t base, uint64_t from,
                          uint64_t keys)
{
    roost_info info;
    figures->insert[round] = grow(figures, filter, base, from, keys) / (double)(keys - from) * 1e9;
    roost_filter_get_info(filter, &info);
    figures->memory = (double)info.bytes_memory * 8 / (double)keys;
    figures->tables = info.tables;
}

static roost_filter *measure_knowing(struct figures *figures, int round, roost_kind kind, uint64_t base, uint64_t keys)
{
    roost_config config = knowing(kind, keys);
    roost_filter *filter = make(&config);
    figures->insert[round] = timed_adds(filter, base, keys) / (double)keys * 1e9;
    figures->memory = bits_a_key(filter, keys);
    return filter;
}

/* One filter through the sizes in `sizes`, which rise; lines of those from `reported` on. */
static void bench_sizes(const char *name, roost_kind kind, uint32_t writers, const uint64_t *sizes, unsigned count,
                        unsigned reported)
{
    char grown_name[64], knowing_name[64];
    struct figures *figures = calloc(2 * count, sizeof *figures);
    if (!figures)
        must(ROOST_NO_MEMORY, "figures");
    for (int round = 0; round < rounds; round++) {
        uint64_t base = (uint64_t)round << 40;
        roost_config config = growing(kind, writers);
        roost_filter *filter = make(&config);
        for (unsigned i = 0; i < count; i++) {
            measure_grown(&figures[2 * i], round, filter, base, i ? sizes[i - 1] : 0, sizes[i]);
            if (i < reported)
                continue;
            roost_filter *other = measure_knowing(&figures[2 * i + 1], round, kind, base, sizes[i]);
            time_lookups(&figures[2 * i], round, filter, base, sizes[i]);
            time_lookups(&figures[2 * i + 1], round, other, base, sizes[i]);
            roost_filter_free(other);
        }
        roost_filter_free(filter);
    }
    snprintf(grown_name, sizeof grown_name, "grown %s %u writer%s", name, writers, writers == 1 ? "" : "s");
    snprintf(knowing_name, sizeof knowing_name, "%s of the right size", name);
    for (unsigned i = reported; i < count; i++) {
        report_figures(grown_name, sizes[i], &figures[2 * i]);
        if (writers == 1)
            report_figures(knowing_name, sizes[i], &figures[2 * i + 1]);
    }
    free(figures);
}

/* ---- sizes by the plan ------------------------------------------------------------------------------------------- */

/* Tables double from FIRST_CAPACITY on, and table i has 6/pi^2 / (i+1)^2 of 1 %. Bits a key do not depend on how large
   a table is, so that a small one of the same rate tells them. */
static void report_plan(const char *name, roost_kind kind, uint64_t keys)
{
    double bytes = 0, capacity = FIRST_CAPACITY, room = 0;
    for (unsigned i = 0; room < (double)keys; i++, capacity *= 2) {
        roost_config config = knowing(kind, 1 << 18);
        config.fpr = 0.01 * 0.607927101854026628 / ((double)(i + 1) * (i + 1));
        roost_filter *filter = make(&config);
        bytes += bits_a_key(filter, config.capacity) / 8 * capacity;
        room += capacity;
        roost_filter_free(filter);
    }
    report_plain(name, keys, "memory by plan", bytes * 8 / (double)keys, "bits/key");
    report_plain(name, keys, "whole memory by plan", bytes / (1 << 30), "GiB");
}

/* ---- healed ------------------------------------------------------------------------------------------------------ */

static roost_filter *healed(const roost_config *config, uint64_t base, uint64_t keys, bool balanced)
{
    roost_filter *filter = make(config);
    uint64_t first = balanced ? keys / HEALED : keys / 100 * 99, from = first;
    timed_adds(filter, base, first);
    for (unsigned i = 1; i < HEALED; i++) {
        uint64_t some = i == HEALED - 1 ? keys - from : (keys - first) / (HEALED - 1);
        roost_filter *other = make(config);
        timed_adds(other, base + from, some);
        must(roost_filter_merge(filter, NULL, other), "merge");
        roost_filter_free(other);
        from += some;
    }
    return filter;
}

static void bench_healed(const char *name, roost_kind kind, uint64_t keys, bool balanced)
{
    char healed_name[64], alone_name[64];
    struct figures figures[2] = {0};
    for (int round = 0; round < rounds; round++) {
        uint64_t base = (uint64_t)round << 40;
        roost_config config = growing(kind, HEALED);
        roost_filter *filters[2] = {healed(&config, base, keys, balanced), make(&config)};
        timed_adds(filters[1], base, keys);
        for (unsigned i = 0; i < 2; i++) {
            time_lookups(&figures[i], round, filters[i], base, keys);
            roost_filter_free(filters[i]);
        }
    }
    snprintf(healed_name, sizeof healed_name, "healed %s %s", name, balanced ? "balanced" : "99-1");
    snprintf(alone_name, sizeof alone_name, "unparted %s %s", name, balanced ? "balanced" : "99-1");
    report_times(healed_name, keys, "look-up present", figures[0].present, 0);
    report_times(healed_name, keys, "look-up absent", figures[0].absent, 0);
    report_times(alone_name, keys, "look-up present", figures[1].present, 0);
    report_times(alone_name, keys, "look-up absent", figures[1].absent, 0);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

void bench_growth(bool large)
{
    static const uint64_t decades[] = {1000, 10000, 100000, 1000000, 10000000, 100000000}, usual[] = {1 << 20};
    static const roost_kind kinds[] = {ROOST_BLOOM, ROOST_CUCKOO, ROOST_ORCUCKOO};
    static const char *const names[] = {"Bloom", "cuckoo", "orcuckoo"};
    int all_rounds = rounds;
    for (unsigned i = 0; i < 3; i++) {
        rounds = all_rounds < 3 ? all_rounds : 3;
        bench_sizes(names[i], kinds[i], 1, usual, 1, 0);
        bench_sizes(names[i], kinds[i], 4, usual, 1, 0);
        bench_sizes(names[i], kinds[i], 1, decades, 5, 0);
        rounds = 1;
        if (large && kinds[i] != ROOST_ORCUCKOO)
            bench_sizes(names[i], kinds[i], 1, decades, 6, 5);
        rounds = all_rounds;
        char plan[64];
        snprintf(plan, sizeof plan, "grown %s 1 writer", names[i]);
        report_plan(plan, kinds[i], 1000000000);
        bench_healed(names[i], kinds[i], 1 << 20, true);
        bench_healed(names[i], kinds[i], 1 << 20, false);
    }
}
