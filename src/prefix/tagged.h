/*
 * A prefix table whose entries have tags: the same prefix may be there several times, each time with another tag, and
 * prefixes may cover each other. `tagged.c` has the essay.
 *
 * `counts` of the table are numbers of different prefixes, `count` is that of the entries. Only these functions, and of
 * table.h those that look up, copy, move, release and check, are for such tables.
 */
#ifndef PREFIX_TAGGED_H
#define PREFIX_TAGGED_H

#include "table.h"

#define TAGGED_AT_ONCE 64

void tagged_init(struct prefix_table *table, uint64_t seed, const roost_environment *environment);

/* For hashes in turn that nothing covers: puts the prefix of this length, with this tag and then one more for each.
   Returns after how many: until one is covered, or needs more than a slot. */
size_t tagged_put_many(struct prefix_table *table, const roost_hash *hashes, size_t count, unsigned length,
                       uint64_t tag);
/* The same of entries: those whose hash nothing covers, from the first on; there are TAGGED_AT_ONCE at most. */
size_t tagged_put_entries(struct prefix_table *table, const struct prefix_entry *entries, size_t count);
/* Adds an entry that is not there. ROOST_NO_MEMORY, ROOST_TOO_LARGE: nothing has changed. */
roost_status tagged_put(struct prefix_table *table, struct prefix_entry entry);
/* The same where it is known that there is no entry of this prefix. */
roost_status tagged_put_first(struct prefix_table *table, struct prefix_entry entry);
/* From now on, until the table is copied, entries that this prefix covers can be dropped or get another tag, and it can
   be put without fail if room was reserved. False without memory. */
bool tagged_own(struct prefix_table *table, uint64_t prefix);
/* Removes an entry that is owned; false if it is not there. Needs no memory. */
bool tagged_drop(struct prefix_table *table, struct prefix_entry entry);
/* Gives an entry another tag. False where that is not done at its place; nothing has changed then. */
bool tagged_retag(struct prefix_table *table, struct prefix_entry entry, uint64_t tag);
bool tagged_holds(const struct prefix_table *table, struct prefix_entry entry);
/* Gives back memory that is no longer needed where an entry of this prefix was dropped. */
void tagged_shrink(struct prefix_table *table, uint64_t prefix);

/* Entries whose prefixes cover a hash: at most so many of them, TAGGED_AT_ONCE or more, and none is left out that is longer
   than all that are returned; how many there are. */
uint32_t tagged_covering(const struct prefix_table *table, uint64_t hash, struct prefix_entry *entries, uint32_t most);
uint64_t tagged_count_covering(const struct prefix_table *table, uint64_t hash);
/* The same of this very prefix; whether there is one. */
uint32_t tagged_of_prefix(const struct prefix_table *table, uint64_t prefix, struct prefix_entry *entries,
                          uint32_t most);
bool tagged_has_prefix(const struct prefix_table *table, uint64_t prefix);
/* The memory in which they are comes soon. */
void tagged_fetch(const struct prefix_table *table, uint64_t hash);

/* Whatever becomes of memory, so many more entries can be put. */
roost_status tagged_reserve(struct prefix_table *table, uint64_t count);
void tagged_release_reserve(struct prefix_table *table);
/* A table that is empty gets segments for so many, as far as memory goes. */
void tagged_make_room(struct prefix_table *table, uint64_t entries);

/* Makes the i-th child of a root that is empty, which begins at this hash, of entries in order that begin and end in its
   range. Takes as many of the first as a segment may have, and says so in the run. ROOST_NO_MEMORY, ROOST_TOO_LARGE. */
roost_status tagged_build_child(struct prefix_table *table, uint64_t i, uint64_t start, struct prefix_run *run);

/* A walk over all entries. All zero: not begun. It comes to the crowd last, where the rest of the position counts
   nodes. */
struct tagged_walk {
    uint64_t hash, position;
};
#define TAGGED_IN_CROWD (UINT64_C(1) << 63)
/* Some entries; 0 at the end. Only entries that were returned may be dropped in between, without shrinking. */
uint32_t tagged_next(const struct prefix_table *table, struct tagged_walk *walk,
                     struct prefix_entry entries[TAGGED_AT_ONCE]);
/* The tags of the entries that tagged_next would return, in the same order. */
#define ROOM_FOR_TAGS (TAGGED_AT_ONCE + DECODED_AT_ONCE)
uint32_t tagged_next_tags(const struct prefix_table *table, struct tagged_walk *walk, uint64_t tags[ROOM_FOR_TAGS]);

/* How many prefixes there are that no other one covers: an element that has several counts once. It reads all entries. */
uint64_t tagged_elements(const struct prefix_table *table);

uint64_t tagged_crowd(const struct prefix_table *table); /* how many entries are in the crowd */
uint64_t tagged_bytes(const struct prefix_table *table); /* all memory of the table */
uint64_t tagged_bytes_with(const struct prefix_table *table, uint64_t more);
bool tagged_check(const struct prefix_table *table);

#endif
