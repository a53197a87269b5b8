/* The scalable observed-remove cuckoo filter as one table of hash prefixes. `growing_orcuckoo.c` has the essay. */
#ifndef GROWING_GROWING_ORCUCKOO_H
#define GROWING_GROWING_ORCUCKOO_H

#include "shared.h"
#include "tagged_set.h"
#include "../observed/observed.h"

/*
 * Invariants, beside those of struct observed: an entry of the set has a dot for its tag, the number of its actor
 * above 32 bits of counter, and the class of an entry is the position of its prefix (prefix.h).
 */
struct growing_orcuckoo {
    struct observed observed;
    struct tagged_set set;
    uint8_t length;    /* of the prefixes that were added last */
    bool keeps_shared; /* for itself alone: shared.h */
};

static inline struct growing_orcuckoo *as_growing_orcuckoo(roost_filter *filter)
{
    return (struct growing_orcuckoo *)filter;
}

static inline const struct growing_orcuckoo *as_const_growing_orcuckoo(const roost_filter *filter)
{
    return (const struct growing_orcuckoo *)filter;
}

/* What the rest of the filter leaves to the list of its set, or to the segments of its table. */
uint64_t bytes_for_set(const struct growing_orcuckoo *filter);

static inline const struct budget *budget_of_filter(const struct growing_orcuckoo *filter)
{
    return &shared_of_filter(&filter->observed.base)->budget;
}

/* How many prefixes of a length a writer may add. */
static inline const uint64_t *capacities_of(const struct growing_orcuckoo *filter)
{
    return budget_of_filter(filter)->capacity;
}

static inline struct prefix_entry prefix_entry_of(struct entry entry)
{
    return (struct prefix_entry){prefix_at(entry.key), dot_number(entry.number, entry.counter)};
}

static inline struct entry entry_of_prefix(struct prefix_entry entry)
{
    return (struct entry){(uint32_t)(entry.tag >> 32), (uint32_t)entry.tag, prefix_position(entry.prefix)};
}

/* ---- growing_orcuckoo_merge.c ---- */

roost_status growing_orcuckoo_merge(roost_filter *filter, bool *changed, const roost_filter *other);
roost_order growing_orcuckoo_compare(const roost_filter *filter, const roost_filter *other);
roost_status growing_orcuckoo_sweep(roost_filter *filter, struct sweep *sweep, const roost_filter *other,
                                    uint32_t effort);

extern const struct filter_kind growing_orcuckoo_kind;

#endif
