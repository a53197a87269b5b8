/*
 * The budget of a filter that grows.
 *
 * The rate of a filter is the part of all hashes that its prefixes cover: the sum of 2^-L over them. It stays within
 * the promised rate e because every length L has a part w_L of it, with a sum of at most 1, and room for
 *
 *     c_L = floor(w_L * e * 2^L / R)
 *
 * prefixes, where R is the number of writers. A writer adds to the first length of which it sees fewer than c_L; so each
 * of R writers who never meet adds at most c_L of them, and together they cover at most w_L * e. (With more writers than
 * R the bound grows in proportion. docs/error-bounds.md has the proof.)
 *
 * *Gentle* parts, the default. A capacity that is named gets prefixes of one length, the shortest for which it takes at
 * most 0.8 of the rate, or a half if it is small. What is left of the rate belongs to the lengths after it, in parts in
 * proportion to 1/8, 1/9, 1/10 and so on. If no capacity is named, all of the rate is divided in this way.
 *
 *     1 %, one writer, capacity 1,000             capacity 1,000,000
 *     18 bits    1,000    38 % of the rate         27 bits    1,000,000    75 % of the rate
 *     19           240    4.6 %                    28            61,010    2.3 %      up to 6 % beyond the capacity
 *     20           427    4.1 %                    29           108,462    2.0 %      17 %
 *     ...                                          30           195,232    1.8 %      36 %
 *     32       750,200    1.7 %                    33         1,201,430    1.4 %      257 %
 *
 * So a filter that has to take a few more elements than its owner expected needs a bit or two more for them, not six,
 * and one that grows a thousandfold about four more than if its capacity had been known. Why small capacities get less:
 * filters that begin with room for a thousand are the ones that grow a thousandfold, and a bit of a thousand keys costs
 * little. Without a capacity a key costs 3.6 bits more than all of the rate would at first, and 5.1 at 2^30 keys. With a
 * `growth` of 4 or 8 only every second or third length is used, with larger parts.
 *
 * *Quadratic* and *halving* parts are those of the thesis's tables: 6/pi^2 / (i + 1)^2 and 1 / 2^(i + 1) of level i,
 * which has room for `growth`^i times the capacity. Its prefixes have the fewest bits with which that holds, and no
 * fewer than those of the level before. Levels of equal length add up.
 *
 * Growth ends with prefixes of 60 bits (of 59 where removals have those of 60: semantics.h), after 64 levels, and for
 * gentle parts after the lengths that 2^42 elements need.
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
#include "../base/bits.h"
#include "../filter/configuration.h"

#define MOST_LEVELS    64
#define QUADRATIC_UNIT UINT64_C(11214275663373188681) /* below 2^64 * 6/pi^2 */
/* Gentle parts. */
#define LARGEST_BITS    42 /* lengths are provided for 2^42 elements, */
#define FEWEST_LENGTHS  8  /* and so many after a capacity, however large it is */
#define HARMONIC_OFFSET 8
#define LARGE_CAPACITY  (UINT64_C(1) << 16)
#define LARGE_PART      UINT64_C(14757395258967641292) /* 2^64 * 0.8 */
#define SMALL_PART      (UINT64_C(1) << 63)
#define LEAST_RATE      (1.0 / 16)
#define SET_RATE        (1.0 / (1 << 20))
#define MULTISET_RATE   (1.0 / (1 << 13))

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
    return UINT64_C(1) << (63 - level);
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

/* The first length from one on with room for so many; one beyond the longest if there is none. */
static unsigned length_with_room(const roost_config *config, uint64_t part, uint64_t wanted, unsigned length)
{
    const unsigned longest = longest_addition(config->semantics);
    while (length <= longest && room_of(config, part, length) < wanted)
        length++;
    return length;
}

/* ---- levels ------------------------------------------------------------------------------------------------------ */

static uint64_t wanted(const roost_config *config, unsigned level)
{
    uint64_t room = config->capacity ? config->capacity : UNKNOWN_CAPACITY;
    for (unsigned i = 0; i < level && room < UINT64_C(1) << 58; i++)
        room *= config->growth;
    return room;
}

static void divide_by_levels(struct budget *budget, const roost_config *config)
{
    unsigned length = 1, level = 0;
    for (uint64_t part; (part = part_of(config, level)) != 0; level++) {
        length = length_with_room(config, part, wanted(config, level), length);
        if (length > longest_addition(config->semantics))
            return;
        budget->capacity[length] += room_of(config, part, length);
    }
}

/* ---- gentle parts ------------------------------------------------------------------------------------------------ */

static uint64_t harmonic(unsigned index)
{
    return (UINT64_C(1) << 32) / (index + HARMONIC_OFFSET);
}

static uint64_t harmonic_sum(unsigned count)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += harmonic(i);
    return sum;
}

/* By how many bits a length is longer than the one before: 1, unless somebody wants fewer and larger steps. */
static unsigned step_of(const roost_config *config)
{
    return config->growth > 2 ? highest_bit(config->growth) : 1;
}

/* As many lengths as 2^42 elements need, if the first is for so many. */
static unsigned lengths_from(const roost_config *config, uint64_t elements)
{
    unsigned bits = highest_bit(elements), most = LARGEST_BITS - (bits < LARGEST_BITS ? bits : LARGEST_BITS);
    return (most > FEWEST_LENGTHS ? most : FEWEST_LENGTHS) / step_of(config);
}

/* Divides a part of the rate among so many lengths from one on, as far as there are any. */
static void divide_gently(struct budget *budget, const roost_config *config, uint64_t part, unsigned first,
                          unsigned count)
{
    const unsigned longest = longest_addition(config->semantics), step = step_of(config);
    while (count > 0 && first + (count - 1) * step > longest)
        count--;
    const uint64_t sum = harmonic_sum(count);
    for (unsigned i = 0; i < count; i++) {
        uint64_t part_of_length = (uint64_t)((uint128)part * harmonic(i) / sum);
        budget->capacity[first + i * step] = room_of(config, part_of_length, first + i * step);
    }
}

static void divide_unknown(struct budget *budget, const roost_config *config)
{
    const unsigned count = lengths_from(config, UNKNOWN_CAPACITY);
    uint64_t first = (uint64_t)((uint128)UINT64_MAX * harmonic(0) / harmonic_sum(count));
    divide_gently(budget, config, UINT64_MAX, length_with_room(config, first, UNKNOWN_CAPACITY, 1), count);
}

/* The part that the capacity takes is rounded up: room_of is at most what the part makes of the rate. */
static void divide_named(struct budget *budget, const roost_config *config)
{
    const uint64_t capacity = config->capacity, most = capacity < LARGE_CAPACITY ? SMALL_PART : LARGE_PART;
    unsigned length = length_with_room(config, most, capacity, 1);
    if (length > longest_addition(config->semantics))
        return;
    uint64_t used = (uint64_t)((uint128)most * capacity / room_of(config, most, length)) + 1;
    budget->capacity[length] = capacity;
    divide_gently(budget, config, UINT64_MAX - used, length + step_of(config), lengths_from(config, capacity));
}

static void find_first(struct budget *budget)
{
    while (budget->first <= MOST_LENGTH && budget->capacity[budget->first] == 0)
        budget->first++;
}

void budget_of(struct budget *budget, const roost_config *config)
{
    *budget = (struct budget){.first = 0};
    if (config->schedule != ROOST_GENTLE)
        divide_by_levels(budget, config);
    else if (config->capacity == 0)
        divide_unknown(budget, config);
    else
        divide_named(budget, config);
    find_first(budget);
}

uint8_t budget_length_of(const struct budget *budget, uint64_t prefixes)
{
    unsigned length = budget->first;
    uint64_t room = length <= MOST_LENGTH ? budget->capacity[length] : UINT64_MAX;
    while (room < prefixes && length < MOST_LENGTH)
        room += budget->capacity[++length];
    return (uint8_t)(length <= MOST_LENGTH ? length : MOST_LENGTH);
}

void budget_cut(struct budget *budget, unsigned bits)
{
    for (unsigned length = 0; length <= MOST_LENGTH; length++)
        budget->capacity[length] = length + bits <= MOST_LENGTH ? budget->capacity[length + bits] >> (bits & 63) : 0;
    budget->first = 0;
    find_first(budget);
}

/* ---- configurations ---------------------------------------------------------------------------------------------- */

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
