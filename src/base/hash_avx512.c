/*
 * The hashes of eight numbers of eight bytes at once, with AVX-512: hash_4_to_8 of hash.h, lane by lane.
 *
 *     lanes        key 0 | key 4 | key 1 | key 5 | key 2 | key 6 | key 3 | key 7
 *     written      low 0 | high 0 | low 1 | high 1 | ...      from even lanes of both halves, then from odd ones
 */
#define TOGETHER 8
#include "hash_loops.h"

#include <immintrin.h>

static inline bool all_have_eight_bytes(const roost_bytes *keys)
{
    __m512i sizes = _mm512_unpackhi_epi64(_mm512_loadu_si512(keys), _mm512_loadu_si512(keys + TOGETHER / 2));
    return _mm512_cmpneq_epi64_mask(sizes, _mm512_set1_epi64(8)) == 0;
}

static inline __m512i load_numbers(const roost_bytes *keys)
{
    return _mm512_setr_epi64(number_at(keys), number_at(keys + 4), number_at(keys + 1), number_at(keys + 5),
                             number_at(keys + 2), number_at(keys + 6), number_at(keys + 3), number_at(keys + 7));
}

/* The upper halves of products of 64 bits, from four products of their halves. */
static inline __m512i multiply_high(__m512i words, uint64_t multiplier)
{
    const __m512i low_half = _mm512_set1_epi64(UINT32_MAX);
    const __m512i low = _mm512_set1_epi64((long long)(multiplier & UINT32_MAX));
    const __m512i high = _mm512_set1_epi64((long long)(multiplier >> 32));
    __m512i tops = _mm512_srli_epi64(words, 32);
    __m512i middle = _mm512_add_epi64(_mm512_mul_epu32(tops, low), _mm512_srli_epi64(_mm512_mul_epu32(words, low), 32));
    __m512i other = _mm512_add_epi64(_mm512_mul_epu32(words, high), _mm512_and_si512(middle, low_half));
    __m512i upper = _mm512_add_epi64(_mm512_mul_epu32(tops, high), _mm512_srli_epi64(middle, 32));
    return _mm512_add_epi64(upper, _mm512_srli_epi64(other, 32));
}

static inline __m512i multiply_low(__m512i words, uint64_t multiplier)
{
    return _mm512_mullo_epi64(words, _mm512_set1_epi64((long long)multiplier));
}

static inline __m512i shift_and_xor(__m512i words, unsigned shift)
{
    return _mm512_xor_si512(words, _mm512_srli_epi64(words, shift));
}

static inline void hash_together(const struct hash_seed *seed, roost_hash *hashes, const roost_bytes *keys)
{
    __m512i words = _mm512_xor_si512(load_numbers(keys), _mm512_set1_epi64((long long)seed->mixed));
    __m512i product = multiply_low(words, hash_multipliers.eight_bytes);
    __m512i high = _mm512_add_epi64(multiply_high(words, hash_multipliers.eight_bytes), _mm512_slli_epi64(product, 1));
    __m512i low = _mm512_xor_si512(product, _mm512_srli_epi64(high, 3));
    low = shift_and_xor(multiply_low(shift_and_xor(low, 35), hash_multipliers.low), 28);
    high = shift_and_xor(multiply_low(shift_and_xor(high, 37), hash_multipliers.finish), 32);
    _mm512_storeu_si512(hashes, _mm512_unpacklo_epi64(low, high));
    _mm512_storeu_si512(hashes + TOGETHER / 2, _mm512_unpackhi_epi64(low, high));
}

static bool usable(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

const struct hash_kernel hash_kernel_avx512 = {{"avx512", usable}, hash_batch};
