/* The blocked pattern with AVX2: a block is two vectors of four words. */
#include "bloom_kernel.h"

#include <immintrin.h>

struct block_bits {
    __m256i low, high;
};

/* Four lanes of a round: 1 or 0 shifted to its place. Compilers do not work out which lanes are active where all are.
 */
static inline __m256i round_bits(uint64_t word, uint32_t lanes, __m256i shifts, __m256i lane_numbers)
{
    const __m256i one = _mm256_set1_epi64x(1), six_bits = _mm256_set1_epi64x(63);
    __m256i places = _mm256_and_si256(_mm256_srlv_epi64(_mm256_set1_epi64x((long long)word), shifts), six_bits);
    __m256i active = one;
    if (lanes != 0xff)
        active = _mm256_and_si256(_mm256_srlv_epi64(_mm256_set1_epi64x(lanes), lane_numbers), one);
    return _mm256_sllv_epi64(active, places);
}

static inline struct block_bits key_bits(roost_hash hash, uint32_t probes)
{
    const __m256i low_shifts = _mm256_setr_epi64x(0, 6, 12, 18), high_shifts = _mm256_setr_epi64x(24, 30, 36, 42);
    const __m256i low_lanes = _mm256_setr_epi64x(0, 1, 2, 3), high_lanes = _mm256_setr_epi64x(4, 5, 6, 7);
    struct block_bits bits = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (uint32_t round = 0; round * 8 < probes; round++) {
        uint64_t word = block_round_word(hash, round);
        uint32_t lanes = block_round_lanes(word, probes - round * 8);
        bits.low = _mm256_or_si256(bits.low, round_bits(word, lanes, low_shifts, low_lanes));
        bits.high = _mm256_or_si256(bits.high, round_bits(word, lanes, high_shifts, high_lanes));
    }
    return bits;
}

static inline bool block_holds(const uint64_t *block, roost_hash hash, uint32_t probes)
{
    struct block_bits bits = key_bits(hash, probes);
    __m256i missing = _mm256_or_si256(_mm256_andnot_si256(_mm256_load_si256((const __m256i *)block), bits.low),
                                      _mm256_andnot_si256(_mm256_load_si256((const __m256i *)block + 1), bits.high));
    return _mm256_testz_si256(missing, missing);
}

static inline bool block_take(uint64_t *block, roost_hash hash, uint32_t probes)
{
    struct block_bits bits = key_bits(hash, probes);
    __m256i low = _mm256_load_si256((const __m256i *)block), high = _mm256_load_si256((const __m256i *)block + 1);
    __m256i missing = _mm256_or_si256(_mm256_andnot_si256(low, bits.low), _mm256_andnot_si256(high, bits.high));
    _mm256_store_si256((__m256i *)block, _mm256_or_si256(low, bits.low));
    _mm256_store_si256((__m256i *)block + 1, _mm256_or_si256(high, bits.high));
    return !_mm256_testz_si256(missing, missing);
}

#include "bloom_loops.h"

static bool usable(void)
{
    return __builtin_cpu_supports("avx2");
}

const struct bloom_kernel bloom_kernel_avx2 = {"avx2",      usable,      add_batch,       contains_batch,
                                               merge_words, count_words, &calls_of_eight, &calls_of_any};
