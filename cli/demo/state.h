/* The state of a run of the demo: demo.c changes it, view.c draws it, report.c sums it up. */
#ifndef CLI_DEMO_STATE_H
#define CLI_DEMO_STATE_H

#include "network.h"
#include "replicas.h"

#define MOST_REPLICAS 32

struct demo_round {
    const char *title;
    bool adds; /* each replica adds some of its elements */
    bool cut;  /* the network is partitioned */
};

struct demo {
    uint64_t elements, seed; /* elements over all replicas */
    roost_config config;
    struct network network;
    struct replicas replicas;
    const struct demo_round *rounds;
    uint32_t round_count, round; /* `round` from 0 on */
};

/* The first replica on the second side of a partition. */
uint32_t demo_first_beyond_cut(const struct demo *demo);

/* Elements added so far, over all replicas. */
uint64_t demo_elements_so_far(const struct demo *demo);

struct replica_state {
    uint32_t group;  /* equal for replicas that agree; from 0 on, in the order of the first member */
    char digest[33]; /* as text */
};

/* Which replicas agree, by their digests. Returns the number of groups. */
uint32_t demo_compare_states(const struct demo *demo, struct replica_state *states);

#endif
