/*
 * Look-ups with the vectors of WebAssembly: the eight slots of a bucket are twice four lanes of 32 bits.
 * search_unpacking.h says how they get there; since lanes cannot be shifted by different counts, they are multiplied
 * by powers of two, and shifted by the same count. Of a slot of more than 25 bits that leaves the lowest 25: the fourth
 * and fifth byte, multiplied by the same power, have the others. Where hashes belong is worked out in the plain way,
 * and so is all that concerns slots of more than 32 bits.
 *
 *     bytes     |   0    |   1    |   2    |   3    |   4    |      a slot of 30 bits that begins in bit 6
 *     slot       ......## ######## ######## ######## ####....
 *     lowest     bytes 0 to 3, times 2, shifted right by 7          bits 0 to 24
 *     highest    bytes 3 to 6, times 2, shifted left by 17          bits 18 to 29, and beyond these what the mask takes
 *
 * Compiled only where the compiler may use these vectors: a module either has them or not (../../bindings/js).
 */
#include "search_row.h"
#include "search_unpacking.h"
#include "slots.h"

#include <wasm_simd128.h>

/* Modules without removal are to be small, and few of their filters have wider slots: those of rates below 1e-4. */
#ifdef ROOST_WITHOUT_REMOVAL
#define WIDEST_IN_LANES FOUR_BYTES
#else
#define WIDEST_IN_LANES NARROW_WIDTH
#endif

/* How slots of one width are unpacked, where most is the same in all lanes. A slot begins in one of eight bits. */
#define MOST_SHIFT 7
#define BYTES_OF(w)                                                                                                    \
    {                                                                                                                  \
        LANE(w, 0), LANE(w, 1), LANE(w, 2), LANE(w, 3), LANE(w, 4), LANE(w, 5), LANE(w, 6), LANE(w, 7)                 \
    }
#define FACTOR(w, i) 1 << (MOST_SHIFT - (i) * (w) % 8)
#define FACTORS_OF(w)                                                                                                  \
    {                                                                                                                  \
        FACTOR(w, 0), FACTOR(w, 1), FACTOR(w, 2), FACTOR(w, 3), FACTOR(w, 4), FACTOR(w, 5), FACTOR(w, 6), FACTOR(w, 7) \
    }
#define EIGHT_ROWS(of, w)                                                                                              \
    of(w), of((w) + 1), of((w) + 2), of((w) + 3), of((w) + 4), of((w) + 5), of((w) + 6), of((w) + 7)

/* By width. */
static const uint8_t lane_bytes[WIDEST_IN_LANES + 1][32] = {
    EIGHT_ROWS(BYTES_OF, 0),
    EIGHT_ROWS(BYTES_OF, 8),
    EIGHT_ROWS(BYTES_OF, 16),
    BYTES_OF(24),
    BYTES_OF(25),
#if WIDEST_IN_LANES > FOUR_BYTES
    BYTES_OF(26),
    BYTES_OF(27),
    BYTES_OF(28),
    BYTES_OF(29),
    BYTES_OF(30),
    BYTES_OF(31),
    BYTES_OF(32),
#endif
};
/* By the width modulo 8. */
static const uint16_t lane_factors[8][8] = {EIGHT_ROWS(FACTORS_OF, 0)};

struct eight {
    v128_t low, high;
};

/* Where the fourth byte of a slot comes from, and where its first bit is once it is multiplied. */
#define FOURTH_BYTE 3
#define FOURTH_BIT  (8 * FOURTH_BYTE - MOST_SHIFT)

static ALWAYS_INLINE v128_t unpack_four(const uint8_t *slots, unsigned width, const uint8_t *bytes,
                                        const uint16_t *factors)
{
    const v128_t packed = wasm_v128_load(slots), places = wasm_v128_load(bytes), factor = wasm_u32x4_load16x4(factors);
    v128_t lanes = wasm_u32x4_shr(wasm_i32x4_mul(wasm_i8x16_swizzle(packed, places), factor), MOST_SHIFT);
    if (WIDEST_IN_LANES > FOUR_BYTES && width > FOUR_BYTES) {
        v128_t last = wasm_i8x16_swizzle(packed, wasm_i8x16_add(places, wasm_i8x16_const_splat(FOURTH_BYTE)));
        lanes |= wasm_i32x4_shl(wasm_i32x4_mul(last, factor), FOURTH_BIT);
    }
    return lanes & wasm_i32x4_splat((int32_t)low_bits(width));
}

static ALWAYS_INLINE struct eight unpack(const uint8_t *bucket, unsigned width)
{
    const uint8_t *bytes = lane_bytes[width];
    const uint16_t *factors = lane_factors[width % 8];
    return (struct eight){unpack_four(bucket, width, bytes, factors),
                          unpack_four(bucket + width / 2, width, bytes + 16, factors + 4)};
}

static ALWAYS_INLINE v128_t end_marks(v128_t held)
{
    return held & wasm_i32x4_neg(held);
}

/* Lanes whose slot differs only below twice its own mark, which is 0 in an empty one. Marks are below 2^31. */
static ALWAYS_INLINE v128_t matches(v128_t held, v128_t slot)
{
    return wasm_i32x4_gt(end_marks(held), wasm_u32x4_shr(held ^ slot, 1));
}

static ALWAYS_INLINE v128_t any_matches(struct eight held, v128_t slot)
{
    return matches(held.low, slot) | matches(held.high, slot);
}

/* A bit for each of eight lanes that is not 0. */
static ALWAYS_INLINE uint32_t in_use(struct eight slots)
{
    const v128_t zero = wasm_i32x4_const_splat(0);
    return FULL_BUCKET ^ (wasm_i32x4_bitmask(wasm_i32x4_eq(slots.low, zero)) |
                          wasm_i32x4_bitmask(wasm_i32x4_eq(slots.high, zero)) << 4);
}

static inline bool buckets_match(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot)
{
    if (__builtin_expect(width > WIDEST_IN_LANES, 0))
        return buckets_match_plainly(width, home, other, slot);
    const v128_t wanted = wasm_i32x4_splat((int32_t)slot),
                 beyond = wanted | wasm_i32x4_splat((int32_t)(1u << (width - 1)));
    return wasm_v128_any_true(any_matches(unpack(home, width), wanted) | any_matches(unpack(other, width), beyond));
}

/* Lanes that match and do not end later than this mark. */
static ALWAYS_INLINE v128_t covers(v128_t held, v128_t slot, v128_t mark)
{
    return matches(held, slot) & wasm_i32x4_ge(end_marks(held), mark);
}

static inline bool buckets_cover(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot,
                                 uint64_t mark)
{
    if (__builtin_expect(width > WIDEST_IN_LANES, 0))
        return buckets_cover_plainly(width, home, other, slot, mark);
    const v128_t wanted = wasm_i32x4_splat((int32_t)slot),
                 beyond = wanted | wasm_i32x4_splat((int32_t)(1u << (width - 1)));
    const v128_t marks = wasm_i32x4_splat((int32_t)mark);
    struct eight here = unpack(home, width), there = unpack(other, width);
    return wasm_v128_any_true(covers(here.low, wanted, marks) | covers(here.high, wanted, marks) |
                              covers(there.low, beyond, marks) | covers(there.high, beyond, marks));
}

static inline struct two_buckets look_at(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot)
{
    if (__builtin_expect(width > WIDEST_IN_LANES, 0))
        return look_at_plainly(width, home, other, slot);
    const v128_t wanted = wasm_i32x4_splat((int32_t)slot),
                 beyond = wanted | wasm_i32x4_splat((int32_t)(1u << (width - 1)));
    struct eight here = unpack(home, width), there = unpack(other, width);
    bool match = wasm_v128_any_true(any_matches(here, wanted) | any_matches(there, beyond));
    return (struct two_buckets){match, in_use(here), in_use(there)};
}

/* ---- rooms and ways ---------------------------------------------------------------------------------------------- */

static inline uint32_t used_of(const uint8_t *bucket, unsigned width)
{
    return width > WIDEST_IN_LANES ? used_plainly(bucket, width) : in_use(unpack(bucket, width));
}

static ALWAYS_INLINE v128_t offsets_of(const struct segment *segment, v128_t slots)
{
    return wasm_u32x4_shr(slots, rest_bits_of(segment)) & wasm_i32x4_const_splat((1 << OFFSET_BITS) - 1);
}

/* Lanes whose slot is not in its home bucket. */
static ALWAYS_INLINE v128_t have_moved(const struct segment *segment, v128_t slots)
{
    return wasm_i32x4_shr(wasm_i32x4_shl(slots, 32u - segment->slots.width), 31);
}

/* The buckets to which four slots can move. */
static ALWAYS_INLINE v128_t ways_of_four(const struct segment *segment, uint32_t bucket, v128_t slots)
{
    const v128_t buckets = wasm_i32x4_splat(segment->buckets), less_one = wasm_i32x4_splat(segment->buckets - 1);
    v128_t lowest_byte = offsets_of(segment, slots) | wasm_i32x4_const_splat((int)0x80808000); /* 0 from the others */
    v128_t parts = wasm_i8x16_swizzle(wasm_v128_load(distances_in_ring), lowest_byte);
    v128_t distance =
        wasm_i32x4_add(wasm_u32x4_shr(wasm_i32x4_mul(parts, less_one), DISTANCE_BITS), wasm_i32x4_const_splat(1));
    v128_t step = wasm_v128_bitselect(wasm_i32x4_sub(buckets, distance), distance, have_moved(segment, slots));
    v128_t way = wasm_i32x4_add(wasm_i32x4_splat((int32_t)bucket), step);
    return wasm_u32x4_min(way, wasm_i32x4_sub(way, buckets)); /* what is below 0 is large */
}

static inline void find_ways(const struct segment *segment, uint32_t bucket, struct ways_out *ways)
{
    const unsigned width = segment->slots.width;
    if (width > WIDEST_IN_LANES) {
        find_ways_plainly(segment, bucket, ways);
        return;
    }
    const v128_t rest = wasm_i32x4_splat((int32_t)low_bits(rest_bits_of(segment)));
    struct eight slots = unpack(slots_of(segment, bucket), width);
    wasm_v128_store(ways->buckets, ways_of_four(segment, bucket, slots.low));
    wasm_v128_store(ways->buckets + 4, ways_of_four(segment, bucket, slots.high));
    for (unsigned i = 0; i < SLOTS; i++)
        ways->slots[i] = slots_of(segment, ways->buckets[i]);
    ways->movable = in_use((struct eight){slots.low & rest, slots.high & rest});
}

#define locate_all locate_plainly

#include "search_loops.h"

/* ---- what a segment holds ---------------------------------------------------------------------------------------- */

/* What all slots of a segment have in common. */
struct decoding {
    v128_t rest_mask, only_mark, round_up, inverse, start;
    unsigned to_dividend, from_quotient, to_first, to_rest;
};

static ALWAYS_INLINE struct decoding decoding_of(const struct segment *segment)
{
    const unsigned rest_bits = rest_bits_of(segment), bits = segment->depth + segment->place_bits;
    const struct divisor divisor = divisor_of(segment->buckets);
    return (struct decoding){
        .rest_mask = wasm_i32x4_splat((int32_t)low_bits(rest_bits)),
        .only_mark = wasm_i32x4_splat(1 << (rest_bits - 1)),
        .round_up = wasm_i32x4_splat(segment->buckets - 1),
        .inverse = wasm_i32x4_splat((int32_t)divisor.inverse),
        .start = wasm_i64x2_splat((int64_t)segment->start),
        .to_dividend = segment->place_bits - OFFSET_BITS,
        .from_quotient = divisor.shift,
        .to_first = 64 - bits,
        .to_rest = 64 - rest_bits - bits,
    };
}

/* Bucket and offset that are the home of four slots in a bucket. */
static ALWAYS_INLINE v128_t homes_of(const struct segment *segment, uint32_t bucket, v128_t slots)
{
    v128_t way = ways_of_four(segment, bucket, slots), here = wasm_i32x4_splat((int32_t)bucket);
    v128_t home = wasm_v128_bitselect(way, here, have_moved(segment, slots));
    return wasm_i32x4_shl(home, OFFSET_BITS) | offsets_of(segment, slots);
}

/* Writes numbers without those that are not kept; what comes next goes over what is too much. Returns how many. */
static ALWAYS_INLINE uint32_t write_kept(uint64_t *numbers, v128_t low, v128_t high, uint32_t kept)
{
    uint32_t count = kept & 1;
    wasm_v128_store64_lane(numbers, low, 0);
    wasm_v128_store64_lane(numbers + count, low, 1);
    count += kept >> 1 & 1;
    wasm_v128_store64_lane(numbers + count, high, 0);
    count += kept >> 2 & 1;
    wasm_v128_store64_lane(numbers + count, high, 1);
    return count + (kept >> 3 & 1);
}

/* Of two products with the inverse, and two rests. */
static ALWAYS_INLINE v128_t prefixes_of(const struct decoding *decoding, v128_t products, v128_t rests)
{
    v128_t first = wasm_i64x2_shl(wasm_u64x2_shr(products, decoding->from_quotient), decoding->to_first);
    return decoding->start | first | wasm_i64x2_shl(rests, decoding->to_rest);
}

static ALWAYS_INLINE uint32_t write_prefixes(const struct decoding *decoding, uint64_t *prefixes, v128_t homes,
                                             v128_t rests, uint32_t kept)
{
    v128_t dividends = wasm_i32x4_add(wasm_i32x4_shl(homes, decoding->to_dividend), decoding->round_up);
    v128_t low = wasm_u64x2_extmul_low_u32x4(dividends, decoding->inverse);
    v128_t high = wasm_u64x2_extmul_high_u32x4(dividends, decoding->inverse);
    return write_kept(prefixes, prefixes_of(decoding, low, wasm_u64x2_extend_low_u32x4(rests)),
                      prefixes_of(decoding, high, wasm_u64x2_extend_high_u32x4(rests)), kept);
}

static ALWAYS_INLINE uint32_t write_pairs(uint64_t *pairs, v128_t low, v128_t high, uint32_t kept)
{
    return write_kept(pairs, wasm_i32x4_shuffle(low, high, 0, 4, 1, 5), wasm_i32x4_shuffle(low, high, 2, 6, 3, 7),
                      kept);
}

static void note_doubtful(struct unsure *unsure, uint64_t count, uint32_t doubtful, uint32_t kept)
{
    for (; doubtful; doubtful &= doubtful - 1)
        note_unsure(unsure, count + count_ones(kept & ((1u << lowest_bit(doubtful)) - 1)));
}

static ALWAYS_INLINE uint64_t decode_range(const struct segment *segment, struct bucket_range range, uint64_t *prefixes,
                                           uint64_t *origins, struct unsure *unsure)
{
    const unsigned width = segment->slots.width;
    const struct decoding decoding = decoding_of(segment);
    uint64_t count = 0;
    for (uint32_t bucket = range.from; bucket < range.to; bucket++) {
        struct eight slots = unpack(slots_of(segment, bucket), width);
        struct eight rests = {slots.low & decoding.rest_mask, slots.high & decoding.rest_mask};
        uint32_t kept = in_use(rests);
        v128_t low = wasm_i32x4_eq(rests.low, decoding.only_mark), high = wasm_i32x4_eq(rests.high, decoding.only_mark);
        if (unsure && __builtin_expect(wasm_v128_any_true(low | high), 0))
            note_doubtful(unsure, count, wasm_i32x4_bitmask(low) | wasm_i32x4_bitmask(high) << 4, kept);
        for (int32_t i = 0; i < 2; i++, kept >>= 4) {
            v128_t homes = homes_of(segment, bucket, i ? slots.high : slots.low);
            v128_t places =
                wasm_i32x4_add(wasm_i32x4_splat((int32_t)bucket * SLOTS + 4 * i), wasm_i32x4_const(0, 1, 2, 3));
            if (origins)
                (void)write_pairs(origins + count, homes, places, kept);
            count += write_prefixes(&decoding, prefixes + count, homes, i ? rests.high : rests.low, kept);
        }
    }
    return count;
}

static uint64_t decode(const struct segment *segment, uint64_t *prefixes, uint64_t *origins, struct unsure *unsure)
{
    const struct bucket_range all = {0, segment->buckets};
    if (segment->slots.width > WIDEST_IN_LANES)
        return decode_plainly(segment, prefixes, origins, unsure);
    return decode_range(segment, all, prefixes, origins, unsure);
}

static uint64_t decode_positions(const struct segment *segment, uint64_t *positions, uint64_t ends)
{
    struct unsure unsure = {.count = 0};
    return keep_positions(positions, decode(segment, positions, NULL, &unsure), ends);
}

#if HAS_TAGS
static uint64_t decode_tags(const struct segment *segment, struct bucket_range range, uint64_t *tags)
{
    const unsigned width = segment->tags.width;
    if (width > WIDEST_IN_LANES)
        return decode_tags_plainly(segment, range, tags);
    const v128_t number_mask = wasm_i32x4_splat((int32_t)low_bits(segment->number_bits));
    uint64_t count = 0;
    for (uint32_t bucket = range.from; bucket < range.to; bucket++) {
        struct eight packed = unpack(bucket_in(segment, segment->tags, bucket), width);
        uint32_t kept = in_use(packed);
        for (int i = 0; i < 2; i++, kept >>= 4) {
            v128_t four = i ? packed.high : packed.low;
            count += write_pairs(tags + count, wasm_u32x4_shr(four, segment->number_bits), four & number_mask, kept);
        }
    }
    return count;
}

/* No tag is without an entry, nor an entry without a tag: both are listed in the order of slots. */
static uint64_t decode_tagged(const struct segment *segment, struct bucket_range range, uint64_t *prefixes,
                              uint64_t *tags)
{
    if (segment->slots.width > WIDEST_IN_LANES)
        return decode_tagged_plainly(segment, range, prefixes, tags);
    (void)decode_tags(segment, range, tags);
    return decode_range(segment, range, prefixes, NULL, NULL);
}
#else
#define decode_tags   decode_tags_plainly
#define decode_tagged decode_tagged_plainly
#endif

const struct search_kernel search_kernel_simd128 = {
    {"simd128", usable_everywhere},
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
    locate_all,
};
