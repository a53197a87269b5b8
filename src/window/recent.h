/* The table of a growing window: hash prefix -> the slot in which it came last. `recent.c` has the essay. */
#ifndef WINDOW_RECENT_H
#define WINDOW_RECENT_H

#include "roost/filter.h"
#include "../base/bits.h"
#include "../base/memory.h"

#define FEWEST_PREFIX_BITS 8

/* How many bits of the hash a word has room for, beside the tags of the slots of a window with so many past ones. */
uint32_t recent_most_bits(uint32_t past);

struct recent_segment {
    uint64_t *words; /* `lines` homes of eight words each, a margin and an empty line; never NULL */
    void *block;     /* what was allocated; NULL: nothing, or a place in a slab, */
    uint32_t slab;   /* this one, less 1; 0: in none */
    uint32_t lines;
    uint32_t count;          /* words that are not 0, forgotten entries and reservations included */
    uint32_t reserved;       /* reservations */
    uint32_t depth;          /* how many leading bits all of its entries share */
    uint64_t newest, oldest; /* slots: all of its entries are from this range */
};

/* Memory for many segments of the largest size, in pages as large as the machine has. */
struct recent_slab {
    struct region region; /* all zero: none at present */
    uint8_t *bytes;       /* where the first place begins, with a large page */
    uint32_t places;      /* for segments, of which so many are in use */
    uint32_t used;
    uint64_t *free; /* the first place that is free again; its first word is the address of the next */
    uint32_t fresh; /* places from this one on were never used */
};

/* What is remembered of one slot. */
struct recent_slot {
    uint64_t number;
    uint64_t count;
    uint128 sum; /* of hash_number of the prefixes */
};

/* Invariants: recent_check. */
struct recent {
    const roost_environment *environment;
    uint64_t seed;
    uint32_t bits;           /* of a prefix */
    uint32_t tag_bits;       /* of a word */
    uint32_t reach;          /* slots newest - reach to newest are remembered */
    uint64_t multipliers[2]; /* where entries go: the replica's own, never state */
    uint64_t inverses[2];    /* of these, modulo 2^64 */
    struct recent_segment *segments;
    uint32_t count, room; /* of segments */
    struct recent_slab *slabs;
    uint32_t slab_count, slab_room;
    uint32_t depth;            /* of the directory */
    uint32_t *directory;       /* leading bits of an entry -> its segment; NULL: all in the first one */
    struct recent_slot *slots; /* reach + 1 of them, slot i at i modulo that */
    uint64_t newest;           /* the newest slot; meaningless while nothing is remembered */
    uint64_t newest_tag;       /* its tag, and its place in `slots` */
    uint32_t newest_place;
    uint64_t live;   /* entries that are remembered */
    uint64_t words;  /* the sum of the counts */
    uint32_t next;   /* the segment to be swept next */
    uint64_t moves;  /* how often a segment, or all of them, went elsewhere */
    uint64_t bytes;  /* allocated */
    uint64_t beside; /* bytes that count against the memory limit, too */
};

/* `luck` decides where entries go. ROOST_NO_MEMORY. */
roost_status recent_open(struct recent *recent, const roost_environment *environment, uint64_t seed, uint32_t past,
                         uint32_t bits, uint64_t luck);
void recent_close(struct recent *recent);
/* Copies into a table that is open and empty, made with the same parameters and perhaps another environment. */
roost_status recent_copy(struct recent *copy, const struct recent *recent);

static inline bool recent_is_empty(const struct recent *recent)
{
    return recent->live == 0;
}

static inline uint64_t recent_prefix(const struct recent *recent, roost_hash hash)
{
    return hash.high >> (64 - recent->bits);
}

/* The oldest slot that is remembered when this is the newest. */
static inline uint64_t recent_floor(const struct recent *recent, uint64_t newest)
{
    return newest > recent->reach ? newest - recent->reach : 0;
}

/* Whether the prefix is remembered, and where it came last. */
bool recent_find(const struct recent *recent, uint64_t prefix, uint64_t *slot);

/* Where an entry belongs; valid as long as `moves` does not change. */
struct recent_place {
    uint64_t mixed, prefix;
    struct recent_segment *segment; /* undefined while there is none */
    uint64_t home;
};
/* Fetches what is about to be read there. */
void recent_prepare(const struct recent *recent, struct recent_place *places, const roost_hash *hashes, size_t count);

/* Of entries that came in this slot, as many as need nothing but a free word in a segment that has others of the slot,
   or are there already; *before as below. Stops at the first that needs more. */
size_t recent_add_at_once(struct recent *recent, uint64_t *before, const struct recent_place *places, size_t count,
                          uint64_t slot);
/* An entry that came in this slot, which is not older than the newest. *before is where it came last, or UINT64_MAX.
   ROOST_NO_MEMORY, ROOST_TOO_LARGE: nothing changed. */
roost_status recent_add(struct recent *recent, uint64_t *before, uint64_t prefix, uint64_t mixed, uint64_t slot);

/*
 * Several entries, all or none: reserve each, which may fail and changes nothing that can be seen; then either commit
 * to the newest slot and raise each, or abandon.
 */
roost_status recent_reserve(struct recent *recent, uint64_t prefix);
void recent_abandon(struct recent *recent);
void recent_advance(struct recent *recent, uint64_t newest);
/* To this slot, which is remembered, unless it came in a later one; whether that changed anything. */
bool recent_raise(struct recent *recent, uint64_t prefix, uint64_t slot);

/* How many are remembered when this slot begins. */
uint64_t recent_live_at(const struct recent *recent, uint64_t slot);

/* Gives back the memory of what is forgotten, a few segments at a time. */
void recent_compact(struct recent *recent, uint32_t segments);

/* All that is remembered, in no order. */
struct recent_walk {
    uint32_t segment;
    size_t at;
};
bool recent_next(const struct recent *recent, struct recent_walk *walk, uint64_t *prefix, uint64_t *slot);

/* Additive over entries; empty is 0. */
uint128 recent_digest(const struct recent *recent);
bool recent_check(const struct recent *recent);

#endif
