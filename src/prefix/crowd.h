/*
 * What found no slot in a table with tags: the copies of an element that was added more often than two buckets have
 * slots, keys that were chosen to crowd, prefixes that are too short for their segment, and entries that came when
 * there was no memory to rebuild it.
 *
 * All of a table are in one stash (../cuckoo/stash.h), which finds the entries of a prefix at once, however many there
 * are. A look-up asks it for one prefix of each length that it has, and only where a segment says that some of its
 * entries are here.
 */
#ifndef PREFIX_CROWD_H
#define PREFIX_CROWD_H

#include "prefix.h"
#include "../cuckoo/stash.h"

struct crowd {
    struct stash stash;
    uint64_t lengths; /* that prefixes here have, or had: a bit each */
};

/* The next length that is smaller than this one, 64 at first; false at the end. */
static inline bool next_length(const struct crowd *crowd, unsigned *length)
{
    uint64_t left = crowd->lengths & ((*length < 64 ? UINT64_C(1) << *length : 0) - 1);
    *length = left ? highest_bit(left) : 0;
    return left != 0;
}

static inline bool crowd_contains(const struct crowd *crowd, uint64_t hash)
{
    for (unsigned length = 64; next_length(crowd, &length);)
        if (stash_contains(&crowd->stash, prefix_of(hash, length)))
            return true;
    return false;
}

/* A table gets one when it needs one; false without memory. A table without one has NULL there. */
bool crowd_open(struct crowd **crowd, const roost_allocator *allocator);
void crowd_free(struct crowd **crowd, const roost_allocator *allocator);
/* In place of what the copy has. False without memory. */
bool crowd_copy(struct crowd **copy, const struct crowd *crowd, const roost_allocator *allocator);
/* The struct itself stays: segments point to it. */
void crowd_move(struct crowd *crowd, const struct memory_mover *mover);

#endif
