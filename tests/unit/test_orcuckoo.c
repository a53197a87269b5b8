/*
 * The observed-remove cuckoo filter: the figures of the thesis (Conflict-Free Replicated Probabilistic Filter, section
 * 3.4), what its calls promise, thousands of incarnations, full tables and memory limits. Who an actor is:
 * test_replica.c; the laws: test_laws.c; deltas: test_delta.c; bytes: test_frame.c.
 */
#include "forge.h"

#include <time.h>

static roost_filter *merged(const roost_filter *a, const roost_filter *b)
{
    roost_filter *sum = clone_of(a), *mirror = clone_of(b);
    assert_ok(roost_filter_merge(sum, NULL, b));
    assert_ok(roost_filter_merge(mirror, NULL, a));
    assert_same_frame(sum, mirror);
    assert_ok(roost_filter_check(sum));
    roost_filter_free(mirror);
    return sum;
}

/* Another key of the same class, by search from `from` on. */
static roost_hash colliding_with(const roost_filter *filter, roost_hash hash, uint64_t from)
{
    while (class_for(filter, hash_for_key(from)) != class_for(filter, hash))
        from++;
    return hash_for_key(from);
}

/* ---- the figures of the thesis ----------------------------------------------------------------------------------- */

static uint32_t bucket_of(const roost_filter *filter, roost_hash hash)
{
    struct slot_match matches[MOST_MATCHES];
    struct place place = place_for(filter, hash);
    assert_int_equal(cuckoo_table_matches(&as_const_orcuckoo(filter)->table, &place, matches), 1);
    return matches[0].bucket;
}

/* A third element whose arrival displaces the first one, by search: its buckets are those of the two. */
static roost_filter *with_displacing(const roost_filter *filter, roost_hash e1, roost_hash *e3)
{
    for (uint64_t key = 1000;; key++) {
        roost_filter *copy = clone_of(filter);
        *e3 = hash_for_key(key);
        if (roost_filter_add_hash(copy, NULL, *e3) == ROOST_OK && bucket_of(copy, e1) != bucket_of(filter, e1))
            return copy;
        roost_filter_free(copy);
        assert_true(key < 100000);
    }
}

/* Figure 3.3: e1 was displaced over there and stays; e2 was seen and removed and goes; e3 is new and comes. */
static void figure_3_3_merge(void **state)
{
    (void)state;
    roost_config configs[] = {orcuckoo_config(24, 64, false, 8), orcuckoo_config(8, 64, true, 8),
                              orcuckoo_config(8, 32, true, 8)};
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        configs[i].bucket_size = 1;
        roost_filter *first = new_filter(&configs[i]), *second, *sum;
        roost_hash e1 = hash_for_key(1), e2 = hash_for_key(2), e3;
        add(first, e1);
        add(first, e2);
        second = with_displacing(first, e1, &e3);
        assert_true(removes(first, e2));
        assert_true(holds(second, e2));
        sum = merged(first, second);
        assert_true(holds(sum, e1) && !holds(sum, e2) && holds(sum, e3));
        assert_int_equal(entries_of(sum), 2);
        FREE_ALL(first, second, sum);
    }
}

/* Two replicas that have both seen e4 and e5, which collide, with their dots. */
struct pair {
    roost_filter *a, *b;
    roost_hash e4, e5;
    roost_dot d4, d5;
};

static struct pair pair_of(roost_config config, bool collide)
{
    struct pair pair = {.a = new_filter(&config), .b = new_filter(&config), .e4 = hash_for_key(4)};
    pair.e5 = collide ? colliding_with(pair.a, pair.e4, 5) : hash_for_key(5);
    pair.d4 = add(pair.a, pair.e4);
    pair.d5 = add(pair.b, pair.e5);
    assert_ok(roost_filter_merge(pair.a, NULL, pair.b));
    assert_ok(roost_filter_merge(pair.b, NULL, pair.a));
    return pair;
}

static roost_filter *close_pair(struct pair *pair)
{
    roost_filter *sum = merged(pair->a, pair->b);
    FREE_ALL(pair->a, pair->b);
    return sum;
}

/* Figure 3.4a: both replicas remove e4, and each picks another entry: e5 is gone, though nobody removed it. */
static void figure_3_4a_false_negative(void **state)
{
    (void)state;
    roost_config multisets[] = {orcuckoo_config(8, 64, true, 10), orcuckoo_config(8, 32, true, 10)};
    for (size_t i = 0; i < COUNT_OF(multisets); i++) {
        struct pair pair = pair_of(multisets[i], true);
        assert_true(removes_dot(pair.a, pair.e4, pair.d4) && removes_dot(pair.b, pair.e4, pair.d5));
        assert_true(holds(pair.a, pair.e5) && holds(pair.b, pair.e5)); /* each is right by itself */
        roost_filter *sum = close_pair(&pair);
        assert_false(holds(sum, pair.e5));
        roost_filter_free(sum);

        pair = pair_of(multisets[i], true); /* remove_one: both pick the same, and e5 stays */
        assert_true(removes_one(pair.a, pair.e4) && removes_one(pair.b, pair.e4));
        sum = close_pair(&pair);
        assert_true(holds(sum, pair.e5));
        assert_int_equal(roost_filter_count_hash(sum, pair.e5), 1);
        roost_filter_free(sum);

        pair = pair_of(multisets[i], true); /* remove_dot with the dot that the add returned */
        assert_true(removes_dot(pair.a, pair.e4, pair.d4) && removes_dot(pair.b, pair.e4, pair.d4));
        sum = close_pair(&pair);
        assert_true(holds(sum, pair.e5));
        roost_filter_free(sum);
    }
    struct pair pair = pair_of(orcuckoo_config(24, 64, false, 10), false); /* a set tells the two apart */
    assert_true(removes(pair.a, pair.e4) && removes(pair.b, pair.e4));
    roost_filter *sum = close_pair(&pair);
    assert_true(holds(sum, pair.e5) && !holds(sum, pair.e4));
    roost_filter_free(sum);
}

/* Figure 3.4b: one removes e4, the other e5, both pick the same entry: one is left over, though both were removed. */
static void figure_3_4b_false_positive(void **state)
{
    (void)state;
    roost_config multisets[] = {orcuckoo_config(8, 64, true, 10), orcuckoo_config(8, 32, true, 10)};
    for (size_t i = 0; i < COUNT_OF(multisets); i++) {
        struct pair pair = pair_of(multisets[i], true);
        assert_true(removes_dot(pair.a, pair.e4, pair.d4) && removes_dot(pair.b, pair.e5, pair.d4));
        roost_filter *sum = close_pair(&pair);
        assert_true(holds(sum, pair.e4) && holds(sum, pair.e5));
        roost_filter_free(sum);

        pair = pair_of(multisets[i], true); /* remove_one does just that: one too few rather than one too many */
        assert_true(removes_one(pair.a, pair.e4) && removes_one(pair.b, pair.e5));
        sum = close_pair(&pair);
        assert_int_equal(entries_of(sum), 1);
        roost_filter_free(sum);

        pair = pair_of(multisets[i], true); /* remove_dot is exact */
        assert_true(removes_dot(pair.a, pair.e4, pair.d4) && removes_dot(pair.b, pair.e5, pair.d5));
        sum = close_pair(&pair);
        assert_int_equal(entries_of(sum), 0);
        roost_filter_free(sum);
    }
    struct pair pair = pair_of(orcuckoo_config(24, 64, false, 10), false);
    assert_true(removes(pair.a, pair.e4) && removes(pair.b, pair.e5));
    roost_filter *sum = close_pair(&pair);
    assert_int_equal(entries_of(sum), 0);
    roost_filter_free(sum);
}

/*
 * A rule that looks at dots alone sees the same two dots whichever of the colliding elements is meant, so it picks the
 * same at each replica: four rules in all. Each is wrong where both remove e4, or where one removes e4 and one e5.
 */
static void no_rule_on_dots_alone_is_right(void **state)
{
    (void)state;
    for (int rule = 0; rule < 4; rule++) {
        bool right[2];
        for (int scene = 0; scene < 2; scene++) {
            struct pair pair = pair_of(orcuckoo_config(8, 64, true, 10), true);
            removes_dot(pair.a, pair.e4, rule & 1 ? pair.d5 : pair.d4);
            removes_dot(pair.b, scene ? pair.e5 : pair.e4, rule & 2 ? pair.d5 : pair.d4);
            roost_filter *sum = close_pair(&pair);
            right[scene] = holds(sum, pair.e5) == (scene == 0);
            roost_filter_free(sum);
        }
        assert_false(right[0] && right[1]);
    }
    for (int scene = 0; scene < 2; scene++) { /* the dots that the adds returned are right in both */
        struct pair pair = pair_of(orcuckoo_config(8, 64, true, 10), true);
        removes_dot(pair.a, pair.e4, pair.d4);
        removes_dot(pair.b, scene ? pair.e5 : pair.e4, scene ? pair.d5 : pair.d4);
        roost_filter *sum = close_pair(&pair);
        assert_int_equal(holds(sum, pair.e5), scene == 0);
        roost_filter_free(sum);
    }
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static void add_returns_its_dot(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 3; number++) {
        roost_config config = some_orcuckoo_config(number, 1000);
        roost_filter *filter = new_filter(&config);
        assert_int_equal(roost_filter_get_actor(filter), 0);
        for (uint64_t i = 1; i <= 500; i++) {
            roost_dot dot = add(filter, hash_for_key(i));
            assert_int_equal(dot.counter, i);
            assert_int_equal(dot.actor, roost_filter_get_actor(filter));
            assert_true(dot.actor != 0);
        }
        assert_int_equal(info_of(filter).dots, 500);
        assert_int_equal(info_of(filter).actors, 1);
        assert_int_equal(info_of(filter).gaps, 0);
        roost_filter_free(filter);
    }
}

/* Added again and again, here and elsewhere: one entry, and a frame as short as after the first time. */
static void a_hot_element_costs_nothing(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 100);
    roost_filter *filter = new_filter(&config), *other = new_filter(&config);
    roost_buffer frame;
    for (uint64_t i = 0; i < 50000; i++) {
        bool changed;
        assert_ok(roost_filter_add_hash(filter, &changed, hash_for_key(7)));
        assert_int_equal(changed, i == 0);
        assert_int_equal(add(filter, hash_for_key(7)).counter, 2 * i + 2);
        if (i % 5000 == 0) { /* somebody else is at it too */
            add(other, hash_for_key(7));
            assert_ok(roost_filter_merge(filter, NULL, other));
            assert_int_equal(entries_of(filter), 2);
        }
    }
    assert_int_equal(entries_of(filter), 1);
    assert_int_equal(info_of(filter).overflow, 0);
    assert_int_equal(info_of(filter).dots, 100010);
    assert_int_equal(roost_filter_count_hash(filter, hash_for_key(7)), 1);
    assert_ok(roost_filter_check(filter));
    assert_ok(roost_filter_encode(filter, &frame));
    assert_true(frame.size < 90);
    roost_buffer_release(&frame);
    assert_true(removes(filter, hash_for_key(7)));
    assert_int_equal(entries_of(filter), 0);
    FREE_ALL(filter, other);
}

static void an_add_wins_over_a_concurrent_remove(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 100);
    roost_filter *a = new_filter(&config), *b, *sum;
    add(a, hash_for_key(1));
    b = clone_of(a);
    assert_true(removes(b, hash_for_key(1)));
    add(a, hash_for_key(1)); /* superseded what b removed */
    sum = merged(a, b);
    assert_true(holds(sum, hash_for_key(1)));
    assert_int_equal(entries_of(sum), 1);
    FREE_ALL(a, b, sum);
}

static void remove_takes_what_was_seen(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 100);
    roost_filter *a = new_filter(&config), *b = new_filter(&config), *sum;
    add(a, hash_for_key(1));
    add(b, hash_for_key(1));
    add(b, hash_for_key(2));
    assert_true(removes(a, hash_for_key(1)));
    assert_false(removes(a, hash_for_key(1)));
    assert_false(removes(a, hash_for_key(2))); /* not seen yet */
    sum = merged(a, b);
    assert_true(holds(sum, hash_for_key(1)) && holds(sum, hash_for_key(2)));
    assert_true(removes(sum, hash_for_key(1)) && removes(sum, hash_for_key(2)));
    assert_ok(roost_filter_merge(sum, NULL, a));
    assert_ok(roost_filter_merge(sum, NULL, b));
    assert_int_equal(entries_of(sum), 0); /* and does not come back */
    FREE_ALL(a, b, sum);
}

static void a_set_has_no_copies(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 100);
    roost_filter *filter = new_filter(&config), *before;
    bool changed = true;
    add(filter, hash_for_key(1));
    before = clone_of(filter);
    assert_int_equal(roost_filter_remove_one_hash(filter, &changed, hash_for_key(1)), ROOST_UNSUPPORTED);
    assert_false(changed);
    assert_int_equal(roost_filter_remove_one(filter, NULL, "a", 1), ROOST_UNSUPPORTED);
    assert_true(roost_filter_equal(before, filter));
    FREE_ALL(filter, before);
}

/* The dots of one element, made apart: remove_dot takes just the one. */
static void remove_dot_takes_one_addition(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 3; number++) {
        roost_config config = some_orcuckoo_config(number, 100);
        roost_filter *a = new_filter(&config), *b = new_filter(&config);
        roost_hash x = hash_for_key(1), y = hash_for_key(2);
        roost_dot here = add(a, x), there = add(b, x);
        assert_false(removes_dot(a, x, there)); /* not seen yet, so nothing happens */
        assert_false(removes_dot(a, x, (roost_dot){0, 0}));
        assert_false(removes_dot(a, x, (roost_dot){here.actor, 0}));
        assert_false(removes_dot(a, x, (roost_dot){here.actor, here.counter + 1}));
        assert_false(removes_dot(a, x, (roost_dot){here.actor, UINT64_MAX}));
        assert_false(removes_dot(a, x, (roost_dot){here.actor, here.counter + (UINT64_C(1) << 32)}));
        assert_ok(roost_filter_merge(a, NULL, b));
        assert_false(removes_dot(a, y, here)); /* not of this element */
        assert_int_equal(entries_of(a), 2);
        assert_true(removes_dot(a, x, here));
        assert_false(removes_dot(a, x, here));
        assert_true(holds(a, x));
        assert_true(removes_dot(a, x, there));
        assert_false(holds(a, x));
        FREE_ALL(a, b);
    }
}

/* ---- multisets --------------------------------------------------------------------------------------------------- */

static void copies_are_counted(void **state)
{
    (void)state;
    for (uint64_t number = 1; number < 48; number += number % 3) {
        roost_config config = some_orcuckoo_config(number, 100);
        roost_filter *filter = new_filter(&config), *other;
        for (uint64_t copies = 1; copies <= 30; copies++) {
            bool changed = false;
            assert_ok(roost_filter_add_hash(filter, &changed, hash_for_key(1)));
            assert_true(changed);
            assert_int_equal(roost_filter_count_hash(filter, hash_for_key(1)), copies);
        }
        other = clone_of(filter);
        for (uint64_t copies = 30; copies-- > 10;) {
            assert_true(removes_one(filter, hash_for_key(1)));
            assert_int_equal(roost_filter_count_hash(filter, hash_for_key(1)), copies);
        }
        for (int i = 0; i < 5; i++)
            add(other, hash_for_key(1));
        assert_ok(roost_filter_merge(other, NULL, filter));
        assert_int_equal(roost_filter_count_hash(other, hash_for_key(1)), 15);
        assert_true(removes(other, hash_for_key(1)));
        assert_int_equal(entries_of(other), 0);
        assert_false(removes_one(other, hash_for_key(1)));
        FREE_ALL(filter, other);
    }
}

enum { COPIES = 100000 };

/* Many copies of one element among others: all calls stay quick. What is quadratic would take minutes. */
static void a_hundred_thousand_copies(void **state)
{
    (void)state;
    only_as_shipped();
    static roost_dot dots[COPIES];
    for (int width = 0; width < 2; width++)
        for (int way = 0; way < 3; way++) {
            clock_t begin = clock();
            roost_config config = orcuckoo_config(8, width ? 32 : 64, true, COPIES + 20000);
            roost_filter *filter = new_filter(&config), *copy;
            for (uint64_t key = 0; key < 10000; key++)
                add(filter, hash_for_key(1000 + key));
            uint64_t others = roost_filter_count_hash(filter, hash_for_key(1));
            for (uint64_t i = 0; i < COPIES; i++)
                dots[i] = add(filter, hash_for_key(1));
            assert_int_equal(roost_filter_count_hash(filter, hash_for_key(1)), COPIES + others);
            copy = through_bytes(filter);
            assert_true(roost_filter_equal(copy, filter));
            if (way == 0)
                assert_true(removes(filter, hash_for_key(1)));
            for (uint64_t i = 0; i < COPIES && way == 1; i++)
                assert_true(removes_one(filter, hash_for_key(1)));
            for (uint64_t i = 0; i < COPIES && way == 2; i++)
                assert_true(removes_dot(filter, hash_for_key(1), dots[i * 7919 % COPIES]));
            assert_int_equal(roost_filter_count_hash(filter, hash_for_key(1)), way == 0 ? 0 : others);
            assert_ok(roost_filter_merge(copy, NULL, filter));
            assert_true(roost_filter_equal(copy, filter));
            assert_ok(roost_filter_check(copy));
            FREE_ALL(filter, copy);
            double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
            printf("%d bits, removal %d: %.2f s\n", width ? 32 : 64, way, seconds);
            assert_true(seconds < 120); /* of this processor; measured: one or two */
        }
}

/* ---- removing what was not added --------------------------------------------------------------------------------- */

/* A key that was never added, and that the filter reports: its removal takes one entry, at the rate that info tells. */
static void removing_what_was_not_added(void **state)
{
    (void)state;
    enum { ELEMENTS = 2000, PROBES = 200000 };
    roost_config config = orcuckoo_config(8, 64, true, ELEMENTS);
    roost_filter *filter = new_filter(&config);
    uint64_t wrong = 0;
    for (uint64_t key = 0; key < ELEMENTS; key++)
        add(filter, hash_for_key(key));
    for (uint64_t key = 1000000; key < 1000000 + PROBES; key++) {
        if (!holds(filter, hash_for_key(key)))
            continue;
        if (wrong++ % 50 == 0) {
            roost_filter *copy = clone_of(filter);
            assert_true(removes_one(copy, hash_for_key(key)));
            assert_int_equal(entries_of(copy), ELEMENTS - 1);
            roost_filter_free(copy);
        }
    }
    double rate = (double)wrong / PROBES, expected = info_of(filter).fpr_now;
    printf("%.5f of the removals would take another's entry, %.5f expected\n", rate, expected);
    assert_true(rate > expected * 0.9 && rate < expected * 1.1);
    roost_filter_free(filter);
    for (uint64_t capacity = 1; capacity < UINT64_C(1) << 32;
         capacity *= 2) { /* the default: one in a million at most */
        config = roost_config_default();
        config.kind = ROOST_ORCUCKOO;
        config.capacity = capacity;
        config.fpr = 0;
        roost_config resolved = config;
        assert_ok(orcuckoo_kind.lifecycle.resolve(&resolved));
        assert_int_equal(resolved.fingerprint_bits, 24);
        assert_int_equal(resolved.entry_bits, 64);
        assert_false(resolved.multiset);
        assert_true(resolved.fpr < 1e-6);
    }
}

/* ---- incarnations ------------------------------------------------------------------------------------------------ */

/* Most of them; the short form tries fewer. */
enum { INCARNATIONS = 5000 };

static uint32_t incarnations(void)
{
    return is_long() ? INCARNATIONS : 2000;
}

struct lineage {
    roost_filter *hub, *backup;
    bool live[2 * INCARNATIONS];
    uint32_t elements, live_count;
    uint64_t dots;
};

/* The newcomer merges into those that are there, or takes their place, as after a restart. */
static void lineage_take_back(struct lineage *lineage, roost_filter *replica, bool alone)
{
    roost_buffer frame;
    if (alone && lineage->elements % 4) {
        roost_filter_free(lineage->hub);
        lineage->hub = replica;
        return;
    }
    if (lineage->elements % 3) {
        assert_ok(roost_filter_merge(lineage->hub, NULL, replica));
    } else {
        assert_ok(roost_filter_encode(replica, &frame));
        assert_ok(roost_filter_merge_frame(lineage->hub, NULL, frame.data, frame.size));
        roost_buffer_release(&frame);
    }
    roost_filter_free(replica);
}

/* A new object with a state of now or of long ago adds one element, removes perhaps one, and is never seen again. */
static void lineage_step(struct lineage *lineage, struct random_source *random, bool restored)
{
    roost_filter *from = restored ? lineage->backup : lineage->hub;
    roost_filter *replica = lineage->elements % 7 ? clone_of(from) : through_bytes(from);
    uint32_t element = lineage->elements++, victim = random_choice(random, element + 1);
    roost_dot dot = add(replica, hash_for_key(element));
    assert_int_equal(dot.counter, 1);
    lineage->live[element] = true;
    lineage->live_count++;
    lineage->dots++;
    if (!restored && lineage->live[victim] && random_choice(random, 4) == 0) {
        assert_true(roost_filter_get_config(replica)->multiset ? removes_one(replica, hash_for_key(victim))
                                                               : removes(replica, hash_for_key(victim)));
        lineage->live[victim] = false;
        lineage->live_count--;
    }
    lineage_take_back(lineage, replica, !restored);
    assert_int_equal(entries_of(lineage->hub), lineage->live_count);
}

static void lineage_check(struct lineage *lineage)
{
    roost_buffer frame;
    roost_info info = info_of(lineage->hub);
    assert_ok(roost_filter_check(lineage->hub));
    assert_int_equal(info.dots, lineage->dots);
    assert_int_equal(info.actors, lineage->dots); /* one each */
    for (uint32_t element = 0; element < lineage->elements; element++)
        if (lineage->live[element])
            assert_true(holds(lineage->hub, hash_for_key(element)));
        else if (!roost_filter_get_config(lineage->hub)->multiset)
            assert_false(holds(lineage->hub, hash_for_key(element)));
    roost_filter *back = through_bytes(lineage->hub);
    assert_true(roost_filter_equal(back, lineage->hub));
    assert_ok(roost_filter_check(back));
    assert_ok(roost_filter_encode(lineage->hub, &frame));
    double an_entry = roost_filter_get_config(lineage->hub)->multiset ? 3 : 5.2;
    printf("%u incarnations, %u live, %zu bytes, %llu in the stash\n", (unsigned)lineage->dots, lineage->live_count,
           frame.size, (unsigned long long)info.overflow);
    assert_true((double)frame.size <= 12 * (double)info.actors + an_entry * lineage->live_count + 100);
    roost_buffer_release(&frame);
    roost_filter_free(back);
}

static void every_incarnation_leaves_an_element(roost_config config)
{
    static struct lineage lineage;
    struct random_source random = random_from_seed(test_seed(31));
    lineage = (struct lineage){.hub = new_filter(&config), .backup = NULL};
    for (uint32_t i = 0; i < incarnations(); i++) {
        if (i == incarnations() / 5)
            lineage.backup = through_bytes(lineage.hub);
        lineage_step(&lineage, &random, i > incarnations() / 3 && i % 700 < 2);
    }
    /* the backup itself has nothing to say any more */
    bool changed = true;
    assert_ok(roost_filter_merge(lineage.hub, &changed, lineage.backup));
    assert_false(changed);
    lineage_check(&lineage);
    FREE_ALL(lineage.hub, lineage.backup);
}

static void thousands_of_incarnations(void **state)
{
    (void)state;
    only_as_shipped();
    every_incarnation_leaves_an_element(orcuckoo_config(24, 64, false, incarnations()));
}

static void thousands_of_incarnations_in_narrow_entries(void **state)
{
    (void)state;
    only_as_shipped();
    every_incarnation_leaves_an_element(orcuckoo_config(8, 32, true, incarnations()));
}

/* ---- full tables, memory limits ---------------------------------------------------------------------------------- */

/* Adds keys from `key` on until one is refused; returns that one. */
static uint64_t fill(roost_filter *filter, uint64_t key)
{
    while (roost_filter_add_hash(filter, NULL, hash_for_key(key)) == ROOST_OK)
        key++;
    return key;
}

/* Fills the filter with keys from 0 on until one is refused with nothing changed. Returns how many are in, or more. */
static uint64_t assert_full(roost_filter *filter)
{
    for (uint64_t refused = fill(filter, 0);; refused = fill(filter, refused + 1)) {
        struct portrait before = portrait_of(filter);
        roost_hash hashes[2] = {hash_for_key(refused), hash_for_key(refused + 1)};
        size_t done = 9;
        roost_dot dot = {3, 3};
        /* other kicks may find room at the second attempt */
        if (roost_filter_add_dot_hash(filter, &dot, hashes[0]) == ROOST_FULL &&
            (roost_filter_add_many_hash(filter, NULL, &done, hashes, 2) == ROOST_FULL) && done == 0) {
            assert_true(dot.actor == 0 && dot.counter == 0);
            assert_still(&before, filter);
            return refused;
        }
        portrait_release(&before);
    }
}

static void a_full_table_refuses_and_stays(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 48; number++) {
        roost_config config = some_orcuckoo_config(number, 50);
        roost_environment environment = {.kicks = 10, .random_seed = number};
        roost_filter *filter;
        roost_cursor cursor = {0, 0};
        roost_buffer frame;
        assert_ok(roost_filter_new(&filter, &config, &environment));
        if (number % 2) {
            assert_ok(roost_filter_encode_delta(filter, &frame, &cursor, &cursor));
            roost_buffer_release(&frame);
        }
        uint64_t refused = assert_full(filter);
        assert_true(refused >= 50);
        roost_dot dot;
        if (!config.multiset) /* what is in can be added again */
            for (uint64_t key = 0; key < refused; key++) {
                uint64_t entries = entries_of(filter);
                if (!holds(filter, hash_for_key(key)))
                    continue; /* one that was refused on the way */
                dot = add(filter, hash_for_key(key));
                assert_int_equal(entries_of(filter), entries);
                assert_int_equal(standing_of(filter, hash_for_key(key), dot), LIVE);
            }
        assert_true(removes(filter, hash_for_key(0)));
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(0))); /* and a place that is free again is taken */
        assert_ok(roost_filter_check(filter));
        roost_filter_free(filter);
    }
}

/* A limit that leaves no memory for more rows: what finds no slot goes to the stash. (The memory is that of the
   kicks.) */
static roost_filter *new_cramped(const roost_config *config)
{
    roost_environment environment = {.kicks = 8000};
    roost_filter *plain, *cramped;
    assert_ok(roost_filter_new(&plain, config, &environment));
    environment.memory_limit = 2 * info_of(plain).bytes_memory - sizeof(struct orcuckoo);
    assert_ok(roost_filter_new(&cramped, config, &environment));
    roost_filter_free(plain);
    return cramped;
}

static int32_t spread_of(const roost_filter *filter)
{
    return as_const_orcuckoo(filter)->table.spread;
}

/* Full by merges, far beyond the capacity. A newcomer without an actor stays nobody. */
static void an_overfull_table_still_supersedes(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 40);
    roost_filter *filter = new_filter(&config), *saved_filter;
    for (uint64_t part = 0; part < 10; part++) {
        roost_filter *other = new_filter(&config);
        for (uint64_t key = 0; key < 40; key++)
            add(other, hash_for_key(part * 40 + key));
        assert_ok(roost_filter_merge(filter, NULL, other));
        roost_filter_free(other);
    }
    assert_int_equal(entries_of(filter), 400);
    assert_true(spread_of(filter) > 2 && info_of(filter).overflow < 40);
    struct portrait before = portrait_of(filter);
    assert_int_equal(roost_filter_add_hash(filter, NULL, hash_for_key(1000)), ROOST_FULL);
    assert_int_equal(roost_filter_get_actor(filter), 0);
    assert_still(&before, filter);
    saved_filter = clone_of(filter);
    for (uint64_t key = 0; key < 400; key++) { /* each wherever it is, in slots and stash */
        roost_dot dot = add(filter, hash_for_key(key));
        assert_int_equal(dot.counter, key + 1);
        assert_int_equal(entries_of(filter), 400);
    }
    assert_ok(roost_filter_check(filter));
    assert_int_equal(info_of(filter).dots, 800);
    assert_ok(roost_filter_merge(saved_filter, NULL, filter));
    assert_true(roost_filter_equal(saved_filter, filter));
    for (uint64_t key = 0; key < 400; key++)
        assert_true(removes(filter, hash_for_key(key)));
    assert_int_equal(entries_of(filter), 0);
    assert_int_equal(info_of(filter).overflow, 0);
    FREE_ALL(filter, saved_filter);
}

/* Additions of one element made apart, all of which find no slot: one takes the place of all. */
static void copies_in_the_stash_are_superseded(void **state)
{
    (void)state;
    for (int copies = 1; copies < 8; copies++) {
        roost_config config = orcuckoo_config(24, 64, false, 20);
        roost_filter *filter = new_cramped(&config), *other = new_filter(&config);
        for (uint64_t key = 0; key < 200; key++) {
            roost_filter *one = new_filter(&config);
            add(one, hash_for_key(key));
            assert_ok(roost_filter_merge(filter, NULL, one));
            roost_filter_free(one);
        }
        for (int i = 0; i < copies; i++) {
            roost_filter *one = new_filter(&config);
            add(one, hash_for_key(1000));
            assert_ok(roost_filter_merge(filter, NULL, one));
            roost_filter_free(one);
        }
        assert_int_equal(entries_of(filter), 200 + copies);
        assert_int_equal(stash_copies(&as_const_orcuckoo(filter)->table.stash, class_for(filter, hash_for_key(1000))),
                         copies);
        assert_ok(roost_filter_merge(other, NULL, filter));
        roost_dot dot = add(filter, hash_for_key(1000));
        assert_int_equal(entries_of(filter), 201);
        assert_int_equal(standing_of(filter, hash_for_key(1000), dot), LIVE);
        assert_ok(roost_filter_check(filter));
        assert_ok(roost_filter_merge(other, NULL, filter));
        assert_true(roost_filter_equal(other, filter));
        FREE_ALL(filter, other);
    }
}

/* ---- capacity is a number of elements ---------------------------------------------------------------------------- */

/* So many replicas that add the same keys apart, and all of them merged. */
static roost_filter *added_apart(const roost_config *config, uint64_t replicas, uint64_t keys)
{
    roost_filter *sum = new_filter(config);
    for (uint64_t i = 0; i < replicas; i++) {
        roost_filter *one = new_filter(config);
        for (uint64_t key = 0; key < keys; key++)
            add(one, hash_for_key(key));
        assert_ok(roost_filter_merge(sum, NULL, one));
        roost_filter_free(one);
    }
    return sum;
}

static uint64_t accepted(roost_filter *filter, uint64_t from, uint64_t count)
{
    uint64_t taken = 0;
    for (uint64_t key = from; key < from + count; key++)
        taken += roost_filter_add_hash(filter, NULL, hash_for_key(key)) == ROOST_OK;
    return taken;
}

static void the_same_keys_take_their_room_once(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, false, 1000);
    roost_filter *filter = added_apart(&config, 2, 500);
    assert_int_equal(accepted(filter, 500, 500), 500);
    assert_true(info_of(filter).elements == 1000 && info_of(filter).inserted == 1000);
    assert_int_equal(entries_of(filter), 1500);
    assert_true(info_of(filter).promise_holds && info_of(filter).fpr_now <= filter->config->fpr);
    assert_ok(roost_filter_check(filter));
    roost_filter_free(filter);
}

/* Whatever the number of replicas and the shape of the table: the capacity, and not much more. */
static void capacity_counts_elements(void **state)
{
    (void)state;
    only_as_shipped();
    static const uint64_t crowds[] = {1, 2, 3, 5, 9, 20};
    for (uint32_t size = 1; size <= 8; size *= 2)
        for (size_t i = 0; i < COUNT_OF(crowds); i++) {
            enum { N = 1000 };
            roost_config config = orcuckoo_config(i % 2 ? 24 : 28, 64, false, N);
            config.bucket_size = size;
            roost_filter *filter = added_apart(&config, crowds[i], N), *decoded = through_bytes(filter);
            roost_info info = info_of(filter);
            assert_true(info.elements == N && info.promise_holds && info.fpr_now <= filter->config->fpr);
            assert_int_equal(info.entries, crowds[i] * N);
            assert_int_equal(spread_of(filter) > 0, crowds[i] > 1);
            assert_true(info.bytes_memory < 20000 + 100 * info.entries);
            assert_int_equal(accepted(filter, 0, N), N); /* one addition in the place of all */
            assert_true(entries_of(filter) == N && info_of(filter).elements == N);
            uint64_t more = accepted(filter, N, N);
            assert_true(spread_of(filter) == 0 ? more < N : more == 0);
            for (uint64_t key = 0; key < N; key++)
                assert_true(holds(filter, hash_for_key(key)) && holds(decoded, hash_for_key(key)));
            assert_ok(roost_filter_merge(decoded, NULL, filter));
            assert_true(roost_filter_equal(filter, decoded));
            for (uint64_t key = 0; key < N; key++)
                assert_true(removes(filter, hash_for_key(key)));
            assert_true(info_of(filter).elements == (double)more);
            assert_int_equal(accepted(filter, 0, N - more), N - more);
            assert_ok(roost_filter_check(filter));
            assert_ok(roost_filter_check(decoded));
            FREE_ALL(filter, decoded);
        }
}

/* In a multiset every copy counts, and the rate follows the classes all the same. */
static void copies_count_in_a_multiset(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(24, 64, true, 1000);
    roost_filter *filter = added_apart(&config, 2, 500);
    assert_true(info_of(filter).elements == 1000 && info_of(filter).promise_holds);
    double rate = info_of(filter).fpr_now;
    uint64_t more = accepted(filter, 0, 500);
    assert_true(more < 200);
    assert_true(info_of(filter).elements == 1000 + (double)more && info_of(filter).fpr_now == rate);
    assert_ok(roost_filter_check(filter));
    roost_filter_free(filter);
}

/* A random crowd in which elements come, come again and go; its merge in a table of any shape, and in one that cannot
   spread: the same state, the same bytes, the same answers. */
static void spreading_shows_nowhere(void **state)
{
    (void)state;
    uint64_t spread = 0, stashed = 0, worlds = is_brief() ? 24 : 96;
    struct random_source random = random_from_seed(test_seed(34));
    for (uint64_t number = 0; number < worlds; number++) {
        enum { PEERS = 6, N = 40 };
        roost_config config = some_orcuckoo_config(number, N);
        roost_filter *peers[PEERS], *sum = new_filter(&config), *cramped = new_cramped(&config);
        for (uint32_t i = 0; i < PEERS; i++) {
            peers[i] = new_filter(&config);
            for (uint32_t key = 0; key < N; key++)
                (void)roost_filter_add_hash(peers[i], NULL,
                                            hash_for_key(random_choice(&random, 2) ? key : N * i + key));
            if (i > 0 && random_choice(&random, 2))
                assert_ok(roost_filter_merge(peers[i], NULL, peers[i - 1]));
            for (uint32_t key = 0; key < N / 4; key++)
                assert_ok(roost_filter_remove_hash(peers[i], NULL, hash_for_key(random_choice(&random, N))));
            assert_ok(roost_filter_merge(sum, NULL, peers[i]));
            assert_ok(roost_filter_merge(cramped, NULL, peers[i]));
            assert_ok(roost_filter_check(sum));
            assert_ok(roost_filter_check(cramped));
        }
        spread += spread_of(sum) > 0;
        stashed += info_of(cramped).overflow;
        assert_int_equal(spread_of(cramped), 0);
        assert_same_frame(sum, cramped);
        roost_filter *decoded = through_bytes(sum);
        assert_same_frame(sum, decoded);
        assert_true(info_of(sum).elements == info_of(cramped).elements &&
                    info_of(sum).fpr_now == info_of(cramped).fpr_now);
        bool found[PEERS * N];
        roost_hash hashes[PEERS * N];
        for (uint32_t key = 0; key < PEERS * N; key++)
            hashes[key] = hash_for_key(key);
        roost_filter_contains_many_hash(sum, found, hashes, PEERS * N);
        for (uint32_t key = 0; key < PEERS * N; key++) {
            assert_int_equal(found[key], holds(cramped, hashes[key]));
            assert_int_equal(roost_filter_count_hash(sum, hashes[key]), roost_filter_count_hash(cramped, hashes[key]));
        }
        for (uint32_t key = 0; key < PEERS * N; key++) {
            assert_int_equal(removes(sum, hashes[key]), removes(cramped, hashes[key]));
            assert_same_frame(sum, cramped);
        }
        assert_true(info_of(sum).elements == 0 && info_of(cramped).elements == 0);
        assert_ok(roost_filter_merge(decoded, NULL, sum));
        assert_same_frame(decoded, cramped);
        assert_ok(roost_filter_check(decoded));
        free_all(peers, PEERS);
        FREE_ALL(sum, cramped, decoded);
    }
    assert_true(spread > worlds / 2 && stashed > 10 * worlds);
}

static void assert_within(const roost_filter *filter, uint64_t limit)
{
    if (info_of(filter).bytes_memory > limit)
        fail_msg("%llu bytes, where %llu are the limit", (unsigned long long)info_of(filter).bytes_memory,
                 (unsigned long long)limit);
}

/* Whatever it is that grows, entries or actors: within the limit, or refused and as before. */
static void memory_stays_within_the_limit(void **state)
{
    (void)state;
    roost_config config = orcuckoo_config(8, 32, true, 300);
    roost_filter *plain = new_filter(&config);
    uint64_t least = info_of(plain).bytes_memory, refused[4] = {0}, taken[4] = {0};
    roost_buffer crowd = forge_crowd(plain, 1, 1, 3000), part = forge_crowd(plain, 2, 1, 800),
                 runs = forge_crowd(plain, 2, 5000, 3000);
    roost_filter *many;
    assert_ok(roost_filter_decode(&many, crowd.data, crowd.size, NULL));
    for (uint64_t limit = least; limit < least + 1500000; limit += limit < least + 3000 ? 37 : 29973) {
        roost_environment environment = {.memory_limit = limit, .kicks = ROOST_DEFAULT_KICKS};
        roost_filter *filter, *decoded;
        assert_ok(roost_filter_new(&filter, &config, &environment));
        for (int way = 0; way < 4; way++) {
            roost_status status = ROOST_OK;
            struct portrait before = portrait_of(filter);
            if (way == 0)
                for (uint64_t key = 0; key < 10 && status == ROOST_OK; key++) {
                    portrait_release(&before);
                    before = portrait_of(filter);
                    status = roost_filter_add_hash(filter, NULL, hash_for_key(key));
                }
            else if (way == 1)
                status = roost_filter_merge_frame(filter, NULL, part.data, part.size);
            else if (way == 2)
                status = roost_filter_merge(filter, NULL, many);
            else
                status = roost_filter_merge_frame(filter, NULL, runs.data, runs.size);
            assert_true(status == ROOST_OK || status == ROOST_TOO_LARGE);
            assert_within(filter, limit);
            assert_ok(roost_filter_check(filter));
            refused[way] += status != ROOST_OK;
            taken[way] += status == ROOST_OK;
            if (status != ROOST_OK) {
                assert_still(&before, filter);
            } else {
                portrait_release(&before);
            }
        }
        roost_filter_free(filter);
        if (roost_filter_decode(&decoded, crowd.data, crowd.size, &environment) == ROOST_OK)
            assert_within(decoded, limit);
        roost_filter_free(decoded);
    }
    for (int way = 0; way < 4; way++)
        assert_true(refused[way] > 0 && taken[way] > 0);
    roost_buffer_release(&crowd);
    roost_buffer_release(&part);
    roost_buffer_release(&runs);
    FREE_ALL(plain, many);
}

/* ---- one key a call ---------------------------------------------------------------------------------------------- */

/* The same number as a key of 8, 12 or 20 bytes, which have a way each. */
struct sized_key {
    uint64_t bytes[3];
    size_t size;
};

static struct sized_key sized_key(uint64_t number)
{
    return (struct sized_key){{number, number * 3, ~number}, number % 3 == 0 ? 8 : number % 3 == 1 ? 12 : 20};
}

/* One key a call, by bytes and by hash, is the same as batches of one, and in a set as adding dots, which has no short
   cut: bytes, digest, what was changed, what is found, what is refused. Half as much room as there are keys, so that tables
   get full, spread and overflow. */
static void one_call_is_a_batch_of_one(void **state)
{
    (void)state;
    enum { WAYS = 4, KEYS = 250 };
    uint64_t refused = 0, removed = 0, replaced = 0;
    for (uint64_t number = 0; number < 48; number++) {
        struct counted_entropy entropies[WAYS];
        roost_filter *filters[WAYS];
        roost_config config = some_orcuckoo_config(number, 120);
        struct random_source random = random_from_seed(number);
        for (int way = 0; way < WAYS; way++) {
            entropies[way] = (struct counted_entropy){.next = 77, .step = 1};
            roost_environment environment = {.entropy = {&entropies[way], draw_counted}};
            assert_ok(roost_filter_new(&filters[way], &config, &environment));
        }
        for (uint64_t step = 0; step < 1500; step++) {
            struct sized_key key = sized_key(random_choice(&random, step < 700 ? KEYS : KEYS / 3));
            bool adds = random_choice(&random, 8) < (step % 500 < 250 ? 7 : 2), changed[WAYS] = {0};
            roost_status status[WAYS];
            roost_hash hash = roost_filter_hash(filters[0], key.bytes, key.size);
            roost_dot dot;
            size_t done;
            status[0] = adds ? roost_filter_add_many_hash(filters[0], &changed[0], &done, &hash, 1)
                             : roost_filter_remove_many_hash(filters[0], &changed[0], &hash, 1);
            status[1] = adds ? roost_filter_add(filters[1], &changed[1], key.bytes, key.size)
                             : roost_filter_remove(filters[1], &changed[1], key.bytes, key.size);
            status[2] = adds ? roost_filter_add_hash(filters[2], &changed[2], hash)
                             : roost_filter_remove_hash(filters[2], &changed[2], hash);
            status[3] = adds && !config.multiset ? roost_filter_add_dot_hash(filters[3], &dot, hash)
                        : adds                   ? roost_filter_add_hash(filters[3], &changed[3], hash)
                                                 : roost_filter_remove_hash(filters[3], &changed[3], hash);
            changed[3] |= adds && changed[0]; /* dots do not say */
            for (int way = 0; way < WAYS; way++) {
                assert_int_equal(status[way], status[0]);
                assert_int_equal(changed[way], changed[0] && status[0] == ROOST_OK);
            }
            refused += status[0] == ROOST_FULL;
            removed += !adds && changed[0];
            replaced += adds && status[0] == ROOST_OK && !changed[0];
            bool found;
            struct sized_key other = sized_key(key.bytes[0] + KEYS / 2);
            hash = roost_filter_hash(filters[0], other.bytes, other.size);
            roost_filter_contains_many_hash(filters[0], &found, &hash, 1);
            assert_int_equal(roost_filter_contains(filters[1], other.bytes, other.size), found);
            assert_int_equal(roost_filter_contains_hash(filters[2], hash), found);
        }
        for (int way = 0; way < WAYS; way++) {
            assert_ok(roost_filter_check(filters[way]));
            assert_same_frame(filters[0], filters[way]);
            assert_same_digest(filters[0], filters[way]);
        }
        free_all(filters, WAYS);
    }
    assert_true(refused > 100 && removed > 1000 && replaced > 1000);
}

/* Slots of a set with the longest fingerprints have room for counters of 20 bits. */
static void after_its_last_dot_an_actor_is_left(void **state)
{
    (void)state;
    const uint64_t most = (1u << 20) - 1;
    roost_config config = orcuckoo_config(28, 64, false, 100);
    roost_filter *filter = new_filter(&config);
    uint64_t actor = 0;
    for (uint64_t i = 0; i <= most; i++) {
        bool changed;
        assert_ok(roost_filter_add(filter, NULL, &i, sizeof i));
        actor = i == most - 1 ? roost_filter_get_actor(filter) : actor;
        assert_ok(roost_filter_remove(filter, &changed, &i, sizeof i));
        assert_true(changed);
    }
    assert_true(roost_filter_get_actor(filter) != actor);
    assert_ok(roost_filter_check(filter));
    roost_filter_free(filter);
}

/* ---- classes as bits --------------------------------------------------------------------------------------------- */

#define LISTED 40

static uint64_t any_class(struct random_source *random, struct cuckoo_geometry geometry)
{
    uint64_t key;
    do
        key = scale_to_range(random_next(random), class_universe(geometry));
    while (!is_class_key(key, geometry));
    return key;
}

/* All of a list come back; cut off anywhere, those before the cut do, and no more. */
static void assert_classes_come_back(const struct observed *observed, const struct sort_pair *pairs)
{
    struct bit_writer writer;
    struct members members = {pairs, NULL, LISTED};
    bit_writer_init(&writer, observed->base.environment.allocator);
    observed->store->write_classes(observed, &writer, &members);
    write_alignment(&writer);
    for (size_t size = 0; size <= writer.buffer.size; size++) {
        struct class_reader reader = {.bits = bit_reader_over(writer.buffer.data, size)};
        uint64_t key;
        uint32_t read = 0;
        while (read < LISTED && observed->store->read_class(observed, &reader, &key)) {
            assert_int_equal(key, pairs[read++].value);
            assert_true(reader.bits.position <= size * 8);
        }
        assert_true(read < LISTED ? reader.bits.failed : size == writer.buffer.size);
    }
    bit_writer_release(&writer);
}

/* From few buckets and short fingerprints to classes that no window of the reader holds. Nothing but the geometry is
   used here, so that the filter need not be as large. */
static void classes_are_cut_off_nowhere(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(23));
    roost_config config = orcuckoo_config(24, 64, false, 100);
    roost_filter *filter = new_filter(&config);
    struct orcuckoo *orcuckoo = (struct orcuckoo *)(void *)filter;
    const struct cuckoo_geometry geometry = orcuckoo->table.geometry;
    const struct class_code code = orcuckoo->code;
    for (int round = 0; round < 400; round++) {
        struct sort_pair pairs[LISTED];
        orcuckoo->table.geometry.buckets = 2 + (uint32_t)(random_next(&random) >> (33 + random_choice(&random, 30)));
        orcuckoo->table.geometry.bits = 8 + random_choice(&random, 25);
        orcuckoo->code = orcuckoo_class_code(orcuckoo->table.geometry);
        for (uint64_t i = 0; i < LISTED; i++)
            pairs[i] = (struct sort_pair){i, any_class(&random, orcuckoo->table.geometry)};
        assert_classes_come_back(as_const_observed(filter), pairs);
    }
    orcuckoo->table.geometry = geometry;
    orcuckoo->code = code;
    roost_filter_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_3_3_merge),
        cmocka_unit_test(figure_3_4a_false_negative),
        cmocka_unit_test(figure_3_4b_false_positive),
        cmocka_unit_test(no_rule_on_dots_alone_is_right),
        cmocka_unit_test(add_returns_its_dot),
        cmocka_unit_test(a_hot_element_costs_nothing),
        cmocka_unit_test(an_add_wins_over_a_concurrent_remove),
        cmocka_unit_test(remove_takes_what_was_seen),
        cmocka_unit_test(a_set_has_no_copies),
        cmocka_unit_test(remove_dot_takes_one_addition),
        cmocka_unit_test(copies_are_counted),
        cmocka_unit_test(a_hundred_thousand_copies),
        cmocka_unit_test(removing_what_was_not_added),
        cmocka_unit_test(thousands_of_incarnations),
        cmocka_unit_test(thousands_of_incarnations_in_narrow_entries),
        cmocka_unit_test(a_full_table_refuses_and_stays),
        cmocka_unit_test(an_overfull_table_still_supersedes),
        cmocka_unit_test(copies_in_the_stash_are_superseded),
        cmocka_unit_test(the_same_keys_take_their_room_once),
        cmocka_unit_test(capacity_counts_elements),
        cmocka_unit_test(copies_count_in_a_multiset),
        cmocka_unit_test(spreading_shows_nowhere),
        cmocka_unit_test(memory_stays_within_the_limit),
        cmocka_unit_test(one_call_is_a_batch_of_one),
        cmocka_unit_test(after_its_last_dot_an_actor_is_left),
        cmocka_unit_test(classes_are_cut_off_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
