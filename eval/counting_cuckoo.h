/* The experiments of "Multiset Synchronization with Counting Cuckoo Filters": Table 1, Figures 4 and 5. */
#ifndef EVAL_COUNTING_CUCKOO_H
#define EVAL_COUNTING_CUCKOO_H

#include <stdint.h>
#include <stdio.h>

#include "multiset_pair.h"
#include "scale.h"

#define CCF_BUCKET_SIZE    4
#define CCF_FEWEST_BUCKETS 8 /* 2^ so many */
#define CCF_MOST_BUCKETS   21
#define CCF_TABLES         (CCF_MOST_BUCKETS - CCF_FEWEST_BUCKETS + 1)

/* A table of 2^buckets buckets that is filled with 500 * 2^(buckets - 7) elements: Table 1, Figures 5a and 5b. */
struct ccf_filling {
    unsigned buckets, bits, repeats;
    uint64_t elements;
    double occupancy, least_occupancy; /* of the slots; mean and smallest of the repeats */
    double collided, expected;         /* elements that share the class of an earlier one: measured, and due */
    uint64_t overflow;                 /* elements that found no slot, in all repeats */
};

/* One setting for a pair of multisets, mean of the repeats. */
struct ccf_accuracy {
    size_t roots;
    unsigned bits; /* of a fingerprint; 0 for a counting Bloom filter */
    unsigned probes, counter_bits;
    double bits_an_element;        /* of table or counters, as the paper counts them */
    double frame_bits_an_element;  /* as sent */
    double accuracy[PAIR_METHODS]; /* counting Bloom: two of them */
    double insertion_seconds;      /* of both sides' elements */
    double identification[PAIR_METHODS];
};

#define CCF_FEWEST_BITS  4
#define CCF_MOST_BITS    32
#define CCF_WIDTHS       (CCF_MOST_BITS - CCF_FEWEST_BITS + 1)
#define CBF_FEWEST_BITS  16 /* an element */
#define CBF_STEP         4
#define CBF_SETTINGS     33 /* up to 144 */
#define CCF_GROWTH_STEPS 11 /* 500 * 2^1 to 500 * 2^11 elements */

struct counting_cuckoo {
    struct scale scale;
    unsigned tables;
    struct ccf_filling occupancy[CCF_TABLES];     /* Table 1: bits = log2 of the buckets */
    struct ccf_filling by_buckets[CCF_TABLES];    /* Figure 5a: ten bits */
    struct ccf_filling by_bits[CCF_WIDTHS];       /* Figure 5b */
    struct ccf_accuracy cuckoo[CCF_WIDTHS];       /* Figures 4a, 4b, 5d: by fingerprint */
    struct ccf_accuracy bloom[CBF_SETTINGS];      /* Figures 4a, 4b: by length */
    struct ccf_accuracy growth[CCF_GROWTH_STEPS]; /* Figures 4c, 4d, 5c: by elements, bits = log2 of the buckets */
    struct ccf_accuracy growth_bloom[CCF_GROWTH_STEPS]; /* at the same bits */
    unsigned growth_steps;
};

void counting_cuckoo_run(struct counting_cuckoo *experiment, struct scale scale, uint64_t seed);
void counting_cuckoo_claims(const struct counting_cuckoo *experiment);

void counting_cuckoo_write_occupancy(const struct counting_cuckoo *experiment, FILE *csv);
void counting_cuckoo_write_accuracy(const struct counting_cuckoo *experiment, FILE *csv);
void counting_cuckoo_write_times(const struct counting_cuckoo *experiment, FILE *csv);
void counting_cuckoo_write_collisions(const struct counting_cuckoo *experiment, FILE *csv);
void counting_cuckoo_write_sizes(const struct counting_cuckoo *experiment, FILE *csv);

#endif
