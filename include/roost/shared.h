/*
 * A filter that threads share: any number of them add and look up at the same time.
 *
 *     roost_shared_add        roost_shared_contains        roost_shared_merge        any thread, at any time
 *     roost_shared_snapshot                                 the state of a moment, as a filter of its own
 *
 * For Bloom filters of fixed size and for scalable cuckoo filters, the kinds that only grow. A Bloom filter has no locks:
 * bits are set by atomic OR. A scalable cuckoo filter is cut into ranges of hashes, each with a lock that is held for
 * less than a microsecond (a hundred while a segment grows).
 *
 * What there is besides adding and looking up is done on a snapshot: encode, save, compare, sync. What came from
 * elsewhere is merged. Neither keeps other threads waiting for long: a snapshot of a scalable cuckoo filter holds all
 * locks for the microseconds of a clone, a merge holds one after the other.
 *
 * Conventions are those of filter.h, but that every call except roost_shared_free may be made by several threads at
 * once, with an environment whose allocator may be, too. No call but those on snapshots uses an executor.
 */
#ifndef ROOST_SHARED_H
#define ROOST_SHARED_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A filter that threads share. */
typedef struct roost_shared roost_shared;

/*
 * Makes an empty filter for threads. On failure `*shared` is NULL.
 *
 * Errors: ROOST_INVALID where the configuration makes no sense. ROOST_UNSUPPORTED for kinds that cannot be shared: all
 * but Bloom filters that are not scalable, and scalable cuckoo filters.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_shared_new(roost_shared **shared, const roost_config *config,
                                                         const roost_environment *environment);

/* Frees it, once no other thread uses it. NULL is fine. */
ROOST_API void roost_shared_free(roost_shared *shared);

/*
 * Adds an element. `*changed` (may be NULL) tells whether this call changed the state; of several threads that add an
 * element at the same time, at least one is told so if nobody had added it before. Once it returns, every look-up that
 * begins later finds the element.
 *
 * Errors: ROOST_FULL, as roost_filter_add.
 */
ROOST_API roost_status roost_shared_add(roost_shared *shared, bool *changed, const void *key, size_t size);

/* As roost_shared_add, for the hash of a key (roost_shared_hash). */
ROOST_API roost_status roost_shared_add_hash(roost_shared *shared, bool *changed, roost_hash hash);

/* Returns whether the element may have been added: never false for one that was. */
ROOST_API bool roost_shared_contains(const roost_shared *shared, const void *key, size_t size);

/* As roost_shared_contains, for the hash of a key. */
ROOST_API bool roost_shared_contains_hash(const roost_shared *shared, roost_hash hash);

/* Returns the hash of a key under the seed of the filter. */
ROOST_API roost_hash roost_shared_hash(const roost_shared *shared, const void *key, size_t size);

/*
 * Merges the state of a filter, which no other thread changes meanwhile. `*changed` (may be NULL) tells whether the
 * state grew. Look-ups may see a part of it before the call returns. Where it fails, a part of it may have been merged.
 *
 * Errors: ROOST_MISMATCH.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_shared_merge(roost_shared *shared, bool *changed,
                                                           const roost_filter *other);

/*
 * Copies the state to a filter `*copy`, which belongs to the caller; NULL on failure. It has every element whose addition
 * returned before this call, and of those that are added meanwhile any. (A snapshot of a Bloom filter may have some bits
 * of an element whose addition has not returned: no more than that element would set.)
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_shared_snapshot(const roost_shared *shared, roost_filter **copy);

#ifdef __cplusplus
}
#endif
#endif
