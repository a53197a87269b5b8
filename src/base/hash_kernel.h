/*
 * The hashes of many keys: one kernel for each instruction set, all with the same values. Numbers of eight bytes are
 * what batches have most; their hash is four multiplications, which several keys can share. `hash_kernel.c` lists the
 * kernels.
 */
#ifndef BASE_HASH_KERNEL_H
#define BASE_HASH_KERNEL_H

#include "hash.h"
#include "kernel.h"

struct hash_kernel {
    struct kernel head;
    void (*hash)(const struct hash_seed *seed, roost_hash *hashes, const roost_bytes *keys, size_t count);
};

extern const struct hash_kernel hash_kernel_plain;
#if defined(__x86_64__)
extern const struct hash_kernel hash_kernel_avx2, hash_kernel_avx512;
#endif

/* All kernels of this build, best first, the plain one last; NULL ends the list. */
extern const struct hash_kernel *const hash_kernels[];

/* The best one that this machine can run; tests may force another (NULL: back to the best). */
const struct hash_kernel *hash_kernel_in_use(void);
void hash_kernel_force(const struct hash_kernel *kernel);

static inline void hash_keys(const struct hash_seed *seed, roost_hash *hashes, const roost_bytes *keys, size_t count)
{
    hash_kernel_in_use()->hash(seed, hashes, keys, count);
}

#endif
