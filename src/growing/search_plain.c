/* Look-ups in plain C: the reference for the vector kernels. */
#include "search.h"

static inline bool buckets_match(const struct segment *segment, const uint8_t *home, const uint8_t *other,
                                 uint64_t slot)
{
    unsigned width = segment->slots.width;
    return (bucket_matches(home, width, slot) | bucket_matches(other, width, slot | in_other_bucket(segment))) != 0;
}

#include "search_loops.h"

static bool usable(void)
{
    return true;
}

const struct search_kernel search_kernel_plain = {"plain", usable, contains_batch};
