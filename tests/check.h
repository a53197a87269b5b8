/* cmocka with what it wants included first, and the few things that every test needs. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "roost.h"
#include "filter/kind.h"

#define assert_ok(call) assert_int_equal((call), ROOST_OK)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Random tests draw from this, and print its seed; ROOST_TEST_SEED=N repeats one. */
static inline uint64_t test_seed(uint64_t otherwise)
{
    const char *given = getenv("ROOST_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : otherwise;
    printf("seed %llu\n", (unsigned long long)seed);
    return seed;
}

static inline roost_hash hash_for_key(uint64_t key)
{
    struct random_source random = random_from_seed(key * UINT64_C(0xff51afd7ed558ccd));
    uint64_t low = random_next(&random);
    return (roost_hash){low, random_next(&random)};
}

static inline roost_filter *new_filter(const roost_config *config)
{
    roost_filter *filter;
    assert_ok(roost_filter_new(&filter, config, NULL));
    return filter;
}

static inline roost_config bloom_config(roost_layout layout, uint64_t capacity, double fpr)
{
    roost_config config = roost_config_default();
    config.layout = layout;
    config.capacity = capacity;
    config.fpr = fpr;
    return config;
}

static inline roost_config cuckoo_config(uint32_t bits, uint32_t bucket_size, uint64_t capacity)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_CUCKOO;
    config.capacity = capacity;
    config.fpr = 0;
    config.fingerprint_bits = bits;
    config.bucket_size = bucket_size;
    return config;
}

/* A mixed bag of configurations: both layouts, many rates, all widths and bucket sizes. */
static inline roost_config some_config(uint64_t number, uint64_t capacity)
{
    static const double rates[] = {0.4, 0.2, 0.1, 0.05, 1.0 / 32, 0.01, 0.001, 0.0001, 1e-6};
    if (number % 3 == 2)
        return bloom_config(number % 2 ? ROOST_BLOCKED : ROOST_CLASSIC, capacity, rates[number / 6 % COUNT_OF(rates)]);
    return cuckoo_config(4 + (uint32_t)(number % 29), 1u << (number / 29 % 4), capacity);
}

static inline void assert_same_frame(const roost_filter *a, const roost_filter *b)
{
    roost_buffer x, y;
    assert_ok(roost_filter_encode(a, &x));
    assert_ok(roost_filter_encode(b, &y));
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    roost_buffer_release(&x);
    roost_buffer_release(&y);
}

static inline void assert_same_digest(roost_filter *a, roost_filter *b)
{
    roost_digest x = roost_filter_digest(a), y = roost_filter_digest(b);
    assert_memory_equal(x.bytes, y.bytes, sizeof x.bytes);
}

static inline roost_filter *clone_of(const roost_filter *filter)
{
    roost_filter *copy;
    assert_ok(roost_filter_clone(filter, &copy));
    return copy;
}

static inline roost_filter *through_bytes(const roost_filter *filter)
{
    roost_buffer frame;
    roost_filter *decoded;
    assert_ok(roost_filter_encode(filter, &frame));
    assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, NULL));
    roost_buffer_release(&frame);
    return decoded;
}

#endif
