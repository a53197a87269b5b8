/* The one place that picks a kernel: the first usable one, once; tests may force another. */
#include "pin_sketch.h"

#include <stdatomic.h>

#include "../base/neon.h"

const struct pin_sketch_kernel *const pin_sketch_kernels[] = {
#if defined(__x86_64__)
    &pin_sketch_vpclmul, &pin_sketch_vpclmul256,
    &pin_sketch_clmul,
#elif defined(HAS_NEON)
    &pin_sketch_pmull,
#endif
    &pin_sketch_plain,   NULL,
};

static _Atomic(const struct pin_sketch_kernel *) in_use;

static const struct pin_sketch_kernel *best(void)
{
    const struct pin_sketch_kernel *const *kernel = pin_sketch_kernels;
    while (kernel[1] && !(*kernel)->usable()) /* the last one, plain, always is */
        kernel++;
    return *kernel;
}

const struct pin_sketch_kernel *pin_sketch_in_use(void)
{
    const struct pin_sketch_kernel *kernel = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (!kernel) {
        kernel = best();
        atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
    }
    return kernel;
}

void pin_sketch_force(const struct pin_sketch_kernel *kernel)
{
    atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
}
