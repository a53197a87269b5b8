/*
 * Look-ups, shared by all kernels. A kernel says how wide the slots are that it compares, and defines
 *
 *     static inline bool buckets_match(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot);
 *     static inline bool begin_four(struct row *row, const roost_hash *hashes, size_t first);      with BEGINS_FOUR
 *
 * and gets `contains_one` and `contains_batch`. In a batch each key waits for memory three times: for the directory,
 * the segment's header and the buckets. So each step is done for a row of keys, and asks for the memory that the next
 * one needs. A row whose segments have neither wider slots nor spilled prefixes, as nearly all do, takes a last step
 * without branches.
 */
#ifndef GROWING_SEARCH_LOOPS_H
#define GROWING_SEARCH_LOOPS_H

#include "search_row.h"
#include "segment.h"

static ALWAYS_INLINE bool begin_search(struct row *row, size_t i, uint64_t hash)
{
    const struct segment *segment = row->segments[i];
    struct slot_place place = slot_place_of(segment, hash);
    row->homes[i] = slots_of(segment, place.home);
    row->others[i] = slots_of(segment, place.other);
    row->slots[i] = place.slot;
    row->widths[i] = segment->slots.width;
    return (segment->spill_count == 0) & (segment->slots.width <= QUICK_WIDTH);
}

static ALWAYS_INLINE bool end_search(const struct row *row, size_t i)
{
    return buckets_match((unsigned)row->widths[i], row->homes[i], row->others[i], row->slots[i]);
}

/* In any segment. */
static __attribute__((noinline)) bool contains_slowly(const struct segment *segment, uint64_t hash)
{
    return segment_contains(segment, hash);
}

/* Also where some prefixes found no slot: those are looked for last. */
static ALWAYS_INLINE bool end_any_search(const struct row *row, size_t i, uint64_t hash)
{
    const struct segment *segment = row->segments[i];
    if (segment->slots.width > QUICK_WIDTH)
        return contains_slowly(segment, hash);
    return end_search(row, i) || (segment->spill_count && spill_contains(segment, hash));
}

static ALWAYS_INLINE bool begin_row(struct row *row, const roost_hash *hashes, size_t count)
{
    bool quick = true;
    size_t i = 0;
#ifdef BEGINS_FOUR
    for (; i + 4 <= count; i += 4)
        quick &= begin_four(row, hashes + i, i);
#endif
    for (; i < count; i++) {
        quick &= begin_search(row, i, hashes[i].high);
        __builtin_prefetch(row->homes[i]);
        __builtin_prefetch(row->others[i]);
    }
    return quick;
}

static ALWAYS_INLINE void contains_row(const struct directory *root, bool *found, const roost_hash *hashes,
                                       size_t count)
{
    struct row row;
    for (size_t i = 0; i < count; i++) {
        row.segments[i] = find_segment(root, hashes[i].high);
        __builtin_prefetch(&row.segments[i]->spill_count);
    }
    if (__builtin_expect(begin_row(&row, hashes, count), 1))
        for (size_t i = 0; i < count; i++)
            found[i] = end_search(&row, i);
    else
        for (size_t i = 0; i < count; i++)
            found[i] = end_any_search(&row, i, hashes[i].high);
}

static void contains_batch(const struct directory *root, bool *found, const roost_hash *hashes, size_t count)
{
    size_t done = 0;
    for (; count - done >= ROW; done += ROW)
        contains_row(root, found + done, hashes + done, ROW);
    if (done < count)
        contains_row(root, found + done, hashes + done, count - done);
}

static bool contains_one(const struct directory *root, uint64_t hash)
{
    const struct segment *segment = find_segment(root, hash);
    if (__builtin_expect(segment->slots.width > QUICK_WIDTH, 0))
        return contains_slowly(segment, hash);
    struct slot_place place = slot_place_of(segment, hash);
    return buckets_match(segment->slots.width, slots_of(segment, place.home), slots_of(segment, place.other),
                         place.slot) ||
           (__builtin_expect(segment->spill_count != 0, 0) && spill_contains(segment, hash));
}

#endif
