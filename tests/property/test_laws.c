/*
 * The laws that every kind keeps, as random properties: merge is idempotent, commutative and associative; compare is
 * the order that it derives; add inflates; contains depends on the canonical state alone; equal states have equal bytes
 * and digests whatever their history. Beside the filters runs an exact model: for grow-only filters the list of all
 * keys added, for observed-remove ones all dots with their standing at each replica.
 */
#include "dots.h"

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
    roost_config config = *roost_filter_get_config(world->replicas[0]);
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
    uint64_t worlds = count_of_worlds(3000);
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

/* ---- observed-remove filters ------------------------------------------------------------------------------------- */

enum { SCRATCH = REPLICAS, BACKUP, SHARED_KEYS = 60 };

struct remove_world {
    roost_filter *replicas[REPLICAS];
    roost_filter *backup; /* of some replica, some time ago */
    struct dots dots;
    uint64_t salt;
    uint32_t keys;
    uint64_t refused, removed, restored;
};

static roost_hash shared_key(const struct remove_world *world, struct random_source *random)
{
    return hash_for_key(world->salt * 100003 + random_choice(random, world->keys));
}

static void remove_world_open(struct remove_world *world, uint64_t number, struct random_source *random)
{
    world->dots.count = 0;
    world->salt = random_next(random);
    world->keys = 1 + random_choice(random, SHARED_KEYS);
    roost_config config = some_orcuckoo_config(number, random_choice(random, 4) ? 200 : 1 + random_choice(random, 20));
    for (int i = 0; i < REPLICAS; i++) {
        roost_environment environment = {.random_seed = random_next(random), .kicks = 1 + random_choice(random, 40)};
        assert_ok(roost_filter_new(&world->replicas[i], &config, &environment));
    }
    world->backup = clone_of(world->replicas[0]);
    dots_read(&world->dots, BACKUP, world->backup);
}

static void remove_world_close(struct remove_world *world)
{
    for (int i = 0; i < REPLICAS; i++)
        roost_filter_free(world->replicas[i]);
    roost_filter_free(world->backup);
}

static void assert_unchanged(roost_filter *before, roost_filter *filter)
{
    assert_order(before, filter, ROOST_EQUAL);
    assert_same_digest(before, filter);
    assert_same_frame(before, filter);
}

static void step_add_dot(struct remove_world *world, int at, struct random_source *random)
{
    roost_filter *filter = world->replicas[at], *before = clone_of(filter);
    roost_hash hash = shared_key(world, random);
    uint64_t copies = roost_filter_count_hash(filter, hash);
    bool changed = true, multiset = roost_filter_get_config(filter)->multiset, by_dot = random_choice(random, 2);
    roost_dot dot;
    roost_status status =
        by_dot ? roost_filter_add_dot_hash(filter, &dot, hash) : roost_filter_add_hash(filter, &changed, hash);
    if (status == ROOST_OK) {
        const struct observed *own = as_const_observed(filter);
        if (!by_dot) {
            dot = (roost_dot){own->actor, own->counter};
            assert_int_equal(changed, multiset || copies == 0);
        }
        assert_int_equal(dot.actor, roost_filter_get_actor(filter));
        dots_add(&world->dots, at, filter, hash, dot);
        assert_order(before, filter, ROOST_BEFORE);
    } else {
        assert_int_equal(status, ROOST_FULL);
        assert_true(multiset || copies == 0); /* who supersedes needs no room */
        assert_true(by_dot ? dot.actor == 0 && dot.counter == 0 : !changed);
        assert_unchanged(before, filter);
        world->refused++;
    }
    roost_filter_free(before);
}

/* remove, remove_one or remove_dot: which dots went, and that no others did. */
static void step_remove(struct remove_world *world, int at, struct random_source *random)
{
    roost_filter *filter = world->replicas[at], *before = clone_of(filter);
    struct dots *dots = &world->dots;
    roost_hash hash = shared_key(world, random);
    uint64_t key = class_for(filter, hash);
    uint32_t live = dots_live(dots, at, key), how = random_choice(random, 4);
    bool changed = !live, expected = live > 0, multiset = roost_filter_get_config(filter)->multiset;
    if (how == 0 && multiset) {
        assert_ok(roost_filter_remove_one_hash(filter, &changed, hash));
        dots_read(dots, SCRATCH, filter);
        assert_int_equal(dots_live(dots, SCRATCH, key), live - (live > 0));
        for (uint32_t i = 0; i < dots->count; i++)
            if (dots->standing[at][i] == LIVE && dots->list[i].key == key)
                dots->standing[at][i] = dots->standing[SCRATCH][i];
    } else if (how == 1 && dots->count > 0) {
        uint32_t i = random_choice(random, dots->count);
        expected = dots->standing[at][i] == LIVE;
        changed = !expected;
        assert_ok(roost_filter_remove_dot_hash(filter, &changed, dots->list[i].hash, dots->list[i].dot));
        if (expected)
            dots->standing[at][i] = DEAD;
    } else {
        assert_ok(roost_filter_remove_hash(filter, &changed, hash));
        dots_kill(dots, at, key);
    }
    assert_int_equal(changed, expected);
    assert_order(before, filter, expected ? ROOST_BEFORE : ROOST_EQUAL);
    if (!expected)
        assert_unchanged(before, filter);
    world->removed += expected;
    roost_filter_free(before);
}

static void step_merge_dots(struct remove_world *world, int to, int from, struct random_source *random)
{
    struct dots *dots = &world->dots;
    roost_filter *filter = world->replicas[to], *source = world->replicas[from];
    bool changed, expected = !dots_at_most(dots, from, to);
    assert_order(filter, source, to == from ? ROOST_EQUAL : dots_order(dots, to, from));
    switch (random_choice(random, 3)) {
    case 0:
        assert_ok(roost_filter_merge(filter, &changed, source));
        break;
    case 1:
        source = through_bytes(source);
        assert_ok(roost_filter_merge(filter, &changed, source));
        roost_filter_free(source);
        break;
    default: {
        roost_buffer frame;
        assert_ok(roost_filter_encode(source, &frame));
        assert_ok(roost_filter_merge_frame(filter, &changed, frame.data, frame.size));
        roost_buffer_release(&frame);
    }
    }
    assert_int_equal(changed, expected);
    dots_merge(dots, to, from);
}

/* A crash: another object takes the place of the replica, with the state of now or of a while ago. */
static void step_reincarnate(struct remove_world *world, int at, struct random_source *random)
{
    roost_filter *source = world->replicas[at], *next;
    bool old = random_choice(random, 2);
    source = old ? world->backup : source;
    next = random_choice(random, 2) ? clone_of(source) : through_bytes(source);
    assert_int_equal(roost_filter_get_actor(next), 0);
    assert_true(roost_filter_equal(next, source));
    roost_filter_free(world->replicas[at]);
    world->replicas[at] = next;
    if (old) {
        memcpy(world->dots.standing[at], world->dots.standing[BACKUP], sizeof world->dots.standing[at]);
        world->restored++;
    } else if (random_choice(random, 2)) {
        roost_filter_free(world->backup);
        world->backup = clone_of(next);
        memcpy(world->dots.standing[BACKUP], world->dots.standing[at], sizeof world->dots.standing[at]);
    }
}

static void step_any(struct remove_world *world, struct random_source *random)
{
    int at = (int)random_choice(random, REPLICAS), from = (int)random_choice(random, REPLICAS);
    uint32_t choice = random_choice(random, 40);
    if (choice < 18)
        step_add_dot(world, at, random);
    else if (choice < 32)
        step_remove(world, at, random);
    else if (choice < 39)
        step_merge_dots(world, at, from, random);
    else
        step_reincarnate(world, at, random);
    if (random_choice(random, 8) == 0) {
        assert_ok(roost_filter_check(world->replicas[at]));
        dots_agree(&world->dots, at, world->replicas[at]);
    }
}

/* The grow-only laws, with the rows of the model as witnesses. */
static void assert_remove_laws(struct remove_world *world)
{
    struct world same = {.keys = 0};
    memcpy(same.replicas, world->replicas, sizeof same.replicas);
    assert_lattice(&same);
    for (int i = 0; i < REPLICAS; i++) {
        roost_filter *back = through_bytes(world->replicas[i]);
        assert_ok(roost_filter_check(world->replicas[i]));
        assert_ok(roost_filter_check(back));
        dots_agree(&world->dots, i, world->replicas[i]);
        dots_agree(&world->dots, i, back);
        assert_unchanged(back, world->replicas[i]);
        roost_filter_free(back);
        for (int j = 0; j < REPLICAS; j++) { /* equal digests if, and only if, equal rows */
            roost_digest a = roost_filter_digest(world->replicas[i]), b = roost_filter_digest(world->replicas[j]);
            roost_order order = dots_order(&world->dots, i, j);
            assert_order(world->replicas[i], world->replicas[j], order);
            assert_int_equal(memcmp(&a, &b, sizeof a) == 0, order == ROOST_EQUAL);
        }
    }
}

static void observed_remove_laws_hold(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(16));
    static struct remove_world world;
    uint64_t worlds = count_of_worlds(600);
    for (uint64_t number = 0; number < worlds; number++) {
        remove_world_open(&world, number, &random);
        for (uint32_t step = random_choice(&random, 400); step > 0; step--)
            step_any(&world, &random);
        assert_remove_laws(&world);
        remove_world_close(&world);
    }
    printf("%llu worlds, %llu adds refused, %llu removals, %llu backups restored\n", (unsigned long long)worlds,
           (unsigned long long)world.refused, (unsigned long long)world.removed, (unsigned long long)world.restored);
    assert_true(world.refused > worlds && world.removed > worlds * 5 && world.restored > worlds / 2);
}

/* States that differ have other digests and other bytes, in every kind and also when all are empty. */
static void configurations_do_not_mix(void **state)
{
    (void)state;
    roost_config configs[19];
    for (size_t i = 0; i < COUNT_OF(configs); i++)
        configs[i] = i < 4   ? bloom_config(ROOST_BLOCKED, 1000, 0.01)
                     : i < 9 ? cuckoo_config(10, 4, 1000)
                             : orcuckoo_config(24, 64, i >= 13, 1000);
    configs[1].seed++;
    configs[2].layout = ROOST_CLASSIC;
    configs[3].capacity++;
    configs[5].seed++;
    configs[6].bucket_size = 2;
    configs[7].fingerprint_bits = 11;
    configs[8].capacity++;
    configs[10].seed++;
    configs[11].fingerprint_bits = 16;
    configs[12].bucket_size = 8;
    configs[14].fingerprint_bits = 8;
    configs[15].fingerprint_bits = 8;
    configs[15].entry_bits = 32;
    configs[16] = recording_config(0);
    configs[17] = recording_config(1);
    configs[18] = series_config(3, 0);
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
        cmocka_unit_test(observed_remove_laws_hold),
        cmocka_unit_test(configurations_do_not_mix),
        cmocka_unit_test(digest_follows_every_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
