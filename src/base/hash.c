#include "hash.h"

const struct hash_multipliers hash_multipliers = {.low = UINT64_C(0x9fb21c651e98df25),
                                                  .eight_bytes = UINT64_C(0x9e3779b185ebca87) + (8 << 2),
                                                  .finish = UINT64_C(0x165667919e3779f9)};

roost_hash hash_any_key(const struct hash_seed *seed, const void *key, size_t size)
{
    return is_short_key(size) ? hash_short_key(seed, key, size) : hash_bytes(seed->seed, key, size);
}
