/*
 * Filters that threads share: with one thread they hold what an ordinary filter holds; with several, every addition that
 * has returned is found by whoever looks afterwards, and is in every snapshot that is begun afterwards. `make
 * check-threads` runs this under ThreadSanitizer.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "meter.h"
#include "roost/shared.h"

enum { VARIANTS = 4 };

static roost_config variant(unsigned number)
{
    roost_config config;
    switch (number) {
    case 0:
        return bloom_config(ROOST_BLOCKED, 50000, 0.01);
    case 1:
        return bloom_config(ROOST_CLASSIC, 50000, 0.001);
    case 2:
        return bloom_config(ROOST_BLOCKED, 50000, 1e-5);
    default:
        config = roost_config_default();
        config.kind = ROOST_CUCKOO;
        config.scalable = true;
        return config;
    }
}

static roost_shared *new_shared(const roost_config *config)
{
    roost_shared *shared;
    assert_ok(roost_shared_new(&shared, config, NULL));
    return shared;
}

static roost_filter *snapshot_of(const roost_shared *shared)
{
    roost_filter *copy;
    assert_ok(roost_shared_snapshot(shared, &copy));
    assert_ok(roost_filter_check(copy));
    return copy;
}

/* ---- one thread -------------------------------------------------------------------------------------------------- */

static void one_thread_sees_an_ordinary_filter(void **state)
{
    (void)state;
    for (unsigned number = 0; number < VARIANTS; number++) {
        const roost_config config = variant(number);
        roost_shared *shared = new_shared(&config);
        roost_filter *filter = new_filter(&config), *copy;
        const bool is_bloom = config.kind == ROOST_BLOOM;
        for (uint64_t key = 0; key < 40000; key++) {
            bool changed, grew;
            assert_ok(roost_filter_add(filter, &changed, &key, sizeof key));
            assert_ok(roost_shared_add(shared, &grew, &key, sizeof key));
            assert_true(!is_bloom || changed == grew);
            if (key % 5000 != 0)
                continue;
            copy = snapshot_of(shared);
            if (is_bloom)
                assert_same_frame(filter, copy);
            for (uint64_t i = 0; i <= key; i++)
                assert_true(roost_filter_contains(copy, &i, sizeof i) && roost_shared_contains(shared, &i, sizeof i));
            roost_filter_free(copy);
        }
        copy = snapshot_of(shared);
        uint64_t found = 0, agree = 0;
        for (uint64_t key = 1000000; key < 1100000; key++) {
            bool here = roost_shared_contains(shared, &key, sizeof key);
            found += here;
            agree += here == roost_filter_contains(copy, &key, sizeof key);
        }
        printf("%llu of 100,000 found, promised %.0f\n", (unsigned long long)found, config.fpr * 100000);
        assert_int_equal(agree, 100000);
        assert_true((double)found < 1.2 * config.fpr * 100000 + 10);
        assert_true(info_of(copy).bytes_memory < info_of(filter).bytes_memory * 5 / 4 + 10000);
        roost_filter_free(copy);
        roost_filter_free(filter);
        roost_shared_free(shared);
    }
}

/* Prefixes so short that they span parts come to all of them, and once to a snapshot. */
static void what_is_merged_is_in_the_snapshot(void **state)
{
    (void)state;
    for (unsigned number = 0; number < VARIANTS; number++) {
        roost_config config = variant(number);
        for (uint64_t keys = 1; keys < 30000; keys = keys * 5 + 1) {
            if (config.scalable) {
                config.capacity = keys == 1 ? 1 : 0;
                config.fpr = keys == 1 ? 0.06 : 0.01;
                config.writers = keys == 1 ? 1 : 4;
            }
            roost_shared *shared = new_shared(&config);
            roost_filter *other = new_filter(&config), *expected = new_filter(&config), *copy;
            bool changed;
            for (uint64_t key = 0; key < keys; key++) {
                uint64_t mine = key + 100000;
                assert_ok(roost_filter_add(other, NULL, &key, sizeof key));
                assert_ok(roost_shared_add(shared, NULL, &mine, sizeof mine));
            }
            copy = snapshot_of(shared);
            assert_ok(roost_filter_merge(expected, NULL, copy));
            assert_ok(roost_filter_merge(expected, NULL, other));
            roost_filter_free(copy);
            assert_ok(roost_shared_merge(shared, &changed, other));
            assert_true(changed);
            copy = snapshot_of(shared);
            assert_same_frame(expected, copy);
            roost_filter_free(copy);
            assert_ok(roost_shared_merge(shared, &changed, other));
            assert_false(changed);
            FREE_ALL(other, expected);
            roost_shared_free(shared);
        }
    }
}

static void what_cannot_be_shared_is_refused(void **state)
{
    (void)state;
    roost_config configs[] = {variant(0), variant(3), variant(3)};
    configs[0].scalable = true;
    configs[1].kind = ROOST_ORCUCKOO;
    configs[2].scalable = false;
    configs[2].capacity = 1000;
    for (unsigned i = 0; i < 3; i++) {
        roost_shared *shared;
        assert_int_equal(roost_shared_new(&shared, &configs[i], NULL), ROOST_UNSUPPORTED);
        assert_null(shared);
    }
    const roost_config config = variant(0), another = variant(1);
    roost_shared *shared = new_shared(&config);
    roost_filter *filter = new_filter(&another);
    assert_int_equal(roost_shared_merge(shared, NULL, filter), ROOST_MISMATCH);
    roost_filter_free(filter);
    roost_shared_free(shared);
    roost_shared_free(NULL);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (unsigned number = 0; number < VARIANTS; number += VARIANTS - 1) {
        const roost_config config = variant(number);
        roost_filter *other = new_filter(&config);
        for (uint64_t key = 0; key < 20000; key++)
            assert_ok(roost_filter_add(other, NULL, &key, sizeof key));
        for (int64_t allowed = 0, done = 0; !done; allowed += allowed < 300 ? 1 : 37) {
            struct meter meter;
            roost_environment environment = {.allocator = allocator_of(&meter)};
            roost_shared *shared;
            roost_filter *copy = NULL;
            meter.allowed = allowed;
            roost_status status = roost_shared_new(&shared, &config, &environment);
            if (status == ROOST_OK)
                status = roost_shared_merge(shared, NULL, other);
            for (uint64_t key = 50000; key < 60000 && status == ROOST_OK; key++)
                status = roost_shared_add(shared, NULL, &key, sizeof key);
            if (status == ROOST_OK)
                status = roost_shared_snapshot(shared, &copy);
            done = meter.failures == 0;
            assert_true(status == ROOST_OK || (status == ROOST_NO_MEMORY && !done)); /* some memory is not necessary */
            assert_true((copy != NULL) == (status == ROOST_OK));
            roost_filter_free(copy);
            roost_shared_free(shared);
            assert_int_equal(meter.outstanding, 0);
        }
        roost_filter_free(other);
    }
}

/* ---- several ----------------------------------------------------------------------------------------------------- */

/*
 * Writers add numbers of their own in a row and say how far they are; readers read that, and then ask. What a writer had
 * said before a question or a snapshot must be there.
 */
enum { WRITERS = 3, EACH = 12000 };

struct world {
    roost_shared *shared;
    _Atomic uint64_t added[WRITERS];
    _Atomic bool failed, ended;
    atomic_uint next_writer;
    uint64_t snapshots;
};

static uint64_t key_of(unsigned writer, uint64_t i)
{
    return (uint64_t)writer << 32 | i;
}

static void *write_keys(void *context)
{
    struct world *world = context;
    unsigned writer = atomic_fetch_add(&world->next_writer, 1);
    for (uint64_t i = 0; i < EACH && !atomic_load(&world->failed); i++) {
        uint64_t key = key_of(writer, i), twice = key_of(WRITERS, i); /* which all of them add */
        if (roost_shared_add(world->shared, NULL, &key, sizeof key) != ROOST_OK ||
            roost_shared_add(world->shared, NULL, &twice, sizeof twice) != ROOST_OK)
            atomic_store(&world->failed, true);
        atomic_store(&world->added[writer], i + 1);
    }
    return NULL;
}

static bool has_all(const struct world *world, const roost_filter *copy, const uint64_t *added, uint64_t step)
{
    bool all = true;
    for (unsigned writer = 0; writer < WRITERS; writer++)
        for (uint64_t i = added[writer] % step; i < added[writer]; i += step) {
            uint64_t key = key_of(writer, i);
            all &= copy ? roost_filter_contains(copy, &key, sizeof key)
                        : roost_shared_contains(world->shared, &key, sizeof key);
        }
    return all;
}

static void note_added(struct world *world, uint64_t added[WRITERS])
{
    for (unsigned writer = 0; writer < WRITERS; writer++)
        added[writer] = atomic_load(&world->added[writer]);
}

static void *read_keys(void *context)
{
    struct world *world = context;
    uint64_t added[WRITERS];
    while (!atomic_load(&world->ended)) {
        note_added(world, added);
        if (!has_all(world, NULL, added, 17))
            atomic_store(&world->failed, true);
    }
    return NULL;
}

static void *take_snapshots(void *context)
{
    struct world *world = context;
    uint64_t added[WRITERS];
    do {
        roost_filter *copy;
        note_added(world, added);
        if (roost_shared_snapshot(world->shared, &copy) != ROOST_OK || roost_filter_check(copy) != ROOST_OK ||
            !has_all(world, copy, added, 3) || roost_shared_merge(world->shared, NULL, copy) != ROOST_OK)
            atomic_store(&world->failed, true);
        roost_filter_free(copy);
        world->snapshots++;
    } while (!atomic_load(&world->ended));
    return NULL;
}

static void what_was_added_is_found_by_all(void **state)
{
    (void)state;
    for (unsigned number = 0; number < VARIANTS; number++) {
        const roost_config config = variant(number);
        struct world world = {.shared = new_shared(&config)};
        pthread_t writers[WRITERS], reader, photographer;
        for (unsigned i = 0; i < WRITERS; i++)
            assert_int_equal(pthread_create(&writers[i], NULL, write_keys, &world), 0);
        assert_int_equal(pthread_create(&reader, NULL, read_keys, &world), 0);
        assert_int_equal(pthread_create(&photographer, NULL, take_snapshots, &world), 0);
        for (unsigned i = 0; i < WRITERS; i++)
            assert_int_equal(pthread_join(writers[i], NULL), 0);
        atomic_store(&world.ended, true);
        assert_int_equal(pthread_join(reader, NULL), 0);
        assert_int_equal(pthread_join(photographer, NULL), 0);
        assert_false(atomic_load(&world.failed));
        roost_filter *copy = snapshot_of(world.shared);
        assert_true(has_all(&world, copy, (uint64_t[WRITERS]){EACH, EACH, EACH}, 1));
        printf("%llu snapshots meanwhile, %llu entries\n", (unsigned long long)world.snapshots,
               (unsigned long long)entries_of(copy));
        roost_filter_free(copy);
        roost_shared_free(world.shared);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_sees_an_ordinary_filter), cmocka_unit_test(what_is_merged_is_in_the_snapshot),
        cmocka_unit_test(what_cannot_be_shared_is_refused), cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(what_was_added_is_found_by_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
