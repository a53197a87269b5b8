/* Look-ups in plain C: the reference for the vector kernels. */
#include "search_row.h"

#define QUICK_WIDTH 64

static inline bool buckets_match(unsigned width, const uint8_t *home, const uint8_t *other, uint64_t slot)
{
    uint64_t beyond = slot | UINT64_C(1) << (width - 1);
    return (bucket_matches(home, width, slot) | bucket_matches(other, width, beyond)) != 0;
}

#include "search_loops.h"

static bool usable(void)
{
    return true;
}

const struct search_kernel search_kernel_plain = {"plain", usable, contains_one, contains_batch};
