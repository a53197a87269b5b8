/*
 * What a kind of multiset provides; `multiset.c` puts the public interface over it, `../frame/multiset_frame.c` the
 * bytes. Each kind's own struct begins with a `struct roost_multiset`.
 */
#ifndef MULTISET_MULTISET_H
#define MULTISET_MULTISET_H

#include "roost/multiset.h"
#include "../base/bits.h"
#include "../base/bitstream.h"
#include "../base/random.h"

struct multiset_kind {
    roost_multiset_kind code;

    /* Fills in what the configuration leaves open and checks the rest; ROOST_INVALID, ROOST_TOO_LARGE. */
    roost_status (*resolve)(roost_multiset_config *config);
    /* An empty one. `sizes` is NULL, or where a frame states what it was resolved to; all of that is checked. */
    roost_status (*open)(roost_multiset **multiset, const roost_multiset_config *config,
                         const roost_environment *environment, struct bit_reader *sizes);
    void (*close)(roost_multiset *multiset);
    roost_status (*clone)(const roost_multiset *multiset, roost_multiset **copy);

    /* `count` is what there are afterwards. */
    roost_status (*add)(roost_multiset *multiset, uint64_t *count, roost_hash hash, uint64_t copies);
    void (*remove)(roost_multiset *multiset, uint64_t *count, roost_hash hash, uint64_t copies);
    uint64_t (*count)(const roost_multiset *multiset, roost_hash hash);

    /* Those with two are called with equal configurations, and never with the same object twice. */
    roost_status (*merge)(roost_multiset *multiset, bool *changed, const roost_multiset *other);
    roost_order (*compare)(const roost_multiset *multiset, const roost_multiset *other);
    uint128 (*digest)(const roost_multiset *multiset);

    void (*write_sizes)(const roost_multiset *multiset, struct bit_writer *writer);
    roost_status (*write_state)(const roost_multiset *multiset, struct bit_writer *writer);
    roost_status (*read_state)(roost_multiset *multiset, struct bit_reader *reader);

    roost_status (*identify)(const roost_multiset *here, roost_finding *findings, const roost_multiset *there,
                             const roost_copies *elements, size_t count, roost_identification method);
    void (*inspect)(const roost_multiset *multiset, roost_multiset_info *info);
    bool (*check)(const roost_multiset *multiset);
};

struct roost_multiset {
    const struct multiset_kind *kind;
    roost_multiset_config config;  /* resolved */
    roost_environment environment; /* complete */
    struct random_source random;   /* never part of the state */
};

extern const struct multiset_kind counting_cuckoo_kind, counting_bloom_kind;

static inline void multiset_init_base(struct roost_multiset *multiset, const struct multiset_kind *kind,
                                      const roost_multiset_config *config, const roost_environment *environment)
{
    *multiset = (struct roost_multiset){kind, *config, *environment, random_from_seed(environment->random_seed)};
}

/* The weight of a number with its count in the digest, which is the sum over all of them. */
uint128 count_weight(uint64_t seed, uint64_t number, uint64_t count);

/* The configuration as bytes: what frames carry, what merge compares, what the digest covers. */
void multiset_write_configuration(const roost_multiset *multiset, struct bit_writer *writer);
roost_status multiset_open_configured(roost_multiset **multiset, struct bit_reader *reader,
                                      const roost_environment *environment);
bool multiset_same_configuration(const roost_multiset *multiset, const roost_multiset *other);

#endif
