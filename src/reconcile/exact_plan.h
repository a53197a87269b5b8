/* How large the difference is, about, and how it is found with the fewest bytes. */
#ifndef RECONCILE_EXACT_PLAN_H
#define RECONCILE_EXACT_PLAN_H

#include "reconcile.h"

/* 128 parities for each level; level i has three quarters of 4^-i of the elements. */
#define MOST_LEVELS 20
#define LEVEL_WORDS 2
#define LEVEL_BITS  (64 * LEVEL_WORDS)

struct estimator {
    unsigned levels;
    uint64_t parities[MOST_LEVELS][LEVEL_WORDS];
};

/* Levels enough for sets of so many elements together. */
unsigned estimator_levels(uint64_t keys);
struct estimator estimator_of(const struct roost_reconcile *session, unsigned levels);
/* How many elements are in one of the two sets and not in the other. */
double estimate_difference(const struct estimator *here, const struct estimator *there, uint64_t keys_here,
                           uint64_t keys_there);

/* In a multiset, so many bits of a hash distinguish pairs of one key by their counts. */
#define COUNT_BITS 6

struct plan {
    uint64_t cells; /* of the partition of all hashes */
    unsigned bits;  /* of the hashes within a cell */
    uint32_t sums;  /* sent of each cell at first; 0: the hashes themselves */
};

/* The first sketch, made before anything is known but how many elements the sketching side has: one cell. */
struct plan first_plan(uint64_t keys);
/* The plan with the fewest bytes for a difference of about `difference` elements. */
struct plan best_plan(uint64_t keys_here, uint64_t keys_there, double difference, bool multiset);

#endif
