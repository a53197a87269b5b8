/*
 * Slots and the prefixes that they stand for: what segment.c and the kernels share.
 */
#ifndef GROWING_SLOTS_H
#define GROWING_SLOTS_H

#include "segment.h"

static inline unsigned rest_bits_of(const struct segment *segment)
{
    return segment->slots.width - OFFSET_BITS - 1;
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
 * What decoding leaves in the place of a tag: the bucket and offset that are home, as one number which is in the order
 * of the prefixes, and above it the slot: eight times its bucket and its index.
 */
static inline uint32_t decoded_home(struct prefix_entry decoded)
{
    return (uint32_t)decoded.tag;
}

static inline uint32_t decoded_slot(struct prefix_entry decoded)
{
    return (uint32_t)(decoded.tag >> 32);
}

static inline uint64_t decode_plainly(const struct segment *segment, struct prefix_entry *entries)
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
            uint64_t prefix = prefix_in_slot(segment, inverse, bucket, slot);
            entries[count++] = (struct prefix_entry){prefix, (uint64_t)(bucket * SLOTS + i) << 32 | place};
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

#endif
