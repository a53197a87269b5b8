/* The public calls as their users meet them: defaults, refusals, bytes as keys, batches that stop. */
#include "check.h"

static void expect_invalid(roost_config config, roost_status expected)
{
    roost_filter *filter = (roost_filter *)&config;
    assert_int_equal(roost_filter_new(&filter, &config, NULL), expected);
    assert_null(filter);
}

static void senseless_configurations_are_refused(void **state)
{
    (void)state;
    const double rates[] = {0, 1, -0.1, 1.5, 0.0 / 0.0, 1.0 / 0.0};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        expect_invalid(bloom_config(ROOST_BLOCKED, 100, rates[i]), ROOST_INVALID);
        expect_invalid(bloom_config(ROOST_CLASSIC, 100, rates[i]), ROOST_INVALID);
        roost_config config = cuckoo_config(0, 4, 100);
        config.fpr = rates[i];
        expect_invalid(config, ROOST_INVALID);
    }
    expect_invalid(bloom_config(ROOST_BLOCKED, 0, 0.01), ROOST_INVALID);
    expect_invalid(bloom_config((roost_layout)7, 10, 0.01), ROOST_INVALID);
    expect_invalid(bloom_config(ROOST_BLOCKED, 100, 1e-300), ROOST_INVALID);
    expect_invalid(bloom_config(ROOST_CLASSIC, 100, 1e-300), ROOST_INVALID);
    expect_invalid(bloom_config(ROOST_BLOCKED, UINT64_MAX, 0.01), ROOST_TOO_LARGE);
    expect_invalid(bloom_config(ROOST_CLASSIC, UINT64_MAX, 0.01), ROOST_TOO_LARGE);
    expect_invalid(cuckoo_config(8, 4, 0), ROOST_INVALID);
    expect_invalid(cuckoo_config(3, 4, 100), ROOST_INVALID);
    expect_invalid(cuckoo_config(33, 4, 100), ROOST_INVALID);
    expect_invalid(cuckoo_config(8, 3, 100), ROOST_INVALID);
    expect_invalid(cuckoo_config(8, 16, 100), ROOST_INVALID);
    expect_invalid(cuckoo_config(8, 4, UINT64_MAX), ROOST_TOO_LARGE);
    roost_config too_few_bits = cuckoo_config(8, 4, 100);
    too_few_bits.fpr = 0.001;
    expect_invalid(too_few_bits, ROOST_INVALID);
    roost_config unknown = bloom_config(ROOST_BLOCKED, 100, 0.01);
    unknown.kind = (roost_kind)9;
    expect_invalid(unknown, ROOST_INVALID);
    roost_config too_small_rate = cuckoo_config(0, 4, 100);
    too_small_rate.fpr = 1e-12;
    expect_invalid(too_small_rate, ROOST_INVALID);
}

static void configuration_comes_back_resolved(void **state)
{
    (void)state;
    roost_config config = roost_config_default();
    config.kind = ROOST_CUCKOO;
    config.capacity = 1000;
    roost_filter *filter = new_filter(&config);
    const roost_config *resolved = roost_filter_config(filter);
    assert_int_equal(resolved->fingerprint_bits, 10);
    assert_int_equal(resolved->bucket_size, 4);
    assert_true(resolved->fpr == 0.01);
    roost_filter *same = new_filter(resolved);
    assert_true(roost_filter_equal(filter, same));
    roost_filter_free(same);
    roost_filter_free(filter);
}

/* Any bytes are a key, and each byte counts. */
static void keys_are_bytes(void **state)
{
    (void)state;
    static char large[10 << 20];
    memset(large, 'x', sizeof large);
    const roost_bytes keys[] = {{"", 0},    {"\0", 1},  {"\0\0", 2},          {"a", 1},
                                {"a\r", 2}, {"a\n", 2}, {large, sizeof large}};
    const roost_bytes absent[] = {{"\0\0\0", 3}, {"b", 1}, {"a\r\n", 3}, {large, sizeof large - 1}};
    for (int kind = 0; kind < 3; kind++) {
        roost_config config =
            kind ? bloom_config(kind == 1 ? ROOST_BLOCKED : ROOST_CLASSIC, 100, 1e-6) : cuckoo_config(32, 4, 100);
        roost_filter *filter = new_filter(&config);
        bool changed[COUNT_OF(keys)], found[COUNT_OF(keys)];
        size_t done = 0;
        assert_ok(roost_filter_add_many(filter, changed, &done, keys, COUNT_OF(keys)));
        assert_int_equal(done, COUNT_OF(keys));
        roost_filter_contains_many(filter, found, keys, COUNT_OF(keys));
        for (size_t i = 0; i < COUNT_OF(keys); i++) {
            assert_true(changed[i] && found[i] && roost_filter_contains(filter, keys[i].data, keys[i].size));
            assert_ok(roost_filter_add(filter, changed, keys[i].data, keys[i].size));
            assert_false(changed[0]);
        }
        for (size_t i = 0; i < COUNT_OF(absent); i++)
            assert_false(roost_filter_contains(filter, absent[i].data, absent[i].size));
        assert_false(roost_filter_contains(filter, NULL, 0) != found[0]); /* NULL with no bytes is the empty key */
        roost_filter_free(filter);
    }
}

static void hash_twins_agree(void **state)
{
    (void)state;
    roost_config config = cuckoo_config(16, 4, 2000);
    config.seed = 99;
    roost_filter *by_key = new_filter(&config), *by_hash = new_filter(&config);
    roost_bytes keys[1500];
    static char names[1500][16];
    roost_hash hashes[1500];
    for (size_t i = 0; i < 1500; i++) {
        keys[i] = (roost_bytes){names[i], (size_t)snprintf(names[i], sizeof names[i], "%zu", i)};
        hashes[i] = roost_filter_hash(by_key, keys[i].data, keys[i].size);
    }
    assert_ok(roost_filter_add_many(by_key, NULL, NULL, keys, 1500));
    assert_ok(roost_filter_add_many_hash(by_hash, NULL, NULL, hashes, 1500));
    assert_true(roost_filter_equal(by_key, by_hash));
    roost_filter_free(by_key);
    roost_filter_free(by_hash);
}

static void a_batch_stops_where_one_is_refused(void **state)
{
    (void)state;
    roost_config config = cuckoo_config(16, 4, 600);
    roost_filter *filter = new_filter(&config), *one_by_one;
    roost_bytes keys[3000];
    static char names[3000][16];
    bool changed[3000];
    for (size_t i = 0; i < 3000; i++)
        keys[i] = (roost_bytes){names[i], (size_t)snprintf(names[i], sizeof names[i], "%zu", i)};
    size_t done = 0, again = 0;
    assert_int_equal(roost_filter_add_many(filter, changed, &done, keys, 3000), ROOST_FULL);
    assert_in_range(done, 600, 640);
    one_by_one = new_filter(&config);
    while (roost_filter_add(one_by_one, NULL, keys[again].data, keys[again].size) == ROOST_OK)
        again++;
    assert_int_equal(done, again);
    assert_true(roost_filter_equal(filter, one_by_one));
    changed[0] = true;
    assert_int_equal(roost_filter_add(filter, changed, keys[done].data, keys[done].size), ROOST_FULL);
    assert_false(changed[0]);
    roost_filter_free(filter);
    roost_filter_free(one_by_one);
}

static void grow_only_filters_do_not_remove(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 6; number++) {
        roost_config config = some_config(number, 100);
        roost_filter *filter = new_filter(&config);
        bool changed = true;
        assert_ok(roost_filter_add(filter, NULL, "a", 1));
        assert_int_equal(roost_filter_remove(filter, &changed, "a", 1), ROOST_UNSUPPORTED);
        assert_false(changed);
        assert_true(roost_filter_contains(filter, "a", 1));
        roost_filter_free(filter);
    }
}

static void digest_is_thirty_two_digits(void **state)
{
    (void)state;
    roost_digest digest = {{0x00, 0x1f, 0xa0, [15] = 0xff}};
    char text[33];
    roost_digest_text(digest, text);
    assert_string_equal(text, "001fa0000000000000000000000000ff");
}

/* The seed keys the hash: the same elements under another seed are another state. */
static void seeds_separate(void **state)
{
    (void)state;
    roost_config config = bloom_config(ROOST_BLOCKED, 1000, 0.01);
    roost_filter *a = new_filter(&config);
    config.seed = 7;
    roost_filter *b = new_filter(&config);
    roost_hash x = roost_filter_hash(a, "key", 3), y = roost_filter_hash(b, "key", 3);
    assert_true(x.low != y.low && x.high != y.high);
    roost_filter_free(a);
    roost_filter_free(b);
}

/* The choices inside a cuckoo table never show: other random seeds, other quotas, same bytes. */
static void environment_is_not_state(void **state)
{
    (void)state;
    roost_config config = cuckoo_config(9, 4, 1000);
    roost_environment environments[] = {{.random_seed = 1}, {.random_seed = 2, .kicks = 50}, {.kicks = 100000}};
    roost_filter *filters[3];
    for (size_t i = 0; i < 3; i++) {
        assert_ok(roost_filter_new(&filters[i], &config, &environments[i]));
        for (uint64_t key = 0; key < 1000; key++)
            assert_ok(roost_filter_add_hash(filters[i], NULL, hash_for_key(key)));
    }
    assert_same_frame(filters[0], filters[1]);
    assert_same_frame(filters[0], filters[2]);
    for (size_t i = 0; i < 3; i++)
        roost_filter_free(filters[i]);
}

static void freeing_nothing_is_fine(void **state)
{
    (void)state;
    roost_buffer empty = {0};
    roost_filter_free(NULL);
    roost_buffer_release(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(senseless_configurations_are_refused),
        cmocka_unit_test(configuration_comes_back_resolved),
        cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(hash_twins_agree),
        cmocka_unit_test(a_batch_stops_where_one_is_refused),
        cmocka_unit_test(grow_only_filters_do_not_remove),
        cmocka_unit_test(digest_is_thirty_two_digits),
        cmocka_unit_test(seeds_separate),
        cmocka_unit_test(environment_is_not_state),
        cmocka_unit_test(freeing_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
