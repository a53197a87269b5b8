/* The plain kernel, and the one place that picks: the first usable one, once; tests may force another. */
#include "hash_kernel.h"

#include <stdatomic.h>

static void hash_plainly(const struct hash_seed *seed, roost_hash *hashes, const roost_bytes *keys, size_t count)
{
    const struct hash_seed copy = *seed; /* which the hashes that are written do not change */
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash_key(&copy, keys[i].data, keys[i].size);
}

static bool usable(void)
{
    return true;
}

const struct hash_kernel hash_kernel_plain = {"plain", usable, hash_plainly};

const struct hash_kernel *const hash_kernels[] = {
#if defined(__x86_64__)
    &hash_kernel_avx512,
    &hash_kernel_avx2,
#endif
    &hash_kernel_plain,
    NULL,
};

static _Atomic(const struct hash_kernel *) in_use;

const struct hash_kernel *hash_kernel_in_use(void)
{
    const struct hash_kernel *kernel = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (!kernel) {
        const struct hash_kernel *const *best = hash_kernels;
        while (best[1] && !(*best)->usable()) /* the last one, plain, always is */
            best++;
        kernel = *best;
        atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
    }
    return kernel;
}

void hash_kernel_force(const struct hash_kernel *kernel)
{
    atomic_store_explicit(&in_use, kernel, memory_order_relaxed);
}
