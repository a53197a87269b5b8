/*
 * PinSketch with the processor's carry-less multiplication: one for the product, two to reduce it; two numbers in a
 * vector.
 */
#include "pin_sketch.h"

#include <immintrin.h>

typedef __m128i vector;
#define LANES 2

static inline vector load(const uint64_t *numbers)
{
    return _mm_loadu_si128((const __m128i *)numbers);
}

static inline vector fill(uint64_t number)
{
    return _mm_set1_epi64x((long long)number);
}

static inline vector exclusive_or(vector a, vector b)
{
    return _mm_xor_si128(a, b);
}

static inline vector both(vector a, vector b)
{
    return _mm_and_si128(a, b);
}

static inline vector shift_right(vector a, __m128i bits)
{
    return _mm_srl_epi64(a, bits);
}

static inline vector even_products(vector a, vector b)
{
    return _mm_clmulepi64_si128(a, b, 0x00);
}

static inline vector odd_products(vector a, vector b)
{
    return _mm_clmulepi64_si128(a, b, 0x11);
}

static inline vector lower_halves(vector even, vector odd)
{
    return _mm_unpacklo_epi64(even, odd);
}

#include "pin_sketch_clmul.h"
#include "pin_sketch_vectors.h"

static bool usable(void)
{
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("avx");
}

const struct pin_sketch_kernel pin_sketch_clmul = {{"clmul", usable}, add, decode};
