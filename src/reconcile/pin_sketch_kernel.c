/* The kernels of sketches in this build, and the choice among them (base/kernel.h). */
#include "pin_sketch.h"

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

static struct kernel_choice choice = {.kernels = pin_sketch_kernels};

const struct pin_sketch_kernel *pin_sketch_in_use(void)
{
    return kernel_in_use(&choice);
}

void pin_sketch_force(const struct pin_sketch_kernel *kernel)
{
    kernel_force(&choice, kernel);
}
