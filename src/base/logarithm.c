/*
 * Logarithms and powers without floating point.
 *
 * log2. For x in [1, 2) the first bit of log2(x) behind the point is 1 if x^2 >= 2; the others are those of x^2, or of
 * x^2 / 2 if the first one was 1, in the same way. What a step drops behind the last digit of x^2 counts half as much
 * with every further step: so 58 steps with 128 digits, then 58 with 64, are wrong by less than 2^-117 and 2^-119, and
 * the 116 bits that they give are right but for the last one.
 *
 * 2^-x. The whole part of x is a shift. For the rest, e^-t with t = x ln 2 below 0.7 is the series 1 - t + t^2/2 - ...
 * Its terms fall below 2^-64 after 20; what is dropped of them adds up to 2^-59 of the result.
 *
 * Worked example: x = 1.5. 2.25 >= 2: 1, and 1.125 is left. 1.265 < 2: 0. 1.602: 0. 2.566: 1, and 1.283 is left. So
 * log2(1.5) = 0.1001... in binary; it is 0.585.
 */
#include "logarithm.h"

#define WIDE_STEPS (FRACTION_BITS / 2)
/* ln 2 in units of 2^-64. */
#define LN2 UINT64_C(0xb17217f7d1cf79ac)

/* The upper half of a product. */
static uint128 multiply_upper(uint128 a, uint128 b)
{
    uint64_t a1 = (uint64_t)(a >> 64), a0 = (uint64_t)a, b1 = (uint64_t)(b >> 64), b0 = (uint64_t)b;
    uint128 low = (uint128)a0 * b0, middle = (uint128)a1 * b0, other = (uint128)a0 * b1;
    uint128 carry = (low >> 64) + (uint64_t)middle + (uint64_t)other;
    return (uint128)a1 * b1 + (middle >> 64) + (other >> 64) + (carry >> 64);
}

static uint64_t multiply_upper_words(uint64_t a, uint64_t b)
{
    return (uint64_t)(((uint128)a * b) >> 64);
}

/* log2(x / 2^127), for x / 2^127 in [1, 2): the result is below 1. */
static fixed log2_of_normal(uint128 x)
{
    fixed logarithm = 0;
    for (int bit = 0; bit < WIDE_STEPS; bit++) {
        x = multiply_upper(x, x);
        unsigned two_or_more = (unsigned)(x >> 127);
        logarithm = logarithm << 1 | two_or_more;
        x <<= !two_or_more;
    }
    uint64_t narrow = (uint64_t)(x >> 64);
    for (int bit = WIDE_STEPS; bit < FRACTION_BITS; bit++) {
        narrow = multiply_upper_words(narrow, narrow);
        unsigned two_or_more = (unsigned)(narrow >> 63);
        logarithm = logarithm << 1 | two_or_more;
        narrow <<= !two_or_more;
    }
    return logarithm;
}

/* -log2(x / 2^128); x above 0. */
static fixed minus_log2(uint128 x)
{
    uint64_t upper = (uint64_t)(x >> 64);
    unsigned shift = upper ? 63 - highest_bit(upper) : 127 - highest_bit((uint64_t)x);
    return ((fixed)(shift + 1) << FRACTION_BITS) - log2_of_normal(x << shift);
}

/* A double in (0, 1) is fraction / 2^128 / 2^shift, with the fraction's upper bits set as far as it has any. */
static fraction split_double(uint64_t bits, unsigned *shift)
{
    uint64_t digits = bits & ((UINT64_C(1) << 52) - 1);
    unsigned exponent = (unsigned)(bits >> 52);
    digits |= exponent ? UINT64_C(1) << 52 : 0;
    *shift = 1022 - (exponent ? exponent : 1);
    return (fraction)digits << 75;
}

fraction fraction_of_double(uint64_t bits)
{
    unsigned shift;
    fraction digits = split_double(bits, &shift);
    return shift < 128 ? digits >> shift : 0;
}

fixed minus_log2_of_double(uint64_t bits)
{
    unsigned shift;
    fixed logarithm = minus_log2(split_double(bits, &shift));
    return logarithm + ((fixed)shift << FRACTION_BITS);
}

fixed minus_log2_of_rest(fraction x)
{
    return minus_log2(-x);
}

fraction power_of_half(fixed x)
{
    unsigned shift = (unsigned)(x >> FRACTION_BITS);
    uint64_t t = multiply_upper_words((uint64_t)(x >> (FRACTION_BITS - 64)), LN2), term = t, sum = 0;
    /* 1 - e^-t, so that all numbers are below 1 */
    for (unsigned i = 2; term; i++) {
        sum = i & 1 ? sum - term : sum + term;
        term = multiply_upper_words(term, t) / i;
    }
    if (shift >= 128)
        return 0;
    if (sum == 0)
        return shift ? (fraction)1 << (128 - shift) : -(fraction)1;
    return (fraction)-sum << 64 >> shift;
}
