/*
 * The hot loops of one kernel, for bench/kernel_instructions, which counts what they take: instructions are the same on
 * a busy machine and under an emulator.
 *
 *     roost-kernels KERNEL JOB ROUNDS
 *
 * prepares the job, then does it so many times. The difference between two runs is what the rounds take. KERNEL is the
 * name of a kernel, in all parts of the library that have one of that name; `best` leaves the choice to the library.
 * Without arguments it prints the jobs, and how many calls a round of each makes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roost.h"
#include "bloom/bloom_kernel.h"
#include "prefix/search.h"
#include "reconcile/pin_sketch.h"

enum { KEYS = 4096, SUMS = 12, SETS = KEYS / SUMS, FIELD_BITS = 24, WORDS = 8 * KEYS };

static roost_hash hashes[KEYS];
static bool answers[KEYS];
static uint64_t elements[KEYS], sums[SETS][SUMS];
static _Alignas(64) uint64_t words[2][WORDS];

static void must(bool works, const char *what)
{
    if (works)
        return;
    fprintf(stderr, "roost-kernels: %s\n", what);
    exit(2);
}

static uint64_t next_number(void)
{
    static uint64_t number;
    number += UINT64_C(0x9e3779b97f4a7c15);
    return multiply_and_fold(number, number ^ UINT64_C(0xe7037ed1a0b428db));
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

static roost_filter *new_filter(roost_kind kind, bool scalable)
{
    roost_config config = roost_config_default();
    config.kind = kind;
    config.scalable = scalable;
    config.capacity = scalable ? 0 : 2 * KEYS;
    roost_filter *filter;
    must(roost_filter_new(&filter, &config, NULL) == ROOST_OK, "there is no memory for a filter");
    return filter;
}

static void add_batch(roost_filter *filter)
{
    size_t done;
    must(roost_filter_add_many_hash(filter, answers, &done, hashes, KEYS) == ROOST_OK, "a key was not added");
}

static void add_singly(roost_filter *filter)
{
    for (size_t i = 0; i < KEYS; i++)
        must(roost_filter_add_hash(filter, &answers[i], hashes[i]) == ROOST_OK, "a key was not added");
}

static void look_up_batch(roost_filter *filter)
{
    roost_filter_contains_many_hash(filter, answers, hashes, KEYS);
}

static void look_up_singly(roost_filter *filter)
{
    for (size_t i = 0; i < KEYS; i++)
        answers[i] = roost_filter_contains_hash(filter, hashes[i]);
}

/* ---- what is not about one filter -------------------------------------------------------------------------------- */

static void grow(roost_filter *unused)
{
    (void)unused;
    roost_filter *filter = new_filter(ROOST_CUCKOO, true);
    add_batch(filter);
    roost_filter_free(filter);
}

static void merge(roost_filter *unused)
{
    (void)unused;
    bloom_kernel_in_use()->merge(words[0], words[1], WORDS);
}

static void count_ones_of_words(roost_filter *unused)
{
    (void)unused;
    answers[0] = bloom_kernel_in_use()->count(words[0], WORDS) != 0;
}

static void sum_up(roost_filter *unused)
{
    (void)unused;
    const struct field field = field_of_bits(FIELD_BITS);
    pin_sketch_in_use()->add(&field, sums[0], SUMS, elements, KEYS);
}

static void make_sketches(void)
{
    const struct field field = field_of_bits(FIELD_BITS);
    memset(sums, 0, sizeof sums);
    for (size_t i = 0; i < SETS; i++)
        pin_sketch_plain.add(&field, sums[i], SUMS, elements + i * SUMS, SUMS);
}

static void decode(roost_filter *unused)
{
    (void)unused;
    const struct field field = field_of_bits(FIELD_BITS);
    uint64_t found[SUMS], scratch[64 * SUMS];
    size_t count;
    must(pin_sketch_scratch(FIELD_BITS, SUMS) <= sizeof scratch / sizeof *scratch, "too little scratch memory");
    for (size_t i = 0; i < SETS; i++)
        must(pin_sketch_in_use()->decode(&field, found, &count, sums[i], SUMS, scratch), "a sketch was not decoded");
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static const struct job {
    const char *name;
    void (*round)(roost_filter *filter);
    size_t calls;
    int kind; /* of the filter, with half of the keys; -1: none */
    bool scalable;
} jobs[] = {
    {"blocked Bloom look-up in a batch", look_up_batch, KEYS, ROOST_BLOOM, false},
    {"blocked Bloom look-up by one call", look_up_singly, KEYS, ROOST_BLOOM, false},
    {"blocked Bloom addition in a batch", add_batch, KEYS, ROOST_BLOOM, false},
    {"blocked Bloom addition by one call", add_singly, KEYS, ROOST_BLOOM, false},
    {"Bloom merge of 64 bytes", merge, WORDS / 8, -1, false},
    {"Bloom count of the bits of 64 bytes", count_ones_of_words, WORDS / 8, -1, false},
    {"observed-remove look-up in a batch", look_up_batch, KEYS, ROOST_ORCUCKOO, false},
    {"observed-remove look-up by one call", look_up_singly, KEYS, ROOST_ORCUCKOO, false},
    {"scalable cuckoo look-up in a batch", look_up_batch, KEYS, ROOST_CUCKOO, true},
    {"scalable cuckoo look-up by one call", look_up_singly, KEYS, ROOST_CUCKOO, true},
    {"scalable cuckoo addition to an empty filter", grow, KEYS, -1, false},
    {"sketch of twelve sums for one element", sum_up, KEYS, -1, false},
    {"sketch decoding for one of twelve elements", decode, (size_t)SETS *SUMS, -1, false},
};

static void force(const char *name)
{
    for (const struct bloom_kernel *const *kernel = bloom_kernels; *kernel; kernel++)
        if (strcmp((*kernel)->head.name, name) == 0 && (*kernel)->head.usable())
            bloom_kernel_force(*kernel);
    for (const struct search_kernel *const *kernel = search_kernels; *kernel; kernel++)
        if (strcmp((*kernel)->head.name, name) == 0 && (*kernel)->head.usable())
            search_kernel_force(*kernel);
    for (const struct pin_sketch_kernel *const *kernel = pin_sketch_kernels; *kernel; kernel++)
        if (strcmp((*kernel)->head.name, name) == 0 && (*kernel)->head.usable())
            pin_sketch_force(*kernel);
}

/* Elements are different, since they are numbered. */
static roost_filter *prepare(const struct job *job)
{
    for (size_t i = 0; i < KEYS; i++) {
        hashes[i] = (roost_hash){next_number(), next_number()};
        elements[i] = i << 11 | (next_number() & 0x7fe) | 1;
        words[0][i] = next_number();
        words[1][i] = next_number();
    }
    make_sketches();
    roost_filter *filter = job->kind < 0 ? NULL : new_filter((roost_kind)job->kind, job->scalable);
    for (size_t i = 0; filter && i < KEYS; i += 2)
        must(roost_filter_add_hash(filter, NULL, hashes[i]) == ROOST_OK, "a key was not added");
    return filter;
}

int main(int argc, char **argv)
{
    const size_t count = sizeof jobs / sizeof *jobs;
    if (argc == 1)
        for (size_t i = 0; i < count; i++)
            printf("%zu\t%zu\t%s\n", i, jobs[i].calls, jobs[i].name);
    if (argc != 4)
        return argc == 1 ? 0 : 2;
    const size_t number = strtoul(argv[2], NULL, 10);
    must(number < count, "there is no such job");
    force(argv[1]);
    roost_filter *filter = prepare(&jobs[number]);
    for (unsigned long round = strtoul(argv[3], NULL, 10); round > 0; round--)
        jobs[number].round(filter);
    roost_filter_free(filter);
    return 0;
}
