/* What a filter has in some ranges, of kinds that tell their positions in no order. `range_members.c` has the idea. */
#ifndef SYNC_RANGE_MEMBERS_H
#define SYNC_RANGE_MEMBERS_H

#include "ranges.h"

static inline bool visits_positions(const roost_filter *filter)
{
    return filter->kind->sync.visit_positions != NULL;
}

/* The sum of the hashes of the members of each range, as summaries have them. To be released. NULL without memory. */
uint64_t *sum_ranges(const roost_filter *filter, const struct ranges *ranges, uint64_t universe,
                     const roost_allocator *allocator);

/* A summary of what is in the ranges, and of nothing else. ROOST_NO_MEMORY. */
roost_status summarize_ranges(const roost_filter *filter, const struct ranges *ranges, uint64_t universe,
                              struct summary *summary);

/* How many members there are before each range of one width, and the sums of their hashes. */
struct range_totals {
    unsigned shift;
    uint64_t ranges, *sums, *counts; /* of so many, and one more */
};

/* All that the filter has, in ranges of `widest` or cut from these, to a few dozen members on average if hashes are
   uniform. ROOST_NO_MEMORY. */
roost_status total_ranges(const roost_filter *filter, uint64_t universe, unsigned widest, struct range_totals *totals);
void totals_release(struct range_totals *totals, const roost_allocator *allocator);

/* Whether these are ranges of which there are totals. */
static inline bool totals_have(const struct range_totals *totals, const struct ranges *ranges)
{
    return totals->sums && ranges->shift >= totals->shift;
}
uint32_t totals_digest(const struct range_totals *totals, const struct ranges *ranges, uint64_t i);
uint64_t totals_count(const struct range_totals *totals, const struct ranges *ranges, uint64_t i);

#endif
