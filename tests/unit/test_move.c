/*
 * Filters whose memory moves under them: every piece, some of them, at every place; with changes in between. What they
 * hold stays what it was, nothing points to where it was before, and nothing leaks: the old places are released at
 * once, and those who test run this under sanitizers.
 */

#include "check.h"
#include "moving.h"

enum { KEYS = 500, ROUNDS = 120 };

struct moving {
    struct random_source random;
    uint32_t of; /* one piece of so many moves */
    uint64_t moved;
};

static void *move_some(void *context, void *memory)
{
    struct moving *moving = context;
    if (random_choice(&moving->random, moving->of))
        return NULL;
    moving->moved++;
    return moved_elsewhere(memory);
}

static roost_config config_of(uint64_t number)
{
    switch (number % 3) {
    case 0:
        return some_config(number / 3, 300);
    case 1:
        return some_orcuckoo_config(number / 3, 300);
    default:
        return some_series_config(number / 3, 30);
    }
}

/* The same for both, so that they stay equal but for their dots. */
static void change(roost_filter *filter, uint32_t from)
{
    bool removes = roost_filter_get_config(filter)->kind == ROOST_ORCUCKOO;
    for (uint32_t key = from; key < from + 60; key++) {
        roost_status status = roost_filter_add_hash(filter, NULL, hash_for_key(key % KEYS));
        assert_true(status == ROOST_OK || status == ROOST_FULL);
        if (removes && key % 3 == 0)
            assert_ok(roost_filter_remove_hash(filter, NULL, hash_for_key((key + 7) % KEYS)));
    }
}

static void test_moves(void **state)
{
    (void)state;
    struct moving moving = {.random = random_from_seed(test_seed(91)), .of = 1};
    for (uint64_t number = 0; number < ROUNDS; number++) {
        roost_config config = config_of(number);
        roost_environment environment = {.journal = 100, .kicks = 30};
        roost_filter *filter, *copy, *behind;
        roost_cursor cursor = {0, 0};
        roost_buffer frame;
        uint64_t place = 0, places = 0;
        bool more = true;
        assert_ok(roost_filter_new(&filter, &config, &environment));
        if (number % 2)
            assert_ok(roost_filter_get_cursor(filter, &cursor));
        moving.of = 1 + number % 4;
        for (uint32_t i = 0; i < 6 || more; i++) {
            change(filter, 60 * i);
            assert_ok(roost_filter_get_cursor(filter, &cursor));
            behind = clone_of(filter);
            change(filter, 60 * i + 30);
            copy = clone_of(filter);
            more = roost_filter_defragment(&filter, &place, move_some, &moving);
            place = more ? place : 0;
            places++;
            assert_ok(roost_filter_check(filter));
            assert_same_frame(filter, copy);
            assert_same_digest(filter, copy);
            assert_ok(roost_filter_encode_delta(filter, &frame, &cursor, &cursor));
            assert_ok(roost_filter_merge_frame(behind, NULL, frame.data, frame.size));
            assert_same_frame(filter, behind);
            for (uint32_t key = 0; key < KEYS; key++)
                assert_int_equal(roost_filter_contains_hash(filter, hash_for_key(key)),
                                 roost_filter_contains_hash(copy, hash_for_key(key)));
            roost_buffer_release(&frame);
            FREE_ALL(copy, behind);
        }
        assert_true(places >= 6);
        roost_filter_free(filter);
    }
    assert_true(moving.moved > 5 * ROUNDS);
}

static void windows_stay(void **state)
{
    (void)state;
    struct moving moving = {.of = 1};
    roost_config config = roost_window_config_default(ROOST_WINDOW, 60 * ROOST_SECOND);
    config.capacity = 100;
    roost_filter *window = new_filter(&config);
    uint64_t place = 0;
    assert_false(roost_filter_defragment(&window, &place, move_some, &moving));
    assert_int_equal(moving.moved, 0);
    roost_filter_free(window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(windows_stay)};
    return cmocka_run_group_tests_name("move", tests, NULL, NULL);
}
