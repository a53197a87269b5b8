/*
 * The overflow of a cuckoo table: class keys that found no slot. A hash set by open addressing, at most half full, so a
 * look-up reads one or two neighbouring words. It is small when replicas merge within their capacity (under one entry
 * in two hundred), and still correct and fast when they merge far beyond it.
 *
 * The hash is salted, with another salt for each array. Without, a walk through one stash would yield its keys in the
 * order of their hashes, and putting them into another one in that order makes ever longer runs; and a stranger could
 * send keys that all start at one place.
 */
#ifndef FILTER_STASH_H
#define FILTER_STASH_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/bits.h"
#include "../base/memory.h"

struct stash {
    uint64_t *keys; /* 0 is free: no class has the key 0 */
    uint64_t room;  /* 0 or a power of two, at least twice the count */
    uint64_t count;
    uint64_t salt; /* of the hash, another for each array */
};

static inline uint64_t stash_start(const struct stash *stash, uint64_t key)
{
    return multiply_and_fold(key ^ stash->salt, UINT64_C(0x9e3779b97f4a7c15)) & (stash->room - 1);
}

static inline bool stash_contains(const struct stash *stash, uint64_t key)
{
    if (stash->count == 0)
        return false;
    for (uint64_t i = stash_start(stash, key); stash->keys[i]; i = (i + 1) & (stash->room - 1))
        if (stash->keys[i] == key)
            return true;
    return false;
}

/* The key must not be there yet. False, and nothing changed, when there is no memory. */
bool stash_insert(struct stash *stash, const roost_allocator *allocator, uint64_t key);
bool stash_copy(struct stash *copy, const struct stash *stash, const roost_allocator *allocator);
void stash_release(struct stash *stash, const roost_allocator *allocator);

static inline uint64_t stash_bytes(const struct stash *stash)
{
    return stash->room * sizeof *stash->keys;
}

/* What it will take once one more key is in it. */
uint64_t stash_bytes_with_one_more(const struct stash *stash);

#endif
