/*
 * The hot loops of Bloom filters: where the bits of a key are, and one kernel for each instruction set. `bloom_plain.c`
 * draws the pattern of a block, `bloom_kernel.c` lists the kernels.
 */
#ifndef BLOOM_BLOOM_KERNEL_H
#define BLOOM_BLOOM_KERNEL_H

#include "bloom_size.h"
#include "../base/bits.h"
#include "../base/kernel.h"
#include "../base/neon.h"

#define BLOCK_BYTES 64
/* The digest is taken over chunks of this many bytes. */
#define CHUNK_BYTES 4096
#define CHUNK_WORDS (CHUNK_BYTES / 8)

/* The bits of a blocked filter as its kernels see them. */
struct bloom_blocks {
    uint64_t *words;
    uint64_t count; /* of blocks */
    uint32_t probes;
    uint8_t *stale; /* a byte a chunk: its part of the digest must be recomputed */
    bool prefetch;  /* the array is larger than the caches */
};

struct filter_calls; /* kind.h */

/* One implementation of the hot loops. All give the same bits. `changed` may be NULL. */
struct bloom_kernel {
    struct kernel head;
    void (*add)(const struct bloom_blocks *blocks, bool *changed, const roost_hash *hashes, size_t count);
    void (*contains)(const struct bloom_blocks *blocks, bool *found, const roost_hash *hashes, size_t count);
    /* Or of two runs of words, of either layout; returns whether the first one changed. */
    bool (*merge)(uint64_t *restrict words, const uint64_t *restrict other, size_t count);
    /* How many bits of a run of words are set. */
    uint64_t (*count)(const uint64_t *words, size_t count);
    /* For filters of eight probes, and of any other number. */
    const struct filter_calls *calls_of_eight, *calls_of_any;
};

extern const struct bloom_kernel bloom_kernel_plain;
#if defined(__x86_64__)
extern const struct bloom_kernel bloom_kernel_avx2, bloom_kernel_avx512;
#elif defined(HAS_NEON)
extern const struct bloom_kernel bloom_kernel_neon;
#endif

/* 1, in memory: from there one instruction brings it into all lanes of a vector; compilers make two of a constant. */
extern const uint64_t bloom_one __attribute__((visibility("hidden")));

/* All kernels of this build, best first, the plain one last; NULL ends the list. */
extern const struct bloom_kernel *const bloom_kernels[];

/* The best one that this machine can run; tests may force another (NULL: back to the best). A filter takes its calls
   from the one that is in use when it is made. */
const struct bloom_kernel *bloom_kernel_in_use(void);
void bloom_kernel_force(const struct bloom_kernel *kernel);

/*
 * Kirsch-Mitzenmacher probes, low + i * high, each through a mixer. Without it the probes are an arithmetic
 * progression, and one query in about m has a step so short that all its probes meet the same few bits: a floor under
 * the rate, which a small filter with a low rate would miss its promise by (measured: five times for a thousand keys at
 * 1e-6).
 */
static inline uint64_t classic_position(roost_hash hash, uint32_t probe, uint64_t bits)
{
    uint64_t mixed = hash.low + probe * (hash.high | 1);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return scale_to_range(mixed ^ mixed >> 32, bits);
}

/* ---- the blocked pattern: one place for all kernels -------------------------------------------------------------- */

static inline uint64_t block_of(roost_hash hash, uint64_t blocks)
{
    return scale_to_range(hash.low, blocks);
}

/* Eight probes take one round, which reads eight numbers of six bits and, at the top, a start from one word. */
static inline uint64_t block_round_word(roost_hash hash, uint32_t round)
{
    return round == 0 ? hash.high : rotate_left(hash.high * UINT64_C(0x9fb21c651e98df25), 29) ^ hash.high >> 7;
}

static inline uint32_t block_round_start(uint64_t word)
{
    return (uint32_t)(word >> 61);
}

/* The bits of a key, as positions in the whole array; some may be equal. Returns how many: the probes. */
uint32_t block_positions(uint64_t *positions, roost_hash hash, uint64_t blocks, uint32_t probes);

/* Which of the eight words a round touches: all, or as many as probes are left, in a row from the start, wrapping. */
static inline uint32_t block_round_lanes(uint64_t word, uint32_t probes_left)
{
    if (probes_left >= BLOCK_WORDS)
        return 0xff;
    uint32_t lanes = (1u << probes_left) - 1, start = block_round_start(word);
    return (lanes << start | lanes >> (8 - start)) & 0xff;
}

#endif
