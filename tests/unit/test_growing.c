/*
 * The scalable cuckoo filter beside an exact model of its state, in every order of additions, merges and deltas of a tiny
 * universe: three replicas, four keys whose hashes share their first bits, levels with room for one or two prefixes, so
 * that short prefixes come to cover long ones. Every state is reached through bytes too.
 */
#include "check.h"

#include "growing/growing_cuckoo.h"

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

static void every_order_of_a_tiny_universe(void **state)
{
    (void)state;
    roost_config config = roost_config_default();
    config.kind = ROOST_CUCKOO;
    config.scalable = true;
    config.capacity = 1;
    config.fpr = 0.5;
    config.writers = 1;
    struct world world = {0};
    /* Behind the 3 bits that all share, the keys differ one after the other. */
    static const uint64_t starts[KEYS] = {0xa000000000000001, 0xa040000000000002, 0xa060000000000003,
                                          0xbfff000000000004};
    for (int key = 0; key < KEYS; key++)
        hashes[key] = (roost_hash){(uint64_t)key, starts[key]};
    for (int i = 0; i < REPLICAS; i++)
        world.filters[i] = new_filter(&config);
    budget_of(&budget, roost_filter_get_config(world.filters[0]));
    explore(&world, is_brief() ? 3 : 4);
    free_world(&world);
    printf("%llu states, %llu prefixes covered\n", (unsigned long long)states, (unsigned long long)covered);
    assert_true(covered > 0);
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
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_a_tiny_universe),
        cmocka_unit_test(a_budget_keeps_its_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
