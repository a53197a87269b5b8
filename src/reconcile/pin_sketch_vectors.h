/*
 * Power sums with vectors of numbers. A kernel defines, before it includes this, the vector and what is done with it:
 *
 *     vector, LANES                      numbers of 64 bits in a vector
 *     load(numbers), fill(number)
 *     exclusive_or(a, b), both(a, b)     bit by bit
 *     shift_count, shift_by(bits)        how far numbers are shifted, as the next function takes it
 *     shift_right(a, shift_count)        each number
 *     even_products(a, b)                carry-less, 128 bits each: of the numbers in even places,
 *     odd_products(a, b)                 and of those in odd places
 *     lower_halves(even, odd)            of such products, each back in its place
 *     multiply(field, a, b)              single numbers, in the field
 *
 * and gets `add` and `decode`. No product passes 64 bits, since no field has more than 32.
 *
 * Most sums need no reduction. A full multiplication in the field takes three carry-less ones, two of which reduce the
 * product. But power sums are XORs, so products may be summed up as they are, and each sum reduced once, at its end.
 * Only what is multiplied again has to be reduced; so powers are made as baby steps and giant steps: for twelve sums
 *
 *     x, x^3, x^5, x^7     baby steps, reduced, four sums
 *     x^8, x^16            giant steps, reduced
 *     x^9 = x^8 * x, x^11 = x^8 * x^3, ..., x^17 = x^16 * x, ...     eight sums by one multiplication each
 *
 * six full multiplications instead of twelve. Each vector waits for its last product, about twenty cycles; so four of
 * them go side by side.
 */
#ifndef RECONCILE_PIN_SKETCH_VECTORS_H
#define RECONCILE_PIN_SKETCH_VECTORS_H

#include "pin_sketch_loops.h"

#define SIDE_BY_SIDE    4
#define ABREAST         ((size_t)SIDE_BY_SIDE * LANES)
#define MOST_BABY_STEPS 10 /* squared: all sums that there may be */

struct vector_field {
    vector terms, mask;
    shift_count bits;
};

static inline vector multiply_vectors(const struct vector_field *field, vector a, vector b)
{
    vector product = lower_halves(even_products(a, b), odd_products(a, b));
    vector high = shift_right(product, field->bits);
    vector fold = lower_halves(even_products(high, field->terms), odd_products(high, field->terms));
    high = shift_right(fold, field->bits);
    vector rest = lower_halves(even_products(high, field->terms), odd_products(high, field->terms));
    return both(exclusive_or(exclusive_or(product, fold), rest), field->mask);
}

/* What is in even places and in odd ones need not be kept apart in a sum. */
static inline vector sum_of_products(vector a, vector b)
{
    return exclusive_or(even_products(a, b), odd_products(a, b));
}

/* The numbers of each row are next to one another, so that the steps of one do not wait for those of another. */
static inline void multiply_row(const struct vector_field *field, vector *result, const vector *a, const vector *b)
{
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        result[i] = multiply_vectors(field, a[i], b[i]);
}

static inline void add_row(vector *sum, const vector *row)
{
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        *sum = exclusive_or(*sum, row[i]);
}

static inline void add_products(vector *sum, const vector *a, const vector *b)
{
    vector products = sum_of_products(a[0], b[0]);
    for (int i = 1; i < SIDE_BY_SIDE; i++)
        products = exclusive_or(products, sum_of_products(a[i], b[i]));
    *sum = exclusive_or(*sum, products);
}

static inline void add_abreast(const struct vector_field *field, vector *sums, size_t count, size_t steps,
                               const uint64_t *elements)
{
    vector babies[MOST_BABY_STEPS][SIDE_BY_SIDE], square[SIDE_BY_SIDE], first[SIDE_BY_SIDE], giant[SIDE_BY_SIDE];
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        babies[0][i] = load(elements + (size_t)i * LANES);
    add_row(&sums[0], babies[0]);
    if (count == 1)
        return;
    multiply_row(field, square, babies[0], babies[0]);
    for (size_t step = 1; step < steps; step++) {
        multiply_row(field, babies[step], babies[step - 1], square);
        add_row(&sums[step], babies[step]);
    }
    multiply_row(field, first, babies[steps - 1], babies[0]);
    memcpy(giant, first, sizeof giant);
    for (size_t power = steps; power < count; power += steps) {
        if (power > steps)
            multiply_row(field, giant, giant, first);
        for (size_t step = 0; step < steps && power + step < count; step++)
            add_products(&sums[power + step], giant, babies[step]);
    }
}

static inline uint64_t reduced_sum(const struct field *field, const vector *sum)
{
    uint64_t numbers[LANES], product = 0;
    memcpy(numbers, sum, sizeof numbers);
    for (int i = 0; i < LANES; i++)
        product ^= numbers[i];
    uint64_t fold = times_terms(field, product >> field->bits);
    return (product ^ fold ^ times_terms(field, fold >> field->bits)) & field->mask;
}

/* As many elements as fill vectors; returns how many. */
static size_t add_vectors(const struct field *field, uint64_t *sums, size_t count, const uint64_t *elements,
                          size_t element_count)
{
    const struct vector_field wide_field = {fill(field->terms), fill(field->mask), shift_by(field->bits)};
    vector wide[MOST_SUMS];
    size_t abreast = count && count <= MOST_SUMS ? element_count / ABREAST * ABREAST : 0, steps = 1;
    while (steps * steps < count)
        steps++;
    for (size_t power = 0; abreast && power < count; power++)
        wide[power] = fill(0);
    for (size_t i = 0; i < abreast; i += ABREAST)
        add_abreast(&wide_field, wide, count, steps, elements + i);
    for (size_t power = 0; abreast && power < count; power++)
        sums[power] ^= reduced_sum(field, &wide[power]);
    return abreast;
}

static void add(const struct field *field, uint64_t *sums, size_t count, const uint64_t *elements, size_t element_count)
{
    size_t done = add_vectors(field, sums, count, elements, element_count);
    add_singly(field, sums, count, elements + done, element_count - done);
}

#endif
