/*
 * A table of tombstones: deleted keys, each with its generation and the time at which the deletion was written down.
 * Packed records in buckets take 11 bytes beside the key, and some spare room.
 *
 *     directory   0       1       2       3            by the first bits of a hash of the key
 *                 |       |        \     /
 *     buckets   [..]    [....]      [..]               a bucket that has become too long is split
 *
 * Extendible hashing (Fagin, Nievergelt, Pippenger, Strong, 1979): an addition splits one bucket at most. When the
 * directory doubles, its pointers are copied, one for about every twenty keys. A walk goes in the order of hashes, so
 * it can stop at any bucket and continue later, whatever happens to the table meanwhile: it visits every record that is
 * there all the time once.
 *
 *     record   generation - 1 (6)   time (4)   size of the key (1 to 5, seven bits each)   key
 */
#ifndef MODULE_REGISTRY_TOMBSTONE_TABLE_H
#define MODULE_REGISTRY_TOMBSTONE_TABLE_H

#include "module/base/server.h"

struct tombstone_table;

struct tombstone {
    const uint8_t *key;
    size_t size;
    uint64_t generation;
    uint32_t time;
};

struct tombstone_table *tombstone_table_new(void);
void tombstone_table_free(struct tombstone_table *table);

uint64_t tombstone_table_count(const struct tombstone_table *table);
/* All memory that it has allocated. */
size_t tombstone_table_bytes(const struct tombstone_table *table);

/* False if there is no tombstone of this key. What is found is valid until the next change. */
bool tombstone_table_find(const struct tombstone_table *table, struct tombstone *found, const void *key, size_t size);
/* Replaces the tombstone of the same key. */
void tombstone_table_put(struct tombstone_table *table, const struct tombstone *tombstone);
void tombstone_table_remove(struct tombstone_table *table, const void *key, size_t size);

/* Visits the next bucket; the place is 0 at first. Returns false at the end. The visitor must not change the table. */
bool tombstone_table_walk(const struct tombstone_table *table, uint64_t *place,
                          void (*visit)(void *context, const struct tombstone *tombstone), void *context);

#endif
