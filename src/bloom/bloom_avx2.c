/* The blocked pattern with AVX2: a block is two vectors of four words. */
#include "bloom_kernel.h"

#include <immintrin.h>

struct two_vectors {
    __m256i low, high;
};

/* The eight numbers of a round, each at its word: what is above it is shifted out, then it comes down. */
static inline struct two_vectors round_places(uint64_t word)
{
    const __m256i low_shifts = _mm256_setr_epi64x(58, 52, 46, 40), high_shifts = _mm256_setr_epi64x(34, 28, 22, 16);
    __m256i words = _mm256_set1_epi64x((long long)word);
    return (struct two_vectors){_mm256_srli_epi64(_mm256_sllv_epi64(words, low_shifts), 58),
                                _mm256_srli_epi64(_mm256_sllv_epi64(words, high_shifts), 58)};
}

/* 1 in the lanes that a round touches. Compilers do not work out which they are where all are. */
static inline __m256i active_lanes(uint32_t lanes, __m256i lane_numbers)
{
    const __m256i one = _mm256_set1_epi64x(1);
    return lanes == 0xff ? one : _mm256_and_si256(_mm256_srlv_epi64(_mm256_set1_epi64x(lanes), lane_numbers), one);
}

/* Each lane of a round: 1 or 0 shifted to its place. */
static inline struct two_vectors round_bits(uint64_t word, uint32_t lanes)
{
    struct two_vectors places = round_places(word);
    return (struct two_vectors){_mm256_sllv_epi64(active_lanes(lanes, _mm256_setr_epi64x(0, 1, 2, 3)), places.low),
                                _mm256_sllv_epi64(active_lanes(lanes, _mm256_setr_epi64x(4, 5, 6, 7)), places.high)};
}

static inline struct two_vectors key_bits(roost_hash hash, uint32_t probes)
{
    struct two_vectors bits = round_bits(hash.high, block_round_lanes(hash.high, probes));
    for (uint32_t round = 1; round * 8 < probes; round++) {
        uint64_t word = block_round_word(hash, round);
        struct two_vectors more = round_bits(word, block_round_lanes(word, probes - round * 8));
        bits.low = _mm256_or_si256(bits.low, more.low);
        bits.high = _mm256_or_si256(bits.high, more.high);
    }
    return bits;
}

static inline struct two_vectors load_block(const uint64_t *block)
{
    return (struct two_vectors){_mm256_load_si256((const __m256i *)block),
                                _mm256_load_si256((const __m256i *)block + 1)};
}

static inline __m256i missing_bits(struct two_vectors words, struct two_vectors bits)
{
    return _mm256_or_si256(_mm256_andnot_si256(words.low, bits.low), _mm256_andnot_si256(words.high, bits.high));
}

/* A round over all words brings the bits of the block down to where one test sees them. */
static inline bool block_holds_round(const uint64_t *block, uint64_t word)
{
    struct two_vectors words = load_block(block), places = round_places(word);
    __m256i both =
        _mm256_and_si256(_mm256_srlv_epi64(words.low, places.low), _mm256_srlv_epi64(words.high, places.high));
    return _mm256_testc_si256(both, _mm256_set1_epi64x(1));
}

static inline bool block_holds(const uint64_t *block, roost_hash hash, uint32_t probes)
{
    if (probes == 8)
        return block_holds_round(block, hash.high);
    __m256i missing = missing_bits(load_block(block), key_bits(hash, probes));
    return _mm256_testz_si256(missing, missing);
}

static inline bool block_take(uint64_t *block, roost_hash hash, uint32_t probes)
{
    struct two_vectors bits = key_bits(hash, probes), words = load_block(block);
    __m256i missing = missing_bits(words, bits);
    _mm256_store_si256((__m256i *)block, _mm256_or_si256(words.low, bits.low));
    _mm256_store_si256((__m256i *)block + 1, _mm256_or_si256(words.high, bits.high));
    return !_mm256_testz_si256(missing, missing);
}

#include "bloom_loops.h"

static bool usable(void)
{
    return __builtin_cpu_supports("avx2");
}

const struct bloom_kernel bloom_kernel_avx2 = {{"avx2", usable}, add_batch,       contains_batch, merge_words,
                                               count_words,      &calls_of_eight, &calls_of_any};
