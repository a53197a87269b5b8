/* An entry that no observed-remove filter of prefixes would make, as from a stranger: any prefix, with any dot. */
#ifndef TESTS_FORGED_ENTRY_H
#define TESTS_FORGED_ENTRY_H

#include "check.h"
#include "growing/growing_orcuckoo.h"

static inline void forge_entry(roost_filter *filter, uint64_t prefix, uint64_t actor, uint32_t counter)
{
    struct observed *observed = as_observed(filter);
    const roost_allocator *allocator = &filter->environment.allocator;
    struct causal_context dot = {0};
    assert_true(causal_add(&dot, allocator, (struct dot_run){actor, counter, counter}));
    assert_ok(number_actors(observed, &dot));
    struct entry entry = {actors_find(&observed->actors, actor), counter, prefix_position(prefix)};
    assert_ok(observed->store->take(observed, &entry, 1));
    assert_true(causal_add(&observed->causal, allocator, (struct dot_run){actor, counter, counter}));
    causal_release(&dot, allocator);
}

#endif
