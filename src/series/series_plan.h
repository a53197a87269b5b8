/* What the tables of a series are like: sizes that follow from the configuration alone. `series_plan.c` has the
 * reasons. */
#ifndef SERIES_SERIES_PLAN_H
#define SERIES_SERIES_PLAN_H

#include <stdbool.h>

#include "../cuckoo/cuckoo_geometry.h"

struct table_plan {
    uint64_t capacity;               /* additions that one replica makes to it, at most */
    double fpr;                      /* its part of the promised rate */
    uint64_t share;                  /* Bloom: what one writer may add of its own */
    struct cuckoo_geometry geometry; /* cuckoo: without tags */
};

/* Fills in what the configuration leaves open; ROOST_INVALID, ROOST_TOO_LARGE. */
roost_status series_resolve_plan(roost_config *config);

/* Table `index`; `buckets` of the first one (cuckoo). False where there can be no such table. */
bool series_plan_table(struct table_plan *plan, const roost_config *config, uint32_t buckets, uint32_t index);

/* How many elements one replica that is alone can add until there can be no further table. */
uint64_t series_most_elements(const roost_config *config, uint32_t buckets);

#endif
