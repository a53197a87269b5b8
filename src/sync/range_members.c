/*
 * What ranges hold is found without a list of all that the filter holds, which would have to be sorted: that would take
 * most of the time of a sync and several times the memory of the filter. Positions are taken as they come, in no order:
 * each is added to the sum of its range, or listed if its range is one of those that are asked about.
 *
 *     position 0x1a7f3  >> shift  ->  number 0x1a  ->  place[0x1a] = 2: the second range that is asked about
 *                                     number 0x1b  ->  place[0x1b] = 0: none
 *
 * Where there are more numbers than memory for their places, the ranges are searched.
 *
 * A responder, which keeps nothing between requests, does this for each. An initiator keeps the sums of narrow ranges
 * from the first time, of which wider ones consist (`range_totals`), and lists only what its leaves are to name: twice
 * through the filter in all. A kind that has its members in order passes over those that nobody asks about.
 */
#include "range_members.h"

#include "../base/hash.h"

#define FEW_NUMBERS 4096
/* Members of a range of which there are totals, at least, on average. */
#define FEWEST_MEMBERS 8

/* Finds the range of a position: 0 if it is none of those that are asked about, 1 for the first of these. */
struct range_index {
    const struct ranges *ranges;
    uint32_t *place;  /* of each number; NULL: they are searched */
    uint64_t numbers; /* there are so many; what the filter has got beyond them since has the next one */
};

static bool index_open(struct range_index *index, const struct ranges *ranges, uint64_t universe, uint64_t members,
                       const roost_allocator *allocator)
{
    uint64_t numbers = (universe >> ranges->shift) + 1;
    *index = (struct range_index){ranges, NULL, numbers};
    if (numbers > FEW_NUMBERS + 4 * members || ranges->count >= UINT32_MAX)
        return true;
    index->place = memory_allocate(allocator, (numbers + 1) * sizeof *index->place);
    for (uint64_t i = 0; index->place && i < ranges->count; i++)
        index->place[ranges->numbers[i]] = (uint32_t)i + 1;
    return index->place != NULL;
}

/* The first of the ranges whose number is not below this one. */
static uint64_t first_range(const struct ranges *ranges, uint64_t number)
{
    uint64_t below = 0;
    for (uint64_t left = ranges->count; left > 0;) {
        uint64_t half = left - left / 2;
        below += half * (ranges->numbers[below + half - 1] < number);
        left -= half;
    }
    return below;
}

static uint64_t search_range(const struct ranges *ranges, uint64_t number)
{
    uint64_t first = first_range(ranges, number);
    return first < ranges->count && ranges->numbers[first] == number ? first + 1 : 0;
}

static ALWAYS_INLINE uint64_t range_of(const struct range_index *index, uint64_t position)
{
    uint64_t number = position >> index->ranges->shift;
    if (!index->place)
        return search_range(index->ranges, number);
    return index->place[number < index->numbers ? number : index->numbers];
}

/* Whether a range that is asked about has some of these positions. */
static bool index_wants(const void *context, uint64_t from, uint64_t to)
{
    const struct ranges *ranges = ((const struct range_index *)context)->ranges;
    uint64_t first = first_range(ranges, from >> ranges->shift);
    return first < ranges->count && ranges->numbers[first] <= (to - 1) >> ranges->shift;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

struct summing {
    struct range_index index; /* the first, for index_wants */
    uint64_t seed, *sums;     /* that of none is in the way */
};

static void add_to_sums(void *context, const uint64_t *positions, uint64_t count)
{
    const struct summing summing = *(const struct summing *)context;
    for (uint64_t i = 0; i < count; i++)
        summing.sums[range_of(&summing.index, positions[i])] += (uint64_t)hash_number(summing.seed, positions[i]);
}

uint64_t *sum_ranges(const roost_filter *filter, const struct ranges *ranges, uint64_t universe,
                     const roost_allocator *allocator)
{
    struct summing summing = {.seed = filter->config->seed};
    if (!index_open(&summing.index, ranges, universe, filter->kind->sync.positions(filter), allocator))
        return NULL;
    summing.sums = memory_allocate(allocator, (ranges->count + 1) * sizeof *summing.sums);
    const struct position_visitor visitor = {add_to_sums, index_wants, &summing};
    if (summing.sums && filter->kind->sync.visit_positions(filter, &visitor) != ROOST_OK) {
        memory_release(allocator, summing.sums);
        summing.sums = NULL;
    }
    memory_release(allocator, summing.index.place);
    for (uint64_t i = 0; summing.sums && i < ranges->count; i++)
        summing.sums[i] = summing.sums[i + 1];
    return summing.sums;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

struct listing {
    struct range_index index; /* the first, for index_wants */
    uint64_t *positions, count;
};

static void list_members(void *context, const uint64_t *positions, uint64_t count)
{
    struct listing *listing = context;
    const struct range_index index = listing->index;
    uint64_t *listed = listing->positions + listing->count;
    for (uint64_t i = 0; i < count; i++) {
        *listed = positions[i];
        listed += range_of(&index, positions[i]) != 0;
    }
    listing->count = (uint64_t)(listed - listing->positions);
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
    const struct position_visitor visitor = {list_members, index_wants, &listing};
    roost_status status = filter->kind->sync.visit_positions(filter, &visitor);
    memory_release(allocator, listing.index.place);
    if (status == ROOST_OK)
        summary_of_positions(summary, listing.positions, listing.count, universe, filter->config->seed);
    else
        memory_release(allocator, listing.positions);
    return status;
}

/* ---- totals ------------------------------------------------------------------------------------------------------ */

struct totalling {
    struct range_totals totals;
    uint64_t seed;
};

static void add_to_totals(void *context, const uint64_t *positions, uint64_t count)
{
    const struct totalling totalling = *(const struct totalling *)context;
    const struct range_totals totals = totalling.totals;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = positions[i] >> totals.shift;
        totals.sums[number] += (uint64_t)hash_number(totalling.seed, positions[i]);
        totals.counts[number]++;
    }
}

/* So far each has its own. */
static void add_those_before(uint64_t *totals, uint64_t ranges)
{
    uint64_t before = 0;
    for (uint64_t i = 0; i <= ranges; i++) {
        uint64_t own = totals[i];
        totals[i] = before;
        before += own;
    }
}

roost_status total_ranges(const roost_filter *filter, uint64_t universe, unsigned widest, struct range_totals *totals)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    uint64_t most = filter->kind->sync.positions(filter) / FEWEST_MEMBERS;
    unsigned shift = widest;
    while (shift >= FEWEST_SHIFT + FANOUT_BITS && universe >> (shift - FANOUT_BITS) <= most)
        shift -= FANOUT_BITS;
    uint64_t ranges = (universe >> shift) + 1;
    *totals =
        (struct range_totals){shift, ranges, memory_allocate(allocator, 2 * (ranges + 1) * sizeof(uint64_t)), NULL};
    if (!totals->sums)
        return ROOST_NO_MEMORY;
    totals->counts = totals->sums + ranges + 1;
    struct totalling totalling = {*totals, filter->config->seed};
    const struct position_visitor visitor = {add_to_totals, NULL, &totalling};
    roost_status status = filter->kind->sync.visit_positions(filter, &visitor);
    if (status != ROOST_OK) {
        totals_release(totals, allocator);
        return status;
    }
    add_those_before(totals->sums, ranges);
    add_those_before(totals->counts, ranges);
    return ROOST_OK;
}

void totals_release(struct range_totals *totals, const roost_allocator *allocator)
{
    memory_release(allocator, totals->sums);
    *totals = (struct range_totals){0};
}

/* Of those before the first of the ranges below a wider one, and before the next after them. */
static uint64_t part_of(const struct range_totals *totals, const uint64_t *before, const struct ranges *ranges,
                        uint64_t i)
{
    unsigned finer = ranges->shift - totals->shift;
    uint64_t from = ranges->numbers[i] << finer, to = (ranges->numbers[i] + 1) << finer;
    return before[to < totals->ranges ? to : totals->ranges] - before[from < totals->ranges ? from : totals->ranges];
}

uint32_t totals_digest(const struct range_totals *totals, const struct ranges *ranges, uint64_t i)
{
    return (uint32_t)(part_of(totals, totals->sums, ranges, i) >> 32);
}

uint64_t totals_count(const struct range_totals *totals, const struct ranges *ranges, uint64_t i)
{
    return part_of(totals, totals->counts, ranges, i);
}
