#include "rank_map.h"

void rank_map_release(struct rank_map *map)
{
    memory_release(&map->filter->base.environment.allocator, map->before);
    memory_release(&map->filter->base.environment.allocator, map->actors);
}

bool rank_map_init(struct rank_map *map, const struct observed *filter, const struct causal_context *causal)
{
    const roost_allocator *allocator = &filter->base.environment.allocator;
    *map = (struct rank_map){filter, causal, memory_allocate(allocator, (causal->count + 1) * sizeof *map->before),
                             memory_allocate(allocator, ((size_t)filter->actors.count + 1) * sizeof *map->actors)};
    if (!map->before || !map->actors) {
        rank_map_release(map);
        return false;
    }
    causal_ranks(causal, map->before);
    for (uint32_t i = 0; i < filter->actors.count; i++)
        map->actors[i].first = 1;
    for (size_t i = 0; i < causal->count; i++) {
        const struct dot_run *run = &causal->runs[i];
        uint32_t number = actors_find(&filter->actors, run->actor);
        if (number == NO_ACTOR)
            continue;
        bool again = i > 0 && causal->runs[i - 1].actor == run->actor;
        map->actors[number] = (struct actor_ranks){map->before[i] - run->first, run->first, run->last, again};
    }
    return true;
}
