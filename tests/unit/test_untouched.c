/*
 * Large filters that hold little. What is done to one costs what it holds, not what it has room for: pages of memory
 * that were never written are not read either. Page faults are counted, which do not depend on how fast or how busy
 * the machine is; a filter of a gigabyte has 262,144 pages. Huge pages are switched off: a fault would clear 512 pages
 * and count as one.
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "check.h"
#include "roost/incremental.h"

enum { KEYS = 20, LARGE = 1 << 16 };

/* Large pieces come from the kernel untouched, whatever watches over malloc. The size stands before the piece. */
static void *allocate(void *context, size_t size)
{
    (void)context;
    if (size < LARGE) {
        size_t *piece = calloc(1, size + 64);
        *piece = 0;
        return (uint8_t *)piece + 64;
    }
    size_t *piece = mmap(NULL, size + 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (piece == MAP_FAILED)
        return NULL;
    *piece = size + 64;
    return (uint8_t *)piece + 64;
}

static void release(void *context, void *memory)
{
    size_t *piece = (size_t *)(void *)((uint8_t *)memory - 64);
    (void)context;
    if (*piece)
        munmap(piece, *piece);
    else
        free(piece);
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* An emulator has tables of its own for what is mapped, about a hundredth of it: tests/platforms.sh allows for them. */
static long most_faults(void)
{
    const char *most = getenv("ROOST_MOST_FAULTS");
    return most ? atol(most) : 3000;
}

/* What the step did, in pages. */
#define few_faults(step)                                                                                               \
    do {                                                                                                               \
        long before = faults();                                                                                        \
        step;                                                                                                          \
        assert_in_range(faults() - before, 0, most_faults());                                                          \
    } while (0)

static const roost_environment environment = {.allocator = {NULL, allocate, release}};

static roost_filter *large_filter(const roost_config *config)
{
    roost_filter *filter;
    assert_ok(roost_filter_new(&filter, config, &environment));
    roost_info info;
    roost_filter_get_brief_info(filter, &info);
    if (!config->scalable)
        assert_true(info.bytes_memory > UINT64_C(1) << 29);
    return filter;
}

static void add_keys(roost_filter *filter, uint64_t from)
{
    for (uint64_t key = from; key < from + KEYS; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
}

static void exchange(roost_filter *filter, roost_filter *other)
{
    roost_buffer frame, again;
    roost_filter *decoded, *copy;
    roost_order order;
    bool changed;
    few_faults(assert_ok(roost_filter_encode(filter, &frame)));
    few_faults(assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, &environment)));
    few_faults(assert_true(roost_filter_equal(filter, decoded)));
    few_faults(assert_ok(roost_filter_encode(decoded, &again)));
    assert_int_equal(frame.size, again.size);
    assert_memory_equal(frame.data, again.data, frame.size);
    few_faults(assert_ok(roost_filter_clone(decoded, &copy)));
    few_faults(assert_ok(roost_filter_compare(copy, &order, other)));
    assert_int_equal(order, ROOST_CONCURRENT);
    few_faults(assert_ok(roost_filter_merge(copy, &changed, other)));
    assert_true(changed);
    few_faults(assert_ok(roost_filter_merge_frame(other, &changed, frame.data, frame.size)));
    assert_true(changed);
    few_faults(assert_true(roost_filter_equal(copy, other)));
    for (uint64_t key = 0; key < 2 * KEYS; key++)
        assert_true(roost_filter_contains_hash(copy, hash_for_key(key)));
    roost_buffer_release(&frame);
    roost_buffer_release(&again);
    roost_filter_free(decoded);
    roost_filter_free(copy);
}

static void in_parts(roost_filter *filter, const roost_filter *other)
{
    roost_merge_job *merging;
    roost_buffer frame;
    roost_bytes told;
    bool changed, done = false;
    assert_ok(roost_filter_encode(other, &frame));
    assert_ok(roost_merge_job_new(&merging, filter, &environment));
    few_faults(assert_ok(roost_merge_job_read(merging, frame.data, frame.size, 4096)));
    while (!done)
        few_faults(assert_ok(roost_merge_job_step(merging, filter, &changed, &done, &told)));
    roost_merge_job_free(merging);
    roost_buffer_release(&frame);
}

static void test_config(roost_config config)
{
    roost_info info;
    roost_filter *filter, *other, *third;
    few_faults(filter = large_filter(&config));
    other = large_filter(&config);
    third = large_filter(&config);
    add_keys(filter, 0);
    add_keys(other, KEYS);
    exchange(filter, other);
    in_parts(third, other);
    few_faults(assert_true(roost_filter_equal(third, other)));
    few_faults(roost_filter_digest(third));
    few_faults(roost_filter_get_info(third, &info));
    few_faults(assert_false(roost_filter_precompute_digest(third, 1000)));
    roost_filter_free(filter);
    roost_filter_free(other);
    roost_filter_free(third);
}

static void test_bloom(void **state)
{
    (void)state;
    only_as_shipped();
    test_config(bloom_config(ROOST_BLOCKED, 800000000, 0.01));
    test_config(bloom_config(ROOST_CLASSIC, 800000000, 0.01));
}

static void test_cuckoo(void **state)
{
    (void)state;
    roost_config config = roost_config_default();
    config.kind = ROOST_CUCKOO;
    config.capacity = 800000000;
    config.fpr = 0.02;
    test_config(config);
    config.fpr = 0.0001;
    test_config(config);
}

static void test_orcuckoo(void **state)
{
    (void)state;
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.capacity = 80000000;
    test_config(config);
}

static void test_series(void **state)
{
    (void)state;
    static const roost_kind kinds[] = {ROOST_BLOOM, ROOST_CUCKOO, ROOST_ORCUCKOO};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        roost_config config = roost_config_default();
        config.kind = kinds[i];
        config.scalable = true;
        config.capacity = 500000000;
        config.fpr = 0.001;
        test_config(config);
    }
}

int main(void)
{
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* an emulator refuses, and has none */
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bloom), cmocka_unit_test(test_cuckoo),
                                       cmocka_unit_test(test_orcuckoo), cmocka_unit_test(test_series)};
    return cmocka_run_group_tests_name("untouched", tests, NULL, NULL);
}
