/*
 * The directory of a table and the segments in it: how they are made, cut in two and freed. `table.c` has the essay.
 */
#include "directory.h"

#include <string.h>

#include "../base/hash.h"

/* ---- directories ------------------------------------------------------------------------------------------------- */

static uint64_t directory_bytes(const struct directory *directory)
{
    return sizeof *directory + places_bytes(directory->depth) +
           (directory->lower ? places_bytes(directory->depth + 1u) : 0);
}

struct directory *new_directory(struct prefix_table *table, unsigned base, uint64_t segments)
{
    struct directory *directory = memory_allocate(&table->allocator, sizeof *directory);
    if (!directory)
        return NULL;
    segments = segments ? segments : 1;
    unsigned depth = highest_bit(segments) & 63; /* analyzers do not know the range of what counts zeros */
    directory->base = (uint8_t)base;
    directory->depth = (uint8_t)depth;
    directory->split = segments - (UINT64_C(1) << depth);
    directory->upper = memory_allocate(&table->allocator, places_bytes(depth));
    if (directory->split)
        directory->lower = memory_allocate(&table->allocator, places_bytes(depth + 1));
    if (directory->upper && (directory->lower || !directory->split)) {
        table->bytes += directory_bytes(directory);
        return directory;
    }
    memory_release(&table->allocator, directory->upper);
    memory_release(&table->allocator, directory->lower);
    memory_release(&table->allocator, directory);
    return NULL;
}

void free_segment(struct prefix_table *table, struct segment *segment)
{
    if (segment)
        table->bytes -= segment_bytes(segment);
    segment_leave(segment, &table->allocator, table->count_shared);
}

static bool own_segment(struct prefix_table *table, node *place)
{
    struct segment *segment = segment_of(*place);
    if (!segment_is_shared(segment))
        return true;
    struct segment *copy = segment_copy(segment, &table->allocator);
    if (!copy)
        return false;
    table->bytes += segment_bytes(copy);
    free_segment(table, segment);
    *place = (node)copy;
    return true;
}

bool own_segments(struct prefix_table *table, uint64_t first, uint64_t last)
{
    for (uint64_t end = 0; end < last; first = end + 1) {
        node *place = place_of(owner_of(table, first), first);
        if (!own_segment(table, place))
            return false;
        end = range_end(segment_of(*place)->start, segment_of(*place)->depth);
    }
    return true;
}

void free_directory(struct prefix_table *table, struct directory *directory)
{
    struct directory *last = NULL; /* both halves of a range share a nested one */
    for (uint64_t i = 0; i < segments_of(directory); i++) {
        node child = *child_at(directory, i);
        if (!is_nested(child))
            free_segment(table, segment_of(child));
        else if (nested_of(child) != last)
            free_directory(table, last = nested_of(child));
    }
    table->bytes -= directory_bytes(directory);
    memory_release(&table->allocator, directory->lower);
    memory_release(&table->allocator, directory->upper);
    memory_release(&table->allocator, directory);
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

uint128 sum_of(const struct prefix_table *table, uint64_t start, const uint64_t *prefixes, uint64_t count)
{
    uint128 sum = 0;
    for (uint64_t i = 0; i < count; i++)
        if (first_covered(prefixes[i]) >= start)
            sum += hash_number(table->seed, prefixes[i]);
    return sum;
}

/* The ends of prefixes, from one on and before another. */
static uint64_t ends_of(const uint64_t *prefixes, uint64_t from, uint64_t to)
{
    uint64_t ends = 0;
    for (uint64_t i = from; i < to; i++)
        ends |= end_mark(prefixes[i]);
    return ends;
}

bool allocate_run(const struct prefix_table *table, struct prefix_run *run, uint64_t room)
{
    run->count = run->listed = 0;
    run->prefixes = memory_allocate_scratch(&table->allocator, (table->tagged ? 2 : 1) * room * sizeof *run->prefixes);
    run->tags = table->tagged && run->prefixes ? run->prefixes + room : NULL;
    return run->prefixes != NULL;
}

/* As many bits as the tags need; for counters as many as a quarter more of them need, since they go on until the segment
   is made anew. Eight at least, since a block must not have more buckets than a byte can count. */
#define FEWEST_TAG_BITS 8

static void shape_for_tags(struct segment_shape *shape, const struct prefix_run *run, uint64_t expected)
{
    uint64_t most = expected <= UINT32_MAX ? expected : 0; /* counters are seldom larger than there are entries */
    uint64_t all = 0;
    for (uint64_t i = 0; i < run->count; i++) {
        uint64_t counter = run->tags[i] & UINT32_MAX;
        all |= run->tags[i];
        most = counter > most ? counter : most;
    }
    most += most / 4;
    unsigned counter_bits = most ? highest_bit(most) + 1 : 0;
    unsigned number_bits = all >> 32 ? highest_bit(all >> 32) + 1 : 0;
    counter_bits = counter_bits < 32 ? counter_bits : 32;
    shape->number_bits = (uint8_t)number_bits;
    shape->tag_width =
        (uint8_t)(number_bits + counter_bits > FEWEST_TAG_BITS ? number_bits + counter_bits : FEWEST_TAG_BITS);
}

/*
 * For how many prefixes a segment is made.
 *
 * It begins as half of one that was cut, and is cut itself when it has twice as many: as many as the target in the
 * first segment, and twice as many in the last one, since they are cut in turn. In between it is made anew in steps of
 * a cube root of 2 that end there. Segments are at different steps at any time, so neither memory nor time has a jump.
 * In WebAssembly, where making a segment takes twice as long, there are two steps instead of three.
 *
 *     steps    placements for each prefix that is added    room, on average over time    bits a key (1,000 to 2^20, 1 %)
 *     2        1 + 1.41                      = 2.4         1.20 of what it holds         22.5
 *     3        1 + 1.26 + 1.59               = 3.9         1.12                          21.3
 *     4        1 + 1.19 + 1.41 + 1.68        = 5.3         1.09                          20.7
 *
 * A segment that would soon be full again gets the next step at once, and one with more prefixes than expected a little
 * more room than it needs.
 */
#define STEP_DOWN   (SHORT_CODE ? 46341 : 52016) /* 2^-1/2 in WebAssembly, 2^-1/3 elsewhere, times 2^16 */
#define FEWEST_MORE 16                           /* at least a sixteenth more than there are */

static uint64_t expected_in(const struct prefix_table *table, uint64_t start, uint64_t count)
{
    uint64_t least = count + count / FEWEST_MORE + 1;
    uint64_t room = table->target + ((uint64_t)table->target * (start >> 32) >> 32);
    if (room < least)
        return least + count / FEWEST_MORE;
    for (uint64_t smaller; (smaller = room * STEP_DOWN >> 16) >= least;)
        room = smaller;
    return room;
}

/*
 * The length in use once the table has a quarter more: until then a segment that is made now will hardly be made again.
 * Nothing is expected beyond the first length: its room may be the capacity that somebody named, and then most filters
 * never need another.
 */
void expect_lengths(struct prefix_table *table, const struct budget *budget, unsigned length)
{
    const uint64_t *capacity = budget->capacity, more = table->count / 4;
    uint64_t room = 0;
    table->coming = 0;
    for (; length > budget->first && length <= MOST_LENGTH && table->coming == 0; length++) {
        room += capacity[length] > table->counts[length] ? capacity[length] - table->counts[length] : 0;
        if (room >= more || length == MOST_LENGTH)
            table->coming = (uint8_t)length;
    }
}

node new_segment(struct prefix_table *table, uint64_t start, unsigned depth, const struct prefix_run *run, uint128 sum)
{
    uint64_t expected = table->count < table->expected ? table->expected : 0;
    uint64_t most = 2 * (uint64_t)table->target; /* then it is cut */
    uint64_t here = expected >> depth < most ? expected >> depth : most;
    uint64_t ends = ends_of(run->prefixes, run->listed, run->count);
    uint64_t all_ends = ends | ends_of(run->prefixes, 0, run->listed);
    unsigned longest = all_ends ? prefix_length(all_ends) : 0;
    longest = longest > table->coming ? longest : table->coming;
    struct segment_shape shape = {
        .start = start,
        .depth = (uint8_t)depth,
        .longest = (uint8_t)(longest > depth ? longest : depth),
        .shortest = (uint8_t)(ends ? 63 - highest_bit(ends) : 63),
        .expected = table->dense ? 0 : expected_in(table, start, here > run->count ? here : run->count),
        .dense = table->dense};
    if (table->tagged)
        shape_for_tags(&shape, run, expected);
    struct segment *segment = segment_new(shape, run, &table->allocator);
    if (!segment)
        return 0;
    segment->sum = sum;
    table->bytes += segment_bytes(segment);
    return (node)segment;
}

/* Those that have hashes in a range, of prefixes in order that begin or end where the last range did: from *first on. */
static struct prefix_run part_of(const struct prefix_run *run, uint64_t *first, uint64_t start, uint64_t end)
{
    while (*first < run->count && last_covered(run->prefixes[*first]) < start)
        ++*first;
    uint64_t next = *first;
    while (next < run->count && first_covered(run->prefixes[next]) <= end)
        next++;
    if (next == *first)
        return (struct prefix_run){0};
    return (struct prefix_run){run->prefixes + *first, run->tags ? run->tags + *first : NULL, next - *first, 0};
}

bool fill_directory(struct prefix_table *table, struct directory *directory, uint64_t start,
                    const struct prefix_run *run)
{
    uint64_t first = 0;
    for (uint64_t i = 0; i < segments_of(directory); i++) {
        unsigned depth = depth_of_child(directory, i);
        struct prefix_run part = part_of(run, &first, start, range_end(start, depth));
        node *place = child_at(directory, i);
        *place =
            new_child(table, start, depth, &part, table->tagged ? 0 : sum_of(table, start, part.prefixes, part.count));
        if (!*place)
            return false;
        if (!is_nested(*place))
            directory->count += part.count;
        start = range_end(start, depth) + 1;
    }
    return true;
}

static node new_nested(struct prefix_table *table, uint64_t start, unsigned depth, const struct prefix_run *run)
{
    struct directory *directory = new_directory(table, depth, run->count / table->target);
    if (!directory)
        return 0;
    if (fill_directory(table, directory, start, run))
        return (node)directory | 1;
    free_directory(table, directory);
    return 0;
}

node new_child(struct prefix_table *table, uint64_t start, unsigned depth, const struct prefix_run *run, uint128 sum)
{
    bool nests = !table->tagged && run->count > (uint64_t)MOST_IN_SEGMENT * table->target && depth + 1 < MOST_LENGTH;
    return nests ? new_nested(table, start, depth, run) : new_segment(table, start, depth, run, sum);
}

/* Slots never need more bits than these to choose bucket and offset. */
#define MOST_PLACE_BITS 16

/* Those that may be short in a segment come first: then nobody looks for them among the others. Returns how many. */
static uint64_t put_shorts_first(uint64_t *prefixes, uint64_t count, unsigned depth)
{
    uint64_t shorts = 0, shifted = depth + MOST_PLACE_BITS;
    for (uint64_t i = 0; i < count && shifted < 64; i++)
        if (__builtin_expect(prefixes[i] << shifted == 0, 0)) {
            uint64_t prefix = prefixes[i];
            prefixes[i] = prefixes[shorts];
            prefixes[shorts++] = prefix;
        }
    return shorts;
}

node new_sorted_child(struct prefix_table *table, uint64_t start, unsigned depth, uint64_t *prefixes, uint64_t count,
                      uint128 sum)
{
    struct prefix_run run = {prefixes, NULL, count, 0};
    if (count <= (uint64_t)MOST_IN_SEGMENT * table->target) /* otherwise it may become a directory */
        run.listed = put_shorts_first(prefixes, count, depth);
    return new_child(table, start, depth, &run, sum);
}

/* ---- growing ----------------------------------------------------------------------------------------------------- */

void advance_split(struct prefix_table *table, struct directory *directory)
{
    if (++directory->split < UINT64_C(1) << directory->depth)
        return;
    table->bytes -= places_bytes(directory->depth);
    memory_release(&table->allocator, directory->upper);
    directory->upper = directory->lower;
    directory->lower = NULL;
    directory->split = 0;
    directory->depth++;
}

/* Parts some prefixes in two: the half of the range in which they have something. Those of the upper half stay in the
   run; what spans both is in both. */
static ALWAYS_INLINE void part_some(struct prefix_run *run, struct prefix_run *lower, uint64_t from, uint64_t to,
                                    uint64_t bit)
{
    uint64_t low = lower->count, high = run->count;
    for (uint64_t i = from; i < to; i++) {
        uint64_t prefix = run->prefixes[i];
        bool spans = (prefix & (bit - 1)) == 0, above = (prefix & bit) != 0;
        lower->prefixes[low] = prefix;
        run->prefixes[high] = prefix;
        if (run->tags) // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): both have tags, or neither
            run->tags[high] = lower->tags[low] = run->tags[i];
        low += spans | !above;
        high += spans | above;
    }
    lower->count = low;
    run->count = high;
}

static void part_halves(struct prefix_run *run, struct prefix_run *lower, unsigned depth)
{
    const uint64_t bit = UINT64_C(1) << (64 - depth), count = run->count, listed = run->listed;
    run->count = lower->count = 0;
    part_some(run, lower, 0, listed, bit);
    run->listed = run->count;
    lower->listed = lower->count;
    part_some(run, lower, listed, count, bit);
}

/* Two segments for the halves of the range of this one. */
static bool cut_segment(struct prefix_table *table, const struct segment *segment, node *halves)
{
    uint64_t room = segment_room(segment), start = segment->start;
    unsigned depth = segment->depth + 1u;
    struct prefix_run upper, lower;
    if (!allocate_run(table, &upper, 2 * room))
        return false;
    lower = (struct prefix_run){upper.prefixes + room, upper.tags ? upper.tags + room : NULL, 0, 0};
    segment_gather(segment, &upper);
    part_halves(&upper, &lower, depth);
    uint128 sum = table->tagged ? 0 : sum_of(table, start, lower.prefixes, lower.count);
    halves[0] = new_segment(table, start, depth, &lower, sum);
    start |= UINT64_C(1) << (64 - depth);
    halves[1] = new_segment(table, start, depth, &upper, segment->sum - sum);
    memory_release(&table->allocator, upper.prefixes);
    bool fits = halves[0] && halves[1] && table->bytes - segment_bytes(segment) <= table->most_bytes;
    if (fits && (!table->tagged || table->take_crowd(table, segment, halves, 2)))
        return true;
    free_segment(table, segment_of(halves[0]));
    free_segment(table, segment_of(halves[1]));
    return false;
}

/* Cuts the next segment in two, if there is memory: it is never necessary. */
static void cut_next(struct prefix_table *table, struct directory *directory)
{
    const uint64_t index = directory->split;
    if (!directory->lower) {
        directory->lower = memory_allocate(&table->allocator, places_bytes(directory->depth + 1u));
        if (!directory->lower)
            return;
        table->bytes += places_bytes(directory->depth + 1u);
    }
    node old = directory->upper[index], *halves = &directory->lower[2 * index];
    if (is_nested(old)) {
        halves[0] = halves[1] = old;
    } else {
        struct segment *segment = segment_of(old);
        if (!cut_segment(table, segment, halves))
            return;
        directory->count +=
            (uint64_t)segment_of(halves[0])->prefixes + segment_of(halves[1])->prefixes - segment->prefixes;
        free_segment(table, segment);
    }
    directory->upper[index] = 0;
    advance_split(table, directory);
}

/* Whether the next segment may be cut: its halves together are seldom much larger. */
static bool has_memory_to_cut(const struct prefix_table *table, const struct directory *directory)
{
    node next = directory->upper[directory->split];
    uint64_t more = (directory->lower ? 0 : places_bytes(directory->depth + 1u)) +
                    (is_nested(next) ? 0 : segment_bytes(segment_of(next)));
    return table->bytes + more <= table->most_bytes;
}

bool cut_directory(struct prefix_table *table, struct directory *directory)
{
    uint64_t before = segments_of(directory);
    if (directory->base + directory->depth + 1 < MOST_LENGTH && has_memory_to_cut(table, directory))
        cut_next(table, directory);
    return segments_of(directory) > before;
}

void grow_directory(struct prefix_table *table, struct directory *directory)
{
    if (directory->count > segments_of(directory) * table->target)
        (void)cut_directory(table, directory);
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

/* The prefixes of a segment in order; NULL without memory. To be released. */
static uint64_t *list_of(const struct prefix_table *table, const struct segment *segment, uint64_t *count)
{
    uint64_t room = segment_room(segment);
    uint64_t *prefixes = memory_allocate(&table->allocator, 3 * room * sizeof *prefixes);
    if (prefixes)
        *count = segment_list(segment, prefixes, prefixes + room);
    return prefixes;
}

static uint64_t check_directory(const struct prefix_table *table, const struct directory *directory, bool *sound)
{
    uint64_t bytes = directory_bytes(directory), count = 0;
    node last = 0;
    for (uint64_t i = 0; i < segments_of(directory); i++) {
        node child = *child_at(directory, i);
        if (child && is_nested(child)) {
            *sound &= nested_of(child)->base <= depth_of_child(directory, i);
            bytes += child == last ? 0 : check_directory(table, nested_of(child), sound);
            last = child;
            continue;
        }
        const struct segment *segment = segment_of(child);
        if (!segment || segment->depth != depth_of_child(directory, i) || !segment_check(segment)) {
            *sound = false;
            return bytes;
        }
        uint64_t listed = segment->prefixes;
        uint64_t *prefixes = list_of(table, segment, &listed);
        *sound &= listed == segment->prefixes;
        *sound &= !prefixes || table->tagged || sum_of(table, segment->start, prefixes, listed) == segment->sum;
        for (uint64_t j = 1; prefixes && j < listed && !table->tagged; j++)
            *sound &= last_covered(prefixes[j - 1]) < first_covered(prefixes[j]);
        memory_release(&table->allocator, prefixes);
        bytes += segment_bytes(segment);
        count += listed;
    }
    *sound &= count == directory->count;
    return bytes;
}

bool directory_is_sound(const struct prefix_table *table)
{
    bool sound = true;
    return !table->root || (check_directory(table, table->root, &sound) == table->bytes && sound);
}
