/* The observed-remove cuckoo filter as a struct, and what its slots hold. `orcuckoo.c` has the essay. */
#ifndef OBSERVED_ORCUCKOO_SLOTS_H
#define OBSERVED_ORCUCKOO_SLOTS_H

#include "../cuckoo/cuckoo_table.h"
#include "observed.h"

/* A class as bits: the pair of its buckets in truncated binary, where numbers below `short_ones` take `bits` and the
   others one bit more, and the fingerprint. */
struct class_code {
    uint32_t fingerprint_bits;
    uint32_t bits;
    uint64_t short_ones;
};

/* Invariants (orcuckoo_check): those of the parts; `classes` is the number of classes that have entries. */
struct orcuckoo {
    struct observed observed;
    struct filter_own own;
    struct cuckoo_table table;
    uint64_t classes; /* a class that replicas added apart has several entries, and counts once */
    uint32_t counter_bits;
    uint32_t kicks; /* for the next entry that comes from elsewhere: they adapt themselves from one to the next */
    uint64_t hand;  /* the next of the stash to be offered a slot */
    struct class_code code;
};

static inline struct orcuckoo *as_orcuckoo(roost_filter *filter)
{
    return (struct orcuckoo *)filter;
}

static inline const struct orcuckoo *as_const_orcuckoo(const roost_filter *filter)
{
    return (const struct orcuckoo *)filter;
}

/* ---- tags: in a slot the actor's index above the counter, in the stash its number above 32 bits of counter ------- */

static inline uint64_t slot_tag(const struct orcuckoo *filter, uint32_t index, uint32_t counter)
{
    return (uint64_t)index << filter->counter_bits | counter;
}

static inline uint32_t slot_tag_index(const struct orcuckoo *filter, uint64_t tag)
{
    return (uint32_t)(tag >> filter->counter_bits);
}

static inline uint32_t slot_tag_counter(const struct orcuckoo *filter, uint64_t tag)
{
    return (uint32_t)(tag & filter->observed.most_counter);
}

static inline struct entry entry_of_slot(const struct orcuckoo *filter, uint64_t tag, uint64_t key)
{
    return (struct entry){filter->observed.actors.number_of_index[slot_tag_index(filter, tag)],
                          slot_tag_counter(filter, tag), key};
}

static inline struct entry entry_of_node(const struct stash_node *node)
{
    return (struct entry){(uint32_t)(node->tag >> 32), (uint32_t)node->tag, node->key};
}

#endif
