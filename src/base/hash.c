#include "hash.h"

roost_hash hash_any_key(const struct hash_seed *seed, const void *key, size_t size)
{
    return hash_bytes(seed->seed, key, size);
}
