/*
 * Long work on one table, in parts that the tasks of an executor do (../base/tasks.h). `table_parts.c` has the essay.
 */
#ifndef PREFIX_TABLE_PARTS_H
#define PREFIX_TABLE_PARTS_H

#include "table.h"
#include "../base/tasks.h"

/* A task has so many segments or ranges of two thousand prefixes at least; shorter work is not cut. */
#define RANGES_OF_PART 4
#define FEWEST_PARTS   8

/* Hashes are cut into 2^bits ranges of equal size. */
static inline uint64_t start_of_range(uint64_t range, unsigned bits)
{
    return bits ? range << (64 - bits) : 0;
}

/* One part: what a task builds of a table. */
struct table_part {
    struct task_memory memory;
    struct directory root;      /* the same places as the root of the table that is built, and a count of its own */
    struct prefix_table built;  /* a view of that table: with memory of the task, and what it counts is this part's */
    struct child_span children; /* that it builds */
    roost_status status;
};

/* The fewest bits that a prefix of the table has; MOST_LENGTH if it is empty. */
unsigned shortest_length(const struct prefix_table *table);
/* Whether no prefix of the table spans two of 2^bits ranges, and neither does any child of its root. */
bool table_nests_in(const struct prefix_table *table, unsigned bits);
/* The children of a root that are in ranges from one on and before another, of 2^bits, which is no more than it has. */
struct child_span children_in(const struct directory *root, uint64_t from, uint64_t to, unsigned bits);

/* Before the task: nothing is built. */
void part_begin(struct table_part *part, const struct prefix_table *table, struct child_span children);
/* After it: moves what was built to memory of the table's allocator and counts it. False where the part must be built
   once more by the caller, because the task had too little memory or met a crowd: none of it is there then. Otherwise
   the status is that of the table: ROOST_NO_MEMORY, ROOST_TOO_LARGE. */
bool part_adopt(struct table_part *part, struct prefix_table *table, roost_status *status);
/* Nothing of it is there. */
void part_forget(const struct table_part *part);

#endif
