/*
 * Filters that threads share.
 *
 * The kinds that only grow can be shared without any thread waiting for the whole filter: an addition touches one
 * place, and what others do elsewhere commutes with it, since every state is a union.
 *
 *     Bloom               shared_bloom.c       words are set by atomic OR; nobody waits
 *     scalable cuckoo     shared_growing.c     one filter for each range of hashes, each with a lock
 *
 * Everything else (frames, deltas, syncs, digests) needs a state that stands still: a snapshot, which is an ordinary
 * filter of one thread. So nothing else in the library knows of threads.
 */
#include "shared_kind.h"

#include "../base/hash.h"
#include "../filter/configuration.h"

static roost_shared *open_kind(roost_filter *empty)
{
    return empty->config->kind == ROOST_BLOOM ? shared_bloom_open(empty) : shared_growing_open(empty);
}

static bool can_be_shared(const roost_config *config)
{
    return (config->kind == ROOST_BLOOM && !config->scalable) || (config->kind == ROOST_CUCKOO && config->scalable);
}

roost_status roost_shared_new(roost_shared **shared, const roost_config *config, const roost_environment *environment)
{
    roost_filter *empty;
    *shared = NULL;
    if (!can_be_shared(config))
        return ROOST_UNSUPPORTED;
    roost_status status = roost_filter_new(&empty, config, environment);
    if (status != ROOST_OK)
        return status;
    *shared = open_kind(empty);
    if (!*shared)
        return ROOST_NO_MEMORY;
    (*shared)->hash_seed = hash_seed_of((*shared)->model);
    return ROOST_OK;
}

void roost_shared_free(roost_shared *shared)
{
    if (shared)
        shared->kind->close(shared);
}

roost_hash roost_shared_hash(const roost_shared *shared, const void *key, size_t size)
{
    return hash_key(&shared->hash_seed, key, size);
}

roost_status roost_shared_add_hash(roost_shared *shared, bool *changed, roost_hash hash)
{
    bool grew = false;
    roost_status status = shared->kind->add(shared, &grew, hash);
    if (changed)
        *changed = grew;
    return status;
}

roost_status roost_shared_add(roost_shared *shared, bool *changed, const void *key, size_t size)
{
    return roost_shared_add_hash(shared, changed, roost_shared_hash(shared, key, size));
}

bool roost_shared_contains_hash(const roost_shared *shared, roost_hash hash)
{
    return shared->kind->contains(shared, hash);
}

bool roost_shared_contains(const roost_shared *shared, const void *key, size_t size)
{
    return shared->kind->contains(shared, roost_shared_hash(shared, key, size));
}

roost_status roost_shared_merge(roost_shared *shared, bool *changed, const roost_filter *other)
{
    bool grew = false;
    roost_status status = ROOST_MISMATCH;
    if (same_configuration(shared->model, other) && !other->imported)
        status = shared->kind->merge(shared, &grew, other);
    if (changed)
        *changed = grew;
    return status;
}

roost_status roost_shared_snapshot(const roost_shared *shared, roost_filter **copy)
{
    *copy = NULL;
    return shared->kind->snapshot(shared, copy);
}
