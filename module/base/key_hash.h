/* The hash of a key, for tables in memory. Seeded, since an attacker may choose the keys. */
#ifndef MODULE_BASE_KEY_HASH_H
#define MODULE_BASE_KEY_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t key_hash(uint64_t seed, const void *bytes, size_t size)
{
    const uint8_t *key = bytes;
    uint64_t hash = seed ^ size;
    for (; size >= 8; size -= 8, key += 8) {
        uint64_t word;
        memcpy(&word, key, 8);
        hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
        hash ^= hash >> 32 ^ seed >> 7;
    }
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ key[i]) * UINT64_C(0xff51afd7ed558ccd) ^ hash >> 29;
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 31;
}

#endif
