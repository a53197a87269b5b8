/*
 * The experiment on filters that grow: Figure 6.1d,e,f of the thesis "Conflict-Free Replicated Probabilistic Filter"
 * (2024), in the thesis's setting and in ours.
 */
#ifndef EVAL_SCALABLE_H
#define EVAL_SCALABLE_H

#include "panel.h"

enum scalable_contender {
    SCGBF_THESIS,
    SCGCF_THESIS,
    SCORCF_THESIS,
    SCGBF,
    SCGCF,
    SCORCF,
    SCALABLE_CONTENDERS,
};

struct scalable {
    struct scale scale;
    uint64_t seed;
    struct panel panels[SCALABLE_CONTENDERS];
    double rule[SCALABLE_CONTENDERS][MOST_CELLS]; /* the thesis's own series, by arithmetic; 0 in our setting */
};

/* In memory of must_share(), where repeats run side by side. */
void scalable_run(struct scalable *experiment, struct scale scale, uint64_t seed);
void scalable_claims(const struct scalable *experiment);
void scalable_write_figure(const struct scalable *experiment, FILE *csv);
void scalable_write_first_repeat(const struct scalable *experiment, FILE *csv);

#endif
