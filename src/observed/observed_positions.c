/*
 * What two observed-remove filters compare when cursors were lost (src/sync). The dots that both have seen are
 * numbered: the position of an entry is the rank of its dot among them. Here positions are summed up by ranges, entries
 * are found by their positions, and those that the other side has removed are dropped.
 */
#include "rank_map.h"

/* The ranks of all entries in a space of dots: as a list, or as bits. */
struct rank_list {
    struct rank_map map;
    uint64_t *ranks, count;
    uint64_t *bits;
};

static inline void list_rank(struct rank_list *list, uint64_t rank)
{
    list->ranks[list->count] = rank;
    list->count += rank != NO_RANK;
}

static inline void mark_rank(struct rank_list *list, uint64_t rank)
{
    if (rank != NO_RANK)
        list->bits[rank / 64] |= UINT64_C(1) << rank % 64;
}

static inline __attribute__((always_inline)) void
visit_ranks(const struct observed *filter, void (*visit)(struct rank_list *list, uint64_t rank), struct rank_list *list)
{
    uint64_t dots[ROOM_FOR_DOTS];
    struct entry_walk walk = {0};
    for (size_t count; (count = filter->store->next_dots(filter, &walk, dots)) > 0;)
        for (size_t i = 0; i < count; i++)
            visit(list, rank_of_dot(&list->map, dots[i]));
}

static bool summarize_as_bits(const struct observed *filter, struct summary *summary,
                              const struct causal_context *space)
{
    const roost_allocator *allocator = &filter->base.environment.allocator;
    struct rank_list list = {.bits = summary_of_members(summary, space->dots, filter->base.config->seed, allocator)};
    if (!list.bits || !rank_map_init(&list.map, filter, space)) {
        summary_release(summary, allocator);
        return false;
    }
    visit_ranks(filter, mark_rank, &list);
    rank_map_release(&list.map);
    summary_sum_up(summary);
    return true;
}

static bool summarize_as_list(const struct observed *filter, struct summary *summary,
                              const struct causal_context *space)
{
    const roost_allocator *allocator = &filter->base.environment.allocator;
    uint64_t room = 2 * filter->store->count(filter) + 2;
    struct rank_list list = {.ranks = memory_allocate(allocator, room * sizeof *list.ranks)};
    if (!list.ranks || !rank_map_init(&list.map, filter, space)) {
        memory_release(allocator, list.ranks);
        return false;
    }
    visit_ranks(filter, list_rank, &list);
    rank_map_release(&list.map);
    summary_of_positions(summary, list.ranks, list.count, space->dots, filter->base.config->seed);
    return true;
}

roost_status observed_summarize(const roost_filter *base, struct summary *summary, const struct causal_context *space)
{
    const struct observed *filter = as_const_observed(base);
    bool as_bits = summary_uses_bits(filter->store->count(filter), space->dots);
    return (as_bits ? summarize_as_bits : summarize_as_list)(filter, summary, space) ? ROOST_OK : ROOST_NO_MEMORY;
}

/* Whether a rank is among some, ascending: by bits of all ranks, or without these by search. */
struct rank_set {
    const uint64_t *ranks;
    uint64_t count;
    uint64_t *bits;
};

static struct rank_set rank_set_of(const uint64_t *ranks, uint64_t count, uint64_t universe, uint64_t entries,
                                   const roost_allocator *allocator)
{
    struct rank_set set = {ranks, count, NULL};
    if (summary_uses_bits(entries, universe))
        set.bits = memory_allocate(allocator, (universe / 64 + 1) * sizeof *set.bits);
    for (uint64_t i = 0; set.bits && i < count; i++)
        set.bits[ranks[i] / 64] |= UINT64_C(1) << ranks[i] % 64;
    return set;
}

static inline bool is_in_set(const void *context, uint64_t rank)
{
    const struct rank_set *set = context;
    if (set->bits)
        return rank != NO_RANK && (set->bits[rank / 64] >> rank % 64 & 1) != 0;
    uint64_t below = 0;
    for (uint64_t left = set->count; left > 0;) {
        uint64_t half = left - left / 2;
        below += half * (set->ranks[below + half - 1] < rank);
        left -= half;
    }
    return below < set->count && set->ranks[below] == rank;
}

struct locating {
    const struct observed *filter;
    struct located *located;
};

static void list_entry(void *context, struct entry entry)
{
    const struct locating *locating = context;
    const struct actor *actor = &locating->filter->actors.list[entry.number];
    locating->located->list[locating->located->count++] = (struct located_entry){entry.key, {actor->id, entry.counter}};
}

roost_status observed_locate(const roost_filter *base, struct located *located, const struct causal_context *space,
                             const uint64_t *positions, uint64_t count)
{
    const struct observed *filter = as_const_observed(base);
    const roost_allocator *allocator = &base->environment.allocator;
    struct locating locating = {filter, located};
    struct rank_map map;
    *located = (struct located){0};
    if (count == 0)
        return ROOST_OK;
    if (!rank_map_init(&map, filter, space))
        return ROOST_NO_MEMORY;
    struct rank_set set = rank_set_of(positions, count, space->dots, filter->store->count(filter), allocator);
    located->list = memory_allocate(allocator, count * sizeof *located->list);
    if (located->list)
        visit_wanted(filter, &map, is_in_set, &set, list_entry, &locating);
    memory_release(allocator, set.bits);
    rank_map_release(&map);
    return located->list ? ROOST_OK : ROOST_NO_MEMORY;
}

/* Actors have other numbers in other filters. */
static bool drop_entry(struct observed *filter, const struct located_entry *located)
{
    uint32_t number = actors_find(&filter->actors, located->dot.actor);
    struct entry entry = {.key = located->key, .number = number, .counter = (uint32_t)located->dot.counter};
    return number != NO_ACTOR && filter->store->drop(filter, entry);
}

roost_status observed_drop_located(roost_filter *base, bool *changed, struct located located)
{
    struct observed *filter = as_observed(base);
    for (uint64_t i = 0; i < located.count; i++)
        if (!own_class(filter, located.list[i].key))
            return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < located.count; i++)
        *changed |= drop_entry(filter, &located.list[i]);
    return ROOST_OK;
}

/* Drops the dots of these ranks, ascending. */
roost_status observed_resolve_positions(roost_filter *base, bool *changed, const struct causal_context *space,
                                        const uint64_t *positions, uint64_t count)
{
    struct located located;
    roost_status status = observed_locate(base, &located, space, positions, count);
    if (status == ROOST_OK)
        status = observed_drop_located(base, changed, located);
    memory_release(&base->environment.allocator, located.list);
    return status;
}
