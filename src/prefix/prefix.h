/*
 * Prefixes of hashes, the elements of filters that grow.
 *
 * The hash of a key is a string of bits, of which filters that grow use the first 60: those of `roost_hash.high`, the
 * highest first. A prefix of length L stands for all hashes that begin with it, a part 2^-L of them. It is written as
 * one number, whose lowest bit that is set marks its end:
 *
 *     0110 1                          0110 1|1000 0000 ... 0000        length 5
 *     the empty prefix                |1000 0000 0000 ... 0000         length 0: covers every hash
 *
 * No prefix is 0. Sorted as numbers, prefixes are in the order of the hashes that they cover, and one that covers
 * others lies between those that go on with 0 and those that go on with 1.
 */
#ifndef PREFIX_PREFIX_H
#define PREFIX_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#include "roost/types.h"
#include "../base/bits.h"

#define MOST_LENGTH     60
#define PREFIX_UNIVERSE (UINT64_C(1) << (MOST_LENGTH + 1)) /* positions are below this */

/* The lowest bit that is set, alone. */
static inline uint64_t end_mark(uint64_t prefix)
{
    return prefix & (~prefix + 1);
}

static inline uint64_t prefix_of(uint64_t hash, unsigned length)
{
    uint64_t mark = UINT64_C(1) << (63 - length);
    return (hash & ~(2 * mark - 1)) | mark;
}

static inline unsigned prefix_length(uint64_t prefix)
{
    return 63 - lowest_bit(prefix);
}

/* Whether a hash begins with this prefix. */
static inline bool covers_hash(uint64_t prefix, uint64_t hash)
{
    return (prefix ^ hash) <= (prefix ^ (prefix - 1));
}

/* Whether another prefix begins with this one. Every prefix begins with itself. */
static inline bool covers_prefix(uint64_t prefix, uint64_t other)
{
    return covers_hash(prefix, other) && end_mark(other) <= end_mark(prefix);
}

/* The first and the last hash that it covers. */
static inline uint64_t first_covered(uint64_t prefix)
{
    return prefix & (prefix - 1);
}

static inline uint64_t last_covered(uint64_t prefix)
{
    return prefix | (prefix - 1);
}

/*
 * Prefixes as numbers that are dense where prefixes are: those of length L are 2^L and up, in order. Journals hold
 * them, and replicas that compare what they have name prefixes by them.
 */
static inline uint64_t prefix_position(uint64_t prefix)
{
    unsigned length = prefix_length(prefix);
    return UINT64_C(1) << length | first_covered(prefix) >> 1 >> (63 - length);
}

static inline bool is_position(uint64_t position)
{
    return position > 0 && position < PREFIX_UNIVERSE;
}

static inline uint64_t prefix_at(uint64_t position)
{
    unsigned length = highest_bit(position);
    return position << (63 - length) << 1 | UINT64_C(1) << (63 - length);
}

#endif
