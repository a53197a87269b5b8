/*
 * The loop over a batch of keys, shared by the vector kernels. A kernel says before it includes this how many keys it
 * hashes TOGETHER, and defines the two functions below for so many. It gets `hash_batch`. Where one of the keys has
 * another size, all of them are hashed one by one.
 */
#ifndef BASE_HASH_LOOPS_H
#define BASE_HASH_LOOPS_H

#include "hash_kernel.h"

static inline long long number_at(const roost_bytes *key)
{
    return (long long)load_word(key->data);
}

static inline bool all_have_eight_bytes(const roost_bytes *keys);
static inline void hash_together(const struct hash_seed *seed, roost_hash *hashes, const roost_bytes *keys);

static void hash_batch(const struct hash_seed *seed, roost_hash *hashes, const roost_bytes *keys, size_t count)
{
    size_t i = 0;
    for (; i + TOGETHER <= count; i += TOGETHER)
        if (__builtin_expect(all_have_eight_bytes(keys + i), 1))
            hash_together(seed, hashes + i, keys + i);
        else
            hash_kernel_plain.hash(seed, hashes + i, keys + i, TOGETHER);
    hash_kernel_plain.hash(seed, hashes + i, keys + i, count - i);
}

#endif
