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
#include <unistd.h>

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

/*
 * Every test runs twice in `make check`: as shipped, and under sanitizers, where it takes three to five times as long.
 * A long one does the first third of its rounds as shipped, and a sixteenth of them under sanitizers. Tests of rates,
 * sizes and large counts, whose code others run as well, are left out there. `make check-long` sets ROOST_LONG:
 * everything, in both builds. A third run, by programs of another compiler, is as brief (ROOST_BRIEF).
 */
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static inline bool is_long(void)
{
    return getenv("ROOST_LONG");
}

static inline bool is_brief(void)
{
    return (SANITIZED || getenv("ROOST_BRIEF")) && !is_long();
}

static inline uint64_t rounds_of(uint64_t all)
{
    return is_long() ? all : is_brief() ? (all + 15) / 16 : (all + 2) / 3;
}

/* For tests that go through all places in a row: how far apart those are that the short form tries under sanitizers. */
static inline uint64_t stride_of(uint64_t brief)
{
    return is_brief() ? brief : 1;
}

/* At the beginning of a test that the short form leaves out under sanitizers. */
static inline void only_as_shipped(void)
{
    if (is_brief())
        skip();
}

/* How many random worlds a test tries; ROOST_TEST_WORLDS=N overrides it, for campaigns. */
static inline uint64_t count_of_worlds(uint64_t all)
{
    const char *given = getenv("ROOST_TEST_WORLDS");
    return given ? strtoull(given, NULL, 0) : rounds_of(all);
}

/*
 * The operating system's entropy, for all that a test runs: numbers from a seed. A test whose outcome hangs on what the
 * system draws fails once in a thousand runs, where nobody can repeat it. A child that a test forks gets a seed of its own.
 */
static struct random_source drawn_numbers;

int getentropy(void *bytes, size_t size)
{
    for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
        uint64_t number = random_next(&drawn_numbers);
        memcpy((uint8_t *)bytes + done, &number, size - done < sizeof number ? size - done : sizeof number);
    }
    return 0;
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

static inline roost_config orcuckoo_config(uint32_t bits, uint32_t entry_bits, bool multiset, uint64_t capacity)
{
    roost_config config = cuckoo_config(bits, 4, capacity);
    config.kind = ROOST_ORCUCKOO;
    config.entry_bits = entry_bits;
    config.multiset = multiset;
    return config;
}

/* A mixed bag of observed-remove filters: sets, multisets in both entry widths, all bucket sizes. */
static inline roost_config some_orcuckoo_config(uint64_t number, uint64_t capacity)
{
    static const uint32_t set_bits[] = {24, 16, 28, 20}, multiset_bits[] = {8, 12, 24, 28};
    roost_config config = number % 3 == 0   ? orcuckoo_config(set_bits[number / 3 % 4], 64, false, capacity)
                          : number % 3 == 1 ? orcuckoo_config(multiset_bits[number / 3 % 4], 64, true, capacity)
                                            : orcuckoo_config(8, 32, true, capacity);
    config.bucket_size = 1u << number / 12 % 4;
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

/* Filters that grow: Bloom in both layouts, cuckoo, sets and multisets. */
enum { SERIES = 5 };

static inline roost_config series_config(uint64_t number, uint64_t capacity)
{
    roost_config config = roost_config_default();
    number %= SERIES;
    config.kind = number < 2 ? ROOST_BLOOM : number == 2 ? ROOST_CUCKOO : ROOST_ORCUCKOO;
    config.layout = number == 1 ? ROOST_CLASSIC : ROOST_BLOCKED;
    config.multiset = number == 4;
    config.scalable = true;
    config.capacity = capacity;
    config.fpr = 0.01;
    return config;
}

/* Sets that record removals. */
enum { RECORDING = 2 };

static inline roost_config recording_config(uint64_t number)
{
    roost_config config = series_config(3, 0);
    config.semantics = number % RECORDING ? ROOST_LAST_WRITER_WINS : ROOST_REMOVE_WINS;
    return config;
}

/* All growth factors, both schedules. Without growth there is an end, so it is put off. */
static inline roost_config some_series_config(uint64_t number, uint64_t capacity)
{
    roost_config config = series_config(number, capacity);
    config.growth = 1u << number / SERIES % 4;
    config.capacity = config.growth == 1 ? 100 : capacity;
    config.schedule = number / SERIES / 4 % 2 ? ROOST_HALVING : ROOST_QUADRATIC;
    return config;
}

/* Entropy that a test can foresee: numbers in a row, one and the same for ever, or none. */
struct counted_entropy {
    uint64_t next, step;
    bool fails;
    uint64_t draws;
};

static inline bool draw_counted(void *context, void *bytes, size_t size)
{
    struct counted_entropy *entropy = context;
    memset(bytes, 0, size);
    memcpy(bytes, &entropy->next, size < sizeof entropy->next ? size : sizeof entropy->next);
    entropy->next += entropy->step;
    entropy->draws++;
    return !entropy->fails;
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

/* A copy with the journal says what the filter says. */
static inline void assert_copy_says_the_same(roost_filter *filter, const roost_cursor *since)
{
    roost_filter *copy = clone_of(filter);
    roost_buffer own, copied;
    roost_cursor next, copied_next;
    assert_ok(roost_filter_copy_journal(copy, filter, since));
    assert_ok(roost_filter_encode_delta_without(filter, &own, &next, since, NULL, 0));
    assert_ok(roost_filter_encode_delta_without(copy, &copied, &copied_next, since, NULL, 0));
    assert_int_equal(own.size, copied.size);
    assert_true(own.size == 0 || memcmp(own.data, copied.data, own.size) == 0);
    assert_true(next.incarnation == copied_next.incarnation && next.sequence == copied_next.sequence);
    roost_buffer_release(&own);
    roost_buffer_release(&copied);
    roost_filter_free(copy);
}

static inline roost_order order_of(const roost_filter *a, const roost_filter *b)
{
    roost_order order;
    assert_ok(roost_filter_compare(a, &order, b));
    return order;
}

static inline size_t encoded_size(const roost_filter *filter)
{
    roost_buffer frame;
    assert_ok(roost_filter_encode(filter, &frame));
    size_t size = frame.size;
    roost_buffer_release(&frame);
    return size;
}

static inline roost_filter *through_bytes_in(const roost_filter *filter, const roost_environment *environment)
{
    roost_buffer frame;
    roost_filter *decoded;
    assert_ok(roost_filter_encode(filter, &frame));
    assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, environment));
    roost_buffer_release(&frame);
    return decoded;
}

static inline roost_filter *through_bytes(const roost_filter *filter)
{
    return through_bytes_in(filter, NULL);
}

static inline roost_info info_of(const roost_filter *filter)
{
    roost_info info;
    roost_filter_get_info(filter, &info);
    return info;
}

static inline uint64_t entries_of(const roost_filter *filter)
{
    return info_of(filter).entries;
}

static inline void free_all(roost_filter **filters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        roost_filter_free(filters[i]);
}
#define FREE_ALL(...)                                                                                                  \
    free_all((roost_filter *[]){__VA_ARGS__}, sizeof((roost_filter *[]){__VA_ARGS__}) / sizeof(roost_filter *))

/* All that can be seen of a filter, state and replica, to tell whether a call has changed anything. */
struct portrait {
    roost_buffer frame, replica;
    roost_digest digest;
    roost_info info;
};

static inline struct portrait portrait_of(roost_filter *filter)
{
    struct portrait portrait = {.digest = roost_filter_digest(filter), .info = info_of(filter)};
    assert_ok(roost_filter_encode(filter, &portrait.frame));
    assert_ok(roost_filter_save_replica(filter, &portrait.replica));
    assert_ok(roost_filter_check(filter));
    return portrait;
}

static inline void portrait_release(struct portrait *portrait)
{
    roost_buffer_release(&portrait->frame);
    roost_buffer_release(&portrait->replica);
}

static inline void assert_same_bytes(const roost_buffer *a, const roost_buffer *b)
{
    assert_int_equal(a->size, b->size);
    if (a->size)
        assert_memory_equal(a->data, b->data, a->size);
}

/* The state is as it was; the portrait is not needed any more. */
static inline void assert_same_state(struct portrait *before, roost_filter *filter)
{
    struct portrait now = portrait_of(filter);
    assert_same_bytes(&before->frame, &now.frame);
    assert_memory_equal(before->digest.bytes, now.digest.bytes, sizeof now.digest.bytes);
    assert_int_equal(before->info.entries, now.info.entries);
    assert_int_equal(before->info.overflow, now.info.overflow);
    assert_int_equal(before->info.actors, now.info.actors);
    assert_int_equal(before->info.dots, now.info.dots);
    portrait_release(before);
    portrait_release(&now);
}

/* State and replica are as they were. */
static inline void assert_still(struct portrait *before, roost_filter *filter)
{
    struct portrait now = portrait_of(filter);
    assert_same_bytes(&before->replica, &now.replica);
    assert_int_equal(before->info.journal, now.info.journal);
    portrait_release(&now);
    assert_same_state(before, filter);
}

#endif
