/*
 * Filters of RedisBloom as values: their RDB encodings, and their chunks (SCANDUMP, and AOF files).
 *
 * A filter that RedisBloom made becomes a filter of ours that has its arrays as imported parts (roost/imported.h), with
 * the configuration that BF.RESERVE or CF.RESERVE with its arguments would give: so it merges with filters that are
 * created with these arguments elsewhere.
 *
 *     RDB     MBbloom--   items, links, options, growth; each link: entries, rate, hashes, bits an entry, bits,
 *                         log2 of the bits or 0, the array, items
 *             MBbloomCF   tables, buckets, items, deletions, bucket size, iterations, expansion; each table: buckets,
 *                         the array
 *     chunks  iterator 1  a header with the same numbers, packed;
 *             then        the arrays one after the other, cut anywhere; the iterator is the offset behind a chunk + 1
 *
 * Encoding versions 2 to 5 of Bloom filters and 4 and 5 of cuckoo filters are read: those of RedisBloom 1.1 to 2.8 and
 * 8.x up to 8.10 are 2 to 4. Version 5, of the development after that, ends with a seed of the hash; in chunks a bit of
 * the header says that a seed ends it.
 *
 * The header has no end mark for chunks: the value is complete when all bytes of all arrays have arrived.
 */
#ifndef MODULE_VALUE_REDISBLOOM_H
#define MODULE_VALUE_REDISBLOOM_H

#include "filter_value.h"

enum redisbloom { REDISBLOOM_NONE, REDISBLOOM_BLOOM, REDISBLOOM_CUCKOO };

/* The bytes of all arrays that a chunk header announces; 0: it is not valid, or is not one of this kind. */
uint64_t redisbloom_array_bytes(enum redisbloom kind, const uint8_t *header, size_t size);
/* The size of the header at the beginning of these bytes; 0: it is not valid. */
size_t redisbloom_header_size(enum redisbloom kind, const uint8_t *bytes, size_t size);

/* From a header and all arrays behind it. */
roost_status redisbloom_decode(struct filter_value **filter, enum redisbloom kind, const uint8_t *bytes, size_t size,
                               enum encoding encoding);

/* From an RDB file. On failure the log says why. */
roost_status redisbloom_load(struct filter_value **filter, enum redisbloom kind, RedisModuleIO *io, int version);

#endif
