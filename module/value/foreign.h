/* What the readers of other programs' filters share (redisbloom.h, valkey_bloom.h): numbers of their encodings. */
#ifndef MODULE_VALUE_FOREIGN_H
#define MODULE_VALUE_FOREIGN_H

#include <string.h>

#include "module/base/server.h"

#define MOST_NUMBER UINT16_MAX /* bucket size, iterations, expansion */

static inline long long within(uint64_t number, long long least, long long most)
{
    return number < (uint64_t)least ? least : number > (uint64_t)most ? most : (long long)number;
}

/* ---- little-endian bytes ----------------------------------------------------------------------------------------- */

static inline uint64_t number_at(const uint8_t *bytes, unsigned size)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < size; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

static inline double rate_at(const uint8_t *bytes)
{
    uint64_t bits = number_at(bytes, 8);
    double rate;
    memcpy(&rate, &bits, sizeof rate);
    return rate;
}

/* ---- RDB --------------------------------------------------------------------------------------------------------- */

/* 0 after an error: the caller asks for that at the end. */
static inline uint64_t load_number(RedisModuleIO *io)
{
    return RedisModule_IsIOError(io) ? 0 : RedisModule_LoadUnsigned(io);
}

static inline double load_rate(RedisModuleIO *io)
{
    return RedisModule_IsIOError(io) ? 0 : RedisModule_LoadDouble(io);
}

#endif
