/*
 * The two loops over a batch of keys, shared by all kernels. A kernel defines, before it includes this,
 *
 *     static inline bool block_holds(const uint64_t *block, roost_hash hash, uint32_t probes);
 *     static inline bool block_take(uint64_t *block, roost_hash hash, uint32_t probes);   tells whether it changed
 *
 * and gets `add_batch` and `contains_batch`. The number of probes is made a constant where it is eight, which lets the
 * compiler drop all that is not needed for full rounds. In an array larger than the caches each key waits for memory:
 * the line of the key that comes AHEAD keys later is asked for while this one is tested. Inside the caches that would
 * only cost.
 */
#ifndef FILTER_BLOOM_LOOPS_H
#define FILTER_BLOOM_LOOPS_H

#include "bloom.h"

#define AHEAD 48

static inline void prefetch_block(const struct bloom_blocks *blocks, roost_hash hash)
{
    __builtin_prefetch(blocks->words + block_of(hash, blocks->count) * BLOCK_WORDS);
}

static inline void prefetch_first(const struct bloom_blocks *blocks, const roost_hash *hashes, size_t count)
{
    for (size_t i = 0; i < AHEAD && i < count; i++)
        prefetch_block(blocks, hashes[i]);
}

static inline __attribute__((always_inline)) void add_loop(const struct bloom_blocks *blocks, bool *changed,
                                                           const roost_hash *hashes, size_t count, uint32_t probes,
                                                           bool prefetch)
{
    if (prefetch)
        prefetch_first(blocks, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (prefetch && i + AHEAD < count)
            prefetch_block(blocks, hashes[i + AHEAD]);
        uint64_t block = block_of(hashes[i], blocks->count);
        bool grew = block_take(blocks->words + block * BLOCK_WORDS, hashes[i], probes);
        blocks->stale[block / (CHUNK_BYTES / BLOCK_BYTES)] |= grew;
        if (changed)
            changed[i] = grew;
    }
}

static inline __attribute__((always_inline)) void contains_loop(const struct bloom_blocks *blocks, bool *found,
                                                                const roost_hash *hashes, size_t count,
                                                                uint32_t probes, bool prefetch)
{
    if (prefetch)
        prefetch_first(blocks, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (prefetch && i + AHEAD < count)
            prefetch_block(blocks, hashes[i + AHEAD]);
        uint64_t block = block_of(hashes[i], blocks->count);
        found[i] = block_holds(blocks->words + block * BLOCK_WORDS, hashes[i], probes);
    }
}

static void add_batch(const struct bloom_blocks *blocks, bool *changed, const roost_hash *hashes, size_t count)
{
    struct bloom_blocks copy = *blocks; /* a local copy can stay in registers while bits are written */
    if (copy.probes == 8 && copy.prefetch)
        add_loop(&copy, changed, hashes, count, 8, true);
    else if (copy.probes == 8)
        add_loop(&copy, changed, hashes, count, 8, false);
    else
        add_loop(&copy, changed, hashes, count, copy.probes, copy.prefetch);
}

static void contains_batch(const struct bloom_blocks *blocks, bool *found, const roost_hash *hashes, size_t count)
{
    struct bloom_blocks copy = *blocks;
    if (copy.probes == 8 && copy.prefetch)
        contains_loop(&copy, found, hashes, count, 8, true);
    else if (copy.probes == 8)
        contains_loop(&copy, found, hashes, count, 8, false);
    else
        contains_loop(&copy, found, hashes, count, copy.probes, copy.prefetch);
}

#endif
