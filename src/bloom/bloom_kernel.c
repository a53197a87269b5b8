/* The one place that picks a kernel: the first usable one, once; tests may force another. */
#include "bloom_kernel.h"

#include <stdatomic.h>

const struct bloom_kernel *const bloom_kernels[] = {
#if defined(__x86_64__)
    &bloom_kernel_avx512,
    &bloom_kernel_avx2,
#elif defined(HAS_NEON)
    &bloom_kernel_neon,
#endif
    &bloom_kernel_plain,
    NULL,
};

const uint64_t bloom_one = 1;

static _Atomic(const struct bloom_kernel *) in_use;

static const struct bloom_kernel *best(void)
{
    const struct bloom_kernel *const *kernel = bloom_kernels;
    while (kernel[1] && !(*kernel)->usable()) /* the last one, plain, always is */
        kernel++;
    return *kernel;
}

const struct bloom_kernel *bloom_kernel_in_use(void)
{
    const struct bloom_kernel *kernel = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (!kernel) {
        kernel = best();
        atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
    }
    return kernel;
}

void bloom_kernel_force(const struct bloom_kernel *kernel)
{
    atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
}
