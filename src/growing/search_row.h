/* What is known of the keys of a batch that are looked up together: search_loops.h. */
#ifndef GROWING_SEARCH_ROW_H
#define GROWING_SEARCH_ROW_H

#include "search.h"

#define ROW 32

struct row {
    const struct segment *segments[ROW];
    const uint8_t *homes[ROW], *others[ROW]; /* buckets */
    uint64_t slots[ROW];
    uint64_t widths[ROW];
};

#endif
