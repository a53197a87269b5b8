/*
 * How fast the filters are, and how near to what the machine allows.
 *
 *     roost-bench [--large] [--csv FILE] [--rounds N]
 *
 * Each figure is the median of N rounds (5), in nanoseconds a key (or an entry), with hashes ready in batches, and the
 * best. Beside it stands the machine's own limit, measured in the same run: random cache lines read or written in an
 * array of the same size, or the bandwidth of a plain OR. Times drift on shared machines; ratios within one run are
 * what counts.
 * --large adds 10^8 keys, far out of the caches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "roost.h"

#define CHUNK       65536
#define MOST_ROUNDS 25

static int rounds = 5;
static FILE *csv;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static roost_hash hash_of(uint64_t key)
{
    return (roost_hash){mix(key), mix(key ^ UINT64_C(0x5bf03635f0935ca7))};
}

static void must(roost_status status, const char *what)
{
    if (status != ROOST_OK) {
        fprintf(stderr, "roost-bench: %s: %s\n", what, roost_status_text(status));
        exit(2);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

/* best: the best round, which other tenants of the machine disturbed least; limit: what the machine allows for the same
 * accesses, in the same unit; 0 stands for none. */
static void report(const char *what, uint64_t keys, const char *figure, double value, const char *unit, double best,
                   double limit)
{
    char extremes[64] = "";
    if (best > 0)
        snprintf(extremes, sizeof extremes, "best %7.2f", best);
    if (limit > 0)
        snprintf(extremes + 12, sizeof extremes - 12, "   limit %6.2f, %3.0f %%", limit, 100 * limit / value);
    printf("%-24s %10llu  %-20s %9.2f %-9s %s\n", what, (unsigned long long)keys, figure, value, unit, extremes);
    fflush(stdout);
    if (csv)
        fprintf(csv, "%s,%llu,%s,%.3f,%s,%.3f,%.3f\n", what, (unsigned long long)keys, figure, value, unit, best,
                limit);
}

static void report_times(const char *what, uint64_t keys, const char *figure, double *times, double limit)
{
    double middle = median(times, rounds); /* which sorts them */
    report(what, keys, figure, middle, "ns", times[0], limit);
}

static void report_plain(const char *what, uint64_t keys, const char *figure, double value, const char *unit)
{
    report(what, keys, figure, value, unit, 0, 0);
}

/* ---- the machine's own limits
 * ---------------------------------------------------------------------------------------- */

static uint64_t *lines_array(size_t bytes)
{
    uint64_t *memory = aligned_alloc(2 << 20, (bytes + (2 << 20) - 1) & ~(size_t)((2 << 20) - 1));
    if (!memory)
        must(ROOST_NO_MEMORY, "array");
    madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 1, bytes);
    return memory;
}

/* Independent random cache lines of an array, read or changed; asked for ahead where the array outgrows the caches. */
static double random_lines(size_t bytes, bool change)
{
    enum { AHEAD = 48 };
    uint64_t *memory = lines_array(bytes), lines = bytes / 64, sum = 0, next[AHEAD] = {0};
    size_t count = lines > 4000000 ? lines : 4000000;
    bool prefetch = bytes > (4 << 20);
    double times[MOST_ROUNDS];
    for (int round = 0; round < rounds; round++) {
        double begin = seconds();
        for (size_t i = 0; i < count; i++) {
            uint64_t line = (uint64_t)(((unsigned __int128)mix(i + (uint64_t)round * count) * lines) >> 64);
            if (prefetch) {
                uint64_t later = line;
                __builtin_prefetch(memory + later * 8, 1);
                line = next[i % AHEAD];
                next[i % AHEAD] = later;
            }
            if (change)
                memory[line * 8] ^= i;
            else
                sum += memory[line * 8];
        }
        times[round] = (seconds() - begin) / (double)count * 1e9;
    }
    volatile uint64_t keep = sum;
    (void)keep;
    free(memory);
    return median(times, rounds);
}

/* GB/s of a plain OR of two arrays, once. */
static double or_bandwidth(uint64_t *to, const uint64_t *from, size_t bytes, size_t repeats)
{
    double begin = seconds();
    for (size_t repeat = 0; repeat < repeats; repeat++) {
        for (size_t i = 0; i < bytes / 8; i++)
            to[i] |= from[i];
        __asm__ volatile("" ::"r"(to) : "memory");
    }
    return (double)bytes * (double)repeats / (seconds() - begin) / 1e9;
}

/* ---- filters
 * --------------------------------------------------------------------------------------------------------- */

static roost_filter *make(const roost_config *config)
{
    roost_filter *filter;
    must(roost_filter_new(&filter, config, NULL), "new");
    return filter;
}

static void fill_hashes(roost_hash *hashes, uint64_t from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash_of(from + i);
}

/* Seconds spent inside the filter, hashes being made outside the clock. */
static double timed_adds(roost_filter *filter, uint64_t from, uint64_t count)
{
    static roost_hash hashes[CHUNK];
    double spent = 0;
    for (uint64_t done = 0; done < count;) {
        size_t some = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        fill_hashes(hashes, from + done, some);
        double begin = seconds();
        must(roost_filter_add_many_hash(filter, NULL, NULL, hashes, some), "add");
        spent += seconds() - begin;
        done += some;
    }
    return spent;
}

static double timed_lookups(const roost_filter *filter, uint64_t from, uint64_t count, uint64_t *found_count)
{
    static roost_hash hashes[CHUNK];
    static bool found[CHUNK];
    double spent = 0;
    *found_count = 0;
    for (uint64_t done = 0; done < count;) {
        size_t some = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        fill_hashes(hashes, from + done, some);
        double begin = seconds();
        roost_filter_contains_many_hash(filter, found, hashes, some);
        spent += seconds() - begin;
        for (size_t i = 0; i < some; i++)
            *found_count += found[i];
        done += some;
    }
    return spent;
}

/* One key a call, bytes in. */
static double single_lookups(const roost_filter *filter, uint64_t count)
{
    uint64_t found = 0;
    double begin = seconds();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key[2] = {i, i};
        found += roost_filter_contains(filter, key, sizeof key);
    }
    volatile uint64_t keep = found;
    (void)keep;
    return seconds() - begin;
}

static void bench_kind(const char *name, const roost_config *config, uint64_t keys)
{
    double insert[MOST_ROUNDS], hit[MOST_ROUNDS], miss[MOST_ROUNDS], single[MOST_ROUNDS];
    double encode[MOST_ROUNDS], decode[MOST_ROUNDS], entries = 0, encoded = 0, rate = 0;
    roost_info info = {0};
    for (int round = 0; round < rounds; round++) {
        uint64_t base = (uint64_t)round << 40, found;
        roost_filter *filter = make(config);
        insert[round] = timed_adds(filter, base, keys) / (double)keys * 1e9;
        hit[round] = timed_lookups(filter, base, keys, &found) / (double)keys * 1e9;
        if (found != keys)
            must(ROOST_CORRUPT, "an element is missing");
        miss[round] = timed_lookups(filter, base + keys + (1ull << 39), keys, &found) / (double)keys * 1e9;
        rate += (double)found / (double)keys / rounds;
        single[round] =
            single_lookups(filter, keys < 4000000 ? keys : 4000000) / (double)(keys < 4000000 ? keys : 4000000) * 1e9;
        roost_filter_info(filter, &info);
        roost_buffer frame;
        double begin = seconds();
        must(roost_filter_encode(filter, &frame), "encode");
        encode[round] = (seconds() - begin) / (double)keys * 1e9;
        roost_filter_free(filter);
        begin = seconds();
        must(roost_filter_decode(&filter, frame.data, frame.size, NULL), "decode");
        decode[round] = (seconds() - begin) / (double)keys * 1e9;
        encoded = (double)frame.size;
        entries = (double)info.entries;
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
    bool blocked = config->kind == ROOST_BLOOM && config->layout == ROOST_BLOCKED;
    double touched = blocked ? 1 : config->kind == ROOST_CUCKOO ? 2 : 0;
    double read_limit = touched * random_lines(info.bytes_memory, false);
    double write_limit = touched * random_lines(info.bytes_memory, true);
    report_times(name, keys, "insert", insert, write_limit);
    report_times(name, keys, "look-up present", hit, read_limit);
    report_times(name, keys, "look-up absent", miss, read_limit);
    report_times(name, keys, "look-up one a call", single, 0);
    report_times(name, keys, "encode", encode, 0);
    report_times(name, keys, "decode", decode, 0);
    report_plain(name, keys, "memory", (double)info.bytes_memory * 8 / (double)keys, "bits/key");
    report_plain(name, keys, "frame", encoded * 8 / (double)keys, "bits/key");
    report_plain(name, keys, "false positives", rate * 100, "%");
    if (config->kind == ROOST_CUCKOO)
        report_plain(name, keys, "load", 100 * entries / ((double)info.buckets * config->bucket_size), "%");
}

/* ---- merges
 * ---------------------------------------------------------------------------------------------------------- */

/* The merge and the plain OR take turns, so that both see the same weather. */
static void bench_bloom_merge(const roost_config *config, uint64_t keys)
{
    double merges[MOST_ROUNDS], ors[MOST_ROUNDS], ratios[MOST_ROUNDS];
    roost_filter *a = make(config), *b = make(config);
    timed_adds(a, 0, keys / 2);
    timed_adds(b, keys, keys / 2);
    roost_info info;
    roost_filter_info(a, &info);
    size_t bytes = info.bits / 8, repeats = ((size_t)1 << 28) / bytes + 1;
    uint64_t *to = lines_array(bytes), *from = lines_array(bytes);
    for (int round = 0; round < rounds; round++) {
        ors[round] = or_bandwidth(to, from, bytes, repeats);
        double begin = seconds();
        for (size_t repeat = 0; repeat < repeats; repeat++)
            must(roost_filter_merge(a, NULL, b), "merge");
        merges[round] = (double)bytes * (double)repeats / (seconds() - begin) / 1e9;
        ratios[round] = 100 * merges[round] / ors[round];
    }
    report_plain("Bloom merge", keys, "bandwidth", median(merges, rounds), "GB/s");
    report_plain("Bloom merge", keys, "plain OR", median(ors, rounds), "GB/s");
    report_plain("Bloom merge", keys, "of the OR", median(ratios, rounds), "%");
    free(to);
    free(from);
    roost_filter_free(a);
    roost_filter_free(b);
}

/* `share` of the slots filled in the result, half of it on each side. */
static void bench_cuckoo_merge(const roost_config *config, uint64_t slots, double share, const char *what)
{
    double times[MOST_ROUNDS], equal[MOST_ROUNDS];
    uint64_t half = (uint64_t)((double)slots * share / 2);
    roost_info incoming;
    for (int round = 0; round < rounds; round++) {
        uint64_t base = (uint64_t)round << 40;
        roost_filter *a = make(config), *b = make(config), *c;
        timed_adds(a, base, half);
        timed_adds(b, base + half, half);
        roost_filter_info(b, &incoming);
        double begin = seconds();
        must(roost_filter_merge(a, NULL, b), "merge");
        times[round] = (seconds() - begin) / (double)incoming.entries * 1e9;
        must(roost_filter_merge(b, NULL, a), "merge");
        must(roost_filter_clone(a, &c), "clone");
        roost_filter_info(b, &incoming);
        begin = seconds();
        must(roost_filter_merge(c, NULL, b), "merge");
        equal[round] = (seconds() - begin) / (double)incoming.entries * 1e9;
        roost_filter_free(a);
        roost_filter_free(b);
        roost_filter_free(c);
    }
    report_times("cuckoo merge", half, what, times, 0);
    report_times("cuckoo merge of equals", 2 * half, what, equal, 0);
}

/* ---- the whole
 * ------------------------------------------------------------------------------------------------------- */

static roost_config bloom(roost_layout layout, uint64_t keys)
{
    roost_config config = roost_config_default();
    config.layout = layout;
    config.capacity = keys;
    return config;
}

/* Eight bits, buckets of four, filled to `share` of its slots. */
static roost_config cuckoo(uint64_t slots, double share)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_CUCKOO;
    config.capacity = (uint64_t)((double)slots * share);
    config.fingerprint_bits = 8;
    config.fpr = 0;
    return config;
}

static void bench_size(uint64_t keys)
{
    roost_config blocked = bloom(ROOST_BLOCKED, keys), classic = bloom(ROOST_CLASSIC, keys);
    bench_kind("blocked Bloom 1 %", &blocked, keys);
    bench_kind("classic Bloom 1 %", &classic, keys);
    roost_config table = cuckoo(keys, 0.953);
    bench_kind("cuckoo 8 bit 95 % full", &table, (uint64_t)((double)keys * 0.953));
    roost_config one_percent = cuckoo(keys, 1);
    one_percent.fingerprint_bits = 0;
    one_percent.fpr = 0.01;
    bench_kind("cuckoo 1 %", &one_percent, keys);
    bench_bloom_merge(&blocked, keys);
    bench_cuckoo_merge(&table, keys, 0.80, "result 80 % full");
    bench_cuckoo_merge(&table, keys, 0.95, "result 95 % full");
}

static int usage(void)
{
    fprintf(stderr, "usage: roost-bench [--large] [--csv FILE] [--rounds N]\n");
    return 2;
}

int main(int argc, char **argv)
{
    bool large = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--large") == 0)
            large = true;
        else if (strcmp(argv[i], "--csv") == 0 && i + 1 < argc)
            csv = fopen(argv[++i], "w");
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else
            return usage();
    }
    if (rounds < 1 || rounds > MOST_ROUNDS)
        return usage();
    if (csv)
        fprintf(csv, "what,keys,figure,median,unit,best,machine_limit\n");
    bench_size(1 << 20);
    if (large) {
        rounds = rounds < 3 ? rounds : 3;
        bench_size(100000000);
    }
    if (csv && fclose(csv) != 0)
        return 2;
    return 0;
}
