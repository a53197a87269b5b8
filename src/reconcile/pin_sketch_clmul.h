/* What the kernels with x86's carry-less multiplication share: the multiplication of single numbers, and shifts. */
#ifndef RECONCILE_PIN_SKETCH_CLMUL_H
#define RECONCILE_PIN_SKETCH_CLMUL_H

#include <immintrin.h>

#include "pin_sketch.h"

typedef __m128i shift_count;

#define shift_by(bits) _mm_cvtsi64_si128((long long)(bits))

static inline uint64_t multiply(const struct field *field, uint64_t a, uint64_t b)
{
    __m128i bits = shift_by(field->bits), terms = _mm_cvtsi64_si128((long long)field->terms);
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)a), _mm_cvtsi64_si128((long long)b), 0);
    __m128i fold = _mm_clmulepi64_si128(_mm_srl_epi64(product, bits), terms, 0);
    __m128i rest = _mm_clmulepi64_si128(_mm_srl_epi64(fold, bits), terms, 0);
    return (uint64_t)_mm_cvtsi128_si64(_mm_xor_si128(_mm_xor_si128(product, fold), rest)) & field->mask;
}

#endif
