/*
 * Austin Appleby's MurmurHash64A and MurmurHash2 (public domain), which the filters of RedisBloom are made with. Both
 * read words of little-endian bytes; they are here to ask imported filters, and nothing else uses them.
 */
#ifndef IMPORTED_MURMUR_H
#define IMPORTED_MURMUR_H

#include <stddef.h>
#include <stdint.h>

#include "../base/bits.h"

#define MURMUR_64 UINT64_C(0xc6a4a7935bd1e995)
#define MURMUR_32 0x5bd1e995u

static inline uint64_t murmur_word(uint64_t word)
{
    word *= MURMUR_64;
    word ^= word >> 47;
    return word * MURMUR_64;
}

static inline uint64_t murmur_64(const uint8_t *key, size_t size, uint64_t seed)
{
    uint64_t hash = seed ^ size * MURMUR_64, rest = 0;
    for (; size >= 8; key += 8, size -= 8)
        hash = (hash ^ murmur_word(load_word(key))) * MURMUR_64;
    for (size_t i = 0; i < size; i++)
        rest |= (uint64_t)key[i] << (8 * i);
    if (size > 0)
        hash = (hash ^ rest) * MURMUR_64;
    hash = (hash ^ hash >> 47) * MURMUR_64;
    return hash ^ hash >> 47;
}

static inline uint32_t murmur_half_word(uint32_t word)
{
    word *= MURMUR_32;
    word ^= word >> 24;
    return word * MURMUR_32;
}

static inline uint32_t murmur_32(const uint8_t *key, size_t size, uint32_t seed)
{
    uint32_t hash = seed ^ (uint32_t)size, rest = 0;
    for (; size >= 4; key += 4, size -= 4)
        hash = hash * MURMUR_32 ^ murmur_half_word(load_half_word(key));
    for (size_t i = 0; i < size; i++)
        rest |= (uint32_t)key[i] << (8 * i);
    if (size > 0)
        hash = (hash ^ rest) * MURMUR_32;
    hash = (hash ^ hash >> 13) * MURMUR_32;
    return hash ^ hash >> 15;
}

#endif
