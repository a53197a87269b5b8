/*
 * PinSketch with the carry-less multiplication of ARM's cryptography extension: as pin_sketch_clmul.c, two numbers in a
 * vector.
 */
#include "pin_sketch.h"

#include <arm_neon.h>
#if defined(__linux__) || defined(__FreeBSD__)
#include <sys/auxv.h>
#endif

typedef uint64x2_t vector;
typedef int64x2_t shift_count;
#define LANES 2

static inline vector load(const uint64_t *numbers)
{
    return vld1q_u64(numbers);
}

static inline vector fill(uint64_t number)
{
    return vdupq_n_u64(number);
}

static inline vector exclusive_or(vector a, vector b)
{
    return veorq_u64(a, b);
}

static inline vector both(vector a, vector b)
{
    return vandq_u64(a, b);
}

static inline shift_count shift_by(unsigned bits)
{
    return vdupq_n_s64(-(int64_t)bits);
}

static inline vector shift_right(vector a, shift_count bits)
{
    return vshlq_u64(a, bits);
}

static inline vector even_products(vector a, vector b)
{
    return vreinterpretq_u64_p128(vmull_p64(vgetq_lane_u64(a, 0), vgetq_lane_u64(b, 0)));
}

static inline vector odd_products(vector a, vector b)
{
    return vreinterpretq_u64_p128(vmull_high_p64(vreinterpretq_p64_u64(a), vreinterpretq_p64_u64(b)));
}

static inline vector lower_halves(vector even, vector odd)
{
    return vzip1q_u64(even, odd);
}

static inline uint64_t multiply(const struct field *field, uint64_t a, uint64_t b)
{
    const vector terms = fill(field->terms);
    const shift_count bits = shift_by(field->bits);
    vector product = even_products(fill(a), fill(b));
    vector fold = even_products(shift_right(product, bits), terms);
    vector rest = even_products(shift_right(fold, bits), terms);
    return vgetq_lane_u64(exclusive_or(exclusive_or(product, fold), rest), 0) & field->mask;
}

#include "pin_sketch_vectors.h"

/* HWCAP_PMULL, the same for Linux and FreeBSD. All 64-bit processors by Apple have it; where nobody tells, it is not
   used. */
#define PMULL_BIT (1ul << 4)

static bool usable(void)
{
    unsigned long extensions = 0;
#if defined(__linux__)
    extensions = getauxval(AT_HWCAP);
#elif defined(__FreeBSD__)
    (void)elf_aux_info(AT_HWCAP, &extensions, sizeof extensions);
#elif defined(__APPLE__)
    extensions = PMULL_BIT;
#endif
    return (extensions & PMULL_BIT) != 0;
}

const struct pin_sketch_kernel pin_sketch_pmull = {{"pmull", usable}, add, decode};
