/*
 * What sets that are lists at first have in common: those of prefixes (prefix_set.c), and of entries with tags
 * (tagged_set.c).
 */
#ifndef GROWING_FEW_H
#define GROWING_FEW_H

#include "../prefix/table.h"
#include "../filter/kind.h"

/* Places of a list of so many, which begins with so few and doubles; 0: one or none has no memory of its own. */
static inline uint64_t room_of_list(uint64_t count, uint64_t fewest)
{
    uint64_t room = fewest;
    while (room < count)
        room *= 2;
    return count > 1 ? room : 0;
}

/* An empty table in memory of its own, by table_init or tagged_init; NULL without memory. `owner` is the filter that
   has the set, for allocator, memory limit and seed. */
typedef void init_table(struct prefix_table *table, uint64_t seed, const roost_environment *environment);
static inline struct prefix_table *new_table_of(const roost_filter *owner, init_table *init)
{
    const roost_environment environment = whole_environment(owner);
    struct prefix_table *table = memory_allocate(&environment.allocator, sizeof *table);
    if (table)
        init(table, owner->config->seed, &environment);
    return table;
}

static inline void free_table_of(const roost_filter *owner, struct prefix_table *table)
{
    table_release(table);
    memory_release(&owner->environment.allocator, table);
}

#endif
