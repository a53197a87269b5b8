/*
 * Arithmetic of IEEE 754 doubles (binary64), in integers.
 *
 * Sizes that frames leave unsaid follow from the promised rate, which is a double. They have to come out alike on every
 * machine, whatever its compiler makes of a product and a sum (a fused multiply-add rounds once where two instructions
 * round twice) and with whatever flags it runs. So they are computed here: positive numbers, rounded to the nearest of
 * 53 bits, ties to even, as the standard has it. The results are those of the processor's own instructions.
 *
 * The exponent is not bounded: what a double would make infinite or round to fewer bits near 2^-1074 stays exact here.
 */
#ifndef BASE_BINARY64_H
#define BASE_BINARY64_H

#include <stdbool.h>

#include "bits.h"

#define BINARY64_DIGITS 53
#define BITS_OF_ONE     UINT64_C(0x3ff0000000000000) /* 1.0; positive doubles are ordered as their bits are */

/* digits * 2^exponent; 2^52 <= digits < 2^53. */
struct binary64 {
    uint64_t digits;
    int exponent;
};

static inline uint64_t bits_of_double(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static inline double double_of_bits(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* The nearest one to digits * 2^exponent, and a little more if `more`; digits above 0. */
static inline struct binary64 binary64_round(uint128 digits, int exponent, bool more)
{
    uint64_t upper = (uint64_t)(digits >> 64);
    int length = upper ? 65 + (int)highest_bit(upper) : 1 + (int)highest_bit((uint64_t)digits);
    int excess = length - BINARY64_DIGITS;
    if (excess <= 0)
        return (struct binary64){(uint64_t)digits << -excess, exponent + excess};
    uint64_t kept = (uint64_t)(digits >> excess);
    uint128 half = (uint128)1 << (excess - 1), rest = digits & ((half << 1) - 1);
    kept += rest > half || (rest == half && (more || (kept & 1)));
    bool carried = kept >> BINARY64_DIGITS != 0;
    return (struct binary64){kept >> carried, exponent + excess + carried};
}

/* Above 0. */
static inline struct binary64 binary64_of_integer(uint64_t integer)
{
    return binary64_round(integer, 0, false);
}

/* Above 0 and finite. */
static inline struct binary64 binary64_of_double(double number)
{
    uint64_t bits = bits_of_double(number), fraction = bits & ((UINT64_C(1) << 52) - 1);
    int exponent = (int)(bits >> 52 & 0x7ff);
    return exponent ? (struct binary64){fraction | UINT64_C(1) << 52, exponent - 1075}
                    : binary64_round(fraction, -1074, false);
}

/* 0 for what is below 2^-1022: no rate is. */
static inline double double_of_binary64(struct binary64 number)
{
    uint64_t exponent = (uint64_t)number.exponent + 1075;
    return number.exponent < -1074 ? 0 : double_of_bits(exponent << 52 | (number.digits & ((UINT64_C(1) << 52) - 1)));
}

static inline struct binary64 binary64_multiply(struct binary64 a, struct binary64 b)
{
    return binary64_round((uint128)a.digits * b.digits, a.exponent + b.exponent, false);
}

static inline struct binary64 binary64_divide(struct binary64 a, struct binary64 b)
{
    uint128 dividend = (uint128)a.digits << 64;
    return binary64_round(dividend / b.digits, a.exponent - b.exponent - 64, dividend % b.digits != 0);
}

static inline bool binary64_at_most(struct binary64 a, struct binary64 b)
{
    return a.exponent != b.exponent ? a.exponent < b.exponent : a.digits <= b.digits;
}

#endif
