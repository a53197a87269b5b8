/*
 * The slots of a segment and the prefixes that they stand for: its layout, which all share that read it. `segment.c`
 * has the essay.
 *
 * Whatever is here is layout and never state: which slot holds what, how many buckets there are, how wide a slot is.
 */
#ifndef PREFIX_SLOTS_H
#define PREFIX_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prefix.h"

struct crowd;

#define SLOTS        8
#define FULL_BUCKET  ((1u << SLOTS) - 1) /* a bit for each slot that is in use */
#define OFFSET_BITS  4
#define FEWEST_WIDTH (OFFSET_BITS + 2)
#define MOST_BUCKETS 4096

/* All blocks are of one size, but for the last of a lane. With the eight bytes that allocators put before a block they
   are of sizes that allocators have. */
#define FULL_BLOCK    1016
#define ALLOCATED(to) ((to)-8)
#define MOST_BLOCKS   96

static inline uint64_t low_bits(unsigned count)
{
    return count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

/* Packed numbers of one width: eight to a bucket, which takes `width` bytes and lies in one block. */
struct lane {
    uint8_t width;       /* bits of a number; 0: there are none */
    uint8_t per_block;   /* buckets of a block */
    uint16_t first;      /* of its blocks in `blocks` */
    uint32_t reciprocal; /* of per_block, times 2^20 */
};

/*
 * A prefix and what distinguishes it from others like it: 0 in tables without tags. A tag is a dot: the number of its
 * actor above 32 bits of its counter. The packed tags of a segment have as many bits for either as its entries need.
 */
struct prefix_entry {
    uint64_t prefix, tag;
};

/* Many of them. */
struct prefix_run {
    uint64_t *prefixes;
    uint64_t *tags; /* NULL in tables without */
    uint64_t count;
    uint64_t listed; /* so many of the first come from lists beside slots */
};

struct segment {
    struct lane tags;
    uint64_t start;   /* the first hash of the range */
    uint64_t *shorts; /* sorted: prefixes that end before the slots begin */
    union {
        uint64_t *spill;              /* sorted: prefixes that found no slot */
        struct prefix_entry *pending; /* with tags: the same until the table takes them into its crowd */
    };
    struct crowd *crowd;            /* with tags: has `spill_count` entries of this range; NULL: none */
    uint64_t crowd_low, crowd_high; /* none of which has a hash below or above these */
    uint16_t block_count;
    uint16_t last_slots, last_tags; /* bytes of the last block with slots, and of the last with tags */
    uint8_t number_bits;            /* of a tag that are the actor's number, the lowest ones */
    /* An addition changes some of what follows. */
    uint128 sum;              /* of the hashes of the prefixes that begin here: kept by the table */
    uint32_t prefixes;        /* that it holds, with those that began before it */
    _Atomic uint32_t sharers; /* tables that have it beside this one: it does not change then (segment.c) */
    uint32_t used;            /* slots */
    uint32_t spill_room, short_count, short_room;
    /* Look-ups read what follows, and nothing else of it. */
    uint32_t spill_count;
    uint16_t buckets;
    uint8_t depth;       /* all hashes here begin with the same bits, so many */
    uint8_t place_bits;  /* so many bits after these choose bucket and offset */
    struct lane slots;   /* whose blocks are the first */
    uint64_t place_mask; /* these bits, where they are once the range is shifted out */
    uint8_t *blocks[];
};

/* Once it says no, whatever others read of the segment was read before. */
static inline bool segment_is_shared(const struct segment *segment)
{
    return atomic_load_explicit(&segment->sharers, memory_order_acquire) != 0;
}

static inline uint64_t pack_tag(uint64_t tag, unsigned number_bits)
{
    return (tag & UINT32_MAX) << number_bits | tag >> 32;
}

static inline uint64_t unpack_tag(uint64_t packed, unsigned number_bits)
{
    return (packed & low_bits(number_bits)) << 32 | packed >> number_bits;
}

/* Where a hash belongs. */
struct slot_place {
    uint32_t home, other; /* buckets */
    uint64_t slot;        /* what a slot in the home bucket holds of it; in the other one, with the highest bit set */
};

/* What a lane has of a bucket. */
static inline uint8_t *bucket_in(const struct segment *segment, struct lane lane, uint32_t bucket)
{
    uint32_t block = (uint32_t)((uint64_t)bucket * lane.reciprocal >> 20);
    return segment->blocks[lane.first + block] + (bucket - block * lane.per_block) * lane.width;
}

static inline uint8_t *slots_of(const struct segment *segment, uint32_t bucket)
{
    uint32_t block = (uint32_t)((uint64_t)bucket * segment->slots.reciprocal >> 20);
    return segment->blocks[block] + (bucket - block * segment->slots.per_block) * segment->slots.width;
}

static inline uint64_t packed_get(const uint8_t *bucket, unsigned width, unsigned index)
{
    unsigned bit = index * width;
    return load_word(bucket + bit / 8) >> (bit & 7) & low_bits(width);
}

static inline void packed_set(uint8_t *bucket, unsigned width, unsigned index, uint64_t number)
{
    unsigned bit = index * width;
    uint64_t word = load_word(bucket + bit / 8), mask = low_bits(width) << (bit & 7);
    store_word(bucket + bit / 8, (word & ~mask) | number << (bit & 7));
}

/* The same where there is nothing yet. */
static inline void packed_fill(uint8_t *bucket, unsigned width, unsigned index, uint64_t number)
{
    unsigned bit = index * width;
    store_word(bucket + bit / 8, load_word(bucket + bit / 8) | number << (bit & 7));
}

/*
 * How far the other bucket is from the home bucket, in a ring: parts of it, in 256ths. The differences of any two are
 * nearly all different (they are those of Singer's perfect difference set of 17 numbers, without one), so that few
 * moves lead to many buckets. Were they equal steps, many ways would lead to the same buckets, and segments would be
 * full at nine tenths.
 */
#define DISTANCE_BITS 8
static const uint8_t distances_in_ring[1 << OFFSET_BITS] = {6,   7,   9,   13,  20,  35,  65,  90,
                                                            115, 125, 134, 176, 188, 197, 229, 245};

static inline uint32_t distance_of(uint32_t offset, uint32_t buckets)
{
    return 1 + (distances_in_ring[offset] * (buckets - 1) >> DISTANCE_BITS);
}

static inline uint32_t bucket_beyond(uint32_t bucket, uint32_t distance, uint32_t buckets)
{
    uint32_t sum = bucket + distance;
    return sum < buckets ? sum : sum - buckets;
}

static inline uint32_t bucket_before(uint32_t bucket, uint32_t distance, uint32_t buckets)
{
    return bucket >= distance ? bucket - distance : bucket + buckets - distance;
}

/*
 * The first bits of a hash in the segment, times the number of buckets: the bucket before the point, the offset in the
 * four bits after it. There are at least as many different offsets in a bucket as first bits that lead there, so that
 * bucket and offset tell these bits. They are 16 at most, so that half a word has them all: WebAssembly would need
 * several multiplications for a product of 128 bits.
 */
static inline struct slot_place slot_place_of(const struct segment *segment, uint64_t hash)
{
    const uint32_t buckets = segment->buckets;
    const unsigned rest_bits = segment->slots.width - OFFSET_BITS - 1;
    uint64_t inside = hash << segment->depth;
    uint64_t first = inside & segment->place_mask;
    uint128 scaled = SHORT_CODE ? (uint128)((first >> 32) * buckets) << 32 : multiply_words(first, buckets);
    uint32_t home = (uint32_t)(scaled >> 64), offset = (uint32_t)((uint64_t)scaled >> (64 - OFFSET_BITS));
    uint64_t rest = inside << segment->place_bits >> (64 - rest_bits);
    return (struct slot_place){home, bucket_beyond(home, distance_of(offset, buckets), buckets),
                               (uint64_t)offset << rest_bits | rest};
}

static inline uint64_t in_other_bucket(const struct segment *segment)
{
    return UINT64_C(1) << (segment->slots.width - 1);
}

/* Where the last slot of a bucket begins. */
static inline unsigned last_slot_byte(unsigned width)
{
    return (SLOTS - 1) * width / 8;
}

/* The slots of a bucket are in use from the first on: where one becomes empty, the last takes its place. */
static inline bool bucket_is_full(const uint8_t *bucket, unsigned width)
{
    return packed_get(bucket, width, SLOTS - 1) != 0;
}

/* Which of the eight slots of a bucket hold a prefix that what `slot` describes begins with: a bit each. */
static inline uint32_t bucket_matches(const uint8_t *bucket, unsigned width, uint64_t slot)
{
    uint32_t matches = 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t held = packed_get(bucket, width, i);
        matches |= (uint32_t)((held ^ slot) < 2 * end_mark(held)) << i;
    }
    return matches;
}

/* Whether one of two buckets holds a prefix of what `slot` describes that does not end after this mark. */
static inline bool buckets_cover_plainly(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot,
                                         uint64_t mark)
{
    uint64_t beyond = slot | UINT64_C(1) << (width - 1);
    bool covers = false;
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t here = packed_get(home, width, i), there = packed_get(other, width, i);
        covers |= ((here ^ slot) < 2 * end_mark(here) && end_mark(here) >= mark) ||
                  ((there ^ beyond) < 2 * end_mark(there) && end_mark(there) >= mark);
    }
    return covers;
}

static inline unsigned rest_bits_of(const struct segment *segment)
{
    return segment->slots.width - OFFSET_BITS - 1;
}

/* The length of the longest prefix that slots take. */
static inline unsigned longest_in_slots(const struct segment *segment)
{
    return segment->depth + segment->place_bits + rest_bits_of(segment) - 1u;
}

/* Whether a slot has all offset bits, so that it is known where else it may lie. */
static inline bool is_movable(const struct segment *segment, uint64_t slot)
{
    return end_mark(slot) >> rest_bits_of(segment) == 0;
}

/* The bucket to which a slot can move. */
static inline uint32_t way_out(const struct segment *segment, uint32_t bucket, uint64_t slot)
{
    uint32_t offset = (uint32_t)(slot >> rest_bits_of(segment)) & ((1u << OFFSET_BITS) - 1);
    uint32_t distance = distance_of(offset, segment->buckets);
    return slot & in_other_bucket(segment) ? bucket_before(bucket, distance, segment->buckets)
                                           : bucket_beyond(bucket, distance, segment->buckets);
}

/* Buckets to which the slots of one can move. */
struct ways_out {
    uint32_t buckets[SLOTS];
    const uint8_t *slots[SLOTS]; /* of these buckets */
    uint32_t movable;            /* which slots can: a bit each */
};

static inline void find_ways_plainly(const struct segment *segment, uint32_t bucket, struct ways_out *ways)
{
    const uint8_t *slots = slots_of(segment, bucket);
    ways->movable = 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t slot = packed_get(slots, segment->slots.width, i);
        ways->buckets[i] = way_out(segment, bucket, slot);
        ways->slots[i] = slots_of(segment, ways->buckets[i]);
        ways->movable |= (uint32_t)(slot != 0 && is_movable(segment, slot)) << i;
    }
}

/* To divide by the number of buckets: exact for what is below 16 times its square and a little more. */
#define INVERSE_BITS 44

static inline uint64_t inverse_of(const struct segment *segment)
{
    return (UINT64_C(1) << INVERSE_BITS) / (segment->buckets ? segment->buckets : 1) + 1;
}

/* The first bits that lead to a bucket and an offset; the inverse of `scaled`. */
static inline uint64_t first_bits(const struct segment *segment, uint64_t inverse, uint32_t offset_in_all)
{
    uint64_t dividend = (uint64_t)offset_in_all << (segment->place_bits - OFFSET_BITS);
    return (dividend + segment->buckets - 1) * inverse >> INVERSE_BITS;
}

static inline uint64_t prefix_in_slot(const struct segment *segment, uint64_t inverse, uint32_t bucket, uint64_t slot)
{
    unsigned rest_bits = rest_bits_of(segment), bits = segment->depth + segment->place_bits;
    uint32_t home = slot & in_other_bucket(segment) ? way_out(segment, bucket, slot) : bucket;
    uint32_t offset = (uint32_t)(slot >> rest_bits) & ((1u << OFFSET_BITS) - 1);
    uint64_t first = first_bits(segment, inverse, home << OFFSET_BITS | offset);
    uint64_t rest = slot << (64 - rest_bits) >> bits;
    return segment->start | first << (64 - bits) | rest;
}

/*
 * Where decoding found a prefix: the bucket and offset that are home, as one number which is in the order of the
 * prefixes, and above it the slot: eight times its bucket and its index.
 */
static inline uint32_t origin_home(uint64_t origin)
{
    return (uint32_t)origin;
}

static inline uint32_t origin_slot(uint64_t origin)
{
    return (uint32_t)(origin >> 32);
}

/* Decoding writes so many at once, whatever comes of them. */
#define DECODED_AT_ONCE 4
#define MOST_UNSURE     32

/* Which of those that were decoded may serve look-ups only, as far as a slot tells, in order: what ends with the
   offset. */
struct unsure {
    uint64_t count; /* more than there is room for: any */
    uint32_t items[MOST_UNSURE];
};

static inline void note_unsure(struct unsure *unsure, uint64_t item)
{
    if (unsure->count < MOST_UNSURE)
        unsure->items[unsure->count] = (uint32_t)item;
    unsure->count++;
}

static inline uint64_t decode_plainly(const struct segment *segment, uint64_t *prefixes, uint64_t *origins,
                                      struct unsure *unsure)
{
    const unsigned width = segment->slots.width, rest_bits = rest_bits_of(segment);
    const uint64_t inverse = inverse_of(segment), rest = low_bits(rest_bits);
    uint64_t count = 0;
    for (uint32_t bucket = 0; bucket < segment->buckets; bucket++) {
        const uint8_t *slots = slots_of(segment, bucket);
        for (unsigned i = 0; i < SLOTS; i++) {
            uint64_t slot = packed_get(slots, width, i);
            if ((slot & rest) == 0)
                continue;
            uint32_t home = slot & in_other_bucket(segment) ? way_out(segment, bucket, slot) : bucket;
            uint64_t place = home << OFFSET_BITS | (slot >> rest_bits & ((1u << OFFSET_BITS) - 1));
            if ((slot & rest) == UINT64_C(1) << (rest_bits - 1))
                note_unsure(unsure, count);
            if (origins)
                origins[count] = (uint64_t)(bucket * SLOTS + i) << 32 | place;
            prefixes[count++] = prefix_in_slot(segment, inverse, bucket, slot);
        }
    }
    return count;
}

/* Of prefixes those with these ends, as positions in their places. Returns how many. Without a branch, which nobody
   could predict. */
static inline uint64_t keep_positions(uint64_t *prefixes, uint64_t count, uint64_t ends)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t prefix = prefixes[i];
        prefixes[kept] = prefix_position(prefix);
        kept += (end_mark(prefix) & ends) != 0;
    }
    return kept;
}

static inline uint64_t decode_positions_plainly(const struct segment *segment, uint64_t *positions, uint64_t ends)
{
    struct unsure unsure = {.count = 0};
    return keep_positions(positions, decode_plainly(segment, positions, NULL, &unsure), ends);
}

struct bucket_range {
    uint32_t from, to;
};

/* The same of some buckets of a segment with tags, which has nothing in slots that serves look-ups only. */
static inline uint64_t decode_tagged_plainly(const struct segment *segment, struct bucket_range range,
                                             uint64_t *prefixes, uint64_t *tags)
{
    const uint64_t inverse = inverse_of(segment);
    uint64_t count = 0;
    for (uint32_t bucket = range.from; bucket < range.to; bucket++) {
        const uint8_t *slots = slots_of(segment, bucket), *packed = bucket_in(segment, segment->tags, bucket);
        for (unsigned i = 0; i < SLOTS; i++) {
            uint64_t slot = packed_get(slots, segment->slots.width, i);
            if (!slot)
                continue;
            prefixes[count] = prefix_in_slot(segment, inverse, bucket, slot);
            tags[count++] = unpack_tag(packed_get(packed, segment->tags.width, i), segment->number_bits);
        }
    }
    return count;
}

/* The tags alone: there is none without an entry. */
static inline uint64_t decode_tags_plainly(const struct segment *segment, struct bucket_range range, uint64_t *tags)
{
    uint64_t count = 0;
    for (uint32_t bucket = range.from; bucket < range.to; bucket++) {
        const uint8_t *packed = bucket_in(segment, segment->tags, bucket);
        for (unsigned i = 0; i < SLOTS; i++) {
            uint64_t tag = packed_get(packed, segment->tags.width, i);
            tags[count] = unpack_tag(tag, segment->number_bits);
            count += tag != 0;
        }
    }
    return count;
}

static inline uint32_t used_plainly(const uint8_t *bucket, unsigned width)
{
    uint32_t used = 0;
    for (unsigned i = 0; i < SLOTS; i++)
        used |= (uint32_t)(packed_get(bucket, width, i) != 0) << i;
    return used;
}

/* Where a prefix belongs, for slots of up to 32 bits: home, other bucket and slot in 16, 16 and 32 bits. */
static inline uint64_t packed_place(struct slot_place place)
{
    return place.slot << 32 | (uint64_t)place.other << 16 | place.home;
}

static inline void locate_plainly(const struct segment *segment, uint64_t *places, const uint64_t *prefixes,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        places[i] = packed_place(slot_place_of(segment, prefixes[i]));
}

#endif
