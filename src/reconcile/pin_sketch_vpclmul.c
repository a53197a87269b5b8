/*
 * PinSketch with carry-less multiplication on vectors of AVX-512, eight numbers each. Decoding stays with single
 * numbers.
 */
#include "pin_sketch.h"

#include <immintrin.h>

typedef __m512i vector;
#define LANES 8

static inline vector load(const uint64_t *numbers)
{
    return _mm512_loadu_si512(numbers);
}

static inline vector fill(uint64_t number)
{
    return _mm512_set1_epi64((long long)number);
}

static inline vector exclusive_or(vector a, vector b)
{
    return _mm512_xor_si512(a, b);
}

static inline vector both(vector a, vector b)
{
    return _mm512_and_si512(a, b);
}

static inline vector shift_right(vector a, __m128i bits)
{
    return _mm512_srl_epi64(a, bits);
}

static inline vector even_products(vector a, vector b)
{
    return _mm512_clmulepi64_epi128(a, b, 0x00);
}

static inline vector odd_products(vector a, vector b)
{
    return _mm512_clmulepi64_epi128(a, b, 0x11);
}

static inline vector lower_halves(vector even, vector odd)
{
    return _mm512_unpacklo_epi64(even, odd);
}

#include "pin_sketch_clmul.h"
#include "pin_sketch_vectors.h"

static bool usable(void)
{
    return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("pclmul");
}

const struct pin_sketch_kernel pin_sketch_vpclmul = {{"vpclmul", usable}, add, decode};
