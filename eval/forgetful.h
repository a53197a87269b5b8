/*
 * The experiments of "Idempotent Distributed Counters Using a Forgetful Bloom Filter" (Subramanyam, Gupta, Leslie,
 * Wang), section VI: Figures 8 to 13 and 16, on Roost's windows. Each point of each curve is a row.
 */
#ifndef EVAL_FORGETFUL_H
#define EVAL_FORGETFUL_H

#include <stdint.h>
#include <stdio.h>

#include "scale.h"

#define MOST_POINTS 2400

struct forgetful_point {
    unsigned figure;
    const char *series;
    double x, y;
};

struct forgetful {
    struct scale scale;
    uint64_t seed;
    struct forgetful_point points[MOST_POINTS];
    unsigned count;
};

void forgetful_run(struct forgetful *experiment, struct scale scale, uint64_t seed);
void forgetful_claims(const struct forgetful *experiment);
void forgetful_write_table(const struct forgetful *experiment, FILE *csv);

#endif
