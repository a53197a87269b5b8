/*
 * A segment: the prefixes of one range of hashes, in buckets of eight slots. `segment.c` has the essay.
 *
 * Whatever is here is layout and never state: which slot holds what, how many buckets there are, how wide a slot is.
 */
#ifndef GROWING_SEGMENT_H
#define GROWING_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "prefix.h"
#include "../base/memory.h"
#include "../base/random.h"

struct crowd;

#define SLOTS        8
#define OFFSET_BITS  4
#define FEWEST_WIDTH (OFFSET_BITS + 2)
#define MOST_BUCKETS 4096

/* All blocks of a table are of one size, but for the first ones of a small table. With the eight bytes that allocators
   put before a block they make a power of two. */
#define FULL_BLOCK  1016
#define MOST_BLOCKS 96

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

struct segment {
    struct lane tags;
    uint64_t start;              /* the first hash of the range */
    struct prefix_entry *shorts; /* sorted: prefixes that end before the slots begin */
    union {
        uint64_t *spill;              /* sorted: prefixes that found no slot */
        struct prefix_entry *pending; /* with tags: the same until the table takes them into its crowd */
    };
    struct crowd *crowd;            /* with tags: has `spill_count` entries of this range; NULL: none */
    uint64_t crowd_low, crowd_high; /* none of which has a hash below or above these */
    uint16_t block_count, block_bytes;
    uint8_t number_bits; /* of a tag that are the actor's number, the lowest ones */
    /* An addition changes some of what follows. */
    uint128 sum;        /* of the hashes of the prefixes that begin here: kept by the table */
    uint32_t prefixes;  /* that it holds, with those that began before it */
    uint32_t copied_by; /* the copy job that has it as it is (table_copy_some) */
    uint32_t used;      /* slots */
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

/* How far the other bucket is from the home bucket, in a ring. */
static inline uint32_t distance_of(uint32_t offset, uint32_t buckets)
{
    return 1 + (offset * (buckets - 1) >> OFFSET_BITS);
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
 * bucket and offset tell these bits.
 */
static inline struct slot_place slot_place_of(const struct segment *segment, uint64_t hash)
{
    const uint32_t buckets = segment->buckets;
    const unsigned rest_bits = segment->slots.width - OFFSET_BITS - 1;
    uint64_t inside = hash << segment->depth;
    uint128 scaled = (uint128)(inside & segment->place_mask) * buckets;
    uint32_t home = (uint32_t)(scaled >> 64), offset = (uint32_t)((uint64_t)scaled >> (64 - OFFSET_BITS));
    uint64_t rest = inside << segment->place_bits >> (64 - rest_bits);
    return (struct slot_place){home, bucket_beyond(home, distance_of(offset, buckets), buckets),
                               (uint64_t)offset << rest_bits | rest};
}

static inline uint64_t in_other_bucket(const struct segment *segment)
{
    return UINT64_C(1) << (segment->slots.width - 1);
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

/* Whether the list of what found no slot has a prefix of the hash. */
bool spill_contains(const struct segment *segment, uint64_t hash);

static inline bool segment_contains(const struct segment *segment, uint64_t hash)
{
    struct slot_place place = slot_place_of(segment, hash);
    unsigned width = segment->slots.width;
    return (bucket_matches(slots_of(segment, place.home), width, place.slot) |
            bucket_matches(slots_of(segment, place.other), width, place.slot | in_other_bucket(segment))) != 0 ||
           (segment->spill_count && spill_contains(segment, hash));
}

/* What a segment is made for. */
struct segment_shape {
    uint64_t start;      /* the first hash */
    uint8_t depth;       /* of its range */
    uint8_t tag_width;   /* bits; 0: without tags */
    uint8_t number_bits; /* of these */
    uint8_t longest;     /* prefix that it takes */
    bool dense;          /* nothing need follow soon: fewer slots stay free */
};

/* The prefixes go on after the bits of the range, or cover all of it; they may be in any order. In tables without tags
   none covers another. NULL without memory, or where so many do not fit in any segment. */
struct segment *segment_new(struct segment_shape shape, const struct prefix_entry *entries, uint64_t count,
                            const roost_allocator *allocator, struct random_source *random);
void segment_free(struct segment *segment, const roost_allocator *allocator);
struct segment *segment_copy(const struct segment *segment, const roost_allocator *allocator);

/* Whether a prefix of this length goes into slots, and fits. */
static inline bool segment_takes(const struct segment *segment, unsigned length)
{
    return length >= (unsigned)segment->depth + segment->place_bits &&
           length <= (unsigned)segment->depth + segment->place_bits + segment->slots.width - OFFSET_BITS - 2;
}

/* Puts a prefix that the segment takes into a slot. False, and nothing changed, where none was found. */
bool segment_put(struct segment *segment, struct prefix_entry entry, struct random_source *random);

/* Whether there are so many free slots that one who finds none met a crowd. */
static inline bool segment_is_roomy(const struct segment *segment)
{
    return segment->used < (uint32_t)segment->buckets * SLOTS / 4 * 3;
}

/* Puts a prefix on the list beside the slots. False, and nothing changed, without memory. */
bool segment_spill(struct segment *segment, struct prefix_entry entry, const roost_allocator *allocator);

/* ---- segments with tags ---- */

/* Whether the packed tags have room for this one. */
static inline bool segment_takes_tag(const struct segment *segment, uint64_t tag)
{
    unsigned counter_bits = segment->tags.width - segment->number_bits;
    return tag >> 32 >> segment->number_bits == 0 && (tag & UINT32_MAX) >> 1 >> (counter_bits - 1) == 0;
}

/* The entries whose prefixes cover a hash, but for those in the crowd: up to `most` of them. */
uint32_t segment_covering(const struct segment *segment, uint64_t hash, struct prefix_entry *entries, uint32_t most);
/* Whether there is this very entry, or with tag 0 any of this prefix; the crowd is not asked. */
bool segment_holds(const struct segment *segment, struct prefix_entry entry);
/* Drops this very entry. False if it is not here. */
bool segment_drop(struct segment *segment, struct prefix_entry entry);
/* Another tag in place of one that is in a slot. False if it is not, or if there is no room for the new one. */
bool segment_retag(struct segment *segment, struct prefix_entry entry, uint64_t tag);
/* Some entries from a position on, which moves; 0 at the end. Those that began before the segment are left out. Entries that
   were returned may be dropped in between. `entries` has room for 64. */
uint32_t segment_next(const struct segment *segment, uint32_t *position, struct prefix_entry *entries);

/* ---- segments without tags ---- */

/* Removes what begins with a prefix that the segment takes from slots; without tags. Returns how many, which are written to
   `removed`, which has room for 2 * SLOTS. */
uint32_t segment_remove_covered(struct segment *segment, uint64_t prefix, uint64_t *removed);

/* All that the segment holds, in no order, also what begins before it. Returns how many. `entries` has room for
   `segment_most` and one more. */
uint64_t segment_gather(const struct segment *segment, struct prefix_entry *entries);
/* The same, sorted. `scratch` has the same room. */
uint64_t segment_list(const struct segment *segment, struct prefix_entry *entries, struct prefix_entry *scratch);
/* Whether a prefix counts here: of the segments that it spans, in the first. */
static inline bool begins_here(const struct segment *segment, uint64_t prefix)
{
    return first_covered(prefix) >= segment->start;
}
/* Whether some prefix of the segment covers this one, which begins here. */
bool segment_covers(const struct segment *segment, uint64_t prefix);
static inline uint64_t segment_most(const struct segment *segment)
{
    return (uint64_t)segment->used + segment->short_count + (segment->crowd ? 0 : segment->spill_count);
}
uint64_t segment_bytes(const struct segment *segment);
/* Proves the invariants that concern one segment. */
bool segment_check(const struct segment *segment);

#endif
