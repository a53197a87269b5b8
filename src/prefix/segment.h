/*
 * A segment: the prefixes of one range of hashes, in buckets of eight slots. `segment.c` has the essay.
 *
 * Whatever is here is layout and never state: which slot holds what, how many buckets there are, how wide a slot is.
 */
#ifndef PREFIX_SEGMENT_H
#define PREFIX_SEGMENT_H

#include "slots.h"
#include "../base/memory.h"

/* Whether the list of what found no slot has a prefix of the hash. */
bool spill_contains(const struct segment *segment, uint64_t hash);

static inline bool segment_contains(const struct segment *segment, uint64_t hash)
{
    struct slot_place place = slot_place_of(segment, hash);
    unsigned width = segment->slots.width;
    return (bucket_matches(slots_of(segment, place.home), width, place.slot) |
            bucket_matches(slots_of(segment, place.other), width, place.slot | in_other_bucket(segment))) != 0 ||
           (segment->spill_count && spill_contains(segment, hash));
}

/* What a segment is made for. */
struct segment_shape {
    uint64_t start;      /* the first hash */
    uint8_t depth;       /* of its range */
    uint8_t tag_width;   /* bits; 0: without tags */
    uint8_t number_bits; /* of these */
    uint8_t longest;     /* prefix that it takes, */
    uint8_t shortest;    /* and of those that it gets */
    uint64_t expected;   /* so many prefixes there will be */
    bool dense;          /* nothing need follow soon: fewer slots stay free */
};

/* The prefixes go on after the bits of the range, or cover all of it; they may be in any order. In tables without tags
   none covers another. NULL without memory, or where so many do not fit in any segment. */
struct segment *segment_new(struct segment_shape shape, const struct prefix_run *run, const roost_allocator *allocator);
/* One that has no sharers. */
void segment_free(struct segment *segment, const roost_allocator *allocator);
/* One more table has it; one has it no longer, and the last of them frees it (NULL is fine). Both with the allocator of
   that table, and NULL or what counts its memory. */
void segment_share(struct segment *segment, const roost_allocator *allocator, memory_counter *count);
void segment_leave(struct segment *segment, const roost_allocator *allocator, memory_counter *count);
struct segment *segment_copy(const struct segment *segment, const roost_allocator *allocator);

/* Whether a prefix of this length goes into slots, and fits. */
static inline bool segment_takes(const struct segment *segment, unsigned length)
{
    return length >= (unsigned)segment->depth + segment->place_bits && length <= longest_in_slots(segment);
}

/* Puts a prefix that the segment takes into a slot. False, and nothing changed, where none was found. */
bool segment_put(struct segment *segment, struct prefix_entry entry);
/* The same of one whose two buckets are full: others have to move. `place` has its slot. */
bool segment_put_by_moves(struct segment *segment, struct slot_place place, uint64_t tag);

/* Whether there are so many free slots that one who finds none met a crowd. */
static inline bool segment_is_roomy(const struct segment *segment)
{
    return segment->used < (uint32_t)segment->buckets * SLOTS / 4 * 3;
}

/* Puts a prefix on the list beside the slots. False, and nothing changed, without memory. */
bool segment_spill(struct segment *segment, struct prefix_entry entry, const roost_allocator *allocator);

/* ---- segments with tags ---- */

/* Whether the packed tags have room for this one. */
static inline bool segment_takes_tag(const struct segment *segment, uint64_t tag)
{
    unsigned counter_bits = segment->tags.width - segment->number_bits;
    return tag >> 32 >> segment->number_bits == 0 && (tag & UINT32_MAX) >> 1 >> (counter_bits - 1) == 0;
}

/* The entries whose prefixes cover a hash, but for those in the crowd: up to `most` of them. */
uint32_t segment_covering(const struct segment *segment, uint64_t hash, struct prefix_entry *entries, uint32_t most);
/* Whether there is this very entry, or with tag 0 any of this prefix; the crowd is not asked. */
bool segment_holds(const struct segment *segment, struct prefix_entry entry);
/* Drops this very entry. False if it is not here. */
bool segment_drop(struct segment *segment, struct prefix_entry entry);
/* Another tag in place of one that is in a slot. False if it is not, or if there is no room for the new one. */
bool segment_retag(struct segment *segment, struct prefix_entry entry, uint64_t tag);
/* Some entries from a position on, which moves; 0 at the end. Entries that were returned may be dropped in between.
   `entries` has room for ENTRIES_OF_SEGMENT_NEXT. */
#define ENTRIES_OF_SEGMENT_NEXT 64
uint32_t segment_next(const struct segment *segment, uint32_t *position, struct prefix_entry *entries);
/* The tags of the same entries, in the same order; `tags` has room for DECODED_AT_ONCE more. */
uint32_t segment_next_tags(const struct segment *segment, uint32_t *position, uint64_t *tags);

/* ---- segments without tags ---- */

/* Removes what begins with a prefix that the segment takes from slots; without tags. Returns how many, which are
   written to `removed`, which has room for 2 * SLOTS. */
uint32_t segment_remove_covered(struct segment *segment, uint64_t prefix, uint64_t *removed);

/* All that the segment holds, in no order, also what begins before it; with their tags if there are any. `run` has room
   for `segment_room`. */
void segment_gather(const struct segment *segment, struct prefix_run *run);
/* The positions of all that begins here with one of these ends, in no order. Returns how many; there is room as for
   `segment_gather`. */
uint64_t segment_positions(const struct segment *segment, uint64_t *positions, uint64_t ends);
/* All that it holds, but for what lies in the same slots of another segment, with the same tag if there are any. False where they
   have different layouts, or most of their slots differ. */
bool segment_gather_unlike(const struct segment *segment, const struct segment *other, struct prefix_run *run);
/* The prefixes in order, the same several times if they have several tags. Returns how many. Both `prefixes` and
   `scratch` have room for `segment_room`, the latter twice. */
uint64_t segment_list(const struct segment *segment, uint64_t *prefixes, uint64_t *scratch);
/* A test of one prefix, with a context of the caller's. */
typedef bool prefix_test(const void *context, uint64_t prefix);
/* Whether the test holds for all that `segment_list` lists. It is slower, and needs no memory. */
bool segment_every(const struct segment *segment, prefix_test *test, const void *context);
/* Whether a prefix counts here: of the segments that it spans, in the first. */
static inline bool begins_here(const struct segment *segment, uint64_t prefix)
{
    return first_covered(prefix) >= segment->start;
}
/* Whether what the segment holds began before it: then that is one prefix, which covers all of the segment. */
static inline bool segment_is_continued(const struct segment *segment)
{
    return segment->short_count && !begins_here(segment, segment->shorts[0]);
}
/* Whether some prefix of the segment covers this one, which begins here. */
bool segment_covers(const struct segment *segment, uint64_t prefix);
static inline uint64_t segment_most(const struct segment *segment)
{
    return (uint64_t)segment->used + segment->short_count + (segment->crowd ? 0 : segment->spill_count);
}
static inline uint64_t segment_room(const struct segment *segment)
{
    return segment_most(segment) + DECODED_AT_ONCE;
}
uint64_t segment_bytes(const struct segment *segment);
/* Proves the invariants that concern one segment. */
bool segment_check(const struct segment *segment);

#endif
