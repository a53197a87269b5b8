/*
 * The scalable observed-remove filter where its table is at a limit: full, empty, crowded by copies of one element or by
 * chosen keys, with prefixes that are too short for their segments, at the end of memory, copied while it changes. What
 * comes from strangers is made by hand: any prefix with any dot.
 */
#include "check.h"

static roost_config growing_config(bool multiset, uint64_t capacity)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.scalable = true;
    config.multiset = multiset;
    config.capacity = capacity;
    config.writers = 1;
    return config;
}

/* ---- full -------------------------------------------------------------------------------------------------------- */

/* Rates that leave room for a few elements, after which there are no longer prefixes. */
static void a_full_filter_has_room_again_after_a_removal(void **state)
{
    (void)state;
    roost_config config = growing_config(false, 4);
    config.fpr = 1e-17;
    roost_filter *filter = new_filter(&config);
    uint64_t added = 0;
    roost_status status;
    while ((status = roost_filter_add_hash(filter, NULL, hash_for_key(added))) == ROOST_OK)
        added++;
    assert_int_equal(status, ROOST_FULL);
    assert_in_range(added, 4, 20);
    for (uint64_t turn = 0; turn < 3; turn++) {
        assert_int_equal(roost_filter_add_hash(filter, NULL, hash_for_key(added + turn)), ROOST_FULL);
        assert_ok(roost_filter_remove_hash(filter, NULL, hash_for_key(turn)));
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(added + turn)));
        assert_true(roost_filter_contains_hash(filter, hash_for_key(added + turn)));
    }
    assert_ok(roost_filter_check(filter));
    roost_filter_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_filter_has_room_again_after_a_removal)};
    return cmocka_run_group_tests_name("growing orcuckoo", tests, NULL, NULL);
}
