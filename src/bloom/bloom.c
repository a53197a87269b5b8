/*
 * Grow-only Bloom filter (GBF): an array of bits that only ever turn on.
 *
 * Specification 2 of the thesis "Conflict-Free Replicated Probabilistic Filter" (2024), section 3.2. Adding a key sets
 * its k bits; a key is contained when all of them are set; merge is the bitwise or, the order is inclusion. The state
 * is the bits and nothing else, so that equal elements give equal bytes however they were added and merged.
 *
 * Two layouts. *Classic*: k bits anywhere in m, by double hashing (bit i at low + i * high, mixed and scaled to m).
 * This is what the papers compute with, and the smallest at a low error rate. *Blocked*: the key's bits are all in one
 * 64-byte block, one cache miss instead of k, and the eight words of a block are tested by one vector instruction.
 * bloom_size.c knows what that costs in bits and makes the array large enough; bloom_plain.c draws the pattern of a
 * block.
 *
 *     words    | block 0: 8 words | block 1 | ... |                      blocked: m = 512 * blocks
 *              | chunk 0: 64 blocks, 4 KiB              | chunk 1 ...    the digest is a sum over chunks
 *     stale    one byte a chunk: its bits changed since its hash was taken
 *     hashes   128 bits a chunk: 0 while the chunk is empty, else the hash of its bytes, keyed by its number
 *     used     one bit a chunk: it held bits when its hash was taken
 *
 * A chunk that is neither stale nor used is all zero, and nothing reads it: its pages may never have been touched, and
 * even a read of such a page costs a fault. Whatever walks over the array (encode, decode, clone, merge, compare, cut)
 * costs what the filter holds and not what it has room for, so that a frame of a hundred bytes that names an array of
 * gigabytes is read, merged and copied in microseconds.
 *
 * The digest. A sum over entries would cost k hashes for each add, more than the add itself. Instead a change only
 * marks its chunk as stale, one store into a byte that is in cache, and the next digest hashes the chunks that changed,
 * at the speed of reading them: for replicas that have converged it costs nothing.
 */
#include "bloom.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "bloom_array.h"
#include "../base/hash.h"
#include "../base/tasks.h"

/* Past this size a batch asks for memory ahead of its use. */
#define CACHED_BYTES ((size_t)4 << 20)

static const struct filter_calls *calls_for(const struct bloom *bloom);

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static roost_status size_for(const roost_config *config, struct bloom_geometry *geometry)
{
    return config->layout == ROOST_BLOCKED ? bloom_size_blocked(geometry, config->capacity, config->fpr)
                                           : bloom_size_classic(geometry, config->capacity, config->fpr);
}

static roost_status bloom_resolve(roost_config *config)
{
    if (config->layout != ROOST_BLOCKED && config->layout != ROOST_CLASSIC)
        return ROOST_INVALID;
    if (!(config->fpr > 0 && config->fpr < 1) || config->fingerprint_bits != 0 || config->multiset)
        return ROOST_INVALID;
    config->bucket_size = 0;
    config->entry_bits = 0;
    return ROOST_OK;
}

static bool bloom_is_resolved(const roost_config *config)
{
    roost_config again = *config;
    return bloom_resolve(&again) == ROOST_OK && config->bucket_size == 0;
}

bool bloom_is_sound_geometry(roost_layout layout, uint64_t bits, uint64_t probes)
{
    bool blocked = layout == ROOST_BLOCKED;
    return bits > 0 && bits <= MOST_BLOOM_BITS && probes > 0 && probes <= (blocked ? MOST_BLOCK_PROBES : MOST_PROBES) &&
           !(blocked && bits % BLOCK_BITS != 0);
}

static roost_status read_geometry(struct bit_reader *reader, const roost_config *config,
                                  struct bloom_geometry *geometry)
{
    geometry->bits = read_varint(reader);
    uint64_t probes = read_varint(reader);
    if (reader->failed || !bloom_is_sound_geometry(config->layout, geometry->bits, probes))
        return ROOST_CORRUPT;
    geometry->probes = (uint32_t)probes;
    return ROOST_OK;
}

static void bloom_close(roost_filter *filter)
{
    struct bloom *bloom = as_bloom(filter);
    const roost_allocator allocator = filter->environment.allocator;
    region_release(&bloom->words, &allocator);
    memory_release(&allocator, bloom->chunk_hashes);
    memory_release(&allocator, bloom->copied);
    release_journal(filter);
    memory_release(&allocator, bloom);
}

static size_t chunks_for(size_t bytes)
{
    return (bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
}

static size_t used_words(size_t chunks)
{
    return (chunks + 63) / 64;
}

/* Hashes, bits of use and stale bytes. */
static size_t side_bytes(size_t chunks)
{
    return chunks * (sizeof(uint128) + 1) + used_words(chunks) * sizeof(uint64_t);
}

static void place_side(struct bloom *bloom, void *memory)
{
    bloom->chunk_hashes = memory;
    bloom->used = (uint64_t *)(void *)(bloom->chunk_hashes + bloom->chunks);
    bloom->stale = (uint8_t *)(bloom->used + used_words(bloom->chunks));
}

static uint64_t bytes_needed(uint64_t array_bytes)
{
    return array_bytes + side_bytes(chunks_for(array_bytes)) + sizeof(struct bloom);
}

static struct bloom *bloom_allocate(const roost_config *config, const roost_environment *environment,
                                    struct bloom_geometry geometry)
{
    const roost_allocator *allocator = &environment->allocator;
    struct bloom *bloom = memory_allocate(allocator, sizeof *bloom);
    if (!bloom)
        return NULL;
    size_t bytes = divide_up(geometry.bits, 64) * 8;
    *bloom = (struct bloom){.geometry = geometry, .chunks = chunks_for(bytes)};
    init_base(&bloom->base, &bloom->own, &bloom_kind, config, environment);
    void *side = memory_allocate(allocator, side_bytes(bloom->chunks));
    bloom->chunk_hashes = side;
    if (!side || !region_allocate(&bloom->words, allocator, bytes)) {
        bloom_close(&bloom->base);
        return NULL;
    }
    place_side(bloom, side);
    bloom->blocks = (struct bloom_blocks){words_of(bloom), geometry.bits / BLOCK_BITS, geometry.probes, bloom->stale,
                                          bytes > CACHED_BYTES};
    set_calls(&bloom->base, calls_for(bloom));
    return bloom;
}

roost_status bloom_open_sized(roost_filter **filter, const roost_config *config, const roost_environment *environment,
                              struct bloom_geometry geometry)
{
    if (bytes_needed(divide_up(geometry.bits, 8)) > environment->memory_limit)
        return ROOST_TOO_LARGE;
    struct bloom *bloom = bloom_allocate(config, environment, geometry);
    if (!bloom)
        return ROOST_NO_MEMORY;
    *filter = &bloom->base;
    return ROOST_OK;
}

static roost_status bloom_open(roost_filter **filter, const roost_config *config, const roost_environment *environment,
                               struct bit_reader *frame)
{
    struct bloom_geometry geometry;
    roost_status status = frame ? read_geometry(frame, config, &geometry) : size_for(config, &geometry);
    return status == ROOST_OK ? bloom_open_sized(filter, config, environment, geometry) : status;
}

/* ---- chunks in use ----------------------------------------------------------------------------------------------- */

static void copy_chunk(struct bloom *twin, const struct bloom *bloom, size_t chunk)
{
    memcpy(words_of(twin) + chunk * CHUNK_WORDS, words_of(bloom) + chunk * CHUNK_WORDS,
           words_in_chunk(bloom, chunk) * sizeof(uint64_t));
    twin->stale[chunk] = bloom->stale[chunk];
    twin->chunk_hashes[chunk] = bloom->chunk_hashes[chunk];
    twin->used[chunk / GROUP] |= bloom->used[chunk / GROUP] & UINT64_C(1) << (chunk % GROUP);
}

static roost_status bloom_clone(const roost_filter *filter, roost_filter **copy)
{
    const struct bloom *bloom = as_const_bloom(filter);
    struct bloom *twin = bloom_allocate(filter->config, &bloom->own.environment, bloom->geometry);
    if (!twin)
        return ROOST_NO_MEMORY;
    for (size_t chunk = next_used(bloom, 0); chunk < bloom->chunks; chunk = next_used(bloom, chunk + 1))
        copy_chunk(twin, bloom, chunk);
    twin->sum = bloom->sum;
    twin->own.random = bloom->own.random;
    *copy = &twin->base;
    return ROOST_OK;
}

/* ---- elements, classic layout ------------------------------------------------------------------------------------ */

/* Two keys share no cache lines, so a batch asks for all lines of the key that comes this many keys later. */
#define CLASSIC_AHEAD 8

static ALWAYS_INLINE void classic_prefetch(const struct bloom *bloom, const roost_hash *hashes, size_t i, size_t count)
{
    if (bloom->words.size <= CACHED_BYTES || i + CLASSIC_AHEAD >= count)
        return;
    for (uint32_t probe = 0; probe < bloom->geometry.probes; probe++)
        __builtin_prefetch(words_of(bloom) +
                           classic_position(hashes[i + CLASSIC_AHEAD], probe, bloom->geometry.bits) / 64);
}

/* Without a branch on the bits, which are as often set as not. */
static bool classic_take(struct bloom *bloom, roost_hash hash)
{
    uint64_t *words = words_of(bloom), grew = 0;
    for (uint32_t probe = 0; probe < bloom->geometry.probes; probe++) {
        uint64_t position = classic_position(hash, probe, bloom->geometry.bits);
        uint64_t bit = UINT64_C(1) << (position & 63), word = words[position / 64];
        words[position / 64] = word | bit;
        bloom->stale[position / 8 / CHUNK_BYTES] |= !(word & bit);
        grew |= ~word & bit;
    }
    return grew != 0;
}

static bool classic_holds(const struct bloom *bloom, roost_hash hash)
{
    const uint64_t *words = words_of(bloom);
    for (uint32_t probe = 0; probe < bloom->geometry.probes; probe++) {
        uint64_t position = classic_position(hash, probe, bloom->geometry.bits);
        if (!(words[position / 64] >> (position & 63) & 1))
            return false;
    }
    return true;
}

/* ---- elements, both layouts -------------------------------------------------------------------------------------- */

static void add_some(struct bloom *bloom, bool *changed, const roost_hash *hashes, size_t count)
{
    if (is_blocked(bloom)) {
        bloom_kernel_in_use()->add(&bloom->blocks, changed, hashes, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        classic_prefetch(bloom, hashes, i, count);
        bool grew = classic_take(bloom, hashes[i]);
        if (changed)
            changed[i] = grew;
    }
}

/* The bits of a key, in no order. */
static uint32_t positions_of(const struct bloom *bloom, uint64_t positions[MOST_PROBES], roost_hash hash)
{
    const uint32_t probes = bloom->geometry.probes;
    for (uint32_t probe = 0; probe < probes && !is_blocked(bloom); probe++)
        positions[probe] = classic_position(hash, probe, bloom->geometry.bits);
    if (!is_blocked(bloom))
        return probes;
    return block_positions(positions, hash, bloom->geometry.bits / BLOCK_BITS, probes);
}

uint32_t bloom_positions(const roost_filter *filter, uint64_t positions[MOST_PROBES], roost_hash hash)
{
    return positions_of(as_const_bloom(filter), positions, hash);
}

bool bloom_has_bit(const roost_filter *filter, uint64_t position)
{
    return words_of(as_const_bloom(filter))[position / 64] >> (position & 63) & 1;
}

/* The journal records a key by its hash, which is shorter than its bits. A single bit, set by a merge, has a tag of
   0: a key whose hash ends in 64 zeros is recorded bit by bit. */
static void note_key(roost_filter *filter, roost_hash hash)
{
    uint64_t positions[MOST_PROBES];
    if (hash.high) {
        note(filter, hash.low, hash.high);
        return;
    }
    for (uint32_t i = positions_of(as_bloom(filter), positions, hash); i > 0; i--)
        note(filter, positions[i - 1], 0);
}

#define NOTED_AT_ONCE 256

static void add_and_note(struct bloom *bloom, bool *changed, const roost_hash *hashes, size_t count)
{
    bool grew[NOTED_AT_ONCE];
    for (size_t done = 0, some; done < count; done += some) {
        some = count - done < NOTED_AT_ONCE ? count - done : NOTED_AT_ONCE;
        add_some(bloom, grew, hashes + done, some);
        for (size_t i = 0; i < some; i++)
            if (grew[i])
                note_key(&bloom->base, hashes[done + i]);
        if (changed)
            memcpy(changed + done, grew, some * sizeof *grew);
    }
}

static roost_status bloom_add(roost_filter *filter, bool *changed, size_t *done, const roost_hash *hashes, size_t count)
{
    *done = count;
    if (journal_is_on(filter->journal))
        add_and_note(as_bloom(filter), changed, hashes, count);
    else
        add_some(as_bloom(filter), changed, hashes, count);
    return ROOST_OK;
}

static void bloom_contains(const roost_filter *filter, bool *found, const roost_hash *hashes, size_t count)
{
    const struct bloom *bloom = as_const_bloom(filter);
    if (is_blocked(bloom)) {
        bloom_kernel_in_use()->contains(&bloom->blocks, found, hashes, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        classic_prefetch(bloom, hashes, i, count);
        found[i] = classic_holds(bloom, hashes[i]);
    }
}

roost_status bloom_add_and_note(roost_filter *filter, bool *changed, roost_hash hash)
{
    add_and_note(as_bloom(filter), changed, &hash, 1);
    return ROOST_OK;
}

static bool classic_contains(const roost_filter *filter, roost_hash hash)
{
    return classic_holds(as_const_bloom(filter), hash);
}

static roost_status classic_add(roost_filter *filter, bool *changed, roost_hash hash)
{
    if (journal_is_on(filter->journal))
        return bloom_add_and_note(filter, changed, hash);
    bool grew = classic_take(as_bloom(filter), hash);
    if (changed)
        *changed = grew;
    return ROOST_OK;
}

static const struct filter_calls classic_calls = {
    .contains = classic_contains, .add = classic_add, .remove = remove_by_batch, .key = CALLS_FOR_ANY_KEY};

static const struct filter_calls *calls_for(const struct bloom *bloom)
{
    if (!is_blocked(bloom))
        return &classic_calls;
    const struct bloom_kernel *kernel = bloom_kernel_in_use();
    return bloom->geometry.probes == 8 ? kernel->calls_of_eight : kernel->calls_of_any;
}

/* ---- replication ----------------------------------------------------------------------------------------------- */

/* Tasks have so many chunks each at least. */
#define CHUNKS_OF_TASK 64

static bool merge_chunk(struct bloom *bloom, const struct bloom *source, size_t chunk)
{
    bool grew = bloom_kernel_in_use()->merge(words_of(bloom) + chunk * CHUNK_WORDS,
                                             words_of(source) + chunk * CHUNK_WORDS, words_in_chunk(bloom, chunk));
    bloom->stale[chunk] |= grew;
    return grew;
}

struct bloom_merge {
    struct bloom *bloom;
    const struct bloom *source;
    atomic_bool grew;
};

static void merge_chunks(void *context, size_t from, size_t to)
{
    struct bloom_merge *merge = context;
    bool grew = false;
    for (size_t chunk = next_used(merge->source, from); chunk < to; chunk = next_used(merge->source, chunk + 1)) {
        bool chunk_grew = merge_chunk(merge->bloom, merge->source, chunk);
        grew |= chunk_grew;
    }
    if (grew)
        merge->grew = true;
}

static bool merge_and_note(struct bloom *bloom, const struct bloom *source)
{
    bool grew = false;
    for (size_t chunk = next_used(source, 0); chunk < bloom->chunks; chunk = next_used(source, chunk + 1)) {
        note_unseen(bloom, words_of(source) + chunk * CHUNK_WORDS, chunk * CHUNK_WORDS, words_in_chunk(bloom, chunk));
        bool chunk_grew = merge_chunk(bloom, source, chunk);
        grew |= chunk_grew;
    }
    return grew;
}

static roost_status bloom_merge(roost_filter *filter, bool *changed, const roost_filter *other)
{
    struct bloom *bloom = as_bloom(filter);
    struct bloom_merge merge = {bloom, as_const_bloom(other), false};
    if (journal_is_on(filter->journal)) {
        *changed = merge_and_note(bloom, merge.source);
        return ROOST_OK;
    }
    run_in_spans(&filter->environment.common->executor, merge_chunks, &merge, bloom->chunks, CHUNKS_OF_TASK);
    *changed = merge.grew;
    return ROOST_OK;
}

/* Whether `other` has a bit that this filter has not. */
static bool lacks_any(const struct bloom *bloom, const struct bloom *other)
{
    for (size_t chunk = next_used(other, 0); chunk < other->chunks; chunk = next_used(other, chunk + 1)) {
        const uint64_t *here = words_of(bloom) + chunk * CHUNK_WORDS, *there = words_of(other) + chunk * CHUNK_WORDS;
        uint64_t lacking = 0;
        for (size_t i = 0; i < words_in_chunk(other, chunk); i++)
            lacking |= there[i] & ~here[i];
        if (lacking)
            return true;
    }
    return false;
}

static roost_order bloom_compare(const roost_filter *filter, const roost_filter *other)
{
    const struct bloom *first = as_const_bloom(filter), *second = as_const_bloom(other);
    return (lacks_any(first, second) ? ROOST_BEFORE : 0) | (lacks_any(second, first) ? ROOST_AFTER : 0);
}

static bool all_zero(const uint64_t *words, size_t count)
{
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= words[i];
    return any == 0;
}

static uint128 chunk_hash(const struct bloom *bloom, size_t chunk)
{
    const uint64_t *words = words_of(bloom) + chunk * CHUNK_WORDS;
    size_t count = words_in_chunk(bloom, chunk);
    if (all_zero(words, count))
        return 0;
    uint64_t key = bloom->base.config->seed + (chunk + 1) * UINT64_C(0x9e3779b97f4a7c15);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    uint64_t swapped[CHUNK_WORDS];
    for (size_t i = 0; i < count; i++)
        swapped[i] = to_little_endian(words[i]);
    words = swapped;
#endif
    return hash_to_number(hash_bytes(key, words, count * 8));
}

/* The first chunk from this one on whose hash must be recomputed; past the last one: none. */
static size_t next_stale(const struct bloom *bloom, size_t chunk)
{
    const uint8_t *found = chunk < bloom->chunks ? memchr(bloom->stale + chunk, 1, bloom->chunks - chunk) : NULL;
    return found ? (size_t)(found - bloom->stale) : bloom->chunks;
}

/* Bits stay, so a chunk that holds any needs to be looked at but once. */
static void note_use(struct bloom *bloom, size_t chunk)
{
    uint64_t bit = UINT64_C(1) << (chunk % GROUP);
    if (!(bloom->used[chunk / GROUP] & bit) &&
        !all_zero(words_of(bloom) + chunk * CHUNK_WORDS, words_in_chunk(bloom, chunk)))
        bloom->used[chunk / GROUP] |= bit;
}

/* Stores the hash of a chunk, which is no longer stale; the sum is left to the caller. */
static void put_chunk_hash(struct bloom *bloom, size_t chunk, uint128 hash)
{
    bloom->chunk_hashes[chunk] = hash;
    note_use(bloom, chunk);
    bloom->stale[chunk] = 0;
    if (bloom->copied)
        bloom->copied[chunk / GROUP] &= ~(UINT64_C(1) << (chunk % GROUP));
}

static void keep_chunk_hash(struct bloom *bloom, size_t chunk, uint128 hash)
{
    bloom->sum += hash - bloom->chunk_hashes[chunk];
    put_chunk_hash(bloom, chunk, hash);
}

/* Recomputes at most so many hashes; returns where the next one is. */
static size_t refresh(struct bloom *bloom, uint64_t *effort)
{
    size_t chunk = next_stale(bloom, 0);
    for (; chunk<bloom->chunks && * effort> 0; chunk = next_stale(bloom, chunk + 1), --*effort) {
        uint128 hash = chunk_hash(bloom, chunk);
        keep_chunk_hash(bloom, chunk, hash);
    }
    return chunk;
}

/* By groups, since chunks of a group share words. */
static void refresh_groups(void *context, size_t from, size_t to)
{
    struct bloom *bloom = context;
    const size_t end = to * GROUP < bloom->chunks ? to * GROUP : bloom->chunks;
    for (size_t chunk = from * GROUP; chunk < end; chunk++)
        if (bloom->stale[chunk])
            put_chunk_hash(bloom, chunk, chunk_hash(bloom, chunk));
}

static void refresh_all(struct bloom *bloom)
{
    run_in_spans(&bloom->base.environment.common->executor, refresh_groups, bloom, used_words(bloom->chunks),
                 CHUNKS_OF_TASK / GROUP);
    bloom->sum = 0;
    for (size_t chunk = 0; chunk < bloom->chunks; chunk++)
        bloom->sum += bloom->chunk_hashes[chunk];
}

static bool has_many_stale(const struct bloom *bloom)
{
    size_t stale = 0;
    for (size_t chunk = 0; chunk < bloom->chunks; chunk++)
        stale += bloom->stale[chunk];
    return stale >= 2 * CHUNKS_OF_TASK;
}

static uint128 bloom_digest(roost_filter *filter)
{
    uint64_t effort = UINT64_MAX;
    if (is_parallel(&filter->environment.common->executor) && has_many_stale(as_bloom(filter)))
        refresh_all(as_bloom(filter));
    else
        refresh(as_bloom(filter), &effort);
    return as_bloom(filter)->sum;
}

static bool bloom_precompute_digest(roost_filter *filter, uint64_t *effort)
{
    return refresh(as_bloom(filter), effort) < as_bloom(filter)->chunks;
}

/* ---- incremental copies -------------------------------------------------------------------------------------------
 *
 * A chunk goes over with its hash, which is taken first, so that a change after that makes it stale and is noticed.
 */

static roost_status bloom_copy_open(const roost_filter *filter, roost_filter **copy,
                                    const roost_environment *environment)
{
    struct bloom *twin = bloom_allocate(filter->config, environment, as_const_bloom(filter)->geometry);
    *copy = twin ? &twin->base : NULL;
    return twin ? ROOST_OK : ROOST_NO_MEMORY;
}

static size_t next_uncopied(const struct bloom *bloom, size_t chunk)
{
    for (chunk = next_used(bloom, chunk); chunk < bloom->chunks; chunk = next_used(bloom, chunk + 1)) {
        uint64_t left = bloom->used[chunk / GROUP] & ~bloom->copied[chunk / GROUP];
        if (bloom->stale[chunk] || left >> (chunk % GROUP) & 1)
            return chunk;
    }
    return chunk;
}

static bool begin_copy(struct bloom *bloom, struct bloom *twin)
{
    const size_t bytes = used_words(bloom->chunks) * sizeof(uint64_t);
    if (twin->copy_token && twin->copy_token == bloom->copy_token)
        return true;
    if (!bloom->copied)
        bloom->copied = memory_allocate(&bloom->base.environment.allocator, bytes);
    if (!bloom->copied)
        return false;
    memset(bloom->copied, 0, bytes);
    twin->copy_token = ++bloom->copy_token;
    return true;
}

static roost_status bloom_copy_some(roost_filter *filter, roost_filter *copy, uint64_t *effort, bool *clean)
{
    struct bloom *bloom = as_bloom(filter), *twin = as_bloom(copy);
    if (!begin_copy(bloom, twin))
        return ROOST_NO_MEMORY;
    size_t chunk = next_uncopied(bloom, 0);
    for (; chunk<bloom->chunks && * effort> 0; chunk = next_uncopied(bloom, chunk + 1), --*effort) {
        if (bloom->stale[chunk])
            keep_chunk_hash(bloom, chunk, chunk_hash(bloom, chunk));
        copy_chunk(twin, bloom, chunk);
        bloom->copied[chunk / GROUP] |= UINT64_C(1) << (chunk % GROUP);
    }
    *clean = chunk == bloom->chunks;
    return ROOST_OK;
}

static roost_status bloom_copy_rest(roost_filter *filter, roost_filter *copy)
{
    struct bloom *bloom = as_bloom(filter), *twin = as_bloom(copy);
    twin->sum = bloom->sum;
    twin->own.random = bloom->own.random;
    twin->copy_token = 0;
    memory_release(&filter->environment.allocator, bloom->copied);
    bloom->copied = NULL;
    bloom->copy_token++;
    return ROOST_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool bloom_move(roost_filter *filter, const struct memory_mover *mover, uint64_t place)
{
    struct bloom *bloom = as_bloom(filter);
    (void)place;
    region_move(&bloom->words, mover);
    place_side(bloom, memory_moved(mover, bloom->chunk_hashes));
    bloom->copied = memory_moved(mover, bloom->copied);
    bloom->blocks.words = words_of(bloom);
    bloom->blocks.stale = bloom->stale;
    move_journal(filter, mover);
    return false;
}

static uint64_t bloom_bytes(const roost_filter *filter)
{
    return bytes_needed(as_const_bloom(filter)->words.size) + own_journal_bytes(filter);
}

/* The digest of an empty chunk is 0, but it may not have been taken yet. */
static bool bloom_is_bottom(const roost_filter *filter)
{
    const struct bloom *bloom = as_const_bloom(filter);
    for (size_t chunk = next_used(bloom, 0); chunk < bloom->chunks; chunk = next_used(bloom, chunk + 1))
        if (!all_zero(words_of(bloom) + chunk * CHUNK_WORDS, words_in_chunk(bloom, chunk)))
            return false;
    return true;
}

/* ---- report ---------------------------------------------------------------------------------------------------- */

/* The exact chance that a random key of this block finds all its bits set. */
static double rate_of_block(const struct bloom *bloom, size_t block)
{
    uint32_t rounds = bloom->geometry.probes / 8, rest = bloom->geometry.probes % 8;
    double fill[BLOCK_WORDS], all = 1, partial = rest ? 0 : 1;
    for (uint32_t word = 0; word < BLOCK_WORDS; word++) {
        fill[word] = count_ones(words_of(bloom)[block * BLOCK_WORDS + word]) / 64.0;
        for (uint32_t round = 0; round < rounds; round++)
            all *= fill[word];
    }
    for (uint32_t start = 0; rest && start < BLOCK_WORDS; start++) {
        double window = 1;
        for (uint32_t i = 0; i < rest; i++)
            window *= fill[(start + i) & 7];
        partial += window / BLOCK_WORDS;
    }
    return all * partial;
}

/*
 * What was counted: every chunk, or some of them, evenly spaced. Keys are spread by a hash, so a sample represents
 * all.
 */
struct census {
    uint64_t words, set;
    double rates; /* the sum over blocks */
};

static struct census count_chunks(const struct bloom *bloom, size_t chunks)
{
    struct census census = {0};
    for (size_t i = 0; i < chunks; i++) {
        size_t chunk = i * (bloom->chunks / chunks), words = words_in_chunk(bloom, chunk);
        census.set += ones_in_chunk(bloom, chunk);
        for (size_t block = 0; is_blocked(bloom) && is_used(bloom, chunk) && block < words / BLOCK_WORDS; block++)
            census.rates += rate_of_block(bloom, chunk * (CHUNK_WORDS / BLOCK_WORDS) + block);
        census.words += words;
    }
    return census;
}

/* The false-positive rate of this very array (classic: but for clustering). */
static double rate_of(const struct bloom *bloom, const struct census *census, double load)
{
    const uint64_t blocks = census->words / BLOCK_WORDS;
    return is_blocked(bloom) ? census->rates / (double)blocks : pow(load, bloom->geometry.probes);
}

/*
 * How many elements leave a part `empty` of the bits at 0. A full array says only "at least". An empty one has 0
 * elements: 0 - log(1), since -log(1) is -0, which a binding would show.
 */
static double elements_for(const struct bloom *bloom, double empty)
{
    double bits = (double)bloom->geometry.bits, probes = bloom->geometry.probes;
    empty = empty > 0.5 / bits ? empty : 0.5 / bits;
    double touched = 0 - log(empty);
    if (!is_blocked(bloom))
        return touched * bits / probes;
    return touched * (bits / BLOCK_BITS) / (1 - bloom_blocked_survival(bloom->geometry.probes));
}

void bloom_expect_misses(roost_filter *filter)
{
    as_bloom(filter)->blocks.prefetch = true;
}

double bloom_elements(const roost_filter *filter)
{
    const struct bloom *bloom = as_const_bloom(filter);
    return elements_for(bloom, 1 - (double)count_set(bloom) / (double)bloom->geometry.bits);
}

/*
 * The estimate wavers even when the count is exact: it must pass the capacity by three standard errors. Where a part of
 * the bits was counted, how many elements came to lie in that part wavers as well.
 */
static bool beyond_capacity(const struct bloom *bloom, double elements, double counted)
{
    double bits = (double)bloom->geometry.bits, probes = bloom->geometry.probes;
    double density = probes * elements / bits;
    double variance =
        bits * (exp(density) - 1 - density) / (probes * probes) / counted + elements * (1 - counted) / counted;
    return elements - 3 * sqrt(variance) > (double)bloom->base.config->capacity;
}

static void bloom_brief(const roost_filter *filter, roost_info *info)
{
    const struct bloom *bloom = as_const_bloom(filter);
    info->bits = bloom->geometry.bits;
    info->probes = bloom->geometry.probes;
    info->bytes_memory = bloom_bytes(filter);
    info->journal = journal_length(filter->journal);
}

static void report_census(const roost_filter *filter, roost_info *info, const struct census *census)
{
    const struct bloom *bloom = as_const_bloom(filter);
    double bits = (double)bloom->geometry.bits;
    bool whole = census->words == word_count(bloom);
    bloom_brief(filter, info);
    info->load = (double)census->set / (whole ? bits : 64.0 * (double)census->words);
    info->entries = whole ? census->set : (uint64_t)llround(info->load * bits);
    info->elements = elements_for(bloom, 1 - info->load);
    info->fpr_now = rate_of(bloom, census, info->load);
    info->promise_holds = info->fpr_now <= filter->config->fpr ||
                          !beyond_capacity(bloom, info->elements, (double)census->words / (double)word_count(bloom));
}

static void bloom_info(const roost_filter *filter, roost_info *info)
{
    struct census census = count_chunks(as_const_bloom(filter), as_const_bloom(filter)->chunks);
    report_census(filter, info, &census);
}

#define SAMPLED_CHUNKS 128

static void bloom_estimate(const roost_filter *filter, roost_info *info)
{
    size_t chunks = as_const_bloom(filter)->chunks;
    struct census census = count_chunks(as_const_bloom(filter), chunks > 4 * SAMPLED_CHUNKS ? SAMPLED_CHUNKS : chunks);
    report_census(filter, info, &census);
}

static roost_status bloom_check(const roost_filter *filter)
{
    const struct bloom *bloom = as_const_bloom(filter);
    unsigned tail = bloom->geometry.bits % 64;
    bool sound = bloom->words.size == divide_up(bloom->geometry.bits, 64) * 8 &&
                 !(tail && words_of(bloom)[word_count(bloom) - 1] >> tail);
    uint128 sum = 0;
    for (size_t chunk = 0; chunk < bloom->chunks; chunk++) {
        sum += bloom->chunk_hashes[chunk];
        sound &= bloom->stale[chunk] || (bloom->chunk_hashes[chunk] == chunk_hash(bloom, chunk) &&
                                         is_used(bloom, chunk) == (bloom->chunk_hashes[chunk] != 0));
    }
    return sound && sum == bloom->sum ? ROOST_OK : ROOST_CORRUPT;
}

const struct filter_kind bloom_kind = {
    .code = ROOST_BLOOM,
    .name = "bloom",
    .lifecycle = {.resolve = bloom_resolve,
                  .is_resolved = bloom_is_resolved,
                  .open = bloom_open,
                  .close = bloom_close,
                  .clone = bloom_clone},
    .set = {.add = bloom_add, .contains = bloom_contains},
    .lattice = {.merge = bloom_merge,
                .compare = bloom_compare,
                .is_bottom = bloom_is_bottom,
                .digest = bloom_digest,
                .precompute_digest = bloom_precompute_digest},
    .encoding = {.write_geometry = bloom_write_geometry,
                 .write_state = bloom_write_state,
                 .read_state = bloom_read_state},
    .delta = {.write = bloom_write_delta,
              .merge = bloom_merge_delta,
              .prepare = bloom_prepare_delta,
              .commit = bloom_commit_delta},
    .sync = {.summarize = bloom_summarize, .resolve_positions = bloom_resolve_positions},
    .journal = {.is_change = bloom_is_change},
    .incremental = {.copy_open = FOR_SERVERS(bloom_copy_open),
                    .copy_some = FOR_SERVERS(bloom_copy_some),
                    .copy_rest = FOR_SERVERS(bloom_copy_rest),
                    .cut = FOR_SERVERS(bloom_cut),
                    .move = FOR_SERVERS(bloom_move)},
    .report = {.info = bloom_info,
               .estimate = FOR_SERVERS(bloom_estimate),
               .brief = FOR_SERVERS(bloom_brief),
               .memory = bloom_bytes,
               .check = FOR_SERVERS(bloom_check)},
};
