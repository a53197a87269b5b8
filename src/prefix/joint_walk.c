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
 *
 * A table that is much smaller than the other would make for large ranges. It is copied into as many segments as the
 * other has before they are walked (`is_much_coarser`).
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
    *walk = (struct joint_walk){
        .tables = {table, other}, .built = built, .allocator = &table->allocator, .last = UINT64_MAX};
}

void joint_limit(struct joint_walk *walk, uint64_t first, uint64_t last)
{
    walk->next = first;
    walk->last = last;
}

void joint_use(struct joint_walk *walk, uint64_t *array, uint64_t room)
{
    walk->prefixes = array;
    walk->scratch = array + room;
    walk->room = room;
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
    if (walk->ended)
        return false;
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
    walk->ended = walk->end == walk->last;
    walk->next = walk->end + 1;
    return true;
}

struct joint_census joint_census(const struct joint_walk *walk, unsigned which)
{
    struct joint_census census = {0};
    const struct segment *segment = joint_segment(walk, which, walk->start);
    while (segment) {
        uint64_t end = range_end(segment->start, segment->depth);
        census.segments++;
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

/* Prefixes and their tags, that change their order together. */
struct sorted {
    uint64_t *prefixes, *tags;
    uint64_t count;
};

static inline bool comes_before(const struct sorted *list, uint64_t prefix, uint64_t tag, uint64_t i)
{
    return prefix < list->prefixes[i] || (prefix == list->prefixes[i] && tag < list->tags[i]);
}

/* Puts one at a place, or so many times `gap` before it that it is in order with those there. Returns how many. */
static inline uint64_t insert(const struct sorted *list, uint64_t at, uint64_t gap, uint64_t prefix, uint64_t tag)
{
    uint64_t moves = 0;
    for (; at >= gap && comes_before(list, prefix, tag, at - gap); at -= gap, moves++) {
        list->prefixes[at] = list->prefixes[at - gap];
        list->tags[at] = list->tags[at - gap];
    }
    list->prefixes[at] = prefix;
    list->tags[at] = tag;
    return moves;
}

/* By all bits: Shell's sort, which is never much slower than it must be. */
static void sort_fully(const struct sorted *list)
{
    uint64_t gap = 1;
    while (gap < list->count / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (uint64_t i = gap; i < list->count; i++)
            (void)insert(list, i, gap, list->prefixes[i], list->tags[i]);
}

/* For lists that are nearly in order. The greater of two neighbours is carried on to the next, without a branch; what
   then has to move further back is rare. Gives up after so many moves: false. */
static bool sort_nearly_sorted(struct sorted list, uint64_t most)
{
    uint64_t last = list.prefixes[0], last_tag = list.tags[0], moves = 0;
    for (uint64_t i = 1; i < list.count; i++) {
        uint64_t next = list.prefixes[i], next_tag = list.tags[i];
        uint64_t swaps = 0 - (uint64_t)(next < last);
        uint64_t change = (last ^ next) & swaps, tag_change = (last_tag ^ next_tag) & swaps;
        moves += insert(&list, i - 1, 1, last ^ change, last_tag ^ tag_change);
        last = next ^ change;
        last_tag = next_tag ^ tag_change;
        if (__builtin_expect(moves > most, 0)) {
            insert(&list, i, 1, last, last_tag);
            return false;
        }
    }
    insert(&list, list.count - 1, 1, last, last_tag);
    return true;
}

/* Counts prefixes into places by their first bits in the range, from which few have to move. False where many would. */
static bool sort_by_places(struct sorted to, struct sorted from, unsigned shift, unsigned bits)
{
    uint16_t next[1u << MOST_PLACES_BITS], total = 0;
    const uint64_t places = UINT64_C(1) << bits;
    memset(next, 0, places * sizeof *next);
    for (uint64_t i = 0; i < from.count; i++)
        next[from.prefixes[i] >> shift & (places - 1)]++;
    for (uint64_t place = 0; place < places; place++) {
        uint16_t here = next[place];
        next[place] = total;
        total = (uint16_t)(total + here);
    }
    for (uint64_t i = 0; i < from.count; i++) {
        uint64_t prefix = from.prefixes[i];
        uint32_t place = next[prefix >> shift & (places - 1)]++;
        to.prefixes[place] = prefix;
        to.tags[place] = from.tags[i];
    }
    return sort_nearly_sorted(to, MOST_MOVES * to.count);
}

static void swap_with_scratch(struct joint_walk *walk)
{
    uint64_t *prefixes = walk->scratch, *tags = walk->tag_scratch;
    walk->scratch = walk->prefixes;
    walk->prefixes = prefixes;
    walk->tag_scratch = walk->tags;
    walk->tags = tags;
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
    memset(index->heads, 0, sizeof index->heads);
    return walk->count < UINT16_MAX;
}

static void sort_with_tags(struct joint_walk *walk)
{
    unsigned bits = highest_bit(walk->count) + 1, left = 64 - depth_of_range(walk);
    bits = bits < MOST_PLACES_BITS ? bits : MOST_PLACES_BITS;
    bits = bits < left ? bits : left;
    struct sorted from = {walk->prefixes, walk->tags, walk->count};
    struct sorted to = {walk->scratch, walk->tag_scratch, walk->count};
    bool sorted = false;
    if (walk->count <= UINT16_MAX) {
        sorted = sort_by_places(to, from, left - bits, bits);
        swap_with_scratch(walk);
    }
    if (!sorted)
        sort_fully(&(struct sorted){walk->prefixes, walk->tags, walk->count});
}

void joint_sort(struct joint_walk *walk)
{
    if (walk->count < 2)
        return;
    if (walk->tags) {
        sort_with_tags(walk);
        return;
    }
    bool sorted = sort_spread_numbers(walk->scratch, walk->prefixes, walk->count, 64 - depth_of_range(walk));
    swap_with_scratch(walk);
    if (!sorted)
        sort_numbers(walk->prefixes, walk->scratch, walk->count, 64);
}
