/*
 * The experiment on workloads that remove as well: Table 6.2 of the thesis "Conflict-Free Replicated Probabilistic
 * Filter" (2024), with every cell of the table run and kept.
 */
#ifndef EVAL_OBSERVED_REMOVE_H
#define EVAL_OBSERVED_REMOVE_H

#include <stdio.h>

#include "measure.h"
#include "observed_remove_set.h"
#include "scale.h"

#define SHARES 3 /* of adds among the operations */

enum place {
    PLACE_LOCAL,
    PLACE_SPLIT, /* half of the operations at each replica, merged when all is done */
    PLACES,
};

enum removing_contender {
    ORCF_THESIS,  /* ORCF4 */
    ORCF_DEFAULT, /* what Roost makes where nothing is said: 64-bit entries, 24-bit fingerprints, a set */
    REMOVING_CONTENDERS,
};

struct dotted_sizes {
    uint64_t elements, raw, coded; /* bytes */
    uint64_t gzipped[2];           /* raw and coded; 0: not measured */
    bool frames_return;
};

struct removing_cell {
    struct outcome outcomes[REMOVING_CONTENDERS][MOST_REPEATS];
    struct dotted_sizes sets[MOST_REPEATS];
};

struct observed_remove {
    struct scale scale;
    roost_config configs[REMOVING_CONTENDERS];
    struct removing_cell cells[SHARES][PLACES];
};

void observed_remove_run(struct observed_remove *experiment, struct scale scale, uint64_t seed);
void observed_remove_claims(const struct observed_remove *experiment);
void observed_remove_write_table(const struct observed_remove *experiment, FILE *csv);

extern const unsigned add_shares[SHARES];
extern const char *const place_names[PLACES];
extern const char *const removing_names[REMOVING_CONTENDERS];

struct spread removing_spread(const struct observed_remove *experiment, const struct removing_cell *cell,
                              enum removing_contender contender, measure *quantity);

#endif
