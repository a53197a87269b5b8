/* Inside the recyclable Bloom filter; `recyclable.c` has the essay. */
#ifndef WINDOW_RECYCLABLE_H
#define WINDOW_RECYCLABLE_H

#include "roost/evaluation.h"
#include "../bloom/bloom.h"

struct roost_recyclable {
    roost_environment environment;
    struct bloom_geometry geometry;
    double fpr;
    uint64_t held; /* elements since it was last cleared */
    uint64_t recycled;
    roost_filter *bits;
};

#endif
