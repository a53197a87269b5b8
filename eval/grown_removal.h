/* The experiment on removes from observed-remove filters that have grown: how many hide an element that is there. */
#ifndef EVAL_GROWN_REMOVAL_H
#define EVAL_GROWN_REMOVAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "roost.h"
#include "scale.h"

struct grown_removal {
    uint64_t added, removes;
    uint64_t idle;           /* removes that found nothing to remove */
    uint64_t elements;       /* that were not removed */
    uint64_t missing;        /* of them, at either replica */
    uint64_t still_reported; /* of those that were removed */
    bool agree;
    roost_info info;
};

void grown_removal_run(struct grown_removal *experiment, struct scale scale, uint64_t seed);
void grown_removal_claims(const struct grown_removal *experiment);
void grown_removal_write_table(const struct grown_removal *experiment, FILE *csv);

#endif
