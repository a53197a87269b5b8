/*
 * Look-ups and additions, shared by all kernels. A kernel defines
 *
 *     static inline bool buckets_match(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot);
 *     static inline bool buckets_cover(the same, uint64_t mark);
 *     static inline struct two_buckets look_at(the same);
 *     static inline uint32_t used_of(const uint8_t *bucket, unsigned width);
 *     static inline void find_ways(const struct segment *segment, uint32_t bucket, struct ways_out *ways);
 *     static void locate_all(const struct segment *segment, uint64_t *places, const uint64_t *prefixes, size_t count);
 *     static inline bool begin_four(struct row *row, const roost_hash *hashes, size_t first);      with BEGINS_FOUR
 *
 * and gets `contains_one`, `contains_batch`, `uncovered`, `put_batch` and `find_move`. In a batch each key waits for memory three
 * times: for the directory, the segment's header and the buckets. So each step is done for a row of keys, and asks for
 * the memory that the next one needs. A row whose segments have no spilled prefixes, as nearly all do, takes a last
 * step without branches. WebAssembly cannot ask for memory, and there keys are taken in turn.
 */
#ifndef PREFIX_SEARCH_LOOPS_H
#define PREFIX_SEARCH_LOOPS_H

#include "search_row.h"
#include "segment.h"
#include "../base/hash.h"

/* What few segments need, so that a look-up elsewhere calls nothing and saves no registers. */
static __attribute__((noinline)) bool contains_seldom(const struct segment *segment, uint64_t hash)
{
    struct slot_place place = slot_place_of(segment, hash);
    return buckets_match(segment->slots.width, slots_of(segment, place.home), slots_of(segment, place.other),
                         place.slot) ||
           (segment->spill_count && spill_contains(segment, hash));
}

static bool contains_one(const struct directory *root, uint64_t hash)
{
    const struct segment *segment = find_segment(root, hash);
    if (!SHORT_CODE && __builtin_expect(segment->slots.width > 32 || segment->spill_count, 0))
        return contains_seldom(segment, hash);
    struct slot_place place = slot_place_of(segment, hash);
    return buckets_match(segment->slots.width, slots_of(segment, place.home), slots_of(segment, place.other),
                         place.slot) ||
           (SHORT_CODE && segment->spill_count && spill_contains(segment, hash));
}

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
    for (; SHORT_CODE && done < count; done++)
        found[done] = contains_one(root, hashes[done].high);
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
 * Additions. The buckets of a row come while the row before it is put; then one key after the other is looked up and
 * put, so that each sees what came before it. A key whose segment has to grow ends the batch, since the segment of
 * others may be the same.
 */

/* The tag that is written is one of the last of its bucket, since most slots are in use. */
static ALWAYS_INLINE void fetch_tags(const struct row *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct segment *segment = row->segments[i];
        const unsigned near_end = segment->tags.width * 3u / 4;
        __builtin_prefetch(bucket_in(segment, segment->tags, (uint32_t)row->home_buckets[i]) + near_end);
        __builtin_prefetch(bucket_in(segment, segment->tags, (uint32_t)row->other_buckets[i]) + near_end);
    }
}

static ALWAYS_INLINE bool begin_additions(const struct directory *root, struct row *row, const roost_hash *hashes,
                                          size_t count, bool tagged)
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
    if (!SHORT_CODE && tagged)
        fetch_tags(row, count);
    return true;
}

/* The slot of the prefix of a hash, from that of the hash. */
static ALWAYS_INLINE uint64_t cut_slot(const struct segment *segment, uint64_t slot, unsigned length)
{
    uint64_t mark = UINT64_C(1) << (longest_in_slots(segment) - length);
    return (slot & ~(2 * mark - 1)) | mark;
}

static ALWAYS_INLINE uint64_t choose(uint64_t first, uint64_t second, bool takes_second)
{
    return first ^ ((first ^ second) & ((uint64_t)0 - takes_second));
}

/* Into the emptier of two buckets, by masks: which one it is, no branch could tell in advance. Buckets are filled from
   the first slot on, so masks are in the order of how full they are. */
static ALWAYS_INLINE bool put_in_row(const struct row *row, size_t i, struct two_buckets buckets, unsigned length,
                                     uint64_t tag, bool tagged)
{
    struct segment *segment = row->segments[i];
    bool moves = buckets.used_other < buckets.used_home;
    uint32_t used = (uint32_t)choose(buckets.used_home, buckets.used_other, moves);
    uint64_t slot = cut_slot(segment, row->slots[i], length);
    if (__builtin_expect(used == FULL_BUCKET, 0)) {
        struct slot_place place = {(uint32_t)row->home_buckets[i], (uint32_t)row->other_buckets[i], slot};
        return segment_put_by_moves(segment, place, tag);
    }
    uint8_t *bucket = (uint8_t *)(uintptr_t)choose((uintptr_t)row->homes[i], (uintptr_t)row->others[i], moves);
    uint64_t flag = (uint64_t)moves << (row->widths[i] - 1);
    packed_fill(bucket, (unsigned)row->widths[i], lowest_bit(~used), slot | flag);
    if (tagged) {
        uint32_t number = (uint32_t)choose(row->home_buckets[i], row->other_buckets[i], moves);
        packed_fill(bucket_in(segment, segment->tags, number), segment->tags.width, lowest_bit(~used),
                    pack_tag(tag, segment->number_bits));
    }
    segment->used++;
    segment->prefixes++;
    return true;
}

/* Whether a segment takes it as it is, has nothing beside its slots, and is no other table's. */
static ALWAYS_INLINE bool takes_as_it_is(const struct segment *segment, unsigned length, uint64_t tag, bool tagged)
{
    return segment->spill_count == 0 && !segment_is_shared(segment) && segment_takes(segment, length) &&
           (!tagged || segment_takes_tag(segment, tag));
}

static ALWAYS_INLINE struct two_buckets look_at_key(const struct row *row, size_t i)
{
    return look_at((unsigned)row->widths[i], row->homes[i], row->others[i], row->slots[i]);
}

/* Buckets that are asked together for room. */
#define ASKED_AT_ONCE 4

/* Keys whose buckets are full will have others moved: the buckets that these may move to are fetched now. Which keys
   that are, no branch could tell in advance; the last byte of a bucket tells it nearly always. */
static ALWAYS_INLINE void fetch_ways(const struct row *row, size_t count)
{
    size_t full[PUT_ROW], found = 0;
    for (size_t i = 0; i < count; i++) {
        full[found] = i;
        found += (row->homes[i][row->widths[i] - 1] != 0) & (row->others[i][row->widths[i] - 1] != 0);
    }
    for (size_t i = 0; i < found; i++) {
        struct ways_out ways;
        find_ways(row->segments[full[i]], (uint32_t)row->home_buckets[full[i]], &ways);
        for (unsigned j = 0; j < ASKED_AT_ONCE; j++)
            __builtin_prefetch(ways.slots[j] + last_slot_byte((unsigned)row->widths[full[i]]));
    }
}

/* The first keys of a row that only take a slot. With tags it ends with the first that is covered. */
static ALWAYS_INLINE size_t put_tagged_row(const struct row *row, struct put_many *put, bool *added, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct two_buckets buckets = look_at_key(row, i);
        const struct prefix_entry *entry = put->entries ? &put->entries[put->count] : NULL;
        unsigned length = entry ? prefix_length(entry->prefix) : put->length;
        uint64_t tag = entry ? entry->tag : put->tag;
        added[i] = !buckets.match;
        if (buckets.match || !takes_as_it_is(row->segments[i], length, tag, true) ||
            !put_in_row(row, i, buckets, length, tag, true))
            return i;
        put->count++;
        put->tag++;
    }
    return count;
}

static ALWAYS_INLINE size_t put_plain_row(const struct row *row, struct put_many *put, bool *added,
                                          const roost_hash *hashes, size_t count)
{
    const unsigned length = put->length;
    const uint64_t seed = put->seed;
    uint128 sum = 0;
    uint64_t new_ones = 0;
    size_t i = 0;
    for (; i < count; i++) {
        struct two_buckets buckets = look_at_key(row, i);
        added[i] = !buckets.match;
        if (buckets.match)
            continue;
        if (!takes_as_it_is(row->segments[i], length, 0, false) || !put_in_row(row, i, buckets, length, 0, false))
            break;
        uint128 hash = hash_number(seed, prefix_of(hashes[i].high, length));
        row->segments[i]->sum += hash;
        sum += hash;
        new_ones++;
    }
    put->count += new_ones;
    put->sum += sum;
    return i;
}

static ALWAYS_INLINE size_t put_row(const struct row *row, struct put_many *put, bool *added, const roost_hash *hashes,
                                    size_t count, bool tagged)
{
    if (!SHORT_CODE && count > 1)
        fetch_ways(row, count);
    return tagged ? put_tagged_row(row, put, added, count) : put_plain_row(row, put, added, hashes, count);
}

/* The memory of a row comes while the row before it is put. */
static ALWAYS_INLINE size_t put_rows(const struct directory *root, struct put_many *put, bool *added,
                                     const roost_hash *hashes, size_t count, bool tagged)
{
    struct row rows[2];
    size_t done = 0, some = count < PUT_ROW ? count : PUT_ROW;
    if (!begin_additions(root, &rows[0], hashes, some, tagged))
        return 0;
    for (unsigned turn = 0;; turn ^= 1) {
        size_t left = count - done - some, next = left < PUT_ROW ? left : PUT_ROW;
        bool goes_on = next && begin_additions(root, &rows[turn ^ 1], hashes + done + some, next, tagged);
        size_t put_now = put_row(&rows[turn], put, added + done, hashes + done, some, tagged);
        done += put_now;
        if (put_now < some || !goes_on)
            return done;
        some = next;
    }
}

/* Entries of filters that remove. */
#ifdef ROOST_WITHOUT_REMOVAL
#define HAS_TAGS 0
#else
#define HAS_TAGS 1
#endif

/* As most calls have it: without loops. */
static ALWAYS_INLINE size_t put_one(const struct directory *root, struct put_many *put, bool *added,
                                    const roost_hash *hashes, bool tagged)
{
    struct row row;
    return begin_additions(root, &row, hashes, 1, tagged) ? put_row(&row, put, added, hashes, 1, tagged) : 0;
}

static ALWAYS_INLINE size_t put_in_turn(const struct directory *root, struct put_many *put, bool *added,
                                        const roost_hash *hashes, size_t count)
{
    size_t done = 0;
    while (done < count && put_one(root, put, added + done, hashes + done, HAS_TAGS && put->tagged) == 1)
        done++;
    return done;
}

static size_t put_batch(const struct directory *root, struct put_many *put, bool *added, const roost_hash *hashes,
                        size_t count)
{
    if (SHORT_CODE)
        return put_in_turn(root, put, added, hashes, count);
    if (count == 1)
        return put->tagged ? put_one(root, put, added, hashes, true) : put_one(root, put, added, hashes, false);
    return put->tagged ? put_rows(root, put, added, hashes, count, true)
                       : put_rows(root, put, added, hashes, count, false);
}

/* Four buckets are asked at once, which nearly always is enough: their memory comes together, and no branch depends on
   which of them is full. */
static bool find_move(const struct segment *segment, uint32_t bucket, unsigned *asked, struct slot_move *move)
{
    const unsigned width = segment->slots.width;
    struct ways_out ways;
    uint32_t open = 0;
    find_ways(segment, bucket, &ways);
    for (unsigned first = 0; first < SLOTS && !open; first += ASKED_AT_ONCE) {
        for (unsigned i = first; i < first + ASKED_AT_ONCE; i++)
            open |= (uint32_t)!bucket_is_full(ways.slots[i], width) << i;
        open &= ways.movable;
        *asked += ASKED_AT_ONCE;
    }
    if (!open)
        return false;
    unsigned i = lowest_bit(open);
    *move = (struct slot_move){{bucket, i}, {ways.buckets[i], lowest_bit(~used_of(ways.slots[i], width))}};
    return true;
}

#endif
