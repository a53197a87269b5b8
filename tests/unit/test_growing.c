/*
 * The scalable cuckoo filter beside an exact model of its state, in every order of additions, merges and deltas of a tiny
 * universe: three replicas, four keys whose hashes share their first bits, levels with room for one or two prefixes, so
 * that short prefixes come to cover long ones. Every state is reached through bytes too. Then filters that go from a
 * list to a table beside others that are tables from the beginning; and what many filters share.
 */
#include "check.h"

#include <malloc.h>
#include <pthread.h>

#include "growing/growing_cuckoo.h"
#include "meter.h"
#include "roost/incremental.h"

enum { REPLICAS = 3, KEYS = 4, MOST = 16 };

struct model {
    uint64_t prefixes[MOST]; /* ascending, none covers another */
    uint32_t count;
};

struct world {
    roost_filter *filters[REPLICAS];
    struct model models[REPLICAS];
};

static struct budget budget;
static roost_hash hashes[KEYS];
static uint64_t states, covered;

static bool model_contains(const struct model *model, uint64_t hash)
{
    for (uint32_t i = 0; i < model->count; i++)
        if (covers_hash(model->prefixes[i], hash))
            return true;
    return false;
}

static void model_put(struct model *model, uint64_t prefix)
{
    uint32_t kept = 0, before = 0;
    for (uint32_t i = 0; i < model->count; i++)
        if (covers_prefix(model->prefixes[i], prefix))
            return;
    for (uint32_t i = 0; i < model->count; i++)
        if (!covers_prefix(prefix, model->prefixes[i])) {
            before += model->prefixes[i] < prefix;
            model->prefixes[kept++] = model->prefixes[i];
        } else
            covered++;
    memmove(model->prefixes + before + 1, model->prefixes + before, (kept - before) * sizeof *model->prefixes);
    model->prefixes[before] = prefix;
    model->count = kept + 1;
}

/* The first length of which there are fewer than the budget allows. */
static void model_add(struct model *model, uint64_t hash)
{
    if (model_contains(model, hash))
        return;
    for (unsigned length = 0; length <= MOST_LENGTH; length++) {
        uint64_t seen = 0;
        for (uint32_t i = 0; i < model->count; i++)
            seen += prefix_length(model->prefixes[i]) == length;
        if (seen < budget.capacity[length]) {
            model_put(model, prefix_of(hash, length));
            return;
        }
    }
}

static void model_merge(struct model *model, const struct model *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        model_put(model, other->prefixes[i]);
}

static bool model_includes(const struct model *model, const struct model *other)
{
    struct model both = *model;
    model_merge(&both, other);
    return both.count == model->count &&
           memcmp(both.prefixes, model->prefixes, both.count * sizeof *both.prefixes) == 0;
}

static void assert_holds(const roost_filter *filter, const struct model *model)
{
    struct set_stream stream;
    assert_ok(roost_filter_check(filter));
    set_stream_begin(&stream, &((const struct growing_cuckoo *)filter)->set);
    for (uint32_t i = 0; i < model->count; i++)
        assert_int_equal(next_of_set(&stream), model->prefixes[i]);
    assert_int_equal(next_of_set(&stream), 0);
    set_stream_end(&stream);
    for (int key = 0; key < KEYS; key++)
        assert_int_equal(roost_filter_contains_hash(filter, hashes[key]), model_contains(model, hashes[key].high));
    for (unsigned length = 0; length <= MOST_LENGTH; length++) {
        uint64_t seen = 0;
        for (uint32_t i = 0; i < model->count; i++)
            seen += prefix_length(model->prefixes[i]) == length;
        assert_true(seen <= budget.capacity[length] * REPLICAS);
    }
}

/* The state comes through its bytes as it is, and order and digest are those of the models. */
static void assert_world(const struct world *world)
{
    for (int i = 0; i < REPLICAS; i++) {
        roost_buffer frame;
        roost_filter *decoded;
        assert_holds(world->filters[i], &world->models[i]);
        assert_ok(roost_filter_encode(world->filters[i], &frame));
        assert_ok(roost_filter_decode(&decoded, frame.data, frame.size, NULL));
        assert_holds(decoded, &world->models[i]);
        assert_same_frame(decoded, world->filters[i]);
        assert_same_digest(decoded, world->filters[i]);
        roost_buffer_release(&frame);
        roost_filter_free(decoded);
        roost_order order, expected;
        bool before = model_includes(&world->models[(i + 1) % REPLICAS], &world->models[i]);
        bool after = model_includes(&world->models[i], &world->models[(i + 1) % REPLICAS]);
        expected = before && after ? ROOST_EQUAL : before ? ROOST_BEFORE : after ? ROOST_AFTER : ROOST_CONCURRENT;
        assert_ok(roost_filter_compare(world->filters[i], &order, world->filters[(i + 1) % REPLICAS]));
        assert_int_equal(order, expected);
    }
    states++;
}

static struct world copy_world(const struct world *world)
{
    struct world copy = *world;
    for (int i = 0; i < REPLICAS; i++)
        assert_ok(roost_filter_clone(world->filters[i], &copy.filters[i]));
    return copy;
}

static void free_world(struct world *world)
{
    for (int i = 0; i < REPLICAS; i++)
        roost_filter_free(world->filters[i]);
}

/* By the whole state, or by a delta of what changed since a cursor of before. */
static void merge_into(struct world *world, int to, int from, bool by_bytes)
{
    bool changed, includes = model_includes(&world->models[to], &world->models[from]);
    if (by_bytes) {
        roost_buffer frame;
        assert_ok(roost_filter_encode(world->filters[from], &frame));
        assert_ok(roost_filter_merge_frame(world->filters[to], &changed, frame.data, frame.size));
        roost_buffer_release(&frame);
    } else
        assert_ok(roost_filter_merge(world->filters[to], &changed, world->filters[from]));
    assert_int_equal(changed, !includes);
    model_merge(&world->models[to], &world->models[from]);
}

static void explore(const struct world *world, unsigned depth)
{
    assert_world(world);
    if (depth == 0)
        return;
    for (int replica = 0; replica < REPLICAS; replica++) {
        for (int key = 0; key < KEYS; key++) {
            struct world next = copy_world(world);
            bool changed, was_there = model_contains(&next.models[replica], hashes[key].high);
            roost_cursor cursor;
            roost_buffer delta;
            assert_ok(roost_filter_get_cursor(next.filters[replica], &cursor));
            assert_ok(roost_filter_add_hash(next.filters[replica], &changed, hashes[key]));
            assert_int_equal(changed, !was_there);
            model_add(&next.models[replica], hashes[key].high);
            assert_ok(roost_filter_encode_delta(next.filters[replica], &delta, &cursor, &cursor));
            roost_filter *behind;
            assert_ok(roost_filter_clone(world->filters[replica], &behind));
            assert_ok(roost_filter_merge_frame(behind, &changed, delta.data, delta.size));
            assert_holds(behind, &next.models[replica]);
            roost_filter_free(behind);
            roost_buffer_release(&delta);
            explore(&next, depth - 1);
            free_world(&next);
        }
        for (int from = 0; from < REPLICAS; from++) {
            if (from == replica)
                continue;
            struct world next = copy_world(world);
            merge_into(&next, replica, from, depth % 2);
            explore(&next, depth - 1);
            free_world(&next);
        }
    }
}

static struct prefix_set *set_of(roost_filter *filter)
{
    return &((struct growing_cuckoo *)filter)->set;
}

/* With room for one prefix, or a few more, at each level. */
static roost_config tiny_config(void)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_CUCKOO;
    config.scalable = true;
    config.capacity = 1;
    config.fpr = 0.5;
    config.writers = 1;
    return config;
}

static void explore_universe(bool in_tables)
{
    roost_config config = tiny_config();
    struct world world = {0};
    /* Behind the 3 bits that all share, the keys differ one after the other. */
    static const uint64_t starts[KEYS] = {0xa000000000000001, 0xa040000000000002, 0xa060000000000003,
                                          0xbfff000000000004};
    for (int key = 0; key < KEYS; key++)
        hashes[key] = (roost_hash){(uint64_t)key, starts[key]};
    states = covered = 0;
    for (int i = 0; i < REPLICAS; i++) {
        world.filters[i] = new_filter(&config);
        if (in_tables)
            assert_ok(set_use_table(set_of(world.filters[i]), world.filters[i]));
    }
    budget_of(&budget, roost_filter_get_config(world.filters[0]));
    explore(&world, is_brief() ? 3 : 4);
    free_world(&world);
    printf("%llu states, %llu prefixes covered\n", (unsigned long long)states, (unsigned long long)covered);
    assert_true(covered > 0);
}

static void every_order_of_a_tiny_universe(void **state)
{
    (void)state;
    explore_universe(false);
    explore_universe(true);
}

/* ---- lists and tables -------------------------------------------------------------------------------------------- */

/* The same filter twice: one begins as a list, the other is a table from the beginning. */
struct pair {
    roost_filter *list, *table;
};

static struct pair new_pair(const roost_config *config)
{
    struct pair pair = {new_filter(config), new_filter(config)};
    assert_ok(set_use_table(set_of(pair.table), pair.table));
    return pair;
}

static void assert_alike(struct pair pair)
{
    assert_ok(roost_filter_check(pair.list));
    assert_ok(roost_filter_check(pair.table));
    assert_same_frame(pair.list, pair.table);
    assert_same_digest(pair.list, pair.table);
    assert_int_equal(entries_of(pair.list), entries_of(pair.table));
    assert_true(set_of(pair.list)->in_table || entries_of(pair.list) <= MOST_LISTED);
}

static void *move_it(void *context, void *memory)
{
    size_t size = malloc_usable_size(memory);
    void *elsewhere = malloc(size);
    ++*(uint64_t *)context;
    memcpy(elsewhere, memory, size);
    free(memory);
    return elsewhere;
}

static uint64_t move_all(roost_filter **filter)
{
    uint64_t place = 0, moved = 0;
    while (roost_filter_defragment(filter, &place, move_it, &moved))
        continue;
    return moved;
}

/* A copy job during which some elements come: perhaps so many that the list becomes a table. */
static void replace_by_copy(roost_filter **filter, roost_filter *alike, struct random_source *random)
{
    roost_copy_job *job;
    bool done = false;
    roost_filter *original = *filter;
    assert_ok(roost_copy_job_new(&job, original, NULL));
    for (uint32_t i = random_choice(random, 12); i > 0; i--) {
        roost_hash hash = {0, random_next(random)};
        assert_ok(roost_filter_add_hash(original, NULL, hash));
        assert_ok(roost_filter_add_hash(alike, NULL, hash));
        if (!done && random_choice(random, 3) == 0)
            assert_ok(roost_copy_job_step(job, original, &done, 1));
        if (done)
            break;
    }
    while (!done)
        assert_ok(roost_copy_job_step(job, original, &done, 1));
    *filter = roost_copy_job_finish(job);
    assert_same_frame(*filter, original);
    roost_filter_free(original);
}

static void step(struct pair *pairs, struct random_source *random)
{
    struct pair *pair = &pairs[random_choice(random, REPLICAS)], *other = &pairs[random_choice(random, REPLICAS)];
    roost_hash hash = {0, random_next(random)};
    bool changed[2];
    roost_filter *decoded;
    roost_buffer delta;
    roost_cursor cursor;
    switch (random_choice(random, 24)) {
    case 0:
        assert_ok(roost_filter_merge(pair->list, &changed[0], random_choice(random, 2) ? other->list : other->table));
        assert_ok(roost_filter_merge(pair->table, &changed[1], other->list));
        assert_int_equal(changed[0], changed[1]);
        break;
    case 1:
        decoded = through_bytes(pair->list);
        roost_filter_free(pair->list);
        pair->list = decoded;
        break;
    case 2:
        decoded = clone_of(pair->list);
        roost_filter_free(pair->list);
        pair->list = decoded;
        break;
    case 3:
        replace_by_copy(&pair->list, pair->table, random);
        break;
    case 4:
        assert_ok(roost_filter_get_cursor(pair->list, &cursor));
        for (uint32_t i = random_choice(random, 30); i > 0; i--, hash.high = random_next(random)) {
            assert_ok(roost_filter_add_hash(pair->list, &changed[0], hash));
            assert_ok(roost_filter_add_hash(pair->table, &changed[1], hash));
            assert_int_equal(changed[0], changed[1]);
        }
        assert_ok(roost_filter_encode_delta(pair->list, &delta, &cursor, &cursor));
        assert_ok(roost_filter_merge_frame(other->list, &changed[0], delta.data, delta.size));
        assert_ok(roost_filter_merge_frame(other->table, &changed[1], delta.data, delta.size));
        assert_int_equal(changed[0], changed[1]);
        roost_buffer_release(&delta);
        break;
    case 5:
        assert_true(move_all(&pair->list) > 0);
        break;
    default:
        assert_ok(roost_filter_add_hash(pair->list, &changed[0], hash));
        assert_ok(roost_filter_add_hash(pair->table, &changed[1], hash));
        assert_int_equal(changed[0], changed[1]);
    }
    for (int i = 0; i < 8; i++, hash.high = random_next(random))
        assert_int_equal(roost_filter_contains_hash(pair->list, hash), roost_filter_contains_hash(pair->table, hash));
}

static void a_list_is_what_a_table_is(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(20261116));
    uint64_t lists = 0, tables = 0;
    for (uint64_t round = rounds_of(40); round > 0; round--) {
        roost_config config = tiny_config();
        config.fpr = round % 2 ? 0.5 : 0.01;
        config.capacity = round % 3 ? 1 : 0;
        struct pair pairs[REPLICAS];
        for (int i = 0; i < REPLICAS; i++)
            pairs[i] = new_pair(&config);
        for (uint32_t steps = 20 + random_choice(&random, 300); steps > 0; steps--) {
            step(pairs, &random);
            for (int i = 0; i < REPLICAS; i++)
                assert_alike(pairs[i]);
        }
        for (int i = 0; i < REPLICAS; i++) {
            lists += !set_of(pairs[i].list)->in_table;
            tables += set_of(pairs[i].list)->in_table;
            roost_filter_free(pairs[i].list);
            roost_filter_free(pairs[i].table);
        }
    }
    assert_true(lists > 0 && tables > 0);
}

/* ---- what filters share ------------------------------------------------------------------------------------------ */

enum { FILTERS = 300 };

/* Many configurations at once: some filters find no place and keep theirs for themselves. */
static void filters_share_what_is_equal(void **state)
{
    (void)state;
    roost_filter *filters[FILTERS];
    struct meter meter;
    roost_environment environment = {.allocator = allocator_of(&meter)};
    for (uint64_t round = 0; round < 3; round++) {
        uint64_t kept = 0;
        for (uint64_t i = 0; i < FILTERS; i++) {
            roost_config config = tiny_config();
            config.capacity = 1 + i / 4 + round * FILTERS;
            config.seed = i % 3;
            environment.memory_limit = (i / 2 + 1) << 20;
            assert_ok(roost_filter_new(&filters[i], &config, &environment));
            kept += ((const struct growing_cuckoo *)filters[i])->keeps_shared;
        }
        assert_in_range(kept, 1, FILTERS - 1); /* those of the last round have left their places */
        for (uint64_t i = 0; i < FILTERS; i++) {
            struct budget expected;
            budget_of(&expected, filters[i]->config);
            assert_memory_equal(&expected, &shared_of((struct growing_cuckoo *)filters[i])->budget, sizeof expected);
            assert_int_equal(filters[i]->config->capacity, 1 + i / 4 + round * FILTERS);
            assert_int_equal(filters[i]->config->seed, i % 3);
            assert_int_equal(filters[i]->environment.common->memory_limit, (i / 2 + 1) << 20);
        }
        for (uint64_t i = 0; i < FILTERS; i++)
            roost_filter_free(filters[i]);
    }
    assert_int_equal(meter.outstanding, 0);
}

/* Filters of one configuration, of which servers have millions. */
static void a_small_filter_is_small(void **state)
{
    (void)state;
    roost_filter *filters[FILTERS];
    struct meter meter;
    roost_environment environment = {.allocator = allocator_of(&meter)};
    roost_config config = tiny_config();
    config.capacity = 0;
    for (uint64_t i = 0; i < FILTERS; i++) {
        assert_ok(roost_filter_new(&filters[i], &config, &environment));
        assert_ok(roost_filter_add_hash(filters[i], NULL, hash_for_key(i)));
        assert_true(info_of(filters[i]).bytes_memory <= 96);
        assert_ptr_equal(filters[i]->config, filters[0]->config);
    }
    assert_int_equal(meter.outstanding, FILTERS);
    assert_true(meter.largest <= 96);
    for (uint64_t i = 1; i < 11; i++)
        assert_ok(roost_filter_add_hash(filters[0], NULL, hash_for_key(i)));
    assert_true(info_of(filters[0]).bytes_memory <= 96 + 16 * sizeof(uint64_t));
    for (uint64_t i = 0; i < FILTERS; i++)
        roost_filter_free(filters[i]);
    assert_int_equal(meter.outstanding, 0);
}

/* Several threads make and free filters at the same time: so often that a change without the lock gets lost. */
static void *make_and_free(void *number)
{
    for (uint64_t i = rounds_of(60000); i > 0; i--) {
        roost_config config = tiny_config();
        config.capacity = 1 + (i + *(uint64_t *)number) % 100;
        roost_filter *filter;
        if (roost_filter_new(&filter, &config, NULL) != ROOST_OK || filter->config->capacity != config.capacity)
            *(uint64_t *)number = UINT64_MAX;
        roost_filter_free(filter);
    }
    return NULL;
}

/* Of many filters at once, each with another configuration: so many places there are. */
static uint64_t count_places(void)
{
    roost_filter *filters[FILTERS];
    uint64_t places = 0;
    for (uint64_t i = 0; i < FILTERS; i++) {
        roost_config config = tiny_config();
        config.capacity = 1000 + i;
        filters[i] = new_filter(&config);
        places += !((const struct growing_cuckoo *)filters[i])->keeps_shared;
    }
    free_all(filters, FILTERS);
    return places;
}

static void threads_share_as_well(void **state)
{
    (void)state;
    pthread_t threads[4];
    uint64_t numbers[4] = {0, 1, 0, 50}, places = count_places();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_and_free, &numbers[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(numbers[i] != UINT64_MAX);
    }
    assert_int_equal(count_places(), places);
}

/* What the budget allows never covers more than the rate, for any configuration; and it grows. */
static void a_budget_keeps_its_rate(void **state)
{
    (void)state;
    static const double rates[] = {0.9, 0.5, 0.06, 0.01, 1e-3, 1e-6, 1e-9};
    for (size_t i = 0; i < COUNT_OF(rates); i++)
        for (unsigned number = 0; number < 4 * 4 * 3 * 3; number++) {
            roost_config config = {.kind = ROOST_CUCKOO, .fpr = rates[i], .scalable = true};
            config.capacity = number % 4 == 0 ? 0 : number % 4 == 1 ? 1 : number % 4 == 2 ? 1000 : 1000000;
            config.growth = 1u << number / 4 % 4;
            config.schedule = 1 + number / 16 % 3;
            config.writers = number / 48 == 0 ? 1 : number / 48 == 1 ? 4 : 1000;
            struct budget allowed;
            budget_of(&allowed, &config);
            double rate = 0, room = 0;
            for (unsigned length = 0; length <= MOST_LENGTH; length++) {
                rate += (double)allowed.capacity[length] / (double)(UINT64_C(1) << length) * config.writers;
                room += (double)allowed.capacity[length];
            }
            assert_true(rate <= config.fpr * (1 + 1e-12));
            assert_true(room >= (double)config.capacity || config.fpr < 1e-8);
            assert_true(room >= 1000 * (double)config.capacity || config.growth == 1 || config.fpr < 1e-5);
            assert_true(allowed.first > MOST_LENGTH || allowed.capacity[allowed.first] > 0);
            for (unsigned length = 0; length < allowed.first && length <= MOST_LENGTH; length++)
                assert_int_equal(allowed.capacity[length], 0);
            if (config.schedule == ROOST_GENTLE && config.capacity && allowed.first <= MOST_LENGTH)
                assert_int_equal(allowed.capacity[allowed.first], config.capacity);
        }
}

/* A capacity that is a little too small costs a bit or two more, and not the six of a filter twice as large at once. */
static void a_capacity_is_exceeded_gently(void **state)
{
    (void)state;
    static const struct {
        uint64_t percent;
        unsigned longer, bits_a_key; /* than within the capacity; at most */
    } steps[] = {{100, 0, 17}, {104, 1, 20}, {115, 2, 20}, {130, 3, 20}, {200, 5, 21}};
    enum { CAPACITY = 100000 };
    roost_config config = {.kind = ROOST_CUCKOO, .fpr = 0.01, .scalable = true, .capacity = CAPACITY, .writers = 1};
    roost_filter *filter = new_filter(&config);
    uint64_t added = 0;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        for (; added < CAPACITY * steps[i].percent / 100; added++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(added)));
        roost_info info = info_of(filter);
        assert_true(info.longest_prefix <= info.shortest_prefix + steps[i].longer);
        assert_true(8 * info.bytes_memory <= steps[i].bits_a_key * added);
        assert_true(info.promise_holds);
    }
    roost_filter_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_a_tiny_universe), cmocka_unit_test(a_list_is_what_a_table_is),
        cmocka_unit_test(filters_share_what_is_equal),    cmocka_unit_test(a_small_filter_is_small),
        cmocka_unit_test(threads_share_as_well),          cmocka_unit_test(a_budget_keeps_its_rate),
        cmocka_unit_test(a_capacity_is_exceeded_gently),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
