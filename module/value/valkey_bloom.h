/*
 * Filters of valkey-bloom as values: the encoding of its RDB type, bloomfltr, and that of BF.LOAD, which its AOF files
 * have. As those of RedisBloom (redisbloom.h), they become filters of ours that have the arrays as imported parts.
 *
 *     RDB      filters, expansion (0: of fixed size), rate, tightening ratio, whether the seed is random; each filter:
 *              a string, capacity; behind the last one its items, the others are full
 *     BF.LOAD  1, then the same numbers in 4, 8, 8, 1 and 8 bytes, the count of filters last; each filter: size of the
 *              string (8), the string, items (8), capacity (8)
 *     string   1, bytes of the array (8), probes (4), the seed (32), the array
 *
 * Numbers are little-endian. The seed is the keys of two SipHashes; that of all filters of a value is the same. Filter
 * i has the rate times the tightening ratio to the power of i.
 */
#ifndef MODULE_VALUE_VALKEY_BLOOM_H
#define MODULE_VALUE_VALKEY_BLOOM_H

#include "filter_value.h"

/* From the bytes of BF.LOAD. */
roost_status valkey_bloom_decode(struct filter_value **filter, const uint8_t *bytes, size_t size,
                                 enum encoding encoding);

/* From an RDB file. On failure the log says why. */
roost_status valkey_bloom_load(struct filter_value **filter, RedisModuleIO *io, int version);

#endif
