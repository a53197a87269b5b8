/*
 * The experiments of "The Distributed Bloom Filter": a network of participants that gossip until nothing changes any
 * more, with one mapping for all, one for each pair, and one for each pair and round; filters of fixed size, and sizes
 * by the sets. Contacts follow each other, or all send at the same time. Beside them the same networks where each
 * contact is an exact reconciliation.
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
#define PARTICIPANTS      50

enum gossip_course { GOSSIP_IN_TURN, GOSSIP_AT_ONCE, GOSSIP_ONE_WAY, GOSSIP_COURSES };

/* How one network fared. */
struct gossip_run {
    unsigned rounds;    /* until everybody had everything, or nothing changed any more */
    unsigned converged; /* participants that have the whole set */
    double median;      /* size of the sets of the others; 0 where there are none */
    uint64_t contacts;
    uint64_t overhead_bytes, element_bytes;       /* of messages: filters and headers; elements with their lengths */
    unsigned converged_by[MOST_GOSSIP_ROUND + 1]; /* after each round; stays */
    unsigned whole_by[PARTICIPANTS];              /* the round by which each had the whole set; 0: never */
};

struct distributed_bloom {
    uint64_t seed;
    unsigned networks;                                                /* of the exact method */
    unsigned counts[GOSSIP_COURSES][GOSSIP_SIZINGS][GOSSIP_MAPPINGS]; /* of networks; a short form leaves some out */
    struct gossip_run runs[GOSSIP_COURSES][GOSSIP_SIZINGS][GOSSIP_MAPPINGS][MOST_NETWORKS];
    struct gossip_run exact[MOST_NETWORKS]; /* no filters: each contact is an exact reconciliation */
};

void distributed_bloom_run(struct distributed_bloom *experiment, struct scale scale, uint64_t seed);
void distributed_bloom_claims(const struct distributed_bloom *experiment);
/* One row a network; and, for the pictures, converged participants by round, and the first network: who has the whole
   set by which round, and who sends to whom. */
void distributed_bloom_write_table(const struct distributed_bloom *experiment, FILE *csv);
void distributed_bloom_write_curves(const struct distributed_bloom *experiment, FILE *csv);
void distributed_bloom_write_participants(const struct distributed_bloom *experiment, FILE *csv);
void distributed_bloom_write_neighbours(const struct distributed_bloom *experiment, FILE *csv);

#endif
