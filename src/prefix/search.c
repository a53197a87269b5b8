/* The kernels of the table of prefixes in this build, and the choice among them (base/kernel.h). */
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

struct kernel_choice search_kernel_choice = {.kernels = search_kernels};

void search_kernel_force(const struct search_kernel *kernel)
{
    kernel_force(&search_kernel_choice, kernel);
}
