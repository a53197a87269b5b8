/*
 * The calls for one key, the loops over a batch of keys, and the merge, shared by all kernels. A kernel defines, before
 * it includes this,
 *
 *     static inline bool block_holds(const uint64_t *block, roost_hash hash, uint32_t probes);
 *     static inline bool block_take(uint64_t *block, roost_hash hash, uint32_t probes);   returns whether it changed
 *
 * and, where it has a shorter way for one key alone, HAS_LONE_BLOCKS and `lone_block_holds` and `lone_block_take`. It
 * gets `add_batch`, `contains_batch`, `merge_words`, `count_words`, `calls_of_eight` and `calls_of_any`.
 *
 * The number of probes is made a constant where it is eight, which lets the compiler drop all that is not needed for
 * full rounds; of more than eight, the first eight are tested alone, which rejects nearly all keys that are absent. In
 * an array larger than the caches each key waits for memory: the line of the key that comes AHEAD keys later is
 * prefetched while this one is tested. Inside the caches prefetching would only cost.
 *
 * One key at a time, out of cache, the processor itself overlaps the calls of a loop, as many as it holds instructions
 * for. So these calls are short, and no branch depends on the bits: a wrong guess would wait for memory.
 */
#ifndef BLOOM_BLOOM_LOOPS_H
#define BLOOM_BLOOM_LOOPS_H

#include "bloom_array.h"
#include "../filter/key_calls.h"

#define AHEAD 48

#ifndef HAS_LONE_BLOCKS
#define lone_block_holds block_holds
#define lone_block_take  block_take
#endif

/* WebAssembly has no instruction for it: there, what is done only to prefetch is left out. */
static ALWAYS_INLINE bool prefetches(const struct bloom_blocks *blocks)
{
    return !SHORT_CODE && blocks->prefetch;
}

static ALWAYS_INLINE bool holds(const uint64_t *words, uint64_t blocks, roost_hash hash, uint32_t probes)
{
    const uint64_t *block = words + block_of(hash, blocks) * BLOCK_WORDS;
    return (probes <= 8 || block_holds(block, hash, 8)) && block_holds(block, hash, probes);
}

static ALWAYS_INLINE void mark_stale(uint8_t *stale, uint64_t block, bool grew)
{
    stale[block / (CHUNK_BYTES / BLOCK_BYTES)] |= grew;
}

static ALWAYS_INLINE bool take(uint64_t *words, uint64_t blocks, uint8_t *stale, roost_hash hash, uint32_t probes)
{
    uint64_t block = block_of(hash, blocks);
    bool grew = block_take(words + block * BLOCK_WORDS, hash, probes);
    mark_stale(stale, block, grew);
    return grew;
}

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
        bool grew = take(words, block_count, stale, hashes[i], probes);
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
        found[i] = holds(words, block_count, hashes[i], probes);
    }
}

static void add_batch(const struct bloom_blocks *blocks, bool *changed, const roost_hash *hashes, size_t count)
{
    if (blocks->probes == 8 && prefetches(blocks))
        add_loop(blocks, changed, hashes, count, 8, true);
    else if (blocks->probes == 8)
        add_loop(blocks, changed, hashes, count, 8, false);
    else if (!SHORT_CODE && blocks->probes == 16)
        add_loop(blocks, changed, hashes, count, 16, prefetches(blocks));
    else
        add_loop(blocks, changed, hashes, count, blocks->probes, prefetches(blocks));
}

static void contains_batch(const struct bloom_blocks *blocks, bool *found, const roost_hash *hashes, size_t count)
{
    if (blocks->probes == 8 && prefetches(blocks))
        contains_loop(blocks, found, hashes, count, 8, true);
    else if (blocks->probes == 8)
        contains_loop(blocks, found, hashes, count, 8, false);
    else if (!SHORT_CODE && blocks->probes == 16)
        contains_loop(blocks, found, hashes, count, 16, prefetches(blocks));
    else if (prefetches(blocks))
        contains_loop(blocks, found, hashes, count, blocks->probes, true);
    else
        contains_loop(blocks, found, hashes, count, blocks->probes, false);
}

/* ---- the calls of a filter --------------------------------------------------------------------------------------- */

static ALWAYS_INLINE bool contains_one(const roost_filter *filter, roost_hash hash, uint32_t probes)
{
    const struct bloom_blocks *blocks = &as_const_bloom(filter)->blocks;
    const uint64_t *block = blocks->words + block_of(hash, blocks->count) * BLOCK_WORDS;
    return (probes <= 8 || block_holds(block, hash, 8)) && lone_block_holds(block, hash, probes);
}

static ALWAYS_INLINE roost_status add_one(roost_filter *filter, bool *changed, roost_hash hash, uint32_t probes)
{
    const struct bloom_blocks *blocks = &as_bloom(filter)->blocks;
    if (__builtin_expect(journal_is_on(filter->journal), 0))
        return bloom_add_and_note(filter, changed, hash);
    uint64_t block = block_of(hash, blocks->count);
    bool grew = lone_block_take(blocks->words + block * BLOCK_WORDS, hash, probes);
    mark_stale(blocks->stale, block, grew);
    if (changed)
        *changed = grew;
    return ROOST_OK;
}

static ALWAYS_INLINE const struct hash_seed *seed_of_bloom(const roost_filter *filter)
{
    return &as_const_bloom(filter)->own.hash_seed;
}

#define CALLS(suffix, probes)                                                                                          \
    static ALWAYS_INLINE bool contains##suffix(const roost_filter *filter, roost_hash hash)                            \
    {                                                                                                                  \
        return contains_one(filter, hash, probes);                                                                     \
    }                                                                                                                  \
    static ALWAYS_INLINE roost_status add##suffix(roost_filter *filter, bool *changed, roost_hash hash)                \
    {                                                                                                                  \
        return add_one(filter, changed, hash, probes);                                                                 \
    }                                                                                                                  \
    KEY_CALLS(suffix, seed_of_bloom)                                                                                   \
    static const struct filter_calls calls##suffix = {                                                                 \
        .contains = contains##suffix,                                                                                  \
        .add = add##suffix,                                                                                            \
        .remove = remove_by_batch,                                                                                     \
        .key = {KEY_CALL(contains, suffix), KEY_CALL(add, suffix), remove_any_key}};
CALLS(_of_eight, 8)
CALLS(_of_any, as_const_bloom(filter)->blocks.probes)

/* ---- words ------------------------------------------------------------------------------------------------------- */

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

static uint64_t count_words(const uint64_t *words, size_t count)
{
    uint64_t ones = 0;
    for (size_t i = 0; i < count; i++)
        ones += count_ones(words[i]);
    return ones;
}

#endif
