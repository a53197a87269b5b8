/* Sorting numbers. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending; `scratch` has as much room as `numbers`. Numbers are below 2^bits: fewer bits, fewer passes. */
void sort_numbers(uint64_t *numbers, uint64_t *scratch, size_t count, unsigned bits);

#endif
