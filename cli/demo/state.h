/* The state of a run of the demo: demo.c changes it, view.c draws it, report.c sums it up. */
#ifndef CLI_DEMO_STATE_H
#define CLI_DEMO_STATE_H

#include "elements.h"
#include "network.h"
#include "replicas.h"

#define MOST_REPLICAS 32

enum round_work {
    IDLE,
    ADD,     /* each replica adds some of its elements */
    REMOVE,  /* each replica removes some elements of the one before it */
    CONTEND, /* one side of a partition removes elements, and the other side adds some of these again */
};

struct demo_round {
    const char *title;
    enum round_work work;
    bool cut;   /* the network is partitioned */
    bool waits; /* lasts until all changes are acknowledged */
};

/* What replicas of one filter do. */
struct demo_act {
    const char *title;
    const struct demo_round *rounds;
    uint32_t round_count;
};

struct demo {
    const struct demo_act *act;
    uint64_t seed;
    roost_config config;
    struct network network;
    struct replicas replicas;
    struct elements elements;
    uint32_t round;       /* from 0 on */
    uint64_t round_began; /* the tick before its first one */
};

/* The first replica on the second side of a partition. */
uint32_t demo_first_beyond_cut(const struct demo *demo);

struct replica_state {
    uint32_t group;  /* equal for replicas that agree; from 0 on, in the order of the first member */
    char digest[33]; /* as text */
};

/* Which replicas agree, by their digests. Returns the number of groups. */
uint32_t demo_compare_states(const struct demo *demo, struct replica_state *states);

#endif
