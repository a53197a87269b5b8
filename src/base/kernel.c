/* The one place that picks kernels: the first usable one of a list, once; tests may force another. */
#include "kernel.h"

#include <string.h>

bool usable_everywhere(void)
{
    return true;
}

/* Copied, because the pointers of the array have another type; all pointers to structs look the same. */
static const struct kernel *kernel_at(const struct kernel_choice *choice, size_t index)
{
    const struct kernel *kernel;
    memcpy(&kernel, (const char *)choice->kernels + index * sizeof kernel, sizeof kernel);
    return kernel;
}

const void *kernel_choose(struct kernel_choice *choice)
{
    size_t best = 0;
    while (kernel_at(choice, best + 1) && !kernel_at(choice, best)->usable()) /* the last one, plain, always is */
        best++;
    const struct kernel *kernel = kernel_at(choice, best);
    atomic_store_explicit(&choice->in_use, kernel, memory_order_relaxed);
    return kernel;
}

void kernel_force(struct kernel_choice *choice, const void *kernel)
{
    atomic_store_explicit(&choice->in_use, kernel, memory_order_relaxed);
}
