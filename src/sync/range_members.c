/*
 * A responder is asked about some ranges at a time, and keeps nothing between requests. To list and sort all that the
 * filter holds, for each of them, would take most of the time of a sync and several times the memory of the filter. So
 * positions are taken as they come, in no order: each is added to the sum of its range, or listed if its range is one
 * of those that are asked about.
 *
 *     position 0x1a7f3  >> shift  ->  number 0x1a  ->  place[0x1a] = 3: the second range that is asked about
 *
 * Where there are more numbers than memory for their places, the ranges are searched.
 */
#include "range_members.h"

#include "../base/hash.h"

#define FEW_NUMBERS 4096
#define NO_RANGE    UINT64_MAX

struct range_index {
    const struct ranges *ranges;
    uint32_t *place; /* of each number: which range it is, and one more; 0: none. NULL: they are searched */
};

static bool index_open(struct range_index *index, const struct ranges *ranges, uint64_t universe, uint64_t members,
                       const roost_allocator *allocator)
{
    uint64_t numbers = (universe >> ranges->shift) + 1;
    *index = (struct range_index){ranges, NULL};
    if (numbers > FEW_NUMBERS + 4 * members || ranges->count >= UINT32_MAX)
        return true;
    index->place = memory_allocate(allocator, numbers * sizeof *index->place);
    for (uint64_t i = 0; index->place && i < ranges->count; i++)
        index->place[ranges->numbers[i]] = (uint32_t)i + 1;
    return index->place != NULL;
}

static inline uint64_t range_of(const struct range_index *index, uint64_t position)
{
    uint64_t number = position >> index->ranges->shift, below = 0;
    if (index->place)
        return (uint64_t)index->place[number] - 1; /* NO_RANGE of 0 */
    for (uint64_t left = index->ranges->count; left > 0;) {
        uint64_t half = left - left / 2;
        below += half * (index->ranges->numbers[below + half - 1] < number);
        left -= half;
    }
    return below < index->ranges->count && index->ranges->numbers[below] == number ? below : NO_RANGE;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

struct summing {
    struct range_index index;
    uint64_t seed, *sums;
};

static void add_to_sums(void *context, const uint64_t *positions, uint64_t count)
{
    const struct summing *summing = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t range = range_of(&summing->index, positions[i]);
        if (range != NO_RANGE)
            summing->sums[range] += (uint64_t)hash_number(summing->seed, positions[i]);
    }
}

roost_status sum_ranges(const roost_filter *filter, const struct ranges *ranges, uint64_t universe, uint64_t *sums)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    struct summing summing = {.seed = filter->config->seed, .sums = sums};
    if (!index_open(&summing.index, ranges, universe, filter->kind->sync.positions(filter), allocator))
        return ROOST_NO_MEMORY;
    roost_status status = filter->kind->sync.visit_positions(filter, add_to_sums, &summing);
    memory_release(allocator, summing.index.place);
    return status;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

struct listing {
    struct range_index index;
    uint64_t *positions, count;
};

static void list_members(void *context, const uint64_t *positions, uint64_t count)
{
    struct listing *listing = context;
    for (uint64_t i = 0; i < count; i++) {
        listing->positions[listing->count] = positions[i];
        listing->count += range_of(&listing->index, positions[i]) != NO_RANGE;
    }
}

roost_status summarize_ranges(const roost_filter *filter, const struct ranges *ranges, uint64_t universe,
                              struct summary *summary)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    uint64_t members = filter->kind->sync.positions(filter);
    /* Memory that is never touched costs nothing, and most of this is not. */
    struct listing listing = {.positions = memory_allocate(allocator, (2 * members + 2) * sizeof(uint64_t))};
    if (!listing.positions || !index_open(&listing.index, ranges, universe, members, allocator)) {
        memory_release(allocator, listing.positions);
        return ROOST_NO_MEMORY;
    }
    roost_status status = filter->kind->sync.visit_positions(filter, list_members, &listing);
    memory_release(allocator, listing.index.place);
    if (status == ROOST_OK)
        summary_of_positions(summary, listing.positions, listing.count, universe, filter->config->seed);
    else
        memory_release(allocator, listing.positions);
    return status;
}
