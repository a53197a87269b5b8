/* Look-ups in plain C: the reference for the vector kernels. */
#include "search_row.h"
#include "slots.h"

static inline bool buckets_match(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot)
{
    uint64_t beyond = slot | UINT64_C(1) << (width - 1);
    return bucket_matches(home, width, slot) || bucket_matches(other, width, beyond);
}

#define buckets_cover buckets_cover_plainly

static inline struct two_buckets look_at(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot)
{
    return (struct two_buckets){buckets_match(width, home, other, slot), used_plainly(home, width),
                                used_plainly(other, width)};
}

#define used_of    used_plainly
#define find_ways  find_ways_plainly
#define locate_all locate_plainly

#include "search_loops.h"

static bool usable(void)
{
    return true;
}

const struct search_kernel search_kernel_plain = {"plain",
                                                  usable,
                                                  contains_one,
                                                  contains_batch,
                                                  put_batch,
                                                  uncovered,
                                                  decode_plainly,
                                                  decode_positions_plainly,
                                                  decode_tagged_plainly,
                                                  decode_tags_plainly,
                                                  used_plainly,
                                                  find_move,
                                                  locate_all};
