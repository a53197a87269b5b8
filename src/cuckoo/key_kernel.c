/* The one place that picks a kernel: the first usable one, once; tests may force another. */
#include "key_kernel.h"

#include <stdatomic.h>

const struct key_kernel *const key_kernels[] = {
#if defined(__x86_64__)
    &key_kernel_avx2,
#endif
    &key_kernel_plain,
    NULL,
};

static _Atomic(const struct key_kernel *) in_use;

static const struct key_kernel *best(void)
{
    const struct key_kernel *const *kernel = key_kernels;
    while (kernel[1] && !(*kernel)->usable()) /* the last one, plain, always is */
        kernel++;
    return *kernel;
}

const struct key_kernel *key_kernel_in_use(void)
{
    const struct key_kernel *kernel = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (!kernel) {
        kernel = best();
        atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
    }
    return kernel;
}

void key_kernel_force(const struct key_kernel *kernel)
{
    atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
}
