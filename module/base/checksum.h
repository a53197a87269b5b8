/* FNV-1a, of 64 and 128 bits. Detects errors, not attacks. */
#ifndef MODULE_BASE_CHECKSUM_H
#define MODULE_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned __int128 sum128;

#define CHECKSUM_START UINT64_C(0xcbf29ce484222325)
#define SUM128_START   (((sum128)UINT64_C(0x6c62272e07bb0142) << 64) | UINT64_C(0x62b821756295c58d))

static inline uint64_t checksum(uint64_t sum, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static inline sum128 checksum_wide(sum128 sum, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    const sum128 prime = ((sum128)1 << 88) + 0x13b;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * prime;
    return sum;
}

static inline void sum128_bytes(sum128 sum, uint8_t bytes[16])
{
    for (unsigned i = 0; i < 16; i++)
        bytes[i] = (uint8_t)(sum >> (8 * i));
}

#endif
