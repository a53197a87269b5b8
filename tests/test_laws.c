/*
 * The laws that every kind keeps, as random properties: merge is idempotent, commutative and associative; compare is
 * the order that it derives; add inflates; contains depends on the canonical state alone; equal states have equal bytes
 * and digests whatever their history. Beside the filters runs an exact model, the list of all keys added.
 */
#include "check.h"

enum { REPLICAS = 4, MOST_KEYS = 600 };

struct world {
    roost_filter *replicas[REPLICAS];
    bool added[REPLICAS][MOST_KEYS]; /* the model: which keys a replica has heard of */
    uint32_t keys;
    uint64_t salt; /* so that each world has keys of its own */
};

static roost_hash key_of(const struct world *world, uint32_t key)
{
    return hash_for_key(world->salt * 100003 + key);
}

static void world_open(struct world *world, uint64_t number, struct random_source *random)
{
    world->keys = 20 + random_choice(random, MOST_KEYS - 20);
    world->salt = random_next(random);
    /* mostly within the capacity, now and then far beyond */
    roost_config config = some_config(number, random_choice(random, 4) ? world->keys : 1 + world->keys / 10);
    for (int i = 0; i < REPLICAS; i++) {
        roost_environment environment = {.random_seed = random_next(random)};
        assert_ok(roost_filter_new(&world->replicas[i], &config, &environment));
    }
    memset(world->added, 0, sizeof world->added);
}

static void world_close(struct world *world)
{
    for (int i = 0; i < REPLICAS; i++)
        roost_filter_free(world->replicas[i]);
}

static void assert_order(const roost_filter *a, const roost_filter *b, roost_order expected)
{
    roost_order order;
    assert_ok(roost_filter_compare(a, &order, b));
    assert_int_equal(order, expected);
}

static bool at_most(const roost_filter *a, const roost_filter *b)
{
    roost_order order;
    assert_ok(roost_filter_compare(a, &order, b));
    return order == ROOST_EQUAL || order == ROOST_BEFORE;
}

/* Returns whether the add was refused. */
static bool step_add(struct world *world, struct random_source *random)
{
    uint32_t replica = random_choice(random, REPLICAS), key = random_choice(random, world->keys);
    roost_filter *filter = world->replicas[replica], *before = clone_of(filter);
    bool changed = false, was = roost_filter_contains_hash(filter, key_of(world, key));
    roost_status status = roost_filter_add_hash(filter, &changed, key_of(world, key));
    if (status == ROOST_OK) {
        world->added[replica][key] = true;
        assert_true(roost_filter_contains_hash(filter, key_of(world, key)));
        assert_int_equal(changed, !was);
        assert_order(before, filter, was ? ROOST_EQUAL : ROOST_BEFORE);
    } else {
        assert_int_equal(status, ROOST_FULL);
        assert_order(before, filter, ROOST_EQUAL);
        assert_same_digest(before, filter);
    }
    roost_filter_free(before);
    return status != ROOST_OK;
}

static void step_merge(struct world *world, struct random_source *random)
{
    uint32_t to = random_choice(random, REPLICAS), from = random_choice(random, REPLICAS);
    roost_filter *source =
        random_choice(random, 2) ? through_bytes(world->replicas[from]) : clone_of(world->replicas[from]);
    roost_filter *before = clone_of(world->replicas[to]);
    bool changed;
    assert_ok(roost_filter_merge(world->replicas[to], &changed, source));
    assert_int_equal(changed, !at_most(source, before));
    assert_true(at_most(source, world->replicas[to]));
    assert_true(at_most(before, world->replicas[to]));
    for (uint32_t key = 0; key < world->keys; key++)
        world->added[to][key] |= world->added[from][key];
    roost_filter_free(before);
    roost_filter_free(source);
}

static void assert_model(struct world *world)
{
    for (int i = 0; i < REPLICAS; i++) {
        assert_ok(roost_filter_check(world->replicas[i]));
        for (uint32_t key = 0; key < world->keys; key++)
            if (world->added[i][key])
                assert_true(roost_filter_contains_hash(world->replicas[i], key_of(world, key)));
    }
}

/* a + b, without touching either. */
static roost_filter *merged(const roost_filter *a, const roost_filter *b)
{
    roost_filter *sum = clone_of(a);
    assert_ok(roost_filter_merge(sum, NULL, b));
    return sum;
}

static void assert_lattice(struct world *world)
{
    roost_filter *a = world->replicas[0], *b = world->replicas[1], *c = world->replicas[2];
    roost_filter *aa = merged(a, a), *ab = merged(a, b), *ba = merged(b, a), *bc = merged(b, c);
    roost_filter *ab_c = merged(ab, c), *a_bc = merged(a, bc);
    bool changed = true;
    assert_ok(roost_filter_merge(a, &changed, a));
    assert_false(changed);
    assert_true(roost_filter_equal(aa, a) && roost_filter_equal(ab, ba) && roost_filter_equal(ab_c, a_bc));
    assert_same_frame(aa, a);
    assert_same_frame(ab, ba);
    assert_same_frame(ab_c, a_bc);
    assert_same_digest(ab, ba);
    assert_same_digest(ab_c, a_bc);
    assert_int_equal(at_most(a, b), roost_filter_equal(ab, b)); /* the order is the derived one */
    assert_int_equal(at_most(b, a), roost_filter_equal(ab, a));
    assert_true(at_most(a, ab) && at_most(b, ab));
    for (uint64_t probe = 0; probe < 200; probe++) /* same state, other layout, same answers */
        assert_int_equal(roost_filter_contains_hash(ab, hash_for_key(probe)),
                         roost_filter_contains_hash(ba, hash_for_key(probe)));
    roost_filter *all[] = {aa, ab, ba, bc, ab_c, a_bc};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        roost_filter_free(all[i]);
}

/* A filter that gets the same keys in one go, in another order, is the same filter. */
static void assert_canonical(struct world *world, struct random_source *random)
{
    roost_config config = *roost_filter_config(world->replicas[0]);
    roost_environment environment = {.random_seed = random_next(random)};
    roost_filter *fresh, *parts[2];
    assert_ok(roost_filter_new(&fresh, &config, &environment));
    assert_ok(roost_filter_new(&parts[0], &config, &environment));
    assert_ok(roost_filter_new(&parts[1], &config, NULL));
    bool fits = true;
    for (uint32_t i = world->keys; i-- > 0 && fits;)
        if (world->added[0][i]) {
            fits &= roost_filter_add_hash(fresh, NULL, key_of(world, i)) == ROOST_OK;
            fits &= roost_filter_add_hash(parts[i % 2], NULL, key_of(world, i)) == ROOST_OK;
        }
    if (fits) {
        assert_same_frame(fresh, world->replicas[0]);
        assert_same_digest(fresh, world->replicas[0]);
        assert_ok(roost_filter_merge(parts[0], NULL, parts[1]));
        assert_same_frame(fresh, parts[0]);
    }
    roost_filter_free(fresh);
    roost_filter_free(parts[0]);
    roost_filter_free(parts[1]);
}

static void laws_hold_in_random_worlds(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(6));
    uint64_t refused = 0;
    const char *given = getenv("ROOST_TEST_WORLDS");
    uint64_t worlds = given ? strtoull(given, NULL, 0) : 3000;
    for (uint64_t number = 0; number < worlds; number++) {
        struct world world;
        world_open(&world, number, &random);
        for (uint32_t step = random_choice(&random, 300); step > 0; step--)
            if (random_choice(&random, 12))
                refused += step_add(&world, &random);
            else
                step_merge(&world, &random);
        assert_model(&world);
        assert_lattice(&world);
        assert_canonical(&world, &random);
        world_close(&world);
    }
    printf("%llu worlds, %llu adds refused\n", (unsigned long long)worlds, (unsigned long long)refused);
    assert_true(refused > worlds / 3);
}

/* States that differ have other digests and other bytes, in every kind and also when all are empty. */
static void configurations_do_not_mix(void **state)
{
    (void)state;
    roost_config configs[9];
    for (size_t i = 0; i < COUNT_OF(configs); i++)
        configs[i] = i < 4 ? bloom_config(ROOST_BLOCKED, 1000, 0.01) : cuckoo_config(10, 4, 1000);
    configs[1].seed++;
    configs[2].layout = ROOST_CLASSIC;
    configs[3].capacity++;
    configs[5].seed++;
    configs[6].bucket_size = 2;
    configs[7].fingerprint_bits = 11;
    configs[8].capacity++;
    roost_filter *filters[COUNT_OF(configs)];
    for (size_t i = 0; i < COUNT_OF(configs); i++)
        filters[i] = new_filter(&configs[i]);
    for (size_t i = 0; i < COUNT_OF(configs); i++)
        for (size_t j = 0; j < COUNT_OF(configs); j++) {
            roost_order order;
            roost_digest a = roost_filter_digest(filters[i]), b = roost_filter_digest(filters[j]);
            assert_int_equal(memcmp(&a, &b, sizeof a) == 0, i == j);
            assert_int_equal(roost_filter_equal(filters[i], filters[j]), i == j);
            assert_int_equal(roost_filter_merge(filters[i], NULL, filters[j]), i == j ? ROOST_OK : ROOST_MISMATCH);
            assert_int_equal(roost_filter_compare(filters[i], &order, filters[j]), i == j ? ROOST_OK : ROOST_MISMATCH);
        }
    for (size_t i = 0; i < COUNT_OF(configs); i++)
        roost_filter_free(filters[i]);
}

static void digest_follows_every_change(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 60; number++) {
        roost_config config = some_config(number * 7 + number / 3, 3000);
        roost_filter *filter = new_filter(&config), *later = new_filter(&config);
        for (uint64_t key = 0; key < 300; key++) {
            roost_digest before = roost_filter_digest(filter);
            bool changed;
            assert_ok(roost_filter_add_hash(filter, &changed, hash_for_key(key)));
            roost_digest after = roost_filter_digest(filter);
            assert_int_equal(memcmp(&before, &after, sizeof before) != 0, changed);
            assert_ok(
                roost_filter_add_hash(later, NULL, hash_for_key(key))); /* whose digest is asked once, at the end */
        }
        assert_same_digest(filter, later);
        roost_filter *decoded = through_bytes(filter);
        assert_same_digest(filter, decoded);
        roost_filter_free(decoded);
        roost_filter_free(filter);
        roost_filter_free(later);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_hold_in_random_worlds),
        cmocka_unit_test(configurations_do_not_mix),
        cmocka_unit_test(digest_follows_every_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
