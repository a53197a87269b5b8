/* The plain kernel; the kernels in this build, and the choice among them (kernel.h). */
#include "hash_kernel.h"

static void hash_plainly(const struct hash_seed *seed, roost_hash *hashes, const roost_bytes *keys, size_t count)
{
    const struct hash_seed copy = *seed; /* which the hashes that are written do not change */
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash_key(&copy, keys[i].data, keys[i].size);
}

const struct hash_kernel hash_kernel_plain = {{"plain", usable_everywhere}, hash_plainly};

const struct hash_kernel *const hash_kernels[] = {
#if defined(__x86_64__)
    &hash_kernel_avx512,
    &hash_kernel_avx2,
#endif
    &hash_kernel_plain,
    NULL,
};

static struct kernel_choice choice = {.kernels = hash_kernels};

const struct hash_kernel *hash_kernel_in_use(void)
{
    return kernel_in_use(&choice);
}

void hash_kernel_force(const struct hash_kernel *kernel)
{
    kernel_force(&choice, kernel);
}
