/* The experiment on Table 4.1 of the thesis: wrong specifications that a weak verification lets pass. */
#ifndef EVAL_SPECIFICATION_H
#define EVAL_SPECIFICATION_H

#include <stdio.h>

enum { MOST_SPECIFICATIONS = 12, MOST_SPECIFIED = 32, MOST_STATE_NAME = 24 };

struct specification_result {
    const char *row, *payload, *merge, *compare, *run_on;
    unsigned states;
    unsigned weak, order, bound, inflation;  /* violations of each law */
    char counterexample[2][MOST_STATE_NAME]; /* to the order; empty: none */
};

struct specification {
    struct specification_result results[MOST_SPECIFICATIONS];
    unsigned count;
};

void specification_run(struct specification *experiment);
void specification_claims(const struct specification *experiment);
void specification_write_table(const struct specification *experiment, FILE *csv);

#endif
