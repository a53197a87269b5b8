/*
 * PinSketch with carry-less multiplication on vectors of AVX2, four numbers each: for processors that have it and lack
 * AVX-512. Decoding stays with single numbers.
 */
#include "pin_sketch.h"

#include <immintrin.h>

typedef __m256i vector;
#define LANES 4

static inline vector load(const uint64_t *numbers)
{
    return _mm256_loadu_si256((const __m256i *)numbers);
}

static inline vector fill(uint64_t number)
{
    return _mm256_set1_epi64x((long long)number);
}

static inline vector exclusive_or(vector a, vector b)
{
    return _mm256_xor_si256(a, b);
}

static inline vector both(vector a, vector b)
{
    return _mm256_and_si256(a, b);
}

static inline vector shift_right(vector a, __m128i bits)
{
    return _mm256_srl_epi64(a, bits);
}

static inline vector even_products(vector a, vector b)
{
    return _mm256_clmulepi64_epi128(a, b, 0x00);
}

static inline vector odd_products(vector a, vector b)
{
    return _mm256_clmulepi64_epi128(a, b, 0x11);
}

static inline vector lower_halves(vector even, vector odd)
{
    return _mm256_unpacklo_epi64(even, odd);
}

#include "pin_sketch_clmul.h"
#include "pin_sketch_vectors.h"

static bool usable(void)
{
    return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul");
}

const struct pin_sketch_kernel pin_sketch_vpclmul256 = {{"vpclmul256", usable}, add, decode};
