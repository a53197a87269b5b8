/* A radix sort from the lowest digit up: a stable pass for every eleven bits, no comparison, no branch on the data. */
#include "sort.h"

#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

static void sort_by_digit(uint64_t *to, const uint64_t *from, size_t count, unsigned shift)
{
    size_t starts[DIGITS] = {0}, start = 0;
    for (size_t i = 0; i < count; i++)
        starts[from[i] >> shift & (DIGITS - 1)]++;
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        size_t next = start + starts[digit];
        starts[digit] = start;
        start = next;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
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

void sort_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits)
{
    if (count <= 64) {
        sort_by_insertion(numbers, count);
        return;
    }
    uint64_t *from = numbers, *to = scratch;
    for (unsigned shift = 0; shift < bits && shift < 64; shift += DIGIT_BITS) {
        sort_by_digit(to, from, count, shift);
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != numbers)
        memcpy(numbers, from, count * sizeof *numbers);
}
