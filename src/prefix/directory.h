/*
 * The segments of a table in the order of their hashes, and the directory that finds them: what tables with and without
 * tags have in common. `table.c` has the essay.
 */
#ifndef PREFIX_DIRECTORY_H
#define PREFIX_DIRECTORY_H

#include "budget.h"
#include "search.h"
#include "segment.h"
#include "roost/filter.h"

struct crowd;

struct prefix_table {
    struct directory *root;           /* NULL: nothing was ever added */
    uint64_t count;                   /* of prefixes */
    uint64_t counts[MOST_LENGTH + 1]; /* of each length */
    uint128 sum;                      /* of the hashes of all prefixes, under `seed` */
    uint64_t seed;
    uint64_t bytes; /* of memory */
    uint64_t most_bytes;
    uint64_t expected; /* so many entries are on their way in all */
    uint32_t target;   /* prefixes of a segment, on average; small in tests */
    uint8_t longest;   /* prefix that ever was in the table */
    uint8_t coming;    /* prefixes of this length will soon be added: segments that are made have room for them */
    bool dense;        /* segments that are made at present need little room: table_build */
    bool tagged;       /* tagged.h says what is different then */
    struct crowd *crowd;
    /* Of a table with tags: the entries of a segment that are in the crowd become those of its successors, and what
       found no slot in these joins them. False, and nothing changed, without memory. */
    bool (*take_crowd)(struct prefix_table *table, const struct segment *old, const node *successors, unsigned count);
    uint64_t reserved; /* entries that have room there, whatever becomes of memory */
    roost_allocator allocator;
    memory_counter *count_shared; /* of segments that copies share; NULL: not counted */
    roost_executor executor;      /* of long work on the whole table */
};

#define SEGMENT_TARGET 2048

/* Prefixes that a segment has at most, in multiples of the target. Uniform hashes never exceed the double. */
#define MOST_IN_SEGMENT 4

/* Segments that are made from now on have room for the prefixes that will soon be added, where those of this length are
   being added at present. */
void expect_lengths(struct prefix_table *table, const struct budget *budget, unsigned length);

/* The same, once most prefixes of the present length are there; before each addition. */
static inline void prepare_length(struct prefix_table *table, const struct budget *budget, unsigned length)
{
    const uint64_t capacity = budget->capacity[length];
    if (table->coming <= length && length > budget->first && table->counts[length] >= capacity - capacity / 8 * 3)
        expect_lengths(table, budget, length);
}

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

/* The i-th child, and how many bits of a hash lead to it. */
static inline node *child_at(const struct directory *directory, uint64_t i)
{
    uint64_t cut = 2 * directory->split;
    return i < cut ? &directory->lower[i] : &directory->upper[i - directory->split];
}

static inline unsigned depth_of_child(const struct directory *directory, uint64_t i)
{
    return directory->base + directory->depth + (i < 2 * directory->split);
}

static inline uint64_t places_bytes(unsigned depth)
{
    return sizeof(node) << depth;
}

static inline uint64_t range_end(uint64_t start, unsigned depth)
{
    return depth ? start | UINT64_MAX >> (depth & 63) : UINT64_MAX; /* it is below 64, which analyzers do not see */
}

struct directory *new_directory(struct prefix_table *table, unsigned base, uint64_t segments);
void free_directory(struct prefix_table *table, struct directory *directory);
/* Children for all places, with these prefixes, in order. */
bool fill_directory(struct prefix_table *table, struct directory *directory, uint64_t start,
                    const struct prefix_run *run);
/* A segment that holds these; `sum` is that of the hashes of the prefixes that begin here. 0 without memory. */
node new_segment(struct prefix_table *table, uint64_t start, unsigned depth, const struct prefix_run *run, uint128 sum);
/* The same of prefixes in order, and without tags a directory where they are too many. */
node new_child(struct prefix_table *table, uint64_t start, unsigned depth, const struct prefix_run *run, uint128 sum);
/* The same without tags; the prefixes may be in another order then. */
node new_sorted_child(struct prefix_table *table, uint64_t start, unsigned depth, uint64_t *prefixes, uint64_t count,
                      uint128 sum);
/* The sum of the hashes of those that do not begin before the range. */
uint128 sum_of(const struct prefix_table *table, uint64_t start, const uint64_t *prefixes, uint64_t count);
/* Memory for so many prefixes of this table; false if there is none. To be released by its `prefixes`. */
bool allocate_run(const struct prefix_table *table, struct prefix_run *run, uint64_t room);
void free_segment(struct prefix_table *table, struct segment *segment);
/* The segments that have hashes of this range are this table's alone from now on. False without memory: some may be. */
bool own_segments(struct prefix_table *table, uint64_t first, uint64_t last);
/* After the next segment was cut: once all are, the next round begins. */
void advance_split(struct prefix_table *table, struct directory *directory);
/* Cuts the next segment in two; false if there is no memory, or no need ever. */
bool cut_directory(struct prefix_table *table, struct directory *directory);
/* The same if there are more prefixes than the directory is made for. */
void grow_directory(struct prefix_table *table, struct directory *directory);
/* For hashes in turn: puts the prefix of this length of those that nothing covers, until a segment has to grow; with
   tags from this one on, until one is covered. Returns after how many. The sum of the table is left to the
   caller. */
size_t put_in_slots(struct prefix_table *table, struct put_many *put, bool *added, const roost_hash *hashes,
                    size_t count);
/* An empty table gets so many segments. */
roost_status table_begin(struct prefix_table *table, uint64_t segments);

/* Counts a prefix, with its hash. */
static inline void table_count_in(struct prefix_table *table, uint64_t prefix, uint128 hash)
{
    unsigned length = prefix_length(prefix);
    table->count++;
    table->counts[length]++;
    table->sum += hash;
    table->longest = length > table->longest ? (uint8_t)length : table->longest;
}

/* Proves the invariants of the directory and of each segment. */
bool directory_is_sound(const struct prefix_table *table);

#endif
