/*
 * PinSketch: the difference of two sets of numbers, from as many numbers as there are differences.
 *
 * Y. Dodis, R. Ostrovsky, L. Reyzin and A. Smith, "Fuzzy Extractors" (2004), section 6: the syndrome of a BCH code. A
 * set of elements x of GF(2^b), none of them 0, is summed up by its odd power sums
 *
 *     S1 = sum of x,   S3 = sum of x^3,   S5 = sum of x^5,   ...
 *
 * Sums are XORs, so an element that is in both of two sets cancels: the sums of one, XORed with those of the other, are
 * the sums of their difference. From the first t sums any difference of at most t elements is computed. More sums may
 * be asked for later; those that are there are never wasted. Even sums come for free: S2 = S1^2, S4 = S2^2, ...
 *
 * How the elements are found:
 *     1. Berlekamp and Massey: the shortest linear recurrence of S1, S2, S3, ... Its polynomial is the product of
 *        (1 - x z) over the elements; turned around, its roots are the elements.
 *     2. It must have as many roots as its degree: z^(2^b) = z modulo it. Otherwise there are more than t elements.
 *     3. Berlekamp's trace: the trace of (c x) is 0 or 1 for each root x, so the greatest common divisor of the
 *        polynomial and that of the trace parts the roots in two. With c = 1, z, z^2, ..., z^(b-1), a basis, any two
 *        roots are parted at last. The powers z, z^2, z^4, ... modulo the polynomial are computed once, for 2, and
 *        serve all traces.
 *
 * A set that differs in more than t elements may look as if it differed in t others, one time in t!. The caller
 * verifies the result in another way.
 *
 * The loops are in pin_sketch_loops.h, built once for each way to multiply; pin_sketch_kernel.c lists them.
 */
#ifndef RECONCILE_PIN_SKETCH_H
#define RECONCILE_PIN_SKETCH_H

#include <stdbool.h>
#include <stddef.h>

#include "../base/field.h"
#include "../base/kernel.h"

/*
 * To decode t sums takes time in proportion to t squared, and to make them, t times the elements of the cell: so there
 * is a bound on what a peer may ask for. Plans have at most two dozen differences in a cell (exact_plan.c); four times
 * as many are listed. Sums that come in portions are decoded again with each of them: exact.h, portion_is_fair.
 */
#define MOST_SUMS 96

struct pin_sketch_kernel {
    struct kernel head;
    /* XORs the first `count` power sums of the elements, none of them 0, to `sums`. */
    void (*add)(const struct field *field, uint64_t *sums, size_t count, const uint64_t *elements,
                size_t element_count);
    /* The elements whose first `count` sums these are, and how many; false where there are none such. `scratch` is of
       pin_sketch_scratch numbers. */
    bool (*decode)(const struct field *field, uint64_t *elements, size_t *element_count, const uint64_t *sums,
                   size_t count, uint64_t *scratch);
};

extern const struct pin_sketch_kernel pin_sketch_vpclmul, pin_sketch_vpclmul256, pin_sketch_clmul, pin_sketch_pmull,
    pin_sketch_plain;
/* Those of this machine, the fastest first, up to a NULL. */
extern const struct pin_sketch_kernel *const pin_sketch_kernels[];

const struct pin_sketch_kernel *pin_sketch_in_use(void);
/* NULL: the best one again. */
void pin_sketch_force(const struct pin_sketch_kernel *kernel);

/* Numbers of scratch memory for decoding so many sums. */
static inline size_t pin_sketch_scratch(unsigned bits, size_t count)
{
    return (bits + 12) * (count + 1);
}

#endif
