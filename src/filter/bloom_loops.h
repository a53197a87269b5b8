/*
 * The loops over a batch of keys, and the merge, shared by all kernels. A kernel defines, before it includes this,
 *
 *     static inline bool block_holds(const uint64_t *block, roost_hash hash, uint32_t probes);
 *     static inline bool block_take(uint64_t *block, roost_hash hash, uint32_t probes);   returns whether it changed
 *
 * and gets `add_batch`, `contains_batch` and `merge_words`. The number of probes is made a constant where it is eight,
 * which lets the compiler drop all that is not needed for full rounds; of more than eight, the first eight are tested
 * alone, which rejects nearly all keys that are absent. In an array larger than the caches each key waits for memory:
 * the line of the key that comes AHEAD keys later is prefetched while this one is tested. Inside the caches prefetching
 * would only cost.
 */
#ifndef FILTER_BLOOM_LOOPS_H
#define FILTER_BLOOM_LOOPS_H

#include "bloom_kernel.h"

#define AHEAD 48

static ALWAYS_INLINE void prefetch_block(const uint64_t *words, uint64_t blocks, roost_hash hash)
{
    __builtin_prefetch(words + block_of(hash, blocks) * BLOCK_WORDS);
}

static ALWAYS_INLINE void prefetch_first(const uint64_t *words, uint64_t blocks, const roost_hash *hashes, size_t count)
{
    for (size_t i = 0; i < AHEAD && i < count; i++)
        prefetch_block(words, blocks, hashes[i]);
}

/* The members of `blocks` are read once: the bits that are written could be any memory, as far as a compiler knows. */
static ALWAYS_INLINE void add_loop(const struct bloom_blocks *blocks, bool *changed, const roost_hash *hashes,
                                   size_t count, uint32_t probes, bool prefetch)
{
    uint64_t *words = blocks->words, block_count = blocks->count;
    uint8_t *stale = blocks->stale;
    if (prefetch)
        prefetch_first(words, block_count, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (prefetch && i + AHEAD < count)
            prefetch_block(words, block_count, hashes[i + AHEAD]);
        uint64_t block = block_of(hashes[i], block_count);
        bool grew = block_take(words + block * BLOCK_WORDS, hashes[i], probes);
        if (grew)
            stale[block / (CHUNK_BYTES / BLOCK_BYTES)] = 1;
        if (changed)
            changed[i] = grew;
    }
}

static ALWAYS_INLINE void contains_loop(const struct bloom_blocks *blocks, bool *found, const roost_hash *hashes,
                                        size_t count, uint32_t probes, bool prefetch)
{
    const uint64_t *words = blocks->words;
    uint64_t block_count = blocks->count;
    if (prefetch)
        prefetch_first(words, block_count, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (prefetch && i + AHEAD < count)
            prefetch_block(words, block_count, hashes[i + AHEAD]);
        const uint64_t *block = words + block_of(hashes[i], block_count) * BLOCK_WORDS;
        found[i] = (probes <= 8 || block_holds(block, hashes[i], 8)) && block_holds(block, hashes[i], probes);
    }
}

static void add_batch(const struct bloom_blocks *blocks, bool *changed, const roost_hash *hashes, size_t count)
{
    if (blocks->probes == 8 && blocks->prefetch)
        add_loop(blocks, changed, hashes, count, 8, true);
    else if (blocks->probes == 8)
        add_loop(blocks, changed, hashes, count, 8, false);
    else if (blocks->probes == 16)
        add_loop(blocks, changed, hashes, count, 16, blocks->prefetch);
    else
        add_loop(blocks, changed, hashes, count, blocks->probes, blocks->prefetch);
}

static void contains_batch(const struct bloom_blocks *blocks, bool *found, const roost_hash *hashes, size_t count)
{
    if (blocks->probes == 8 && blocks->prefetch)
        contains_loop(blocks, found, hashes, count, 8, true);
    else if (blocks->probes == 8)
        contains_loop(blocks, found, hashes, count, 8, false);
    else if (blocks->probes == 16)
        contains_loop(blocks, found, hashes, count, 16, blocks->prefetch);
    else if (blocks->prefetch)
        contains_loop(blocks, found, hashes, count, blocks->probes, true);
    else
        contains_loop(blocks, found, hashes, count, blocks->probes, false);
}

/* Plain C: the compiler makes the widest vectors of it that the kernel's instruction set has. */
static bool merge_words(uint64_t *restrict words, const uint64_t *restrict other, size_t count)
{
    uint64_t fresh = 0;
    for (size_t i = 0; i < count; i++) {
        fresh |= other[i] & ~words[i];
        words[i] |= other[i];
    }
    return fresh != 0;
}

#endif
