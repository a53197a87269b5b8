/*
 * Filters that grow. The laws of every kind, with tables that come, empty themselves and are freed; the traces that the
 * thesis's series gets wrong; the promised rate after partitions; tables that spread. test_series_frames.c has their
 * bytes.
 */
#include "dots.h"
#include "exchange.h"
#include "series.h"

#include <math.h>

#include "filter/configuration.h"
#include "cuckoo/gcuckoo.h"

/* ---- laws -------------------------------------------------------------------------------------------------------- */

enum { PEERS = 4, ADDITIONS = 2000 };

/* An exact model: every addition, its element, and how each replica stands to it. */
struct world {
    roost_filter *peers[PEERS];
    uint32_t elements, additions;
    uint32_t element[ADDITIONS];
    uint8_t standing[PEERS][ADDITIONS];
    uint64_t salt;
};

static roost_hash element_hash(const struct world *world, uint32_t element)
{
    return hash_for_key(world->salt + element);
}

static uint32_t live_of(const struct world *world, uint32_t peer, uint32_t element)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < world->additions; i++)
        live += world->element[i] == element && world->standing[peer][i] == LIVE;
    return live;
}

static void kill_all(struct world *world, uint32_t peer, uint32_t element)
{
    for (uint32_t i = 0; i < world->additions; i++)
        if (world->element[i] == element && world->standing[peer][i] == LIVE)
            world->standing[peer][i] = DEAD;
}

static void model_add(struct world *world, uint32_t peer, uint32_t element)
{
    const roost_config *config = roost_filter_get_config(world->peers[peer]);
    if (!config->multiset)
        kill_all(world, peer, element);
    uint32_t i = world->additions++;
    world->element[i] = element;
    for (uint32_t other = 0; other < PEERS; other++)
        world->standing[other][i] = other == peer ? LIVE : UNSEEN;
}

static void step(struct world *world, struct random_source *random)
{
    uint32_t peer = random_choice(random, PEERS), element = random_choice(random, world->elements);
    roost_filter *filter = world->peers[peer], *before = clone_of(filter);
    roost_hash hash = element_hash(world, element);
    bool changed = false, was = roost_filter_contains_hash(filter, hash);
    uint32_t choice = random_choice(random, 16);
    if (choice < 9) {
        assert_ok(roost_filter_add_hash(filter, &changed, hash));
        if (!roost_filter_get_config(filter)->multiset)
            assert_int_equal(changed, !was);
        model_add(world, peer, element);
        assert_true(roost_filter_contains_hash(filter, hash));
        if (!was || removable(filter))
            assert_int_equal(order_of(before, filter), ROOST_BEFORE);
    } else if (choice < 12 && removable(filter)) {
        assert_ok(roost_filter_remove_hash(filter, &changed, hash));
        assert_int_equal(changed, was);
        kill_all(world, peer, element);
        assert_false(roost_filter_contains_hash(filter, hash));
    } else if (choice == 12) {
        assert_ok(roost_filter_transfer_shares(filter, &changed));
        assert_int_equal(order_of(before, filter), changed ? ROOST_BEFORE : ROOST_EQUAL);
    } else {
        uint32_t from = random_choice(random, PEERS);
        roost_filter *source =
            random_choice(random, 2) ? through_bytes(world->peers[from]) : clone_of(world->peers[from]);
        bool unseen = !included(source, filter);
        assert_ok(roost_filter_merge(filter, &changed, source));
        assert_int_equal(changed, unseen);
        assert_true(included(source, filter));
        for (uint32_t i = 0; i < world->additions; i++)
            if (world->standing[peer][i] < world->standing[from][i])
                world->standing[peer][i] = world->standing[from][i];
        roost_filter_free(source);
    }
    assert_true(included(before, filter));
    roost_filter_free(before);
}

static void assert_model(struct world *world)
{
    for (uint32_t peer = 0; peer < PEERS; peer++) {
        roost_filter *filter = world->peers[peer];
        uint64_t live = 0, elements = 0;
        assert_ok(roost_filter_check(filter));
        assert_within_plan(filter);
        for (uint32_t element = 0; element < world->elements; element++) {
            roost_hash hash = element_hash(world, element);
            uint32_t copies = live_of(world, peer, element);
            live += copies;
            elements += copies > 0;
            if (copies)
                assert_true(roost_filter_contains_hash(filter, hash));
            if (removable(filter))
                assert_int_equal(roost_filter_count_hash(filter, hash), filter->config->multiset ? copies : copies > 0);
        }
        if (removable(filter) && filter->config->multiset)
            assert_int_equal(entries_of(filter), live);
        else if (removable(filter))
            assert_true(info_of(filter).elements == (double)elements && entries_of(filter) >= live);
        assert_true(info_of(filter).promise_holds);
    }
}

static void assert_lattice(roost_filter *a, roost_filter *b, roost_filter *c)
{
    roost_filter *aa = merged(a, a), *ab = merged(a, b), *ba = merged(b, a), *bc = merged(b, c);
    roost_filter *ab_c = merged(ab, c), *a_bc = merged(a, bc), *decoded = through_bytes(ab);
    assert_same_all(aa, a);
    assert_same_all(ab, ba);
    assert_same_all(ab_c, a_bc);
    assert_same_all(decoded, ab);
    assert_ok(roost_filter_check(decoded));
    assert_int_equal(included(a, b), roost_filter_equal(ab, b));
    assert_int_equal(included(b, a), roost_filter_equal(ab, a));
    roost_digest x = roost_filter_digest(a), y = roost_filter_digest(b);
    assert_int_equal(memcmp(&x, &y, sizeof x) == 0, roost_filter_equal(a, b));
    for (uint64_t probe = 0; probe < 200; probe++)
        assert_int_equal(roost_filter_contains_hash(ab, hash_for_key(probe)),
                         roost_filter_contains_hash(decoded, hash_for_key(probe)));
    FREE_ALL(aa, ab, ba, bc, ab_c, a_bc, decoded);
}

static void laws_hold(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(1));
    static struct world world;
    uint32_t most_tables = 0;
    for (uint64_t number = 0; number < 60; number++) {
        world.elements = 10 + random_choice(&random, 300);
        world.additions = 0;
        world.salt = random_next(&random);
        roost_config config = some_series_config(number, PEERS + random_choice(&random, 40));
        for (uint32_t i = 0; i < PEERS; i++) {
            roost_environment environment = {.random_seed = random_next(&random), .entropy = {&random, draw_random}};
            assert_ok(roost_filter_new(&world.peers[i], &config, &environment));
        }
        uint32_t steps = 100 + random_choice(&random, 600);
        for (uint32_t i = 0; i < steps; i++)
            step(&world, &random);
        assert_model(&world);
        assert_lattice(world.peers[0], world.peers[1], world.peers[2]);
        for (uint32_t i = 0; i < PEERS; i++) {
            most_tables = info_of(world.peers[i]).tables > most_tables ? info_of(world.peers[i]).tables : most_tables;
            roost_filter_free(world.peers[i]);
        }
    }
    assert_true(most_tables >= 5);
}

/* Many at once are as many one by one, wherever a table fills up on the way. */
static void rows_are_single_calls(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(2));
    enum { N = 1000 };
    static roost_hash hashes[N];
    static bool changed[N];
    for (uint64_t number = 0; number < 40; number++) {
        struct counted_entropy first = {1000, 1, false, 0}, second = first;
        roost_environment one = {.entropy = {&first, draw_counted}}, two = {.entropy = {&second, draw_counted}};
        roost_config config = some_series_config(number, 4 + random_choice(&random, 100));
        roost_filter *rows, *singles;
        size_t done;
        assert_ok(roost_filter_new(&rows, &config, &one));
        assert_ok(roost_filter_new(&singles, &config, &two));
        uint32_t keys = 1 + random_choice(&random, N);
        for (size_t i = 0; i < N; i++)
            hashes[i] = hash_for_key(random_choice(&random, keys));
        assert_ok(roost_filter_add_many_hash(rows, changed, &done, hashes, N));
        assert_int_equal(done, N);
        for (size_t i = 0; i < N; i++) {
            bool grew;
            assert_ok(roost_filter_add_hash(singles, &grew, hashes[i]));
            assert_int_equal(grew, changed[i]);
        }
        assert_same_all(rows, singles);
        assert_int_equal(info_of(rows).inserted, info_of(singles).inserted);
        FREE_ALL(rows, singles);
    }
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

/* A table that was emptied gives its memory back and keeps its causal context: a peer that still holds a removed
   element does not bring it back. */
static void removed_stays_removed_when_tables_are_freed(void **state)
{
    (void)state;
    for (uint64_t number = 3; number < SERIES; number++) {
        roost_config config = series_config(number, 100);
        roost_filter *a = new_filter(&config), *b = new_filter(&config), *empty = new_filter(&config);
        put_many(a, 0, 3000);
        merge(b, a);
        uint64_t full = info_of(b).bytes_memory;
        for (uint64_t key = 50; key < 3000; key++)
            assert_true(config.multiset ? removes_one(b, hash_for_key(key)) : removes(b, hash_for_key(key)));
        assert_true(full - info_of(b).bytes_memory > (3000 - 50) * 5); /* the journal stays */
        roost_filter *late = through_bytes(b), *ab = merged(a, b), *ba = merged(b, a), *from_empty = merged(empty, b);
        merge(late, a);
        merge(from_empty, a);
        assert_same_all(ab, ba);
        assert_same_all(ab, late);
        assert_same_all(ab, from_empty);
        assert_same_all(ab, b);
        uint64_t wrong = 0;
        for (uint64_t key = 0; key < 3000; key++) {
            assert_true(key >= 50 || holds(ab, hash_for_key(key)));
            wrong += key >= 50 && holds(ab, hash_for_key(key));
        }
        assert_true(wrong <= (config.multiset ? 3 : 0)); /* by mistake */
        put_many(ba, 0, 3000);                           /* it wakes up again */
        put_many(late, 0, 3000);
        for (uint64_t key = 0; key < 3000; key++)
            assert_true(holds(ba, hash_for_key(key)));
        assert_lattice(ba, late, a);
        FREE_ALL(a, b, empty, late, ab, ba, from_empty);
    }
}

/* Nothing was removed that is still there. DESIGN 2, fault 4: short fingerprints, so that classes collide. */
static void remove_one_takes_no_other(void **state)
{
    (void)state;
    enum { N = 20000 };
    roost_config config = series_config(4, 100);
    config.fingerprint_bits = 16;
    config.fpr = 0.05;
    config.growth = 2;
    roost_filter *a = new_filter(&config), *b = new_filter(&config);
    put_many(a, 0, N);
    put_many(b, N, N);
    merge(a, b);
    merge(b, a);
    struct random_source random = random_from_seed(test_seed(3));
    static bool gone[2 * N];
    for (uint32_t i = 0; i < N; i++) {
        uint64_t key = random_choice(&random, 2 * N);
        if (gone[key])
            continue;
        gone[key] = true;
        assert_true(removes_one(a, hash_for_key(key)));
    }
    uint64_t lost = 0, live = 0;
    for (uint64_t key = 0; key < 2 * N; key++) {
        live += !gone[key];
        lost += !gone[key] && !holds(a, hash_for_key(key));
    }
    assert_int_equal(lost, 0);
    assert_int_equal(entries_of(a), live);
    assert_ok(roost_filter_check(a));
    FREE_ALL(a, b);
}

/* The first replica has the element in the first table, beside `others`; the second, in the third one. */
static roost_filter *held_in_two_tables(uint64_t others, roost_filter **second)
{
    roost_config config = series_config(3, 50);
    roost_filter *first = new_series(&config);
    *second = new_series(&config);
    put(first, 7);
    put_many(*second, 1000, 50);
    put_many(*second, 2000, 450);
    put(*second, 7);
    for (uint64_t key = 1000; key < 1050 - others; key++)
        assert_true(removes(*second, hash_for_key(key)));
    merge(first, *second);
    return first;
}

static uint64_t entries_in(const roost_filter *filter, uint32_t table, uint64_t key)
{
    roost_hash hash = hash_for_key(key);
    return as_const_series(filter)->table_kind->removal.count(as_const_series(filter)->tables[table], hash);
}

/* In a set an addition takes the place of what finer tables hold of the element; a table that is past its capacity
   keeps what it has. Either way it counts once, and a removal takes all. */
static void supersedes_in_finer_tables(void **state)
{
    (void)state;
    for (uint64_t others = 48; others <= 50; others++) {
        roost_filter *b, *a = held_in_two_tables(others, &b);
        uint64_t before = entries_of(a), elements = (uint64_t)info_of(a).elements;
        bool has_room = others < 50;
        assert_true(entries_in(a, 0, 7) == 1 && entries_in(a, 2, 7) == 1);
        assert_int_equal(elements, others + 451);
        put(a, 7);
        assert_int_equal(entries_of(a), before - has_room);
        assert_true(entries_in(a, 0, 7) == 1 && entries_in(a, 2, 7) == !has_room);
        assert_int_equal((uint64_t)info_of(a).elements, elements);
        put(a, 7); /* once more: nothing changes */
        assert_int_equal(entries_of(a), before - has_room);
        assert_true(removes(a, hash_for_key(7)));
        assert_false(holds(a, hash_for_key(7)));
        merge(b, a);
        assert_false(holds(b, hash_for_key(7)));
        FREE_ALL(a, b);
    }
}

/* Two elements that the first table cannot tell apart: adding one again never hides the other, wherever they are. */
static void adding_again_hides_nothing(void **state)
{
    (void)state;
    enum { N = 40 };
    roost_config config = series_config(3, N);
    config.fingerprint_bits = 16;
    config.writers = 2;
    for (uint64_t past = 0; past < 2; past++) {
        roost_filter *a = new_series(&config), *b = new_series(&config);
        put_many(a, 0, N);
        put_many(b, 1000, N);
        if (past)
            merge(a, b);
        assert_int_equal(info_of(a).tables, 1);
        struct cuckoo_geometry first = orcuckoo_kind.table.geometry(as_const_series(a)->tables[0]);
        roost_hash hash = hash_for_key(5), twin = hash;
        for (uint32_t bit = 0;
             class_for(as_const_series(a)->tables[0], twin) != class_for(as_const_series(a)->tables[0], hash) ||
             twin.high == hash.high;
             bit++)
            twin.high = hash.high ^ UINT64_C(1) << (63 - first.bits - bit % 8);
        assert_true(roost_filter_contains_hash(a, twin)); /* by mistake */
        assert_ok(roost_filter_add_hash(a, NULL, twin));
        assert_int_equal(info_of(a).tables, 1 + past);
        assert_true(roost_filter_contains_hash(a, hash) && roost_filter_contains_hash(a, twin));
        assert_ok(roost_filter_add_hash(a, NULL, hash));
        assert_ok(roost_filter_add_hash(a, NULL, twin));
        assert_true(roost_filter_contains_hash(a, hash) && roost_filter_contains_hash(a, twin));
        assert_ok(roost_filter_check(a));
        FREE_ALL(a, b);
    }
}

static void dots_name_their_table(void **state)
{
    (void)state;
    enum { N = 600 };
    for (uint64_t number = 3; number < SERIES; number++) {
        roost_config config = series_config(number, 40);
        roost_filter *a = new_filter(&config), *b = new_filter(&config);
        static roost_dot dots[N];
        uint64_t tables = 0;
        for (uint32_t i = 0; i < N; i++) {
            dots[i] = add(i % 3 ? a : b, hash_for_key(i));
            tables |= UINT64_C(1) << (dots[i].actor & (MOST_TABLES - 1));
            for (uint32_t j = 0; j < i; j++)
                assert_true(dots[i].actor != dots[j].actor || dots[i].counter != dots[j].counter);
        }
        assert_true(tables == 7 || tables == 15 || !is_series(number));
        merge(a, b);
        for (uint32_t i = 0; i < N; i += 2) {
            assert_false(removes_dot(a, hash_for_key(i), (roost_dot){dots[i].actor ^ 1, dots[i].counter}));
            assert_true(removes_dot(a, hash_for_key(i), dots[i]));
            assert_false(removes_dot(a, hash_for_key(i), dots[i]));
        }
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(holds(a, hash_for_key(i)), i % 2);
        FREE_ALL(a, b);
    }
}

static void many_copies_of_one(void **state)
{
    (void)state;
    roost_config config = series_config(4, 20);
    roost_filter *a = new_filter(&config);
    for (uint32_t i = 0; i < 500; i++)
        assert_ok(roost_filter_add_hash(a, NULL, hash_for_key(1)));
    assert_int_equal(roost_filter_count_hash(a, hash_for_key(1)), 500);
    for (uint32_t i = 500; i > 0; i--) {
        assert_int_equal(roost_filter_count_hash(a, hash_for_key(1)), i);
        assert_true(removes_one(a, hash_for_key(1)));
    }
    assert_false(removes_one(a, hash_for_key(1)));
    roost_filter *decoded = through_bytes(a);
    assert_same_all(a, decoded);
    FREE_ALL(a, decoded);
}

/* ---- the promise ------------------------------------------------------------------------------------------------- */

/* Two writers. The first fills its tables, the second hears of it; then the first removes all of it, while the second
   adds it again. */
static void adding_again_keeps_the_rate(void **state)
{
    (void)state;
    enum { N = 1000, ROUNDS = 30, PROBES = 500000 };
    roost_config config = series_config(3, N);
    config.writers = 2;
    config.fingerprint_bits = 16;
    config.fpr = 0.00037;
    roost_filter *a = new_filter(&config), *b = new_filter(&config);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        put_many(a, round * N, N);
        merge(b, a);
        for (uint64_t key = round * N; key < (round + 1) * N; key++) {
            assert_ok(roost_filter_remove_hash(a, NULL, hash_for_key(key)));
            put(b, key);
        }
        assert_within_plan(b);
    }
    merge(a, b);
    roost_info info = info_of(a);
    uint64_t mistakes = 0;
    for (uint64_t key = 0; key < ROUNDS * N; key++)
        assert_true(holds(a, hash_for_key(key)));
    for (uint64_t probe = 0; probe < PROBES; probe++)
        mistakes += holds(a, hash_for_key((UINT64_C(1) << 40) + probe));
    printf("promised %.5f, now %.5f, measured %.5f, %u tables\n", config.fpr, info.fpr_now, (double)mistakes / PROBES,
           info.tables);
    assert_within_plan(a);
    assert_true(info.promise_holds && info.fpr_now <= config.fpr);
    assert_true((double)mistakes / PROBES <= config.fpr);
    assert_true(info.elements <= ROUNDS * N && info.elements > ROUNDS * N - 100);
    FREE_ALL(a, b);
}

/* A peer adds what is new, what it holds, or what it once heard of; or removes most of what it holds; or merges. */
static void rush(struct world *world, struct random_source *random, uint32_t writers)
{
    uint32_t peer = random_choice(random, writers), from = random_choice(random, writers);
    uint32_t choice = random_choice(random, 4), first = random_choice(random, world->elements);
    roost_filter *filter = world->peers[peer];
    for (uint32_t i = 0; i < world->elements && world->additions < ADDITIONS && choice < 3; i++) {
        uint32_t element = (first + i) % world->elements;
        bool is_held = live_of(world, peer, element) > 0, will = random_choice(random, 8) > 0;
        if (choice < 2 && will && i < world->elements / 3) {
            assert_ok(roost_filter_add_hash(filter, NULL, element_hash(world, element)));
            model_add(world, peer, element);
        } else if (choice == 2 && will && is_held) {
            assert_ok(roost_filter_remove_hash(filter, NULL, element_hash(world, element)));
            kill_all(world, peer, element);
        }
    }
    if (choice < 3 || peer == from)
        return;
    merge(filter, world->peers[from]);
    for (uint32_t i = 0; i < world->additions; i++)
        if (world->standing[peer][i] < world->standing[from][i])
            world->standing[peer][i] = world->standing[from][i];
}

/* As many writers as were promised, who add, remove and add again whatever they like, and meet when they like: no table
   of any state that can come of it errs more than its part, by exact count. */
static void writers_keep_the_rate(void **state)
{
    (void)state;
    only_as_shipped();
    struct random_source random = random_from_seed(test_seed(9));
    static struct world world;
    double nearest = 0;
    for (uint64_t number = 0; number < 120; number++) {
        uint32_t writers = 1 + (uint32_t)number % PEERS;
        roost_config config = some_series_config(3 + SERIES * (number / PEERS), 10 + random_choice(&random, 20));
        config.capacity = 10 + random_choice(&random, 20);
        config.writers = writers;
        config.fpr = 0.004;
        config.fingerprint_bits = 16;
        world.elements = 2 * (uint32_t)config.capacity + random_choice(&random, 100);
        world.additions = 0;
        world.salt = random_next(&random);
        memset(world.standing, 0, sizeof world.standing);
        for (uint32_t i = 0; i < PEERS; i++)
            world.peers[i] = new_filter(&config);
        for (uint32_t i = 0; i < 60; i++) {
            rush(&world, &random, writers);
            roost_filter *all = clone_of(world.peers[0]);
            for (uint32_t j = 1; j < writers; j++)
                merge(all, world.peers[j]);
            roost_info info = info_of(all);
            assert_within_plan(all);
            assert_true(info.promise_holds && info.fpr_now <= config.fpr);
            double filled = fullest_length(all);
            nearest = writers > 1 && filled > nearest ? filled : nearest;
            roost_filter_free(all);
        }
        for (uint32_t peer = 0; peer < writers; peer++)
            for (uint32_t element = 0; element < world.elements; element++)
                if (live_of(&world, peer, element))
                    assert_true(holds(world.peers[peer], element_hash(&world, element)));
        for (uint32_t i = 0; i < PEERS; i++)
            assert_ok(roost_filter_check(world.peers[i]));
        free_all(world.peers, PEERS);
    }
    printf("the fullest length had %.2f of what its writers may add\n", nearest);
    assert_true(nearest > 0.8); /* the bound is no idle one */
}

static double measured_rate(const roost_filter *filter)
{
    enum { PROBES = 50000 };
    uint64_t found = 0;
    for (uint64_t probe = 0; probe < PROBES; probe++)
        found += roost_filter_contains_hash(filter, hash_for_key((UINT64_C(1) << 40) + probe));
    return (double)found / PROBES;
}

static void heal(const roost_config *config, uint64_t replicas, const uint64_t *sizes)
{
    roost_filter *filters[16] = {NULL};
    uint64_t first = 0;
    for (uint64_t i = 0; i < replicas; i++, first += sizes[i - 1]) {
        filters[i] = new_filter(config);
        put_many(filters[i], first, sizes[i]);
        assert_true(i > 0 || measured_rate(filters[i]) <= config->fpr);
    }
    for (uint64_t i = 1; i < replicas; i++)
        merge(filters[0], filters[i]);
    roost_filter *other = clone_of(filters[replicas - 1]);
    for (uint64_t i = replicas - 1; i-- > 0;)
        merge(other, filters[i]);
    assert_same_all(filters[0], other);
    assert_ok(roost_filter_check(filters[0]));
    assert_ok(roost_filter_check(other));
    assert_within_plan(other);
    for (uint64_t key = 0; key < first; key++)
        assert_true(roost_filter_contains_hash(filters[0], hash_for_key(key)) &&
                    roost_filter_contains_hash(other, hash_for_key(key)));
    roost_info info = info_of(filters[0]);
    assert_true(info.promise_holds && info.fpr_now <= config->fpr);
    double rate = measured_rate(filters[0]);
    assert_true(rate <= config->fpr && rate <= info.fpr_now * 1.25 + 0.0005);
    assert_true(config->kind != ROOST_CUCKOO || info.overflow < first / 20);
    put_many(other, first, 300); /* life goes on */
    for (uint64_t key = 0; key < first + 300; key++)
        assert_true(roost_filter_contains_hash(other, hash_for_key(key)));
    roost_filter_free(other);
    free_all(filters, replicas);
}

static void partitions_heal_within_the_promise(void **state)
{
    (void)state;
    only_as_shipped();
    for (uint64_t number = 0; number < SERIES; number++) {
        roost_config config = series_config(number, 500);
        static const uint64_t even[] = {1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500};
        static const uint64_t uneven[] = {9900, 100}, brim[] = {500, 500, 500, 500, 500, 500, 500, 500, 500, 500};
        config.writers = 10;
        heal(&config, 10, even);
        heal(&config, 10, brim);
        heal(&config, 2, uneven);
    }
}

/* Shares: random additions, merges and lending, also at the same time, by as many as the configuration names. */
static void shares_are_never_overdrawn(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(4));
    uint64_t lent = 0;
    for (uint64_t number = 0; number < 30; number++) {
        roost_filter *filters[8];
        uint64_t next = 0;
        roost_config config = series_config(number % 2, 0);
        config.writers = 1 + random_choice(&random, 8);
        config.capacity = config.writers + random_choice(&random, 200);
        for (uint32_t i = 0; i < config.writers; i++) {
            filters[i] = new_filter(&config);
            put(filters[i], next++); /* all are writers, though some hardly write */
        }
        uint32_t busy = 1 + random_choice(&random, config.writers);
        for (uint32_t i = 0; i < 300; i++) {
            roost_filter *filter = filters[random_choice(&random, config.writers)];
            bool gave;
            switch (random_choice(&random, 3)) {
            case 0:
                for (uint32_t j = random_choice(&random, 20); j > 0; j--)
                    put(filters[random_choice(&random, busy)], next++);
                break;
            case 1:
                merge(filter, filters[random_choice(&random, config.writers)]);
                break;
            default:
                assert_ok(roost_filter_transfer_shares(filter, &gave));
                lent += gave;
            }
            assert_within_plan(filter);
        }
        for (uint32_t i = 1; i < config.writers; i++)
            merge(filters[0], filters[i]);
        assert_within_plan(filters[0]);
        assert_true(info_of(filters[0]).promise_holds);
        assert_true(info_of(filters[0]).inserted <= next && (double)info_of(filters[0]).inserted >= 0.9 * (double)next);
        free_all(filters, config.writers);
    }
    assert_true(lent > 20);
}

/* What was lent is used: the tables of a lonely writer fill up. */
static void transfers_fills_tables(void **state)
{
    (void)state;
    roost_config config = series_config(0, 1000);
    roost_filter *a = new_filter(&config), *alone = new_filter(&config), *b = new_filter(&config);
    put_many(b, UINT64_C(1) << 40, 1); /* who never added has no share to lend */
    for (uint64_t round = 0; round < 200; round++) {
        put_many(a, round * 100, 100);
        put_many(alone, round * 100, 100);
        merge(b, a);
        assert_ok(roost_filter_transfer_shares(b, NULL));
        merge(a, b);
    }
    assert_within_plan(a);
    assert_true(info_of(a).tables <= info_of(alone).tables);
    assert_true(quota_spent_in(&as_series(a)->quota, 0) > quota_spent_in(&as_series(alone)->quota, 0));
    FREE_ALL(a, alone, b);
}

/* Where nobody adds, gifts end: a sync of filters that agree changes nothing. */
static void transfers_comes_to_rest(void **state)
{
    (void)state;
    enum { PARTIES = 3 };
    struct random_source random = random_from_seed(test_seed(52));
    for (uint32_t world = 0; world < 60; world++) {
        roost_config config = series_config(0, 900);
        config.writers = PARTIES;
        roost_filter *parties[PARTIES];
        for (uint64_t i = 0; i < PARTIES; i++) {
            parties[i] = new_filter(&config);
            put_many(parties[i], i << 40, 1 + random_choice(&random, 1500));
        }
        bool any = true;
        for (uint32_t round = 0; any; round++) {
            any = false;
            assert_true(round <= PARTIES + 1);
            for (uint32_t i = 0; i < 2 * PARTIES; i++)
                merge(parties[(i + 1) % PARTIES], parties[i % PARTIES]);
            for (uint32_t i = 0; i < PARTIES; i++) {
                bool gave = false;
                assert_ok(roost_filter_transfer_shares(parties[i], &gave));
                any |= gave;
            }
        }
        for (uint32_t i = 0; i < PARTIES; i++)
            roost_filter_free(parties[i]);
    }
}

/* ---- nesting and spreading --------------------------------------------------------------------------------------- */

static void classes_nest(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(5));
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t base = 6 + random_choice(&random, 12), n0 = 1 + random_choice(&random, i % 2 ? 20 : 5000);
        uint32_t level = random_choice(&random, 10), finer = level + random_choice(&random, 6);
        uint32_t extra = random_choice(&random, 8), more = extra + random_choice(&random, 6);
        struct cuckoo_geometry coarse = {n0 << level, base + extra, 4, 0, level, extra};
        struct cuckoo_geometry fine = {n0 << finer, base + more, 4, 0, finer, more};
        roost_hash hash = {random_next(&random), random_next(&random)};
        struct place a = place_of_hash(hash, coarse), b = place_of_hash(hash, fine);
        if (extra > 0 || more == 0) { /* a table without further bits draws its fingerprint in the same way */
            assert_int_equal(b.fingerprint >> (more - extra), a.fingerprint);
            assert_int_equal(b.bucket >> (finer - level), a.bucket);
            assert_int_equal(b.other >> (finer - level), a.other);
        } else {
            assert_int_equal(b.fingerprint >> more, a.fingerprint);
        }
        assert_true(b.bucket < fine.buckets && b.other < fine.buckets && b.fingerprint != 0);
        assert_int_equal(other_bucket(b.other, b.fingerprint, fine), b.bucket);
        uint64_t key = class_key(b, fine);
        assert_true(key < class_universe(fine));
        assert_int_equal(class_key(other_place(b), fine), key);
        struct place back = place_of_class(key, fine);
        assert_int_equal(class_key(back, fine), key);
        assert_true((back.bucket == b.bucket && back.other == b.other) ||
                    (back.bucket == b.other && back.other == b.bucket));
        struct place coarser = place_in(back.bucket >> (finer - level), back.fingerprint >> (more - extra), coarse);
        assert_int_equal(class_key(coarser, coarse), class_key(a, coarse));
    }
}

/* 10^9 elements and more at the rates that people ask for, and a clear end where there is one. */
static void growth_goes_far(void **state)
{
    (void)state;
    static const struct {
        double fpr;
        uint64_t least[3]; /* of each kind */
    } rates[] = {{0.01, {16000000000, 16000000000, 2000000000}},
                 {0.0001, {16000000000, 16000000000, 2000000000}},
                 {0.00001, {2000000000, 2000000000, 2000000000}},
                 {0.000001, {2000000000, 2000000000, 2000000000}}};
    for (size_t i = 0; i < COUNT_OF(rates); i++)
        for (uint64_t number = 0; number < SERIES; number++) {
            roost_config config = series_config(number, 1000);
            config.fpr = rates[i].fpr;
            roost_filter *filter = new_filter(&config);
            uint64_t limit = info_of(filter).growth_limit, sum = 0;
            struct table_plan plan = {0}, before = {0};
            assert_true(limit >= rates[i].least[config.kind - 1]);
            for (uint32_t index = 0; index < MOST_TABLES && is_series(number); index++, before = plan) {
                if (!series_plan_table(&plan, roost_filter_get_config(filter), as_series(filter)->buckets, index))
                    break;
                if (sum == limit && config.kind == ROOST_BLOOM) /* no array keeps such a rate */
                    break;
                sum += config.kind == ROOST_BLOOM ? plan.share : plan.capacity;
                assert_true(plan.geometry.level >= before.geometry.level && plan.geometry.bits >= before.geometry.bits);
                assert_true(plan.geometry.bits <= 32);
            }
            assert_true(sum == limit || !is_series(number));
            roost_filter_free(filter);
        }
}

/* The longest fingerprints, thin tables. */
static void low_rates_grow(void **state)
{
    (void)state;
    only_as_shipped();
    enum { N = 220000 };
    for (uint64_t number = 2; number < SERIES; number++) {
        roost_config config = series_config(number, 1000);
        config.fpr = 1e-6;
        config.growth = 2;
        roost_filter *filter = new_filter(&config), *other = new_filter(&config);
        put_many(filter, 0, N);
        put_many(other, N / 2, 2000);
        merge(filter, other);
        for (uint64_t key = 0; key < N; key++)
            assert_true(holds(filter, hash_for_key(key)));
        uint64_t wrong = 0;
        for (uint64_t key = 0; key < rounds_of(1000000); key++)
            wrong += holds(filter, hash_for_key(UINT64_C(1) << 40 | key));
        assert_true(wrong <= 3); /* one is promised, at four times as many entries */
        assert_true(info_of(filter).promise_holds);
        assert_ok(roost_filter_check(filter));
        roost_filter *decoded = through_bytes(filter);
        assert_same_all(decoded, filter);
        FREE_ALL(filter, other, decoded);
    }
}

/* Where it ends, the add says so and changes nothing. */
static void growth_ends_clearly(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < SERIES; number++) {
        roost_config config = series_config(number, 4);
        config.growth = 1;
        config.schedule = ROOST_QUADRATIC; /* gentle parts end where no test gets */
        config.fpr = number < 2 ? 0.01 : 1e-5;
        roost_filter *filter = new_filter(&config);
        roost_status status = ROOST_OK;
        uint64_t added = 0, limit = info_of(filter).growth_limit;
        while (added <= limit && (status = roost_filter_add_hash(filter, NULL, hash_for_key(added))) == ROOST_OK)
            added++;
        assert_int_equal(status, ROOST_FULL);
        assert_true(added >= limit && added <= limit + 2); /* beside those that were there by mistake */
        struct portrait before = portrait_of(filter);
        assert_int_equal(roost_filter_add_hash(filter, NULL, hash_for_key(added)), ROOST_FULL);
        assert_still(&before, filter);
        FREE_ALL(filter);
    }
}

static const struct cuckoo_table *slots_of_table(const roost_filter *filter, uint32_t index)
{
    const roost_filter *table = as_const_series(filter)->tables[index];
    return filter->config->kind == ROOST_CUCKOO ? &((const struct gcuckoo *)table)->table
                                                : &as_const_orcuckoo(table)->table;
}

static int32_t spread_of(const roost_filter *filter)
{
    return slots_of_table(filter, 0)->spread;
}

/* Nested places are worked out once for all tables: each takes the first bits. */
static void nested_places_serve_all_tables(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(51));
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t base = 6 + random_choice(&random, 12), n0 = 1 + random_choice(&random, i % 2 ? 20 : 5000);
        uint32_t level = random_choice(&random, 18), extra = random_choice(&random, 15);
        struct cuckoo_geometry geometry = {n0 << level, base + extra, 4, 0, level, extra};
        struct cuckoo_geometry first = {n0, base + 3, 4, 0, 0, 3};
        roost_hash hash = {random_next(&random), random_next(&random)};
        struct place place = place_of_hash(hash, geometry);
        struct nested_place nested = nested_place_of_hash(hash, first);
        struct place taken = place_of_nested(&nested, level, extra);
        assert_memory_equal(&taken, &place, sizeof place);
    }
}

/* Tables whose rows double as they fill are in no way different from those that got all their rows at once. */
static void folding_shows_nowhere(void **state)
{
    (void)state;
    for (uint64_t number = 3; number < SERIES; number++)
        for (uint32_t size = 1; size <= 8; size *= is_long() ? 2 : 8) {
            enum { N = 40000 };
            roost_config config = series_config(number, 2000);
            config.growth = 8;
            config.bucket_size = size;
            roost_filter *grown = new_series(&config), *late = new_series(&config);
            int32_t before = 0, layouts = 0;
            for (uint64_t key = 0; key < N; key += 500) {
                put_many(grown, key, 500);
                if (info_of(grown).tables < 3)
                    continue;
                int32_t spread = slots_of_table(grown, 2)->spread;
                layouts += spread != before;
                before = spread;
                if (key % (is_brief() ? 12000 : 4000) == 0) {
                    roost_filter *decoded = through_bytes(grown);
                    merge(late, grown);
                    assert_same_all(grown, decoded);
                    assert_ok(roost_filter_check(grown));
                    assert_ok(roost_filter_check(late));
                    FREE_ALL(decoded);
                }
            }
            assert_true(layouts >= 2 && before < 0);
            uint64_t slots = 0;
            for (uint32_t i = 0; i < 3; i++)
                slots += (uint64_t)slots_of_table(grown, i)->shape.buckets * size;

            assert_true(slots < 5 * N / 2 && info_of(grown).overflow < N / 20);
            merge(late, grown);
            assert_same_all(grown, late);
            for (uint64_t key = 0; key < N; key++)
                assert_true(roost_filter_contains_hash(grown, hash_for_key(key)));
            FREE_ALL(grown, late);
        }
}

/* Slots that tell part of the bucket have less room for actors: entries of the last ones wait in the stash. */
static void folded_slots_hold_as_many_actors_as_they_can(void **state)
{
    (void)state;
    enum { N = 3000, ACTORS = 300 };
    roost_config config = series_config(3, 1000);
    config.growth = 8;
    config.capacity = 1000;
    roost_filter *sum = new_series(&config), *parts[ACTORS];
    put_many(sum, 0, N); /* so that the next ones go to a table that is folded */
    for (uint64_t i = 0; i < ACTORS; i++) {
        parts[i] = clone_of(sum);
        put_many(parts[i], N + 2 * i, 2);
    }
    for (uint64_t i = 0; i < ACTORS; i++)
        merge(sum, parts[i]);
    assert_true(slots_of_table(sum, 1)->spread < 0);
    assert_ok(roost_filter_check(sum));
    for (uint64_t key = 0; key < N + 2 * ACTORS; key++)
        assert_true(roost_filter_contains_hash(sum, hash_for_key(key)));
    roost_filter *decoded = through_bytes(sum), *back = clone_of(parts[7]);
    merge(back, sum);
    assert_same_all(sum, decoded);
    assert_same_all(sum, back);
    for (uint64_t key = N; key < N + 2 * ACTORS; key++) {
        put_many(sum, key, 1); /* takes the place of the other actor's */
        assert_true(removes(sum, hash_for_key(key)));
        assert_false(roost_filter_contains_hash(sum, hash_for_key(key)));
    }
    merge(back, sum);
    assert_same_all(sum, back);
    for (uint64_t i = 0; i < ACTORS; i++)
        FREE_ALL(parts[i]);
    FREE_ALL(sum, decoded, back);
}

/* Tables that have spread are in no way different. */
static void spreading_shows_nowhere(void **state)
{
    (void)state;
    for (uint64_t number = 3; number < SERIES; number++)
        for (uint32_t size = 1; size <= 8; size *= 2) {
            enum { WRITERS = 8, N = 300 };
            roost_config config = series_config(number, N);
            config.writers = WRITERS;
            config.bucket_size = size;
            roost_filter *parts[WRITERS], *sum = new_series(&config);
            for (uint64_t i = 0; i < WRITERS; i++) {
                parts[i] = new_series(&config);
                put_many(parts[i], i * N, N);
                assert_int_equal(spread_of(parts[i]), 0);
                merge(sum, parts[i]);
            }
            assert_true(spread_of(sum) > 0);
            assert_true(info_of(sum).overflow < WRITERS * N / 10);
            roost_filter *decoded = through_bytes(sum), *twin = clone_of(sum), *back = clone_of(parts[3]);
            merge(back, sum);
            merge(twin, parts[2]);
            assert_same_all(sum, decoded);
            assert_same_all(sum, twin);
            assert_same_all(sum, back);
            assert_int_equal(order_of(parts[1], sum), ROOST_BEFORE);
            for (uint64_t key = 0; key < WRITERS * N; key++)
                assert_true(roost_filter_contains_hash(sum, hash_for_key(key)) &&
                            roost_filter_contains_hash(decoded, hash_for_key(key)));
            if (removable(sum)) {
                for (uint64_t key = 0; key < WRITERS * N; key++)
                    assert_int_equal(removes(sum, hash_for_key(key)), true);
                assert_int_equal(entries_of(sum), 0);
                merge(back, sum);
                assert_same_all(sum, back);
                put_many(sum, 0, 2 * N);
                for (uint64_t key = 0; key < 2 * N; key++)
                    assert_true(roost_filter_contains_hash(sum, hash_for_key(key)));
            }
            assert_ok(roost_filter_check(sum));
            assert_ok(roost_filter_check(back));
            free_all(parts, WRITERS);
            FREE_ALL(sum, decoded, twin, back);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_hold),
        cmocka_unit_test(rows_are_single_calls),
        cmocka_unit_test(removed_stays_removed_when_tables_are_freed),
        cmocka_unit_test(remove_one_takes_no_other),
        cmocka_unit_test(supersedes_in_finer_tables),
        cmocka_unit_test(adding_again_hides_nothing),
        cmocka_unit_test(adding_again_keeps_the_rate),
        cmocka_unit_test(writers_keep_the_rate),
        cmocka_unit_test(dots_name_their_table),
        cmocka_unit_test(many_copies_of_one),
        cmocka_unit_test(partitions_heal_within_the_promise),
        cmocka_unit_test(shares_are_never_overdrawn),
        cmocka_unit_test(transfers_fills_tables),
        cmocka_unit_test(transfers_comes_to_rest),
        cmocka_unit_test(classes_nest),
        cmocka_unit_test(nested_places_serve_all_tables),
        cmocka_unit_test(folding_shows_nowhere),
        cmocka_unit_test(folded_slots_hold_as_many_actors_as_they_can),
        cmocka_unit_test(growth_goes_far),
        cmocka_unit_test(low_rates_grow),
        cmocka_unit_test(growth_ends_clearly),
        cmocka_unit_test(spreading_shows_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
