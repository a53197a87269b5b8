/* Sorting numbers, alone or with values, and finding them again. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Ascending; `scratch` has as much room as `numbers`. Numbers are below 2^bits, or alike above: fewer bits, fewer
   passes. */
void sort_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits);

/* The same into another array, for numbers that are evenly spread in their lowest bits, so many, and alike above: in
   one pass, by as many of the first of these as there are numbers, which are then next to where they belong. False
   where they are not spread, or very many: then `to` has them in any order. */
bool sort_spread_numbers(uint64_t *to, const uint64_t *from, size_t count, unsigned bits);

/* As sort_numbers, for numbers each of which occurs once, quicker where they are dense: one in five hundred or more.
   `numbers` has room for one more. */
void sort_distinct_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits);

/* A number to sort by, with a value. */
struct sort_pair {
    uint64_t key, value;
};

/* By key, ascending; pairs of equal keys keep their order. */
void sort_pairs(struct sort_pair *pairs, struct sort_pair *scratch, size_t count, unsigned bits);

/* Where a number is, or would be, in a list that ascends by the first member of its elements, a uint64_t: the index of
   the first element whose number is not smaller. `size` is that of an element. */
static inline size_t place_in_sorted(const void *list, size_t count, size_t size, uint64_t number)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        uint64_t other;
        memcpy(&other, (const unsigned char *)list + middle * size, sizeof other);
        if (other < number)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

#endif
