/* The figures at the end of the demo. */
#ifndef CLI_DEMO_REPORT_H
#define CLI_DEMO_REPORT_H

#include "state.h"

struct demo_figures {
    uint64_t lost;         /* elements that must be there and that a replica lacks, over all replicas */
    uint64_t came_back;    /* removed elements that a replica reports, over all replicas */
    uint64_t re_adds_lost; /* of `lost`, those that were removed and added again at the same time */
    uint64_t fresh_keys;   /* never added */
    uint64_t false_positives;
    uint32_t groups; /* of replicas that agree; 1: all agree */
    struct replica_state states[MOST_REPLICAS];
};

/* Looks up every element at every replica, and keys that were never added at one. */
void demo_measure(struct demo_figures *figures, const struct demo *demo);

/* All replicas agree, and each has exactly what it must have. */
bool demo_is_sound(const struct demo_figures *figures);

void demo_print_figures(const struct demo_figures *figures, const struct demo *demo);
void demo_print_json(const struct demo_figures *figures, const struct demo *demo);
void demo_print_seed(uint64_t seed);

#endif
