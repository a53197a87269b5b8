/*
 * Two tables with one seed, walked together in the order of hashes: one range after the other, each of which is whole
 * in both tables. `joint_walk.c` has the essay.
 */
#ifndef PREFIX_JOINT_WALK_H
#define PREFIX_JOINT_WALK_H

#include "table.h"

/* Prefixes end three bits before the end of a word at least, so their lowest bit is free to say whose they are. */
#define OF_OTHER UINT64_C(1)

struct joint_walk {
    const struct prefix_table *tables[2];
    const struct prefix_table *built; /* a table that is made of both: ranges are whole there as well; or NULL */
    const roost_allocator *allocator;
    uint64_t start, end; /* of the present range: first and last hash */
    uint64_t next, last; /* the first hash of the next range, and the last of all */
    bool ended;
    /* What was gathered of the present range. `scratch` and `tag_scratch` have as much room. Tags are NULL in tables
       without. */
    uint64_t *prefixes, *scratch, *tags, *tag_scratch;
    uint64_t count, room;
    uint64_t *memory; /* of all of these */
};

void joint_begin(struct joint_walk *walk, const struct prefix_table *table, const struct prefix_table *other,
                 const struct prefix_table *built);
/* Only ranges from this hash to that: both tables have one that begins with the first, and one that ends with the
   last. */
void joint_limit(struct joint_walk *walk, uint64_t first, uint64_t last);
/* Of tables without tags: an array of the caller's for so many entries, twice; more are gathered elsewhere. */
void joint_use(struct joint_walk *walk, uint64_t *array, uint64_t room);
void joint_end(struct joint_walk *walk);
/* Whether ranges would be much larger than the segments of the other table. */
#define MUCH_COARSER 16
static inline bool is_much_coarser(const struct prefix_table *table, const struct prefix_table *other)
{
    return table->root && other->root && segments_of(table->root) < segments_of(other->root) / MUCH_COARSER;
}
/* The next range, of which nothing is gathered yet; false at the end. */
bool joint_next(struct joint_walk *walk);

/* The segment of one of the tables that has this hash of the present range, and the last one has the end of the range;
   NULL where the table has nothing. */
static inline const struct segment *joint_segment(const struct joint_walk *walk, unsigned which, uint64_t hash)
{
    const struct directory *root = walk->tables[which]->root;
    return root ? find_segment(root, hash) : NULL;
}

/* Whether one segment of the table is the present range. */
static inline bool joint_is_one_segment(const struct joint_walk *walk, const struct segment *segment)
{
    return segment && segment->start == walk->start && range_end(segment->start, segment->depth) == walk->end;
}

/* How many entries and segments one of the tables has in the range, with entries that begin before it; the sum of the
   hashes of those that do not. */
struct joint_census {
    uint64_t count, segments;
    uint128 sum;
};
struct joint_census joint_census(const struct joint_walk *walk, unsigned which);

/* The prefix of a table that began before the present range, which then lies in it; 0: there is none. */
uint64_t joint_earlier(const struct joint_walk *walk, unsigned which);

/* Gathers what begins in the segments that a table has in the range, but for what is in the crowd; false without
   memory. */
bool joint_gather(struct joint_walk *walk, unsigned which);
/* The same, maybe without what lies in the same slots in both tables, with the same tags. */
bool joint_gather_unlike(struct joint_walk *walk, unsigned which);
/* Room for so many more; false without memory. */
bool joint_reserve(struct joint_walk *walk, uint64_t more);

/* Finds what was gathered by its prefix, for as long as nothing else is gathered. `scratch` is in use then. */
#define INDEX_BITS 13
struct joint_index {
    unsigned shift;                   /* to the bits of the range that choose a chain */
    uint16_t heads[1u << INDEX_BITS]; /* of chains: an item and one more; the next is in `scratch` */
};
/* Empty. False where there is too much for an index. */
bool joint_index_begin(struct joint_index *index, const struct joint_walk *walk);
static inline uint16_t *joint_chain(struct joint_index *index, uint64_t prefix)
{
    return &index->heads[prefix >> index->shift & ((1u << INDEX_BITS) - 1)];
}
static inline void joint_index_add(struct joint_index *index, struct joint_walk *walk, uint64_t item)
{
    uint16_t *head = joint_chain(index, walk->prefixes[item]);
    walk->scratch[item] = *head;
    *head = (uint16_t)(item + 1);
}

/* Sorts what was gathered, whatever it is: by prefix, then by tag. All prefixes are inside the range. */
void joint_sort(struct joint_walk *walk);

#endif
