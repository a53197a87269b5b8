/*
 * The table of a filter that grows: segments in the order of hashes, and a directory that finds them.
 *
 *     directory    upper   | A | B | C | D |                  a segment for each of the first 2^depth ranges of hashes
 *                  lower   |A0|A1|B0|B1|                      of those before `split`, which are cut in two by now
 *
 * Linear hashing, by the first bits instead of the last ones: as prefixes come, one segment after the other is cut in
 * two, from the lowest hashes to the highest, such that there is always one segment for every so many prefixes; then
 * `lower` becomes `upper`, and the next round begins. So nothing ever stops: an addition cuts or rebuilds one segment,
 * and the directory is never copied. The number of segments depends on that of the prefixes alone.
 *
 * A segment is rebuilt when an addition finds no slot in it, or when the prefix is longer than its slots. Rebuilding
 * makes another segment and then takes the place of the old one, so a failure leaves everything as it was.
 *
 * Hashes are uniform, unless keys were chosen by somebody who knows the seed. Where so many fall into one range that
 * its segment would become too large, it gets a directory of its own (`nested`), which grows with what it holds. Both
 * halves of such a range that is cut point to the same one.
 *
 * A prefix that is shorter than the depth of a segment spans several. Each of them lists it (segment.c), and the first
 * one counts it.
 */
#include "table.h"

#include <string.h>

#include "crowd.h"
#include "../base/hash.h"

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

static inline const struct segment *find(const struct prefix_table *table, uint64_t hash)
{
    return find_segment(table->root, hash);
}

bool table_contains(const struct prefix_table *table, uint64_t hash)
{
    return table->root && search_kernel_in_use()->contains(table->root, hash);
}

void table_contains_many(const struct prefix_table *table, bool *found, const roost_hash *hashes, size_t count)
{
    if (!table->root) {
        memset(found, 0, count * sizeof *found);
        return;
    }
    if (count == 1)
        *found = search_kernel_in_use()->contains(table->root, hashes->high);
    else
        search_kernel_in_use()->contains_many(table->root, found, hashes, count);
}

bool table_covers(const struct prefix_table *table, uint64_t prefix)
{
    return table->root && segment_covers(find(table, first_covered(prefix)), prefix);
}

/* ---- directories ------------------------------------------------------------------------------------------------- */

static uint64_t places_bytes(unsigned depth)
{
    return sizeof(node) << depth;
}

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
    segment_free(segment, &table->allocator);
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
    run->prefixes = memory_allocate(&table->allocator, (table->tagged ? 2 : 1) * room * sizeof *run->prefixes);
    run->tags = table->tagged && run->prefixes ? run->prefixes + room : NULL;
    return run->prefixes != NULL;
}

/* As many bits as the tags need, and one more for counters, which go on; eight at least, since a block must not have
   more buckets than a byte can count. */
#define FEWEST_TAG_BITS 8

static void shape_for_tags(struct segment_shape *shape, const struct prefix_run *run, uint64_t expected)
{
    uint64_t all = expected <= UINT32_MAX ? expected : 0; /* counters are seldom larger than there are entries */
    for (uint64_t i = 0; i < run->count; i++)
        all |= run->tags[i];
    unsigned counter_bits = (uint32_t)all ? highest_bit((uint32_t)all) + 2 : 0;
    unsigned number_bits = all >> 32 ? highest_bit(all >> 32) + 1 : 0;
    counter_bits = counter_bits < 32 ? counter_bits : 32;
    shape->number_bits = (uint8_t)number_bits;
    shape->tag_width =
        (uint8_t)(number_bits + counter_bits > FEWEST_TAG_BITS ? number_bits + counter_bits : FEWEST_TAG_BITS);
}

node new_segment(struct prefix_table *table, uint64_t start, unsigned depth, const struct prefix_run *run, uint128 sum)
{
    uint64_t expected = table->count < table->expected ? table->expected : 0;
    uint64_t most = 2 * (uint64_t)table->target; /* then it is cut */
    uint64_t ends = ends_of(run->prefixes, run->listed, run->count);
    uint64_t all_ends = ends | ends_of(run->prefixes, 0, run->listed);
    unsigned longest = all_ends ? prefix_length(all_ends) : 0;
    longest = longest > table->coming ? longest : table->coming;
    struct segment_shape shape = {.start = start,
                                  .depth = (uint8_t)depth,
                                  .longest = (uint8_t)(longest > depth ? longest : depth),
                                  .shortest = (uint8_t)(ends ? 63 - highest_bit(ends) : 63),
                                  .expected = expected >> depth < most ? expected >> depth : most,
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

/* The prefixes of a segment in order; NULL without memory. To be released. */
static uint64_t *list_of(const struct prefix_table *table, const struct segment *segment, uint64_t *count)
{
    uint64_t room = segment_room(segment);
    uint64_t *prefixes = memory_allocate(&table->allocator, 3 * room * sizeof *prefixes);
    if (prefixes)
        *count = segment_list(segment, prefixes, prefixes + room);
    return prefixes;
}

/* After the next segment was cut: once all are, the next round begins. */
static void advance_split(struct prefix_table *table, struct directory *directory)
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
        if (run->tags)
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

void grow_directory(struct prefix_table *table, struct directory *directory)
{
    if (directory->count > segments_of(directory) * table->target &&
        directory->base + directory->depth + 1 < MOST_LENGTH && has_memory_to_cut(table, directory))
        cut_next(table, directory);
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

/* With the hash of the prefix. */
static inline void count_in(struct prefix_table *table, uint64_t prefix, uint128 hash)
{
    unsigned length = prefix_length(prefix);
    table->count++;
    table->counts[length]++;
    table->sum += hash;
    table->longest = length > table->longest ? (uint8_t)length : table->longest;
}

static void count_out(struct prefix_table *table, uint64_t prefix)
{
    table->count--;
    table->counts[prefix_length(prefix)]--;
    table->sum -= hash_number(table->seed, prefix);
}

static bool spill(struct prefix_table *table, struct segment *segment, uint64_t prefix)
{
    uint64_t bytes = segment_bytes(segment);
    bool done = segment_is_roomy(segment) && segment_most(segment) < (uint64_t)MOST_IN_SEGMENT * table->target &&
                segment_spill(segment, (struct prefix_entry){prefix, 0}, &table->allocator);
    table->bytes += segment_bytes(segment) - bytes;
    return done;
}

/* Into the segment as it is. */
static bool put_in_place(struct prefix_table *table, struct directory *directory, struct segment *segment,
                         uint64_t prefix)
{
    uint64_t removed[2 * SLOTS];
    uint32_t count = 0;
    if (prefix_length(prefix) < table->longest) {
        if (segment->spill_count) /* some of these may be covered */
            return false;
        count = segment_remove_covered(segment, prefix, removed);
    }
    if (!segment_put(segment, (struct prefix_entry){prefix, 0}) && !spill(table, segment, prefix))
        return false; /* then nothing was removed, or there would be room */
    for (uint32_t i = 0; i < count; i++) {
        segment->sum -= hash_number(table->seed, removed[i]);
        count_out(table, removed[i]);
    }
    uint128 hash = hash_number(table->seed, prefix);
    segment->sum += hash;
    segment->copied_by = 0;
    directory->count += 1 - (uint64_t)count;
    count_in(table, prefix, hash);
    return true;
}

/*
 * Where a segment cannot take a prefix as it is, and where the prefix spans several segments, each gets a successor.
 * All of these are made before the first takes its place.
 */
struct successor {
    struct directory *directory;
    node *place, child;
};

struct replacement {
    struct successor *successors;
    uint64_t count, room;
    uint64_t gone, gone_of[MOST_LENGTH + 1]; /* prefixes that the new one covers, */
    uint128 gone_sum;                        /* and the sum of their hashes */
};

static void note_gone(const struct prefix_table *table, struct replacement *replacement, uint64_t prefix)
{
    replacement->gone++;
    replacement->gone_of[prefix_length(prefix)]++;
    replacement->gone_sum += hash_number(table->seed, prefix);
}

static struct successor *next_successor(struct prefix_table *table, struct replacement *replacement)
{
    if (replacement->count == replacement->room) {
        uint64_t room = replacement->room ? 2 * replacement->room : 1;
        struct successor *more = memory_allocate(&table->allocator, room * sizeof *more);
        if (!more)
            return NULL;
        if (replacement->count)
            memcpy(more, replacement->successors, replacement->count * sizeof *more);
        memory_release(&table->allocator, replacement->successors);
        replacement->successors = more;
        replacement->room = room;
    }
    return &replacement->successors[replacement->count];
}

/* The union of two lists in order, without what is covered. Returns how many there are. */
static uint64_t merge_lists(const struct prefix_table *table, struct replacement *replacement,
                            const struct segment *old, uint64_t *merged, const uint64_t *held, uint64_t held_count,
                            const uint64_t *prefixes, uint64_t count)
{
    uint64_t i = 0, j = 0, total = 0;
    while (i < held_count || j < count) {
        if (j < count && i < held_count && covers_prefix(prefixes[j], held[i])) {
            if (begins_here(old, held[i]))
                note_gone(table, replacement, held[i]);
            i++;
        } else if (j == count || (i < held_count && held[i] < prefixes[j]))
            merged[total++] = held[i++];
        else
            merged[total++] = prefixes[j++];
    }
    return total;
}

/* By a copy that gets the few that are new, if it takes them; it has noted nothing if it does not. */
static node extended_copy(struct prefix_table *table, struct replacement *replacement, const struct segment *old,
                          const uint64_t *prefixes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (!segment_takes(old, prefix_length(prefixes[i])) || !begins_here(old, prefixes[i]))
            return 0;
    if (old->spill_count || count > old->used / 4)
        return 0;
    struct segment *copy = segment_copy(old, &table->allocator);
    uint64_t removed[2 * SLOTS];
    const struct replacement before = *replacement;
    for (uint64_t i = 0; copy && i < count; i++) {
        bool may_cover = prefix_length(prefixes[i]) < table->longest;
        uint32_t gone = may_cover ? segment_remove_covered(copy, prefixes[i], removed) : 0;
        for (uint32_t j = 0; j < gone; j++) {
            note_gone(table, replacement, removed[j]);
            copy->sum -= hash_number(table->seed, removed[j]);
        }
        copy->sum += hash_number(table->seed, prefixes[i]);
        if (segment_put(copy, (struct prefix_entry){prefixes[i], 0}))
            continue;
        *replacement = before;
        segment_free(copy, &table->allocator);
        return 0;
    }
    if (copy)
        table->bytes += segment_bytes(copy);
    return (node)copy;
}

static node rebuilt(struct prefix_table *table, struct replacement *replacement, const struct segment *old,
                    const uint64_t *prefixes, uint64_t count)
{
    uint64_t room = segment_room(old);
    uint64_t *merged = memory_allocate(&table->allocator, (3 * room + count) * sizeof *merged);
    if (!merged)
        return 0;
    uint64_t *held = merged + count, listed = segment_list(old, held, held + room);
    listed = merge_lists(table, replacement, old, merged, held, listed, prefixes, count);
    node child = new_child(table, old->start, old->depth, &(struct prefix_run){merged, NULL, listed, 0},
                           sum_of(table, old->start, merged, listed));
    memory_release(&table->allocator, merged);
    return child;
}

/* The same for one prefix that begins here and covers nothing, without sorting: a segment that only has to grow. */
static node grown(struct prefix_table *table, const struct segment *old, uint64_t prefix)
{
    struct prefix_run run;
    if (segment_most(old) >= (uint64_t)MOST_IN_SEGMENT * table->target ||
        !allocate_run(table, &run, segment_room(old) + 1))
        return 0;
    segment_gather(old, &run);
    run.prefixes[run.count++] = prefix;
    node child = new_segment(table, old->start, old->depth, &run, old->sum + hash_number(table->seed, prefix));
    memory_release(&table->allocator, run.prefixes);
    return child;
}

/* Of the segment with this hash, for prefixes in order that have something there. */
static roost_status make_successor(struct prefix_table *table, struct replacement *replacement, uint64_t hash,
                                   const uint64_t *prefixes, uint64_t count)
{
    struct successor *successor = next_successor(table, replacement);
    if (!successor)
        return ROOST_NO_MEMORY;
    successor->directory = owner_of(table, hash);
    successor->place = place_of(successor->directory, hash);
    const struct segment *old = segment_of(*successor->place);
    bool grows = count == 1 && prefix_length(*prefixes) >= table->longest && prefix_length(*prefixes) >= old->depth;
    successor->child = grows ? grown(table, old, *prefixes) : extended_copy(table, replacement, old, prefixes, count);
    if (!successor->child)
        successor->child = rebuilt(table, replacement, old, prefixes, count);
    if (!successor->child)
        return ROOST_NO_MEMORY;
    replacement->count++;
    return table->bytes > table->most_bytes ? ROOST_TOO_LARGE : ROOST_OK;
}

static void free_child(struct prefix_table *table, node child)
{
    if (is_nested(child))
        free_directory(table, nested_of(child));
    else
        free_segment(table, segment_of(child));
}

static void take_places(struct prefix_table *table, const struct replacement *replacement)
{
    for (uint64_t i = 0; i < replacement->count; i++) {
        const struct successor *successor = &replacement->successors[i];
        successor->directory->count += is_nested(successor->child) ? 0 : segment_of(successor->child)->prefixes;
        successor->directory->count -= segment_of(*successor->place)->prefixes;
        free_segment(table, segment_of(*successor->place));
        *successor->place = successor->child;
    }
    table->count -= replacement->gone;
    for (unsigned length = 0; length <= MOST_LENGTH; length++)
        table->counts[length] -= replacement->gone_of[length];
    table->sum -= replacement->gone_sum;
}

/* How many of the prefixes, from the first on, have something in the range that ends here. */
static uint64_t count_until(const uint64_t *prefixes, uint64_t count, uint64_t end)
{
    uint64_t some = 0;
    while (some < count && first_covered(prefixes[some]) <= end)
        some++;
    return some;
}

/* A successor for every segment in which one of the prefixes has something. */
static roost_status make_successors(struct prefix_table *table, struct replacement *replacement,
                                    const uint64_t *prefixes, uint64_t count)
{
    roost_status status = ROOST_OK;
    uint64_t hash = 0;
    for (uint64_t done = 0; done < count && status == ROOST_OK;) {
        hash = first_covered(prefixes[done]) > hash ? first_covered(prefixes[done]) : hash;
        const struct segment *segment = find(table, hash);
        uint64_t end = range_end(segment->start, segment->depth);
        uint64_t some = count_until(prefixes + done, count - done, end);
        status = make_successor(table, replacement, hash, prefixes + done, some);
        done += some;
        if (last_covered(prefixes[done - 1]) > end)
            done--; /* it goes on in the next segment */
        hash = end + 1;
    }
    return status;
}

static roost_status add_by_replacement(struct prefix_table *table, const uint64_t *prefixes, uint64_t count)
{
    struct replacement replacement = {0};
    roost_status status = make_successors(table, &replacement, prefixes, count);
    if (status == ROOST_OK) {
        take_places(table, &replacement);
        for (uint64_t i = 0; i < count; i++)
            count_in(table, prefixes[i], hash_number(table->seed, prefixes[i]));
    } else
        for (uint64_t i = 0; i < replacement.count; i++)
            free_child(table, replacement.successors[i].child);
    memory_release(&table->allocator, replacement.successors);
    return status;
}

roost_status table_begin(struct prefix_table *table, uint64_t segments)
{
    struct directory *root = new_directory(table, 0, segments);
    uint64_t none = 0; /* not even 0 may be added to a null pointer */
    if (!root)
        return ROOST_NO_MEMORY;
    if (fill_directory(table, root, 0, &(struct prefix_run){.prefixes = &none})) {
        table->root = root;
        return ROOST_OK;
    }
    free_directory(table, root);
    return ROOST_NO_MEMORY;
}

roost_status table_add(struct prefix_table *table, uint64_t prefix)
{
    roost_status status = table->root ? ROOST_OK : table_begin(table, 1);
    if (status != ROOST_OK)
        return status;
    struct directory *directory = owner_of(table, first_covered(prefix));
    struct segment *segment = segment_of(*place_of(directory, first_covered(prefix)));
    if (!segment_takes(segment, prefix_length(prefix)) || !put_in_place(table, directory, segment, prefix))
        status = add_by_replacement(table, &prefix, 1);
    if (status == ROOST_OK)
        grow_directory(table, directory);
    return status;
}

static inline void count_length(struct prefix_table *table, unsigned length, uint64_t count)
{
    table->counts[length] += count;
    table->longest = length > table->longest ? (uint8_t)length : table->longest;
}

/* Until one segment has to be cut. */
size_t put_in_slots(struct prefix_table *table, struct put_many *put, bool *added, const roost_hash *hashes,
                    size_t count)
{
    struct directory *root = table->root;
    uint64_t most = root ? segments_of(root) * table->target : 0;
    if (!root || root->count > most)
        return 0;
    count = count <= most - root->count ? count : most - root->count + 1;
    put->tagged = table->tagged;
    size_t done = search_kernel_in_use()->put_many(root, put, added, hashes, count);
    table->count += put->count;
    for (uint64_t i = 0; i < put->count && put->entries; i++)
        count_length(table, prefix_length(put->entries[i].prefix), 1);
    if (put->count && !put->entries)
        count_length(table, put->length, put->count);
    root->count += put->count;
    if (put->count)
        grow_directory(table, root);
    return done;
}

/* Shorter prefixes than there are may cover some of these. */
size_t table_add_many(struct prefix_table *table, bool *added, const roost_hash *hashes, size_t count, unsigned length)
{
    struct put_many put = {.seed = table->seed, .length = length};
    size_t done = length < table->longest ? 0 : put_in_slots(table, &put, added, hashes, count);
    table->sum += put.sum;
    return done;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

void table_init(struct prefix_table *table, uint64_t seed, const roost_environment *environment)
{
    *table = (struct prefix_table){.seed = seed,
                                   .most_bytes = environment->memory_limit,
                                   .target = SEGMENT_TARGET,
                                   .allocator = environment->allocator};
}

void table_release(struct prefix_table *table)
{
    if (table->root)
        free_directory(table, table->root);
    crowd_free(&table->crowd, &table->allocator);
    *table = (struct prefix_table){.seed = table->seed,
                                   .most_bytes = table->most_bytes,
                                   .copy_job = table->copy_job,
                                   .target = table->target,
                                   .tagged = table->tagged,
                                   .take_crowd = table->take_crowd,
                                   .allocator = table->allocator};
}

static node copy_child(struct prefix_table *copy, node original);

static struct directory *copy_directory(struct prefix_table *copy, const struct directory *directory)
{
    struct directory *twin = new_directory(copy, directory->base, segments_of(directory));
    node last = 0, last_copy = 0;
    if (!twin)
        return NULL;
    twin->count = directory->count;
    for (uint64_t i = 0; i < segments_of(directory); i++) {
        node original = *child_at(directory, i);
        last_copy = original == last ? last_copy : copy_child(copy, original);
        last = original;
        *child_at(twin, i) = last_copy;
        if (last_copy)
            continue;
        free_directory(copy, twin);
        return NULL;
    }
    return twin;
}

static node copy_child(struct prefix_table *copy, node original)
{
    if (is_nested(original)) {
        struct directory *nested = copy_directory(copy, nested_of(original));
        return nested ? (node)nested | 1 : 0;
    }
    struct segment *segment = segment_copy(segment_of(original), &copy->allocator);
    if (segment) {
        copy->bytes += segment_bytes(segment);
        segment->crowd = segment_of(original)->crowd ? copy->crowd : NULL;
    }
    return (node)segment;
}

static void copy_counts(struct prefix_table *copy, const struct prefix_table *table)
{
    copy->count = table->count;
    copy->sum = table->sum;
    copy->longest = table->longest;
    memcpy(copy->counts, table->counts, sizeof copy->counts);
}

roost_status table_copy(struct prefix_table *copy, const struct prefix_table *table)
{
    if (!crowd_copy(&copy->crowd, table->crowd, &copy->allocator))
        return ROOST_NO_MEMORY;
    if (table->root) {
        copy->root = copy_directory(copy, table->root);
        if (!copy->root)
            return ROOST_NO_MEMORY;
    }
    copy_counts(copy, table);
    return ROOST_OK;
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

void walk_begin(struct table_walk *walk, const struct prefix_table *table, uint64_t from)
{
    *walk = (struct table_walk){.table = table, .next = from, .ended = !table->root};
}

void walk_end(struct table_walk *walk)
{
    memory_release(&walk->table->allocator, walk->prefixes);
    walk->prefixes = NULL;
}

static bool make_room(struct table_walk *walk, uint64_t room)
{
    if (walk->prefixes && room <= walk->room)
        return true;
    walk_end(walk);
    room += room / 4 + 1;
    walk->prefixes = memory_allocate(&walk->table->allocator, 3 * room * sizeof *walk->prefixes);
    walk->room = walk->prefixes ? room : 0;
    walk->scratch = walk->prefixes + walk->room;
    return walk->prefixes != NULL;
}

/* Without what began before the segment, which only short prefixes did. */
static uint64_t drop_earlier(const struct segment *segment, uint64_t *prefixes, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        prefixes[kept] = prefixes[i];
        kept += begins_here(segment, prefixes[i]);
    }
    return kept;
}

/* Whether another table has the same prefixes in the range of a segment: in one segment, or in several. */
static bool is_known(const struct prefix_table *known, const struct segment *segment)
{
    const uint64_t end = range_end(segment->start, segment->depth);
    uint128 sum = 0;
    for (uint64_t next = segment->start;;) {
        const struct segment *part = find(known, next);
        if (part->depth < segment->depth)
            return false;
        sum += part->sum;
        next = range_end(part->start, part->depth) + 1;
        if (next == end + 1)
            return sum == segment->sum;
    }
}

roost_status walk_next(struct table_walk *walk, bool *more)
{
    *more = !walk->ended;
    walk->count = 0;
    if (walk->ended)
        return ROOST_OK;
    const struct segment *segment = find(walk->table, walk->next);
    uint64_t end = range_end(segment->start, segment->depth);
    if (!walk->known || !walk->known->root || !is_known(walk->known, segment)) {
        if (!make_room(walk, segment_room(segment)))
            return ROOST_NO_MEMORY;
        uint64_t listed = segment_list(segment, walk->prefixes, walk->scratch);
        walk->count = segment->short_count ? drop_earlier(segment, walk->prefixes, listed) : listed;
    }
    walk->ended = end == UINT64_MAX;
    walk->next = end + 1;
    return ROOST_OK;
}

void cover_begin(struct cover_cursor *cursor, const struct prefix_table *table)
{
    *cursor = (struct cover_cursor){.at = 0};
    walk_begin(&cursor->walk, table, 0);
}

void cover_end(struct cover_cursor *cursor)
{
    walk_end(&cursor->walk);
}

static roost_status cover_segment(struct cover_cursor *cursor, uint64_t hash)
{
    const struct segment *segment = find(cursor->walk.table, hash);
    if (!make_room(&cursor->walk, segment_room(segment)))
        return ROOST_NO_MEMORY;
    cursor->walk.count = segment_list(segment, cursor->walk.prefixes, cursor->walk.scratch);
    cursor->end = range_end(segment->start, segment->depth);
    cursor->at = 0;
    return ROOST_OK;
}

/* Entries are disjoint, so only the first that does not end before the prefix can cover it. */
roost_status cover_next(struct cover_cursor *cursor, uint64_t prefix, bool *covered)
{
    const uint64_t hash = first_covered(prefix);
    *covered = false;
    if (!cursor->walk.table->root)
        return ROOST_OK;
    if (!cursor->walk.prefixes || hash > cursor->end) {
        roost_status status = cover_segment(cursor, hash);
        if (status != ROOST_OK)
            return status;
    }
    const uint64_t *held = cursor->walk.prefixes;
    while (cursor->at < cursor->walk.count && last_covered(held[cursor->at]) < hash)
        cursor->at++;
    *covered = cursor->at < cursor->walk.count && covers_prefix(held[cursor->at], prefix);
    return ROOST_OK;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* What comes next, for ranges one after the other. */
struct supply {
    next_prefix *next;
    void *context;
    uint64_t ahead; /* the next prefix, which is not of the present range; 0: there is none */
    struct prefix_run run;
    uint64_t room;
};

static bool supply_room(struct prefix_table *table, struct supply *supply)
{
    uint64_t room = supply->room ? 2 * supply->room : 256;
    uint64_t *prefixes = memory_allocate(&table->allocator, room * sizeof *prefixes);
    if (!prefixes)
        return false;
    if (supply->run.count)
        memcpy(prefixes, supply->run.prefixes, supply->run.count * sizeof *prefixes);
    memory_release(&table->allocator, supply->run.prefixes);
    supply->run.prefixes = prefixes;
    supply->room = room;
    return true;
}

static inline bool supply_add(struct prefix_table *table, struct supply *supply, uint64_t prefix)
{
    if (supply->run.count == supply->room && !supply_room(table, supply))
        return false;
    supply->run.prefixes[supply->run.count++] = prefix;
    return true;
}

/* The prefixes of the next range: those of the last one that go on, and what is new. */
static bool supply_range(struct prefix_table *table, struct supply *supply, uint64_t start, uint64_t end)
{
    uint64_t last = supply->run.count ? supply->run.prefixes[supply->run.count - 1] : 0;
    supply->run.count = 0;
    if (last && last_covered(last) >= start && !supply_add(table, supply, last))
        return false;
    for (; supply->ahead && first_covered(supply->ahead) <= end; supply->ahead = supply->next(supply->context)) {
        if (!supply_add(table, supply, supply->ahead))
            return false;
        count_in(table, supply->ahead, 0); /* the sum comes with that of the segment */
    }
    return true;
}

static roost_status build_root(struct prefix_table *table, struct supply *supply)
{
    uint64_t start = 0;
    struct directory *root = table->root;
    for (uint64_t i = 0; i < segments_of(root); i++) {
        unsigned depth = depth_of_child(root, i);
        uint64_t end = range_end(start, depth);
        if (!supply_range(table, supply, start, end))
            return ROOST_NO_MEMORY;
        const struct prefix_run *run = &supply->run;
        uint64_t last = run->count ? run->prefixes[run->count - 1] : 0;
        uint128 sum = sum_of(table, start, run->prefixes, run->count);
        node child = new_sorted_child(table, start, depth, run->prefixes, run->count, sum);
        *child_at(root, i) = child;
        if (!child)
            return ROOST_NO_MEMORY;
        if (last)
            run->prefixes[run->count - 1] = last; /* which the next range may begin with */
        table->sum += sum;
        if (!is_nested(child))
            root->count += run->count;
        if (table->bytes > table->most_bytes)
            return ROOST_TOO_LARGE;
        start = end + 1;
    }
    return ROOST_OK;
}

roost_status table_build(struct prefix_table *table, uint64_t count, next_prefix *next, void *context)
{
    struct supply supply = {.next = next, .context = context};
    table->root = new_directory(table, 0, count / table->target);
    if (!table->root)
        return ROOST_NO_MEMORY;
    supply.ahead = next(context);
    table->dense = true;
    roost_status status = build_root(table, &supply);
    table->dense = false;
    memory_release(&table->allocator, supply.run.prefixes);
    if (status != ROOST_OK)
        table_release(table);
    return status;
}

/* ---- many at once ------------------------------------------------------------------------------------------------ */

/* Two sources, both in order, as one: without what the other covers. */
struct merged_sources {
    next_prefix *next[2];
    void *context[2];
    uint64_t ahead[2];
};

static uint64_t next_merged(void *context)
{
    struct merged_sources *sources = context;
    for (;;) {
        uint64_t a = sources->ahead[0], b = sources->ahead[1];
        if (a && b && (covers_prefix(a, b) || covers_prefix(b, a))) {
            unsigned covered = covers_prefix(a, b);
            sources->ahead[covered] = sources->next[covered](sources->context[covered]);
            continue;
        }
        unsigned first = !a || (b && b < a);
        uint64_t prefix = sources->ahead[first];
        if (prefix)
            sources->ahead[first] = sources->next[first](sources->context[first]);
        return prefix;
    }
}

uint64_t next_of_list(void *context)
{
    struct prefix_list *list = context;
    return list->left ? list->left--, *list->prefixes++ : 0;
}

static bool next_segment(struct table_stream *stream)
{
    bool more = true;
    while (stream->at == stream->walk.count && more && stream->status == ROOST_OK) {
        stream->status = walk_next(&stream->walk, &more);
        stream->at = 0;
    }
    return stream->at < stream->walk.count;
}

uint64_t next_of_table(void *context)
{
    struct table_stream *stream = context;
    if (__builtin_expect(stream->at == stream->walk.count, 0) && !next_segment(stream))
        return 0;
    return stream->walk.prefixes[stream->at++];
}

/* Another table takes the place of this one. */
static roost_status rebuild_with(struct prefix_table *table, const uint64_t *prefixes, uint64_t count)
{
    struct prefix_table built = *table;
    struct table_stream stream = {.at = 0};
    struct prefix_list list = {prefixes, count};
    struct merged_sources sources = {{next_of_table, next_of_list}, {&stream, &list}, {0}};
    built.root = NULL;
    table_release(&built);
    walk_begin(&stream.walk, table, 0);
    sources.ahead[0] = next_of_table(&stream);
    sources.ahead[1] = next_of_list(&list);
    roost_status status = table_build(&built, table->count + count, next_merged, &sources);
    walk_end(&stream.walk);
    if (status == ROOST_OK && stream.status != ROOST_OK) {
        table_release(&built);
        status = stream.status;
    }
    if (status == ROOST_OK) {
        table_release(table);
        *table = built;
    }
    return status;
}

roost_status table_add_all(struct prefix_table *table, const uint64_t *prefixes, uint64_t count)
{
    if (count == 0)
        return ROOST_OK;
    if (count > table->count / 2)
        return rebuild_with(table, prefixes, count);
    roost_status status = add_by_replacement(table, prefixes, count);
    for (uint64_t before = 0; status == ROOST_OK && before != segments_of(table->root);) {
        before = segments_of(table->root);
        grow_directory(table, table->root);
    }
    return status;
}

/* ---- copies in slices --------------------------------------------------------------------------------------------
 *
 * The copy has the same directory, which is cut as that of the original is. A segment that was copied says so, until it
 * changes.
 */

static bool cut_like(struct prefix_table *copy, const struct directory *original)
{
    struct directory *root = copy->root;
    while (segments_of(root) < segments_of(original)) {
        node old = root->upper[root->split];
        if (!root->lower) {
            root->lower = memory_allocate(&copy->allocator, places_bytes(root->depth + 1u));
            if (!root->lower)
                return false;
            copy->bytes += places_bytes(root->depth + 1u);
        }
        if (is_nested(old))
            free_directory(copy, nested_of(old));
        else
            free_segment(copy, segment_of(old));
        root->upper[root->split] = 0;
        advance_split(copy, root);
    }
    return true;
}

static roost_status copy_segment(struct prefix_table *copy, node *place, struct segment *segment)
{
    if (segment->crowd && !crowd_open(&copy->crowd, &copy->allocator))
        return ROOST_NO_MEMORY;
    struct segment *twin = segment_copy(segment, &copy->allocator);
    if (!twin)
        return ROOST_NO_MEMORY;
    twin->crowd = segment->crowd ? copy->crowd : NULL;
    free_segment(copy, segment_of(*place));
    *place = (node)twin;
    copy->bytes += segment_bytes(twin);
    return copy->bytes > copy->most_bytes ? ROOST_TOO_LARGE : ROOST_OK;
}

roost_status table_copy_some(struct prefix_table *table, struct prefix_table *copy, uint64_t *effort, bool *clean)
{
    roost_status status = ROOST_OK;
    *clean = true;
    if (!table->root) {
        table_release(copy);
        return ROOST_OK;
    }
    if (copy->root && segments_of(copy->root) > segments_of(table->root)) { /* it was built anew */
        free_directory(copy, copy->root);
        copy->root = NULL;
    }
    if (!copy->root) {
        copy->root = new_directory(copy, 0, 1);
        copy->copy_job = ++table->copy_job;
    }
    if (!copy->root || !cut_like(copy, table->root))
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < segments_of(table->root) && status == ROOST_OK; i++) {
        node child = *child_at(table->root, i);
        if (is_nested(child) || segment_of(child)->copied_by == copy->copy_job)
            continue;
        uint64_t pages = segment_bytes(segment_of(child)) / 4096 + 1;
        *clean = *effort >= pages;
        if (!*clean)
            break;
        *effort -= pages;
        node *place = child_at(copy->root, i);
        if (is_nested(*place))
            return ROOST_CORRUPT;
        status = copy_segment(copy, place, segment_of(child));
        segment_of(child)->copied_by = copy->copy_job;
    }
    return status;
}

/* What is nested is rare and copied at the end. */
roost_status table_copy_rest(const struct prefix_table *table, struct prefix_table *copy)
{
    if (!table->root)
        return ROOST_OK;
    if (!crowd_copy(&copy->crowd, table->crowd, &copy->allocator))
        return ROOST_NO_MEMORY;
    node last = 0, last_copy = 0;
    for (uint64_t i = 0; i < segments_of(table->root); i++) {
        node child = *child_at(table->root, i), *place = child_at(copy->root, i);
        if (!is_nested(child))
            continue;
        free_segment(copy, segment_of(*place));
        *place = 0;
        last_copy = child == last ? last_copy : copy_child(copy, child);
        last = child;
        if (!last_copy)
            return ROOST_NO_MEMORY;
        *place = last_copy;
    }
    copy->root->count = table->root->count;
    copy_counts(copy, table);
    return ROOST_OK;
}

/* ---- defragmentation --------------------------------------------------------------------------------------------- */

static void move_segment(node *place, const struct memory_mover *mover)
{
    struct segment *segment = memory_moved(mover, segment_of(*place));
    for (unsigned i = 0; i < segment->block_count; i++)
        segment->blocks[i] = memory_moved(mover, segment->blocks[i]);
    segment->shorts = memory_moved(mover, segment->shorts);
    segment->spill = memory_moved(mover, segment->spill);
    *place = (node)segment;
}

bool table_move(struct prefix_table *table, const struct memory_mover *mover, uint64_t place)
{
    struct directory *root = table->root;
    if (!root)
        return false;
    if (place == 0) {
        crowd_move(table->crowd, mover);
        root = table->root = memory_moved(mover, root);
        root->upper = memory_moved(mover, root->upper);
        root->lower = memory_moved(mover, root->lower);
        return true;
    }
    if (place <= segments_of(root) && !is_nested(*child_at(root, place - 1)))
        move_segment(child_at(root, place - 1), mover);
    return place < segments_of(root);
}

static void count_slots(const struct directory *directory, uint64_t *used, uint64_t *slots)
{
    node last = 0;
    for (uint64_t i = 0; i < segments_of(directory); i++) {
        node child = *child_at(directory, i);
        if (!is_nested(child)) {
            *used += segment_of(child)->used;
            *slots += (uint64_t)segment_of(child)->buckets * SLOTS;
        } else if (child != last)
            count_slots(nested_of(child), used, slots);
        last = child;
    }
}

double table_load(const struct prefix_table *table)
{
    uint64_t used = 0, slots = 0;
    if (table->root)
        count_slots(table->root, &used, &slots);
    return slots ? (double)used / (double)slots : 0;
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

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

bool table_check(const struct prefix_table *table)
{
    bool sound = true, more = true;
    struct table_walk walk;
    uint64_t counts[MOST_LENGTH + 1] = {0}, count = 0;
    uint128 sum = 0;
    if (!directory_is_sound(table))
        return false;
    walk_begin(&walk, table, 0);
    roost_status status = ROOST_OK;
    while (sound && (status = walk_next(&walk, &more)) == ROOST_OK && more)
        for (uint64_t i = 0; i < walk.count; i++) {
            sum += hash_number(table->seed, walk.prefixes[i]);
            counts[prefix_length(walk.prefixes[i])]++;
            count++;
        }
    walk_end(&walk);
    if (status != ROOST_OK) /* no memory to look further */
        return sound;
    return sound && count == table->count && sum == table->sum && memcmp(counts, table->counts, sizeof counts) == 0;
}
