/*
 * A set of real elements, each with its hash: what a participant of a gossip holds.
 *
 *     hashes     128 bits each, in the order in which elements came: filters are made of this array alone
 *     elements   where the bytes of each are, and how many
 *     index      open addressing by the hash, at most half full; number + 1, 0 is free
 *     blocks     the bytes: a block for what was added at once
 *
 * Two elements are the same if their bytes are, whatever their hashes. What is there stays there.
 */
#ifndef GOSSIP_GOSSIP_SET_H
#define GOSSIP_GOSSIP_SET_H

#include <stdbool.h>

#include "roost/filter.h"
#include "../base/memory.h"

struct element_block;

struct gossip_set {
    roost_hash *hashes;
    roost_bytes *elements;
    uint64_t count, room;
    uint32_t *index; /* twice `room` places */
    struct element_block *blocks;
    uint64_t seed;         /* of the hash */
    uint64_t bytes;        /* of memory, all of it */
    uint64_t memory_limit; /* for `bytes` */
    roost_allocator allocator;
};

struct gossip_set gossip_set_make(uint64_t seed, const roost_environment *environment);
void gossip_set_release(struct gossip_set *set);

bool gossip_set_contains(const struct gossip_set *set, roost_bytes element);

/* All of them or none: ROOST_NO_MEMORY, ROOST_TOO_LARGE. *learnt is how many were new. */
roost_status gossip_set_add(struct gossip_set *set, uint64_t *learnt, const roost_bytes *elements, size_t count);

#endif
