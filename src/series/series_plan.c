/*
 * Capacities and error rates of the tables of a series.
 *
 * Table i has growth^i times the capacity of the first (there is a largest), and a part of the promised rate: 6/pi^2 /
 * (i+1)^2 of it (quadratic), or 1 / 2^(i+1) (halving). Both add up to no more than 1, however many tables there will
 * be. The quadratic one costs 2 log2(i+1) + 0.7 bits an entry, halving i + 1.
 *
 * Up to `writers` replicas may fill each table on their own before they meet. A cuckoo filter errs in proportion to its
 * entries, so the fingerprints are made long enough for `writers` times the capacity: log2(writers) bits. A Bloom
 * filter errs far worse than in proportion, so its capacity is cut in `writers` shares, which together never pass it.
 * The whole argument is in docs/error-bounds.md.
 *
 * Low rates end in fingerprints of 32 bits. From there on a table gets twice the buckets, as often as it must, and is
 * never more than half, a quarter, ... full: memory for rate. Tables grow up to 2^31 slots (cuckoo); those that come
 * then are no larger. What ends growth is the number of tables (64), and at very low rates that of classes which a
 * 60-bit number can name; series_most_elements computes where that is.
 *
 * Cuckoo tables nest (cuckoo_geometry.h), and have rows for what they hold at present, whatever their capacity. Of the
 * fingerprint of the first table some bits are left out of the base, so that even it can spread when it has to hold
 * what several writers put there.
 */
#include "series_plan.h"

#include "../bloom/bloom.h"
#include "../filter/configuration.h"
#include "../cuckoo/cuckoo_size.h"
#include "../filter/kind.h"

#define QUADRATIC_PART       0.607927101854026628 /* 6 / pi^2 */
#define FEWEST_BASE_BITS     6
#define FEWEST_BITS          6
#define MOST_BITS            32
#define MOST_TAGGED_BITS     28
#define DEFAULT_TAGGED       24
#define MOST_PAIRS           (UINT64_C(1) << 28) /* 2^31 slots, and class keys of 60 bits with any fingerprint */
#define MOST_BLOOM_DOUBLINGS 40
#define MOST_THINNING        6 /* 64 times the buckets: beyond that a larger first fingerprint is the better choice */

/* As IEEE doubles compute it, in this order; frames depend on it, so it is computed in integers (base/binary64.h). */
static double rate_part(const roost_config *config, uint32_t index)
{
    struct binary64 share = binary64_of_double(config->fpr);
    if (config->schedule == ROOST_HALVING)
        share.exponent -= (int)index + 1;
    else
        share = binary64_divide(binary64_multiply(share, binary64_of_double(QUADRATIC_PART)),
                                binary64_of_integer((uint64_t)(index + 1) * (index + 1)));
    return double_of_binary64(share);
}

static uint32_t most_bits(const roost_config *config)
{
    return config->kind == ROOST_ORCUCKOO ? MOST_TAGGED_BITS : MOST_BITS;
}

/* Bits of the first table's fingerprints that are not base bits. */
static uint32_t spare_bits(const roost_config *config, uint32_t bits)
{
    uint32_t spare = 1;
    while (1u << (spare - 1) < config->writers)
        spare++;
    return bits > FEWEST_BASE_BITS + spare ? spare : bits > FEWEST_BASE_BITS ? bits - FEWEST_BASE_BITS : 0;
}

/* The rate of a table that every writer has filled. */
static struct binary64 rate_when_full(const roost_config *config, struct cuckoo_geometry geometry, uint64_t capacity)
{
    struct binary64 entries = binary64_multiply(binary64_of_integer(config->writers), binary64_of_integer(capacity));
    return binary64_multiply(entries, exact_class_probability(geometry));
}

/* The fewest bits with which a table of this level keeps its part, if there are any. */
static bool plan_bits(struct table_plan *plan, const roost_config *config, struct cuckoo_geometry geometry,
                      uint32_t index)
{
    uint32_t first = config->fingerprint_bits, base = first - spare_bits(config, first);
    uint32_t bits = config->kind == ROOST_ORCUCKOO ? first + 2 * index : first;
    for (bits = bits < most_bits(config) ? bits : most_bits(config); bits <= MOST_BITS; bits++) {
        geometry.bits = bits;
        geometry.extra_bits = bits - base;
        plan->geometry = geometry;
        if (binary64_at_most(rate_when_full(config, geometry, plan->capacity), binary64_of_double(plan->fpr)))
            return true;
    }
    return false;
}

/* How often the first table can double: further tables are as large as the largest. */
static uint32_t most_doublings(const roost_config *config, uint32_t buckets)
{
    uint32_t doublings = 0, most = config->kind == ROOST_BLOOM ? MOST_BLOOM_DOUBLINGS : 31;
    while (doublings < most &&
           (config->kind == ROOST_BLOOM || (buckets / 2 + UINT64_C(1)) << (doublings + 1) <= MOST_PAIRS))
        doublings++;
    return doublings;
}

/* Where the longest fingerprints do not suffice, a table has more buckets than it fills: the same classes, thinly. */
static bool plan_cuckoo(struct table_plan *plan, const roost_config *config, uint32_t buckets, uint32_t level,
                        uint32_t index)
{
    uint32_t thinnest = level + (index > 0 ? MOST_THINNING : 0);
    for (; level <= thinnest && level <= 31 && (uint64_t)buckets << level <= UINT32_MAX; level++) {
        struct cuckoo_geometry geometry = {
            .buckets = buckets << level, .bucket_size = config->bucket_size, .level = level};
        if (plan_bits(plan, config, geometry, index))
            return class_pairs(plan->geometry) <= UINT64_MAX >> (plan->geometry.bits + 4);
    }
    return false;
}

bool series_plan_table(struct table_plan *plan, const roost_config *config, uint32_t buckets, uint32_t index)
{
    uint32_t most = most_doublings(config, buckets), level = index * highest_bit(config->growth);
    level = level < most ? level : most;
    *plan = (struct table_plan){.fpr = rate_part(config, index)};
    if (config->capacity > UINT64_MAX >> (level + 1) || !(plan->fpr > 0))
        return false;
    plan->capacity = config->capacity << level;
    plan->share = plan->capacity / config->writers;
    return config->kind == ROOST_BLOOM ? plan->share > 0 : plan_cuckoo(plan, config, buckets, level, index);
}

uint64_t series_most_elements(const roost_config *config, uint32_t buckets)
{
    struct table_plan plan;
    uint64_t most = 0;
    for (uint32_t i = 0; i < MOST_TABLES && series_plan_table(&plan, config, buckets, i); i++) {
        if (config->kind == ROOST_BLOOM && !bloom_keeps_rate(config->layout, plan.fpr))
            break;
        most += config->kind == ROOST_BLOOM ? plan.share : plan.capacity;
    }
    return most;
}

static roost_status resolve_bloom(const roost_config *config)
{
    struct bloom_geometry geometry;
    double fpr = rate_part(config, 0);
    if (config->fingerprint_bits || config->multiset ||
        (config->layout != ROOST_BLOCKED && config->layout != ROOST_CLASSIC))
        return ROOST_INVALID;
    return config->layout == ROOST_BLOCKED ? bloom_size_blocked(&geometry, config->capacity, fpr)
                                           : bloom_size_classic(&geometry, config->capacity, fpr);
}

/* The fewest bits with which the first table keeps its part. */
static roost_status resolve_cuckoo(roost_config *config)
{
    struct cuckoo_geometry geometry;
    struct table_plan plan;
    bool tagged = config->kind == ROOST_ORCUCKOO;
    if (!is_bucket_size(config->bucket_size) || (!tagged && config->multiset))
        return ROOST_INVALID;
    uint32_t given = config->fingerprint_bits, fewest = tagged ? DEFAULT_TAGGED : FEWEST_BITS;
    uint32_t least = !tagged ? FEWEST_BITS : config->multiset ? 8 : 16;
    if (given && given < least)
        return ROOST_INVALID;
    roost_status status = cuckoo_size(&geometry, config);
    if (status != ROOST_OK)
        return status;
    for (uint32_t bits = given ? given : fewest; bits <= most_bits(config); bits++) {
        config->fingerprint_bits = bits;
        if (series_plan_table(&plan, config, geometry.buckets, 0) && plan.geometry.bits == bits)
            return ROOST_OK;
    }
    return ROOST_INVALID;
}

/* A cuckoo table has no more rows than it needs yet, however large it may become, and the fewer tables the fewer
   look-ups. A Bloom table has all its bits from the start. */
static uint32_t default_growth(const roost_config *config)
{
    return config->kind == ROOST_BLOOM ? 2 : 8;
}

roost_status series_resolve_plan(roost_config *config)
{
    config->writers = config->writers ? config->writers : DEFAULT_WRITERS;
    config->growth = config->growth ? config->growth : default_growth(config);
    config->schedule = config->schedule ? config->schedule : ROOST_QUADRATIC;
    bool growth_fits = config->growth == 1 || is_bucket_size(config->growth);
    if (config->writers > MOST_WRITERS || !growth_fits || config->schedule > ROOST_HALVING || config->capacity == 0 ||
        config->capacity < config->writers || !(config->fpr > 0 && config->fpr < 1))
        return ROOST_INVALID;
    if (config->kind == ROOST_BLOOM) {
        config->bucket_size = 0;
        config->entry_bits = 0;
        return resolve_bloom(config);
    }
    config->layout = 0;
    if (config->kind == ROOST_ORCUCKOO && config->entry_bits != 0 && config->entry_bits != 64)
        return ROOST_INVALID;
    config->entry_bits = config->kind == ROOST_ORCUCKOO ? 64 : 0;
    return resolve_cuckoo(config);
}
