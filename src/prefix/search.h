/*
 * How a table is searched: its directory, and one kernel of look-ups for each instruction set. `table.c` explains the
 * directory, `segment.c` the slots; `search.c` lists the kernels.
 */
#ifndef PREFIX_SEARCH_H
#define PREFIX_SEARCH_H

#include "slots.h"
#include "../base/kernel.h"
#include "../base/neon.h"

/* A segment, or with the lowest bit set a directory. */
typedef uintptr_t node;

struct directory {
    node *lower, *upper;
    uint64_t split; /* so many of `upper` are cut in two, and in `lower` */
    uint64_t count; /* prefixes in its own segments; what spans several counts in each */
    uint8_t base;   /* bits of a hash that lead here */
    uint8_t depth;  /* `upper` has 2^depth places */
};

static inline bool is_nested(node child)
{
    return child & 1;
}

static inline struct directory *nested_of(node child)
{
    return (struct directory *)(child & ~(uintptr_t)1);
}

static inline struct segment *segment_of(node child)
{
    return (struct segment *)child;
}

/* Without a branch: whether a range is cut by now is as random as the hash. */
static inline node *place_of(const struct directory *directory, uint64_t hash)
{
    uint64_t half = hash << directory->base >> (63 - directory->depth), index = half >> 1;
    uintptr_t cut = (uintptr_t)0 - (index < directory->split);
    uintptr_t lower = (uintptr_t)directory->lower + half * sizeof(node);
    uintptr_t upper = (uintptr_t)directory->upper + index * sizeof(node);
    return (node *)(upper ^ (cut & (lower ^ upper)));
}

static inline struct segment *find_segment(const struct directory *root, uint64_t hash)
{
    node child = *place_of(root, hash);
    while (__builtin_expect(is_nested(child), 0))
        child = *place_of(nested_of(child), hash);
    return segment_of(child);
}

/* From a slot to a free one. */
struct slot_position {
    uint32_t bucket;
    unsigned index;
};

struct slot_move {
    struct slot_position from, to;
};

/* Prefixes of one length that are put one after the other. */
struct put_many {
    uint64_t seed; /* of the hashes of prefixes */
    unsigned length;
    bool tagged;                        /* into segments with tags */
    uint64_t tag;                       /* of the next, and then one more for each */
    const struct prefix_entry *entries; /* unless this is NULL: the hashes are those of these, which are put */
    uint64_t count;                     /* how many were put so far, */
    uint128 sum;                        /* and without tags the sum of their hashes */
};

/* One implementation of look-ups and additions, and of what makes and lists segments. All give the same answers. */
struct search_kernel {
    struct kernel head;
    bool (*contains)(const struct directory *root, uint64_t hash);
    void (*contains_many)(const struct directory *root, bool *found, const roost_hash *hashes, size_t count);
    /* For hashes in turn: puts the prefix of those that nothing covers, which covers nothing, and says so in `added`.
       Returns after how many: it ends before one that cannot be put into a segment as it is. */
    size_t (*put_many)(const struct directory *root, struct put_many *put, bool *added, const roost_hash *hashes,
                       size_t count);
    /* Keeps those of the prefixes, which begin in the segment, that nothing in it covers, in their order. Returns how
       many. */
    uint64_t (*uncovered)(const struct segment *segment, uint64_t *prefixes, uint64_t count);
    /* What is in slots, but for what serves look-ups only and cannot move, and unless `origins` is NULL where it was:
       slots.h. Returns how many; there is room for DECODED_AT_ONCE more. Adds to `unsure`. */
    uint64_t (*decode)(const struct segment *segment, uint64_t *prefixes, uint64_t *origins, struct unsure *unsure);
    /* Of what `decode` would find those with these ends, as positions, in no order. */
    uint64_t (*decode_positions)(const struct segment *segment, uint64_t *positions, uint64_t ends);
    /* What is in slots of some buckets of a segment with tags, with these. */
    uint64_t (*decode_tagged)(const struct segment *segment, struct bucket_range range, uint64_t *prefixes,
                              uint64_t *tags);
    /* And the tags alone, in the same order. */
    uint64_t (*decode_tags)(const struct segment *segment, struct bucket_range range, uint64_t *tags);
    /* Which of the eight slots of a bucket are in use: a bit each. */
    uint32_t (*used)(const uint8_t *bucket, unsigned width);
    /* Whether something in a full bucket can move: what, and where to. Counts the buckets that were asked. */
    bool (*find_move)(const struct segment *segment, uint32_t bucket, unsigned *asked, struct slot_move *move);
    /* Where the prefixes belong, in segments with slots of up to 32 bits: packed_place. */
    void (*locate)(const struct segment *segment, uint64_t *places, const uint64_t *prefixes, size_t count);
};

extern const struct search_kernel search_kernel_plain;
#if defined(__x86_64__)
extern const struct search_kernel search_kernel_avx2;
#elif defined(HAS_NEON)
extern const struct search_kernel search_kernel_neon;
#elif defined(__wasm_simd128__)
extern const struct search_kernel search_kernel_simd128;
#endif

/* All kernels of this build, best first, the plain one last; NULL ends the list. */
extern const struct search_kernel *const search_kernels[];

/* The best one that this machine can run; tests may force another (NULL: back to the best). In WebAssembly there is
   one, and calls of it are direct. */
extern struct kernel_choice search_kernel_choice;
static inline const struct search_kernel *search_kernel_in_use(void)
{
#if defined(__wasm_simd128__)
    return &search_kernel_simd128;
#elif defined(__wasm__)
    return &search_kernel_plain;
#else
    return kernel_in_use(&search_kernel_choice);
#endif
}
void search_kernel_force(const struct search_kernel *kernel);

#endif
