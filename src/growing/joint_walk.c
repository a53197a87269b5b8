/*
 * Two tables walked together.
 *
 *     table     |   A   |   B   |       C       |       D       |       segments, in the order of hashes
 *     other     |       E       |   F   |   G   |       H       |
 *     ranges    |      A B E    |     C F G     |      D H      |
 *
 * Segments are cut at powers of two, so where one of each table begins, one of them is the other, or contains it: the
 * larger one is the next range. What both have there is gathered from the slots in vectors, in no order, and sorted
 * together where the order matters: by counting into places by the first bits, which are uniform, and then with few
 * left to move. Prefixes that were chosen to share their first bits are sorted by all of them.
 */
#include "joint_walk.h"

#include <string.h>

#include "../base/sort.h"

/* Places to which prefixes are counted. */
#define MOST_PLACES_BITS 13
/* Where each has to move further than this, the first bits do not tell them apart. */
#define MOST_MOVES 8

void joint_begin(struct joint_walk *walk, const struct prefix_table *table, const struct prefix_table *other,
                 const struct prefix_table *built)
{
    *walk = (struct joint_walk){.tables = {table, other}, .built = built, .allocator = &table->allocator};
}

void joint_end(struct joint_walk *walk)
{
    memory_release(walk->allocator, walk->memory);
    walk->memory = NULL;
}

/* The end of the child of a directory, which may be still to be made. */
static uint64_t end_of_child(const struct directory *directory, uint64_t hash)
{
    uint64_t index = hash << directory->base >> (63 - directory->depth) >> 1;
    return range_end(hash, (unsigned)directory->base + directory->depth + (index < directory->split));
}

bool joint_next(struct joint_walk *walk)
{
    if (walk->begun && walk->next == 0)
        return false;
    walk->begun = true;
    walk->start = walk->end = walk->next;
    walk->count = 0;
    for (unsigned which = 0; which < 2; which++) {
        const struct segment *segment = joint_segment(walk, which, walk->start);
        uint64_t end = segment ? range_end(segment->start, segment->depth) : walk->start;
        walk->end = end > walk->end ? end : walk->end;
    }
    uint64_t end = walk->built ? end_of_child(walk->built->root, walk->start) : walk->start;
    walk->end = end > walk->end ? end : walk->end;
    if (walk->end == walk->start) /* there is nothing at all */
        walk->end = UINT64_MAX;
    walk->next = walk->end + 1;
    return true;
}

struct joint_census joint_census(const struct joint_walk *walk, unsigned which)
{
    struct joint_census census = {0, 0};
    const struct segment *segment = joint_segment(walk, which, walk->start);
    while (segment) {
        uint64_t end = range_end(segment->start, segment->depth);
        census.count += segment->prefixes;
        census.sum += segment->sum;
        segment = end < walk->end ? joint_segment(walk, which, end + 1) : NULL;
    }
    return census;
}

uint64_t joint_earlier(const struct joint_walk *walk, unsigned which)
{
    const struct segment *segment = joint_segment(walk, which, walk->start);
    for (uint32_t i = 0; segment && i < segment->short_count; i++)
        if (first_covered(segment->shorts[i]) < walk->start)
            return segment->shorts[i];
    return 0;
}

/* ---- gathering --------------------------------------------------------------------------------------------------- */

bool joint_reserve(struct joint_walk *walk, uint64_t more)
{
    if (walk->count + more <= walk->room)
        return true;
    const bool tagged = walk->tables[0]->tagged;
    const uint64_t room = walk->count + more + (walk->count + more) / 2;
    uint64_t *memory = memory_allocate(walk->allocator, (tagged ? 4 : 2) * room * sizeof *memory);
    if (!memory)
        return false;
    if (walk->count) {
        memcpy(memory, walk->prefixes, walk->count * sizeof *memory);
        if (tagged)
            memcpy(memory + 2 * room, walk->tags, walk->count * sizeof *memory);
    }
    memory_release(walk->allocator, walk->memory);
    walk->memory = walk->prefixes = memory;
    walk->scratch = memory + room;
    walk->tags = tagged ? memory + 2 * room : NULL;
    walk->tag_scratch = tagged ? memory + 3 * room : NULL;
    walk->room = room;
    return true;
}

/* What began before the segment is among the first, which come from a list; the last take their places. */
static void count_gathered(struct joint_walk *walk, const struct segment *segment, uint64_t count)
{
    uint64_t *prefixes = walk->prefixes + walk->count;
    for (uint64_t i = segment->short_count; i-- > 0;)
        if (!begins_here(segment, prefixes[i]))
            prefixes[i] = prefixes[--count];
    walk->count += count;
}

static struct prefix_run next_run(const struct joint_walk *walk)
{
    return (struct prefix_run){walk->prefixes + walk->count, walk->tags ? walk->tags + walk->count : NULL, 0, 0};
}

bool joint_gather(struct joint_walk *walk, unsigned which)
{
    const struct segment *segment = joint_segment(walk, which, walk->start);
    while (segment) {
        if (!joint_reserve(walk, segment_room(segment)))
            return false;
        struct prefix_run run = next_run(walk);
        segment_gather(segment, &run);
        count_gathered(walk, segment, run.count);
        uint64_t end = range_end(segment->start, segment->depth);
        segment = end < walk->end ? joint_segment(walk, which, end + 1) : NULL;
    }
    return true;
}

/* Whether one segment of either table is the present range. */
static bool are_one_segment(const struct joint_walk *walk)
{
    return joint_is_one_segment(walk, joint_segment(walk, 0, walk->start)) &&
           joint_is_one_segment(walk, joint_segment(walk, 1, walk->start));
}

bool joint_gather_unlike(struct joint_walk *walk, unsigned which)
{
    if (!are_one_segment(walk))
        return joint_gather(walk, which);
    const struct segment *segment = joint_segment(walk, which, walk->start);
    if (!joint_reserve(walk, segment_room(segment)))
        return false;
    struct prefix_run run = next_run(walk);
    if (!segment_gather_unlike(segment, joint_segment(walk, !which, walk->start), &run))
        return joint_gather(walk, which);
    count_gathered(walk, segment, run.count);
    return true;
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

static ALWAYS_INLINE bool comes_before(const struct joint_walk *walk, uint64_t prefix, uint64_t tag, uint64_t i,
                                       bool tagged)
{
    return prefix < walk->prefixes[i] || (tagged && prefix == walk->prefixes[i] && tag < walk->tags[i]);
}

/* Insertion into the part of the list that is every so many. Gives up after so many moves: false. */
static ALWAYS_INLINE bool sort_every(struct joint_walk *walk, uint64_t gap, uint64_t most, bool tagged)
{
    uint64_t moves = 0;
    for (uint64_t i = gap; i < walk->count && moves <= most; i++) {
        uint64_t prefix = walk->prefixes[i], tag = tagged ? walk->tags[i] : 0, j = i;
        for (; j >= gap && comes_before(walk, prefix, tag, j - gap, tagged); j -= gap, moves++) {
            walk->prefixes[j] = walk->prefixes[j - gap];
            if (tagged)
                walk->tags[j] = walk->tags[j - gap];
        }
        walk->prefixes[j] = prefix;
        if (tagged)
            walk->tags[j] = tag;
    }
    return moves <= most;
}

/* By all bits: Shell's sort, which is never much slower than it must be. */
static void sort_fully(struct joint_walk *walk)
{
    uint64_t gap = 1;
    if (!walk->tags) {
        sort_numbers(walk->prefixes, walk->scratch, walk->count, 64);
        return;
    }
    while (gap < walk->count / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        (void)sort_every(walk, gap, UINT64_MAX, true);
}

static void swap_with_scratch(struct joint_walk *walk)
{
    uint64_t *prefixes = walk->scratch, *tags = walk->tag_scratch;
    walk->scratch = walk->prefixes;
    walk->prefixes = prefixes;
    walk->tag_scratch = walk->tags;
    walk->tags = tags;
}

/* Each that is greater than its successor changes places with it, without branches: nearly all are in order then. */
static ALWAYS_INLINE void swap_neighbours(struct joint_walk *walk, bool tagged)
{
    uint64_t *prefixes = walk->prefixes, *tags = walk->tags;
    uint64_t last = prefixes[0], last_tag = tagged ? tags[0] : 0;
    for (uint64_t i = 1; i < walk->count; i++) {
        uint64_t next = prefixes[i], next_tag = tagged ? tags[i] : 0;
        uint64_t swaps = 0 - (uint64_t)(next < last), change = (last ^ next) & swaps;
        prefixes[i - 1] = last ^ change;
        last = next ^ change;
        if (tagged) {
            uint64_t tag_change = (last_tag ^ next_tag) & swaps;
            tags[i - 1] = last_tag ^ tag_change;
            last_tag = next_tag ^ tag_change;
        }
    }
    prefixes[walk->count - 1] = last;
    if (tagged)
        tags[walk->count - 1] = last_tag;
}

/* Counts prefixes into places by their first bits in the range, from which few have to move. False where many would. */
static ALWAYS_INLINE bool sort_by_places(struct joint_walk *walk, unsigned depth, unsigned bits, bool tagged)
{
    uint16_t next[1u << MOST_PLACES_BITS], total = 0;
    memset(next, 0, sizeof *next << bits);
    for (uint64_t i = 0; i < walk->count; i++)
        next[walk->prefixes[i] << depth >> (64 - bits)]++;
    for (uint32_t place = 0; place < 1u << bits; place++) {
        uint16_t here = next[place];
        next[place] = total;
        total = (uint16_t)(total + here);
    }
    for (uint64_t i = 0; i < walk->count; i++) {
        uint32_t place = next[walk->prefixes[i] << depth >> (64 - bits)]++;
        walk->scratch[place] = walk->prefixes[i];
        if (tagged)
            walk->tag_scratch[place] = walk->tags[i];
    }
    swap_with_scratch(walk);
    swap_neighbours(walk, tagged);
    return sort_every(walk, 1, MOST_MOVES * walk->count, tagged);
}

/* Bits that all hashes of the present range share. */
static unsigned depth_of_range(const struct joint_walk *walk)
{
    uint64_t last = walk->end - walk->start;
    return last == UINT64_MAX ? 0 : 63 - highest_bit(last);
}

bool joint_index_begin(struct joint_index *index, const struct joint_walk *walk)
{
    unsigned depth = depth_of_range(walk);
    index->shift = depth + INDEX_BITS < 64 ? 64 - depth - INDEX_BITS : 0;
    index->steps = 0;
    memset(index->heads, 0, sizeof index->heads);
    return walk->count < UINT16_MAX;
}

void joint_sort(struct joint_walk *walk)
{
    const unsigned depth = depth_of_range(walk);
    if (walk->count < 2)
        return;
    unsigned bits = highest_bit(walk->count) + 1;
    bits = bits < MOST_PLACES_BITS ? bits : MOST_PLACES_BITS;
    if (walk->count > UINT16_MAX ||
        !(walk->tags ? sort_by_places(walk, depth, bits, true) : sort_by_places(walk, depth, bits, false)))
        sort_fully(walk);
}
