/*
 * The stand-ins of one_call.c, as far as both of its kinds need them: those that are inlined into the loop of the caller,
 * and those that are called with a key, as a library is (called.c).
 */
#ifndef BENCH_STAND_IN_H
#define BENCH_STAND_IN_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "roost/filter.h"

struct stand_in {
    uint64_t *words;
    uint64_t size; /* blocks; buckets less one; slots less one */
    uint64_t random;
    size_t bytes;
};

static inline XXH128_hash_t number_hash(uint64_t key)
{
    return XXH3_128bits_withSeed(&key, sizeof key, ROOST_DEFAULT_SEED);
}

/* ---- split blocks ------------------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

static AVX2 inline __m256i *split_block(const struct stand_in *stand_in, XXH128_hash_t hash)
{
    return (__m256i *)stand_in->words + (uint64_t)(((unsigned __int128)hash.low64 * stand_in->size) >> 64);
}

static AVX2 inline __m256i split_bits(XXH128_hash_t hash)
{
    const __m256i salts = _mm256_setr_epi32(0x47b6137b, 0x44974d91, (int)0x8824ad5b, (int)0xa2b7289d, 0x705495c7,
                                            0x2df1424b, (int)0x9efc4947, 0x5c6bfb31);
    __m256i products = _mm256_mullo_epi32(salts, _mm256_set1_epi32((int)hash.high64));
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(products, 27));
}

#endif

/* ---- buckets of four slots of 8 or 12 bits; a fingerprint is never 0 --------------------------------------------- */

struct pair {
    uint64_t first, second, print;
};

static inline struct pair pair_of(const struct stand_in *stand_in, XXH128_hash_t hash, unsigned bits)
{
    uint64_t print = hash.high64 >> (64 - bits), first = hash.low64 & stand_in->size;
    print += print == 0;
    return (struct pair){first, first ^ (print * 0x5bd1e995 & stand_in->size), print};
}

static inline uint64_t lanes_that_are(uint64_t lanes, uint64_t print, uint64_t ones, uint64_t tops)
{
    lanes ^= print * ones;
    return (lanes - ones) & ~lanes & tops;
}

static inline uint32_t load_bytes_bucket(const struct stand_in *stand_in, uint64_t bucket)
{
    uint32_t word;
    memcpy(&word, (const char *)stand_in->words + bucket * 4, sizeof word);
    return word;
}

static inline uint64_t load_words_bucket(const struct stand_in *stand_in, uint64_t bucket)
{
    uint64_t word;
    memcpy(&word, (const char *)stand_in->words + bucket * 6, sizeof word);
    return word;
}

#define BYTE_ONES UINT64_C(0x0101010101010101)
#define WORD_ONES UINT64_C(0x001001001001)

static inline bool pair_is_in_bytes(const struct stand_in *stand_in, struct pair pair)
{
    uint64_t both = (uint64_t)load_bytes_bucket(stand_in, pair.first) << 32 | load_bytes_bucket(stand_in, pair.second);
    return lanes_that_are(both, pair.print, BYTE_ONES, BYTE_ONES << 7) != 0;
}

/* ---- called: called.c -------------------------------------------------------------------------------------------- */

bool called_split_contains(const struct stand_in *stand_in, const void *key, size_t size);
void called_split_add(struct stand_in *stand_in, const void *key, size_t size);
bool called_bytes_contains(const struct stand_in *stand_in, const void *key, size_t size);

#endif
