/* What is known of the keys of a batch that are looked up or added together: search_loops.h. */
#ifndef PREFIX_SEARCH_ROW_H
#define PREFIX_SEARCH_ROW_H

#include "search.h"

#define ROW 32
/* Fewer of those that are added: while these are put, the memory of the next ones comes, and all of it should stay in
   the first cache. */
#define PUT_ROW 16

struct row {
    struct segment *segments[ROW];
    uint8_t *homes[ROW], *others[ROW]; /* slots of their buckets */
    uint64_t home_buckets[ROW], other_buckets[ROW];
    uint64_t slots[ROW];
    uint64_t widths[ROW];
};

/* What two buckets have of a slot. */
struct two_buckets {
    bool match;
    uint32_t used_home, used_other; /* a bit for each slot that is in use */
};

static inline bool buckets_match_plainly(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot)
{
    uint64_t beyond = slot | UINT64_C(1) << (width - 1);
    return bucket_matches(home, width, slot) || bucket_matches(other, width, beyond);
}

static inline struct two_buckets look_at_plainly(unsigned width, const uint8_t *home, const uint8_t *other,
                                                 uint64_t slot)
{
    return (struct two_buckets){buckets_match_plainly(width, home, other, slot), used_plainly(home, width),
                                used_plainly(other, width)};
}

#endif
