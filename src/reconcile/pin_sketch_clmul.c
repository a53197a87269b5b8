/* PinSketch with the processor's carry-less multiplication: one for the product, two to reduce it. */
#include "pin_sketch.h"

#include <immintrin.h>

/* The field, and numbers, in registers of the kind that this multiplication takes. */
struct wide_field {
    __m128i bits, terms, mask;
};

static inline struct wide_field widen(const struct field *field)
{
    return (struct wide_field){_mm_cvtsi64_si128((long long)field->bits), _mm_cvtsi64_si128((long long)field->terms),
                               _mm_cvtsi64_si128((long long)field->mask)};
}

static inline __m128i wide_multiply(const struct wide_field *field, __m128i a, __m128i b)
{
    __m128i product = _mm_clmulepi64_si128(a, b, 0);
    __m128i fold = _mm_clmulepi64_si128(_mm_srl_epi64(product, field->bits), field->terms, 0);
    __m128i rest = _mm_clmulepi64_si128(_mm_srl_epi64(fold, field->bits), field->terms, 0);
    return _mm_and_si128(_mm_xor_si128(_mm_xor_si128(product, fold), rest), field->mask);
}

static inline uint64_t multiply(const struct field *field, uint64_t a, uint64_t b)
{
    struct wide_field wide = widen(field);
    __m128i product = wide_multiply(&wide, _mm_cvtsi64_si128((long long)a), _mm_cvtsi64_si128((long long)b));
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* Each power waits for the one before, about twenty cycles; so eight elements go side by side. */
#define ABREAST 8

static inline void add_abreast(const struct wide_field *field, uint64_t *sums, size_t count, const uint64_t *elements)
{
    __m128i powers[ABREAST], squares[ABREAST];
    for (size_t i = 0; i < ABREAST; i++) {
        powers[i] = _mm_cvtsi64_si128((long long)elements[i]);
        squares[i] = wide_multiply(field, powers[i], powers[i]);
        sums[0] ^= elements[i];
    }
    for (size_t power = 1; power < count; power++) {
        __m128i sum = _mm_setzero_si128();
        for (size_t i = 0; i < ABREAST; i++) {
            powers[i] = wide_multiply(field, powers[i], squares[i]);
            sum = _mm_xor_si128(sum, powers[i]);
        }
        sums[power] ^= (uint64_t)_mm_cvtsi128_si64(sum);
    }
}

#include "pin_sketch_loops.h"

static void add(const struct field *field, uint64_t *sums, size_t count, const uint64_t *elements, size_t element_count)
{
    struct wide_field wide = widen(field);
    size_t abreast = count ? element_count / ABREAST * ABREAST : 0;
    for (size_t i = 0; i < abreast; i += ABREAST)
        add_abreast(&wide, sums, count, elements + i);
    add_singly(field, sums, count, elements + abreast, element_count - abreast);
}

static bool usable(void)
{
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("avx");
}

const struct pin_sketch_kernel pin_sketch_clmul = {"clmul", usable, add, decode};
