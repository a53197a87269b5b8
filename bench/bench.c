/*
 * How fast the filters are, and how near to what the machine allows.
 *
 *     roost-bench [--large] [--growth | --reconcile | --one-call | --states | --changes |
 *                 --threads] [--csv FILE] [--rounds N]
 *     roost-bench --curve FILE [KEYS]      a filter while it grows, at many sizes (curve.c)
 *
 * Each figure is the median of N rounds (5), in nanoseconds a key (or an entry), with hashes ready in batches, and the
 * best. Beside it stands the machine's own limit, measured in the same run: random cache lines read or written in an
 * array of the same size, or the bandwidth of a plain OR. Times drift on shared machines; ratios within one run are
 * what counts.
 * --large adds 10^8 keys, far out of the caches, for the kinds that only grow and for windows. --growth: nothing but
 * filters that grow; --reconcile: nothing but reconciliation; --one-call: nothing but calls with keys as bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/* ---- the machine's own limits ------------------------------------------------------------------------------------ */

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

/* ---- filters ----------------------------------------------------------------------------------------------------- */

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
    double removal[MOST_ROUNDS], encode[MOST_ROUNDS], decode[MOST_ROUNDS], entries = 0, encoded = 0, rate = 0;
    bool removes = config->kind == ROOST_ORCUCKOO, blocked = config->layout == ROOST_BLOCKED;
    roost_info info = {0};
    for (int round = 0; round < rounds; round++) {
        uint64_t base = (uint64_t)round << 40, found;
        roost_filter *filter = make(config);
        insert[round] = timed_adds(filter, base, keys) / (double)keys * 1e9;
        hit[round] = timed_lookups(filter, base, 1, keys, &found) / (double)keys * 1e9;
        if (found != keys)
            must(ROOST_CORRUPT, "an element is missing");
        miss[round] = timed_lookups(filter, base + keys + (1ull << 39), 1, keys, &found) / (double)keys * 1e9;
        rate += (double)found / (double)keys / rounds;
        single[round] =
            single_lookups(filter, keys < 4000000 ? keys : 4000000) / (double)(keys < 4000000 ? keys : 4000000) * 1e9;
        roost_filter_get_info(filter, &info);
        roost_buffer frame;
        double begin = seconds();
        must(roost_filter_encode(filter, &frame), "encode");
        encode[round] = (seconds() - begin) / (double)keys * 1e9;
        if (removes)
            removal[round] = timed_removes(filter, base, keys) / (double)keys * 1e9;
        roost_filter_free(filter);
        begin = seconds();
        must(roost_filter_decode(&filter, frame.data, frame.size, NULL), "decode");
        decode[round] = (seconds() - begin) / (double)keys * 1e9;
        encoded = (double)frame.size;
        entries = (double)info.entries;
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
    double touched = config->kind != ROOST_BLOOM ? 2 : blocked ? 1 : 0;
    double read_limit = touched * random_lines(info.bytes_memory, false);
    double write_limit = touched * random_lines(info.bytes_memory, true);
    report_times(name, keys, "insert", insert, write_limit);
    if (removes)
        report_times(name, keys, "remove", removal, write_limit);
    report_times(name, keys, "look-up present", hit, read_limit);
    report_times(name, keys, "look-up absent", miss, read_limit);
    report_times(name, keys, "look-up one a call", single, 0);
    report_times(name, keys, "encode", encode, 0);
    report_times(name, keys, "decode", decode, 0);
    report_plain(name, keys, "memory", (double)info.bytes_memory * 8 / (double)keys, "bits/key");
    report_plain(name, keys, "frame", encoded * 8 / (double)keys, "bits/key");
    report_plain(name, keys, "false positives", rate * 100, "%");
    if (config->kind != ROOST_BLOOM)
        report_plain(name, keys, "load", 100 * entries / ((double)info.buckets * config->bucket_size), "%");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

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

/* As it is by default: entries of 64 bits, fingerprints of 24, a set. */
static roost_config orcuckoo(uint64_t keys)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.capacity = keys;
    return config;
}

/* As it is made without a capacity. */
static roost_config growing(roost_kind kind)
{
    roost_config config = roost_config_default();
    config.kind = kind;
    config.scalable = true;
    config.capacity = 0;
    return config;
}

/* Room for what changes. */
static void bench_replication(uint64_t keys)
{
    roost_config configs[] = {orcuckoo(keys + keys / 4), bloom(ROOST_BLOCKED, keys + keys / 4), cuckoo(keys, 1.25),
                              growing(ROOST_ORCUCKOO), growing(ROOST_CUCKOO)};
    static const char *const names[] = {"orcuckoo changes", "blocked Bloom changes", "cuckoo 8 bit changes",
                                        "scalable orcuckoo changes", "scalable cuckoo changes"};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        bench_changes(names[i], &configs[i], keys, 1000);
        bench_changes(names[i], &configs[i], keys, 100000);
    }
}

/* What states cost that are sent: merges and frames. */
static void bench_states(uint64_t slots)
{
    static const char *const names[] = {"8 bit", "12 bit", "24 bit"};
    const uint32_t widths[] = {8, 12, 24};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        roost_config config = cuckoo(slots, 0.953);
        config.fingerprint_bits = widths[i];
        bench_cuckoo_frames(&config, config.capacity, names[i]);
    }
    roost_config table = cuckoo(slots, 0.953), wider = table;
    wider.fingerprint_bits = 12;
    bench_cuckoo_merge(&table, slots, 0.80, "result 80 % full");
    bench_cuckoo_merge(&table, slots, 0.95, "result 95 % full");
    bench_cuckoo_merge(&wider, slots, 0.95, "12 bit result 95 % full");
}

static void bench_removing_states(uint64_t keys)
{
    roost_config config = orcuckoo(keys);
    bench_orcuckoo_merge(&config, keys);
}

static void bench_removing(uint64_t keys)
{
    roost_config config = orcuckoo(keys), thesis = orcuckoo((uint64_t)((double)keys * 0.953));
    thesis.multiset = true;
    thesis.entry_bits = 32;
    thesis.fpr = 0;
    bench_kind("orcuckoo 64 bit", &config, keys);
    bench_kind("orcuckoo 32 bit copies", &thesis, thesis.capacity);
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
}

static void bench_fixed_size(bool large)
{
    int all_rounds = rounds;
    bench_size(1 << 20);
    bench_removing(1 << 20);
    bench_states(1 << 20);
    bench_removing_states(1 << 20);
    bench_replication(1 << 20);
    rounds = rounds < 3 ? rounds : 3;
    if (large)
        bench_size(100000000);
    if (large)
        bench_states(100000000);
    rounds = all_rounds;
}

static void bench_differences(uint64_t keys)
{
    const roost_reconcile_config sets = {0}, multisets = {.multiset = true}, riblt = {.method = ROOST_RECONCILE_RIBLT};
    bench_reconcile("reconcile sets", &sets, keys, 10);
    bench_reconcile("reconcile sets", &sets, keys, 1000);
    bench_reconcile("reconcile sets", &sets, keys, 100000);
    bench_reconcile("reconcile multisets", &multisets, keys, 1000);
    bench_reconcile("reconcile by rateless IBLT", &riblt, keys, 1000);
}

static void bench_windows(bool large)
{
    bench_window(100000);
    bench_window(1 << 20);
    if (large)
        bench_window(100000000);
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: roost-bench [--large] [--growth | --reconcile | --one-call | --states | --changes | --threads | "
        "--executors]\n"
        "                   [--csv FILE] [--rounds N]\n"
        "       roost-bench --curve FILE [KEYS]\n");
    return 2;
}

static FILE *open_csv(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(2);
    }
    return file;
}

static int draw_curve(const char *path, const char *most)
{
    FILE *table = open_csv(path);
    bench_curve(table, most ? strtoull(most, NULL, 10) : 100000000);
    return fclose(table) == 0 ? 0 : 2;
}

int main(int argc, char **argv)
{
    bool large = false, only_growth = false, only_reconcile = false, only_one_call = false, only_states = false,
         only_changes = false, only_threads = false, only_executors = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--large") == 0)
            large = true;
        else if (strcmp(argv[i], "--growth") == 0)
            only_growth = true;
        else if (strcmp(argv[i], "--reconcile") == 0)
            only_reconcile = true;
        else if (strcmp(argv[i], "--one-call") == 0)
            only_one_call = true;
        else if (strcmp(argv[i], "--states") == 0)
            only_states = true;
        else if (strcmp(argv[i], "--changes") == 0)
            only_changes = true;
        else if (strcmp(argv[i], "--threads") == 0)
            only_threads = true;
        else if (strcmp(argv[i], "--executors") == 0)
            only_executors = true;
        else if (strcmp(argv[i], "--curve") == 0 && i + 1 < argc)
            return draw_curve(argv[i + 1], argv[i + 2]);
        else if (strcmp(argv[i], "--calls") == 0 && i + 1 < argc)
            return bench_calls(argv[++i], 1 << 16);
        else if (strcmp(argv[i], "--csv") == 0 && i + 1 < argc)
            csv = open_csv(argv[++i]);
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else
            return usage();
    }
    if (rounds < 1 || rounds > MOST_ROUNDS)
        return usage();
    if (csv)
        fprintf(csv, "what,keys,figure,median,unit,best,machine_limit\n");
    bool all = !only_growth && !only_reconcile && !only_one_call && !only_states && !only_changes && !only_threads &&
               !only_executors;
    if (all || only_one_call)
        bench_one_call(large);
    if (all)
        bench_fixed_size(large);
    if (only_states) {
        bench_states(1 << 20);
        bench_removing_states(1 << 20);
    }
    if (only_changes)
        bench_replication(1 << 20);
    if (all || only_growth)
        bench_growth(large);
    if (all || only_reconcile)
        bench_differences(1000000);
    if (all)
        bench_windows(large);
    if (all || only_threads)
        bench_threads(1 << 22);
    if (all || only_executors)
        bench_executors(1 << 22);
    if (csv && fclose(csv) != 0)
        return 2;
    return 0;
}
