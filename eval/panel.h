/* A panel of Figure 6.1 of the thesis: one filter through every split and every sync interval, each cell repeated. */
#ifndef EVAL_PANEL_H
#define EVAL_PANEL_H

#include <stdbool.h>
#include <stdio.h>

#include "measure.h"
#include "scale.h"

#define SPLITS     3
#define MOST_CELLS (1 + SPLITS * MOST_INTERVALS)
#define LOCAL_CELL 0 /* all local comes first */

struct cell {
    struct schedule schedule;
    struct outcome outcomes[MOST_REPEATS];
};

struct panel {
    const char *name;
    roost_config config;
    struct scale scale;
    unsigned cells;
    struct cell results[MOST_CELLS];
};

void panel_open(struct panel *panel, const char *name, roost_config config, struct scale scale);
/* One repeat of every cell, or of one in a sample, on the same keys. */
void panel_run(struct panel *panel, unsigned repeat, const struct workload *workload);

void split_name(char name[16], struct schedule schedule);

/* ---- what came out ----------------------------------------------------------------------------------------------- */

struct spread panel_spread(const struct panel *panel, const struct cell *cell, measure *quantity);
/* Mean, least and greatest over the cells of what is the mean of a cell's repeats. */
struct spread panel_means(const struct panel *panel, measure *quantity);

/* A line of CSV without its end: filter, split, interval, repeats, rate; and how such a line goes on. */
void panel_write_cell(const struct panel *panel, const struct cell *cell, FILE *csv);
void write_spread(FILE *csv, struct spread spread, int digits);
/* The first repeat alone, one line a cell: its states, to the digest. */
void panel_write_first_repeat_header(FILE *csv);
void panel_write_first_repeat(const struct panel *panel, FILE *csv);
/* False negatives and whether replicas agree; ends the line. */
void panel_write_faults(const struct panel *panel, const struct cell *cell, FILE *csv);

/* ---- claims: panel_claims.c -------------------------------------------------------------------------------------- */

typedef bool outcome_test(const struct panel *panel, const struct outcome *outcome);
outcome_test any_outcome, took_all;

unsigned panel_count(const struct panel *panel, outcome_test *test);
void claim_about(const struct panel *panel, const char *what, bool holds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void claim_of_all(const struct panel *panel, const char *what, outcome_test *test);
/* No false negatives, replicas that agree, frames that return. */
void claim_replication(const struct panel *panel);

#endif
