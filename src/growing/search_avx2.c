/*
 * Look-ups with AVX2: the eight slots of a bucket are eight lanes of 32 bits.
 *
 * Eight slots of w bits lie in w bytes. Slots 0 to 3 are read from the first byte on, 4 to 7 from byte w / 2 on; a
 * shuffle brings the four bytes in which a slot begins to its lane, a shift its first bit to the lowest place. Slots
 * wider than 25 bits do not fit in four bytes wherever they begin, except those of 32 bits, which begin with a byte;
 * the others take the plain way.
 */
#include "search.h"

#include <immintrin.h>

#define WIDEST_LANE 32

struct unpacking {
    uint8_t bytes[32];
    uint32_t shifts[8];
};

/* The first bit of slot i, from where its half is read. */
#define FIRST_BIT(w, i)  ((i) < 4 ? (i) * (w) : ((i)-4) * (w) + 4 * (w) % 8)
#define FIRST_BYTE(w, i) (FIRST_BIT(w, i) / 8)
#define LANE(w, i)       FIRST_BYTE(w, i), FIRST_BYTE(w, i) + 1, FIRST_BYTE(w, i) + 2, FIRST_BYTE(w, i) + 3
#define SHIFT(w, i)      (FIRST_BIT(w, i) % 8)
#define ROW_OF(w)                                                                                                      \
    {                                                                                                                  \
        {LANE(w, 0), LANE(w, 1), LANE(w, 2), LANE(w, 3), LANE(w, 4), LANE(w, 5), LANE(w, 6), LANE(w, 7)},              \
        {                                                                                                              \
            SHIFT(w, 0), SHIFT(w, 1), SHIFT(w, 2), SHIFT(w, 3), SHIFT(w, 4), SHIFT(w, 5), SHIFT(w, 6), SHIFT(w, 7)     \
        }                                                                                                              \
    }

/* By width. */
static const struct unpacking unpackings[WIDEST_LANE + 1] = {
    ROW_OF(0),  ROW_OF(1),  ROW_OF(2),  ROW_OF(3),  ROW_OF(4),  ROW_OF(5),  ROW_OF(6),  ROW_OF(7),  ROW_OF(8),
    ROW_OF(9),  ROW_OF(10), ROW_OF(11), ROW_OF(12), ROW_OF(13), ROW_OF(14), ROW_OF(15), ROW_OF(16), ROW_OF(17),
    ROW_OF(18), ROW_OF(19), ROW_OF(20), ROW_OF(21), ROW_OF(22), ROW_OF(23), ROW_OF(24), ROW_OF(25), ROW_OF(26),
    ROW_OF(27), ROW_OF(28), ROW_OF(29), ROW_OF(30), ROW_OF(31), ROW_OF(32)};

static inline __m256i unpack(const uint8_t *bucket, unsigned width)
{
    __m128i low = _mm_loadu_si128((const __m128i *)bucket),
            high = _mm_loadu_si128((const __m128i *)(bucket + width / 2));
    const struct unpacking *unpacking = &unpackings[width];
    __m256i lanes =
        _mm256_shuffle_epi8(_mm256_set_m128i(high, low), _mm256_loadu_si256((const __m256i *)unpacking->bytes));
    lanes = _mm256_srlv_epi32(lanes, _mm256_loadu_si256((const __m256i *)unpacking->shifts));
    return _mm256_and_si256(lanes, _mm256_set1_epi32((int)low_bits(width)));
}

/* Lanes whose slot differs from this one only below twice its own mark. Both sides of the comparison have their highest
   bits flipped, because it is one of signed numbers. */
static inline __m256i matches(__m256i held, uint32_t slot)
{
    const __m256i sign = _mm256_set1_epi32((int)0x80000000u);
    __m256i mark = _mm256_and_si256(held, _mm256_sub_epi32(_mm256_setzero_si256(), held));
    __m256i below = _mm256_xor_si256(_mm256_add_epi32(mark, mark), sign);
    __m256i difference = _mm256_xor_si256(held, _mm256_set1_epi32((int)(slot ^ 0x80000000u)));
    return _mm256_cmpgt_epi32(below, difference);
}

static inline bool buckets_match(const struct segment *segment, const uint8_t *home, const uint8_t *other,
                                 uint64_t slot)
{
    unsigned width = segment->slots.width;
    uint64_t flag = in_other_bucket(segment);
    if (__builtin_expect(width > WIDEST_LANE, 0))
        return (bucket_matches(home, width, slot) | bucket_matches(other, width, slot | flag)) != 0;
    __m256i found = _mm256_or_si256(matches(unpack(home, width), (uint32_t)slot),
                                    matches(unpack(other, width), (uint32_t)(slot | flag)));
    return !_mm256_testz_si256(found, found);
}

#include "search_loops.h"

static bool usable(void)
{
    return __builtin_cpu_supports("avx2");
}

const struct search_kernel search_kernel_avx2 = {"avx2", usable, contains_batch};
