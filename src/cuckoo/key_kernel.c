/* The kernels of class keys in this build, and the choice among them (base/kernel.h). */
#include "key_kernel.h"

const struct key_kernel *const key_kernels[] = {
#if defined(__x86_64__)
    &key_kernel_avx2,
#endif
    &key_kernel_plain,
    NULL,
};

static struct kernel_choice choice = {.kernels = key_kernels};

const struct key_kernel *key_kernel_in_use(void)
{
    return kernel_in_use(&choice);
}

void key_kernel_force(const struct key_kernel *kernel)
{
    kernel_force(&choice, kernel);
}
