/*
 * Look-ups with AVX2: the eight slots of a bucket are eight lanes of 32 bits, or twice four of 64 bits.
 * search_unpacking.h says how they get there. Segments with slots of more than 32 bits are made in the plain way, and
 * listed so if they have no tags.
 */
#include "search_row.h"
#include "search_unpacking.h"
#include "slots.h"

#include <immintrin.h>
#include <stddef.h>

/* What the fifth bytes of slots have of them. */
static inline __m256i unpack_fifth(__m256i halves, unsigned width)
{
    const struct fifth_byte *fifth = &fifth_bytes[width - FOUR_BYTES - 1];
    return _mm256_sllv_epi32(_mm256_shuffle_epi8(halves, _mm256_load_si256((const __m256i *)fifth->bytes)),
                             _mm256_load_si256((const __m256i *)fifth->shifts));
}

static inline __m256i unpack(const uint8_t *bucket, unsigned width, const struct unpacking *unpacking)
{
    __m128i low = _mm_loadu_si128((const __m128i *)bucket),
            high = _mm_loadu_si128((const __m128i *)(bucket + width / 2));
    __m256i halves = _mm256_set_m128i(high, low);
    __m256i lanes = _mm256_shuffle_epi8(halves, _mm256_load_si256((const __m256i *)unpacking->bytes));
    lanes = _mm256_srlv_epi32(lanes, _mm256_load_si256((const __m256i *)unpacking->shifts));
    if (width > FOUR_BYTES)
        lanes = _mm256_or_si256(lanes, unpack_fifth(halves, width));
    return _mm256_and_si256(lanes, _mm256_load_si256((const __m256i *)unpacking->mask));
}

/* Lanes whose slot differs only below twice its own mark. Halves are compared, because it is a comparison of signed
   numbers; the highest bit of a slot is never its mark. */
static inline __m256i matches(__m256i held, __m256i slot)
{
    __m256i mark = _mm256_and_si256(held, _mm256_sub_epi32(_mm256_setzero_si256(), held));
    return _mm256_cmpgt_epi32(mark, _mm256_srli_epi32(_mm256_xor_si256(held, slot), 1));
}

static inline uint32_t in_use(__m256i slots)
{
    __m256i empty = _mm256_cmpeq_epi32(slots, _mm256_setzero_si256());
    return ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(empty)) & 0xff;
}

/* ---- wide slots ---- */

/* Slots 0 to 3, or 4 to 7. */
static inline __m256i unpack_wide(const uint8_t *bucket, unsigned width, unsigned half)
{
    const struct wide_unpacking *unpacking = &wide_unpackings[width - NARROW_WIDTH - 1];
    __m128i low = _mm_loadu_si128((const __m128i *)(bucket + half * 4 * width / 8)),
            high = _mm_loadu_si128((const __m128i *)(bucket + (half * 4 + 2) * width / 8));
    __m256i lanes = _mm256_shuffle_epi8(_mm256_set_m128i(high, low),
                                        _mm256_load_si256((const __m256i *)unpacking->bytes[2 * half]));
    lanes = _mm256_srlv_epi64(lanes, _mm256_load_si256((const __m256i *)(unpacking->shifts + 4 * half)));
    return _mm256_and_si256(lanes, _mm256_set1_epi64x((long long)low_bits(width)));
}

static inline __m256i matches_wide(__m256i held, __m256i slot)
{
    __m256i mark = _mm256_and_si256(held, _mm256_sub_epi64(_mm256_setzero_si256(), held));
    return _mm256_cmpgt_epi64(mark, _mm256_srli_epi64(_mm256_xor_si256(held, slot), 1));
}

static inline uint32_t in_use_wide(__m256i slots)
{
    __m256i empty = _mm256_cmpeq_epi64(slots, _mm256_setzero_si256());
    return ~(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(empty)) & 0xf;
}

static __attribute__((noinline)) struct two_buckets look_at_wide(unsigned width, const uint8_t *home,
                                                                 const uint8_t *other, uint64_t slot)
{
    const __m256i wanted = _mm256_set1_epi64x((long long)slot);
    const __m256i beyond = _mm256_set1_epi64x((long long)(slot | UINT64_C(1) << (width - 1)));
    __m256i homes[2] = {unpack_wide(home, width, 0), unpack_wide(home, width, 1)};
    __m256i others[2] = {unpack_wide(other, width, 0), unpack_wide(other, width, 1)};
    __m256i at_home = _mm256_or_si256(matches_wide(homes[0], wanted), matches_wide(homes[1], wanted));
    __m256i at_other = _mm256_or_si256(matches_wide(others[0], beyond), matches_wide(others[1], beyond));
    __m256i found = _mm256_or_si256(at_home, at_other);
    return (struct two_buckets){!_mm256_testz_si256(found, found), in_use_wide(homes[0]) | in_use_wide(homes[1]) << 4,
                                in_use_wide(others[0]) | in_use_wide(others[1]) << 4};
}

/* ---- any slots ---- */

static inline bool buckets_match(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot)
{
    if (__builtin_expect(width > NARROW_WIDTH, 0))
        return look_at_wide(width, home, other, slot).match;
    const struct unpacking *unpacking = &unpackings[width];
    __m256i wanted = _mm256_set1_epi32((int)(uint32_t)slot);
    __m256i beyond = _mm256_xor_si256(wanted, _mm256_load_si256((const __m256i *)unpacking->flag));
    __m256i found = _mm256_or_si256(matches(unpack(home, width, unpacking), wanted),
                                    matches(unpack(other, width, unpacking), beyond));
    return !_mm256_testz_si256(found, found);
}

/* Lanes that match and do not end later than this mark. */
static inline __m256i covers(__m256i held, __m256i slot, __m256i mark)
{
    __m256i held_mark = _mm256_and_si256(held, _mm256_sub_epi32(_mm256_setzero_si256(), held));
    __m256i match = _mm256_cmpgt_epi32(held_mark, _mm256_srli_epi32(_mm256_xor_si256(held, slot), 1));
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(mark, held_mark), match);
}

static inline bool buckets_cover(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot,
                                 uint64_t mark)
{
    if (__builtin_expect(width > NARROW_WIDTH, 0))
        return buckets_cover_plainly(width, home, other, slot, mark);
    const struct unpacking *unpacking = &unpackings[width];
    __m256i wanted = _mm256_set1_epi32((int)(uint32_t)slot), marks = _mm256_set1_epi32((int)(uint32_t)mark);
    __m256i beyond = _mm256_xor_si256(wanted, _mm256_load_si256((const __m256i *)unpacking->flag));
    __m256i found = _mm256_or_si256(covers(unpack(home, width, unpacking), wanted, marks),
                                    covers(unpack(other, width, unpacking), beyond, marks));
    return !_mm256_testz_si256(found, found);
}

static inline struct two_buckets look_at(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot)
{
    if (__builtin_expect(width > NARROW_WIDTH, 0))
        return look_at_wide(width, home, other, slot);
    const struct unpacking *unpacking = &unpackings[width];
    __m256i wanted = _mm256_set1_epi32((int)(uint32_t)slot);
    __m256i beyond = _mm256_xor_si256(wanted, _mm256_load_si256((const __m256i *)unpacking->flag));
    __m256i at_home = unpack(home, width, unpacking), at_other = unpack(other, width, unpacking);
    __m256i found = _mm256_or_si256(matches(at_home, wanted), matches(at_other, beyond));
    return (struct two_buckets){!_mm256_testz_si256(found, found), in_use(at_home), in_use(at_other)};
}

/* By offset, in lanes of 32 or 64 bits: the parts of distance_of. */
static inline __m256i distance_parts(__m256i offset)
{
    const __m128i distances = _mm_loadu_si128((const __m128i *)distances_in_ring);
    __m256i lowest_byte = _mm256_or_si256(offset, _mm256_set1_epi32((int)0x80808000)); /* 0 from the others */
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(distances), lowest_byte);
}

/* ---- where four hashes belong ------------------------------------------------------------------------------------
 *
 * slot_place_of and slots_of, in four lanes of 64 bits. The sixteen bytes that a segment has for it are read at once.
 */

#define HEADER offsetof(struct segment, spill_count)
_Static_assert(offsetof(struct segment, buckets) == HEADER + 4 && offsetof(struct segment, depth) == HEADER + 6 &&
                   offsetof(struct segment, place_bits) == HEADER + 7 && offsetof(struct segment, slots) == HEADER + 8,
               "the header as two words");
_Static_assert(offsetof(struct lane, width) == 0 && offsetof(struct lane, per_block) == 1 &&
                   offsetof(struct lane, reciprocal) == 4,
               "the second word");

/* Four times two words: the first ones in one vector, the second ones in the other. */
static inline void load_words(__m256i *first, __m256i *second, const void *a, const void *b, const void *c,
                              const void *d)
{
    __m256i even = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(a)), _mm_loadu_si128(c), 1);
    __m256i odd = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(b)), _mm_loadu_si128(d), 1);
    *first = _mm256_unpacklo_epi64(even, odd);
    *second = _mm256_unpackhi_epi64(even, odd);
}

static inline __m256i byte_of(__m256i words, int shift)
{
    return _mm256_and_si256(_mm256_srli_epi64(words, shift), _mm256_set1_epi64x(0xff));
}

static inline const uint8_t *header_of(const struct segment *segment)
{
    return (const uint8_t *)segment + HEADER;
}

/* The block of each bucket, and where it begins there. */
static inline void locate(uint64_t *blocks, uint64_t *bytes, __m256i bucket, __m256i lanes)
{
    __m256i block = _mm256_srli_epi64(_mm256_mul_epu32(bucket, _mm256_srli_epi64(lanes, 32)), 20);
    __m256i inside = _mm256_sub_epi64(bucket, _mm256_mul_epu32(block, byte_of(lanes, 8)));
    _mm256_storeu_si256((__m256i *)blocks, block);
    _mm256_storeu_si256((__m256i *)bytes, _mm256_mul_epu32(inside, byte_of(lanes, 0)));
}

#define BEGINS_FOUR

static inline bool begin_four(struct row *row, const roost_hash *hashes, size_t first_key)
{
    struct segment *const *segments = row->segments + first_key;
    __m256i unused, hash, sizes, lanes;
    load_words(&unused, &hash, hashes, hashes + 1, hashes + 2, hashes + 3);
    load_words(&sizes, &lanes, header_of(segments[0]), header_of(segments[1]), header_of(segments[2]),
               header_of(segments[3]));
    const __m256i one = _mm256_set1_epi64x(1), word = _mm256_set1_epi64x(64), flag_and_offset = _mm256_set1_epi64x(5);
    __m256i depth = byte_of(sizes, 48), place_bits = _mm256_srli_epi64(sizes, 56), width = byte_of(lanes, 0);
    __m256i buckets = _mm256_and_si256(_mm256_srli_epi64(sizes, 32), _mm256_set1_epi64x(0xffff));
    __m256i inside = _mm256_sllv_epi64(hash, depth);
    __m256i first = _mm256_srlv_epi64(inside, _mm256_sub_epi64(word, place_bits));
    __m256i scaled = _mm256_srlv_epi64(_mm256_mul_epu32(first, buckets),
                                       _mm256_sub_epi64(place_bits, _mm256_set1_epi64x(OFFSET_BITS)));
    __m256i home = _mm256_srli_epi64(scaled, OFFSET_BITS), offset = _mm256_and_si256(scaled, _mm256_set1_epi64x(15));
    __m256i distance =
        _mm256_srli_epi64(_mm256_mul_epu32(distance_parts(offset), _mm256_sub_epi64(buckets, one)), DISTANCE_BITS);
    __m256i other = _mm256_add_epi64(_mm256_add_epi64(home, distance), one);
    other = _mm256_sub_epi64(other, _mm256_andnot_si256(_mm256_cmpgt_epi32(buckets, other), buckets));
    __m256i rest_bits = _mm256_sub_epi64(width, flag_and_offset);
    __m256i rest = _mm256_srlv_epi64(_mm256_sllv_epi64(inside, place_bits), _mm256_sub_epi64(word, rest_bits));
    _mm256_storeu_si256((__m256i *)(row->slots + first_key),
                        _mm256_or_si256(_mm256_sllv_epi64(offset, rest_bits), rest));
    _mm256_storeu_si256((__m256i *)(row->widths + first_key), width);
    _mm256_storeu_si256((__m256i *)(row->home_buckets + first_key), home);
    _mm256_storeu_si256((__m256i *)(row->other_buckets + first_key), other);
    uint64_t blocks[2][4], bytes[2][4];
    locate(blocks[0], bytes[0], home, lanes);
    locate(blocks[1], bytes[1], other, lanes);
    for (unsigned i = 0; i < 4; i++) {
        row->homes[first_key + i] = segments[i]->blocks[blocks[0][i]] + bytes[0][i];
        row->others[first_key + i] = segments[i]->blocks[blocks[1][i]] + bytes[1][i];
        __builtin_prefetch(row->homes[first_key + i]);
        __builtin_prefetch(row->others[first_key + i]);
        __builtin_prefetch(row->homes[first_key + i] + row->widths[first_key + i]); /* they may end in the next line */
        __builtin_prefetch(row->others[first_key + i] + row->widths[first_key + i]);
    }
    __m256i spilled = _mm256_slli_epi64(sizes, 32);
    return _mm256_testz_si256(spilled, spilled);
}

/* ---- rooms and ways ---------------------------------------------------------------------------------------------- */

static inline uint32_t used_of(const uint8_t *bucket, unsigned width)
{
    if (width > NARROW_WIDTH)
        return in_use_wide(unpack_wide(bucket, width, 0)) | in_use_wide(unpack_wide(bucket, width, 1)) << 4;
    return in_use(unpack(bucket, width, &unpackings[width]));
}

/* The slots of eight buckets. */
static inline void slots_of_eight(const struct segment *segment, __m256i buckets, const uint8_t *slots[SLOTS])
{
    const struct lane lane = segment->slots;
    uint32_t blocks[SLOTS], bytes[SLOTS];
    __m256i block = _mm256_srli_epi32(_mm256_mullo_epi32(buckets, _mm256_set1_epi32((int)lane.reciprocal)), 20);
    __m256i inside = _mm256_sub_epi32(buckets, _mm256_mullo_epi32(block, _mm256_set1_epi32(lane.per_block)));
    _mm256_storeu_si256((__m256i *)blocks, block);
    _mm256_storeu_si256((__m256i *)bytes, _mm256_mullo_epi32(inside, _mm256_set1_epi32(lane.width)));
    for (unsigned i = 0; i < SLOTS; i++)
        slots[i] = segment->blocks[blocks[i]] + bytes[i];
}

static inline void find_ways(const struct segment *segment, uint32_t bucket, struct ways_out *ways)
{
    const unsigned width = segment->slots.width, rest_bits = rest_bits_of(segment);
    if (width > NARROW_WIDTH) {
        find_ways_plainly(segment, bucket, ways);
        return;
    }
    const __m256i buckets = _mm256_set1_epi32(segment->buckets), zero = _mm256_setzero_si256();
    __m256i slots = unpack(slots_of(segment, bucket), width, &unpackings[width]);
    __m256i offset =
        _mm256_and_si256(_mm256_srl_epi32(slots, _mm_cvtsi32_si128((int)rest_bits)), _mm256_set1_epi32(15));
    __m256i moved = _mm256_srai_epi32(_mm256_sll_epi32(slots, _mm_cvtsi32_si128((int)(32 - width))), 31);
    __m256i parts = _mm256_mullo_epi32(distance_parts(offset), _mm256_set1_epi32(segment->buckets - 1));
    __m256i distance = _mm256_add_epi32(_mm256_srli_epi32(parts, DISTANCE_BITS), _mm256_set1_epi32(1));
    distance = _mm256_sub_epi32(_mm256_xor_si256(distance, moved), moved); /* back, where it moved before */
    __m256i way = _mm256_add_epi32(_mm256_set1_epi32((int)bucket), distance);
    way = _mm256_add_epi32(way, _mm256_and_si256(buckets, _mm256_srai_epi32(way, 31)));
    way = _mm256_sub_epi32(way, _mm256_andnot_si256(_mm256_cmpgt_epi32(buckets, way), buckets));
    _mm256_storeu_si256((__m256i *)ways->buckets, way);
    slots_of_eight(segment, way, ways->slots);
    __m256i rests = _mm256_and_si256(slots, _mm256_set1_epi32((int)low_bits(rest_bits)));
    ways->movable = ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(rests, zero))) & 0xff;
}

static void locate_all(const struct segment *segment, uint64_t *places, const uint64_t *prefixes, size_t count)
{
    const unsigned rest_bits = rest_bits_of(segment);
    const __m256i buckets = _mm256_set1_epi64x(segment->buckets), one = _mm256_set1_epi64x(1);
    const __m256i less_one = _mm256_set1_epi64x(segment->buckets - 1), offset_mask = _mm256_set1_epi64x(15);
    const __m128i depth = _mm_cvtsi32_si128(segment->depth), place_bits = _mm_cvtsi32_si128(segment->place_bits);
    const __m128i to_first = _mm_cvtsi32_si128(64 - segment->place_bits), up = _mm_cvtsi32_si128((int)rest_bits);
    const __m128i to_offset = _mm_cvtsi32_si128(segment->place_bits - OFFSET_BITS);
    const __m128i to_rest = _mm_cvtsi32_si128((int)(64 - rest_bits));
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        __m256i inside = _mm256_sll_epi64(_mm256_loadu_si256((const __m256i *)(prefixes + i)), depth);
        __m256i scaled = _mm256_srl_epi64(_mm256_mul_epu32(_mm256_srl_epi64(inside, to_first), buckets), to_offset);
        __m256i home = _mm256_srli_epi64(scaled, OFFSET_BITS), offset = _mm256_and_si256(scaled, offset_mask);
        __m256i distance = _mm256_srli_epi64(_mm256_mul_epu32(distance_parts(offset), less_one), DISTANCE_BITS);
        __m256i other = _mm256_add_epi64(_mm256_add_epi64(home, distance), one);
        other = _mm256_sub_epi64(other, _mm256_andnot_si256(_mm256_cmpgt_epi32(buckets, other), buckets));
        __m256i rest = _mm256_srl_epi64(_mm256_sll_epi64(inside, place_bits), to_rest);
        __m256i slot = _mm256_or_si256(_mm256_sll_epi64(offset, up), rest);
        __m256i place = _mm256_or_si256(_mm256_slli_epi64(slot, 32), _mm256_slli_epi64(other, 16));
        _mm256_storeu_si256((__m256i *)(places + i), _mm256_or_si256(place, home));
    }
    for (; i < count; i++)
        places[i] = packed_place(slot_place_of(segment, prefixes[i]));
}

#include "search_loops.h"

/* ---- what a segment holds ---------------------------------------------------------------------------------------- */

/* What all slots of a segment have in common. */
struct decoding {
    __m256i rest_mask, only_mark, offset_mask, less_one, buckets, start, round_up, inverse;
    __m128i to_offset, to_flag, to_dividend, from_quotient, rest_up, rest_down, to_first;
};

static inline void divide_by_buckets(struct decoding *decoding, uint32_t buckets)
{
    const struct divisor divisor = divisor_of(buckets);
    decoding->inverse = _mm256_set1_epi64x((long long)divisor.inverse);
    decoding->from_quotient = _mm_cvtsi32_si128((int)divisor.shift);
}

static inline struct decoding decoding_of(const struct segment *segment)
{
    const unsigned rest_bits = rest_bits_of(segment), bits = (unsigned)segment->depth + segment->place_bits;
    struct decoding decoding = {
        .rest_mask = _mm256_set1_epi32((int)low_bits(rest_bits)),
        .only_mark = _mm256_set1_epi32((int)(UINT64_C(1) << (rest_bits - 1))),
        .offset_mask = _mm256_set1_epi32((1 << OFFSET_BITS) - 1),
        .less_one = _mm256_set1_epi32(segment->buckets - 1),
        .buckets = _mm256_set1_epi32(segment->buckets),
        .start = _mm256_set1_epi64x((long long)segment->start),
        .round_up = _mm256_set1_epi64x(segment->buckets - 1),
        .to_offset = _mm_cvtsi32_si128((int)rest_bits),
        .to_flag = _mm_cvtsi32_si128(32 - segment->slots.width),
        .to_dividend = _mm_cvtsi32_si128(segment->place_bits - OFFSET_BITS),
        .rest_up = _mm_cvtsi32_si128((int)(64 - rest_bits)),
        .rest_down = _mm_cvtsi32_si128((int)bits),
        .to_first = _mm_cvtsi32_si128((int)(64 - bits)),
    };
    divide_by_buckets(&decoding, segment->buckets);
    return decoding;
}

/* Bucket and offset that are the home of slots in a bucket. */
static inline __m256i homes_of(const struct decoding *decoding, __m256i slots, uint32_t bucket)
{
    __m256i offset = _mm256_and_si256(_mm256_srl_epi32(slots, decoding->to_offset), decoding->offset_mask);
    __m256i moved = _mm256_srai_epi32(_mm256_sll_epi32(slots, decoding->to_flag), 31);
    __m256i distance = _mm256_srli_epi32(_mm256_mullo_epi32(distance_parts(offset), decoding->less_one), DISTANCE_BITS);
    distance = _mm256_sub_epi32(distance, moved); /* one more, where it counts */
    __m256i home = _mm256_sub_epi32(_mm256_set1_epi32((int)bucket), _mm256_and_si256(distance, moved));
    home = _mm256_add_epi32(home, _mm256_and_si256(decoding->buckets, _mm256_srai_epi32(home, 31)));
    return _mm256_or_si256(_mm256_slli_epi32(home, OFFSET_BITS), offset);
}

/* In lanes of 64 bits. */
static inline __m256i prefixes_of(const struct decoding *decoding, __m256i homes, __m256i rests)
{
    __m256i dividend = _mm256_add_epi64(_mm256_sll_epi64(homes, decoding->to_dividend), decoding->round_up);
    __m256i first = _mm256_srl_epi64(_mm256_mul_epu32(dividend, decoding->inverse), decoding->from_quotient);
    __m256i rest = _mm256_srl_epi64(_mm256_sll_epi64(rests, decoding->rest_up), decoding->rest_down);
    return _mm256_or_si256(_mm256_or_si256(decoding->start, rest), _mm256_sll_epi64(first, decoding->to_first));
}

/* For each set of four lanes: which of their eight halves are kept, moved to the front. */
#define KEPT(a, b, c, d)                                                                                               \
    {                                                                                                                  \
        2 * (a), 2 * (a) + 1, 2 * (b), 2 * (b) + 1, 2 * (c), 2 * (c) + 1, 2 * (d), 2 * (d) + 1                         \
    }
static const uint32_t kept_lanes[16][8] __attribute__((aligned(32))) = {
    KEPT(0, 0, 0, 0), KEPT(0, 0, 0, 0), KEPT(1, 0, 0, 0), KEPT(0, 1, 0, 0), KEPT(2, 0, 0, 0), KEPT(0, 2, 0, 0),
    KEPT(1, 2, 0, 0), KEPT(0, 1, 2, 0), KEPT(3, 0, 0, 0), KEPT(0, 3, 0, 0), KEPT(1, 3, 0, 0), KEPT(0, 1, 3, 0),
    KEPT(2, 3, 0, 0), KEPT(0, 2, 3, 0), KEPT(1, 2, 3, 0), KEPT(0, 1, 2, 3)};

/* Writes four numbers without those that are not kept; what comes next goes over what is too much. */
static inline void write_kept(uint64_t *numbers, __m256i four, uint32_t kept)
{
    __m256i lanes = _mm256_load_si256((const __m256i *)kept_lanes[kept]);
    _mm256_storeu_si256((__m256i *)numbers, _mm256_permutevar8x32_epi32(four, lanes));
}

/* Of eight slots, in order: those of two sets of four that were decoded together, slots 0, 1, 4, 5 and the others. */
static void note_all_unsure(struct unsure *unsure, uint32_t lanes, uint64_t low, uint32_t kept_low, uint64_t high,
                            uint32_t kept_high)
{
    for (unsigned set = 0; set < 2; set++)
        for (uint32_t left = lanes & (set ? 0xcc : 0x33); left; left &= left - 1) {
            unsigned lane = lowest_bit(left), place = (lane & 1) | (lane >> 1 & 2);
            uint32_t before = (set ? kept_high : kept_low) & ((1u << place) - 1);
            note_unsure(unsure, (set ? high : low) + (uint32_t)__builtin_popcount(before));
        }
}

static ALWAYS_INLINE uint64_t decode_all(const struct segment *segment, uint64_t *prefixes, uint64_t *origins,
                                         struct unsure *unsure)
{
    const unsigned width = segment->slots.width;
    const struct decoding decoding = decoding_of(segment);
    const __m256i zero = _mm256_setzero_si256();
    __m256i positions = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    uint64_t count = 0;
    for (uint32_t bucket = 0; bucket < segment->buckets; bucket++) {
        __m256i slots = unpack(slots_of(segment, bucket), width, &unpackings[width]);
        __m256i rests = _mm256_and_si256(slots, decoding.rest_mask), homes = homes_of(&decoding, slots, bucket);
        uint32_t kept = ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(rests, zero)));
        uint32_t kept_low = (kept & 3) | (kept >> 2 & 12), kept_high = (kept >> 2 & 3) | (kept >> 4 & 12);
        __m256i low = prefixes_of(&decoding, _mm256_unpacklo_epi32(homes, zero), _mm256_unpacklo_epi32(rests, zero));
        __m256i high = prefixes_of(&decoding, _mm256_unpackhi_epi32(homes, zero), _mm256_unpackhi_epi32(rests, zero));
        uint64_t middle = count + (uint32_t)__builtin_popcount(kept_low);
        uint32_t doubtful =
            (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(rests, decoding.only_mark)));
        if (__builtin_expect(doubtful != 0, 0))
            note_all_unsure(unsure, doubtful, count, kept_low, middle, kept_high);
        write_kept(prefixes + count, low, kept_low);
        write_kept(prefixes + middle, high, kept_high);
        if (origins) {
            write_kept(origins + count, _mm256_unpacklo_epi32(homes, positions), kept_low);
            write_kept(origins + middle, _mm256_unpackhi_epi32(homes, positions), kept_high);
            positions = _mm256_add_epi32(positions, _mm256_set1_epi32(SLOTS));
        }
        count = middle + (uint32_t)__builtin_popcount(kept_high);
    }
    return count;
}

static uint64_t decode(const struct segment *segment, uint64_t *prefixes, uint64_t *origins, struct unsure *unsure)
{
    if (segment->slots.width > NARROW_WIDTH)
        return decode_plainly(segment, prefixes, origins, unsure);
    return origins ? decode_all(segment, prefixes, origins, unsure) : decode_all(segment, prefixes, NULL, unsure);
}

/* ---- the same as positions ---- */

/* How far up the lowest bit that is set is, in each lane: the exponent of that bit as a number. Lanes without a bit have
   any. */
static inline __m256i lowest_bits(__m256i marks)
{
    __m256i exponents = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(marks)), 23);
    return _mm256_sub_epi32(exponents, _mm256_set1_epi32(127));
}

/* In lanes of 64 bits, of prefixes whose ends are so far up. */
static inline __m256i positions_of(__m256i prefixes, __m256i ends)
{
    __m256i numbers = _mm256_srli_epi64(_mm256_srlv_epi64(prefixes, ends), 1);
    return _mm256_or_si256(numbers, _mm256_srlv_epi64(_mm256_set1_epi64x((long long)(UINT64_C(1) << 63)), ends));
}

/* The end of a prefix is that of the rest in its slot, which says before anything is decoded whether it is wanted. */
static uint64_t decode_positions(const struct segment *segment, uint64_t *positions, uint64_t ends)
{
    const unsigned width = segment->slots.width, bits = (unsigned)segment->depth + segment->place_bits;
    const int lowest = 64 - (int)bits - (int)rest_bits_of(segment); /* bit of a prefix in a slot */
    if (width > NARROW_WIDTH || lowest < 0)
        return decode_positions_plainly(segment, positions, ends);
    const struct decoding decoding = decoding_of(segment);
    const __m256i zero = _mm256_setzero_si256(), up = _mm256_set1_epi32(lowest);
    const __m256i wanted = _mm256_and_si256(_mm256_set1_epi32((int)(ends >> lowest)), decoding.rest_mask);
    uint64_t count = 0;
    for (uint32_t bucket = 0; bucket < segment->buckets; bucket++) {
        __m256i slots = unpack(slots_of(segment, bucket), width, &unpackings[width]);
        __m256i rests = _mm256_and_si256(slots, decoding.rest_mask), homes = homes_of(&decoding, slots, bucket);
        __m256i marks = _mm256_and_si256(rests, _mm256_sub_epi32(zero, rests));
        __m256i others = _mm256_cmpeq_epi32(_mm256_and_si256(marks, wanted), zero);
        __m256i up_to_ends = _mm256_add_epi32(lowest_bits(marks), up);
        uint32_t kept = ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(others));
        uint32_t kept_low = (kept & 3) | (kept >> 2 & 12), kept_high = (kept >> 2 & 3) | (kept >> 4 & 12);
        __m256i low = prefixes_of(&decoding, _mm256_unpacklo_epi32(homes, zero), _mm256_unpacklo_epi32(rests, zero));
        __m256i high = prefixes_of(&decoding, _mm256_unpackhi_epi32(homes, zero), _mm256_unpackhi_epi32(rests, zero));
        write_kept(positions + count, positions_of(low, _mm256_unpacklo_epi32(up_to_ends, zero)), kept_low);
        count += (uint32_t)__builtin_popcount(kept_low);
        write_kept(positions + count, positions_of(high, _mm256_unpackhi_epi32(up_to_ends, zero)), kept_high);
        count += (uint32_t)__builtin_popcount(kept_high);
    }
    return count;
}

/* ---- the same with tags ---- */

/* What all tags of a segment have in common. */
struct tag_decoding {
    struct lane lane;
    const struct unpacking *unpacking;
    __m256i number_mask;
    __m128i number_bits;
};

static inline struct tag_decoding tag_decoding_of(const struct segment *segment)
{
    return (struct tag_decoding){segment->tags, &unpackings[segment->tags.width],
                                 _mm256_set1_epi32((int)low_bits(segment->number_bits)),
                                 _mm_cvtsi32_si128(segment->number_bits)};
}

/* Counters and numbers of a bucket. */
static inline void unpack_tags(const struct tag_decoding *decoding, const struct segment *segment, uint32_t bucket,
                               __m256i *counters, __m256i *numbers)
{
    __m256i tags = unpack(bucket_in(segment, decoding->lane, bucket), decoding->lane.width, decoding->unpacking);
    *counters = _mm256_srl_epi32(tags, decoding->number_bits);
    *numbers = _mm256_and_si256(tags, decoding->number_mask);
}

static uint64_t decode_narrow(const struct segment *segment, struct bucket_range range, uint64_t *prefixes,
                              uint64_t *tags)
{
    const unsigned width = segment->slots.width;
    const struct decoding decoding = decoding_of(segment);
    const struct tag_decoding tag_decoding = tag_decoding_of(segment);
    const __m256i zero = _mm256_setzero_si256();
    uint64_t count = 0;
    for (uint32_t bucket = range.from; bucket < range.to; bucket++) {
        __m256i slots = unpack(slots_of(segment, bucket), width, &unpackings[width]), counters, numbers;
        __m256i rests = _mm256_and_si256(slots, decoding.rest_mask), homes = homes_of(&decoding, slots, bucket);
        uint32_t kept = ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(rests, zero)));
        uint32_t kept_low = (kept & 3) | (kept >> 2 & 12), kept_high = (kept >> 2 & 3) | (kept >> 4 & 12);
        unpack_tags(&tag_decoding, segment, bucket, &counters, &numbers);
        __m256i low = prefixes_of(&decoding, _mm256_unpacklo_epi32(homes, zero), _mm256_unpacklo_epi32(rests, zero));
        __m256i high = prefixes_of(&decoding, _mm256_unpackhi_epi32(homes, zero), _mm256_unpackhi_epi32(rests, zero));
        write_kept(prefixes + count, low, kept_low);
        write_kept(tags + count, _mm256_unpacklo_epi32(counters, numbers), kept_low);
        count += (uint32_t)__builtin_popcount(kept_low);
        write_kept(prefixes + count, high, kept_high);
        write_kept(tags + count, _mm256_unpackhi_epi32(counters, numbers), kept_high);
        count += (uint32_t)__builtin_popcount(kept_high);
    }
    return count;
}

/* Bucket and offset that are the home of slots in lanes of 64 bits. */
static inline __m256i wide_homes_of(const struct decoding *decoding, __m256i slots, uint32_t bucket, __m128i to_flag)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i offset = _mm256_and_si256(_mm256_srl_epi64(slots, decoding->to_offset), _mm256_set1_epi64x(15));
    __m256i moved = _mm256_sub_epi64(zero, _mm256_srl_epi64(slots, to_flag));
    __m256i parts = _mm256_mul_epu32(distance_parts(offset), decoding->round_up); /* the number of buckets less one */
    __m256i distance = _mm256_add_epi64(_mm256_srli_epi64(parts, DISTANCE_BITS), _mm256_set1_epi64x(1));
    __m256i home = _mm256_sub_epi64(_mm256_set1_epi64x(bucket), _mm256_and_si256(distance, moved));
    __m256i buckets = _mm256_add_epi64(decoding->round_up, _mm256_set1_epi64x(1));
    home = _mm256_add_epi64(home, _mm256_and_si256(buckets, _mm256_cmpgt_epi64(zero, home)));
    return _mm256_or_si256(_mm256_slli_epi64(home, OFFSET_BITS), offset);
}

static uint64_t decode_wide(const struct segment *segment, struct bucket_range range, uint64_t *prefixes,
                            uint64_t *tags)
{
    const unsigned width = segment->slots.width;
    const struct decoding decoding = decoding_of(segment);
    const struct tag_decoding tag_decoding = tag_decoding_of(segment);
    const __m256i zero = _mm256_setzero_si256(),
                  rest_mask = _mm256_set1_epi64x((long long)low_bits(rest_bits_of(segment)));
    const __m128i to_flag = _mm_cvtsi32_si128((int)width - 1);
    uint64_t count = 0;
    for (uint32_t bucket = range.from; bucket < range.to; bucket++) {
        __m256i counters, numbers;
        unpack_tags(&tag_decoding, segment, bucket, &counters, &numbers);
        for (unsigned half = 0; half < 2; half++) {
            __m256i slots = unpack_wide(slots_of(segment, bucket), width, half);
            __m256i rests = _mm256_and_si256(slots, rest_mask);
            __m256i homes = wide_homes_of(&decoding, slots, bucket, to_flag);
            uint32_t kept = ~(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(rests, zero))) & 15;
            __m256i counter =
                _mm256_cvtepu32_epi64(half ? _mm256_extracti128_si256(counters, 1) : _mm256_castsi256_si128(counters));
            __m256i number =
                _mm256_cvtepu32_epi64(half ? _mm256_extracti128_si256(numbers, 1) : _mm256_castsi256_si128(numbers));
            write_kept(prefixes + count, prefixes_of(&decoding, homes, rests), kept);
            write_kept(tags + count, _mm256_or_si256(_mm256_slli_epi64(number, 32), counter), kept);
            count += (uint32_t)__builtin_popcount(kept);
        }
    }
    return count;
}

static uint64_t decode_tagged(const struct segment *segment, struct bucket_range range, uint64_t *prefixes,
                              uint64_t *tags)
{
    if (segment->tags.width > NARROW_WIDTH)
        return decode_tagged_plainly(segment, range, prefixes, tags);
    return segment->slots.width > NARROW_WIDTH ? decode_wide(segment, range, prefixes, tags)
                                               : decode_narrow(segment, range, prefixes, tags);
}

/* Slots 0, 1, 4, 5 and then the others, as decode_narrow has them, or in order as decode_wide. */
static uint64_t decode_tags(const struct segment *segment, struct bucket_range range, uint64_t *tags)
{
    if (segment->tags.width > NARROW_WIDTH)
        return decode_tags_plainly(segment, range, tags);
    const struct tag_decoding decoding = tag_decoding_of(segment);
    const bool in_order = segment->slots.width > NARROW_WIDTH;
    const __m256i zero = _mm256_setzero_si256();
    const __m256i lanes =
        in_order ? _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7) : _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    uint64_t count = 0;
    for (uint32_t bucket = range.from; bucket < range.to; bucket++) {
        __m256i counters, numbers;
        unpack_tags(&decoding, segment, bucket, &counters, &numbers);
        counters = _mm256_permutevar8x32_epi32(counters, lanes);
        numbers = _mm256_permutevar8x32_epi32(numbers, lanes);
        uint32_t kept = ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(counters, zero)));
        uint32_t kept_low = (kept & 3) | (kept >> 2 & 12), kept_high = (kept >> 2 & 3) | (kept >> 4 & 12);
        write_kept(tags + count, _mm256_unpacklo_epi32(counters, numbers), kept_low);
        count += (uint32_t)__builtin_popcount(kept_low);
        write_kept(tags + count, _mm256_unpackhi_epi32(counters, numbers), kept_high);
        count += (uint32_t)__builtin_popcount(kept_high);
    }
    return count;
}

static bool usable(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

const struct search_kernel search_kernel_avx2 = {{"avx2", usable}, contains_one, contains_batch,   put_batch,
                                                 uncovered,        decode,       decode_positions, decode_tagged,
                                                 decode_tags,      used_of,      find_move,        locate_all};
