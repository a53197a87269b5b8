/*
 * The experiments of "The Distributed Bloom Filter": a network of participants that gossip until nothing changes any
 * more, with one mapping for all, one for each pair, and one for each pair and round; filters of fixed size, and sizes
 * by the sets. Beside them the same networks where each contact is an exact reconciliation.
 */
#ifndef EVAL_DISTRIBUTED_BLOOM_H
#define EVAL_DISTRIBUTED_BLOOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "scale.h"

#define GOSSIP_MAPPINGS   3
#define GOSSIP_SIZINGS    2
#define MOST_NETWORKS     20
#define MOST_GOSSIP_ROUND 40

/* How one network fared. */
struct gossip_run {
    unsigned rounds;    /* until everybody had everything, or nothing changed any more */
    unsigned converged; /* participants that have the whole set */
    double median;      /* size of the sets of the others; 0 where there are none */
    uint64_t contacts;
    uint64_t overhead_bytes, element_bytes;       /* of messages: filters and headers; elements with their lengths */
    unsigned converged_by[MOST_GOSSIP_ROUND + 1]; /* after each round; stays */
};

struct distributed_bloom {
    unsigned networks;
    struct gossip_run runs[GOSSIP_SIZINGS][GOSSIP_MAPPINGS][MOST_NETWORKS];
    struct gossip_run exact[MOST_NETWORKS]; /* no filters: each contact is an exact reconciliation */
};

void distributed_bloom_run(struct distributed_bloom *experiment, struct scale scale, uint64_t seed);
void distributed_bloom_claims(const struct distributed_bloom *experiment);
/* One row a network; and, for the pictures, converged participants by round. */
void distributed_bloom_write_table(const struct distributed_bloom *experiment, FILE *csv);
void distributed_bloom_write_curves(const struct distributed_bloom *experiment, FILE *csv);

#endif
