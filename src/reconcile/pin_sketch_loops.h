/*
 * Power sums and their decoding, for any way to multiply. A kernel defines, before it includes this,
 *
 *     static inline uint64_t multiply(const struct field *field, uint64_t a, uint64_t b);
 *
 * and gets `add_singly` and `decode`. Polynomials are rows of coefficients, the lowest first.
 */
#ifndef RECONCILE_PIN_SKETCH_LOOPS_H
#define RECONCILE_PIN_SKETCH_LOOPS_H

#include <string.h>

#include "pin_sketch.h"

/* ---- sums ------------------------------------------------------------------------------------------------------ */

static void add_singly(const struct field *field, uint64_t *sums, size_t count, const uint64_t *elements,
                       size_t element_count)
{
    for (size_t i = 0; i < element_count && count > 0; i++) {
        uint64_t power = elements[i], square = multiply(field, power, power);
        sums[0] ^= power;
        for (size_t j = 1; j < count; j++)
            sums[j] ^= power = multiply(field, power, square);
    }
}

/* ---- numbers and polynomials ------------------------------------------------------------------------------------ */

/* a^(2^b - 2): the product of a^2, a^4, a^8, ... */
static uint64_t inverse(const struct field *field, uint64_t a)
{
    uint64_t power = a, product = 1;
    for (unsigned i = 1; i < field->bits; i++) {
        power = multiply(field, power, power);
        product = multiply(field, product, power);
    }
    return product;
}

static void make_monic(const struct field *field, uint64_t *polynomial, size_t degree)
{
    uint64_t factor = inverse(field, polynomial[degree]);
    for (size_t i = 0; i < degree; i++)
        polynomial[i] = multiply(field, polynomial[i], factor);
    polynomial[degree] = 1;
}

/* The rest of a polynomial of `size` coefficients, divided by a monic one. What stands above the rest becomes the
   quotient. */
static void divide(const struct field *field, uint64_t *polynomial, size_t size, const uint64_t *divisor, size_t degree)
{
    for (size_t top = size; top-- > degree;) {
        uint64_t factor = polynomial[top];
        if (factor == 0)
            continue;
        for (size_t i = 0; i < degree; i++)
            polynomial[top - degree + i] ^= multiply(field, factor, divisor[i]);
    }
}

/* The degree plus one; 0 for the polynomial 0. */
static size_t trimmed(const uint64_t *polynomial, size_t size)
{
    while (size > 0 && polynomial[size - 1] == 0)
        size--;
    return size;
}

/* a becomes the rest of b * a times some number, divided by b; sizes are exact, and a is not shorter than b. */
static size_t remainder_of(const struct field *field, uint64_t *a, size_t size, const uint64_t *b, size_t b_size)
{
    while (size >= b_size) {
        uint64_t lead = a[size - 1], other = b[b_size - 1];
        size_t shift = size - b_size;
        for (size_t i = 0; i < shift; i++)
            a[i] = multiply(field, a[i], other);
        for (size_t i = 0; i + 1 < b_size; i++)
            a[shift + i] = multiply(field, a[shift + i], other) ^ multiply(field, b[i], lead);
        size = trimmed(a, size - 1);
    }
    return size;
}

/* Euclid's. Both are used up; the divisor, monic, is in *result. */
static size_t greatest_divisor(const struct field *field, uint64_t **result, uint64_t *a, size_t a_size, uint64_t *b,
                               size_t b_size)
{
    while (b_size > 0) {
        size_t rest = remainder_of(field, a, a_size, b, b_size);
        uint64_t *swap = a;
        a = b;
        a_size = b_size;
        b = swap;
        b_size = rest;
    }
    make_monic(field, a, a_size - 1);
    *result = a;
    return a_size;
}

/* ---- Berlekamp and Massey --------------------------------------------------------------------------------------- */

/* S(n+1): even power sums are squares. */
static void all_sums(const struct field *field, uint64_t *all, const uint64_t *sums, size_t count)
{
    for (size_t n = 0; n < 2 * count; n++)
        all[n] = n % 2 == 0 ? sums[n / 2] : multiply(field, all[n / 2], all[n / 2]);
}

static uint64_t discrepancy(const struct field *field, const uint64_t *recurrence, size_t length, const uint64_t *all,
                            size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i <= length; i++)
        sum ^= multiply(field, recurrence[i], all[n - i]);
    return sum;
}

/*
 * The shortest recurrence of the sums, without divisions: the polynomial comes out times some number. For squares as
 * every second sum, each second step has nothing to do. All rows have count + 1 places. Answers the length, and more
 * than `count` for none.
 */
static size_t shortest_recurrence(const struct field *field, uint64_t *recurrence, const uint64_t *sums, size_t count,
                                  uint64_t *scratch)
{
    uint64_t *all = scratch, *before = all + 2 * count + 2, *swap = before + count + 1, scale = 1;
    size_t length = 0, shift = 1;
    memset(recurrence, 0, (count + 1) * sizeof *recurrence);
    memset(before, 0, (count + 1) * sizeof *before);
    recurrence[0] = before[0] = 1;
    all_sums(field, all, sums, count);
    for (size_t n = 0; n < 2 * count; n += 2, shift += 2) {
        uint64_t wrong = discrepancy(field, recurrence, length, all, n);
        if (wrong == 0)
            continue;
        size_t longer = n + 1 - length;
        bool grows = 2 * length <= n;
        if (grows && longer > count)
            return longer;
        memcpy(swap, recurrence, (count + 1) * sizeof *swap);
        for (size_t i = 0; i <= count; i++)
            recurrence[i] =
                multiply(field, scale, swap[i]) ^ (i >= shift ? multiply(field, wrong, before[i - shift]) : 0);
        if (!grows)
            continue;
        memcpy(before, swap, (count + 1) * sizeof *before);
        length = longer;
        scale = wrong;
        shift = 0;
    }
    return length;
}

/* ---- roots ------------------------------------------------------------------------------------------------------ */

/* In place: the square of a polynomial has the squares of its coefficients at twice their places. */
static void square_modulo(const struct field *field, uint64_t *result, const uint64_t *polynomial,
                          const uint64_t *modulus, size_t degree, uint64_t *wide)
{
    for (size_t i = 0; i < degree; i++) {
        wide[2 * i] = multiply(field, polynomial[i], polynomial[i]);
        wide[2 * i + 1] = 0;
    }
    divide(field, wide, 2 * degree, modulus, degree);
    memcpy(result, wide, degree * sizeof *result);
}

/* z, z^2, z^4, ... modulo the polynomial, one row each; whether the next of them is z again. */
static bool frobenius(const struct field *field, uint64_t *rows, const uint64_t *modulus, size_t degree, uint64_t *wide)
{
    memset(rows, 0, degree * sizeof *rows);
    rows[1] = 1;
    for (unsigned i = 1; i <= field->bits; i++)
        square_modulo(field, rows + i * degree, rows + (i - 1) * degree, modulus, degree, wide);
    return memcmp(rows, rows + field->bits * degree, degree * sizeof *rows) == 0;
}

/* The trace of (factor z) modulo the polynomial. */
static void trace_of(const struct field *field, uint64_t *trace, const uint64_t *rows, size_t degree, uint64_t factor)
{
    memset(trace, 0, degree * sizeof *trace);
    for (unsigned i = 0; i < field->bits; i++) {
        for (size_t j = 0; j < degree; j++)
            trace[j] ^= multiply(field, factor, rows[i * degree + j]);
        factor = multiply(field, factor, factor);
    }
}

/* Parts a monic factor in two: `part` becomes one followed by the other, without their leading ones. Answers the degree
   of the first, 0 where nothing was parted. `work` has three rows. */
static size_t split(const struct field *field, uint64_t *part, size_t degree, const uint64_t *trace, size_t trace_size,
                    uint64_t *work, size_t row)
{
    uint64_t *rest = work, *copy = work + row, *divisor, *quotient = work + 2 * row;
    memcpy(rest, trace, trace_size * sizeof *rest);
    divide(field, rest, trace_size, part, degree);
    memcpy(copy, part, degree * sizeof *copy);
    copy[degree] = 1;
    memcpy(quotient, copy, (degree + 1) * sizeof *quotient);
    size_t rest_size = trimmed(rest, degree);
    size_t size = greatest_divisor(field, &divisor, copy, degree + 1, rest, rest_size);
    size_t first = size - 1;
    if (first == 0 || first == degree)
        return 0;
    divide(field, quotient, degree + 1, divisor, first);
    memcpy(part, divisor, first * sizeof *part);
    memcpy(part + first, quotient + first, (degree - first) * sizeof *part);
    return first;
}

/* The factors stand in a row, each without its leading one; `ends` has a 1 where one ends. Roots are factors of degree
   one. */
static bool part_all(const struct field *field, uint64_t *factors, uint64_t *ends, size_t degree, const uint64_t *trace,
                     uint64_t *work)
{
    bool all_parted = true;
    for (size_t begin = 0, end; begin < degree; begin = end) {
        for (end = begin + 1; !ends[end - 1]; end++)
            ;
        if (end - begin == 1)
            continue;
        size_t first = split(field, factors + begin, end - begin, trace, degree, work, degree + 1);
        if (first)
            ends[begin + first - 1] = 1;
        all_parted &= end - begin == 2 && first;
    }
    return all_parted;
}

static bool find_roots(const struct field *field, uint64_t *factors, size_t degree, uint64_t *scratch)
{
    if (degree <= 1)
        return true;
    uint64_t *modulus = scratch, *ends = modulus + degree + 1, *trace = ends + degree, *work = trace + degree;
    uint64_t *rows = work + 3 * (degree + 1), factor = 1;
    memcpy(modulus, factors, degree * sizeof *modulus);
    if (!frobenius(field, rows, modulus, degree, work))
        return false;
    memset(ends, 0, degree * sizeof *ends);
    ends[degree - 1] = 1;
    for (unsigned i = 0; i < field->bits; i++) {
        trace_of(field, trace, rows, degree, factor);
        if (part_all(field, factors, ends, degree, trace, work))
            return true;
        factor = multiply(field, factor, 2);
    }
    return part_all(field, factors, ends, degree, trace, work);
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

static bool decode(const struct field *field_given, uint64_t *elements, size_t *element_count, const uint64_t *sums,
                   size_t count, uint64_t *scratch)
{
    const struct field constant = *field_given, *field = &constant;
    uint64_t *recurrence = scratch, *rest = scratch + count + 1;
    *element_count = 0;
    size_t degree = shortest_recurrence(field, recurrence, sums, count, rest);
    if (degree > count || (degree > 0 && recurrence[degree] == 0))
        return false;
    if (degree == 0)
        return true;
    uint64_t factor = inverse(field, recurrence[0]);
    for (size_t i = 0; i < degree; i++)
        elements[i] = multiply(field, recurrence[degree - i], factor);
    if (elements[0] == 0 || !find_roots(field, elements, degree, scratch))
        return false;
    *element_count = degree;
    return true;
}

#endif
