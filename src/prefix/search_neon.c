/*
 * Look-ups with NEON: the eight slots of a bucket are twice four lanes of 32 bits, or four times two of 64 bits.
 * search_unpacking.h says how they get there. Where hashes belong is worked out in the plain way, since vectors of two
 * would not pay. Segments with slots of more than 32 bits are made and listed in the plain way.
 */
#include "search_row.h"
#include "search_unpacking.h"
#include "slots.h"

#include <arm_neon.h>

/* What the fifth bytes of four slots have of them. */
static inline uint32x4_t unpack_fifth(uint8x16_t slots, unsigned width, unsigned half)
{
    const struct fifth_byte *fifth = &fifth_bytes[width - FOUR_BYTES - 1];
    uint32x4_t lanes = vreinterpretq_u32_u8(vqtbl1q_u8(slots, vld1q_u8(fifth->bytes + 16 * half)));
    return vshlq_u32(lanes, vld1q_s32(fifth->shifts + 4 * half));
}

static inline uint32x4_t unpack_four(const uint8_t *bucket, unsigned width, const struct unpacking *unpacking,
                                     unsigned half)
{
    const uint8x16_t slots = vld1q_u8(bucket + half * width / 2);
    uint32x4_t lanes = vreinterpretq_u32_u8(vqtbl1q_u8(slots, vld1q_u8(unpacking->bytes + 16 * half)));
    lanes = vshlq_u32(lanes, vld1q_s32(unpacking->shifts + 4 * half));
    if (width > FOUR_BYTES)
        lanes |= unpack_fifth(slots, width, half);
    return vandq_u32(lanes, vld1q_u32(unpacking->mask));
}

static inline uint32x4x2_t unpack(const uint8_t *bucket, unsigned width, const struct unpacking *unpacking)
{
    return (uint32x4x2_t){{unpack_four(bucket, width, unpacking, 0), unpack_four(bucket, width, unpacking, 1)}};
}

/* Lanes whose slot differs only below twice its own mark, which is 0 in an empty one. */
static inline uint32x4_t matches(uint32x4_t held, uint32x4_t slot)
{
    return vcgtq_u32(held & -held, vshrq_n_u32(held ^ slot, 1));
}

static inline uint32x4_t any_matches(uint32x4x2_t held, uint32x4_t slot)
{
    return matches(held.val[0], slot) | matches(held.val[1], slot);
}

/* A bit for each lane of eight that is not 0. */
static inline uint32_t bits_of_lanes(uint16x8_t lanes)
{
    const uint16x8_t bits = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddvq_u16(lanes & bits);
}

static inline uint32_t in_use(uint32x4x2_t slots)
{
    uint16x8_t low = vreinterpretq_u16_u32(vtstq_u32(slots.val[0], slots.val[0]));
    uint16x8_t high = vreinterpretq_u16_u32(vtstq_u32(slots.val[1], slots.val[1]));
    return bits_of_lanes(vuzp1q_u16(low, high));
}

/* ---- wide slots ---- */

static inline uint64x2x4_t unpack_wide(const uint8_t *bucket, unsigned width)
{
    const struct wide_unpacking *unpacking = &wide_unpackings[width - NARROW_WIDTH - 1];
    const uint64x2_t mask = vdupq_n_u64(low_bits(width));
    uint64x2x4_t slots;
    for (unsigned i = 0; i < 4; i++) {
        uint8x16_t bytes = vqtbl1q_u8(vld1q_u8(bucket + i * width / 4), vld1q_u8(unpacking->bytes[i]));
        slots.val[i] = vshlq_u64(vreinterpretq_u64_u8(bytes), vld1q_s64(unpacking->shifts + 2 * i)) & mask;
    }
    return slots;
}

static inline uint64x2_t any_wide_matches(uint64x2x4_t held, uint64_t slot)
{
    uint64x2_t found = vdupq_n_u64(0);
    for (unsigned i = 0; i < 4; i++)
        found |= vcgtq_u64(held.val[i] & -held.val[i], vshrq_n_u64(held.val[i] ^ vdupq_n_u64(slot), 1));
    return found;
}

static inline uint32_t in_use_wide(uint64x2x4_t slots)
{
    uint32x4_t used[4];
    for (unsigned i = 0; i < 4; i++)
        used[i] = vreinterpretq_u32_u64(vtstq_u64(slots.val[i], slots.val[i]));
    uint16x8_t low = vreinterpretq_u16_u32(vuzp1q_u32(used[0], used[1]));
    uint16x8_t high = vreinterpretq_u16_u32(vuzp1q_u32(used[2], used[3]));
    return bits_of_lanes(vuzp1q_u16(low, high));
}

static __attribute__((noinline)) struct two_buckets look_at_wide(unsigned width, const uint8_t *home,
                                                                 const uint8_t *other, uint64_t slot)
{
    uint64x2x4_t at_home = unpack_wide(home, width), at_other = unpack_wide(other, width);
    uint64x2_t found = any_wide_matches(at_home, slot) | any_wide_matches(at_other, slot | UINT64_C(1) << (width - 1));
    return (struct two_buckets){vmaxvq_u32(vreinterpretq_u32_u64(found)) != 0, in_use_wide(at_home),
                                in_use_wide(at_other)};
}

/* ---- any slots ---- */

static inline bool buckets_match(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot)
{
    if (__builtin_expect(width > NARROW_WIDTH, 0))
        return look_at_wide(width, home, other, slot).match;
    const struct unpacking *unpacking = &unpackings[width];
    const uint32x4_t wanted = vdupq_n_u32((uint32_t)slot), beyond = wanted ^ vld1q_u32(unpacking->flag);
    return vmaxvq_u32(any_matches(unpack(home, width, unpacking), wanted) |
                      any_matches(unpack(other, width, unpacking), beyond)) != 0;
}

/* Lanes that match and do not end later than this mark. */
static inline uint32x4_t any_covers(uint32x4x2_t held, uint32x4_t slot, uint32x4_t mark)
{
    uint32x4_t found = vdupq_n_u32(0);
    for (int i = 0; i < 2; i++)
        found |= matches(held.val[i], slot) & vcgeq_u32(held.val[i] & -held.val[i], mark);
    return found;
}

static inline bool buckets_cover(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot,
                                 uint64_t mark)
{
    if (__builtin_expect(width > NARROW_WIDTH, 0))
        return buckets_cover_plainly(width, home, other, slot, mark);
    const struct unpacking *unpacking = &unpackings[width];
    const uint32x4_t wanted = vdupq_n_u32((uint32_t)slot), beyond = wanted ^ vld1q_u32(unpacking->flag);
    const uint32x4_t marks = vdupq_n_u32((uint32_t)mark);
    return vmaxvq_u32(any_covers(unpack(home, width, unpacking), wanted, marks) |
                      any_covers(unpack(other, width, unpacking), beyond, marks)) != 0;
}

static inline struct two_buckets look_at(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot)
{
    if (__builtin_expect(width > NARROW_WIDTH, 0))
        return look_at_wide(width, home, other, slot);
    const struct unpacking *unpacking = &unpackings[width];
    const uint32x4_t wanted = vdupq_n_u32((uint32_t)slot), beyond = wanted ^ vld1q_u32(unpacking->flag);
    uint32x4x2_t at_home = unpack(home, width, unpacking), at_other = unpack(other, width, unpacking);
    uint32x4_t found = any_matches(at_home, wanted) | any_matches(at_other, beyond);
    return (struct two_buckets){vmaxvq_u32(found) != 0, in_use(at_home), in_use(at_other)};
}

/* ---- rooms and ways ---------------------------------------------------------------------------------------------- */

static inline uint32_t used_of(const uint8_t *bucket, unsigned width)
{
    return width > NARROW_WIDTH ? in_use_wide(unpack_wide(bucket, width))
                                : in_use(unpack(bucket, width, &unpackings[width]));
}

static inline uint32x4_t offsets_of(const struct segment *segment, uint32x4_t slots)
{
    return vshlq_u32(slots, vdupq_n_s32(-(int)rest_bits_of(segment))) & vdupq_n_u32((1u << OFFSET_BITS) - 1);
}

/* Lanes whose slot is not in its home bucket. */
static inline uint32x4_t have_moved(const struct segment *segment, uint32x4_t slots)
{
    return vcltzq_s32(vreinterpretq_s32_u32(vshlq_u32(slots, vdupq_n_s32(32 - segment->slots.width))));
}

/* The buckets to which four slots can move. */
static inline uint32x4_t ways_of_four(const struct segment *segment, uint32_t bucket, uint32x4_t slots)
{
    const uint32x4_t buckets = vdupq_n_u32(segment->buckets), less_one = vdupq_n_u32(segment->buckets - 1u);
    uint32x4_t lowest_byte = offsets_of(segment, slots) | vdupq_n_u32(0x80808000); /* 0 from the others */
    uint8x16_t parts = vqtbl1q_u8(vld1q_u8(distances_in_ring), vreinterpretq_u8_u32(lowest_byte));
    uint32x4_t distance = vshrq_n_u32(vreinterpretq_u32_u8(parts) * less_one, DISTANCE_BITS) + 1;
    uint32x4_t way = vdupq_n_u32(bucket) + vbslq_u32(have_moved(segment, slots), buckets - distance, distance);
    return vminq_u32(way, way - buckets); /* what is below 0 is large */
}

static inline void find_ways(const struct segment *segment, uint32_t bucket, struct ways_out *ways)
{
    const unsigned width = segment->slots.width;
    if (width > NARROW_WIDTH) {
        find_ways_plainly(segment, bucket, ways);
        return;
    }
    uint32x4x2_t slots = unpack(slots_of(segment, bucket), width, &unpackings[width]);
    const uint32x4_t rest = vdupq_n_u32((uint32_t)low_bits(rest_bits_of(segment)));
    for (int i = 0; i < 2; i++) {
        vst1q_u32(ways->buckets + 4 * i, ways_of_four(segment, bucket, slots.val[i]));
        slots.val[i] &= rest;
    }
    for (unsigned i = 0; i < SLOTS; i++)
        ways->slots[i] = slots_of(segment, ways->buckets[i]);
    ways->movable = in_use(slots);
}

#define locate_all locate_plainly

#include "search_loops.h"

/* ---- what a segment holds ---------------------------------------------------------------------------------------- */

/* What all slots of a segment have in common. */
struct decoding {
    uint32x4_t rest_mask, only_mark, round_up, inverse;
    uint64x2_t start;
    int32x4_t to_dividend;
    int64x2_t from_quotient, to_first, to_rest;
};

static inline struct decoding decoding_of(const struct segment *segment)
{
    const int rest_bits = (int)rest_bits_of(segment), bits = segment->depth + segment->place_bits;
    const struct divisor divisor = divisor_of(segment->buckets);
    return (struct decoding){
        .rest_mask = vdupq_n_u32((uint32_t)low_bits((unsigned)rest_bits)),
        .only_mark = vdupq_n_u32(1u << (rest_bits - 1)),
        .round_up = vdupq_n_u32(segment->buckets - 1u),
        .inverse = vdupq_n_u32((uint32_t)divisor.inverse),
        .start = vdupq_n_u64(segment->start),
        .to_dividend = vdupq_n_s32(segment->place_bits - OFFSET_BITS),
        .from_quotient = vdupq_n_s64(-(int64_t)divisor.shift),
        .to_first = vdupq_n_s64(64 - bits),
        .to_rest = vdupq_n_s64(64 - rest_bits - bits),
    };
}

/* Bucket and offset that are the home of four slots in a bucket. */
static inline uint32x4_t homes_of(const struct segment *segment, uint32_t bucket, uint32x4_t slots)
{
    uint32x4_t home = vbslq_u32(have_moved(segment, slots), ways_of_four(segment, bucket, slots), vdupq_n_u32(bucket));
    return vsliq_n_u32(offsets_of(segment, slots), home, OFFSET_BITS);
}

/* Of two products with the inverse, and two rests. */
static inline uint64x2_t prefixes_of(const struct decoding *decoding, uint64x2_t products, uint64x2_t rests)
{
    uint64x2_t first = vshlq_u64(vshlq_u64(products, decoding->from_quotient), decoding->to_first);
    return decoding->start | first | vshlq_u64(rests, decoding->to_rest);
}

/* Writes numbers without those that are not kept; what comes next goes over what is too much. Returns how many. */
static inline uint32_t write_kept(uint64_t *numbers, uint64x2_t low, uint64x2_t high, uint32_t kept)
{
    uint32_t count = kept & 1;
    vst1q_lane_u64(numbers, low, 0);
    vst1q_lane_u64(numbers + count, low, 1);
    count += kept >> 1 & 1;
    vst1q_lane_u64(numbers + count, high, 0);
    count += kept >> 2 & 1;
    vst1q_lane_u64(numbers + count, high, 1);
    return count + (kept >> 3 & 1);
}

static inline uint32_t write_prefixes(const struct decoding *decoding, uint64_t *prefixes, uint32x4_t homes,
                                      uint32x4_t rests, uint32_t kept)
{
    uint32x4_t dividends = vshlq_u32(homes, decoding->to_dividend) + decoding->round_up;
    uint64x2_t low = vmull_u32(vget_low_u32(dividends), vget_low_u32(decoding->inverse));
    uint64x2_t high = vmull_high_u32(dividends, decoding->inverse);
    return write_kept(prefixes, prefixes_of(decoding, low, vmovl_u32(vget_low_u32(rests))),
                      prefixes_of(decoding, high, vmovl_high_u32(rests)), kept);
}

static inline uint32_t write_pairs(uint64_t *pairs, uint32x4_t low, uint32x4_t high, uint32_t kept)
{
    return write_kept(pairs, vreinterpretq_u64_u32(vzip1q_u32(low, high)), vreinterpretq_u64_u32(vzip2q_u32(low, high)),
                      kept);
}

static void note_doubtful(struct unsure *unsure, uint64_t count, uint32x4x2_t rests, uint32x4_t only_mark,
                          uint32_t kept)
{
    const uint32x4x2_t differences = {{rests.val[0] ^ only_mark, rests.val[1] ^ only_mark}};
    for (uint32_t left = ~in_use(differences) & FULL_BUCKET; left; left &= left - 1)
        note_unsure(unsure, count + count_ones(kept & ((1u << lowest_bit(left)) - 1)));
}

static ALWAYS_INLINE uint64_t decode_range(const struct segment *segment, struct bucket_range range, uint64_t *prefixes,
                                           uint64_t *origins, struct unsure *unsure)
{
    const unsigned width = segment->slots.width;
    const struct decoding decoding = decoding_of(segment);
    const uint32x4_t places = {0, 1, 2, 3};
    uint64_t count = 0;
    for (uint32_t bucket = range.from; bucket < range.to; bucket++) {
        uint32x4x2_t slots = unpack(slots_of(segment, bucket), width, &unpackings[width]), rests;
        for (int i = 0; i < 2; i++)
            rests.val[i] = slots.val[i] & decoding.rest_mask;
        uint32_t kept = in_use(rests);
        uint32x4_t doubtful = vceqq_u32(rests.val[0], decoding.only_mark) | vceqq_u32(rests.val[1], decoding.only_mark);
        if (unsure && __builtin_expect(vmaxvq_u32(doubtful) != 0, 0))
            note_doubtful(unsure, count, rests, decoding.only_mark, kept);
        for (int i = 0; i < 2; i++, kept >>= 4) {
            uint32x4_t homes = homes_of(segment, bucket, slots.val[i]);
            if (origins)
                (void)write_pairs(origins + count, homes, vdupq_n_u32(bucket * SLOTS + 4 * (uint32_t)i) + places, kept);
            count += write_prefixes(&decoding, prefixes + count, homes, rests.val[i], kept);
        }
    }
    return count;
}

static uint64_t decode(const struct segment *segment, uint64_t *prefixes, uint64_t *origins, struct unsure *unsure)
{
    const struct bucket_range all = {0, segment->buckets};
    if (segment->slots.width > NARROW_WIDTH)
        return decode_plainly(segment, prefixes, origins, unsure);
    return origins ? decode_range(segment, all, prefixes, origins, unsure)
                   : decode_range(segment, all, prefixes, NULL, unsure);
}

static uint64_t decode_positions(const struct segment *segment, uint64_t *positions, uint64_t ends)
{
    struct unsure unsure = {.count = 0};
    return keep_positions(positions, decode(segment, positions, NULL, &unsure), ends);
}

static uint64_t decode_tags(const struct segment *segment, struct bucket_range range, uint64_t *tags)
{
    const unsigned width = segment->tags.width;
    if (width > NARROW_WIDTH)
        return decode_tags_plainly(segment, range, tags);
    const uint32x4_t number_mask = vdupq_n_u32((uint32_t)low_bits(segment->number_bits));
    const int32x4_t to_counter = vdupq_n_s32(-segment->number_bits);
    uint64_t count = 0;
    for (uint32_t bucket = range.from; bucket < range.to; bucket++) {
        uint32x4x2_t packed = unpack(bucket_in(segment, segment->tags, bucket), width, &unpackings[width]);
        uint32_t kept = in_use(packed);
        for (int i = 0; i < 2; i++, kept >>= 4)
            count += write_pairs(tags + count, vshlq_u32(packed.val[i], to_counter), packed.val[i] & number_mask, kept);
    }
    return count;
}

/* No tag is without an entry, nor an entry without a tag: both are listed in the order of slots. */
static uint64_t decode_tagged(const struct segment *segment, struct bucket_range range, uint64_t *prefixes,
                              uint64_t *tags)
{
    if (segment->slots.width > NARROW_WIDTH)
        return decode_tagged_plainly(segment, range, prefixes, tags);
    (void)decode_tags(segment, range, tags);
    return decode_range(segment, range, prefixes, NULL, NULL);
}

const struct search_kernel search_kernel_neon = {{"neon", usable_everywhere},
                                                 contains_one,
                                                 contains_batch,
                                                 put_batch,
                                                 uncovered,
                                                 decode,
                                                 decode_positions,
                                                 decode_tagged,
                                                 decode_tags,
                                                 used_of,
                                                 find_move,
                                                 locate_all};
