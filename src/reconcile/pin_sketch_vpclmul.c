/*
 * PinSketch with carry-less multiplication on vectors of AVX-512: sums of sixteen elements side by side. Decoding stays
 * with single numbers.
 *
 *     vector    eight numbers; one multiplication takes those in even places, another those in odd ones, and since no
 *               product passes 64 bits, the two results are one vector again
 */
#include "pin_sketch.h"

#include <immintrin.h>

struct vector_field {
    __m512i terms, mask;
    __m128i bits;
};

static inline __m512i carryless(__m512i a, __m512i b)
{
    return _mm512_unpacklo_epi64(_mm512_clmulepi64_epi128(a, b, 0x00), _mm512_clmulepi64_epi128(a, b, 0x11));
}

static inline __m512i multiply_eight(const struct vector_field *field, __m512i a, __m512i b)
{
    __m512i product = carryless(a, b);
    __m512i fold = carryless(_mm512_srl_epi64(product, field->bits), field->terms);
    __m512i rest = carryless(_mm512_srl_epi64(fold, field->bits), field->terms);
    return _mm512_and_si512(_mm512_xor_si512(_mm512_xor_si512(product, fold), rest), field->mask);
}

static inline uint64_t multiply(const struct field *field, uint64_t a, uint64_t b)
{
    __m128i bits = _mm_cvtsi64_si128((long long)field->bits), terms = _mm_cvtsi64_si128((long long)field->terms);
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)a), _mm_cvtsi64_si128((long long)b), 0);
    __m128i fold = _mm_clmulepi64_si128(_mm_srl_epi64(product, bits), terms, 0);
    __m128i rest = _mm_clmulepi64_si128(_mm_srl_epi64(fold, bits), terms, 0);
    return (uint64_t)_mm_cvtsi128_si64(_mm_xor_si128(_mm_xor_si128(product, fold), rest)) & field->mask;
}

#include "pin_sketch_loops.h"

#define ABREAST 16

static inline void add_abreast(const struct vector_field *field, __m512i *sums, size_t count, const uint64_t *elements)
{
    __m512i first = _mm512_loadu_si512(elements), second = _mm512_loadu_si512(elements + 8);
    __m512i first_square = multiply_eight(field, first, first), second_square = multiply_eight(field, second, second);
    sums[0] = _mm512_xor_si512(sums[0], _mm512_xor_si512(first, second));
    for (size_t power = 1; power < count; power++) {
        first = multiply_eight(field, first, first_square);
        second = multiply_eight(field, second, second_square);
        sums[power] = _mm512_xor_si512(sums[power], _mm512_xor_si512(first, second));
    }
}

static uint64_t xor_of_eight(__m512i vector)
{
    uint64_t numbers[8], sum = 0;
    _mm512_storeu_si512(numbers, vector);
    for (int i = 0; i < 8; i++)
        sum ^= numbers[i];
    return sum;
}

static void add(const struct field *field, uint64_t *sums, size_t count, const uint64_t *elements, size_t element_count)
{
    const struct vector_field vector = {_mm512_set1_epi64((long long)field->terms),
                                        _mm512_set1_epi64((long long)field->mask),
                                        _mm_cvtsi64_si128((long long)field->bits)};
    __m512i wide[MOST_SUMS];
    size_t abreast = count && count <= MOST_SUMS ? element_count / ABREAST * ABREAST : 0;
    for (size_t power = 0; abreast && power < count; power++)
        wide[power] = _mm512_setzero_si512();
    for (size_t i = 0; i < abreast; i += ABREAST)
        add_abreast(&vector, wide, count, elements + i);
    for (size_t power = 0; abreast && power < count; power++)
        sums[power] ^= xor_of_eight(wide[power]);
    add_singly(field, sums, count, elements + abreast, element_count - abreast);
}

static bool usable(void)
{
    return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("pclmul");
}

const struct pin_sketch_kernel pin_sketch_vpclmul = {"vpclmul", usable, add, decode};
