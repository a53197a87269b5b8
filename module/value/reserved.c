/* See reserved.h. */
#include "reserved.h"

#include "module/base/settings.h"

#define LEAST_BLOCKED_RATE 1e-5
#define LEAST_PREFIX_RATE  1e-7
#define FEWEST_NAMED       1000
#define MOST_EXPANSION     32768
#define CF_WRITERS         4

/* ---- BF.* -------------------------------------------------------------------------------------------------------- */

static bool is_prefixes(const struct bf_options *options)
{
    return !options->fixed && settings.bf_kind == ROOST_CUCKOO && options->rate >= LEAST_PREFIX_RATE;
}

static roost_config prefix_config(const struct bf_options *options)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_CUCKOO;
    config.scalable = true;
    config.fpr = options->rate;
    config.capacity = options->capacity < FEWEST_NAMED ? 0 : (uint64_t)options->capacity;
    config.writers = (uint32_t)settings.bf_writers;
    return config;
}

static roost_config bloom_config(const struct bf_options *options)
{
    roost_config config = roost_config_default();
    config.layout = options->rate < LEAST_BLOCKED_RATE ? ROOST_CLASSIC : ROOST_BLOCKED;
    config.fpr = options->rate;
    config.capacity = (uint64_t)options->capacity;
    config.scalable = !options->fixed;
    if (!config.scalable)
        return config;
    config.writers = (uint32_t)settings.bf_writers;
    config.growth = options->expansion <= 2 ? 2 : options->expansion <= 4 ? 4 : 8;
    if (config.capacity < config.writers)
        config.capacity = config.writers;
    return config;
}

roost_config bf_config(const struct bf_options *options)
{
    roost_config config = is_prefixes(options) ? prefix_config(options) : bloom_config(options);
    if (options->seed)
        config.seed = options->seed;
    return config;
}

struct shown bf_shown(const struct bf_options *options)
{
    struct shown shown = {.expansion = (uint32_t)options->expansion};
    if (bf_config(options).capacity == 0)
        shown.capacity = (uint32_t)options->capacity;
    return shown;
}

/* ---- series ------------------------------------------------------------------------------------------------------ */

struct series series_with_room(uint64_t first, uint64_t expansion, uint64_t items)
{
    if (expansion <= 1 && items > first)
        return (struct series){(items + first - 1) / first, (items + first - 1) / first * first};
    struct series series = {1, first};
    for (uint64_t last = first; series.capacity < items; series.filters++)
        series.capacity += last *= expansion;
    return series;
}

uint64_t series_buckets(uint64_t capacity, uint64_t bucket_size)
{
    uint64_t buckets = 1;
    while (buckets < capacity / bucket_size)
        buckets *= 2;
    return buckets;
}

/* ---- CF.* -------------------------------------------------------------------------------------------------------- */

static uint32_t power_of_two(long long number, uint32_t least, uint32_t most)
{
    uint32_t power = least;
    while (power < most && power < number)
        power *= 2;
    return power;
}

roost_config cf_config(const struct cf_options *options)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.multiset = true;
    config.capacity = (uint64_t)options->capacity;
    config.bucket_size = power_of_two(options->bucket_size, 1, 8);
    config.scalable = options->expansion > 0;
    if (config.scalable) {
        config.writers = CF_WRITERS;
        config.growth = power_of_two(options->expansion, 2, 8);
        if (config.capacity < CF_WRITERS)
            config.capacity = CF_WRITERS;
    }
    return config;
}

struct shown cf_shown(const struct cf_options *options)
{
    return (struct shown){.expansion = power_of_two(options->expansion, options->expansion > 0, MOST_EXPANSION),
                          .bucket_size = (uint32_t)options->bucket_size,
                          .iterations = (uint32_t)options->iterations};
}
