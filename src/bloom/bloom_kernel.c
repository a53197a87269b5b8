/* The kernels of Bloom filters in this build, and the choice among them (base/kernel.h). */
#include "bloom_kernel.h"

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

static struct kernel_choice choice = {.kernels = bloom_kernels};

const struct bloom_kernel *bloom_kernel_in_use(void)
{
    return kernel_in_use(&choice);
}

void bloom_kernel_force(const struct bloom_kernel *kernel)
{
    kernel_force(&choice, kernel);
}
