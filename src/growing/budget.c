/*
 * The budget of a filter that grows.
 *
 * The rate of a filter is the part of all hashes that its prefixes cover: the sum of 2^-L over them. It stays within
 * the promised rate e because every level i of growth has a part w_i of it, with a sum of at most 1, and room for
 *
 *     c_i = floor(w_i * e * 2^L_i / R)
 *
 * prefixes of length L_i, where R is the number of writers. A writer adds to the first level in which it sees fewer
 * than c_i; so each of R writers who never meet adds at most c_i to it, and together they cover at most w_i * e. (With
 * more writers than R the bound grows in proportion. docs/error-bounds.md has the proof.)
 *
 *     parts                  of level i                    costs, in bits of a prefix
 *     gentle (default)       1 / (i + 8), normed           3.9 at first, 5.1 at the tenth level, 5.7 at the twentieth
 *     gentle, capacity named 0.8, then 0.2 of the above    0.3 within the capacity
 *     quadratic              6/pi^2 / (i + 1)^2            0.7, 7.6, 9.5
 *     halving (the thesis)   1 / 2^(i + 1)                 1, 11, 21
 *
 * Level i has room for `growth`^i times the capacity at least; its prefixes have the fewest bits with which that holds,
 * and no fewer than those of the level before. Levels of equal length add up. Growth ends with prefixes of 60 bits
 * (of 59 where removals have those of 60: semantics.h), after 64 levels, and for gentle parts after 41.
 *
 * A rate above 1/16 is kept at 1/16, which is better than what was asked for: prefixes need a few bits to choose their
 * buckets by. Observed-remove sets err once in 2^20 at most, multisets once in 2^13, whatever was asked for:
 * growing_orcuckoo.c says why.
 *
 * All in integers, so that every machine counts alike; nothing in a frame depends on it.
 */
#include "budget.h"

#include "semantics.h"
#include "../base/binary64.h"
#include "../filter/configuration.h"

#define MOST_LEVELS   64
#define GENTLE_LEVELS 41
#define GENTLE_OFFSET 8
/* 2^64 / (1/8 + 1/9 + ... + 1/48), rounded down. */
#define GENTLE_UNIT    UINT64_C(9886032645910551616)
#define QUADRATIC_UNIT UINT64_C(11214275663373188681) /* below 2^64 * 6/pi^2 */
#define NAMED_PART     UINT64_C(14757395258967641292) /* 2^64 * 0.8 */
#define LEAST_RATE     (1.0 / 16)
#define SET_RATE       (1.0 / (1 << 20))
#define MULTISET_RATE  (1.0 / (1 << 13))

/* The rate that is kept: removal takes whatever covers a hash, so filters with removal err less often than asked for. */
static double kept_rate(const roost_config *config)
{
    double most = config->kind != ROOST_ORCUCKOO ? LEAST_RATE : config->multiset ? MULTISET_RATE : SET_RATE;
    return config->fpr < most ? config->fpr : most;
}

/* The part of level i, times 2^64; 0: there is no such level. */
static uint64_t part_of(const roost_config *config, unsigned level)
{
    if (level >= MOST_LEVELS)
        return 0;
    if (config->schedule == ROOST_QUADRATIC)
        return QUADRATIC_UNIT / ((uint64_t)(level + 1) * (level + 1));
    if (config->schedule == ROOST_HALVING)
        return UINT64_C(1) << (63 - level);
    if (level >= GENTLE_LEVELS)
        return 0;
    if (config->capacity == 0)
        return GENTLE_UNIT / (level + GENTLE_OFFSET);
    return level == 0 ? NAMED_PART : GENTLE_UNIT / (level - 1 + GENTLE_OFFSET) / 5;
}

/* floor(part * rate * 2^length / writers), or a little over 2^62 where it is more than that. */
static uint64_t room_of(const roost_config *config, uint64_t part, unsigned length)
{
    struct binary64 rate = binary64_of_double(kept_rate(config));
    uint128 product = (uint128)part * rate.digits;
    int shift = 64 - rate.exponent - (int)length;
    if (shift >= 128 || product == 0)
        return 0;
    uint64_t room = shift < 0 || product >> shift >> 62 ? UINT64_C(1) << 62 : (uint64_t)(product >> shift);
    return room / config->writers;
}

static uint64_t wanted(const roost_config *config, unsigned level)
{
    uint64_t room = config->capacity ? config->capacity : UNKNOWN_CAPACITY;
    for (unsigned i = 0; i < level && room < UINT64_C(1) << 58; i++)
        room *= config->growth;
    return room;
}

void budget_of(struct budget *budget, const roost_config *config)
{
    unsigned length = 1, level = 0;
    const unsigned longest = longest_addition(config->semantics);
    *budget = (struct budget){{0}};
    for (uint64_t part; (part = part_of(config, level)) != 0; level++) {
        while (length <= longest && room_of(config, part, length) < wanted(config, level))
            length++;
        if (length > longest)
            return;
        budget->capacity[length] += room_of(config, part, length);
    }
}

void resolve_prefixes(roost_config *config)
{
    config->writers = config->writers ? config->writers : DEFAULT_WRITERS;
    config->growth = config->growth ? config->growth : 2;
    config->schedule = config->schedule ? config->schedule : ROOST_GENTLE;
    config->layout = 0;
    config->bucket_size = config->fingerprint_bits = config->entry_bits = 0;
}

bool prefixes_are_resolved(const roost_config *config)
{
    return config->writers > 0 && config->writers <= MOST_WRITERS && config->fpr > 0 && config->fpr < 1 &&
           (config->growth == 1 || config->growth == 2 || config->growth == 4 || config->growth == 8) &&
           config->schedule >= ROOST_QUADRATIC && config->schedule <= ROOST_GENTLE && !config->layout &&
           !config->bucket_size && !config->fingerprint_bits;
}
