/*
 * The scalable observed-remove filter where its table is at a limit: full, empty, crowded by copies of one element or
 * by chosen keys, with prefixes that are too short for their segments, at the end of memory, copied while it changes.
 * What comes from strangers is made by hand: any prefix with any dot.
 */
#include "forged_entry.h"
#include "meter.h"
#include "moving.h"

#include "growing/growing_orcuckoo.h"
#include "prefix/directory.h"
#include "prefix/search.h"
#include "roost/incremental.h"

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

static roost_filter *growing_filter(bool multiset, uint64_t capacity, uint64_t memory_limit)
{
    roost_config config = growing_config(multiset, capacity);
    roost_environment environment = {.memory_limit = memory_limit};
    roost_filter *filter;
    assert_ok(roost_filter_new(&filter, &config, &environment));
    return filter;
}

/* From now on there is one, however few entries there are. */
static struct prefix_table *table_in(roost_filter *filter)
{
    struct tagged_set *set = &as_growing_orcuckoo(filter)->set;
    assert_ok(tagged_set_use_table(set, filter));
    return set->table;
}

static roost_filter *decoded(const roost_buffer *frame, uint64_t memory_limit)
{
    roost_environment environment = {.memory_limit = memory_limit};
    roost_filter *filter;
    assert_ok(roost_filter_decode(&filter, frame->data, frame->size, &environment));
    return filter;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* Prefixes of all lengths, at all places in a byte. */
static void a_frame_keeps_every_bit_of_a_prefix(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(6));
    for (unsigned length = 4; length <= MOST_LENGTH; length++) {
        roost_filter *filter = growing_filter(true, 1000, 0);
        roost_buffer frame;
        for (uint32_t counter = 1; counter <= 40; counter++)
            forge_entry(filter, prefix_of(random_next(&random), counter % 4 ? length : MOST_LENGTH - 1), 77, counter);
        assert_ok(roost_filter_encode(filter, &frame));
        roost_filter *other = decoded(&frame, 0);
        assert_true(roost_filter_equal(filter, other));
        roost_buffer_release(&frame);
        roost_filter_free(other);
        roost_filter_free(filter);
    }
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

/* ---- short prefixes ---------------------------------------------------------------------------------------------- */

/* A prefix that was long enough for a small table, and copies that come when the table has grown. */
static void copies_of_a_short_prefix_are_counted(void **state)
{
    (void)state;
    enum { OTHERS = 100000, COPIES = 500 };
    const roost_hash hash = {0, UINT64_C(0x123456789abcdef1)};
    roost_filter *filter = growing_filter(true, 1, 0);
    assert_ok(roost_filter_add_hash(filter, NULL, hash));
    for (uint64_t key = 0; key < OTHERS; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    uint64_t before = roost_filter_count_hash(filter, hash);
    for (uint64_t i = 0; i < COPIES; i++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash));
    assert_int_equal(roost_filter_count_hash(filter, hash), before + COPIES);
    assert_ok(roost_filter_check(filter));
    bool removed = true;
    for (uint64_t i = 0; i < before + COPIES; i++)
        assert_true(roost_filter_remove_one_hash(filter, &removed, hash) == ROOST_OK && removed);
    assert_false(roost_filter_contains_hash(filter, hash));
    assert_ok(roost_filter_check(filter));
    roost_filter_free(filter);
}

/* A set whose frame has many dots of the same few prefixes, of all lengths, one within the other. */
static void nested_prefixes_of_strangers_are_counted(void **state)
{
    (void)state;
    enum { DOTS = 100 };
    const roost_hash hash = {0, UINT64_C(0x123456789abcdef1)};
    roost_buffer frame;
    roost_filter *liar = growing_filter(true, 1000, 0), *victim = growing_filter(true, 1000, 0);
    uint32_t counter = 0;
    for (uint64_t key = 0; key < 5000; key++)
        assert_ok(roost_filter_add_hash(victim, NULL, hash_for_key(key)));
    uint64_t before = roost_filter_count_hash(victim, hash);
    for (unsigned length = 4; length <= MOST_LENGTH; length++)
        for (uint32_t i = 0; i < DOTS; i++)
            forge_entry(liar, prefix_of(hash.high, length), 7 + i % 3, ++counter);
    assert_ok(roost_filter_check(liar));
    assert_int_equal(roost_filter_count_hash(liar, hash), counter);
    assert_ok(roost_filter_encode(liar, &frame));
    roost_filter *twin = decoded(&frame, 0);
    assert_ok(roost_filter_check(twin));
    assert_true(roost_filter_equal(liar, twin));
    assert_ok(roost_filter_merge_frame(victim, NULL, frame.data, frame.size));
    assert_ok(roost_filter_check(victim));
    assert_int_equal(roost_filter_count_hash(victim, hash), before + counter);
    assert_int_equal(info_of(twin).entries, counter);
    assert_ok(roost_filter_remove_hash(twin, NULL, hash));
    assert_int_equal(info_of(twin).entries, 0);
    roost_buffer_release(&frame);
    roost_filter_free(liar);
    roost_filter_free(twin);
    roost_filter_free(victim);
}

/* The shortest prefixes, each with more dots than a segment may hold: memory follows what was sent. */
static void short_prefixes_of_strangers_take_memory_in_proportion(void **state)
{
    (void)state;
    enum { DOTS = 12000 };
    roost_filter *liar = growing_filter(true, 1000, 0);
    table_in(liar)->target = 64; /* as if there were thirty times as many */
    for (uint32_t i = 0; i < DOTS; i++)
        forge_entry(liar, prefix_of((uint64_t)i << 60, 4), 7, i + 1);
    assert_ok(roost_filter_check(liar));
    roost_info info = info_of(liar);
    printf("%.0f bytes an entry, %llu segments\n", (double)info.bytes_memory / DOTS,
           (unsigned long long)segments_of(table_in(liar)->root));
    assert_true(info.bytes_memory < (uint64_t)DOTS * 400);
    for (uint64_t i = 0; i < 16; i++)
        assert_ok(roost_filter_remove_hash(liar, NULL, (roost_hash){0, i << 60}));
    assert_int_equal(info_of(liar).entries, 0);
    roost_filter_free(liar);
}

/* Some dots of a prefix that covers a whole segment must not keep the table from growing. */
static void a_covered_segment_is_cut(void **state)
{
    (void)state;
    roost_filter *filter = growing_filter(true, 1000, 0);
    table_in(filter)->target = 64;
    for (uint32_t i = 0; i < 20; i++)
        forge_entry(filter, prefix_of(0, 4), 7, i + 1);
    for (uint64_t key = 0; key < 20000; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    assert_ok(roost_filter_check(filter));
    printf("%llu segments, %llu in the crowd\n", (unsigned long long)segments_of(table_in(filter)->root),
           (unsigned long long)tagged_crowd(table_in(filter)));
    assert_true(segments_of(table_in(filter)->root) >= 20000 / 64);
    assert_true(tagged_crowd(table_in(filter)) < 1000);
    roost_filter_free(filter);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static roost_filter *finish_copy(roost_copy_job *job, roost_filter *filter)
{
    bool done = false;
    while (!done)
        assert_ok(roost_copy_job_step(job, filter, &done, 1000));
    return roost_copy_job_finish(job);
}

static roost_filter *copy_of(roost_filter *filter)
{
    roost_copy_job *job;
    assert_ok(roost_copy_job_new(&job, filter, NULL));
    return finish_copy(job, filter);
}

static void assert_equal_filters(const roost_filter *filter, const roost_filter *other)
{
    assert_ok(roost_filter_check(other));
    assert_true(roost_filter_equal(filter, other));
    for (uint64_t key = 0; key < 5000; key++)
        assert_int_equal(roost_filter_contains_hash(filter, hash_for_key(key)),
                         roost_filter_contains_hash(other, hash_for_key(key)));
}

static roost_filter *growing_of(roost_kind kind, uint64_t keys)
{
    roost_config config = growing_config(false, 0);
    config.kind = kind;
    roost_filter *filter = new_filter(&config);
    for (uint64_t key = 0; key < keys; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    return filter;
}

static void a_clone_is_copied_whole(void **state)
{
    (void)state;
    for (roost_kind kind = ROOST_CUCKOO; kind <= ROOST_ORCUCKOO; kind++) {
        roost_filter *filter = growing_of(kind, 5000), *clone, *first = copy_of(filter);
        assert_ok(roost_filter_clone(filter, &clone));
        roost_filter *second = copy_of(clone);
        assert_equal_filters(filter, first);
        assert_equal_filters(filter, second);
        roost_filter_free(filter);
        roost_filter_free(clone);
        roost_filter_free(first);
        roost_filter_free(second);
    }
}

/* ---- all jobs at once -------------------------------------------------------------------------------------------- */

/* Few elements with many copies, and prefixes of all lengths, with dots in a row. */
static void crowd_some(roost_filter *filter, struct random_source *random, uint32_t count, uint32_t *counter)
{
    for (uint32_t i = 0; i < count; i++) {
        roost_hash hash = hash_for_key(random_choice(random, 30));
        uint32_t what = random_choice(random, 16);
        if (what == 0)
            assert_ok(roost_filter_remove_hash(filter, NULL, hash));
        else if (what < 6)
            assert_ok(roost_filter_remove_one_hash(filter, &(bool){false}, hash));
        else if (what < 9)
            forge_entry(filter, prefix_of(hash.high, 4 + random_choice(random, 20)), 5 + what, ++*counter);
        else
            assert_ok(roost_filter_add_hash(filter, NULL, hash));
    }
}

/* A filter is copied in slices, swept in slices and defragmented, and changes between all of these. */
static void jobs_meet_while_it_changes(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(1933));
    for (uint32_t round = 0; round < 40; round++) {
        roost_filter *filter = growing_filter(true, 1, 0), *other;
        roost_copy_job *copying;
        struct sweep sweep = {0};
        uint32_t counter = 0;
        uint64_t place = 0;
        bool done = false;
        if (round % 2)
            table_in(filter)->target = 1 + random_choice(&random, 40);
        crowd_some(filter, &random, round % 4 ? 600 : 60, &counter);
        assert_ok(roost_filter_clone(filter, &other));
        for (uint64_t key = 0; key < 15; key++)
            assert_ok(roost_filter_remove_hash(other, NULL, hash_for_key(key)));
        assert_ok(roost_copy_job_new(&copying, filter, NULL));
        while (!done || !sweep.done) {
            crowd_some(filter, &random, random_choice(&random, 30), &counter);
            if (!sweep.done)
                assert_ok(growing_orcuckoo_sweep(filter, &sweep, other, 1 + random_choice(&random, 4)));
            place = roost_filter_defragment(&filter, &place, move_always, NULL) ? place : 0;
            if (!done)
                assert_ok(roost_copy_job_step(copying, filter, &done, 1 + random_choice(&random, 4)));
            assert_ok(roost_filter_check(filter));
            if (done && copying) {
                roost_filter *copy = roost_copy_job_finish(copying);
                copying = NULL;
                assert_ok(roost_filter_check(copy));
                assert_same_frame(filter, copy);
                roost_filter_free(copy);
            }
        }
        bool changed;
        uint64_t before = info_of(filter).entries;
        assert_ok(roost_filter_merge(filter, &changed, other)); /* nothing is left to be dropped */
        assert_true(!changed && info_of(filter).entries == before);
        roost_filter_free(filter);
        roost_filter_free(other);
    }
}

/* ---- removals in slices ------------------------------------------------------------------------------------------ */

/* The crowd is no exception: copies of one element, of which a slice drops a few, while others come and go. */
static void a_crowd_is_swept_in_slices(void **state)
{
    (void)state;
    enum { COPIES = 20000 };
    roost_filter *filter = growing_filter(true, 1000, 0), *other;
    struct sweep sweep = {0};
    uint32_t slices = 0;
    for (uint64_t key = 0; key < 3000; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    for (uint64_t i = 0; i < COPIES; i++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(0)));
    assert_ok(roost_filter_clone(filter, &other));
    for (uint64_t key = 0; key < 1000; key++)
        assert_ok(roost_filter_remove_hash(other, NULL, hash_for_key(key)));
    for (; !sweep.done; slices++) {
        uint64_t before = info_of(filter).entries;
        assert_ok(growing_orcuckoo_sweep(filter, &sweep, other, 100));
        assert_true(before - info_of(filter).entries <= 5000); /* what is left of a segment, and some */
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(5000 + slices)));
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(0)));
        assert_ok(roost_filter_check(filter));
    }
    assert_in_range(slices, COPIES / 1000, COPIES / 100);
    assert_int_equal(info_of(filter).entries, 2000 + 2 * slices);
    assert_int_equal(roost_filter_count_hash(filter, hash_for_key(0)), slices);
    roost_filter_free(filter);
    roost_filter_free(other);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Whatever is added, in whatever order, a filter takes no more than it may. */
static void the_limit_of_memory_is_kept(void **state)
{
    (void)state;
    const uint64_t limit = 400000;
    for (int form = 0; form < 3; form++) {
        roost_filter *filter = growing_filter(true, 1000, limit);
        roost_status status = ROOST_OK;
        uint64_t added = 0;
        for (; added < 100000 && status == ROOST_OK; added++) {
            uint64_t key = form == 0 ? 0 : form == 1 ? added : added < 2000 ? 0 : added;
            status = roost_filter_add_hash(filter, NULL, hash_for_key(key));
            assert_true(info_of(filter).bytes_memory <= limit);
        }
        assert_int_equal(status, ROOST_TOO_LARGE);
        assert_true(added > 3000);
        assert_ok(roost_filter_check(filter));
        roost_filter_free(filter);
    }
}

/* Whoever has no memory left can still be told what to remove, however little is left. */
static void removals_are_merged_at_the_limit_of_memory(void **state)
{
    (void)state;
    for (uint64_t limit = 20000; limit < 21000; limit += 16) {
        roost_filter *filter = growing_filter(false, 1000, limit);
        roost_buffer frame;
        for (uint64_t key = 0; roost_filter_add_hash(filter, NULL, hash_for_key(key)) == ROOST_OK; key++)
            ;
        assert_ok(roost_filter_encode(filter, &frame));
        roost_filter *other = decoded(&frame, 0);
        roost_buffer_release(&frame);
        for (uint64_t key = 0; key < 50; key++)
            assert_ok(roost_filter_remove_hash(other, NULL, hash_for_key(key)));
        assert_ok(roost_filter_merge(filter, NULL, other));
        assert_true(roost_filter_equal(filter, other));
        roost_filter_free(filter);
        roost_filter_free(other);
    }
}

/* A crowd that has gone leaves no memory behind. */
static void copies_that_are_removed_give_memory_back(void **state)
{
    (void)state;
    enum { COPIES = 200000 };
    roost_filter *filter = growing_filter(true, 1000, 0);
    bool removed;
    for (uint64_t key = 1; key < 1000; key++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
    uint64_t before = info_of(filter).bytes_memory;
    for (uint64_t i = 0; i < COPIES; i++)
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(0)));
    assert_int_equal(roost_filter_count_hash(filter, hash_for_key(0)), COPIES);
    assert_ok(roost_filter_remove_hash(filter, &removed, hash_for_key(0)));
    assert_true(removed);
    assert_ok(roost_filter_check(filter));
    printf("%llu bytes before, %llu after\n", (unsigned long long)before,
           (unsigned long long)info_of(filter).bytes_memory);
    assert_true(info_of(filter).bytes_memory < 2 * before + 10000);
    roost_filter_free(filter);
}

/* ---- merges ------------------------------------------------------------------------------------------------------ */

/* Beside an exact model: for every dot and filter whether it is unseen, live or removed. */
enum { FILTERS = 3, MOST_DOTS = 3000, ACTORS = 6 };
enum dot_state { UNSEEN, LIVE, REMOVED };

struct dot_model {
    struct {
        uint64_t prefix, actor;
        uint32_t counter;
    } dots[MOST_DOTS];
    uint32_t count, counters[ACTORS];
    uint8_t states[FILTERS][MOST_DOTS];
    uint16_t dot_of[ACTORS][MOST_DOTS + 1]; /* by actor and counter */
    roost_filter *filters[FILTERS];
};

/* How the dots of a world are drawn. */
struct dot_world {
    unsigned shared, shortest, longest; /* first bits that prefixes share; lengths */
    uint32_t keys, target;
    uint8_t listed; /* entries of a list; 0: there are tables from the first entry on */
    struct meter meter;
};

static void shape_filter(const struct dot_world *world, roost_filter *filter)
{
    if (!world->listed)
        table_in(filter)->target = world->target;
    else if (!is_in_table(&as_growing_orcuckoo(filter)->set))
        as_growing_orcuckoo(filter)->set.most = world->listed;
    else
        as_growing_orcuckoo(filter)->set.table->target = world->target;
}

static roost_filter *filter_of_world(struct dot_world *world)
{
    roost_config config = growing_config(true, 1000);
    roost_environment environment = {.allocator = {&world->meter, metered_allocate, metered_release}};
    roost_filter *filter;
    assert_ok(roost_filter_new(&filter, &config, &environment));
    shape_filter(world, filter);
    return filter;
}

static void add_dot(struct random_source *random, struct dot_model *model, const struct dot_world *world, int filter)
{
    if (model->count == MOST_DOTS)
        return;
    uint32_t dot = model->count++, actor = random_choice(random, ACTORS);
    struct random_source keys = random_from_seed(random_choice(random, world->keys) + 1);
    unsigned length = world->shortest + random_choice(&keys, world->longest - world->shortest + 1);
    model->dots[dot].prefix = prefix_of(random_next(&keys) >> world->shared, length);
    model->dots[dot].actor = 1000 + actor;
    model->dots[dot].counter = ++model->counters[actor];
    model->dot_of[actor][model->counters[actor]] = (uint16_t)dot;
    model->states[filter][dot] = LIVE;
    forge_entry(model->filters[filter], model->dots[dot].prefix, model->dots[dot].actor, model->dots[dot].counter);
}

static void remove_dot_of(struct random_source *random, struct dot_model *model, int filter)
{
    struct observed *observed = as_observed(model->filters[filter]);
    uint32_t dot = model->count ? random_choice(random, model->count) : 0;
    if (model->states[filter][dot] != LIVE)
        return;
    uint32_t number = actors_find(&observed->actors, model->dots[dot].actor);
    struct entry entry = {number, model->dots[dot].counter, prefix_position(model->dots[dot].prefix)};
    assert_true(observed->store->own(observed, entry.key));
    assert_true(observed->store->drop(observed, entry));
    model->states[filter][dot] = REMOVED;
}

/* The filter holds what the model says, and nothing else. */
static void assert_is_model(const struct dot_model *model, int filter)
{
    const struct observed *observed = as_const_observed(model->filters[filter]);
    struct entry entries[ENTRIES_AT_ONCE];
    struct entry_walk walk = {0};
    uint32_t live = 0, seen = 0, held = 0;
    assert_ok(roost_filter_check(model->filters[filter]));
    for (uint32_t dot = 0; dot < model->count; dot++) {
        live += model->states[filter][dot] == LIVE;
        seen += model->states[filter][dot] != UNSEEN;
        assert_int_equal(causal_contains(&observed->causal, model->dots[dot].actor, model->dots[dot].counter),
                         model->states[filter][dot] != UNSEEN);
    }
    for (size_t count; (count = observed->store->next(observed, &walk, entries)) > 0; held += count)
        for (size_t i = 0; i < count; i++) {
            uint64_t actor = observed->actors.list[entries[i].number].id - 1000;
            uint32_t dot = model->dot_of[actor][entries[i].counter];
            assert_int_equal(entries[i].key, prefix_position(model->dots[dot].prefix));
            assert_int_equal(model->states[filter][dot], LIVE);
        }
    assert_int_equal(held, live);
    assert_int_equal(observed->causal.dots, seen);
}

static bool model_merge(struct dot_model *model, int filter, int other)
{
    bool changed = false;
    for (uint32_t dot = 0; dot < model->count; dot++)
        if (model->states[other][dot] > model->states[filter][dot]) {
            model->states[filter][dot] = model->states[other][dot];
            changed = true;
        }
    return changed;
}

/* Allocations fail until so many are allowed that none does. Returns how often it was refused. */
static uint64_t merge_in_model(struct random_source *random, struct dot_model *model, struct meter *meter, int filter,
                               int other)
{
    uint64_t refused = 0;
    bool changed;
    roost_filter *behind = NULL; /* that is to get what the journal notes of the merge */
    roost_cursor cursor;
    if (random_choice(random, 2)) {
        assert_ok(roost_filter_get_cursor(model->filters[filter], &cursor));
        assert_ok(roost_filter_clone(model->filters[filter], &behind));
    }
    for (int64_t allowed = random_choice(random, 3) ? -1 : 0;; allowed += 1 + allowed / 4) {
        meter->allowed = allowed;
        meter->recovers = random_choice(random, 2);
        roost_status status = roost_filter_merge(model->filters[filter], &changed, model->filters[other]);
        meter->allowed = -1;
        if (status == ROOST_OK)
            break;
        assert_int_equal(status, ROOST_NO_MEMORY);
        assert_false(changed);
        refused++;
        if (random_choice(random, 4) == 0)
            assert_is_model(model, filter);
    }
    assert_int_equal(changed, model_merge(model, filter, other));
    assert_is_model(model, filter);
    if (behind) {
        roost_buffer delta;
        assert_ok(roost_filter_encode_delta(model->filters[filter], &delta, &cursor, &cursor));
        assert_ok(roost_filter_merge_frame(behind, NULL, delta.data, delta.size));
        assert_true(roost_filter_equal(behind, model->filters[filter]));
        roost_buffer_release(&delta);
        roost_filter_free(behind);
    }
    return refused;
}

/* A copy has the same slots, and goes on apart. */
static void copy_in_model(struct dot_model *model, const struct dot_world *world, int filter, int original)
{
    if (filter == original)
        return;
    roost_filter_free(model->filters[filter]);
    assert_ok(roost_filter_clone(model->filters[original], &model->filters[filter]));
    shape_filter(world, model->filters[filter]);
    memcpy(model->states[filter], model->states[original], sizeof model->states[filter]);
}

static void a_merge_is_the_larger_of_every_dot(void **state)
{
    (void)state;
    static struct dot_model model;
    struct random_source random = random_from_seed(test_seed(5));
    uint64_t refused = 0;
    for (uint64_t round = count_of_worlds(is_long() ? 400 : 60); round > 0; round--) {
        struct dot_world world = {.shared = random_choice(&random, 3) ? 0 : random_choice(&random, 30),
                                  .keys = 1u << random_choice(&random, 14),
                                  .target = 1u << random_choice(&random, 10)};
        world.listed = (uint8_t)(random_choice(&random, 2) ? 0 : random_choice(&random, MOST_TAGS_LISTED + 1));
        (void)allocator_of(&world.meter);
        world.shortest = world.shared + 4 + random_choice(&random, 20);
        world.longest = world.shortest + random_choice(&random, MOST_LENGTH + 1 - world.shortest);
        memset(&model, 0, sizeof model);
        search_kernel_force(random_choice(&random, 2) ? &search_kernel_plain : NULL);
        for (int i = 0; i < FILTERS; i++)
            model.filters[i] = filter_of_world(&world);
        for (uint32_t step = 0; step < 40; step++) {
            int filter = (int)random_choice(&random, FILTERS), other = (int)random_choice(&random, FILTERS);
            uint32_t some = random_choice(&random, random_choice(&random, 4) ? 20 : 600);
            if (random_choice(&random, 12) == 0)
                copy_in_model(&model, &world, filter, other);
            else if (random_choice(&random, 2))
                refused += merge_in_model(&random, &model, &world.meter, filter, other);
            for (uint32_t i = 0; i < some; i++)
                if (random_choice(&random, 3))
                    add_dot(&random, &model, &world, filter);
                else
                    remove_dot_of(&random, &model, filter);
        }
        for (int i = 0; i < FILTERS; i++) {
            assert_is_model(&model, i);
            roost_filter_free(model.filters[i]);
        }
        assert_int_equal(world.meter.outstanding, 0);
    }
    search_kernel_force(NULL);
    printf("%llu refused\n", (unsigned long long)refused);
    assert_true(refused > 0);
}

/* What a merge reserves, so that it cannot fail, is given back. */
static void a_merge_takes_no_more_memory_than_additions(void **state)
{
    (void)state;
    for (uint64_t keys = 20; keys < 10000; keys = keys * 3 / 2)
        for (int multiset = 0; multiset < 2; multiset++) {
            roost_filter *added = growing_filter(multiset, 0, 0), *merged = growing_filter(multiset, 0, 0);
            for (uint64_t key = 0; key < keys; key++) {
                assert_ok(roost_filter_add_hash(added, NULL, hash_for_key(key)));
                if (key != keys / 2 && key != keys - 1)
                    continue;
                assert_ok(roost_filter_merge(merged, NULL, added));
                assert_true(info_of(merged).bytes_memory <= info_of(added).bytes_memory * 3 / 2);
                assert_ok(roost_filter_check(merged));
            }
            FREE_ALL(added, merged);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_keeps_every_bit_of_a_prefix),
        cmocka_unit_test(a_full_filter_has_room_again_after_a_removal),
        cmocka_unit_test(copies_of_a_short_prefix_are_counted),
        cmocka_unit_test(nested_prefixes_of_strangers_are_counted),
        cmocka_unit_test(short_prefixes_of_strangers_take_memory_in_proportion),
        cmocka_unit_test(a_covered_segment_is_cut),
        cmocka_unit_test(a_clone_is_copied_whole),
        cmocka_unit_test(jobs_meet_while_it_changes),
        cmocka_unit_test(a_crowd_is_swept_in_slices),
        cmocka_unit_test(the_limit_of_memory_is_kept),
        cmocka_unit_test(removals_are_merged_at_the_limit_of_memory),
        cmocka_unit_test(copies_that_are_removed_give_memory_back),
        cmocka_unit_test(a_merge_is_the_larger_of_every_dot),
        cmocka_unit_test(a_merge_takes_no_more_memory_than_additions),
    };
    return cmocka_run_group_tests_name("growing orcuckoo", tests, NULL, NULL);
}
