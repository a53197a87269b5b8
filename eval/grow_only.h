/*
 * The experiment on workloads that only grow: Figure 6.1a,b,c and Table 6.1 of the thesis "Conflict-Free Replicated
 * Probabilistic Filter" (2024), with every cell of the figure and of the table run and kept.
 */
#ifndef EVAL_GROW_ONLY_H
#define EVAL_GROW_ONLY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "grow_set.h"
#include "panel.h"

enum contender {
    GBF_CLASSIC,
    GBF_BLOCKED,
    GCF,
    ORCF, /* in the figure; its sizes are those of observed_remove.h */
    CONTENDERS,
};

static inline bool is_cuckoo(enum contender contender)
{
    return contender == GCF || contender == ORCF;
}

struct set_sizes {
    uint64_t elements, bytes[2], gzipped[2]; /* by coding; gzipped 0: not measured */
    bool merge_agrees;                       /* two halves merge into the same frame */
    bool frames_return;
};

struct grow_only {
    struct scale scale;
    uint64_t seed;
    struct panel panels[CONTENDERS];
    struct set_sizes sets[MOST_REPEATS];
};

/* In memory of must_share(), where repeats run side by side. */
void grow_only_run(struct grow_only *experiment, struct scale scale, uint64_t seed);
void grow_only_claims(const struct grow_only *experiment);
void grow_only_write_figure(const struct grow_only *experiment, FILE *csv);
void grow_only_write_table(const struct grow_only *experiment, FILE *csv);
void grow_only_write_first_repeat(const struct grow_only *experiment, FILE *csv);

/* Four slots of eight bits in entries of 32, as many slots as keys, copies held apart: the thesis's ORCF4. */
roost_config thesis_orcuckoo(size_t keys);

/* The cell of the table that is not local: halves that merge when all is done, as at the longest interval. */
const struct cell *split_cell(const struct panel *panel);

#endif
