/*
 * Counters that replicas update independently: Figure 14 of the paper on forgetful filters, with processes that are
 * killed, and a simulated year of three replicas with all that can go wrong between them.
 */
#ifndef EVAL_COUNTING_H
#define EVAL_COUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "scale.h"

#define FIGURE_POINTS 20

struct counting {
    /* Figure 14 */
    unsigned operations, retries_here, retries_after_merge, retries_unmerged, kills;
    struct {
        int64_t expected, value, due_twice, without; /* due twice: attempts where nobody had heard of the first */
    } points[FIGURE_POINTS];
    int64_t final_value, final_attempts;
    bool replicas_agree;
    /* the year */
    unsigned days;
    uint64_t year_operations, year_retries, year_crashes, year_messages, year_lost;
    int64_t year_value;
    double year_bound; /* operations that may be taken for duplicates */
    bool year_agrees;
};

void counting_run(struct counting *experiment, struct scale scale, uint64_t seed);
void counting_claims(const struct counting *experiment);
void counting_write_table(const struct counting *experiment, FILE *csv);

#endif
