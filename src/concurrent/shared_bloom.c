/*
 * A Bloom filter that threads share: the array of an ordinary one, whose bits are set by atomic OR.
 *
 * Bits are only ever set, so that a look-up that finds all of its bits is right whatever happens meanwhile, and two
 * additions never undo each other. A bit that is set already is only read: most are in a filter that is half full, and
 * cache lines that nobody writes to stay in the caches of all processors.
 *
 * The chunks that hold anything are marked, by the bytes that otherwise say whose hash is stale. They are never
 * unmarked; a snapshot copies these chunks and no others, and computes hashes of its own.
 */
#include <string.h>

#include "shared_kind.h"
#include "../bloom/bloom_array.h"

struct shared_bloom {
    roost_shared shared; /* its model has the array */
    struct bloom *bloom;
};

static struct shared_bloom *as_shared_bloom(roost_shared *shared)
{
    return (struct shared_bloom *)shared;
}

static struct bloom *bloom_of(const roost_shared *shared)
{
    return ((const struct shared_bloom *)shared)->bloom;
}

/* The words of a filter of one thread, as what they are here: the same memory, read and written atomically. */
static uint64_t load_bits(const struct bloom *bloom, uint64_t word)
{
    return __atomic_load_n(words_of(bloom) + word, __ATOMIC_RELAXED);
}

/* Returns those that were not set. */
static uint64_t set_bits(struct bloom *bloom, uint64_t word, uint64_t bits)
{
    uint64_t missing = bits & ~load_bits(bloom, word);
    if (missing == 0)
        return 0;
    uint8_t *mark = bloom->stale + word / CHUNK_WORDS;
    if (!__atomic_load_n(mark, __ATOMIC_RELAXED))
        __atomic_store_n(mark, 1, __ATOMIC_RELAXED); /* before the bits: a chunk that has some is marked */
    return missing & ~__atomic_fetch_or(words_of(bloom) + word, missing, __ATOMIC_RELEASE);
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* What each word of its block has to have. */
static inline void bits_of_block(const struct bloom *bloom, roost_hash hash, uint64_t bits[BLOCK_WORDS])
{
    const uint32_t probes = bloom->geometry.probes;
    for (uint32_t lane = 0; lane < BLOCK_WORDS; lane++)
        bits[lane] = 0;
    for (uint32_t round = 0; round * 8 < probes; round++) {
        uint64_t word = block_round_word(hash, round);
        uint32_t lanes = block_round_lanes(word, probes - round * 8);
        for (uint32_t lane = 0; lane < BLOCK_WORDS; lane++)
            bits[lane] |= (uint64_t)(lanes >> lane & 1) << (word >> (6 * lane) & 63);
    }
}

static bool block_add(struct bloom *bloom, roost_hash hash)
{
    uint64_t bits[BLOCK_WORDS], first = block_of(hash, bloom->blocks.count) * BLOCK_WORDS, grew = 0;
    bits_of_block(bloom, hash, bits);
    for (uint32_t lane = 0; lane < BLOCK_WORDS; lane++)
        grew |= set_bits(bloom, first + lane, bits[lane]);
    return grew != 0;
}

static bool block_contains(const struct bloom *bloom, roost_hash hash)
{
    uint64_t bits[BLOCK_WORDS], first = block_of(hash, bloom->blocks.count) * BLOCK_WORDS, missing = 0;
    bits_of_block(bloom, hash, bits);
    for (uint32_t lane = 0; lane < BLOCK_WORDS; lane++)
        missing |= bits[lane] & ~load_bits(bloom, first + lane);
    return missing == 0;
}

static bool classic_add(struct bloom *bloom, roost_hash hash)
{
    uint64_t grew = 0;
    for (uint32_t probe = 0; probe < bloom->geometry.probes; probe++) {
        uint64_t position = classic_position(hash, probe, bloom->geometry.bits);
        grew |= set_bits(bloom, position / 64, UINT64_C(1) << (position & 63));
    }
    return grew != 0;
}

static bool classic_contains(const struct bloom *bloom, roost_hash hash)
{
    for (uint32_t probe = 0; probe < bloom->geometry.probes; probe++) {
        uint64_t position = classic_position(hash, probe, bloom->geometry.bits);
        if (!(load_bits(bloom, position / 64) >> (position & 63) & 1))
            return false;
    }
    return true;
}

static roost_status add_shared(roost_shared *shared, bool *changed, roost_hash hash)
{
    struct bloom *bloom = bloom_of(shared);
    *changed = is_blocked(bloom) ? block_add(bloom, hash) : classic_add(bloom, hash);
    return ROOST_OK;
}

static bool contains_shared(const roost_shared *shared, roost_hash hash)
{
    const struct bloom *bloom = bloom_of(shared);
    return is_blocked(bloom) ? block_contains(bloom, hash) : classic_contains(bloom, hash);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

static roost_status merge_shared(roost_shared *shared, bool *changed, const roost_filter *other)
{
    const struct bloom *from = as_const_bloom(other);
    uint64_t grew = 0;
    for (size_t chunk = next_used(from, 0); chunk < from->chunks; chunk = next_used(from, chunk + 1)) {
        uint64_t first = (uint64_t)chunk * CHUNK_WORDS;
        for (uint64_t i = 0; i < words_in_chunk(from, chunk); i++)
            grew |= set_bits(bloom_of(shared), first + i, words_of(from)[first + i]);
    }
    *changed = grew != 0;
    return ROOST_OK;
}

static roost_status snapshot_shared(const roost_shared *shared, roost_filter **copy)
{
    const struct bloom *bloom = bloom_of(shared);
    const roost_environment environment = whole_environment(shared->model);
    roost_status status = shared->model->kind->lifecycle.open(copy, shared->model->config, &environment, NULL);
    if (status != ROOST_OK)
        return status;
    struct bloom *twin = as_bloom(*copy);
    for (size_t chunk = 0; chunk < bloom->chunks; chunk++) {
        if (!__atomic_load_n(bloom->stale + chunk, __ATOMIC_ACQUIRE))
            continue;
        uint64_t first = (uint64_t)chunk * CHUNK_WORDS;
        for (uint64_t i = 0; i < words_in_chunk(bloom, chunk); i++)
            words_of(twin)[first + i] = load_bits(bloom, first + i);
        twin->stale[chunk] = 1;
    }
    return ROOST_OK;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void close_shared(roost_shared *shared)
{
    roost_filter *model = shared->model;
    memory_release(&model->environment.allocator, as_shared_bloom(shared));
    roost_filter_free(model);
}

static const struct shared_kind shared_bloom_kind = {close_shared, add_shared, contains_shared, merge_shared,
                                                     snapshot_shared};

roost_shared *shared_bloom_open(roost_filter *empty)
{
    struct shared_bloom *made = memory_allocate(&empty->environment.allocator, sizeof *made);
    if (!made) {
        roost_filter_free(empty);
        return NULL;
    }
    *made = (struct shared_bloom){{&shared_bloom_kind, empty, {0}}, as_bloom(empty)};
    return &made->shared;
}
