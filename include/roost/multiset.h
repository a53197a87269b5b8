/*
 * Approximate multisets: how many copies of an element there are, in a few bits an element.
 *
 * While nothing is removed a count is never too small; it is too large when another element falls into the same place,
 * which happens with the probability that the configuration promises. Merge takes the larger count of each element: the
 * union of multisets. It is idempotent, commutative and associative; equal states have equal digests and encode to
 * equal bytes, whatever led to them.
 *
 * Removal is for a multiset with one owner: merge does not know of removals, so copies that one replica removed come
 * back with a replica that still has them. (A filter of kind ROOST_ORCUCKOO with `multiset` removes for all replicas.)
 * Counts stay large enough if the multiset never took part in a merge and you never remove more copies of an element
 * than you added. Otherwise a removal can take copies of another element that falls into the same place: removing all
 * copies (ROOST_MOST_COPIES) takes the other's as well; and a merge keeps the larger of the counts that two elements
 * brought to one place, not their sum, so that there is less to remove than was added.
 *
 * Conventions are those of filter.h.
 */
#ifndef ROOST_MULTISET_H
#define ROOST_MULTISET_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A multiset of any kind: its state, its configuration and its environment. */
typedef struct roost_multiset roost_multiset;

/* The kinds of multisets. The numbers are pinned. */
typedef enum roost_multiset_kind {
    ROOST_COUNTING_CUCKOO = 1, /* CCF: a fingerprint and a count for each element */
    ROOST_COUNTING_BLOOM = 2,  /* CBF: k counters for each element, shared with others; the papers' baseline */
} roost_multiset_kind;

/* The largest number of copies of one element. */
#define ROOST_MOST_COPIES ((UINT64_C(1) << 48) - 1)

/*
 * The configuration of a multiset. Multisets of equal configuration merge. Start from roost_multiset_config_default and
 * change what matters.
 */
typedef struct roost_multiset_config {
    roost_multiset_kind kind;  /* the kind of multiset */
    uint64_t capacity;         /* distinct elements for which the promise holds */
    double fpr;                /* how often an absent element may be counted, in (0,1); 0 for what the sizes give */
    uint64_t seed;             /* of the hash */
    uint32_t fingerprint_bits; /* counting cuckoo: 4 to 32, and then set fpr to 0; 0: the fewest that keep fpr */
    uint32_t bucket_size;      /* counting cuckoo: 1, 2, 4 or 8 slots */
    uint32_t buckets;          /* counting cuckoo: 0: as many as the capacity needs; fewer overflow sooner */
    uint64_t cells;            /* counting Bloom: counters, and then set fpr to 0; 0: as many as keep fpr */
    uint32_t probes;           /* counting Bloom: counters an element, 1 to 64; 0: what suits the cells */
    uint32_t counter_bits;     /* counting Bloom: 4 to 32; 0: 16 */
} roost_multiset_config;

/*
 * Returns the default configuration: counting cuckoo, 1 %, the default seed, buckets of four. The capacity is 0 and
 * must be set.
 */
ROOST_API roost_multiset_config roost_multiset_config_default(void);

/* ---- life ------------------------------------------------------------------------------------------------------ */

/*
 * Makes an empty multiset. `config` and `environment` are copied. On failure `*multiset` is NULL.
 *
 * Errors: ROOST_INVALID where the configuration makes no sense.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_new(roost_multiset **multiset,
                                                           const roost_multiset_config *config,
                                                           const roost_environment *environment);

/* Frees a multiset. NULL is fine. */
ROOST_API void roost_multiset_free(roost_multiset *multiset);

/* Copies a multiset with its state, configuration and environment to `*copy`, which is NULL on failure. */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_clone(const roost_multiset *multiset, roost_multiset **copy);

/* Returns the configuration, with all defaults filled in. It belongs to the multiset and lives as long as it does. */
ROOST_API const roost_multiset_config *roost_multiset_get_config(const roost_multiset *multiset);

/* ---- elements -------------------------------------------------------------------------------------------------- */

/* Returns the hash of a key that the `_hash` twins take. It is the same in all multisets of the same seed. */
ROOST_API roost_hash roost_multiset_hash(const roost_multiset *multiset, const void *key, size_t size);

/*
 * Adds `copies` copies of an element; 0 is fine. `*count` (may be NULL) is how many there are then.
 *
 * Errors: ROOST_FULL where a count would pass ROOST_MOST_COPIES or, in a counting Bloom filter, the range of its
 * counters; and where a counting cuckoo filter past its capacity has no room for an element that it does not hold yet.
 */
ROOST_API roost_status roost_multiset_add(roost_multiset *multiset, uint64_t *count, const void *key, size_t size,
                                          uint64_t copies);

/* As roost_multiset_add, for the hash of a key. */
ROOST_API roost_status roost_multiset_add_hash(roost_multiset *multiset, uint64_t *count, roost_hash hash,
                                               uint64_t copies);

/*
 * Removes `copies` copies of an element, or as many as there are; ROOST_MOST_COPIES removes all. `*count` (may be NULL)
 * is how many there are then. Remove what you added and no more, or counts of other elements become too small (see
 * above).
 */
ROOST_API void roost_multiset_remove(roost_multiset *multiset, uint64_t *count, const void *key, size_t size,
                                     uint64_t copies);

/* As roost_multiset_remove, for the hash of a key. */
ROOST_API void roost_multiset_remove_hash(roost_multiset *multiset, uint64_t *count, roost_hash hash, uint64_t copies);

/* Returns how many copies of an element there are; too large where another element falls into the same place. */
ROOST_API uint64_t roost_multiset_count(const roost_multiset *multiset, const void *key, size_t size);

/* As roost_multiset_count, for the hash of a key. */
ROOST_API uint64_t roost_multiset_count_hash(const roost_multiset *multiset, roost_hash hash);

/* ---- replication ----------------------------------------------------------------------------------------------- */

/*
 * Merges `other` into the multiset: the larger count of each element. It never fails for lack of room in a table.
 * `*changed` (may be NULL) tells whether a count grew.
 *
 * Errors: ROOST_MISMATCH.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_merge(roost_multiset *multiset, bool *changed,
                                                             const roost_multiset *other);

/*
 * Compares the states of the multiset and of `other`: `*order` tells which one includes the other. It needs no memory.
 *
 * Errors: only ROOST_MISMATCH, and then `*order` is ROOST_CONCURRENT.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_compare(const roost_multiset *multiset, roost_order *order,
                                                               const roost_multiset *other);

/* Returns whether the multiset and `other` have equal configurations and equal states. */
ROOST_API bool roost_multiset_equal(const roost_multiset *multiset, const roost_multiset *other);

/* Returns the digest of configuration and state. Reads the whole multiset. */
ROOST_API roost_digest roost_multiset_digest(const roost_multiset *multiset);

/* Encodes the state as a frame: its canonical bytes (docs/format.md). */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_encode(const roost_multiset *multiset, roost_buffer *frame);

/*
 * Decodes a frame into a new multiset. The frame may come from anyone: all of it is validated, or `*multiset` is NULL.
 *
 * Errors: ROOST_NOT_FRAME, ROOST_UNSUPPORTED_VERSION, ROOST_TRUNCATED, ROOST_CORRUPT.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_decode(roost_multiset **multiset, const void *frame, size_t size,
                                                              const roost_environment *environment);

/* ---- what differs ---------------------------------------------------------------------------------------------- */

/* An element that a host holds, and how often. */
typedef struct roost_copies {
    roost_hash hash; /* of the element; see roost_multiset_hash */
    uint64_t count;  /* how many copies the host holds */
} roost_copies;

/* How a host finds out what differs. */
typedef enum roost_identification {
    ROOST_BY_QUERY = 1,    /* looks each element up in the other's multiset */
    ROOST_BY_DECODING = 2, /* compares the two multisets first, and looks the elements up in the difference */
} roost_identification;

/* What a host has found out about one of its elements. */
typedef struct roost_finding {
    bool missing_there;  /* send the element to the other side, with its count */
    uint64_t fewer_here; /* how many copies this side lacks; 0 if none */
} roost_finding;

/*
 * Finds out, for each of the `count` elements of this host, what differs from another host. `here` holds exactly these
 * elements, `there` is the multiset that the other host sent, and `findings` has `count` places. Elements that the
 * other side lacks (`missing_there`) are told from those of which it has more (`fewer_here`), except by decoding
 * counting Bloom filters: there an element is `missing_there` if the other side seems to have fewer of it.
 *
 * Errors: ROOST_MISMATCH, ROOST_INVALID for an unknown method.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_identify(const roost_multiset *here, roost_finding *findings,
                                                                const roost_multiset *there,
                                                                const roost_copies *elements, size_t count,
                                                                roost_identification method);

/* ---- info ------------------------------------------------------------------------------------------------------ */

/* What is known about a multiset. */
typedef struct roost_multiset_info {
    uint64_t entries;      /* fingerprint classes, or counters that are not 0 */
    uint64_t overflow;     /* classes in the overflow stash */
    uint64_t cardinality;  /* copies in all; counting Bloom: the sum of all counters; at most 2^64 - 1 */
    uint64_t largest;      /* the largest count or counter */
    double load;           /* part of the slots that are filled, of the counters that are not 0 */
    double fpr_now;        /* how often an absent element is counted, in the present state */
    uint64_t bits;         /* of slots or counters, as the paper counts them: eight bits for a count beside a
                              fingerprint */
    uint64_t bytes_memory; /* memory that the multiset takes, in bytes */
} roost_multiset_info;

/* Fills `*info` with the figures of the present state. Reads the whole multiset. */
ROOST_API void roost_multiset_get_info(const roost_multiset *multiset, roost_multiset_info *info);

/*
 * Checks the invariants of the structure, for tests and for diagnosis.
 *
 * Errors: ROOST_CORRUPT where memory was overwritten or Roost has a bug.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_check(const roost_multiset *multiset);

#ifdef __cplusplus
}
#endif
#endif
