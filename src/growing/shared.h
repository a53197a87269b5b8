/* Configurations, environments and budgets that many filters have in common. `shared.c` says why and how. */
#ifndef GROWING_SHARED_H
#define GROWING_SHARED_H

#include "budget.h"

/* Never changes while a filter uses it. */
struct shared {
    roost_config config;           /* resolved; fields that a table of prefixes does not use are 0 */
    roost_environment environment; /* complete, without the allocator */
    struct budget budget;
};

/* As filters have it, for a filter that keeps one for itself. */
void shared_init(struct shared *shared, const roost_config *config, const roost_environment *environment);

/* One that other filters use as well; NULL where so many are in use that there is no place left. */
const struct shared *shared_take(const roost_config *config, const roost_environment *environment);
void shared_leave(const struct shared *shared);

#endif
