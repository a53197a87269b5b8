/*
 * The experiment on grow-only filters: Figure 6.1a,b and Table 6.1 of the thesis "Conflict-Free Replicated
 * Probabilistic Filter" (2024), with every cell of the figure and of the table run and kept.
 */
#ifndef EVAL_GROW_ONLY_H
#define EVAL_GROW_ONLY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "grow_set.h"
#include "replica_pair.h"

#define MOST_REPEATS   5
#define MOST_INTERVALS 5
#define SPLITS         3
#define MOST_CELLS     (1 + SPLITS * MOST_INTERVALS)
#define LOCAL_CELL     0 /* all local comes first */

struct scale {
    const char *name;
    size_t keys, fresh_keys;
    unsigned repeats;
    unsigned intervals; /* merge every `first_interval`, ten times that, ... operations */
    uint64_t first_interval;
    bool says_where_it_is; /* on stderr */
};

enum contender {
    GBF_CLASSIC,
    GBF_BLOCKED,
    GCF,
    CONTENDERS,
};

struct cell {
    struct schedule schedule;
    struct outcome outcomes[MOST_REPEATS];
};

struct set_sizes {
    uint64_t elements, bytes[2]; /* by coding */
    bool merge_agrees;           /* two halves merge into the same frame */
    bool frames_return;
};

struct grow_only {
    struct scale scale;
    roost_config configs[CONTENDERS];
    unsigned cells;
    struct cell results[CONTENDERS][MOST_CELLS];
    struct set_sizes sets[MOST_REPEATS];
};

/* Mean, smallest and largest of the repeats of a cell. */
struct spread {
    double mean, least, most;
};
typedef double measure(const struct outcome *outcome);

void grow_only_run(struct grow_only *experiment, struct scale scale, uint64_t seed);
void grow_only_claims(const struct grow_only *experiment);
void grow_only_write_figure(const struct grow_only *experiment, FILE *csv);
void grow_only_write_table(const struct grow_only *experiment, FILE *csv);

extern const char *const contender_names[CONTENDERS];
void split_name(char name[16], struct schedule schedule);

/* The cell of the table that is not local: halves that merge when all is done, as at the longest interval. */
const struct cell *split_cell(const struct grow_only *experiment, enum contender contender);
struct spread spread_of(const struct grow_only *experiment, const struct cell *cell, measure *quantity);

/* What is measured in a cell, or follows from it. */
measure measured_fpr, elements, entries, overflow, overflow_share, false_negatives;
measure frame_bytes, bytes_an_element, bytes_an_entry;

/* Cuckoo: the exact rate of this state, and the two readings of 2c * alpha / 2^l. */
measure cuckoo_expected_fpr, cuckoo_bound, cuckoo_bound_by_entries, load_by_elements, load_by_entries;

#endif
