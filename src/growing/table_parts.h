/* Inside the table: what its files share. `table.c` has the essay. */
#ifndef GROWING_TABLE_PARTS_H
#define GROWING_TABLE_PARTS_H

#include "crowd.h"
#include "search.h"
#include "table.h"

/* Prefixes that a segment has at most, in multiples of the target. Uniform hashes never exceed the double. */
#define MOST_IN_SEGMENT 4

/* The directory whose own segment has this hash. */
static inline struct directory *owner_of(const struct prefix_table *table, uint64_t hash)
{
    struct directory *directory = table->root;
    for (node child; is_nested(child = *place_of(directory, hash));)
        directory = nested_of(child);
    return directory;
}

static inline uint64_t segments_of(const struct directory *directory)
{
    return (UINT64_C(1) << directory->depth) + directory->split;
}

static inline uint64_t range_end(uint64_t start, unsigned depth)
{
    return depth ? start | UINT64_MAX >> (depth & 63) : UINT64_MAX; /* it is below 64, which analyzers do not see */
}

/* ---- table.c ---- */

struct directory *new_directory(struct prefix_table *table, unsigned base, uint64_t segments);
void free_directory(struct prefix_table *table, struct directory *directory);
/* Children for all places, with these entries, in order. */
bool fill_directory(struct prefix_table *table, struct directory *directory, uint64_t start,
                    const struct prefix_entry *entries, uint64_t count);
/* A segment that holds these; `sum` is that of the hashes of the prefixes that begin here. 0 without memory. */
node new_segment(struct prefix_table *table, uint64_t start, unsigned depth, const struct prefix_entry *entries,
                 uint64_t count, uint128 sum);
void free_segment(struct prefix_table *table, struct segment *segment);
/* Cuts a segment in two if there are more prefixes than the directory is made for. */
void grow_directory(struct prefix_table *table, struct directory *directory);
/* An empty table gets so many segments. */
roost_status table_begin(struct prefix_table *table, uint64_t segments);

/* ---- tagged.c: only for tables with tags, but for crowd_free, which does nothing to others ---- */

/* The entries of a segment that are in the crowd become those of its successors, and what found no slot in these joins
   them. False, and nothing changed, without memory. */
bool tagged_take_crowd(struct prefix_table *table, const struct segment *old, const node *successors, unsigned count);
bool crowd_open(struct prefix_table *table);
void crowd_free(struct prefix_table *table);
bool crowd_copy(struct prefix_table *copy, const struct prefix_table *table);
void crowd_move(struct prefix_table *table, const struct memory_mover *mover);

#endif
