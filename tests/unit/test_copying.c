/*
 * Copies in steps: the filter changes between them, and the copy is what it was in the last one, whatever its kind,
 * its layout and its size; a copy that was given up leaves no trace.
 */
#include "check.h"
#include "roost/incremental.h"

enum { KEYS = 3000, ROUNDS = 150 };

static roost_config config_of(uint64_t number)
{
    switch (number % 3) {
    case 0:
        return some_config(number / 3, 40000);
    case 1:
        return some_orcuckoo_config(number / 3, 4000);
    default:
        return some_series_config(number / 3, 100);
    }
}

static void change(roost_filter *filter, struct random_source *random, uint32_t count)
{
    bool removes = roost_filter_get_config(filter)->kind == ROOST_ORCUCKOO;
    for (uint32_t i = 0; i < count; i++) {
        roost_hash hash = hash_for_key(random_choice(random, KEYS));
        roost_status status = removes && random_choice(random, 3) == 0 ? roost_filter_remove_hash(filter, NULL, hash)
                                                                       : roost_filter_add_hash(filter, NULL, hash);
        assert_true(status == ROOST_OK || status == ROOST_FULL);
    }
}

static void assert_same(const roost_filter *filter, const roost_filter *copy)
{
    roost_buffer bytes, copied;
    assert_ok(filter->kind->report.check(copy));
    assert_true(roost_filter_equal(filter, copy));
    assert_ok(roost_filter_encode(filter, &bytes));
    assert_ok(roost_filter_encode(copy, &copied));
    assert_int_equal(bytes.size, copied.size);
    assert_memory_equal(bytes.data, copied.data, bytes.size);
    roost_buffer_release(&bytes);
    roost_buffer_release(&copied);
}

/* Until it is done, or given up. */
static roost_filter *copy_of(roost_filter *filter, struct random_source *random, uint32_t most_steps)
{
    roost_copy_job *copying;
    bool done = false;
    assert_ok(roost_copy_job_new(&copying, filter, NULL));
    for (uint32_t step = 0; step < most_steps && !done; step++) {
        if (random_choice(random, 2))
            change(filter, random, random_choice(random, 40));
        if (random_choice(random, 8) == 0)
            roost_filter_digest(filter);
        assert_ok(roost_copy_job_step(copying, filter, &done, 1 + random_choice(random, 8)));
    }
    if (done)
        return roost_copy_job_finish(copying);
    roost_copy_job_free(copying);
    return NULL;
}

static void copies_are_of_a_moment(void **state)
{
    struct random_source random = random_from_seed(test_seed(1711));
    uint64_t made = 0, given_up = 0;
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        roost_config config = config_of(round);
        roost_filter *filter = new_filter(&config);
        change(filter, &random, random_choice(&random, KEYS));
        for (int i = 0; i < 3; i++) {
            roost_filter *copy = copy_of(filter, &random, random_choice(&random, 3) ? 10000 : 3);
            made += copy != NULL;
            given_up += copy == NULL;
            if (!copy)
                continue;
            assert_same(filter, copy);
            change(copy, &random, 50);
            assert_ok(filter->kind->report.check(copy));
            assert_ok(filter->kind->report.check(filter));
            roost_filter_free(copy);
        }
        roost_filter_free(filter);
    }
    assert_true(made > ROUNDS && given_up > ROUNDS / 4);
}

/* Steps are counted in pages, whatever a filter has room for. */
static void steps_are_short(void **state)
{
    (void)state;
    static const uint64_t capacities[] = {400000, 4000000}; /* half a megabyte and five, or less, are in use */
    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        roost_config config = bloom_config(ROOST_BLOCKED, capacities[i], 0.01);
        roost_filter *filter = new_filter(&config);
        roost_copy_job *copying;
        uint64_t steps = 0;
        bool done = false;
        for (uint64_t key = 0; key < 50; key++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
        assert_ok(roost_copy_job_new(&copying, filter, NULL));
        for (; !done; steps++)
            assert_ok(roost_copy_job_step(copying, filter, &done, 10));
        assert_in_range(steps, 4, 6); /* fifty pages, or a few less where two keys share one */
        roost_filter *copy = roost_copy_job_finish(copying);
        assert_same(filter, copy);
        roost_filter_free(copy);
        roost_filter_free(filter);
    }
}

/* Whoever writes more in between than a step copies does not keep it from coming to an end. */
static void writers_are_outrun(void **state)
{
    struct random_source random = random_from_seed(test_seed(5));
    roost_config config = bloom_config(ROOST_BLOCKED, 400000, 0.01);
    roost_filter *filter = new_filter(&config);
    roost_copy_job *copying;
    bool done = false;
    uint32_t steps = 0;
    (void)state;
    assert_ok(roost_copy_job_new(&copying, filter, NULL));
    for (; !done && steps < 5000; steps++) {
        for (int i = 0; i < 100; i++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(random_next(&random))));
        assert_ok(roost_copy_job_step(copying, filter, &done, 1));
    }
    assert_true(done);
    roost_filter *copy = roost_copy_job_finish(copying);
    assert_same(filter, copy);
    roost_filter_free(copy);
    roost_filter_free(filter);
}

static void windows_are_copied_at_once(void **state)
{
    roost_config config = roost_window_config_default(ROOST_WINDOW, 60 * ROOST_SECOND);
    config.capacity = 100;
    roost_filter *window = new_filter(&config);
    roost_copy_job *copying;
    bool done;
    (void)state;
    assert_ok(roost_copy_job_new(&copying, window, NULL));
    assert_ok(roost_copy_job_step(copying, window, &done, 1));
    assert_true(done);
    roost_filter *copy = roost_copy_job_finish(copying);
    assert_true(roost_filter_equal(window, copy));
    roost_filter_free(copy);
    roost_filter_free(window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies_are_of_a_moment), cmocka_unit_test(steps_are_short),
                                       cmocka_unit_test(writers_are_outrun),
                                       cmocka_unit_test(windows_are_copied_at_once)};
    return cmocka_run_group_tests_name("copying", tests, NULL, NULL);
}
