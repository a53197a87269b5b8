/*
 * Merges in steps, for every kind. Two replicas with a common past go apart; one takes in the other's frame in steps,
 * and at the end has what a merge at once gives, to the byte. So has whoever merged what was told of the steps: in
 * order, in any order, each twice, beside changes that were made between the steps. Half-way the filter lies between
 * what it was and what it will be, and misses no element that it holds before and after.
 */
#include "meter.h"

#define EPOCH UINT64_C(1700000000)

enum { KEYS = 240, MOST_TOLD = 4096, WORLDS = 175 };

struct pair {
    roost_filter *here, *there;
    roost_buffer frame; /* of there, or a delta of it */
    roost_filter *sum;  /* what a merge at once gives */
    uint64_t salt;
};

struct told {
    roost_buffer frames[MOST_TOLD];
    size_t count;
};

static struct {
    uint64_t steps, parts, changes_between, given_up;
} tally;

static bool observes_removes(const roost_filter *filter)
{
    return roost_filter_get_config(filter)->kind == ROOST_ORCUCKOO;
}

static bool has_time(const roost_filter *filter)
{
    return roost_filter_get_config(filter)->kind == ROOST_WINDOW ||
           roost_filter_get_config(filter)->kind == ROOST_COUNTER;
}

static roost_hash key_of(const struct pair *pair, uint32_t key)
{
    return hash_for_key(pair->salt * 100003 + key);
}

static bool included(const roost_filter *a, const roost_filter *b)
{
    roost_order order;
    assert_ok(roost_filter_compare(a, &order, b));
    return order == ROOST_EQUAL || order == ROOST_BEFORE;
}

/* ---- two replicas ------------------------------------------------------------------------------------------------ */

static void change(const struct pair *pair, roost_filter *filter, struct random_source *random, uint32_t changes)
{
    for (uint32_t i = 0; i < changes; i++) {
        roost_hash hash = key_of(pair, random_choice(random, KEYS));
        roost_status status = ROOST_OK;
        uint64_t time = (EPOCH + random_choice(random, 40)) * ROOST_SECOND;
        bool applied;
        if (has_time(filter))
            status = roost_filter_get_config(filter)->kind == ROOST_WINDOW
                         ? roost_window_add_hash(filter, NULL, hash, time)
                         : roost_counter_increment(filter, &applied, NULL, &hash, sizeof hash, 1, time);
        else if (observes_removes(filter) && random_choice(random, 3) == 0)
            status = roost_filter_remove_hash(filter, NULL, hash);
        else
            status = roost_filter_add_hash(filter, NULL, hash);
        assert_true(status == ROOST_OK || status == ROOST_FULL);
    }
}

static roost_config config_of_world(uint64_t number, struct random_source *random)
{
    uint64_t capacity = random_choice(random, 3) ? 300 : 60;
    switch (number % 7) {
    case 0:
        return some_config(number / 7, capacity);
    case 1:
    case 2:
    case 3:
        return some_orcuckoo_config(number / 7, capacity);
    case 4:
    case 5:
        return some_series_config(number / 7, 40);
    default:;
        roost_config config = roost_window_config_default(number % 2 ? ROOST_WINDOW : ROOST_COUNTER, 60 * ROOST_SECOND);
        config.capacity = capacity;
        return config;
    }
}

static roost_filter *decoded(const roost_buffer *frame, const roost_environment *environment)
{
    roost_filter *filter;
    assert_ok(roost_filter_decode(&filter, frame->data, frame->size, environment));
    return filter;
}

static void pair_open(struct pair *pair, uint64_t number, struct random_source *random)
{
    static const uint64_t journals[] = {0, 8, 1, 40, 300};
    roost_environment environment = {.random_seed = random_next(random),
                                     .kicks = 30,
                                     .journal = journals[random_choice(random, COUNT_OF(journals))]};
    roost_config config = config_of_world(number, random);
    roost_filter *past;
    roost_buffer frame;
    roost_cursor cursor = {0, 0};
    pair->salt = random_next(random);
    assert_ok(roost_filter_new(&past, &config, &environment));
    change(pair, past, random, random_choice(random, 150));
    assert_ok(roost_filter_encode(past, &frame));
    pair->here = decoded(&frame, &environment);
    pair->there = decoded(&frame, &environment);
    roost_buffer_release(&frame);
    if (random_choice(random, 3)) /* they keep journals */
        assert_ok(roost_filter_get_cursor(pair->here, &cursor));
    assert_ok(roost_filter_get_cursor(pair->there, &cursor));
    change(pair, pair->here, random, random_choice(random, 100));
    change(pair, pair->there, random, random_choice(random, 150));
    if (random_choice(random, 4))
        cursor = (roost_cursor){0, 0};
    assert_ok(roost_filter_encode_delta(pair->there, &pair->frame, &cursor, &cursor));
    pair->sum = clone_of(pair->here);
    assert_ok(roost_filter_merge_frame(pair->sum, NULL, pair->frame.data, pair->frame.size));
    roost_filter_free(past);
}

static void pair_close(struct pair *pair)
{
    FREE_ALL(pair->here, pair->there, pair->sum);
    roost_buffer_release(&pair->frame);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void keep(struct told *told, const void *bytes, size_t size)
{
    roost_buffer *frame = &told->frames[told->count++];
    assert_true(told->count < MOST_TOLD);
    *frame =
        (roost_buffer){.data = malloc(size), .size = size, .allocator = allocator_or_default((roost_allocator){0})};
    memcpy(frame->data, bytes, size);
}

static void told_release(struct told *told)
{
    while (told->count > 0)
        roost_buffer_release(&told->frames[--told->count]);
}

static roost_merge_job *reading(const roost_filter *filter, const roost_buffer *frame, size_t bytes)
{
    roost_merge_job *merging;
    assert_ok(roost_merge_job_new(&merging, filter, NULL));
    assert_ok(roost_merge_job_read(merging, frame->data, frame->size, bytes));
    return merging;
}

static bool one_step(roost_merge_job *merging, roost_filter *filter, struct told *told)
{
    bool changed, done;
    roost_bytes bytes;
    roost_filter *before = clone_of(filter);
    assert_ok(roost_merge_job_step(merging, filter, &changed, &done, &bytes));
    assert_ok(roost_filter_check(filter));
    assert_true(included(before, filter));
    assert_int_equal(changed, !roost_filter_equal(before, filter));
    assert_int_equal(changed, bytes.size > 0);
    if (changed) {
        keep(told, bytes.data, bytes.size);
        assert_ok(roost_filter_merge_frame(before, NULL, bytes.data, bytes.size));
        assert_true(roost_filter_equal(before, filter));
    }
    roost_filter_free(before);
    tally.steps++;
    return done;
}

/* Elements that are there before and after are there all the time. */
static void assert_none_missing(const struct pair *pair, const roost_filter *filter)
{
    for (uint32_t key = 0; key < KEYS; key++) {
        roost_hash hash = key_of(pair, key);
        if (roost_filter_contains_hash(pair->here, hash) && roost_filter_contains_hash(pair->sum, hash))
            assert_true(roost_filter_contains_hash(filter, hash));
    }
}

static void assert_sums_to(const struct pair *pair, const struct told *told, struct random_source *random,
                           const roost_filter *sum)
{
    roost_filter *follower = clone_of(pair->here), *stray = clone_of(pair->here);
    for (size_t i = 0; i < told->count; i++)
        assert_ok(roost_filter_merge_frame(follower, NULL, told->frames[i].data, told->frames[i].size));
    for (size_t i = 0; i < 3 * told->count; i++) { /* in disorder, some of them often; then those that are left */
        size_t pick = i < 2 * told->count ? random_choice(random, (uint32_t)told->count) : 3 * told->count - 1 - i;
        assert_ok(roost_filter_merge_frame(stray, NULL, told->frames[pick].data, told->frames[pick].size));
    }
    assert_same_frame(follower, sum);
    assert_same_frame(stray, sum);
    assert_ok(roost_filter_check(stray));
    FREE_ALL(follower, stray);
}

static void undisturbed(const struct pair *pair, struct random_source *random)
{
    static struct told told;
    roost_filter *filter = clone_of(pair->here);
    roost_merge_job *merging = reading(filter, &pair->frame, 16 + random_choice(random, 200));
    size_t steps = 0;
    while (!one_step(merging, filter, &told)) {
        assert_none_missing(pair, filter);
        assert_true(included(filter, pair->sum));
        steps++;
    }
    assert_same_frame(filter, pair->sum);
    assert_same_digest(filter, pair->sum);
    assert_sums_to(pair, &told, random, pair->sum);
    tally.parts += steps > 0;
    roost_merge_job_free(merging);
    roost_filter_free(filter);
    told_release(&told);
}

/* Changes between the steps: they are in the sum as well. Whoever gives up half-way loses nothing. */
static void disturbed(const struct pair *pair, struct random_source *random)
{
    static struct told told;
    roost_filter *filter = clone_of(pair->here), *sum = clone_of(pair->sum);
    roost_merge_job *merging = reading(filter, &pair->frame, 16 + random_choice(random, 100));
    bool gives_up = random_choice(random, 6) == 0, done = false;
    roost_cursor cursor;
    roost_buffer frame;
    assert_ok(roost_filter_get_cursor(filter, &cursor));
    while (!done && !(gives_up && random_choice(random, 3) == 0)) {
        if (random_choice(random, 2)) {
            assert_ok(roost_filter_get_cursor(filter, &cursor));
            change(pair, filter, random, 1 + random_choice(random, 8));
            assert_ok(roost_filter_encode_delta(filter, &frame, &cursor, &cursor));
            keep(&told, frame.data, frame.size);
            assert_ok(roost_filter_merge_frame(sum, NULL, frame.data, frame.size));
            roost_buffer_release(&frame);
            tally.changes_between++;
        }
        done = one_step(merging, filter, &told);
    }
    if (!done) {
        tally.given_up++;
        assert_ok(roost_filter_merge_frame(filter, NULL, pair->frame.data, pair->frame.size));
        keep(&told, pair->frame.data, pair->frame.size);
    }
    assert_same_frame(filter, sum);
    assert_sums_to(pair, &told, random, sum);
    roost_merge_job_free(merging);
    FREE_ALL(filter, sum);
    told_release(&told);
}

static void into_nothing(const struct pair *pair, struct random_source *random)
{
    static struct told told;
    roost_filter *filter, *whole = decoded(&pair->frame, NULL);
    roost_merge_job *merging = reading(NULL, &pair->frame, 16 + random_choice(random, 400));
    assert_ok(roost_merge_job_new_filter(merging, &filter, NULL));
    while (!one_step(merging, filter, &told))
        continue;
    assert_same_frame(filter, whole);
    roost_merge_job_free(merging);
    FREE_ALL(filter, whole);
    told_release(&told);
}

static void test_steps(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(77));
    uint64_t worlds = is_brief() ? WORLDS / 3 : WORLDS;
    for (uint64_t number = 0; number < worlds; number++) {
        struct pair pair;
        pair_open(&pair, number, &random);
        undisturbed(&pair, &random);
        disturbed(&pair, &random);
        into_nothing(&pair, &random);
        pair_close(&pair);
    }
    assert_true(tally.parts > worlds / 2);
    assert_true(tally.steps > 20 * worlds);
    assert_true(tally.changes_between > 5 * worlds);
    assert_true(tally.given_up > worlds / 30);
}

/* ---- moves while a table is swept -------------------------------------------------------------------------------- */

/* A full table in which most entries were removed elsewhere, and additions that kick what is left about. */
static void test_moves(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(78));
    for (uint32_t round = 0; round < 40; round++) {
        roost_config config = orcuckoo_config(24, 64, false, 400);
        config.bucket_size = round % 2 ? 4 : 2;
        roost_environment environment = {.journal = 64, .random_seed = round}; /* so short that a step has few rows */
        roost_filter *here, *there, *sum;
        roost_bytes bytes;
        assert_ok(roost_filter_new(&here, &config, &environment));
        roost_buffer frame;
        bool changed, done;
        uint32_t key = round * 10000, added = 0, kicked = 0;
        while (added < 400 && roost_filter_add_hash(here, NULL, hash_for_key(key + added)) == ROOST_OK)
            added++;
        there = through_bytes(here);
        for (uint32_t i = 0; i < added; i += 1 + random_choice(&random, 3))
            assert_ok(roost_filter_remove_hash(there, NULL, hash_for_key(key + i)));
        assert_ok(roost_filter_encode(there, &frame));
        roost_merge_job *merging = reading(here, &frame, 1000);
        for (done = false; !done; kicked++) {
            for (uint32_t i = 0; i < 4 && kicked > 0; i++)
                (void)roost_filter_add_hash(here, NULL, hash_for_key(key + 5000 + 4 * kicked + i));
            assert_ok(roost_merge_job_step(merging, here, &changed, &done, &bytes));
        }
        sum = clone_of(here);
        assert_ok(roost_filter_merge(sum, &changed, there));
        assert_false(changed);
        assert_true(roost_filter_equal(sum, here));
        assert_ok(roost_filter_check(here));
        roost_merge_job_free(merging);
        roost_buffer_release(&frame);
        FREE_ALL(here, there, sum);
    }
}

/* ---- arrays of many chunks --------------------------------------------------------------------------------------- */

static void fill(roost_filter *filter, uint32_t from, uint32_t to)
{
    for (uint32_t key = from; key < to; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
}

/* Dense and sparse, with a journal that holds all changes, some, or none; the delta is right. */
static void test_stretches(void **state)
{
    (void)state;
    static const uint64_t journals[] = {100000, 300, 1};
    static const uint32_t fills[] = {0, 30, 2000, 20000};
    static struct told told;
    for (uint32_t round = 0; round < 48; round++) {
        roost_config config = bloom_config(round % 2 ? ROOST_BLOCKED : ROOST_CLASSIC, 16000 + 77 * round, 0.01);
        roost_environment environment = {.journal = journals[round / 2 % 3]};
        config.scalable = round % 3 == 0;
        roost_filter *here, *there = new_filter(&config), *before, *sum;
        roost_cursor cursor;
        roost_buffer frame;
        assert_ok(roost_filter_new(&here, &config, &environment));
        fill(here, 0, fills[round / 6 % 4] / 2);
        fill(there, 100, fills[round % 4]);
        assert_ok(roost_filter_get_cursor(here, &cursor));
        before = clone_of(here);
        sum = clone_of(here);
        assert_ok(roost_filter_merge(sum, NULL, there));
        assert_ok(roost_filter_encode(there, &frame));
        roost_merge_job *merging = reading(here, &frame, 1000 + 3000 * (round % 5));
        while (!one_step(merging, here, &told))
            continue;
        assert_same_frame(here, sum);
        assert_same_digest(here, sum);
        roost_buffer_release(&frame);
        assert_ok(roost_filter_encode_delta(here, &frame, &cursor, &cursor));
        assert_ok(roost_filter_merge_frame(before, NULL, frame.data, frame.size));
        assert_same_frame(before, sum);
        roost_buffer_release(&frame);
        roost_merge_job_free(merging);
        told_release(&told);
        FREE_ALL(here, there, before, sum);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(79));
    for (uint64_t number = 0; number < 60; number++) {
        struct pair pair;
        roost_merge_job *merging;
        roost_config other_config = bloom_config(ROOST_CLASSIC, 77, 0.2);
        roost_filter *other = new_filter(&other_config);
        pair_open(&pair, number, &random);
        assert_ok(roost_merge_job_new(&merging, other, NULL));
        assert_int_equal(roost_merge_job_read(merging, pair.frame.data, pair.frame.size, 100), ROOST_MISMATCH);
        roost_merge_job_free(merging);
        for (int i = 0; i < 20; i++) {
            pair.frame.data[random_choice(&random, (uint32_t)pair.frame.size)] ^=
                (uint8_t)(1 + random_choice(&random, 255));
            assert_ok(roost_merge_job_new(&merging, pair.here, NULL));
            size_t size = random_choice(&random, (uint32_t)pair.frame.size);
            assert_int_not_equal(roost_merge_job_read(merging, pair.frame.data, size, 100), ROOST_OK);
            roost_merge_job_free(merging);
        }
        roost_filter_free(other);
        pair_close(&pair);
    }
}

/* Allocation n of the reading fails, for every n; and of the steps, which are then made again. */
static void test_allocations(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(80));
    for (uint64_t number = 0; number < 14; number++) {
        struct pair pair;
        struct meter meter = {.recovers = true};
        roost_environment environment = {.allocator = {&meter, metered_allocate, metered_release}};
        pair_open(&pair, number, &random);
        roost_status status = ROOST_NO_MEMORY;
        for (int64_t n = 0; status != ROOST_OK; n++) {
            roost_merge_job *merging = NULL;
            meter.allowed = n;
            status = roost_merge_job_new(&merging, pair.here, &environment);
            if (status == ROOST_OK)
                status = roost_merge_job_read(merging, pair.frame.data, pair.frame.size, 64);
            assert_true(status == ROOST_OK || status == ROOST_NO_MEMORY);
            roost_merge_job_free(merging);
            assert_int_equal(meter.outstanding, 0);
        }
        assert_true(meter.failures > 5);
        for (int64_t n = 0; n < 25; n++) {
            bool changed, done = false;
            roost_bytes told;
            roost_filter *filter;
            roost_buffer frame;
            meter.allowed = -1;
            assert_ok(roost_filter_encode(pair.here, &frame));
            filter = decoded(&frame, &environment);
            roost_merge_job *merging = reading(filter, &pair.frame, 64);
            while (!done) {
                meter.allowed = n;
                status = roost_merge_job_step(merging, filter, &changed, &done, &told);
                assert_true(status == ROOST_OK || status == ROOST_NO_MEMORY);
                assert_ok(roost_filter_check(filter));
                meter.allowed = -1;
                if (status != ROOST_OK)
                    assert_ok(roost_merge_job_step(merging, filter, &changed, &done, &told));
            }
            assert_same_frame(filter, pair.sum);
            roost_merge_job_free(merging);
            roost_filter_free(filter);
            roost_buffer_release(&frame);
            assert_int_equal(meter.outstanding, 0);
        }
        pair_close(&pair);
    }
}

/* Chunks of an array that hold nothing beside such that hold enough for a part of their own, at every density. */
static void no_part_of_a_sparse_array_is_left_out(void **state)
{
    (void)state;
    for (uint64_t keys = 10; keys < 40000; keys = keys * 3 / 2) {
        roost_config config = bloom_config(keys % 2 ? ROOST_BLOCKED : ROOST_CLASSIC, 2000000, 0.01);
        roost_filter *filter = new_filter(&config), *copy = new_filter(&config);
        for (uint64_t key = 0; key < keys; key++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
        roost_merge_job *merging;
        roost_buffer frame;
        roost_bytes told;
        bool changed, done = false;
        assert_ok(roost_filter_encode(filter, &frame));
        assert_ok(roost_merge_job_new(&merging, copy, NULL));
        assert_ok(roost_merge_job_read(merging, frame.data, frame.size, 4096));
        while (!done)
            assert_ok(roost_merge_job_step(merging, copy, &changed, &done, &told));
        assert_true(roost_filter_equal(filter, copy));
        roost_merge_job_free(merging);
        roost_buffer_release(&frame);
        roost_filter_free(filter);
        roost_filter_free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_part_of_a_sparse_array_is_left_out),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_stretches),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests_name("merging", tests, NULL, NULL);
}
