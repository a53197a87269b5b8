/* Sorting numbers, alone or with values. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ascending; `scratch` has as much room as `numbers`. Numbers are below 2^bits, or alike above: fewer bits, fewer passes.
 */
void sort_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits);

/* The same into another array, for numbers that are evenly spread in their lowest bits, so many, and alike above: in one
   pass, by as many of the first of these as there are numbers, which are then next to where they belong. False where
   they are not spread, or very many: then `to` has them in any order. */
bool sort_spread_numbers(uint64_t *to, const uint64_t *from, size_t count, unsigned bits);

/* As sort_numbers, for numbers each of which occurs once, quicker where they are dense: one in five hundred or more. `numbers`
   has room for one more. */
void sort_distinct_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits);

/* A number to sort by, with a value. */
struct sort_pair {
    uint64_t key, value;
};

/* By key, ascending; pairs of equal keys keep their order. */
void sort_pairs(struct sort_pair *pairs, struct sort_pair *scratch, size_t count, unsigned bits);

#endif
