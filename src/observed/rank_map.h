/*
 * Dots by number. A causal context, in its order, gives each of its dots a rank: 0, 1, 2 ... Frames name dots by rank,
 * and replicas that compare what they hold sum up ranks. The map gives the rank of each entry of a filter.
 */
#ifndef OBSERVED_RANK_MAP_H
#define OBSERVED_RANK_MAP_H

#include "observed.h"

/* An actor with a single run, as nearly all have, needs no search for each of its dots. */
struct rank_map {
    const struct observed *filter;
    const struct causal_context *causal;
    uint64_t *before;
    struct actor_ranks {
        uint64_t base;        /* the rank that counter 0 would have */
        uint32_t first, last; /* of the only run; first > last: none */
        bool search;          /* more than one */
    } * actors;
};

/* False: no memory. The filter and the causal context must last as long as the map. */
bool rank_map_init(struct rank_map *map, const struct observed *filter, const struct causal_context *causal);

void rank_map_release(struct rank_map *map);

#define NO_RANK UINT64_MAX

static inline uint64_t rank_of_dot(const struct rank_map *map, uint64_t dot)
{
    uint32_t number = (uint32_t)(dot >> 32), counter = (uint32_t)dot;
    const struct actor_ranks *actor = &map->actors[number];
    if (counter >= actor->first && counter <= actor->last)
        return actor->base + counter;
    uint64_t id = map->filter->actors.list[number].id;
    if (!actor->search || !causal_contains(map->causal, id, counter))
        return NO_RANK;
    return causal_rank(map->causal, map->before, id, counter);
}

static inline uint64_t rank_of(const struct rank_map *map, struct entry entry)
{
    return rank_of_dot(map, dot_number(entry.number, entry.counter));
}

/* Visits few of the entries, by the ranks of their dots: the others are passed over without reading more of them. */
typedef bool rank_test(const void *context, uint64_t rank);
static inline __attribute__((always_inline)) void visit_wanted(const struct observed *filter,
                                                               const struct rank_map *map, rank_test *is_wanted,
                                                               const void *test_context, entry_visitor *visit,
                                                               void *context)
{
    struct entry entries[ENTRIES_AT_ONCE];
    uint64_t dots[ROOM_FOR_DOTS];
    struct entry_walk walk = {0}, here = {0};
    for (size_t count; (count = filter->store->next_dots(filter, &walk, dots)) > 0; here = walk) {
        uint64_t wanted = 0;
        for (size_t i = 0; i < count; i++)
            wanted |= (uint64_t)is_wanted(test_context, rank_of_dot(map, dots[i])) << i;
        if (wanted == 0)
            continue;
        (void)filter->store->next(filter, &here, entries);
        for (; wanted; wanted &= wanted - 1)
            visit(context, entries[lowest_bit(wanted)]);
    }
}

#endif
