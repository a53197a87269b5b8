/*
 * A radix sort: no comparison, no branch on the data.
 *
 * Many numbers are first dealt out by their highest digit, in one pass through memory, into parts that fit the first
 * cache; each part is then sorted from its lowest digit up, a stable pass for each digit, without leaving that cache.
 */
#include "sort.h"

#include <string.h>

#define DIGIT_BITS     8
#define MOST_DIGITS    (1u << 10)
#define CACHED_NUMBERS 4096

/* Stable: numbers of one digit keep their order. starts[d] is left where the numbers with digit d end. */
static void deal_out(uint64_t *to, const uint64_t *from, size_t count, unsigned shift, size_t *starts, unsigned digits)
{
    size_t start = 0;
    memset(starts, 0, digits * sizeof *starts);
    for (size_t i = 0; i < count; i++)
        starts[from[i] >> shift & (digits - 1)]++;
    for (unsigned digit = 0; digit < digits; digit++) {
        size_t next = start + starts[digit];
        starts[digit] = start;
        start = next;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i] >> shift & (digits - 1)]++] = from[i];
}

/* Few numbers are not worth the counting. */
static void sort_by_insertion(uint64_t *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t number = numbers[i];
        size_t j = i;
        for (; j > 0 && numbers[j - 1] > number; j--)
            numbers[j] = numbers[j - 1];
        numbers[j] = number;
    }
}

/* From the lowest digit up; the result is in `to`, and `from` is lost. */
static void sort_part(uint64_t *to, uint64_t *from, size_t count, unsigned bits)
{
    size_t starts[1u << DIGIT_BITS];
    uint64_t *target = to;
    for (unsigned shift = 0; shift < bits && count > 32; shift += DIGIT_BITS) {
        deal_out(to, from, count, shift, starts, 1u << DIGIT_BITS);
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != target)
        memcpy(target, from, count * sizeof *target);
    if (count <= 32)
        sort_by_insertion(target, count);
}

/* The width of the first digit: enough that parts fit the cache, if the numbers are evenly spread. */
static unsigned first_digit_bits(size_t count, unsigned bits)
{
    unsigned digit_bits = 1;
    while ((1u << digit_bits) < MOST_DIGITS && digit_bits < bits && count >> digit_bits > CACHED_NUMBERS / 4)
        digit_bits++;
    return digit_bits;
}

void sort_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits)
{
    if (count <= CACHED_NUMBERS || bits <= DIGIT_BITS) {
        memcpy(scratch, numbers, count * sizeof *numbers);
        sort_part(numbers, scratch, count, bits);
        return;
    }
    size_t ends[MOST_DIGITS], begin = 0;
    unsigned digit_bits = first_digit_bits(count, bits), rest = bits - digit_bits;
    deal_out(scratch, numbers, count, rest, ends, 1u << digit_bits);
    for (unsigned digit = 0; digit < 1u << digit_bits; begin = ends[digit++])
        sort_part(numbers + begin, scratch + begin, ends[digit] - begin, rest);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

#define PAIR_DIGIT_BITS 11

static void deal_out_pairs(struct sort_pair *to, const struct sort_pair *from, size_t count, unsigned shift)
{
    size_t starts[1u << PAIR_DIGIT_BITS] = {0}, start = 0;
    const uint64_t mask = (1u << PAIR_DIGIT_BITS) - 1;
    for (size_t i = 0; i < count; i++)
        starts[from[i].key >> shift & mask]++;
    for (size_t digit = 0; digit <= mask; digit++) {
        size_t next = start + starts[digit];
        starts[digit] = start;
        start = next;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].key >> shift & mask]++] = from[i];
}

static void sort_pairs_by_insertion(struct sort_pair *pairs, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct sort_pair pair = pairs[i];
        size_t j = i;
        for (; j > 0 && pairs[j - 1].key > pair.key; j--)
            pairs[j] = pairs[j - 1];
        pairs[j] = pair;
    }
}

void sort_pairs(struct sort_pair *pairs, struct sort_pair *scratch, size_t count, unsigned bits)
{
    if (count <= 64) {
        sort_pairs_by_insertion(pairs, count);
        return;
    }
    struct sort_pair *from = pairs, *to = scratch;
    for (unsigned shift = 0; shift < bits; shift += PAIR_DIGIT_BITS) {
        deal_out_pairs(to, from, count, shift);
        struct sort_pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs)
        memcpy(pairs, from, count * sizeof *pairs);
}
