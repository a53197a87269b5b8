/* Many entries of a cuckoo table without tags at once, for merges and decoders. `cuckoo_many.c` has the essay. */
#ifndef CUCKOO_CUCKOO_MANY_H
#define CUCKOO_CUCKOO_MANY_H

#include "cuckoo_table.h"
#include "key_kernel.h"

/* Entries of another table, as this one sees them. */
struct compared_entries {
    cuckoo_entry missing[ENTRIES_ROOM], held[ENTRIES_ROOM];
    uint32_t missing_count, held_count;
};

/*
 * Compares the entries of the next rows of `other`, from *row on, with those of this table. Unless all are wanted,
 * those that are in the same slots of both may be left out.
 */
void cuckoo_table_compare(const struct cuckoo_table *table, const struct cuckoo_table *other, uint32_t *row,
                          struct compared_entries *entries, bool all);

/*
 * Puts up to ENTRIES_ROOM entries, each of which must be absent, where one of their two buckets has a free slot. Those
 * left are moved to the front; returns how many they are. The entries name a bucket in which another table had room for
 * them, and come in the order of buckets.
 */
uint32_t cuckoo_table_fill(struct cuckoo_table *table, cuckoo_entry *entries, uint32_t count);

/* Entries with their other buckets. */
struct key_places {
    cuckoo_entry entries[MOST_ENTRIES];
    uint32_t others[MOST_ENTRIES];
};

/* Turns the gaps of a list of class keys into the keys, from *next on, and their places; false if one is not a key. */
bool cuckoo_keys_of_gaps(uint64_t *numbers, struct key_places *places, uint32_t count, uint64_t *next,
                         struct cuckoo_geometry geometry);

/* The same for entries that come in any order. */
uint32_t cuckoo_table_fill_evenly(struct cuckoo_table *table, struct key_places *places, uint32_t count);

/* The class keys of the next rows, from *row on, that are in a range; `keys` has room for ENTRIES_ROOM. Returns how
   many, 0 at the end, and maybe before. */
uint32_t cuckoo_table_keys_in(const struct cuckoo_table *table, uint32_t *row, struct key_range range, uint64_t *keys);

static inline uint32_t cuckoo_table_keys(const struct cuckoo_table *table, uint32_t *row, uint64_t *keys)
{
    return cuckoo_table_keys_in(table, row, (struct key_range){0, class_universe(table->geometry)}, keys);
}

/* ---- tables with tags -------------------------------------------------------------------------------------------- */

/* What words of one table are in another one: the tag's upper part, which is above `shift` in a word, stands for
   something that has another number there. It is changed by adding what the list has for it. */
struct tag_translation {
    const uint64_t *added; /* by the upper part */
    uint32_t shift;
    bool is_identity; /* nothing is changed */
};

/* Whether the next function is for this table. */
bool cuckoo_table_lists_words(const struct cuckoo_table *table);

/*
 * The words of the next rows, from *row on, and the rows that they are in: whole groups of rows, while there is room
 * for all slots of one, `room` words in all. Free slots are left out, but one word more may be written. Returns how
 * many.
 */
uint32_t cuckoo_table_next_words(const struct cuckoo_table *table, uint32_t *row, uint64_t *words, uint32_t *rows,
                                 uint32_t room);

/* Whether the next function is for these two. */
bool cuckoo_tables_are_alike(const struct cuckoo_table *table, const struct cuckoo_table *other);

/*
 * The slots of the next rows, from *row on and before `end`, that hold words which, translated, are in neither of their
 * buckets in `other`. Goes on until there are some; `slots` has room for ENTRIES_ROOM. Returns how many.
 */
uint32_t cuckoo_table_differing(const struct cuckoo_table *table, const struct cuckoo_table *other, uint32_t *row,
                                uint32_t end, const struct tag_translation *translation, struct slot_match *slots);

#endif
