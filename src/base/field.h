/*
 * The finite fields GF(2^b), b from 8 to 32: numbers of b bits that are added by XOR and multiplied as polynomials over
 * GF(2), modulo one that cannot be factored: x^b plus a few low terms.
 *
 *     product     | high, b - 1 bits | low, b bits |
 *     reduced     x^b is the low terms, so `high` times those is XORed to `low`; what again sticks out (the degree of
 *                 the low terms is at most 7) is folded in the same way once more, and then nothing does.
 *
 * Worked example, b = 8, x^8 + x^4 + x^3 + x + 1 (terms 27): 0x53 * 0xca is 0x3f7e before it is reduced; 0x3f * 27 =
 * 0x249; its 2 sticks out again, 2 * 27 = 0x36; and 0x7e ^ 0x49 ^ 0x36 = 1: each is the inverse of the other.
 *
 * This file has what all kernels share, and the portable multiplication. Kernels that use the processor's carry-less
 * multiplication are in reconcile/pin_sketch_kernel.c.
 */
#ifndef BASE_FIELD_H
#define BASE_FIELD_H

#include <stdint.h>

#include "bits.h"

#define FEWEST_FIELD_BITS 8
#define MOST_FIELD_BITS   32

struct field {
    unsigned bits;
    uint64_t terms; /* of the polynomial, but for x^bits */
    uint64_t mask;  /* `bits` ones */
};

/* For FEWEST_FIELD_BITS to MOST_FIELD_BITS: the polynomial with the smallest terms. */
/*@ requires FEWEST_FIELD_BITS <= bits <= MOST_FIELD_BITS; assigns \nothing;
    ensures \result.bits == bits && \result.mask == (1 << bits) - 1; */
struct field field_of_bits(unsigned bits);

/*
 * The product of two polynomials of at most 32 bits, by multiplications of integers: of each factor only every fourth
 * bit is taken at a time, so that up to eight ones that meet in one place have room to be carried, and only whether
 * they are odd is kept.
 */
//@ assigns \nothing;
static inline uint64_t carryless_product(uint64_t a, uint64_t b)
{
    const uint64_t holes = UINT64_C(0x1111111111111111);
    uint64_t x[4], y[4], product = 0;
    //@ loop invariant i <= 4; loop assigns i, x[0 .. 3], y[0 .. 3];
    for (unsigned i = 0; i < 4; i++) {
        x[i] = a & holes << i;
        y[i] = b & holes << i;
    }
    //@ loop invariant i <= 4; loop assigns i, product;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t sum = 0;
        //@ loop invariant j <= 4; loop assigns j, sum;
        for (unsigned j = 0; j < 4; j++)
            sum ^= x[j] * y[(i - j) & 3];
        product |= sum & holes << i;
    }
    return product;
}

/* Times the terms, of which there are four at most besides the 1. */
//@ requires \valid_read(field); assigns \nothing;
static inline uint64_t times_terms(const struct field *field, uint64_t a)
{
    uint64_t product = 0;
    //@ loop assigns left, product;
    for (uint64_t left = field->terms; left; left &= left - 1)
        product ^= a << lowest_bit(left);
    return product;
}

/*@ requires \valid_read(field) && field->bits <= MOST_FIELD_BITS; assigns \nothing;
    ensures \result <= field->mask; */
static inline uint64_t field_multiply_plainly(const struct field *field, uint64_t a, uint64_t b)
{
    uint64_t product = carryless_product(a, b);
    uint64_t fold = times_terms(field, product >> field->bits);
    return (product ^ fold ^ times_terms(field, fold >> field->bits)) & field->mask;
}

#endif
