/* The workload of one repeat: random 128-bit keys to add, and others that are never added. */
#ifndef EVAL_WORKLOAD_H
#define EVAL_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "roost.h"

struct key {
    uint64_t low, high;
};

struct workload {
    uint64_t seed;
    size_t count;       /* keys to add */
    struct key *keys;   /* in the order in which they are added */
    roost_hash *hashes; /* of the same keys, under the default seed of the filters */
    size_t fresh_count;
    roost_hash *fresh; /* hashes of keys that are never added */
};

/* SplitMix64. */
uint64_t next_number(uint64_t *state);

void workload_draw(struct workload *workload, uint64_t seed, size_t count, size_t fresh_count);
void workload_release(struct workload *workload);

/* How many of these the filter reports. */
uint64_t count_found(const roost_filter *filter, const roost_hash *hashes, size_t count);

#endif
