/* Many entries of a cuckoo table without tags at once, for merges and decoders. `cuckoo_many.c` has the essay. */
#ifndef FILTER_CUCKOO_MANY_H
#define FILTER_CUCKOO_MANY_H

#include "cuckoo_table.h"

/* A bucket above a fingerprint. One number, and not a struct of two: it is stored and loaded whole. */
typedef uint64_t cuckoo_entry;

static ALWAYS_INLINE cuckoo_entry entry_at(uint32_t bucket, uint32_t fingerprint)
{
    return (uint64_t)bucket << 32 | fingerprint;
}

static ALWAYS_INLINE struct place place_of_entry(cuckoo_entry entry, struct cuckoo_geometry geometry)
{
    return place_in((uint32_t)(entry >> 32), (uint32_t)entry, geometry);
}

#define ROWS_AT_ONCE 8
#define MOST_ENTRIES 256
/* Some more are written than are counted. */
#define ENTRIES_ROOM (MOST_ENTRIES + ROWS_AT_ONCE * 8 + 1)

/* Entries of another table, as this one sees them. */
struct compared_entries {
    cuckoo_entry missing[ENTRIES_ROOM], held[ENTRIES_ROOM];
    uint32_t missing_count, held_count;
};

/*
 * Compares the entries of the next rows of `other`, from *row on, with those of this table. Unless all are wanted, those
 * that are in the same slots of both may be left out.
 */
void cuckoo_table_compare(const struct cuckoo_table *table, const struct cuckoo_table *other, uint32_t *row,
                          struct compared_entries *entries, bool all);

/*
 * Puts up to ENTRIES_ROOM entries, each of which must be absent, where one of their two buckets has a free slot. Those
 * left are moved to the front; returns how many they are.
 */
uint32_t cuckoo_table_fill(struct cuckoo_table *table, cuckoo_entry *entries, uint32_t count);

#endif
