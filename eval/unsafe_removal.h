/* The experiment on removes that are not safe (thesis, section 8.2): what they hide, and what they leave over. */
#ifndef EVAL_UNSAFE_REMOVAL_H
#define EVAL_UNSAFE_REMOVAL_H

#include <stdint.h>
#include <stdio.h>

#include "roost.h"
#include "scale.h"

enum { UNSAFE_SIZES = 2, UNSAFE_STAGES = 5, PARALLEL_SHARES = 2 };
enum unsafe_filter { UNSAFE_MULTISET, UNSAFE_TWO_REPLICAS, UNSAFE_SET, UNSAFE_DEFAULT, UNSAFE_FILTERS };

/* Sums over the repeats. */
struct unsafe_stage {
    uint64_t elements, removes; /* of keys that were never added, so far */
    uint64_t found;             /* removes that took an entry */
    uint64_t hidden;            /* elements that are missing */
    double hidden_expected;
};

struct parallel_stage {
    uint64_t elements, removes; /* at either replica */
    uint64_t left, hidden;      /* entries more than elements; elements that are missing */
    double left_expected, left_by_random, hidden_by_random;
};

struct unsafe_removal {
    struct scale scale;
    unsigned sizes;
    size_t slots[UNSAFE_SIZES];
    struct unsafe_stage stages[UNSAFE_SIZES][UNSAFE_FILTERS][UNSAFE_STAGES];
    struct parallel_stage apart[UNSAFE_SIZES][PARALLEL_SHARES], same[UNSAFE_SIZES][PARALLEL_SHARES];
};

void unsafe_removal_run(struct unsafe_removal *experiment, struct scale scale, uint64_t seed);
void unsafe_removal_claims(const struct unsafe_removal *experiment);
void unsafe_removal_write_strangers(const struct unsafe_removal *experiment, FILE *csv);
void unsafe_removal_write_parallel(const struct unsafe_removal *experiment, FILE *csv);

#endif
