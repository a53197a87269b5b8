/*
 * Stand-ins that are called with one key of any size, as the functions of a library are: what the same memory accesses
 * cost without digest and journal, but with a call.
 */
#include "stand_in.h"

static inline XXH128_hash_t hash_of_bytes(const void *key, size_t size)
{
    return XXH3_128bits_withSeed(key, size, ROOST_DEFAULT_SEED);
}

#if defined(__x86_64__)
AVX2 bool called_split_contains(const struct stand_in *stand_in, const void *key, size_t size)
{
    XXH128_hash_t hash = hash_of_bytes(key, size);
    return _mm256_testc_si256(*split_block(stand_in, hash), split_bits(hash));
}

AVX2 void called_split_add(struct stand_in *stand_in, const void *key, size_t size)
{
    XXH128_hash_t hash = hash_of_bytes(key, size);
    __m256i *block = split_block(stand_in, hash);
    *block = _mm256_or_si256(*block, split_bits(hash));
}
#endif

bool called_bytes_contains(const struct stand_in *stand_in, const void *key, size_t size)
{
    return pair_is_in_bytes(stand_in, pair_of(stand_in, hash_of_bytes(key, size), 8));
}
