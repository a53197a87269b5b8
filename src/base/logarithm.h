/* Logarithms and powers to the base 2 in fixed-point integers: the same bits on every machine. `logarithm.c` has the
 * method and its error. */
#ifndef BASE_LOGARITHM_H
#define BASE_LOGARITHM_H

#include "bits.h"

/* A number from 0 up to 2^12, in units of 2^-116. */
#define FRACTION_BITS 116
typedef uint128 fixed;

/* A fraction in (0, 1): value / 2^128. */
typedef uint128 fraction;

/* A double in (0, 1), given by its bits, as a fraction; what is below 2^-128 is dropped. */
fraction fraction_of_double(uint64_t bits);
/* -log2 of a double in (0, 1), given by its bits. */
fixed minus_log2_of_double(uint64_t bits);
/* -log2(1 - x); x above 0. */
fixed minus_log2_of_rest(fraction x);
/* 2^-x; x above 0. */
fraction power_of_half(fixed x);

#endif
