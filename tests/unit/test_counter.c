/*
 * Counters beside an exact model (operations that were counted), their laws, and what must not move them: retries,
 * numbers that do not fit, ids that are none, replicas that share a name.
 */
#include "golden.h"
#include "windows.h"

/* All tests run for counters that grow, and again for those of fixed size. */
static roost_layout layout_in_use = GROWING;

static roost_config counter_config(void)
{
    return window_config(ROOST_COUNTER, layout_in_use, 3, 2000, 1e-6);
}

static int64_t value_of(const roost_filter *counter)
{
    int64_t value;
    assert_ok(roost_counter_get_value(counter, &value));
    return value;
}

static bool counts(roost_filter *counter, uint64_t id, int64_t amount, uint64_t time)
{
    bool applied;
    int64_t value;
    uint8_t bytes[8]; /* the same on every machine */
    store_word(bytes, id);
    assert_ok(roost_counter_increment(counter, &applied, &value, bytes, sizeof bytes, amount, time));
    assert_int_equal(value, value_of(counter));
    return applied;
}

/* ---- once ------------------------------------------------------------------------------------------------------ */

static void a_retry_counts_once(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(81));
    roost_config config = counter_config();
    roost_filter *counter = new_filter(&config);
    int64_t expected = 0;
    uint64_t time = EPOCH, retries = 0;
    for (uint64_t id = 1; id <= 3000; id++, time += random_choice(&random, 60000)) {
        int64_t amount = (int64_t)random_choice(&random, 2001) - 1000;
        assert_true(counts(counter, id, amount, time));
        expected += amount;
        for (; random_choice(&random, 3) == 0; retries++) {
            uint64_t again = id - random_choice(&random, (uint32_t)(id < 500 ? id : 500));
            assert_false(counts(counter, again, 77, time + random_choice(&random, 15000000)));
        }
        assert_int_equal(value_of(counter), expected);
    }
    assert_true(retries > 1000);
    assert_ok(roost_filter_check(counter));
    roost_filter_free(counter);
}

/* A caller may ask for nothing: it counts as before, and refuses as before. */
static void answers_need_not_be_asked_for(void **state)
{
    (void)state;
    roost_config config = counter_config();
    roost_filter *counter = new_filter(&config);
    for (int i = 0; i < 2; i++)
        assert_ok(roost_counter_increment(counter, NULL, NULL, "a", 1, 5, EPOCH));
    assert_int_equal(value_of(counter), 5);
    assert_int_equal(roost_counter_increment(counter, NULL, NULL, "", 0, 5, EPOCH), ROOST_INVALID);
    assert_int_equal(value_of(counter), 5);
    roost_filter_free(counter);
}

/* A client that goes on trying goes on being recognised, each time for another window. */
static void a_retry_is_remembered_anew(void **state)
{
    (void)state;
    roost_config config = counter_config();
    roost_filter *counter = new_filter(&config);
    assert_true(counts(counter, 1, 5, EPOCH));
    for (uint64_t i = 1; i < 20; i++)
        assert_false(counts(counter, 1, 5, EPOCH + SECONDS(50 * i)));
    assert_int_equal(value_of(counter), 5);
    assert_true(counts(counter, 1, 5, EPOCH + SECONDS(50 * 19 + 76)));
    roost_filter_free(counter);
}

/* At another replica: once the first attempt has arrived, by whatever way; if it has not, twice. */
static void a_retry_elsewhere_counts_once_if_the_first_has_arrived(void **state)
{
    (void)state;
    roost_config config = counter_config();
    for (uint32_t way = 0; way < 4; way++) {
        roost_filter *a = new_filter(&config), *b = new_filter(&config);
        roost_cursor cursor = {0};
        roost_buffer frame;
        assert_ok(roost_filter_encode_delta(a, &frame, &cursor, &cursor));
        roost_buffer_release(&frame);
        assert_true(counts(a, 1, 10, EPOCH));
        if (way == 0)
            merge(b, a);
        assert_ok(roost_filter_encode_delta(a, &frame, &cursor, &cursor));
        if (way == 1)
            assert_ok(roost_filter_merge_frame(b, NULL, frame.data, frame.size));
        if (way == 2)
            sync_alone(b, a, NULL);
        roost_buffer_release(&frame);
        assert_int_equal(counts(b, 1, 10, EPOCH + SECONDS(20)), way == 3);
        merge(a, b);
        merge(b, a);
        assert_same_frame(a, b);
        assert_int_equal(value_of(a), way == 3 ? 20 : 10);
        FREE_ALL(a, b);
    }
}

/* ---- many replicas, exact model -------------------------------------------------------------------------------- */

enum { REPLICAS = 4, OPERATIONS = 4000 };

/* Whichever replica knows the name of an operation has counted it: after any exchange the values say the same. */
static void values_follow_what_arrived(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(82));
    roost_config config = counter_config();
    config.window = SECONDS(3600);
    config.capacity = OPERATIONS * (config.scalable ? 1 : 4); /* one of fixed size has room for an even load */
    config.fpr = 1e-7;
    roost_filter *replicas[REPLICAS];
    static bool knows[REPLICAS][OPERATIONS];
    static int64_t amounts[OPERATIONS];
    memset(knows, 0, sizeof knows);
    uint64_t time = EPOCH, merges = 0, refused = 0;
    for (int i = 0; i < REPLICAS; i++)
        replicas[i] = new_filter(&config);
    for (uint32_t id = 0; id < OPERATIONS; id++, time += 100000) {
        uint32_t at = random_choice(&random, REPLICAS);
        amounts[id] = (int64_t)random_choice(&random, 100) - 30;
        assert_true(counts(replicas[at], id, amounts[id], time));
        knows[at][id] = true;
        if (random_choice(&random, 4) == 0) {
            uint32_t from = random_choice(&random, REPLICAS), to = random_choice(&random, REPLICAS);
            merge(replicas[to], replicas[from]);
            for (uint32_t i = 0; i <= id; i++)
                knows[to][i] |= knows[from][i];
            merges++;
        }
        uint32_t retry = random_choice(&random, id + 1), where = random_choice(&random, REPLICAS);
        if (knows[where][retry]) {
            assert_false(counts(replicas[where], retry, amounts[retry], time));
            refused++;
        }
    }
    for (int i = 0; i < REPLICAS; i++) {
        int64_t expected = 0;
        for (uint32_t id = 0; id < OPERATIONS; id++)
            expected += knows[i][id] ? amounts[id] : 0;
        assert_int_equal(value_of(replicas[i]), expected);
    }
    assert_true(merges > 500 && refused > 500);
    free_all(replicas, REPLICAS);
}

static void merge_is_a_join(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(83));
    for (uint64_t number = 0; number < 24; number++) {
        roost_config config = some_window_config(ROOST_COUNTER, number);
        roost_filter *c[3];
        for (int i = 0; i < 3; i++) {
            uint64_t clock = EPOCH + random_choice(&random, 60000000);
            c[i] = new_filter(&config);
            live(c[i], &random, &clock, 1 + random_choice(&random, 80));
        }
        if (number % 3 == 0)
            merge(c[2], c[0]);
        assert_laws(c[0], c[1], c[2]);
        free_all(c, 3);
    }
}

/* ---- what does not fit ----------------------------------------------------------------------------------------- */

static void assert_refused(roost_filter *counter, roost_status status, const void *id, size_t size, int64_t amount)
{
    bool applied = true;
    int64_t value = 4711;
    struct portrait before = portrait_of(counter);
    assert_int_equal(roost_counter_increment(counter, &applied, &value, id, size, amount, EPOCH), status);
    assert_false(applied);
    assert_still(&before, counter);
}

static void amounts_that_do_not_fit_change_nothing(void **state)
{
    (void)state;
    roost_config config = counter_config();
    roost_filter *counter = new_filter(&config);
    assert_refused(counter, ROOST_OVERFLOW, "a", 1, INT64_MIN);
    assert_true(counts(counter, 1, INT64_MAX - 5, EPOCH));
    assert_refused(counter, ROOST_OVERFLOW, "a", 1, 6);
    assert_refused(counter, ROOST_OVERFLOW, "a", 1, INT64_MAX);
    assert_true(counts(counter, 2, 5, EPOCH));
    assert_true(counts(counter, 3, 0, EPOCH));
    assert_int_equal(value_of(counter), INT64_MAX);
    roost_filter_free(counter);
}

/* What one actor may add is used up long before the value is: it goes on as another. */
static void an_actor_that_is_used_up_is_left_behind(void **state)
{
    (void)state;
    roost_config config = counter_config();
    roost_filter *counter = new_filter(&config);
    for (uint64_t i = 0; i < 6; i++)
        assert_true(counts(counter, i, i % 2 ? -INT64_MAX : INT64_MAX, EPOCH));
    assert_int_equal(value_of(counter), 0);
    assert_int_equal(info_of(counter).actors, 3);
    assert_ok(roost_filter_check(counter));
    roost_filter_free(counter);
}

static void what_was_counted_apart_may_not_fit_together(void **state)
{
    (void)state;
    roost_config config = counter_config();
    roost_filter *a = new_filter(&config), *b = new_filter(&config);
    int64_t value;
    assert_true(counts(a, 1, INT64_MAX, EPOCH));
    assert_true(counts(b, 2, INT64_MAX, EPOCH));
    merge(a, b);
    assert_int_equal(roost_counter_get_value(a, &value), ROOST_OVERFLOW);
    assert_int_equal(value, INT64_MAX);
    assert_frames_hold(a);
    assert_refused(a, ROOST_OVERFLOW, "x", 1, 1);
    bool applied;
    assert_int_equal(roost_counter_increment(b, &applied, &value, "y", 1, -INT64_MAX, EPOCH), ROOST_OK);
    merge(a, b);
    assert_int_equal(value_of(a), INT64_MAX);
    FREE_ALL(a, b);
}

static void ids_that_are_none_change_nothing(void **state)
{
    (void)state;
    roost_config config = counter_config();
    roost_filter *counter = new_filter(&config);
    size_t huge = 10 << 20;
    char *id = calloc(1, huge);
    bool applied;
    assert_refused(counter, ROOST_INVALID, "", 0, 1);
    assert_refused(counter, ROOST_INVALID, id, huge, 1);
    assert_refused(counter, ROOST_INVALID, id, ROOST_COUNTER_MOST_ID + 1, 1);
    assert_ok(roost_counter_increment(counter, &applied, NULL, id, ROOST_COUNTER_MOST_ID, 1, EPOCH));
    assert_true(applied);
    free(id);
    roost_filter_free(counter);
}

static void no_entropy_no_actor(void **state)
{
    (void)state;
    roost_config config = counter_config();
    struct counted_entropy entropy = {.next = 5, .step = 1, .fails = true};
    roost_environment environment = {.entropy = {&entropy, draw_counted}};
    roost_filter *counter;
    assert_ok(roost_filter_new(&counter, &config, &environment));
    assert_refused(counter, ROOST_EXHAUSTED, "a", 1, 1);
    entropy.fails = false;
    assert_true(counts(counter, 1, 1, EPOCH));
    roost_filter_free(counter);
}

/* ---- who one is ------------------------------------------------------------------------------------------------ */

static void copies_count_under_names_of_their_own(void **state)
{
    (void)state;
    roost_config config = counter_config();
    roost_filter *a = new_filter(&config);
    assert_true(counts(a, 1, 1, EPOCH));
    roost_filter *b = clone_of(a), *c = through_bytes(a);
    assert_int_equal(roost_filter_get_actor(b), 0);
    assert_int_equal(roost_filter_get_actor(c), 0);
    assert_true(counts(a, 2, 10, EPOCH) && counts(b, 3, 100, EPOCH) && counts(c, 4, 1000, EPOCH));
    merge(a, b);
    merge(a, c);
    assert_int_equal(value_of(a), 1111);
    assert_int_equal(info_of(a).actors, 3);
    FREE_ALL(a, b, c);
}

/* Two ran under one name, as only a restored disk image brings about: who hears of it takes another. */
static void a_shared_name_is_left_behind(void **state)
{
    (void)state;
    roost_config config = counter_config();
    roost_filter *a = new_filter(&config);
    assert_true(counts(a, 1, 1, EPOCH));
    struct saved_replica saved = save_replica(a);
    roost_filter *twin = restore_replica(&saved, NULL, true);
    assert_int_equal(roost_filter_get_actor(a), roost_filter_get_actor(twin));
    assert_true(counts(twin, 2, 10, EPOCH));
    merge(a, twin);
    assert_int_equal(roost_filter_get_actor(a), 0);
    assert_true(counts(a, 3, 100, EPOCH) && counts(twin, 4, 1000, EPOCH));
    merge(a, twin);
    assert_int_equal(value_of(a), 1111);
    saved_release(&saved);
    FREE_ALL(a, twin);
}

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

static void frames_come_back_or_are_refused(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(84));
    uint64_t accepted = 0;
    for (uint64_t number = 0; number < 8; number++) {
        roost_config config = some_window_config(ROOST_COUNTER, number);
        roost_filter *counter = new_filter(&config), *other = new_filter(&config);
        uint64_t clock = EPOCH;
        assert_frames_hold(counter);
        live(counter, &random, &clock, 20);
        live(other, &random, &clock, 20);
        merge(counter, other);
        assert_frames_hold(counter);
        accepted += count_canonical_forgeries(counter, &random, 2000);
        FREE_ALL(counter, other);
    }
    assert_true(accepted > 0);
}

/* The tally stands at the end of a state: each case is written there in the place of an empty one. */
static void hostile_tallies_are_refused(void **state)
{
    (void)state;
    roost_config config = counter_config();
    roost_filter *counter = new_filter(&config), *decoded;
    const struct {
        roost_status status;
        uint64_t told;
        struct tally_entry entries[2];
        size_t count;
    } cases[] = {
        {ROOST_OK, 1, {{1, 5, 0}}, 1},
        {ROOST_OK, 2, {{1, 5, 0}, {2, 0, MOST_TALLY}}, 2},
        {ROOST_CORRUPT, 1, {{0, 5, 0}}, 1},
        {ROOST_CORRUPT, 1, {{1, 0, 0}}, 1},
        {ROOST_CORRUPT, 1, {{1, MOST_TALLY + 1, 0}}, 1},
        {ROOST_CORRUPT, 1, {{1, 0, UINT64_MAX}}, 1},
        {ROOST_CORRUPT, 2, {{2, 5, 0}, {1, 5, 0}}, 2},
        {ROOST_CORRUPT, 2, {{2, 5, 0}, {2, 6, 0}}, 2},
        {ROOST_CORRUPT, 2, {{1, 5, 0}}, 1},
        {ROOST_CORRUPT, 0, {{1, 5, 0}}, 1},
        {ROOST_CORRUPT, UINT64_MAX, {{1, 5, 0}}, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (uint8_t type = 1; type <= 2; type++) {
            struct bit_writer body, frame;
            bit_writer_init(&body, counter->environment.allocator);
            write_configuration(counter, &body);
            write_varint(&body, 0);
            write_varint(&body, cases[i].told);
            for (size_t j = 0; j < cases[i].count; j++)
                tally_write_entry(&body, &cases[i].entries[j]);
            bit_writer_init(&frame, counter->environment.allocator);
            write_bytes(&frame, counter->config->scalable ? "Rost\2" : "Rost\1", 5);
            write_byte(&frame, type);
            write_varint(&frame, body.buffer.size);
            write_bytes(&frame, body.buffer.data, body.buffer.size);
            write_fixed64(&frame, checksum_bytes(frame.buffer.data, frame.buffer.size));
            assert_int_equal(roost_filter_decode(&decoded, frame.buffer.data, frame.buffer.size, NULL),
                             cases[i].status);
            roost_filter_free(decoded);
            bit_writer_release(&body);
            bit_writer_release(&frame);
        }
    roost_filter_free(counter);
}

static void golden_counters_are_written(void **state)
{
    (void)state;
    roost_config config =
        window_config(ROOST_COUNTER, layout_in_use == GROWING ? GROWING : ROOST_CLASSIC, 3, 100, 1e-3);
    struct counted_entropy entropy = {.next = 1000, .step = 1000};
    roost_environment environment = {.entropy = {&entropy, draw_counted}};
    roost_filter *a, *b;
    assert_ok(roost_filter_new(&a, &config, &environment));
    assert_ok(roost_filter_new(&b, &config, &environment));
    for (uint64_t i = 0; i < 20; i++)
        assert_true(counts(i % 3 ? a : b, i, (int64_t)i - 5, EPOCH + SECONDS(i)));
    merge(a, b);
    assert_golden_frame(layout_in_use == GROWING ? "growing-counter" : "counter", a);
    FREE_ALL(a, b);
}

/* However many operations come, and whenever: what is new counts. 50,000 names of 54 bits or more are never mistaken.
 */
static void nothing_is_lost_at_any_load(void **state)
{
    (void)state;
    static const uint32_t pasts[] = {1, 2, 5, 40, 200};
    for (size_t i = 0; i < COUNT_OF(pasts) * 2; i++) {
        roost_config config = window_config(ROOST_COUNTER, GROWING, pasts[i / 2], 1000, 1e-6);
        roost_filter *a = new_filter(&config), *b = new_filter(&config);
        int64_t value;
        for (uint64_t id = 0; id < 50000; id++)
            assert_true(counts(id % 2 ? a : b, id, 1, i % 2 ? EPOCH : EPOCH + id * 1000));
        merge(a, b);
        assert_ok(roost_counter_get_value(a, &value));
        assert_int_equal(value, 50000);
        for (uint64_t id = 0; id < 50000; id += 7)
            assert_false(counts(a, id, 1, EPOCH + SECONDS(50)));
        FREE_ALL(a, b);
    }
}

static void full_counters_refuse_operations(void **state)
{
    (void)state;
    roost_config config = window_config(ROOST_COUNTER, GROWING, 3, 100, 0.001);
    config.fingerprint_bits = 20;
    roost_filter *counter = new_filter(&config);
    bool applied;
    int64_t value;
    roost_status status = ROOST_OK;
    uint64_t id = 0;
    while (status == ROOST_OK)
        status = roost_counter_increment(counter, &applied, &value, &id, sizeof id, 1, EPOCH), id++;
    assert_int_equal(status, ROOST_FULL);
    assert_false(applied);
    assert_int_equal(info_of(counter).entries, (uint64_t)(0.001 * (1 << 20)));
    assert_true(info_of(counter).promise_holds);
    assert_ok(roost_counter_get_value(counter, &value));
    assert_true((uint64_t)value <= id - 1 && (uint64_t)value >= id - 6); /* some few were taken for others */
    roost_filter_free(counter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_counts_once),
        cmocka_unit_test(answers_need_not_be_asked_for),
        cmocka_unit_test(a_retry_is_remembered_anew),
        cmocka_unit_test(a_retry_elsewhere_counts_once_if_the_first_has_arrived),
        cmocka_unit_test(values_follow_what_arrived),
        cmocka_unit_test(merge_is_a_join),
        cmocka_unit_test(amounts_that_do_not_fit_change_nothing),
        cmocka_unit_test(an_actor_that_is_used_up_is_left_behind),
        cmocka_unit_test(what_was_counted_apart_may_not_fit_together),
        cmocka_unit_test(ids_that_are_none_change_nothing),
        cmocka_unit_test(no_entropy_no_actor),
        cmocka_unit_test(copies_count_under_names_of_their_own),
        cmocka_unit_test(a_shared_name_is_left_behind),
        cmocka_unit_test(frames_come_back_or_are_refused),
        cmocka_unit_test(hostile_tallies_are_refused),
        cmocka_unit_test(golden_counters_are_written),
    };
    const struct CMUnitTest growing_alone[] = {
        cmocka_unit_test(nothing_is_lost_at_any_load),
        cmocka_unit_test(full_counters_refuse_operations),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL) + cmocka_run_group_tests(growing_alone, NULL, NULL);
    layout_in_use = ROOST_BLOCKED;
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
