/* Inside the counting cuckoo filter, for itself, for the identification of differences, and for tests.
   `counting_cuckoo.c` has the essay. */
#ifndef MULTISET_COUNTING_CUCKOO_H
#define MULTISET_COUNTING_CUCKOO_H

#include "multiset.h"
#include "../cuckoo/cuckoo_table.h"

/*
 * Invariants (counting_cuckoo_check): each class is held once, in a slot or in the stash, with a count from 1 to
 * ROOST_MOST_COPIES; `sum` is that of the weights of all of them.
 */
struct counting_cuckoo {
    struct roost_multiset base;
    struct cuckoo_table table; /* a slot's tag is the count */
    uint128 sum;
};

static inline const struct counting_cuckoo *as_const_counting_cuckoo(const roost_multiset *multiset)
{
    return (const struct counting_cuckoo *)multiset;
}

uint64_t counting_cuckoo_count(const struct counting_cuckoo *filter, const struct place *place);

/* Calls for each class, in no order, until an answer is false; whether all were true. */
typedef bool class_visitor(void *context, const struct place *place, uint64_t count);
bool counting_cuckoo_visit(const struct counting_cuckoo *filter, class_visitor *visit, void *context);

/* Algorithms 4 and 5: identify.c. */
roost_status counting_cuckoo_identify(const roost_multiset *here, roost_finding *findings, const roost_multiset *there,
                                      const roost_copies *elements, size_t count, roost_identification method);

#endif
