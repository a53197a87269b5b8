/* Sorting numbers, alone or with values. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending; `scratch` has as much room as `numbers`. Numbers are below 2^bits: fewer bits, fewer passes. */
void sort_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits);

/* The same for numbers each of which occurs once, quicker where they are dense: one in five hundred or more. `numbers`
   has room for one more. */
void sort_distinct_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits);

/* A number to sort by, with a value. */
struct sort_pair {
    uint64_t key, value;
};

/* By key, ascending; pairs of equal keys keep their order. */
void sort_pairs(struct sort_pair *pairs, struct sort_pair *scratch, size_t count, unsigned bits);

#endif
