/*
 * Filters of RedisBloom and valkey-bloom inside filters of Roost.
 *
 * A filter does not hold its elements, so one that another program made cannot be converted. It is kept as it is
 * instead: its arrays become *imported parts* of a Roost filter, which are never written to and are queried with their
 * own hash functions. New elements go to the Roost filter beside them. The calls that take keys as bytes look at both;
 * the twins that take a hash cannot, since an imported part has another hash, and see the Roost filter alone.
 *
 * Imported parts are state: frames, deltas, digests, merges, copies and files include them, and a merge takes the union
 * of the parts of both sides. Bloom parts can be in filters without removal, cuckoo parts in observed-remove multisets.
 * From a cuckoo part copies can be removed; docs/design.md says how that merges.
 */
#ifndef ROOST_IMPORTED_H
#define ROOST_IMPORTED_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an imported part finds the places of a key. The numbers are those of frames and are pinned. */
typedef enum roost_imported_form {
    ROOST_IMPORTED_BLOOM = 1,         /* Bloom filter, double hashing with MurmurHash64A */
    ROOST_IMPORTED_BLOOM_32 = 2,      /* the same with MurmurHash2, of 32 bits: RedisBloom before 2.0 */
    ROOST_IMPORTED_CUCKOO = 3,        /* cuckoo filter, fingerprints of 8 bits, MurmurHash64A */
    ROOST_IMPORTED_BLOOM_SIP = 4,     /* Bloom filter, double hashing with SipHash-1-3 and two keys: valkey-bloom */
    ROOST_IMPORTED_BLOOM_SEEDED = 5,  /* as ROOST_IMPORTED_BLOOM, with a seed of its own */
    ROOST_IMPORTED_CUCKOO_SEEDED = 6, /* as ROOST_IMPORTED_CUCKOO, with a seed of its own */
} roost_imported_form;

/* One array of another program's filter, with what is known about it. */
typedef struct roost_imported_part {
    roost_imported_form form; /* the kind of part */
    uint64_t places;          /* Bloom: bits; cuckoo: buckets, a power of two */
    uint32_t width;           /* Bloom: bits a key; cuckoo: slots of a bucket, at most 255 */
    uint64_t capacity;        /* Bloom: elements for which it was made; cuckoo: 0 */
    uint64_t items;           /* Bloom: elements that were added; cuckoo: 0, they are counted */
    uint64_t deleted;         /* cuckoo: deletions before the import, for reports; Bloom: 0 */
    double fpr;               /* Bloom: the rate for which it was made, in (0,1); cuckoo: 0 */
    uint64_t seeds[4];        /* SIP: the words of both keys; SEEDED: the seed and zeros; others: zeros */
    const void *bytes;        /* Bloom: ceil(places / 64) * 8 bytes, lowest bit first (SIP: ceil(places / 8)); cuckoo:
                                 places * width bytes */
    size_t size;              /* of them */
} roost_imported_part;

/*
 * Imports `count` parts, all of them or none, and copies their bytes. A part that the filter has already changes nothing.
 * `*changed` (may be NULL) tells whether there was a new one.
 *
 * Errors: ROOST_INVALID where a part makes no sense; ROOST_UNSUPPORTED where the kind of the filter cannot have it;
 * ROOST_TOO_LARGE also for more than 65536 parts.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_import(roost_filter *filter, bool *changed,
                                                            const roost_imported_part *parts, size_t count);

/*
 * Merges the imported parts of another filter alone. With the same allocator (or see roost_environment.count) the two
 * filters share them afterwards, which takes microseconds whatever their size. `*changed` (may be NULL) tells whether
 * anything was new.
 *
 * Errors: as roost_filter_merge.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_merge_imported(roost_filter *filter, bool *changed,
                                                                    const roost_filter *other);

/* What is known about the imported parts of a filter, all together. All zero: there are none. */
typedef struct roost_imported_info {
    uint64_t parts;    /* how many there are */
    uint64_t items;    /* Bloom: as given, an element that is in two parts counts twice; cuckoo: not removed */
    uint64_t removed;  /* cuckoo: copies that were removed since the import */
    uint64_t deleted;  /* cuckoo: deletions before the import, as given */
    uint64_t capacity; /* Bloom: as given; cuckoo: slots */
    uint64_t buckets;  /* cuckoo: buckets of the smallest part */
    uint64_t bytes;    /* memory that they take, in bytes */
    double fpr;        /* the rate for which they were made (Bloom), that of their load (cuckoo), of all together */
} roost_imported_info;

/* Fills `*info`, in time proportional to the number of parts. */
ROOST_API void roost_filter_get_imported(const roost_filter *filter, roost_imported_info *info);

/*
 * Fills `*part` with what is known about part number `index`, from 0 on, in no particular order; its bytes belong to the
 * filter, and are valid until it changes. Returns false if there is no such part.
 */
ROOST_API bool roost_filter_get_imported_part(const roost_filter *filter, roost_imported_part *part, size_t index);

#ifdef __cplusplus
}
#endif
#endif
