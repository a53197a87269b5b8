/*
 * What a merge costs. Bloom: bandwidth, beside that of a plain OR. Cuckoo: nanoseconds for each entry of the filter
 * that comes in, by how full the result is and by how much the two have in common.
 */
#include "parts.h"

#include <stdlib.h>

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

/* The merge and the plain OR take turns, so that both see the same weather. */
void bench_bloom_merge(const roost_config *config, uint64_t keys)
{
    double merges[MOST_ROUNDS], ors[MOST_ROUNDS], ratios[MOST_ROUNDS];
    roost_filter *a = make(config), *b = make(config);
    timed_adds(a, 0, keys / 2);
    timed_adds(b, keys, keys / 2);
    roost_info info;
    roost_filter_get_info(a, &info);
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

/* `share` of the slots filled in the result, half of it on each side. Beside it: the keys added again in batches of
   ready hashes, which a merge should beat. */
void bench_cuckoo_merge(const roost_config *config, uint64_t slots, double share, const char *what)
{
    double times[MOST_ROUNDS], equal[MOST_ROUNDS], added[MOST_ROUNDS], ratios[MOST_ROUNDS];
    uint64_t half = (uint64_t)((double)slots * share / 2);
    roost_info incoming;
    for (int round = 0; round < rounds; round++) {
        uint64_t base = (uint64_t)round << 40;
        roost_filter *a = make(config), *b = make(config), *c;
        timed_adds(a, base, half);
        timed_adds(b, base + half, half);
        roost_filter_get_info(b, &incoming);
        must(roost_filter_clone(a, &c), "clone");
        added[round] = timed_adds(c, base + half, half) / (double)half * 1e9;
        roost_filter_free(c);
        double begin = seconds();
        must(roost_filter_merge(a, NULL, b), "merge");
        times[round] = (seconds() - begin) / (double)incoming.entries * 1e9;
        ratios[round] = 100 * times[round] / added[round];
        must(roost_filter_merge(b, NULL, a), "merge");
        must(roost_filter_clone(a, &c), "clone");
        roost_filter_get_info(b, &incoming);
        begin = seconds();
        must(roost_filter_merge(c, NULL, b), "merge");
        equal[round] = (seconds() - begin) / (double)incoming.entries * 1e9;
        roost_filter_free(a);
        roost_filter_free(b);
        roost_filter_free(c);
    }
    report_times("cuckoo merge", half, what, times, 0);
    report_times("cuckoo merge: the keys added again", half, what, added, 0);
    report_plain("cuckoo merge: of adding again", half, what, median(ratios, rounds), "%");
    report_times("cuckoo merge of equals", 2 * half, what, equal, 0);
}

/* Frames of a table that is 95 % full, of fingerprints of so many bits. */
void bench_cuckoo_frames(const roost_config *config, uint64_t keys, const char *what)
{
    double encode[MOST_ROUNDS], decode[MOST_ROUNDS];
    for (int round = 0; round < rounds; round++) {
        roost_filter *filter = make(config);
        roost_buffer frame;
        roost_info info;
        timed_adds(filter, (uint64_t)round << 40, keys);
        roost_filter_get_info(filter, &info);
        double begin = seconds();
        must(roost_filter_encode(filter, &frame), "encode");
        encode[round] = (seconds() - begin) / (double)info.entries * 1e9;
        roost_filter_free(filter);
        begin = seconds();
        must(roost_filter_decode(&filter, frame.data, frame.size, NULL), "decode");
        decode[round] = (seconds() - begin) / (double)info.entries * 1e9;
        roost_buffer_release(&frame);
        roost_filter_free(filter);
    }
    report_times("cuckoo frame: encode an entry", keys, what, encode, 0);
    report_times("cuckoo frame: decode an entry", keys, what, decode, 0);
}

/* ---- observed-remove --------------------------------------------------------------------------------------------- */

static double timed_merge(roost_filter *filter, const roost_filter *other)
{
    roost_info incoming;
    roost_filter_get_info(other, &incoming);
    double begin = seconds();
    must(roost_filter_merge(filter, NULL, other), "merge");
    return (seconds() - begin) / (double)incoming.entries * 1e9;
}

static roost_filter *clone_of(const roost_filter *filter)
{
    roost_filter *clone;
    must(roost_filter_clone(filter, &clone), "clone");
    return clone;
}

/* Two filters of half the keys each, so that there is room for the union. */
static double disjoint_merge(const roost_config *config, uint64_t base, uint64_t keys)
{
    roost_filter *a = make(config), *b = make(config);
    timed_adds(a, base, keys / 2);
    timed_adds(b, base + keys / 2, keys / 2);
    double time = timed_merge(a, b);
    roost_filter_free(a);
    roost_filter_free(b);
    return time;
}

/* Merges `other` into `filter` when they are equal, and again when one in a hundred entries is new or gone. */
static void like_merges(roost_filter *filter, roost_filter *other, uint64_t base, uint64_t keys, double *equal,
                        double *different)
{
    *equal = timed_merge(filter, other);
    remove_scattered(other, base, 0, keys / 200);
    timed_adds(other, base + keys, keys / 200);
    *different = timed_merge(filter, other);
}

void bench_orcuckoo_merge(const roost_config *config, uint64_t keys)
{
    double disjoint[MOST_ROUNDS], equal[2][MOST_ROUNDS], different[2][MOST_ROUNDS];
    for (int round = 0; round < rounds; round++) {
        uint64_t base = (uint64_t)round << 40;
        disjoint[round] = disjoint_merge(config, base, keys);
        for (int same_layout = 0; same_layout < 2; same_layout++) {
            roost_filter *filter = make(config);
            timed_adds(filter, base, keys);
            roost_filter *other = same_layout ? clone_of(filter) : from_frame(filter, NULL);
            like_merges(filter, other, base, keys, &equal[same_layout][round], &different[same_layout][round]);
            roost_filter_free(filter);
            roost_filter_free(other);
        }
    }
    report_times("orcuckoo merge", keys / 2, "disjoint halves", disjoint, 0);
    report_times("orcuckoo merge", keys, "equal other layout", equal[0], 0);
    report_times("orcuckoo merge", keys, "equal same layout", equal[1], 0);
    report_times("orcuckoo merge", keys, "1 % off other layout", different[0], 0);
    report_times("orcuckoo merge", keys, "1 % off same layout", different[1], 0);
}
