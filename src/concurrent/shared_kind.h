/* What filters that threads share have in common. `shared.c` has the essay. */
#ifndef CONCURRENT_SHARED_KIND_H
#define CONCURRENT_SHARED_KIND_H

#include "../filter/kind.h"
#include "roost/shared.h"

struct shared_kind {
    void (*close)(roost_shared *shared);
    roost_status (*add)(roost_shared *shared, bool *changed, roost_hash hash);
    bool (*contains)(const roost_shared *shared, roost_hash hash);
    /* Of the same configuration and geometry. */
    roost_status (*merge)(roost_shared *shared, bool *changed, const roost_filter *other);
    roost_status (*snapshot)(const roost_shared *shared, roost_filter **copy);
};

struct roost_shared {
    const struct shared_kind *kind;
    /* A filter of the configuration, whose state is not the whole one: for seed, environment and comparisons. */
    roost_filter *model;
    struct hash_seed hash_seed;
};

/* Both take a filter that is empty, also on failure. NULL without memory. */
roost_shared *shared_bloom_open(roost_filter *empty);
roost_shared *shared_growing_open(roost_filter *empty);

#endif
