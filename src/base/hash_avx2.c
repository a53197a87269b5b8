/*
 * The hashes of four numbers of eight bytes at once, with AVX2, which multiplies halves of words alone: hash_4_to_8 of
 * hash.h, lane by lane.
 *
 *     lanes        key 0 | key 2 | key 1 | key 3
 *     written      low 0 | high 0 | low 1 | high 1       from even lanes of both halves, then from odd ones
 */
#define TOGETHER 4
#include "hash_loops.h"

#include <immintrin.h>

static inline bool all_have_eight_bytes(const roost_bytes *keys)
{
    return ((keys[0].size ^ 8) | (keys[1].size ^ 8) | (keys[2].size ^ 8) | (keys[3].size ^ 8)) == 0;
}

/* A multiplier, in halves that every lane has. */
struct halves {
    __m256i low, high;
};

static inline struct halves halves_of(uint64_t multiplier)
{
    return (struct halves){_mm256_set1_epi64x((long long)(multiplier & UINT32_MAX)),
                           _mm256_set1_epi64x((long long)(multiplier >> 32))};
}

static inline __m256i multiply_low(__m256i words, struct halves by)
{
    __m256i tops = _mm256_mul_epu32(_mm256_srli_epi64(words, 32), by.low);
    __m256i cross = _mm256_add_epi64(tops, _mm256_mul_epu32(words, by.high));
    return _mm256_add_epi64(_mm256_mul_epu32(words, by.low), _mm256_slli_epi64(cross, 32));
}

/* Both halves of products of 64 bits, from four products of their halves. */
static inline __m256i multiply(__m256i words, struct halves by, __m256i *lower)
{
    const __m256i low_half = _mm256_set1_epi64x(UINT32_MAX);
    __m256i tops = _mm256_srli_epi64(words, 32), least = _mm256_mul_epu32(words, by.low);
    __m256i middle = _mm256_add_epi64(_mm256_mul_epu32(tops, by.low), _mm256_srli_epi64(least, 32));
    __m256i other = _mm256_add_epi64(_mm256_mul_epu32(words, by.high), _mm256_and_si256(middle, low_half));
    __m256i upper = _mm256_add_epi64(_mm256_mul_epu32(tops, by.high), _mm256_srli_epi64(middle, 32));
    *lower = _mm256_blend_epi32(least, _mm256_slli_epi64(other, 32), 0xaa);
    return _mm256_add_epi64(upper, _mm256_srli_epi64(other, 32));
}

static inline __m256i shift_and_xor(__m256i words, int shift)
{
    return _mm256_xor_si256(words, _mm256_srli_epi64(words, shift));
}

static inline void hash_together(const struct hash_seed *seed, roost_hash *hashes, const roost_bytes *keys)
{
    __m256i numbers =
        _mm256_setr_epi64x(number_at(keys), number_at(keys + 2), number_at(keys + 1), number_at(keys + 3));
    __m256i lower, upper = multiply(_mm256_xor_si256(numbers, _mm256_set1_epi64x((long long)seed->mixed)),
                                    halves_of(hash_multipliers.eight_bytes), &lower);
    __m256i high = _mm256_add_epi64(upper, _mm256_slli_epi64(lower, 1));
    __m256i low = _mm256_xor_si256(lower, _mm256_srli_epi64(high, 3));
    low = shift_and_xor(multiply_low(shift_and_xor(low, 35), halves_of(hash_multipliers.low)), 28);
    high = shift_and_xor(multiply_low(shift_and_xor(high, 37), halves_of(hash_multipliers.finish)), 32);
    __m256i first = _mm256_unpacklo_epi64(low, high), second = _mm256_unpackhi_epi64(low, high);
    _mm256_storeu_si256((__m256i *)hashes, first);
    _mm256_storeu_si256((__m256i *)(hashes + TOGETHER / 2), second);
}

static bool usable(void)
{
    return __builtin_cpu_supports("avx2");
}

const struct hash_kernel hash_kernel_avx2 = {{"avx2", usable}, hash_batch};
