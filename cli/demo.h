/* What one run of the demo consists of, for the parts that run it, show it and sum it up. */
#ifndef CLI_DEMO_H
#define CLI_DEMO_H

#include "demo_network.h"
#include "demo_replicas.h"

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

/*
 * Which replicas agree: group[i] is the same number for all that have the same digest, from 0 on in order of their
 * first member. `prefix` gets the first digits of each digest. Answers the number of groups.
 */
#define DIGEST_PREFIX 8
struct demo_state {
    uint32_t group;
    char digest[33];
};
uint32_t demo_compare_states(const struct demo *demo, struct demo_state *states);

#define MOST_REPLICAS 32

#endif
