/*
 * The names that were deleted, each with its generation and the time at which it was written down: packed records in
 * buckets, 11 bytes beside the name and some for room.
 *
 *     directory   0       1       2       3            by the first bits of a hash of the name
 *                 |       |        \     /
 *     buckets   [..]    [....]      [..]               a bucket that has become too long is cut in two
 *
 * Extendible hashing (Fagin, Nievergelt, Pippenger, Strong, 1979): an addition cuts one bucket at most; where the
 * directory has to double, its pointers are copied, one for every twenty names or so. In the order of hashes a walk can
 * stop at any bucket and go on from there later, whatever happens to the table meanwhile: it visits what is there all
 * the time once.
 *
 *     record   generation - 1 (6)   time (4)   size of the name (1 to 5, seven bits each)   name
 */
#ifndef MODULE_REGISTRY_TOMBSTONE_TABLE_H
#define MODULE_REGISTRY_TOMBSTONE_TABLE_H

#include "module/base/server.h"

struct tombstone_table;

struct tombstone {
    const uint8_t *name;
    size_t size;
    uint64_t generation;
    uint32_t time;
};

struct tombstone_table *tombstone_table_new(void);
void tombstone_table_free(struct tombstone_table *table);

uint64_t tombstone_table_count(const struct tombstone_table *table);
/* All that was allocated. */
size_t tombstone_table_bytes(const struct tombstone_table *table);

/* False if there is none of this name. What is found is good until the next change. */
bool tombstone_table_find(const struct tombstone_table *table, struct tombstone *found, const void *name, size_t size);
/* In the place of one of the same name. */
void tombstone_table_put(struct tombstone_table *table, const struct tombstone *tombstone);
void tombstone_table_remove(struct tombstone_table *table, const void *name, size_t size);

/* Visits the next bucket; the place is 0 at first. False at the end. Nothing may be changed by the visitor. */
bool tombstone_table_walk(const struct tombstone_table *table, uint64_t *place,
                          void (*visit)(void *context, const struct tombstone *tombstone), void *context);

#endif
