/* What the two files of segments share: segment.c and segment_build.c. */
#ifndef PREFIX_SEGMENT_PARTS_H
#define PREFIX_SEGMENT_PARTS_H

#include "search.h"
#include "../base/memory.h"

static inline uint64_t slot_at(const struct segment *segment, uint32_t bucket, unsigned index)
{
    return packed_get(slots_of(segment, bucket), segment->slots.width, index);
}

/* As it is packed. */
static inline uint64_t tag_at(const struct segment *segment, uint32_t bucket, unsigned index)
{
    return segment->tags.width ? packed_get(bucket_in(segment, segment->tags, bucket), segment->tags.width, index) : 0;
}

/* `slots` are those of the bucket. */
static inline void set_slot_in(struct segment *segment, uint8_t *slots, uint32_t bucket, unsigned index, uint64_t slot,
                               uint64_t tag)
{
    packed_set(slots, segment->slots.width, index, slot);
    if (segment->tags.width)
        packed_set(bucket_in(segment, segment->tags, bucket), segment->tags.width, index, tag);
}

static inline void set_slot(struct segment *segment, uint32_t bucket, unsigned index, uint64_t slot, uint64_t tag)
{
    set_slot_in(segment, slots_of(segment, bucket), bucket, index, slot, tag);
}

static inline uint32_t used_in(const struct segment *segment, const uint8_t *slots)
{
    return search_kernel_in_use()->used(slots, segment->slots.width);
}

/* Whether its mark is before the rest. */
static inline bool is_short(const struct segment *segment, uint64_t prefix)
{
    return prefix << segment->depth << segment->place_bits == 0;
}

/* An empty segment of this shape; NULL without memory. */
struct segment *segment_allocate_like(const struct segment *shape, const roost_allocator *allocator);
/* How many slots serve look-ups of a short prefix. */
uint64_t segment_count_pieces(const struct segment *segment, uint64_t prefix);
/* The slots that serve look-ups of a short prefix, one after the other, from 0 on: where each belongs. False at the
   end. */
bool segment_next_piece(const struct segment *segment, uint64_t prefix, uint32_t *from, struct slot_place *place);
/* Puts those that can move, or those that cannot. False where one found no room. */
bool segment_index_short(struct segment *segment, uint64_t prefix, bool movable);

#endif
