/*
 * The overflow of a cuckoo table: entries that found no slot. It is small when replicas merge within their capacity
 * (under one entry in two hundred), and still correct and fast when they merge far beyond it, or when a multiset holds
 * one element a million times.
 *
 * An entry is a class key and a tag; a table without tags has 0 there, and each class once. Entries lie in an array of
 * nodes. Those of one class form a chain, which begins with its head:
 *
 *     by_class   hash of the class          -> head of its chain      is the class there? how often?
 *     by_entry   hash of the class and tag  -> node                   this very entry (tables with tags)
 *     nodes      key, tag, next in chain, previous in chain (of a head: how many the chain has)
 *
 * so that each question costs one or two look-ups, however long the chain. Both indexes are hash tables by open
 * addressing, at most half full. Their hash is salted, with another salt for each array, so that no sender can choose
 * keys that all collide.
 */
#ifndef CUCKOO_STASH_H
#define CUCKOO_STASH_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/bits.h"
#include "../base/memory.h"

struct stash_node {
    uint64_t key; /* 0 is free: no class has the key 0 */
    uint64_t tag;
    uint32_t next;     /* node + 1 in the chain, or in the list of free nodes; 0 ends it */
    uint32_t previous; /* node + 1 in the chain; of a head the length of the chain */
};

struct stash {
    struct stash_node *nodes;
    uint32_t *by_class, *by_entry; /* node + 1, 0 is free; twice `room` places. by_entry is NULL without tags */
    uint64_t room;                 /* of nodes: 0 or a power of two */
    uint64_t used;                 /* nodes beyond were never in use */
    uint64_t count;
    uint64_t salt;
    uint32_t free; /* node + 1 */
    bool tagged;
};

#define NO_NODE UINT64_MAX

static inline uint64_t stash_start(const struct stash *stash, uint64_t number)
{
    return multiply_and_fold(number ^ stash->salt, UINT64_C(0x9e3779b97f4a7c15)) & (2 * stash->room - 1);
}

/* The head of the class's chain, or NO_NODE. */
static inline uint64_t stash_find_class(const struct stash *stash, uint64_t key)
{
    if (stash->count == 0)
        return NO_NODE;
    for (uint64_t i = stash_start(stash, key); stash->by_class[i]; i = (i + 1) & (2 * stash->room - 1))
        if (stash->nodes[stash->by_class[i] - 1].key == key)
            return stash->by_class[i] - 1;
    return NO_NODE;
}

static inline bool stash_contains(const struct stash *stash, uint64_t key)
{
    return stash_find_class(stash, key) != NO_NODE;
}

/* How many entries the class has here. */
uint64_t stash_copies(const struct stash *stash, uint64_t key);

/* This very entry, or NO_NODE; for a stash with tags. */
uint64_t stash_find_entry(const struct stash *stash, uint64_t key, uint64_t tag);

/* The entry must not be there yet. False, and nothing changed, when there is no memory. */
bool stash_insert(struct stash *stash, const roost_allocator *allocator, uint64_t key, uint64_t tag);

/* Makes room for so many more entries at once. */
bool stash_reserve(struct stash *stash, const roost_allocator *allocator, uint64_t more);

/* Gives back room that was never used, if there is memory to do so. Nodes keep their places. */
void stash_trim(struct stash *stash, const roost_allocator *allocator);

void stash_remove(struct stash *stash, uint64_t node);

bool stash_copy(struct stash *copy, const struct stash *stash, const roost_allocator *allocator);
void stash_release(struct stash *stash, const roost_allocator *allocator); /* `tagged` stays */

uint64_t stash_bytes(const struct stash *stash);

/* The bytes that it takes with so many more entries. */
uint64_t stash_bytes_with(const struct stash *stash, uint64_t more);

bool stash_check(const struct stash *stash);

#endif
