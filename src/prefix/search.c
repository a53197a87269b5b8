/* The one place that picks a kernel: the first usable one, once; tests may force another. */
#include "search.h"

const struct search_kernel *const search_kernels[] = {
#if defined(__x86_64__)
    &search_kernel_avx2,
#elif defined(HAS_NEON)
    &search_kernel_neon,
#elif defined(__wasm_simd128__)
    &search_kernel_simd128,
#endif
    &search_kernel_plain,
    NULL,
};

_Atomic(const struct search_kernel *) search_kernel_chosen;

static const struct search_kernel *best(void)
{
    const struct search_kernel *const *kernel = search_kernels;
    while (kernel[1] && !(*kernel)->usable()) /* the last one, plain, always is */
        kernel++;
    return *kernel;
}

const struct search_kernel *search_kernel_choose(void)
{
    const struct search_kernel *kernel = best();
    atomic_store_explicit(&search_kernel_chosen, kernel, memory_order_relaxed);
    return kernel;
}

void search_kernel_force(const struct search_kernel *kernel)
{
    atomic_store_explicit(&search_kernel_chosen, kernel, memory_order_relaxed);
}
