/*
 * Where an element may live in a cuckoo table, and what its class is.
 *
 * A hash becomes a bucket and a fingerprint. The fingerprint alone fixes c, and the other bucket of the element is
 * (c - bucket) mod n: a reflection, so the other of the other is the first again, and n need not be a power of two
 * (which would waste up to half the memory). Fingerprint 0 stands for a free slot, so fingerprints are uniform over the
 * 2^bits - 1 others.
 *
 * Elements with equal fingerprint and the same pair of buckets are one *class*: the table cannot tell them apart, and
 * which of the two buckets holds the fingerprint says nothing. So a class needs one name that both buckets lead to.
 * Seen from the middle of the pair, u = (bucket - ceil(c/2)) mod n, the other bucket is at (-u - (c odd)) mod n. The
 * smaller of the two is uniform in [0, n/2], and
 *
 *     class key = smaller u << bits | fingerprint
 *
 * is the name: sorted, its gaps are geometric and Rice-coded in about log2(2^bits n / (2 entries)) + 1.5 bits each.
 *
 * Worked example, n = 10, a fingerprint with c = 7: buckets 2 and 5 are a pair (7 - 2 = 5). ceil(7/2) = 4:
 * u = (2 - 4) mod 10 = 8 and u = (5 - 4) mod 10 = 1, which is (-8 - 1) mod 10. The class is 1 << bits | fingerprint.
 */
#ifndef FILTER_CUCKOO_GEOMETRY_H
#define FILTER_CUCKOO_GEOMETRY_H

#include <stdint.h>

#include "roost/filter.h"
#include "../base/bits.h"

struct cuckoo_geometry {
    uint32_t buckets;     /* n, at least 1 */
    uint32_t bits;        /* of a fingerprint, 1 to 32 */
    uint32_t bucket_size; /* slots: 1, 2, 4 or 8 */
    uint32_t tag_bits;    /* what else a slot holds, above the fingerprint: 0, or as many as fill 32 or 64 bits */
};

static inline uint32_t slot_width(struct cuckoo_geometry geometry)
{
    return geometry.bits + geometry.tag_bits;
}

/* A fingerprint and its two buckets, in either order: the one that is meant comes first. */
struct place {
    uint32_t bucket, other, fingerprint;
};

/* c: what the two buckets of a fingerprint add up to, modulo n. */
static inline uint32_t pair_sum(uint32_t fingerprint, uint32_t buckets)
{
    uint64_t mixed = (fingerprint * UINT64_C(0xd6e8feb86659fd93)) >> 32;
    return (uint32_t)((mixed * buckets) >> 32);
}

static inline uint32_t subtract_modulo(uint32_t a, uint32_t b, uint32_t modulus)
{
    return a - b + (a < b ? modulus : 0);
}

static inline struct place place_in(uint32_t bucket, uint32_t fingerprint, struct cuckoo_geometry geometry)
{
    uint32_t sum = pair_sum(fingerprint, geometry.buckets);
    return (struct place){bucket, subtract_modulo(sum, bucket, geometry.buckets), fingerprint};
}

static inline struct place place_of_hash(roost_hash hash, struct cuckoo_geometry geometry)
{
    uint64_t fingerprints = (UINT64_C(1) << geometry.bits) - 1;
    return place_in((uint32_t)scale_to_range(hash.low, geometry.buckets),
                    1 + (uint32_t)scale_to_range(hash.high, fingerprints), geometry);
}

static inline struct place other_place(struct place place)
{
    return (struct place){place.other, place.bucket, place.fingerprint};
}

/* ceil(c/2) without overflow; below n because c is. */
static inline uint32_t pair_middle(uint32_t sum)
{
    return sum / 2 + (sum & 1);
}

static inline uint64_t class_key(struct place place, struct cuckoo_geometry geometry)
{
    uint64_t sum = (uint64_t)place.bucket + place.other;
    uint32_t middle = pair_middle((uint32_t)(sum < geometry.buckets ? sum : sum - geometry.buckets));
    uint32_t u = subtract_modulo(place.bucket, middle, geometry.buckets);
    uint32_t v = subtract_modulo(place.other, middle, geometry.buckets);
    return (uint64_t)(u < v ? u : v) << geometry.bits | place.fingerprint;
}

/* One more than the largest class key. */
static inline uint64_t class_universe(struct cuckoo_geometry geometry)
{
    return ((uint64_t)geometry.buckets / 2 + 1) << geometry.bits;
}

static inline struct place place_of_class(uint64_t key, struct cuckoo_geometry geometry)
{
    uint32_t fingerprint = (uint32_t)(key & ((UINT64_C(1) << geometry.bits) - 1));
    uint32_t u = (uint32_t)(key >> geometry.bits), n = geometry.buckets;
    uint64_t bucket = (uint64_t)u + pair_middle(pair_sum(fingerprint, n));
    return place_in((uint32_t)(bucket < n ? bucket : bucket - n), fingerprint, geometry);
}

/* The chance that an element falls into one given class: two buckets, one fingerprint. */
static inline double class_probability(struct cuckoo_geometry geometry)
{
    return 2.0 / (double)geometry.buckets / (double)((UINT64_C(1) << geometry.bits) - 1);
}

#endif
