/* What one run of the demo consists of, for the parts that run it, show it and sum it up. */
#ifndef CLI_DEMO_DEMO_H
#define CLI_DEMO_DEMO_H

#include "network.h"
#include "replicas.h"

#define MOST_REPLICAS 32

struct demo_round {
    const char *title;
    bool adds; /* each replica adds a share of its elements */
    bool cut;  /* the network is cut in two */
};

struct demo {
    uint64_t elements, seed; /* elements over all replicas */
    roost_config config;
    struct network network;
    struct replicas replicas;
    const struct demo_round *rounds;
    uint32_t round_count, round; /* `round` from 0 on */
};

/* Where a partition cuts: replicas below this one are on the first side. */
uint32_t demo_first_beyond_cut(const struct demo *demo);

/* How many elements were added anywhere up to now. */
uint64_t demo_elements_so_far(const struct demo *demo);

struct demo_state {
    uint32_t group;  /* the same for all replicas that agree; from 0 on, in order of their first member */
    char digest[33]; /* as text */
};

/* Which replicas agree, by their digests. Answers the number of groups. */
uint32_t demo_compare_states(const struct demo *demo, struct demo_state *states);

#endif
