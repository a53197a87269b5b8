/* Look-ups in plain C, the reference for the vector kernels; and the one place that picks a kernel. */
#include "search.h"

#include <stdatomic.h>

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

const struct search_kernel *const search_kernels[] = {
#if defined(__x86_64__)
    &search_kernel_avx2,
#endif
    &search_kernel_plain,
    NULL,
};

static _Atomic(const struct search_kernel *) in_use;

static const struct search_kernel *best(void)
{
    const struct search_kernel *const *kernel = search_kernels;
    while (kernel[1] && !(*kernel)->usable()) /* the last one, plain, always is */
        kernel++;
    return *kernel;
}

const struct search_kernel *search_kernel_in_use(void)
{
    const struct search_kernel *kernel = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (!kernel) {
        kernel = best();
        atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
    }
    return kernel;
}

void search_kernel_force(const struct search_kernel *kernel)
{
    atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
}
