/* Configurations, environments and budgets that many filters have in common. `shared.c` says why and how. */
#ifndef GROWING_SHARED_H
#define GROWING_SHARED_H

#include "../prefix/budget.h"
#include "../filter/kind.h"

/* Never changes while a filter uses it. */
struct shared {
    roost_config config;           /* resolved; fields that a table of prefixes does not use are 0 */
    roost_environment environment; /* complete, without the allocator */
    struct budget budget;
    unsigned
        cut; /* bits of all hashes that the filter does not see: it has the budget of one such part (../concurrent) */
};

/* One that other filters use as well, or, where so many are in use that there is no place left, one that the filter
   `keeps` for itself. NULL without memory for that. */
const struct shared *shared_open(const roost_config *config, const roost_environment *environment, uint8_t cut,
                                 bool *keeps);
void shared_close(const struct shared *shared, bool keeps, const roost_allocator *allocator);

/* Of a filter whose configuration is that of one. */
static inline const struct shared *shared_of_filter(const roost_filter *filter)
{
    return (const struct shared *)(const void *)filter->config; /* its first member */
}

#endif
