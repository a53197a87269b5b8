/*
 * Where an element may live in a cuckoo table, and what its class is.
 *
 * A hash becomes a bucket and a fingerprint. The fingerprint alone fixes c, and the other bucket of the element is
 * (c - bucket) mod n: a reflection, so the other of the other is the first again, and n need not be a power of two
 * (which would waste up to half the memory). Fingerprint 0 stands for a free slot, so fingerprints are uniform over the
 * 2^bits - 1 others.
 *
 * Elements with equal fingerprint and the same pair of buckets are one *class*: the table cannot tell them apart, and
 * which of the two buckets holds the fingerprint says nothing. So a class needs one key that can be computed from
 * either bucket. Seen from the middle of the pair, u = (bucket - ceil(c/2)) mod n, the other bucket is at (-u - (c
 * odd)) mod n. The smaller of the two is uniform in [0, n/2], and
 *
 *     class key = smaller u << bits | fingerprint
 *
 * is the name: sorted, its gaps are geometric and Rice-coded in about log2(2^bits n / (2 entries)) + 1.5 bits each.
 *
 * Worked example, n = 10, a fingerprint with c = 7: buckets 2 and 5 are a pair (7 - 2 = 5). ceil(7/2) = 4:
 * u = (2 - 4) mod 10 = 8 and u = (5 - 4) mod 10 = 1, which is (-8 - 1) mod 10. The class is 1 << bits | fingerprint.
 */
#ifndef CUCKOO_CUCKOO_GEOMETRY_H
#define CUCKOO_CUCKOO_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "roost/filter.h"
#include "../base/binary64.h"

/*
 * Tables of a series nest: bucket and fingerprint of a finer table begin with those of a coarser one, so that elements
 * that share a class in the finer one share it in the coarser one too. A table at level j has n = n0 * 2^j buckets, a
 * bucket is (hi, lo) with lo of j bits, and the pair of a fingerprint is
 *
 *     other = ((c - hi) mod n0, lo XOR o)        c below n0 and o of j bits, both from the fingerprint's *base* bits
 *
 * which is the reflection above for j = 0, is its own inverse, and loses nothing but its last bit when lo does. The
 * base bits are the upper ones, the same in all tables; they are never all 0. The name of a class is that of hi's pair
 * with the lo that goes with the smaller u; where both are the same hi, the smaller lo.
 */
struct cuckoo_geometry {
    uint32_t buckets;     /* n, at least 1; a multiple of 2^level */
    uint32_t bits;        /* of a fingerprint, 1 to 32 */
    uint32_t bucket_size; /* slots: 1, 2, 4 or 8 */
    uint32_t tag_bits;    /* what else a slot holds, above the fingerprint: 0, or as many as fill 32 or 64 bits */
    uint32_t level;       /* j; 0 for a table outside a series */
    uint32_t extra_bits;  /* those of the fingerprint below the base bits */
};

static inline uint32_t slot_width(struct cuckoo_geometry geometry)
{
    return geometry.bits + geometry.tag_bits;
}

static inline uint32_t base_buckets(struct cuckoo_geometry geometry)
{
    return geometry.buckets >> geometry.level;
}

/* A fingerprint and its two buckets; where the order matters, the bucket in question comes first. */
struct place {
    uint32_t bucket, other, fingerprint;
};

/* c: what the two buckets of a base fingerprint add up to, modulo n0. */
static ALWAYS_INLINE uint32_t pair_sum(uint32_t base, uint32_t buckets)
{
    uint64_t mixed = (base * UINT64_C(0xd6e8feb86659fd93)) >> 32;
    return (uint32_t)((mixed * buckets) >> 32);
}

/* o: how lo differs between the two. */
static ALWAYS_INLINE uint32_t pair_offset(uint32_t base, uint32_t level)
{
    uint32_t mixed = (uint32_t)((base * UINT64_C(0x9fb21c651e98df25)) >> 32);
    return level ? mixed >> (32 - level) : 0;
}

static ALWAYS_INLINE uint32_t subtract_modulo(uint32_t a, uint32_t b, uint32_t modulus)
{
    return a - b + (a < b ? modulus : 0);
}

static ALWAYS_INLINE uint32_t other_bucket(uint32_t bucket, uint32_t fingerprint, struct cuckoo_geometry geometry)
{
    if (__builtin_expect((geometry.level | geometry.extra_bits) == 0, 1))
        return subtract_modulo(pair_sum(fingerprint, geometry.buckets), bucket, geometry.buckets);
    uint32_t base = fingerprint >> geometry.extra_bits, n0 = base_buckets(geometry);
    uint32_t sum = pair_sum(base, n0);
    uint32_t lo = bucket & ((1u << geometry.level) - 1);
    return subtract_modulo(sum, bucket >> geometry.level, n0) << geometry.level |
           (lo ^ pair_offset(base, geometry.level));
}

static ALWAYS_INLINE struct place place_in(uint32_t bucket, uint32_t fingerprint, struct cuckoo_geometry geometry)
{
    return (struct place){bucket, other_bucket(bucket, fingerprint, geometry), fingerprint};
}

/* The base bits come from the upper half of a product, those below from what is left of it: the longer begin with the
   shorter. */
static ALWAYS_INLINE uint32_t fingerprint_of_hash(roost_hash hash, struct cuckoo_geometry geometry)
{
    if (__builtin_expect(geometry.extra_bits == 0, 1))
        return 1 + (uint32_t)scale_to_range(hash.high, (UINT64_C(1) << geometry.bits) - 1);
    uint64_t bases = (UINT64_C(1) << (geometry.bits - geometry.extra_bits)) - 1;
    uint128 product = (uint128)hash.high * bases;
    uint32_t base = 1 + (uint32_t)(product >> 64);
    return base << geometry.extra_bits | (uint32_t)((uint64_t)product >> (64 - geometry.extra_bits));
}

static ALWAYS_INLINE struct place place_of_hash(roost_hash hash, struct cuckoo_geometry geometry)
{
    return place_in((uint32_t)scale_to_range(hash.low, geometry.buckets), fingerprint_of_hash(hash, geometry),
                    geometry);
}

/*
 * What the places of one key in all tables of a series have in common: the finest there could be, of which each table
 * takes the first bits. Bucket, other bucket and fingerprint as fixed-point numbers with 32 bits behind the point; what
 * is before the point is that of level 0, or without extra bits.
 */
struct nested_place {
    uint64_t bucket, other, fingerprint;
};

static ALWAYS_INLINE struct nested_place nested_place_of_hash(roost_hash hash, struct cuckoo_geometry geometry)
{
    uint32_t n0 = base_buckets(geometry);
    uint64_t bases = (UINT64_C(1) << (geometry.bits - geometry.extra_bits)) - 1;
    uint64_t bucket = (uint64_t)(((uint128)hash.low * n0) >> 32);
    uint64_t fingerprint = (uint64_t)(((uint128)hash.high * bases) >> 32) + (UINT64_C(1) << 32);
    uint32_t base = (uint32_t)(fingerprint >> 32);
    uint64_t other = (uint64_t)subtract_modulo(pair_sum(base, n0), (uint32_t)(bucket >> 32), n0) << 32;
    return (struct nested_place){bucket, other | ((uint32_t)bucket ^ pair_offset(base, 32)), fingerprint};
}

static ALWAYS_INLINE struct place place_of_nested(const struct nested_place *nested, uint32_t level,
                                                  uint32_t extra_bits)
{
    return (struct place){(uint32_t)(nested->bucket >> (32 - level)), (uint32_t)(nested->other >> (32 - level)),
                          (uint32_t)(nested->fingerprint >> (32 - extra_bits))};
}

static inline struct place other_place(struct place place)
{
    return (struct place){place.other, place.bucket, place.fingerprint};
}

/* ceil(c/2) without overflow; below n0 because c is. */
static inline uint32_t pair_middle(uint32_t sum)
{
    return sum / 2 + (sum & 1);
}

static ALWAYS_INLINE uint64_t class_key(struct place place, struct cuckoo_geometry geometry)
{
    uint32_t n0 = base_buckets(geometry), level = geometry.level, low = (1u << level) - 1;
    if (__builtin_expect(level == 0, 1)) { /* the same with less to do */
        uint64_t sum = (uint64_t)place.bucket + place.other;
        uint32_t middle = pair_middle((uint32_t)(sum < n0 ? sum : sum - n0));
        uint32_t u = subtract_modulo(place.bucket, middle, n0), v = subtract_modulo(place.other, middle, n0);
        return (uint64_t)(u < v ? u : v) << geometry.bits | place.fingerprint;
    }
    uint32_t hi = place.bucket >> level, other_hi = place.other >> level;
    uint64_t sum = (uint64_t)hi + other_hi;
    uint32_t middle = pair_middle((uint32_t)(sum < n0 ? sum : sum - n0));
    uint64_t u = (uint64_t)subtract_modulo(hi, middle, n0) << level | (place.bucket & low);
    uint64_t v = (uint64_t)subtract_modulo(other_hi, middle, n0) << level | (place.other & low);
    return (u < v ? u : v) << geometry.bits | place.fingerprint;
}

/* The same outside a series, from one bucket. (Where u is 0, so is the other name or it is larger.) */
static ALWAYS_INLINE uint64_t plain_class_key(uint32_t bucket, uint32_t fingerprint, uint32_t buckets, uint32_t bits)
{
    uint32_t sum = pair_sum(fingerprint, buckets), odd = sum & 1;
    uint32_t u = subtract_modulo(bucket, pair_middle(sum), buckets), v = buckets - u - odd;
    return (uint64_t)(u < v ? u : v) << bits | fingerprint;
}

/* How many pairs of buckets a class key can name. */
static inline uint64_t class_pairs(struct cuckoo_geometry geometry)
{
    return ((uint64_t)base_buckets(geometry) / 2 + 1) << geometry.level;
}

/* One more than the largest class key. */
static inline uint64_t class_universe(struct cuckoo_geometry geometry)
{
    return class_pairs(geometry) << geometry.bits;
}

static ALWAYS_INLINE struct place place_of_class(uint64_t key, struct cuckoo_geometry geometry)
{
    uint32_t fingerprint = (uint32_t)(key & ((UINT64_C(1) << geometry.bits) - 1)), n0 = base_buckets(geometry);
    uint64_t pair = key >> geometry.bits;
    uint64_t hi = (pair >> geometry.level) + pair_middle(pair_sum(fingerprint >> geometry.extra_bits, n0));
    uint32_t bucket = (uint32_t)(hi < n0 ? hi : hi - n0) << geometry.level;
    return place_in(bucket | (uint32_t)(pair & ((1u << geometry.level) - 1)), fingerprint, geometry);
}

/* A class key that some element has: not fingerprint 0, nor the larger of the two names of a pair. */
static ALWAYS_INLINE bool is_class_key(uint64_t key, struct cuckoo_geometry geometry)
{
    uint32_t base = (uint32_t)((key & ((UINT64_C(1) << geometry.bits) - 1)) >> geometry.extra_bits);
    uint32_t n0 = base_buckets(geometry);
    uint64_t pair = key >> geometry.bits;
    if (geometry.level == 0) /* the other name is n - u, or n - u - 1 where c is odd */
        return (base != 0) & (pair < n0) & (2 * pair + (pair_sum(base, n0) & 1) <= n0);
    return base != 0 && pair >> geometry.level < n0 && key < class_universe(geometry) &&
           class_key(place_of_class(key, geometry), geometry) == key;
}

/* The chance that an element falls into one given class: two buckets, one fingerprint. Widths of fingerprints are
   chosen by it, so it has to be the same everywhere. */
static inline struct binary64 exact_class_probability(struct cuckoo_geometry geometry)
{
    struct binary64 bases = binary64_of_integer((UINT64_C(1) << (geometry.bits - geometry.extra_bits)) - 1);
    bases.exponent += (int)geometry.extra_bits;
    return binary64_divide(binary64_divide(binary64_of_integer(2), binary64_of_integer(geometry.buckets)), bases);
}

static inline double class_probability(struct cuckoo_geometry geometry)
{
    return double_of_binary64(exact_class_probability(geometry));
}

#endif
