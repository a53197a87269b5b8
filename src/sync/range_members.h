/* What a filter has in some ranges, of kinds that tell their positions in no order. `range_members.c` has the idea. */
#ifndef SYNC_RANGE_MEMBERS_H
#define SYNC_RANGE_MEMBERS_H

#include "ranges.h"

static inline bool visits_positions(const roost_filter *filter)
{
    return filter->kind->sync.visit_positions != NULL;
}

/* The sum of the hashes of the members of each range, as summaries have them; `sums` are zero. ROOST_NO_MEMORY. */
roost_status sum_ranges(const roost_filter *filter, const struct ranges *ranges, uint64_t universe, uint64_t *sums);

/* A summary of what is in the ranges, and of nothing else. ROOST_NO_MEMORY. */
roost_status summarize_ranges(const roost_filter *filter, const struct ranges *ranges, uint64_t universe,
                              struct summary *summary);

#endif
