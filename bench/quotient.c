/*
 * A quotient filter beside Roost's cuckoo tables: is it worth having?
 *
 *     roost-quotient CSV [ROUNDS]
 *
 * Three tables hold the same keys at about the same false-positive rate and take turns, so that all see the same weather:
 *
 *     quotient    a remainder of r bits: load / 2^r
 *     cuckoo      a fingerprint of r + 3 bits, buckets of four: 8 * load / 2^(r + 3), the same
 *     growing     the table of prefixes that a cuckoo filter without a capacity is, promised 1 / 2^r
 *
 * For each the bits a key in memory and in a frame, the rate, and nanoseconds a key (medians of the rounds) to add, to
 * look up what is there and what is not, to merge the other half of the keys, and to encode. A quotient filter and a
 * cuckoo table are filled to the same part of their slots; the growing table has no such part.
 */
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "quotient_filter.h"

#define ABSENT (UINT64_C(1) << 39)

enum table { QUOTIENT, CUCKOO, GROWING, TABLES };
static const char *const table_names[TABLES] = {"quotient", "cuckoo", "growing cuckoo"};

struct case_of {
    uint64_t slots;
    unsigned load, bits; /* per cent; of a remainder */
};

struct figures {
    double add[MOST_ROUNDS], present[MOST_ROUNDS], absent[MOST_ROUNDS], merge[MOST_ROUNDS], encode[MOST_ROUNDS];
    double memory, frame, rate;
};

static uint64_t keys_of(struct case_of test)
{
    return test.slots * test.load / 100;
}

static void expect(bool holds, const char *what)
{
    must(holds ? ROOST_OK : ROOST_CORRUPT, what);
}

/* ---- the quotient filter ----------------------------------------------------------------------------------------- */

static void fill_words(uint64_t *hashes, uint64_t from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash_of(from + i).low;
}

static double quotient_adds(struct quotient_filter *filter, uint64_t from, uint64_t count)
{
    static uint64_t hashes[CHUNK];
    double spent = 0;
    for (uint64_t done = 0; done < count; done += CHUNK) {
        size_t some = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        fill_words(hashes, from + done, some);
        double begin = seconds();
        expect(quotient_add_many(filter, hashes, some), "a quotient filter is full");
        spent += seconds() - begin;
    }
    return spent;
}

static double quotient_lookups(const struct quotient_filter *filter, uint64_t from, uint64_t count,
                               uint64_t *found_count)
{
    static uint64_t hashes[CHUNK];
    static bool found[CHUNK];
    double spent = 0;
    *found_count = 0;
    for (uint64_t done = 0; done < count; done += CHUNK) {
        size_t some = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        fill_words(hashes, from + done, some);
        double begin = seconds();
        quotient_contains_many(filter, found, hashes, some);
        spent += seconds() - begin;
        for (size_t i = 0; i < some; i++)
            *found_count += found[i];
    }
    return spent;
}

static struct quotient_filter quotient_with(struct case_of test, uint64_t from, uint64_t count)
{
    struct quotient_filter filter;
    expect(quotient_new(&filter, test.slots, test.bits), "no memory");
    quotient_adds(&filter, from, count);
    return filter;
}

/* Halves of the keys are merged; what comes of it has the bytes of the filter that got them all. */
static double quotient_merges(struct case_of test, uint64_t base, const struct quotient_filter *whole)
{
    uint64_t keys = keys_of(test);
    struct quotient_filter a = quotient_with(test, base, keys / 2);
    struct quotient_filter b = quotient_with(test, base + keys / 2, keys - keys / 2);
    double begin = seconds();
    expect(quotient_merge(&a, &b), "a merge");
    double spent = seconds() - begin;
    expect(memcmp(a.blocks, whole->blocks, whole->bytes) == 0, "a merge has other bytes");
    quotient_free(&a);
    quotient_free(&b);
    return spent;
}

static void measure_quotient(struct figures *figures, struct case_of test, int round)
{
    uint64_t base = (uint64_t)round << 40, keys = keys_of(test), found;
    double each = 1e9 / (double)keys;
    struct quotient_filter filter;
    expect(quotient_new(&filter, test.slots, test.bits), "no memory");
    figures->add[round] = quotient_adds(&filter, base, keys) * each;
    figures->present[round] = quotient_lookups(&filter, base, keys, &found) * each;
    expect(found == keys, "a key is missing");
    figures->absent[round] = quotient_lookups(&filter, base + ABSENT, keys, &found) * each;
    figures->rate += (double)found / (double)keys / rounds;
    figures->merge[round] = quotient_merges(test, base, &filter) * 2 * each;
    uint8_t *frame;
    double begin = seconds();
    figures->frame = (double)quotient_encode(&filter, &frame) * 8 / (double)keys;
    figures->encode[round] = (seconds() - begin) * each;
    figures->memory = (double)filter.bytes * 8 / (double)keys;
    free(frame);
    quotient_free(&filter);
}

/* ---- ours -------------------------------------------------------------------------------------------------------- */

static roost_config config_of(enum table table, struct case_of test)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_CUCKOO;
    config.fingerprint_bits = test.bits + 3;
    config.fpr = 0;
    config.capacity = (uint64_t)((double)test.slots * 0.953);
    if (table == GROWING) {
        config.fingerprint_bits = 0;
        config.scalable = true;
        config.writers = 1;
        config.capacity = 0;
        config.fpr = 1.0 / (double)(UINT64_C(1) << test.bits);
    }
    return config;
}

static double merges(const roost_config *config, uint64_t base, uint64_t keys)
{
    roost_filter *a = make(config), *b = make(config);
    timed_adds(a, base, keys / 2);
    timed_adds(b, base + keys / 2, keys - keys / 2);
    double begin = seconds();
    must(roost_filter_merge(a, NULL, b), "merge");
    double spent = seconds() - begin;
    roost_filter_free(a);
    roost_filter_free(b);
    return spent;
}

static void measure_ours(struct figures *figures, enum table table, struct case_of test, int round)
{
    uint64_t base = (uint64_t)round << 40, keys = keys_of(test), found;
    double each = 1e9 / (double)keys;
    roost_config config = config_of(table, test);
    roost_filter *filter = make(&config);
    figures->add[round] = timed_adds(filter, base, keys) * each;
    figures->present[round] = timed_lookups(filter, base, 1, keys, &found) * each;
    expect(found == keys, "a key is missing");
    figures->absent[round] = timed_lookups(filter, base + ABSENT, 1, keys, &found) * each;
    figures->rate += (double)found / (double)keys / rounds;
    figures->merge[round] = merges(&config, base, keys) * 2 * each;
    roost_buffer frame;
    double begin = seconds();
    must(roost_filter_encode(filter, &frame), "encode");
    figures->encode[round] = (seconds() - begin) * each;
    figures->frame = (double)frame.size * 8 / (double)keys;
    roost_info info;
    roost_filter_get_info(filter, &info);
    figures->memory = (double)info.bytes_memory * 8 / (double)keys;
    roost_buffer_release(&frame);
    roost_filter_free(filter);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void measure_case(struct case_of test)
{
    static struct figures figures[TABLES];
    memset(figures, 0, sizeof figures);
    for (int round = 0; round < rounds; round++)
        for (enum table table = 0; table < TABLES; table++) {
            if (table == QUOTIENT)
                measure_quotient(&figures[table], test, round);
            else
                measure_ours(&figures[table], table, test, round);
        }
    for (enum table table = 0; table < TABLES; table++) {
        struct figures *of = &figures[table];
        fprintf(csv, "%s,%llu,%u,%llu,%u,%.4f,%.2f,%.2f,%.1f,%.1f,%.1f,%.1f,%.1f\n", table_names[table],
                (unsigned long long)test.slots, test.load, (unsigned long long)keys_of(test), test.bits, 100 * of->rate,
                of->memory, of->frame, median(of->add, rounds), median(of->present, rounds), median(of->absent, rounds),
                median(of->merge, rounds), median(of->encode, rounds));
    }
    fflush(csv);
}

int main(int count, char **arguments)
{
    static const unsigned loads[] = {75, 85, 90, 95}, widths[] = {5, 9};
    if (count > 2)
        rounds = atoi(arguments[2]);
    if (count < 2 || rounds < 1 || rounds > MOST_ROUNDS || !(csv = fopen(arguments[1], "w"))) {
        fprintf(stderr, "usage: roost-quotient CSV [ROUNDS]\n");
        return 2;
    }
#ifdef __BMI2__
    if (!__builtin_cpu_supports("bmi2")) {
        fprintf(stderr, "roost-quotient: this machine has no BMI2\n");
        return 2;
    }
#endif
    fprintf(csv, "table,slots,load_percent,keys,remainder_bits,fpr_percent,memory_bits,frame_bits,add_ns,present_ns,"
                 "absent_ns,merge_ns,encode_ns\n");
    for (size_t width = 0; width < sizeof widths / sizeof *widths; width++)
        for (size_t load = 0; load < sizeof loads / sizeof *loads; load++)
            measure_case((struct case_of){UINT64_C(1) << 20, loads[load], widths[width]});
    measure_case((struct case_of){UINT64_C(1) << 24, 95, 5});
    return fclose(csv) == 0 ? 0 : 2;
}
