/*
 * Hashing: XXH3, keyed by the seed of the filter. Keys and the parts of a state get 128 bits, checksums 64.
 *
 * XXH3 is inlined: a hash of sixteen bytes is then about three nanoseconds. It is not a cryptographic hash: anyone who
 * knows the seed can construct keys that collide, so a service that accepts untrusted keys should keep its seed secret.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "roost/types.h"
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

/*
 * The hash of one number: what a single entry weighs in an additive digest. It is paid on every add, so it is three
 * multiplications instead of XXH3's dozen: the number is mixed once, then folded under two keys for the two halves.
 */
static inline uint128 hash_number(uint64_t seed, uint64_t number)
{
    uint64_t mixed = (number ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= mixed >> 32;
    uint64_t low = multiply_and_fold(mixed ^ UINT64_C(0xa0761d6478bd642f), UINT64_C(0xe7037ed1a0b428db));
    uint64_t high = multiply_and_fold(mixed ^ UINT64_C(0x8ebc6af09c88c6e3), UINT64_C(0x589965cc75374cc3));
    return (uint128)high << 64 | low;
}

static inline uint64_t checksum_bytes(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

#endif
