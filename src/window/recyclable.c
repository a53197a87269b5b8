/*
 * The recyclable Bloom filter (RBF), the paper's baseline (section VI-E): one Bloom filter that takes elements until
 * Equation 1 says that it errs more than it may, and is then cleared whole. It forgets what came a moment before as
 * readily as what is old, which is what a forgetful filter is for.
 */
#include "recyclable.h"

#include "../base/memory.h"
#include "../filter/configuration.h"

static roost_status new_bits(const struct roost_recyclable *filter, roost_filter **bits)
{
    roost_config config = {
        .kind = ROOST_BLOOM, .layout = ROOST_CLASSIC, .capacity = 1, .fpr = filter->fpr, .seed = ROOST_DEFAULT_SEED};
    return bloom_open_sized(bits, &config, &filter->environment, filter->geometry);
}

roost_status roost_recyclable_new(roost_recyclable **made, uint64_t bits, uint32_t probes, double fpr,
                                  const roost_environment *environment)
{
    struct roost_recyclable start = {
        .environment = environment_or_default(environment), .geometry = {bits, probes}, .fpr = fpr};
    *made = NULL;
    if (!bloom_is_sound_geometry(ROOST_CLASSIC, bits, probes) || !(fpr > 0 && fpr < 1))
        return ROOST_INVALID;
    struct roost_recyclable *filter = memory_allocate(&start.environment.allocator, sizeof *filter);
    if (!filter)
        return ROOST_NO_MEMORY;
    *filter = start;
    roost_status status = new_bits(filter, &filter->bits);
    if (status == ROOST_OK)
        *made = filter;
    else
        memory_release(&start.environment.allocator, filter);
    return status;
}

void roost_recyclable_free(roost_recyclable *filter)
{
    if (!filter)
        return;
    const roost_allocator allocator = filter->environment.allocator;
    roost_filter_free(filter->bits);
    memory_release(&allocator, filter);
}

static roost_status recycle(struct roost_recyclable *filter)
{
    roost_filter *fresh;
    roost_status status = new_bits(filter, &fresh);
    if (status != ROOST_OK)
        return status;
    roost_filter_free(filter->bits);
    filter->bits = fresh;
    filter->held = 0;
    filter->recycled++;
    return ROOST_OK;
}

roost_status roost_recyclable_add_hash(roost_recyclable *filter, bool *seen, roost_hash hash)
{
    bool changed;
    roost_status status = ROOST_OK;
    if (bloom_rate(ROOST_CLASSIC, filter->geometry, (double)filter->held) > filter->fpr)
        status = recycle(filter);
    if (status == ROOST_OK)
        status = roost_filter_add_hash(filter->bits, &changed, hash);
    if (status != ROOST_OK)
        return status;
    filter->held += changed;
    if (seen)
        *seen = !changed;
    return ROOST_OK;
}

bool roost_recyclable_contains_hash(const roost_recyclable *filter, roost_hash hash)
{
    return roost_filter_contains_hash(filter->bits, hash);
}

uint64_t roost_recyclable_get_cycles(const roost_recyclable *filter)
{
    return filter->recycled;
}
