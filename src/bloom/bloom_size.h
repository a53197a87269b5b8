/* Sizes of Bloom filters, and their false-positive rates. `bloom_size.c` has the formulas. */
#ifndef BLOOM_BLOOM_SIZE_H
#define BLOOM_BLOOM_SIZE_H

#include <stdbool.h>

#include "roost/filter.h"
#include "../base/bits.h"

#define BLOCK_BITS        512
#define BLOCK_WORDS       8
#define MOST_PROBES       64
#define MOST_BLOCK_PROBES 16
#define MOST_BLOOM_BITS   (UINT64_C(1) << 56)

struct bloom_geometry {
    uint64_t bits;   /* m: a multiple of BLOCK_BITS in the blocked layout */
    uint32_t probes; /* k */
};

/* ---- sizes: the same on every machine ---------------------------------------------------------------------------- */

/* ROOST_INVALID for a rate out of reach, ROOST_TOO_LARGE for a capacity. */
roost_status bloom_size_classic(struct bloom_geometry *geometry, uint64_t capacity, double fpr);
roost_status bloom_size_blocked(struct bloom_geometry *geometry, uint64_t capacity, double fpr);
/* Whether there are arrays of this layout for the rate, for as long as there is memory. */
bool bloom_keeps_rate(roost_layout layout, double fpr);

/* log2(1 / rate), rounded up but for a billionth, or to the nearest; at least 1. The rate is in (0, 1). */
uint32_t bloom_probes_for(double rate);
uint32_t bloom_nearest_probes(double rate);
/* The bits, or counters, with which so many elements and probes keep a rate in (0, 1), rounded up; UINT64_MAX where
   these are 2^62 or more. */
uint64_t bloom_bits_for(uint64_t elements, uint32_t probes, double rate);

/* A row of bloom_block_rate_table.c. */
#define BLOCK_RATES 5535
uint64_t bloom_block_rate(uint32_t row);

/* ---- rates: in floating point, for what is reported -------------------------------------------------------------- */

/* The exact false-positive rate of a blocked filter whose blocks hold Poisson(keys_a_block) keys. */
double bloom_blocked_rate(uint32_t probes, double keys_a_block);

/* The chance that one key of its block leaves a given bit alone. */
double bloom_blocked_survival(uint32_t probes);

/* The false-positive rate of a filter of exactly so many elements, in either layout. */
double bloom_rate(roost_layout layout, struct bloom_geometry geometry, double elements);

#endif
