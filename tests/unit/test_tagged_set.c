/*
 * Growing observed-remove filters whose entries are a list, beside twins that have a table from the first entry on.
 * Whatever is done to both, they have the same state, bytes and digest, and give the same answers: where entries lie is
 * layout. Without memory neither changes, and a filter of one element takes little.
 */
#include "forged_entry.h"
#include "meter.h"
#include "moving.h"

#include "growing/growing_orcuckoo.h"
#include "roost/incremental.h"

enum { KEYS = 40 };

/* A filter that may have lists, its twin that may not, and what gives both the same actors. */
struct twins {
    struct meter meter;
    struct counted_entropy entropy[2];
    roost_filter *filters[2];
};

static roost_config twin_config(bool multiset)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.scalable = true;
    config.multiset = multiset;
    config.capacity = 4;
    return config;
}

static struct tagged_set *set_of(roost_filter *filter)
{
    return &as_growing_orcuckoo(filter)->set;
}

static void twins_open(struct twins *twins, bool multiset, uint64_t first_actor, uint8_t listed)
{
    roost_config config = twin_config(multiset);
    roost_allocator allocator = allocator_of(&twins->meter);
    for (int i = 0; i < 2; i++) {
        twins->entropy[i] = (struct counted_entropy){.next = first_actor, .step = 1};
        roost_environment environment = {.allocator = allocator, .entropy = {&twins->entropy[i], draw_counted}};
        assert_ok(roost_filter_new(&twins->filters[i], &config, &environment));
    }
    set_of(twins->filters[0])->most = listed;
    assert_ok(tagged_set_use_table(set_of(twins->filters[1]), twins->filters[1]));
}

static void twins_close(struct twins *twins)
{
    roost_filter_free(twins->filters[0]);
    roost_filter_free(twins->filters[1]);
    assert_int_equal(twins->meter.outstanding, 0);
}

/* ---- the same, whatever happens ---------------------------------------------------------------------------------- */

static void assert_same_info(const roost_filter *filter, const roost_filter *twin)
{
    roost_info a = info_of(filter), b = info_of(twin);
    assert_int_equal(a.entries, b.entries);
    assert_int_equal(a.inserted, b.inserted);
    assert_true(a.elements == b.elements && a.fpr_now == b.fpr_now);
    assert_int_equal(a.shortest_prefix, b.shortest_prefix);
    assert_int_equal(a.longest_prefix, b.longest_prefix);
    assert_int_equal(a.promise_holds, b.promise_holds);
    assert_int_equal(filter->kind->set.capacity(filter), twin->kind->set.capacity(twin));
}

static void assert_twins(struct twins *twins)
{
    roost_filter *filter = twins->filters[0], *twin = twins->filters[1];
    assert_ok(roost_filter_check(filter));
    assert_ok(roost_filter_check(twin));
    assert_same_frame(filter, twin);
    assert_same_digest(filter, twin);
    assert_same_info(filter, twin);
    assert_true(roost_filter_equal(filter, twin));
    for (uint64_t key = 0; key < KEYS + 5; key++) {
        assert_int_equal(roost_filter_contains_hash(filter, hash_for_key(key)),
                         roost_filter_contains_hash(twin, hash_for_key(key)));
        assert_int_equal(roost_filter_count_hash(filter, hash_for_key(key)),
                         roost_filter_count_hash(twin, hash_for_key(key)));
    }
}

/* The same entry, with a prefix of any length, in both: as from a stranger. */
static void forge(struct twins *twins, uint64_t prefix, uint64_t actor, uint32_t counter)
{
    for (int i = 0; i < 2; i++)
        forge_entry(twins->filters[i], prefix, actor, counter);
}

static void change_element(struct twins *twins, struct random_source *random)
{
    const roost_hash hash = hash_for_key(random_choice(random, KEYS));
    const uint32_t what = random_choice(random, 10), back = random_choice(random, 8);
    bool changed[2] = {false, false};
    roost_dot dots[2];
    for (int i = 0; i < 2; i++) {
        roost_filter *filter = twins->filters[i];
        const struct observed *observed = as_const_observed(filter);
        if (what < 5)
            assert_ok(roost_filter_add_hash(filter, &changed[i], hash));
        else if (what == 5)
            assert_ok(roost_filter_add_dot_hash(filter, &dots[i], hash));
        else if (what == 6)
            assert_ok(roost_filter_remove_hash(filter, &changed[i], hash));
        else if (what == 7 && filter->config->multiset)
            assert_ok(roost_filter_remove_one_hash(filter, &changed[i], hash));
        else if (observed->counter > back)
            assert_ok(roost_filter_remove_dot_hash(filter, &changed[i], hash,
                                                   (roost_dot){observed->actor, observed->counter - back}));
    }
    assert_int_equal(changed[0], changed[1]);
    if (what == 5)
        assert_memory_equal(&dots[0], &dots[1], sizeof dots[0]);
}

/* Removes nearly all, so that a table becomes a list. */
static void remove_many(struct twins *twins, struct random_source *random)
{
    uint64_t kept = random_choice(random, KEYS);
    for (uint64_t key = 0; key < KEYS; key++)
        for (int i = 0; i < 2 && key != kept; i++)
            assert_ok(roost_filter_remove_hash(twins->filters[i], NULL, hash_for_key(key)));
}

static void merge_others(struct twins *twins, struct random_source *random, struct twins *others)
{
    const uint32_t way = random_choice(random, 4);
    bool changed[2];
    roost_buffer frame;
    for (int i = 0; i < 2; i++) {
        roost_filter *filter = twins->filters[i], *other = others->filters[way % 2 ? i : !i];
        if (way < 2) {
            assert_ok(roost_filter_merge(filter, &changed[i], other));
            continue;
        }
        assert_ok(roost_filter_encode(other, &frame));
        assert_ok(roost_filter_merge_frame(filter, &changed[i], frame.data, frame.size));
        roost_buffer_release(&frame);
    }
    assert_int_equal(changed[0], changed[1]);
}

static void copy_in_slices(roost_filter **filter)
{
    roost_copy_job *job;
    bool done = false;
    uint64_t actor = as_observed(*filter)->actor;
    const roost_environment environment = whole_environment(*filter);
    assert_ok(roost_copy_job_new(&job, *filter, &environment));
    while (!done)
        assert_ok(roost_copy_job_step(job, *filter, &done, 1));
    roost_filter *copy = roost_copy_job_finish(job);
    as_observed(copy)->actor = actor; /* it goes on as the same replica */
    roost_filter_free(*filter);
    *filter = copy;
}

static void move_and_copy(struct twins *twins, struct random_source *random)
{
    const bool copies = random_choice(random, 2);
    for (int i = 0; i < 2; i++) {
        if (copies)
            copy_in_slices(&twins->filters[i]);
        for (uint64_t place = 0; !copies && roost_filter_defragment(&twins->filters[i], &place, move_always, NULL);)
            continue;
    }
}

/* What changed since, as a delta, brings a copy of what was before to the same state. */
static void change_with_deltas(struct twins *twins, struct random_source *random)
{
    roost_filter *before[2];
    roost_cursor cursors[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(roost_filter_get_cursor(twins->filters[i], &cursors[i]));
        assert_ok(roost_filter_clone(twins->filters[i], &before[i]));
    }
    for (uint32_t count = random_choice(random, 30); count > 0; count--)
        change_element(twins, random);
    for (int i = 0; i < 2; i++) {
        roost_buffer delta;
        assert_ok(roost_filter_encode_delta(twins->filters[i], &delta, &cursors[i], &cursors[i]));
        for (int j = 0; j < 2 && i == 0; j++) {
            assert_ok(roost_filter_merge_frame(before[j], NULL, delta.data, delta.size));
            assert_ok(roost_filter_check(before[j]));
            assert_same_frame(before[j], twins->filters[0]);
        }
        roost_buffer_release(&delta);
        roost_filter_free(before[!i]);
    }
}

static void sweep_by_others(struct twins *twins, const struct twins *others)
{
    for (int i = 0; i < 2; i++) {
        struct sweep sweep = {0};
        while (!sweep.done)
            assert_ok(growing_orcuckoo_sweep(twins->filters[i], &sweep, others->filters[i], 1));
    }
}

static void do_something(struct twins *twins, struct random_source *random, struct twins *others, uint32_t *counter)
{
    switch (random_choice(random, 24)) {
    case 0:
        merge_others(twins, random, others);
        break;
    case 1:
        remove_many(twins, random);
        break;
    case 2:
        move_and_copy(twins, random);
        break;
    case 3:
        change_with_deltas(twins, random);
        break;
    case 4:
        sweep_by_others(twins, others);
        break;
    case 5:
        ++*counter;
        forge(twins, prefix_of(hash_for_key(random_choice(random, KEYS)).high, 4 + random_choice(random, 57)),
              1000 + *counter % 3, *counter);
        break;
    default:
        change_element(twins, random);
    }
}

static void lists_are_tables_in_all_but_layout(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(64));
    uint64_t reshaped = 0;
    for (uint64_t round = count_of_worlds(is_long() ? 600 : 60); round > 0; round--) {
        static struct twins twins, others;
        const bool multiset = random_choice(&random, 2);
        const uint8_t listed = (uint8_t)(1 + random_choice(&random, round % 3 ? 12 : MOST_TAGS_LISTED));
        uint32_t counter = 0, counter_there = 100000;
        twins_open(&twins, multiset, 1, listed);
        twins_open(&others, multiset, 500, (uint8_t)(1 + random_choice(&random, MOST_TAGS_LISTED)));
        for (uint32_t step = 0; step < 100; step++) {
            bool in_table = is_in_table(set_of(twins.filters[0]));
            do_something(&twins, &random, &others, &counter);
            reshaped += in_table != is_in_table(set_of(twins.filters[0]));
            assert_twins(&twins);
            if (random_choice(&random, 3) == 0)
                do_something(&others, &random, &twins, &counter_there);
        }
        assert_twins(&others);
        twins_close(&twins);
        twins_close(&others);
    }
    printf("%llu times a list became a table, or a table a list\n", (unsigned long long)reshaped);
    assert_true(reshaped > 10);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* One that a filter with a list gets wrong changes nothing, at every size, wherever memory fails. */
static void an_addition_without_memory_changes_nothing(void **state)
{
    (void)state;
    struct twins twins;
    uint64_t refused = 0;
    twins_open(&twins, true, 1, MOST_TAGS_LISTED);
    twins.entropy[0].step = 0; /* whoever draws again gets the same actor */
    roost_filter *filter = twins.filters[0];
    for (uint64_t key = 0; key < MOST_TAGS_LISTED + 20; key++) {
        roost_digest before = roost_filter_digest(filter), after;
        for (int64_t allowed = 0;; allowed++, refused++) {
            twins.meter.allowed = allowed;
            roost_status status = roost_filter_add_hash(filter, NULL, hash_for_key(key));
            twins.meter.allowed = -1;
            if (status == ROOST_OK)
                break;
            assert_int_equal(status, ROOST_NO_MEMORY);
            after = roost_filter_digest(filter);
            assert_memory_equal(&before, &after, sizeof before);
            assert_ok(roost_filter_check(filter));
        }
        assert_ok(roost_filter_add_hash(twins.filters[1], NULL, hash_for_key(key)));
    }
    assert_true(is_in_table(set_of(filter)));
    assert_same_frame(filter, twins.filters[1]);
    assert_true(refused > 10);
    twins_close(&twins);
}

/* Removals need no memory, and take what there is. */
static void a_removal_needs_no_memory(void **state)
{
    (void)state;
    for (uint64_t keys = 1; keys < MOST_TAGS_LISTED + 20; keys++) {
        struct twins twins;
        twins_open(&twins, false, 1, MOST_TAGS_LISTED);
        roost_filter *filter = twins.filters[0];
        for (uint64_t key = 0; key < keys; key++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
        twins.meter.allowed = 0;
        for (uint64_t key = 0; key < keys; key++) {
            assert_ok(roost_filter_remove_hash(filter, NULL, hash_for_key(key)));
            assert_ok(roost_filter_check(filter));
        }
        twins.meter.allowed = -1;
        assert_int_equal(info_of(filter).entries, 0);
        twins_close(&twins);
    }
}

/* The limit holds for lists, and for tables that they become. */
static void lists_keep_the_limit_of_memory(void **state)
{
    (void)state;
    uint64_t most = 0;
    for (uint64_t limit = 256; limit < 4096; limit += 16) {
        roost_config config = twin_config(true);
        roost_environment environment = {.memory_limit = limit};
        roost_filter *filter;
        uint64_t added = 0;
        roost_status status = roost_filter_new(&filter, &config, &environment);
        for (; status == ROOST_OK; added++) {
            assert_in_range(info_of(filter).bytes_memory, 1, limit);
            status = roost_filter_add_hash(filter, NULL, hash_for_key(added));
        }
        assert_int_equal(status, ROOST_TOO_LARGE);
        if (filter)
            assert_ok(roost_filter_check(filter));
        assert_true(added >= most || added > MOST_TAGS_LISTED);
        most = added;
        roost_filter_free(filter);
    }
    assert_true(most > MOST_TAGS_LISTED);
}

static void one_element_takes_little_memory(void **state)
{
    (void)state;
    const struct {
        uint64_t elements, bytes;
    } bounds[] = {{1, 320}, {2, 400}, {4, 432}, {16, 640}, {64, 1440}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        for (int multiset = 0; multiset < 2; multiset++) {
            roost_config config = twin_config(multiset);
            roost_filter *filter = new_filter(&config);
            for (uint64_t key = 0; key < bounds[i].elements; key++)
                assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
            printf("%llu elements take %llu bytes\n", (unsigned long long)bounds[i].elements,
                   (unsigned long long)info_of(filter).bytes_memory);
            assert_in_range(info_of(filter).bytes_memory, 1, bounds[i].bytes);
            roost_filter_free(filter);
        }
}

/* What is left of many elements takes no more than if there had never been more. */
static void a_table_of_few_becomes_a_list(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    roost_config config = twin_config(false);
    roost_filter *filter = new_filter(&config);
    for (uint64_t key = 0; key < MANY; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    assert_true(is_in_table(set_of(filter)));
    for (uint64_t key = 1; key < MANY; key++)
        assert_ok(roost_filter_remove_hash(filter, NULL, hash_for_key(key)));
    assert_false(is_in_table(set_of(filter)));
    assert_in_range(info_of(filter).bytes_memory, 1, 400);
    assert_true(roost_filter_contains_hash(filter, hash_for_key(0)));
    assert_ok(roost_filter_check(filter));
    roost_filter_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_tables_in_all_but_layout),
        cmocka_unit_test(an_addition_without_memory_changes_nothing),
        cmocka_unit_test(a_removal_needs_no_memory),
        cmocka_unit_test(lists_keep_the_limit_of_memory),
        cmocka_unit_test(one_element_takes_little_memory),
        cmocka_unit_test(a_table_of_few_becomes_a_list),
    };
    return cmocka_run_group_tests_name("tagged set", tests, NULL, NULL);
}
