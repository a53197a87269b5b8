/*
 * A filter while it grows from 1,000 to 10^8 keys: memory, look-ups and the slowest addition, eight points to a doubling,
 * so that no point hides between two others. One writer, 1 %.
 *
 * The slowest addition. Keys are added one a call, and each call is timed by the wall clock, which costs little but
 * counts the turns of other programs. So groups of 64 calls are timed by the clock of this process too, and a call
 * counts for no more than its group took. What is left of disturbances is different each time: all is done several times,
 * and of each group the best time counts.
 */
#include <stdlib.h>
#include <time.h>

#include "parts.h"

#define FIRST            1000
#define EIGHTH_ROOT_OF_2 1.0905077326652577
#define MOST_POINTS      256
#define MOST_KEYS        (UINT64_C(1) << 32)
#define PASSES           3
#define GROUP            64
#define SAMPLE           (1u << 17)
#define ABSENT           (UINT64_C(1) << 39)

static double wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* How long the slowest call of each group took, in seconds: the best of all passes. */
struct groups {
    float *slowest;
    uint64_t next;
    bool again; /* not the first pass */
};

/* Returns the seconds that it took. */
static double add_group(struct groups *groups, roost_filter *filter, uint64_t from, uint64_t count)
{
    double begin = seconds(), before = wall_seconds(), longest = 0;
    for (uint64_t key = from; key < from + count; key++) {
        must(roost_filter_add_hash(filter, NULL, hash_of(key)), "add");
        double now = wall_seconds();
        longest = now - before > longest ? now - before : longest;
        before = now;
    }
    double spent = seconds() - begin;
    float *slowest = &groups->slowest[groups->next++], some = (float)(longest < spent ? longest : spent);
    *slowest = groups->again && *slowest < some ? *slowest : some;
    return spent;
}

/* Nanoseconds a key, of which `expected` must be found at least. */
static double lookups(const roost_filter *filter, uint64_t from, uint64_t step, uint64_t count, uint64_t expected)
{
    uint64_t found;
    double passes = 0, spent = 0;
    for (; passes < 1 || spent < 1e-3; passes++)
        spent += timed_lookups(filter, from, step, count, &found);
    if (found < expected)
        must(ROOST_CORRUPT, "an element is missing");
    return spent / passes / (double)count * 1e9;
}

struct point {
    uint64_t keys, groups;
    double bits, present[PASSES], absent[PASSES], add[PASSES];
};

static void measure_point(struct point *point, unsigned pass, const roost_filter *filter)
{
    uint64_t sample = point->keys < SAMPLE ? point->keys : SAMPLE;
    roost_info info;
    roost_filter_get_brief_info(filter, &info);
    point->bits = (double)info.bytes_memory * 8 / (double)point->keys;
    point->present[pass] = lookups(filter, 0, point->keys / sample, sample, sample);
    point->absent[pass] = lookups(filter, ABSENT, 1, sample, 0);
}

static roost_filter *growing_filter(roost_kind kind)
{
    roost_config config = roost_config_default();
    config.kind = kind;
    config.capacity = FIRST;
    config.scalable = true;
    config.writers = 1;
    return make(&config);
}

/* Returns how many points there are. */
static unsigned grow_once(struct point *points, unsigned pass, struct groups *groups, roost_kind kind, uint64_t most)
{
    roost_filter *filter = growing_filter(kind);
    unsigned count = 0;
    double next = FIRST;
    groups->next = 0;
    groups->again = pass > 0;
    for (uint64_t keys = 0; keys < most; next *= EIGHTH_ROOT_OF_2, count++) {
        uint64_t from = keys, to = (uint64_t)next < most ? (uint64_t)next : most;
        double spent = 0;
        for (uint64_t some; keys < to; keys += some) {
            some = GROUP < to - keys ? GROUP : to - keys;
            spent += add_group(groups, filter, keys, some);
        }
        points[count].keys = keys;
        points[count].groups = groups->next;
        points[count].add[pass] = spent / (double)(keys - from) * 1e9;
        measure_point(&points[count], pass, filter);
    }
    roost_filter_free(filter);
    return count;
}

static void draw_curve(FILE *table, const char *name, roost_kind kind, uint64_t most)
{
    static struct point points[MOST_POINTS];
    struct groups groups = {.slowest = calloc(most / GROUP + MOST_POINTS, sizeof *groups.slowest)};
    unsigned count = 0;
    uint64_t group = 0;
    float slowest = 0;
    if (!groups.slowest)
        must(ROOST_NO_MEMORY, "figures");
    for (unsigned pass = 0; pass < PASSES; pass++)
        count = grow_once(points, pass, &groups, kind, most);
    for (unsigned i = 0; i < count; i++) {
        for (; group < points[i].groups; group++)
            slowest = groups.slowest[group] > slowest ? groups.slowest[group] : slowest;
        fprintf(table, "%s,%llu,%.2f,%.1f,%.1f,%.1f,%.1f\n", name, (unsigned long long)points[i].keys, points[i].bits,
                median(points[i].present, PASSES), median(points[i].absent, PASSES), median(points[i].add, PASSES),
                (double)slowest * 1e6);
    }
    free(groups.slowest);
}

void bench_curve(FILE *table, uint64_t most)
{
    most = most < MOST_KEYS ? most : MOST_KEYS;
    fprintf(table, "filter,keys,bits a key,look-up present ns,look-up absent ns,add ns,slowest add us\n");
    draw_curve(table, "ScGCF", ROOST_CUCKOO, most);
    draw_curve(table, "ScORCF", ROOST_ORCUCKOO, most);
    draw_curve(table, "ScGBF", ROOST_BLOOM, most);
}
