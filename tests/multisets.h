/* Multisets of all kinds and sizes for tests, and what it means that two are alike. */
#ifndef TESTS_MULTISETS_H
#define TESTS_MULTISETS_H

#include "meter.h"

static inline roost_multiset_config ccf_config(uint32_t bits, uint32_t bucket_size, uint64_t capacity)
{
    roost_multiset_config config = roost_multiset_config_default();
    config.fpr = 0;
    config.fingerprint_bits = bits;
    config.bucket_size = bucket_size;
    config.capacity = capacity;
    return config;
}

static inline roost_multiset_config cbf_config(uint64_t cells, uint32_t probes, uint32_t counter_bits,
                                               uint64_t capacity)
{
    roost_multiset_config config = roost_multiset_config_default();
    config.kind = ROOST_COUNTING_BLOOM;
    config.fpr = 0;
    config.cells = cells;
    config.probes = probes;
    config.counter_bits = counter_bits;
    config.capacity = capacity;
    return config;
}

/* All widths, bucket sizes and kinds; tables that are too small, so that the stash is in use. */
static inline roost_multiset_config some_multiset_config(uint64_t number, uint64_t capacity)
{
    if (number % 4 == 3)
        return cbf_config(1 + number * 37 % 900, 1 + (uint32_t)(number % 11), 20 + (uint32_t)(number % 13), capacity);
    roost_multiset_config config = ccf_config(4 + (uint32_t)(number % 29), 1u << (number / 29 % 4), capacity);
    if (number % 2)
        config.buckets = 1 + (uint32_t)(capacity / config.bucket_size / 2);
    return config;
}

static inline roost_multiset *new_multiset(const roost_multiset_config *config, uint64_t luck)
{
    roost_multiset *multiset;
    roost_environment environment = {.random_seed = luck, .kicks = 1 + (uint32_t)(luck % 50)};
    assert_ok(roost_multiset_new(&multiset, config, &environment));
    return multiset;
}

static inline roost_buffer frame_of(const roost_multiset *multiset)
{
    roost_buffer frame;
    assert_ok(roost_multiset_encode(multiset, &frame));
    return frame;
}

static inline void assert_alike(const roost_multiset *a, const roost_multiset *b)
{
    roost_buffer x = frame_of(a), y = frame_of(b);
    roost_digest p = roost_multiset_digest(a), q = roost_multiset_digest(b);
    assert_same_bytes(&x, &y);
    assert_memory_equal(p.bytes, q.bytes, sizeof p.bytes);
    assert_true(roost_multiset_equal(a, b));
    roost_buffer_release(&x);
    roost_buffer_release(&y);
}

static inline void assert_unlike(const roost_multiset *a, const roost_multiset *b)
{
    roost_digest p = roost_multiset_digest(a), q = roost_multiset_digest(b);
    assert_memory_not_equal(p.bytes, q.bytes, sizeof p.bytes);
    assert_false(roost_multiset_equal(a, b));
}

static inline roost_multiset *filled_multiset(uint64_t number, uint64_t keys)
{
    roost_multiset_config config = some_multiset_config(number, keys + 1);
    roost_multiset *multiset = new_multiset(&config, number);
    for (uint64_t key = 0; key < keys; key++)
        assert_ok(roost_multiset_add_hash(multiset, NULL, hash_for_key(key), 1 + key * key % (1 + number * 3)));
    return multiset;
}

#endif
