#include "hash.h"

const struct hash_multipliers hash_multipliers = {.low = UINT64_C(0x9fb21c651e98df25),
                                                  .eight_bytes = UINT64_C(0x9e3779b185ebca87) + (8 << 2),
                                                  .finish = UINT64_C(0x165667919e3779f9)};

const struct number_mixers number_mixers = {.mixer = UINT64_C(0x9e3779b97f4a7c15),
                                            .low_key = UINT64_C(0xa0761d6478bd642f),
                                            .low = UINT64_C(0xe7037ed1a0b428db),
                                            .high_key = UINT64_C(0x8ebc6af09c88c6e3),
                                            .high = UINT64_C(0x589965cc75374cc3)};

roost_hash hash_any_key(const struct hash_seed *seed, const void *key, size_t size)
{
    return is_short_key(size) ? hash_short_key(seed, key, size) : hash_bytes(seed->seed, key, size);
}
