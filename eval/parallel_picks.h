/* The experiment on removes of colliding elements at the same time: Equation 3.19 and Figure 3.4 of the thesis. */
#ifndef EVAL_PARALLEL_PICKS_H
#define EVAL_PARALLEL_PICKS_H

#include <stdint.h>
#include <stdio.h>

#include "scale.h"

enum { FEWEST_PICKED = 2, MOST_PICKED = 6, PICK_SIZES = MOST_PICKED - FEWEST_PICKED + 1 };
enum pick_rule { PICK_RANDOM, PICK_SMALLEST, PICK_OWN, PICK_RULES };
enum pick_course {
    PICK_APART,
    PICK_SAME,
    PICK_COURSES
}; /* each removes another element, Figure 3.4b; or all one, 3.4a */

struct pick_cell {
    unsigned entries, removers;
    uint64_t trials, wrong;
    double expected; /* part of the trials */
};

struct parallel_picks {
    struct scale scale;
    struct pick_cell cells[PICK_COURSES][PICK_RULES][PICK_SIZES * PICK_SIZES];
    unsigned counts[PICK_COURSES]; /* of the cells of one rule */
};

void parallel_picks_run(struct parallel_picks *experiment, struct scale scale, uint64_t seed);
void parallel_picks_claims(const struct parallel_picks *experiment);
void parallel_picks_write_table(const struct parallel_picks *experiment, FILE *csv);

#endif
