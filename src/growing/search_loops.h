/*
 * Look-ups and additions, shared by all kernels. A kernel defines
 *
 *     static inline bool buckets_match(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot);
 *     static inline bool buckets_cover(the same, uint64_t mark);
 *     static inline struct two_buckets look_at(the same);
 *     static inline uint32_t used_of(const uint8_t *bucket, unsigned width);
 *     static inline uint32_t ways_out(const struct segment *segment, uint32_t bucket, uint32_t ways[SLOTS]);
 *     static void locate_all(const struct segment *segment, uint64_t *places, const uint64_t *prefixes, size_t count);
 *     static inline bool begin_four(struct row *row, const roost_hash *hashes, size_t first);      with BEGINS_FOUR
 *
 * and gets `contains_one`, `contains_batch`, `uncovered`, `put_batch` and `find_move`. In a batch each key waits for memory three
 * times: for the directory, the segment's header and the buckets. So each step is done for a row of keys, and asks for
 * the memory that the next one needs. A row whose segments have no spilled prefixes, as nearly all do, takes a last
 * step without branches.
 */
#ifndef GROWING_SEARCH_LOOPS_H
#define GROWING_SEARCH_LOOPS_H

#include "search_row.h"
#include "segment.h"
#include "../base/hash.h"

static ALWAYS_INLINE bool begin_search(struct row *row, size_t i, uint64_t hash)
{
    const struct segment *segment = row->segments[i];
    struct slot_place place = slot_place_of(segment, hash);
    row->homes[i] = slots_of(segment, place.home);
    row->others[i] = slots_of(segment, place.other);
    row->home_buckets[i] = place.home;
    row->other_buckets[i] = place.other;
    row->slots[i] = place.slot;
    row->widths[i] = segment->slots.width;
    return segment->spill_count == 0;
}

static ALWAYS_INLINE bool end_search(const struct row *row, size_t i)
{
    return buckets_match((unsigned)row->widths[i], row->homes[i], row->others[i], row->slots[i]);
}

/* Also where some prefixes found no slot: those are looked for last. */
static ALWAYS_INLINE bool end_any_search(const struct row *row, size_t i, uint64_t hash)
{
    const struct segment *segment = row->segments[i];
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

/*
 * Prefixes. What covers one covers its hashes and does not end later, so it is looked up like a hash, with its mark;
 * a mark that is beyond the slots is 0, since all slots end before it. A prefix that is short in its segment has no
 * place there.
 */
static ALWAYS_INLINE uint64_t mark_in_slot(const struct segment *segment, uint64_t prefix)
{
    return end_mark(prefix) << segment->depth << segment->place_bits >> (64 - rest_bits_of(segment));
}

static ALWAYS_INLINE bool is_covered(const struct segment *segment, uint64_t prefix, uint64_t place)
{
    const uint8_t *home = slots_of(segment, place & 0xffff), *other = slots_of(segment, place >> 16 & 0xffff);
    return buckets_cover(segment->slots.width, home, other, place >> 32, mark_in_slot(segment, prefix));
}

static uint64_t uncovered_slowly(const struct segment *segment, uint64_t *prefixes, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++)
        if (!segment_covers(segment, prefixes[i]))
            prefixes[kept++] = prefixes[i];
    return kept;
}

static uint64_t uncovered(const struct segment *segment, uint64_t *prefixes, uint64_t count)
{
    uint64_t places[ROW], kept = 0;
    if (segment->slots.width > 32 || segment->spill_count)
        return uncovered_slowly(segment, prefixes, count);
    for (uint64_t done = 0, some; done < count; done += some) {
        some = count - done < ROW ? count - done : ROW;
        locate_all(segment, places, prefixes + done, some);
        for (uint64_t i = 0; i < some; i++) {
            const uint64_t prefix = prefixes[done + i];
            bool is_short = prefix << segment->depth << segment->place_bits == 0;
            prefixes[kept] = prefix;
            kept += !(__builtin_expect(is_short, 0) ? segment_covers(segment, prefix)
                                                    : is_covered(segment, prefix, places[i]));
        }
    }
    return kept;
}

/*
 * Additions. The buckets of a row are on their way when the first key is looked at; then one key after the other is
 * looked up and put, so that each sees what came before it. A key whose segment has to grow ends the batch, since the
 * segment of others may be the same.
 */
static ALWAYS_INLINE bool begin_additions(const struct directory *root, struct row *row, const roost_hash *hashes,
                                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        node child = *place_of(root, hashes[i].high);
        if (__builtin_expect(is_nested(child), 0))
            return false;
        row->segments[i] = segment_of(child);
        __builtin_prefetch(&row->segments[i]->sum, 1);
        __builtin_prefetch(&row->segments[i]->place_mask);
    }
    (void)begin_row(row, hashes, count);
    return true;
}

/* The slot of the prefix of a hash, from that of the hash. */
static ALWAYS_INLINE uint64_t cut_slot(const struct segment *segment, uint64_t slot, unsigned length)
{
    uint64_t mark = UINT64_C(1) << (segment->depth + segment->place_bits + rest_bits_of(segment) - 1 - length);
    return (slot & ~(2 * mark - 1)) | mark;
}

static ALWAYS_INLINE uint64_t choose(uint64_t first, uint64_t second, bool takes_second)
{
    return first ^ ((first ^ second) & ((uint64_t)0 - takes_second));
}

/* Into the emptier of two buckets, by masks: which one it is, no branch could tell in advance. Buckets are filled from
   the first slot on, so masks are in the order of how full they are, but for buckets that lost some. */
static ALWAYS_INLINE bool put_in_row(const struct row *row, size_t i, struct two_buckets buckets,
                                     struct prefix_entry entry, bool tagged)
{
    struct segment *segment = row->segments[i];
    bool moves = buckets.used_other < buckets.used_home;
    uint32_t used = (uint32_t)choose(buckets.used_home, buckets.used_other, moves);
    if (__builtin_expect(used == FULL_BUCKET, 0))
        return segment_put(segment, entry);
    uint8_t *bucket = (uint8_t *)(uintptr_t)choose((uintptr_t)row->homes[i], (uintptr_t)row->others[i], moves);
    uint64_t flag = (uint64_t)moves << (row->widths[i] - 1);
    packed_set(bucket, (unsigned)row->widths[i], lowest_bit(~used),
               cut_slot(segment, row->slots[i], prefix_length(entry.prefix)) | flag);
    if (tagged) {
        uint32_t number = (uint32_t)choose(row->home_buckets[i], row->other_buckets[i], moves);
        packed_set(bucket_in(segment, segment->tags, number), segment->tags.width, lowest_bit(~used),
                   pack_tag(entry.tag, segment->number_bits));
    }
    segment->used++;
    segment->prefixes++;
    return true;
}

/* Whether a segment takes it as it is, has nothing beside its slots, and is no other table's. */
static ALWAYS_INLINE bool takes_as_it_is(const struct segment *segment, struct prefix_entry entry, bool tagged)
{
    return segment->spill_count == 0 && !segment_is_shared(segment) &&
           segment_takes(segment, prefix_length(entry.prefix)) && (!tagged || segment_takes_tag(segment, entry.tag));
}

static ALWAYS_INLINE size_t put_row(const struct directory *root, struct put_many *put, bool *added,
                                    const roost_hash *hashes, size_t count, bool tagged)
{
    struct row row;
    if (!begin_additions(root, &row, hashes, count))
        return 0;
    for (size_t i = 0; i < count && tagged; i++) {
        const struct segment *segment = row.segments[i];
        __builtin_prefetch(bucket_in(segment, segment->tags, (uint32_t)row.home_buckets[i]));
        __builtin_prefetch(bucket_in(segment, segment->tags, (uint32_t)row.other_buckets[i]));
    }
    for (size_t i = 0; i < count; i++) {
        struct two_buckets buckets = look_at((unsigned)row.widths[i], row.homes[i], row.others[i], row.slots[i]);
        added[i] = !buckets.match;
        if (buckets.match) {
            if (tagged)
                return i;
            continue;
        }
        struct prefix_entry entry = {prefix_of(hashes[i].high, put->length), put->tag};
        if (tagged && put->entries)
            entry = put->entries[put->count];
        if (!takes_as_it_is(row.segments[i], entry, tagged) || !put_in_row(&row, i, buckets, entry, tagged))
            return i;
        put->count++;
        if (tagged) {
            put->tag++;
        } else {
            uint128 hash = hash_number(put->seed, entry.prefix);
            row.segments[i]->sum += hash;
            put->sum += hash;
        }
    }
    return count;
}

static ALWAYS_INLINE size_t put_rows(const struct directory *root, struct put_many *put, bool *added,
                                     const roost_hash *hashes, size_t count, bool tagged)
{
    size_t done = 0, some = ROW;
    if (count == 1) /* as most calls have it: without loops */
        return put_row(root, put, added, hashes, 1, tagged);
    for (; count - done >= ROW && some == ROW; done += some)
        some = put_row(root, put, added + done, hashes + done, ROW, tagged);
    if (some == ROW && done < count)
        done += put_row(root, put, added + done, hashes + done, count - done, tagged);
    return done;
}

static size_t put_batch(const struct directory *root, struct put_many *put, bool *added, const roost_hash *hashes,
                        size_t count)
{
    return put->tagged ? put_rows(root, put, added, hashes, count, true)
                       : put_rows(root, put, added, hashes, count, false);
}

/* All buckets that are asked are on their way before the first is looked at. */
static bool find_move(const struct segment *segment, uint32_t bucket, unsigned *asked, struct slot_move *move)
{
    const uint8_t *buckets[SLOTS];
    uint32_t ways[SLOTS], movable = ways_out(segment, bucket, ways);
    for (unsigned i = 0; i < SLOTS; i++) {
        buckets[i] = slots_of(segment, ways[i]);
        __builtin_prefetch(buckets[i]);
    }
    for (; movable; movable &= movable - 1) {
        unsigned i = lowest_bit(movable);
        uint32_t used = used_of(buckets[i], segment->slots.width);
        ++*asked;
        if (used == FULL_BUCKET)
            continue;
        *move = (struct slot_move){{bucket, i}, {ways[i], lowest_bit(~used)}};
        return true;
    }
    return false;
}

static bool contains_one(const struct directory *root, uint64_t hash)
{
    const struct segment *segment = find_segment(root, hash);
    struct slot_place place = slot_place_of(segment, hash);
    return buckets_match(segment->slots.width, slots_of(segment, place.home), slots_of(segment, place.other),
                         place.slot) ||
           (__builtin_expect(segment->spill_count != 0, 0) && spill_contains(segment, hash));
}

#endif
