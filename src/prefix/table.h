/*
 * A set of prefixes, none of which covers another, in one table that is ordered by hash and grows a segment at a time.
 * `table.c` has the essay.
 */
#ifndef PREFIX_TABLE_H
#define PREFIX_TABLE_H

#include "directory.h"

void table_init(struct prefix_table *table, uint64_t seed, const roost_environment *environment);
void table_release(struct prefix_table *table); /* which can be used again, empty */

static inline bool table_contains(const struct prefix_table *table, uint64_t hash)
{
    return table->root && search_kernel_in_use()->contains(table->root, hash);
}
void table_contains_many(const struct prefix_table *table, bool *found, const roost_hash *hashes, size_t count);
/* Whether two tables with one seed hold the same. */
static inline bool table_equals(const struct prefix_table *table, const struct prefix_table *other)
{
    return table->count == other->count && table->sum == other->sum;
}
/* Whether some prefix covers this one. */
bool table_covers(const struct prefix_table *table, uint64_t prefix);

/*
 * Adds a prefix that none covers; those that it covers go. ROOST_NO_MEMORY, ROOST_TOO_LARGE: nothing has changed.
 */
roost_status table_add(struct prefix_table *table, uint64_t prefix);

/* For hashes in turn: adds the prefix of this length of those that nothing covers, and says so in `added`. Returns after
   how many: those that concern more than a slot are left to table_add, and so are the next after it. */
size_t table_add_many(struct prefix_table *table, bool *added, const roost_hash *hashes, size_t count, unsigned length);

/* Adds prefixes in order that none covers and that do not cover each other: all, or none where it fails. */
roost_status table_add_all(struct prefix_table *table, const uint64_t *prefixes, uint64_t count);

/* The same, by another table that is built of both and takes the place of this one. */
roost_status table_rebuild_with(struct prefix_table *table, const uint64_t *prefixes, uint64_t count);

/* A list of prefixes that grows. */
struct longer_list {
    uint64_t *prefixes, count, room;
};
/* False, and nothing changed, without memory. */
bool prefixes_append(struct longer_list *list, const uint64_t *prefixes, uint64_t count,
                     const roost_allocator *allocator);

/* What a merge brought. */
struct merge_result {
    bool lists;               /* the caller wants a list, */
    struct longer_list added; /* of what is new, in order; otherwise it may be there. To be released, failed or not. */
    uint64_t unseen;          /* how many are new */
};
/* The union with a table that has the same seed and holds something: all of it, or nothing where it fails. */
roost_status table_merge(struct prefix_table *table, const struct prefix_table *other, struct merge_result *result);

/* Prefixes of the table in order, some at a time. */
struct table_walk {
    const struct prefix_table *table;
    const struct prefix_table *known; /* with the same seed, or NULL: what it has exactly alike may be left out */
    uint64_t next, last;              /* the first hash that is still to come; behind the other nothing is wanted */
    bool ended;
    uint64_t *prefixes, *scratch;
    uint64_t count, room;
    uint64_t *memory; /* of both, unless the caller has it */
};
void walk_begin(struct table_walk *walk, const struct prefix_table *table, uint64_t from);
/* An array of the caller's for segments of up to so many prefixes, thrice; larger ones get memory of their own. */
void walk_use(struct table_walk *walk, uint64_t *array, uint64_t room);
/* The prefixes of the next segment in `prefixes`, `count` of them, maybe none; false at the end. ROOST_NO_MEMORY. */
roost_status walk_next(struct table_walk *walk, bool *more);
/* The segment that comes next; NULL at the end. It can be passed over, or its prefixes with these ends come as positions
   and in no order, which is quicker. ROOST_NO_MEMORY. */
const struct segment *walk_segment(const struct table_walk *walk);
void walk_pass(struct table_walk *walk);
roost_status walk_positions(struct table_walk *walk, uint64_t ends);
void walk_end(struct table_walk *walk);
/* Whether the test holds for all prefixes. It is slower than a walk, and needs no memory. */
bool table_every(const struct prefix_table *table, prefix_test *test, const void *context);

/* Whether some prefix of a table covers another one, for many of these in order: quicker than table_covers where they
   are not much fewer than those of the table. */
struct cover_cursor {
    struct table_walk walk; /* whose prefixes are those of the present segment, also what began before it */
    uint64_t at, end;       /* the first one that may matter, and the last hash of the segment */
};
void cover_begin(struct cover_cursor *cursor, const struct prefix_table *table);
roost_status cover_next(struct cover_cursor *cursor, uint64_t prefix, bool *covered); /* ROOST_NO_MEMORY */
void cover_end(struct cover_cursor *cursor);

/* A source of prefixes in order: one at each call, 0 at the end. */
typedef uint64_t next_prefix(void *context);
/* The prefixes of a table as such a source. `status` tells whether the end was a failure. */
struct table_stream {
    struct table_walk walk;
    uint64_t at;
    roost_status status;
};
uint64_t next_of_table(void *stream);

/* A list in order as such a source. */
struct prefix_list {
    const uint64_t *prefixes;
    uint64_t left;
};
uint64_t next_of_list(void *list);

/* Fills an empty table with about `count` prefixes, in order, none of which covers another. On failure it is empty. */
roost_status table_build(struct prefix_table *table, uint64_t count, next_prefix *next, void *context);

/* The same in parts: the directory for so many prefixes, then children of its root in any order, of which each span
   gets a source that begins and ends with it, then the end. After a failure, whose status the end returns, it is empty. */
struct child_span {
    uint64_t start;      /* the first hash */
    uint64_t first, end; /* children: from the first on and before the end */
};
roost_status table_build_begin(struct prefix_table *table, uint64_t count);
roost_status table_build_children(struct prefix_table *table, struct child_span span, next_prefix *next, void *context);
roost_status table_build_end(struct prefix_table *table, roost_status status);

/* Into an empty table: its segments are shared until one of the two changes. */
roost_status table_copy(struct prefix_table *copy, const struct prefix_table *table);
/* Moves of memory, as kind.h describes them. What is shared stays where it is. */
bool table_move(struct prefix_table *table, const struct memory_mover *mover, uint64_t place);
/* The part of the slots that is in use. */
double table_load(const struct prefix_table *table);
bool table_check(const struct prefix_table *table);

#endif
