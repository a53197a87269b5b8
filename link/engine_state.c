/* See engine_state.h. */
#include "engine_state.h"

#define FIRST_MEMORY_PAUSE 1000 /* milliseconds, of a region that has no memory */
#define LAST_MEMORY_PAUSE  60000

static uint64_t now_of(const struct engine *engine)
{
    return event_loop_now(engine->loop);
}

/* ---- regions of a key -------------------------------------------------------------------------------------------- */

/* A cluster has only database 0. */
region_set regions_of(const struct engine *engine, const struct row *row)
{
    region_set found = 0;
    for (unsigned i = 0; i < engine->count; i++)
        if (row->database == 0 || !deployment_is_cluster(engine->regions[i].deployment))
            found |= one_region(i);
    return found;
}

region_set ready_regions_of(const struct engine *engine, const struct row *row)
{
    region_set found = regions_of(engine, row);
    for (unsigned i = 0; i < engine->count; i++)
        if (!engine->regions[i].ready)
            found &= ~one_region(i);
    return found;
}

/* ---- silence ----------------------------------------------------------------------------------------------------- */

void region_asked(struct region *region)
{
    if (region->outstanding++ == 0)
        region->answered_at = now_of(region->engine);
}

void region_answered(struct region *region)
{
    region->outstanding--;
    region->answered_at = now_of(region->engine);
    if (region->silent && !region->engine->stopping) {
        region->silent = false;
        region->engine->events->region_changed(region);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

bool region_is_full_for(const struct region *region, const struct row *row)
{
    struct node *node = deployment_node(region->deployment, (roost_bytes){row->key, row->key_size});
    const struct listener *listener = node ? *node_place(node) : NULL;
    return listener && listener->full;
}

bool region_refuses_memory(const struct region *region)
{
    return now_of(region->engine) < region->memory.at;
}

void region_out_of_memory(struct region *region)
{
    uint64_t now = now_of(region->engine);
    region->counters.out_of_memory++;
    region->withholds = true;
    if (!region->refusing_since)
        region->refusing_since = now;
    if (now >= region->memory.at) /* commands that were already under way do not lengthen the pause */
        back_off_next(&region->memory, now, FIRST_MEMORY_PAUSE, LAST_MEMORY_PAUSE);
}

void region_has_memory(struct region *region)
{
    if (region->refusing_since)
        region->release = (struct back_off){0};
    region->memory = (struct back_off){0};
    region->refusing_since = 0;
}

bool region_is_full(const struct region *region)
{
    for (const struct listener *listener = region->listeners; listener; listener = listener->next)
        if (!listener->full)
            return false;
    return true;
}

/* ---- digests ----------------------------------------------------------------------------------------------------- */

roost_digest region_digest(const struct region *region)
{
    roost_digest sum = {0};
    for (const struct listener *listener = region->listeners; listener; listener = listener->next) {
        unsigned carry = 0;
        for (size_t i = 0; i < 16; i++) {
            carry += (unsigned)sum.bytes[i] + listener->digest.bytes[i];
            sum.bytes[i] = (uint8_t)carry;
            carry >>= 8;
        }
    }
    return sum;
}
