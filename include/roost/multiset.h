/*
 * Approximate multisets: how many copies of an element there are, in a few bits an element.
 *
 * While nothing is removed a count is never too small; it is too large when another element falls into the same place,
 * which happens with the probability that the configuration promises. Merge takes the larger count of each element: the
 * union of multisets. It is idempotent, commutative and associative; equal states have equal digests and encode to
 * equal bytes, whatever the history that led there. A call that fails changes nothing.
 *
 * Taking copies out again is for one owner of a multiset: merge knows no removals, so what one replica took out comes
 * back with a replica that still has it. (A filter with ROOST_ORCUCKOO and `multiset` removes for all.) Removals keep
 * counts from being too small if the multiset never took part in a merge and nobody takes out more copies of an element
 * than went in. Otherwise they can take copies of another element that falls into the same place: a removal of all
 * copies (ROOST_MOST_COPIES) takes the other's as well; and a merge keeps the larger of the counts that two elements
 * brought to one place, not their sum, so that there is less to take than went in.
 *
 * Threads, ownership and the order of arguments are those of filter.h.
 */
#ifndef ROOST_MULTISET_H
#define ROOST_MULTISET_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct roost_multiset roost_multiset;

typedef enum roost_multiset_kind {
    ROOST_COUNTING_CUCKOO = 1, /* CCF: a fingerprint and a count for each element */
    ROOST_COUNTING_BLOOM = 2,  /* CBF: k counters for each element, shared with others; the papers' yardstick */
} roost_multiset_kind;

/* No element has more copies. */
#define ROOST_MOST_COPIES ((UINT64_C(1) << 48) - 1)

/* Multisets of equal configuration merge. Start from roost_multiset_config_default and change what matters. */
typedef struct roost_multiset_config {
    roost_multiset_kind kind;
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

/* Counting cuckoo, 1 %, the default seed, buckets of four. The capacity is 0 and must be set. */
ROOST_API roost_multiset_config roost_multiset_config_default(void);

/* ---- life ------------------------------------------------------------------------------------------------------ */

/* `environment` may be NULL for the defaults; it is copied. On failure *multiset is NULL. */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_new(roost_multiset **multiset,
                                                           const roost_multiset_config *config,
                                                           const roost_environment *environment);
ROOST_API void roost_multiset_free(roost_multiset *multiset); /* NULL is fine */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_clone(const roost_multiset *multiset, roost_multiset **copy);

/* The configuration with nothing left to derive. Lives as long as the multiset. */
ROOST_API const roost_multiset_config *roost_multiset_config_of(const roost_multiset *multiset);

/* ---- elements -------------------------------------------------------------------------------------------------- */

/* The hash that the `_hash` twins take: the same for every multiset of the same seed. */
ROOST_API roost_hash roost_multiset_hash(const roost_multiset *multiset, const void *key, size_t size);

/*
 * So many copies more; none is fine. *count (may be NULL) is what there are then. ROOST_FULL where a count would pass
 * ROOST_MOST_COPIES or, in a counting Bloom filter, what its counters hold; and where a counting cuckoo filter past its
 * capacity finds no room for an element that it does not hold yet.
 */
ROOST_API roost_status roost_multiset_add(roost_multiset *multiset, uint64_t *count, const void *key, size_t size,
                                          uint64_t copies);
ROOST_API roost_status roost_multiset_add_hash(roost_multiset *multiset, uint64_t *count, roost_hash hash,
                                               uint64_t copies);

/*
 * So many copies fewer, or as many as there are; ROOST_MOST_COPIES takes all. *count (may be NULL) is what there are
 * then. Take out what was put in and no more, or counts of other elements become too small (see above).
 */
ROOST_API void roost_multiset_remove(roost_multiset *multiset, uint64_t *count, const void *key, size_t size,
                                     uint64_t copies);
ROOST_API void roost_multiset_remove_hash(roost_multiset *multiset, uint64_t *count, roost_hash hash, uint64_t copies);

ROOST_API uint64_t roost_multiset_count(const roost_multiset *multiset, const void *key, size_t size);
ROOST_API uint64_t roost_multiset_count_hash(const roost_multiset *multiset, roost_hash hash);

/* ---- replication ----------------------------------------------------------------------------------------------- */

/* The larger count of each. Never refuses for lack of room. *changed may be NULL. */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_merge(roost_multiset *multiset, bool *changed,
                                                             const roost_multiset *other);

/* Fails only with ROOST_MISMATCH, and then the order is ROOST_CONCURRENT. */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_compare(const roost_multiset *multiset, roost_order *order,
                                                               const roost_multiset *other);
ROOST_API bool roost_multiset_equal(const roost_multiset *multiset, const roost_multiset *other);
ROOST_API roost_digest roost_multiset_digest(const roost_multiset *multiset);

/* The canonical frame (docs/format.md), and the reverse, which validates all bytes or gives NULL. */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_encode(const roost_multiset *multiset, roost_buffer *frame);
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_decode(roost_multiset **multiset, const void *frame, size_t size,
                                                              const roost_environment *environment);

/* ---- what differs ---------------------------------------------------------------------------------------------- */

/* An element that a host holds, and how often. */
typedef struct roost_copies {
    roost_hash hash;
    uint64_t count;
} roost_copies;

typedef enum roost_identification {
    ROOST_BY_QUERY = 1,    /* asks the other's multiset for each element of one's own */
    ROOST_BY_DECODING = 2, /* compares the two multisets first, and looks one's own elements up in what is left */
} roost_identification;

typedef struct roost_finding {
    bool missing_there;  /* the other side is to be sent this element, with its count */
    uint64_t fewer_here; /* so many copies are to be made here; 0 if none */
} roost_finding;

/*
 * What one host finds out about each of its elements: `here` has them all and nothing else, `there` is what the other
 * host sent, `findings` has `count` places. Elements that the other lacks (missing_there) are told from those of which
 * it has more (fewer_here), but by decoding counting Bloom filters: there an element is missing_there if the other
 * seems to have fewer of it. ROOST_MISMATCH, ROOST_INVALID (no such method), ROOST_NO_MEMORY.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_identify(const roost_multiset *here, roost_finding *findings,
                                                                const roost_multiset *there,
                                                                const roost_copies *elements, size_t count,
                                                                roost_identification method);

/* ---- report ---------------------------------------------------------------------------------------------------- */

typedef struct roost_multiset_report {
    uint64_t entries;     /* fingerprint classes, or counters that are not 0 */
    uint64_t overflow;    /* classes in the overflow stash */
    uint64_t cardinality; /* copies in all; counting Bloom: the sum of all counters; at most 2^64 - 1 */
    uint64_t largest;     /* count or counter */
    double load;          /* part of the slots that are filled, of the counters that are not 0 */
    double fpr_now;       /* how often an absent element is counted, in the present state */
    uint64_t bits; /* of slots or counters, as the paper counts them: eight bits for a count beside a fingerprint */
    uint64_t bytes_memory; /* all that the multiset takes */
} roost_multiset_report;

ROOST_API void roost_multiset_info(const roost_multiset *multiset, roost_multiset_report *info);

/* As roost_filter_check. */
ROOST_API ROOST_MUST_CHECK roost_status roost_multiset_check(const roost_multiset *multiset);

#ifdef __cplusplus
}
#endif
#endif
