#include "hash.h"

roost_hash hash_any_key(const struct hash_seed *seed, const void *key, size_t size)
{
    return is_short_key(size) ? hash_short_key(seed, key, size) : hash_bytes(seed->seed, key, size);
}
