/*
 * The elements of one side of a reconciliation: 128-bit identities in order, each with two marks.
 *
 *     element   | high | low | index | marks, count |     24 bytes
 *
 * Sorted by `high`, so that a partition of the hashes into any number of cells is a partition of the array into
 * ranges: nothing has to be sorted again when another number of cells turns out to be better.
 *
 * In a multiset the element is the pair of a key and its count: the count is scrambled into `low`, and `high` stays
 * what the key alone makes it. So pairs of one key with different counts are different elements of the same cell.
 *
 * Of the marks, the first is the answer: set where the other side is believed to lack the element.
 */
#ifndef RECONCILE_ELEMENT_SET_H
#define RECONCILE_ELEMENT_SET_H

#include "roost/reconcile.h"
#include "../base/hash.h"
#include "../base/memory.h"

enum element_mark {
    ONLY_HERE = 1,
    JUST_TURNED = 2, /* the mark above was changed by the last message about its cell */
};

struct element {
    uint64_t high, low;
    uint32_t index;
    uint32_t marks : 2;
    uint32_t small_count : 30; /* in a multiset, if it is small; 0: see `counts` */
};

#define MOST_SMALL_COUNT ((UINT64_C(1) << 30) - 1)

struct element_set {
    struct element *elements;
    size_t count, room;
    uint64_t *counts; /* by index, in a multiset */
    size_t counts_room;
    uint64_t added; /* calls of element_set_add */
    uint64_t memory_limit;
    bool multiset;
    roost_allocator allocator;
};

void element_set_init(struct element_set *set, bool multiset, const roost_environment *environment);
void element_set_release(struct element_set *set);
roost_status element_set_add(struct element_set *set, roost_hash hash, uint64_t count);

/* No more come: sorts, and leaves one of each. ROOST_TOO_LARGE: a count passes 2^64. */
roost_status element_set_seal(struct element_set *set);

/* The first element whose `high` is at least this. */
size_t element_set_find(const struct element_set *set, uint64_t high);

/* A bijection, so that two counts never look alike. */
static inline uint64_t scramble_count(uint64_t count)
{
    uint64_t mixed = (count - 1) * UINT64_C(0x9e3779b97f4a7c15); /* the count 1 is 0: a set in all but name */
    mixed ^= mixed >> 32;
    mixed *= UINT64_C(0xd6e8feb86659fd93);
    return mixed ^ mixed >> 32;
}

static inline uint64_t count_of(const struct element_set *set, const struct element *element)
{
    if (!set->multiset)
        return 1;
    return element->small_count ? element->small_count : set->counts[element->index];
}

/* The key's own half, without the count. */
static inline uint64_t low_of_key(const struct element_set *set, const struct element *element)
{
    return element->low ^ scramble_count(count_of(set, element));
}

#endif
