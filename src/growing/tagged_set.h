/*
 * The entries of one filter, prefixes with tags: a sorted list while they are few, a table from then on. `tagged_set.c`
 * has the essay.
 */
#ifndef GROWING_TAGGED_SET_H
#define GROWING_TAGGED_SET_H

#include "few.h"
#include "../prefix/tagged.h"

#define MOST_TAGS_LISTED 64
#define IN_TABLE         UINT8_MAX

/*
 * Invariants (tagged_set_check): a list is sorted by prefix; there are at most `most` entries in it, and as many as it
 * has places; none is shorter than `shortest`.
 */
struct tagged_set {
    union {
        struct prefix_entry only;   /* of a list without places: the one entry, if there is one */
        struct prefix_entry *list;  /* otherwise */
        struct prefix_table *table; /* where `listed` is IN_TABLE */
    };
    uint8_t listed;
    uint8_t room;     /* places of the list */
    uint8_t most;     /* entries of a list; fewer in tests, and a set with 0 remains a table */
    uint8_t shortest; /* prefix that was on the list since it was empty */
};

/* An empty list. `owner` is the filter that has the set, for allocator and seed, and `most_bytes` is what its list may
   take, or the segments of its table. */
void tagged_set_init(struct tagged_set *set);
void tagged_set_release(struct tagged_set *set, const roost_filter *owner);

static inline bool is_in_table(const struct tagged_set *set)
{
    return set->listed == IN_TABLE;
}
static inline uint64_t tagged_set_count(const struct tagged_set *set)
{
    return is_in_table(set) ? set->table->count : set->listed;
}
const uint64_t *count_listed(const struct tagged_set *set, uint64_t counts[MOST_LENGTH + 1]);
/* How many different prefixes there are of each length: in the table, or in `room` after they were counted. */
static inline const uint64_t *tagged_set_counts(const struct tagged_set *set, uint64_t room[MOST_LENGTH + 1])
{
    return is_in_table(set) ? set->table->counts : count_listed(set, room);
}

/* Of a list, apart from what is done for a table: that is to take no longer than if there were no lists. */
bool list_contains(const struct tagged_set *set, uint64_t hash);
void list_contains_many(const struct tagged_set *set, bool *found, const roost_hash *hashes, size_t count);

static inline bool tagged_set_contains(const struct tagged_set *set, uint64_t hash)
{
    return is_in_table(set) ? table_contains(set->table, hash) : list_contains(set, hash);
}

static inline void tagged_set_contains_many(const struct tagged_set *set, bool *found, const roost_hash *hashes,
                                            size_t count)
{
    if (is_in_table(set))
        table_contains_many(set->table, found, hashes, count);
    else
        list_contains_many(set, found, hashes, count);
}

/* All of these as those of tagged.h. */
bool tagged_set_holds(const struct tagged_set *set, struct prefix_entry entry);
uint32_t tagged_set_covering(const struct tagged_set *set, uint64_t hash, struct prefix_entry *entries, uint32_t most);
uint64_t tagged_set_count_covering(const struct tagged_set *set, uint64_t hash);
uint32_t tagged_set_of_prefix(const struct tagged_set *set, uint64_t prefix, struct prefix_entry *entries,
                              uint32_t most);
bool tagged_set_has_prefix(const struct tagged_set *set, uint64_t prefix);
void tagged_set_fetch(const struct tagged_set *set, uint64_t hash);
size_t tagged_set_put_entries(struct tagged_set *set, const struct prefix_entry *entries, size_t count);
roost_status tagged_set_put(struct tagged_set *set, const roost_filter *owner, struct prefix_entry entry,
                            uint64_t most_bytes);
roost_status tagged_set_put_first(struct tagged_set *set, const roost_filter *owner, struct prefix_entry entry,
                                  uint64_t most_bytes);
static inline bool tagged_set_own(struct tagged_set *set, uint64_t prefix)
{
    return !is_in_table(set) || tagged_own(set->table, prefix);
}
bool tagged_set_drop(struct tagged_set *set, struct prefix_entry entry);
bool tagged_set_retag(struct tagged_set *set, struct prefix_entry entry, uint64_t tag);
roost_status tagged_set_reserve(struct tagged_set *set, const roost_filter *owner, uint64_t count, uint64_t most_bytes);
void tagged_set_release_reserve(struct tagged_set *set, const roost_filter *owner);
void tagged_set_make_room(struct tagged_set *set, const roost_filter *owner, uint64_t entries, uint64_t most_bytes);
void tagged_set_shrink(struct tagged_set *set, const roost_filter *owner, uint64_t prefix);
/* The same where entries were dropped without, wherever they were: a table of few becomes a list. */
void tagged_set_settle(struct tagged_set *set, const roost_filter *owner);

/* The entries of a list. */
static inline const struct prefix_entry *entries_listed(const struct tagged_set *set)
{
    return set->room ? set->list : &set->only;
}

/* Of a list, all entries come at once. */
uint32_t tagged_set_next(const struct tagged_set *set, struct tagged_walk *walk,
                         struct prefix_entry entries[TAGGED_AT_ONCE]);
uint32_t tagged_set_next_tags(const struct tagged_set *set, struct tagged_walk *walk, uint64_t tags[ROOM_FOR_TAGS]);
uint64_t tagged_set_elements(const struct tagged_set *set);

/* Another table, empty, for what this set has and gets; NULL without memory. It takes the place of all that is here, or
   is freed by free_table_of. */
struct prefix_table *tagged_set_new_table(const struct tagged_set *set, const roost_filter *owner);
void tagged_set_put_table(struct tagged_set *set, const roost_filter *owner, struct prefix_table *table);
/* As if there were too many for a list, now and from now on; for tests. */
roost_status tagged_set_use_table(struct tagged_set *set, const roost_filter *owner);

/* Into an empty set. */
roost_status tagged_set_copy(struct tagged_set *copy, const roost_filter *owner, const struct tagged_set *set);
/* As that of tables. */
bool tagged_set_move(struct tagged_set *set, const struct memory_mover *mover, uint64_t place);

uint64_t tagged_set_bytes(const struct tagged_set *set);
/* What the list may take, or the segments of the table, where all of the set may take so much. */
uint64_t tagged_set_bytes_left(const struct tagged_set *set, uint64_t limit);
uint64_t tagged_set_bytes_with(const struct tagged_set *set, uint64_t more);
uint64_t tagged_set_crowd(const struct tagged_set *set);
double tagged_set_load(const struct tagged_set *set);
bool tagged_set_check(const struct tagged_set *set);

#endif
