/*
 * The array of a Bloom filter, its chunks, and what the files of the filter share. `bloom.c` draws the layout.
 */
#ifndef BLOOM_BLOOM_ARRAY_H
#define BLOOM_BLOOM_ARRAY_H

#include "bloom_kernel.h"
#include "../filter/kind.h"

struct bloom {
    struct roost_filter base;
    struct filter_own own;
    struct bloom_geometry geometry;
    struct region words;   /* whole words; bits past geometry.bits stay 0 */
    uint128 *chunk_hashes; /* valid where not stale; one block of memory with the two that follow */
    uint64_t *used;        /* a bit a chunk, valid where not stale */
    uint8_t *stale;        /* one a chunk */
    size_t chunks;
    uint64_t *copied;           /* NULL, or while an incremental copy is made: a bit a chunk, valid where not stale */
    uint64_t copy_token;        /* the same in both while one is the copy of the other */
    uint128 sum;                /* of chunk_hashes */
    struct bloom_blocks blocks; /* what the kernels need of all this, for the blocked layout */
};

static inline struct bloom *as_bloom(roost_filter *filter)
{
    return (struct bloom *)filter;
}

static inline const struct bloom *as_const_bloom(const roost_filter *filter)
{
    return (const struct bloom *)filter;
}

static inline uint64_t *words_of(const struct bloom *bloom)
{
    return (uint64_t *)(void *)bloom->words.bytes;
}

static inline size_t word_count(const struct bloom *bloom)
{
    return bloom->words.size / 8;
}

static inline bool is_blocked(const struct bloom *bloom)
{
    return bloom->base.config->layout == ROOST_BLOCKED;
}

/* Adds a key and records it in the journal, which is on. `changed` may be NULL. */
roost_status bloom_add_and_note(roost_filter *filter, bool *changed, roost_hash hash);

/* ---- chunks in use ----------------------------------------------------------------------------------------------- */

#define GROUP 64 /* chunks whose bits of use share a word */

static inline size_t words_in_chunk(const struct bloom *bloom, size_t chunk)
{
    size_t left = word_count(bloom) - chunk * CHUNK_WORDS;
    return left < CHUNK_WORDS ? left : CHUNK_WORDS;
}

/* Whether the chunk may hold any bits. */
static inline bool is_used(const struct bloom *bloom, size_t chunk)
{
    return bloom->stale[chunk] || (bloom->used[chunk / GROUP] >> (chunk % GROUP) & 1);
}

static inline bool group_is_empty(const struct bloom *bloom, size_t chunk)
{
    uint64_t any = bloom->used[chunk / GROUP];
    for (size_t i = 0; i < GROUP; i += 8)
        any |= load_word(bloom->stale + chunk + i);
    return any == 0;
}

/* The first chunk from this one on that may hold any bits; past the last one: none. */
static inline size_t next_used(const struct bloom *bloom, size_t chunk)
{
    while (chunk < bloom->chunks && !is_used(bloom, chunk))
        if (chunk % GROUP == 0 && bloom->chunks - chunk >= GROUP && group_is_empty(bloom, chunk))
            chunk += GROUP;
        else
            chunk++;
    return chunk;
}

static inline uint64_t ones_in_chunk(const struct bloom *bloom, size_t chunk)
{
    return is_used(bloom, chunk)
               ? bloom_kernel_in_use()->count(words_of(bloom) + chunk * CHUNK_WORDS, words_in_chunk(bloom, chunk))
               : 0;
}

static inline uint64_t count_set(const struct bloom *bloom)
{
    uint64_t set = 0;
    for (size_t chunk = next_used(bloom, 0); chunk < bloom->chunks; chunk = next_used(bloom, chunk + 1))
        set += ones_in_chunk(bloom, chunk);
    return set;
}

/* The bits that a merge of these words is about to set. */
static inline void note_unseen(struct bloom *bloom, const uint64_t *words, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint64_t unseen = words[i] & ~words_of(bloom)[first + i]; unseen; unseen &= unseen - 1)
            note(&bloom->base, (first + i) * 64 + lowest_bit(unseen), 0);
}

/* ---- bytes: bloom_bytes.c ---------------------------------------------------------------------------------------- */

void bloom_write_geometry(const roost_filter *filter, struct bit_writer *writer);
roost_status bloom_write_state(const roost_filter *filter, struct bit_writer *writer);
roost_status bloom_read_state(roost_filter *filter, struct bit_reader *reader);
roost_status bloom_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection);
roost_status bloom_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader);
roost_status bloom_prepare_delta(roost_filter *filter, struct prepared_delta *prepared, struct bit_reader reader);
void bloom_commit_delta(roost_filter *filter, bool *changed, struct prepared_delta *prepared);
roost_status bloom_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                       struct delta_sink *sink);
roost_status bloom_summarize(const roost_filter *filter, struct summary *summary, const struct causal_context *space);
roost_status bloom_resolve_positions(roost_filter *filter, bool *changed, const struct causal_context *space,
                                     const uint64_t *positions, uint64_t count);
bool bloom_is_change(const roost_filter *filter, uint8_t table, struct change change);

#endif
