/*
 * Hashing: XXH3, keyed by the seed of the filter. Keys and the parts of a state get 128 bits, checksums 64.
 *
 * XXH3 is inlined: a hash of sixteen bytes is then about three nanoseconds. It is not a cryptographic hash: whoever
 * knows the seed can make keys that collide, so a service that takes keys from strangers should keep its seed secret.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "roost/filter.h"
#include "bits.h"

static inline roost_hash hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, size, seed);
    return (roost_hash){hash.low64, hash.high64};
}

static inline uint128 hash_to_number(roost_hash hash)
{
    return (uint128)hash.high << 64 | hash.low;
}

/* The hash of one number: what a single entry weighs in an additive digest. */
static inline uint128 hash_number(uint64_t seed, uint64_t number)
{
    uint8_t bytes[8];
    store_word(bytes, number);
    return hash_to_number(hash_bytes(seed, bytes, sizeof bytes));
}

static inline uint64_t checksum_bytes(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

#endif
