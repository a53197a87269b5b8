/*
 * Windows beside an exact model (element -> the last time it came), their laws, the paper's own filters beside ours,
 * the promised rate at any load, and clocks that go wrong. test_window_frames.c has all that can be done to their bytes.
 */
#include "windows.h"

#include <math.h>
#include "roost/evaluation.h"

/* ---- never early, and not for ever ----------------------------------------------------------------------------- */

enum { MODEL_KEYS = 400, MODEL_STEPS = 6000 };

struct timed_model {
    uint64_t last[MODEL_KEYS]; /* when it came, by the largest time so far; 0: never */
    uint64_t now;
};

/* What the model is sure of: in the window, or older than any slot that could hold it. */
static void assert_agrees(const roost_filter *window, const struct timed_model *model, uint64_t *kept, uint64_t *gone)
{
    roost_window_info info;
    roost_window_get_info(window, &info);
    for (uint64_t key = 0; key < MODEL_KEYS; key++) {
        bool there = roost_window_contains_hash(window, hash_for_key(key), model->now);
        uint64_t age = model->now - model->last[key];
        if (model->last[key] && age <= info.window) {
            assert_true(there);
            ++*kept;
        } else if (!model->last[key] || age >= info.window + info.slot) {
            assert_false(there);
            ++*gone;
        }
    }
}

static void windows_keep_what_came_and_nothing_else(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(61));
    for (uint64_t number = 0; number < 12; number++) {
        roost_config config = some_window_config(ROOST_WINDOW, number);
        config.fpr = 3e-8; /* so that mistakes would be a wonder */
        config.capacity = 2000;
        roost_filter *window = new_filter(&config);
        struct timed_model model = {.now = EPOCH};
        uint64_t kept = 0, gone = 0;
        for (uint32_t i = 0; i < MODEL_STEPS; i++) {
            bool seen;
            uint64_t key = random_choice(&random, MODEL_KEYS);
            model.now +=
                random_choice(&random, 300) == 0 ? random_choice(&random, 90000000) : random_choice(&random, 400000);
            uint64_t behind = random_choice(&random, 10) == 0 ? random_choice(&random, 20000000) : 0;
            bool expected = roost_window_contains_hash(window, hash_for_key(key), model.now - behind);
            assert_ok(roost_window_add_hash(window, &seen, hash_for_key(key), model.now - behind));
            assert_int_equal(seen, expected);
            /* A clock that is behind loses what it is behind the newest addition, and no more. */
            roost_window_info info;
            roost_window_get_info(window, &info);
            model.last[key] = model.now - behind > info.newest ? model.now - behind : info.newest;
            if (i % 100 == 0)
                assert_agrees(window, &model, &kept, &gone);
        }
        assert_true(kept > 500 && gone > 500);
        assert_ok(roost_filter_check(window));
        roost_filter_free(window);
    }
}

/* The example in the essay of forgetful.c, which holds for windows that grow as well. */
static void check_example(roost_layout layout)
{
    roost_config config = window_config(ROOST_WINDOW, layout, 3, 1000, 1e-6);
    roost_filter *window = new_filter(&config);
    roost_window_info info;
    uint64_t noon = SECONDS(3600) * 12;
    bool seen = true;
    roost_window_get_info(window, &info);
    assert_int_equal(info.slot, SECONDS(15));
    assert_int_equal(info.window, SECONDS(60));
    assert_ok(roost_window_add(window, &seen, "swift", 5, noon + SECONDS(20)));
    assert_false(seen);
    assert_true(roost_window_contains(window, "swift", 5, noon + SECONDS(20)));
    assert_true(roost_window_contains(window, "swift", 5, noon + SECONDS(90) - 1));
    assert_false(roost_window_contains(window, "swift", 5, noon + SECONDS(90)));
    assert_true(roost_filter_contains(window, "swift", 5)); /* as of the newest slot */
    assert_ok(roost_window_add(window, &seen, "heron", 5, noon + SECONDS(90)));
    assert_false(roost_filter_contains(window, "swift", 5));
    roost_window_get_info(window, &info);
    assert_int_equal(info.slots, 1);
    assert_int_equal(info.newest, noon + SECONDS(90));
    roost_filter_free(window);
}

static void the_example_is_right(void **state)
{
    (void)state;
    check_example(ROOST_BLOCKED);
    check_example(GROWING);
}

static void a_window_is_never_shorter_than_asked(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(62));
    for (uint32_t past = 1; past <= MOST_PAST; past++)
        for (uint32_t i = 0; i < 40; i++) {
            uint64_t asked = 1 + random_next(&random) % (UINT64_C(1) << (1 + i)), slot;
            uint32_t finest;
            window_lengths(&slot, &finest, asked, past);
            assert_true(slot * (past + 1) >= asked);
            assert_true(slot % (UINT64_C(1) << finest) == 0 && slot >> finest > 0);
            assert_true(finest >= 1 && (past + 1) * ((2u << finest) - 1) + finest + 1 <= MOST_SLOTS);
            assert_true(slot * (past + 1) <= asked + ((past + 1) << finest) + past + 1);
        }
    for (uint32_t past = 1; past <= MOST_GROWING_PAST; past++) {
        roost_config config = window_config(ROOST_WINDOW, GROWING, past, 1000, 1e-6);
        config.window = 1 + random_next(&random) % (UINT64_C(1) << 50);
        roost_filter *window = new_filter(&config);
        roost_window_info info;
        roost_window_get_info(window, &info);
        assert_true(info.window >= config.window && info.window <= config.window + past);
        roost_filter_free(window);
    }
}

/* ---- laws ------------------------------------------------------------------------------------------------------ */

static void merge_is_a_join(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(63));
    uint64_t concurrent = 0, forgotten = 0;
    for (uint64_t number = 0; number < 36; number++) {
        roost_config config = some_window_config(ROOST_WINDOW, number);
        roost_filter *w[3];
        uint64_t clock[3];
        for (int i = 0; i < 3; i++) {
            w[i] = new_filter(&config);
            clock[i] = EPOCH + SECONDS(random_choice(&random, number % 4 == 0 ? 400 : 30));
            live(w[i], &random, &clock[i], 1 + random_choice(&random, 120));
        }
        if (number % 3 == 0)
            merge(w[1], w[0]);
        concurrent += order_of(w[0], w[1]) == ROOST_CONCURRENT;
        roost_filter *sum = merged(w[0], w[1]);
        forgotten += info_of(sum).tables < info_of(w[0]).tables || info_of(sum).tables < info_of(w[1]).tables;
        assert_laws(w[0], w[1], w[2]);
        roost_filter_free(sum);
        free_all(w, 3);
    }
    assert_true(concurrent > 5 && forgotten > 2);
}

static void an_addition_is_an_inflation(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(64));
    for (uint64_t number = 0; number < 12; number++) {
        roost_config config = some_window_config(ROOST_WINDOW, number);
        roost_filter *window = new_filter(&config);
        uint64_t clock = EPOCH;
        for (uint32_t i = 0; i < 200; i++) {
            roost_filter *before = clone_of(window);
            step(window, &random, &clock, 300);
            assert_true(included(before, window));
            roost_filter *both = merged(before, window);
            assert_same_frame(both, window);
            FREE_ALL(before, both);
        }
        roost_filter_free(window);
    }
}

static void idle_replicas_keep_equal_digests(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(65));
    roost_config config = window_config(ROOST_WINDOW, ROOST_CLASSIC, 2, 100, 1e-3);
    roost_filter *a = new_filter(&config), *b = new_filter(&config);
    uint64_t clock = EPOCH, other = EPOCH + SECONDS(17);
    live(a, &random, &clock, 80);
    live(b, &random, &other, 80);
    merge(a, b);
    merge(b, a);
    for (uint64_t later = 0; later < 10; later++) {
        bool found = roost_window_contains_hash(a, hash_for_key(1), clock + SECONDS(100 * later));
        assert_int_equal(found, roost_window_contains_hash(b, hash_for_key(1), clock + SECONDS(100 * later)));
        assert_same_digest(a, b);
        assert_same_frame(a, b);
    }
    FREE_ALL(a, b);
}

/* What is in the window at one replica is there after any merge, as long as it is in the window. */
static void merges_lose_nothing(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(66));
    uint64_t asked = 0;
    for (uint64_t number = 0; number < 24; number++) {
        roost_config config = some_window_config(ROOST_WINDOW, number);
        roost_filter *a = new_filter(&config), *b = new_filter(&config);
        uint64_t clock = EPOCH, other = EPOCH + random_choice(&random, 60000000);
        live(a, &random, &clock, 150);
        live(b, &random, &other, 150);
        roost_filter *sum = merged(a, b);
        roost_window_info info;
        roost_window_get_info(sum, &info);
        for (uint64_t key = 0; key < 500; key++) {
            bool here = roost_window_contains_hash(a, hash_for_key(key), info.newest) ||
                        roost_window_contains_hash(b, hash_for_key(key), info.newest);
            assert_true(!here || roost_window_contains_hash(sum, hash_for_key(key), info.newest));
            asked += here;
        }
        FREE_ALL(a, b, sum);
    }
    assert_true(asked > 1000);
}

/* ---- the paper's filters --------------------------------------------------------------------------------------- */

enum { PAPER_BITS = 600, PAPER_PROBES = 3, MOST_FILTERS = 8 };

/* Future, present, past 1 ... N as the paper has them: an element is set in two, a refresh moves all by one. */
struct paper {
    uint8_t filters[MOST_FILTERS][PAPER_BITS]; /* [0] is the future, [1] the present */
    uint32_t past;
};

static void paper_refresh(struct paper *paper)
{
    memmove(paper->filters[1], paper->filters[0], sizeof paper->filters - sizeof *paper->filters);
    memset(paper->filters[0], 0, sizeof *paper->filters);
}

static bool paper_get(const struct paper *paper, uint32_t filter, roost_hash hash)
{
    for (uint32_t probe = 0; probe < PAPER_PROBES; probe++)
        if (!paper->filters[filter][classic_position(hash, probe, PAPER_BITS)])
            return false;
    return true;
}

static void paper_insert(struct paper *paper, roost_hash hash)
{
    for (uint32_t probe = 0; probe < PAPER_PROBES; probe++)
        paper->filters[0][classic_position(hash, probe, PAPER_BITS)] =
            paper->filters[1][classic_position(hash, probe, PAPER_BITS)] = 1;
}

static bool paper_any(const struct paper *paper, roost_hash hash)
{
    for (uint32_t i = 0; i < paper->past + 2; i++)
        if (paper_get(paper, i, hash))
            return true;
    return false;
}

/* Algorithm 2; as printed, the last step is never reached for more than one past filter. */
static bool paper_optimised(const struct paper *paper, roost_hash hash, bool as_printed)
{
    uint32_t oldest = paper->past + 1;
    if (paper_get(paper, 0, hash))
        return true;
    if (paper_get(paper, 1, hash) && paper_get(paper, 2, hash))
        return true;
    if (oldest > 2)
        for (uint32_t i = 2; i < oldest; i++)
            if (paper_get(paper, i, hash) && paper_get(paper, i + 1, hash))
                return true;
    return (oldest == 2 || !as_printed) && paper_get(paper, oldest, hash);
}

/* Equation 3 from counts of elements, by the paper's indices. */
static double paper_estimate(const struct paper *paper, const double *held)
{
    double rate[MOST_FILTERS] = {0}, right;
    for (uint32_t i = 0; i < paper->past + 2; i++)
        rate[i] = pow(1 - exp(-PAPER_PROBES * held[i] / PAPER_BITS), PAPER_PROBES);
    right = 1 - rate[0];
    for (uint32_t i = 1; i <= paper->past; i++)
        right *= 1 - rate[i] * rate[i + 1];
    return 1 - right * (1 - rate[paper->past + 1]);
}

static roost_config paper_config(uint32_t past)
{
    roost_config config = window_config(ROOST_WINDOW, ROOST_CLASSIC, past, 100, 0.99);
    config.window = SECONDS(5) * (past + 1);
    config.slot_bits = PAPER_BITS;
    config.slot_probes = PAPER_PROBES;
    return config;
}

static void the_papers_checks_come_out_as_in_the_paper(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(67));
    uint64_t printed_misses = 0, any_only = 0, pairs_only = 0, mistakes = 0;
    for (uint32_t past = 1; past <= 5; past++) {
        roost_config config = paper_config(past);
        roost_filter *window = new_filter(&config);
        struct paper paper = {.past = past};
        double held[MOST_FILTERS] = {0};
        uint64_t key = 0;
        for (uint32_t slot = 0; slot < 40; slot++) {
            uint64_t time = EPOCH + SECONDS(5 * slot);
            if (slot > 0) {
                paper_refresh(&paper);
                memmove(held + 1, held, sizeof held - sizeof *held);
                held[0] = 0;
            }
            for (uint32_t i = 1 + random_choice(&random, 60); i > 0; i--, key++) {
                bool seen;
                assert_ok(roost_window_add_hash(window, &seen, hash_for_key(key), time + i));
                paper_insert(&paper, hash_for_key(key));
                held[0]++, held[1]++;
            }
            for (uint64_t probe = 0; probe < 600; probe++) {
                bool fresh = probe >= 300;
                roost_hash hash = hash_for_key(fresh ? UINT64_C(1) << 40 | random_next(&random) >> 30
                                                     : key - 1 - random_choice(&random, (uint32_t)key));
                bool any = roost_overlap_contains_hash(window, ROOST_OVERLAP_ANY, hash, time);
                bool pairs = roost_overlap_contains_hash(window, ROOST_OVERLAP_PAIRS, hash, time);
                bool slots = roost_overlap_contains_hash(window, ROOST_OVERLAP_SLOTS, hash, time);
                assert_int_equal(any, paper_any(&paper, hash));
                assert_int_equal(pairs, paper_optimised(&paper, hash, false));
                assert_true((!slots || pairs) && (!pairs || any));
                printed_misses += slots && !paper_optimised(&paper, hash, true);
                any_only += fresh && any && !pairs;
                pairs_only += fresh && pairs && !slots;
                mistakes += fresh && slots;
            }
            /* An element may share all its bits with one before it, and is then not counted. */
            double estimate = roost_overlap_estimate_fpr(window, ROOST_OVERLAP_PAIRS, time),
                   theirs = paper_estimate(&paper, held);
            assert_true(estimate <= theirs + 1e-12 && estimate > theirs * 0.75);
        }
        roost_filter_free(window);
    }
    assert_true(printed_misses > 100 && any_only > 1000 && pairs_only > 100 && mistakes > 10);
}

/* ---- resizing -------------------------------------------------------------------------------------------------- */

static void add_evenly(roost_filter *window, uint64_t from, uint64_t *key, uint64_t count, uint64_t span)
{
    for (uint64_t i = 0; i < count; i++)
        assert_ok(roost_window_add_hash(window, NULL, hash_for_key((*key)++), from + span * i / count));
}

static uint64_t count_mistakes(const roost_filter *window, uint64_t time, uint64_t probes)
{
    uint64_t mistakes = 0;
    for (uint64_t i = 0; i < probes; i++)
        mistakes += roost_window_contains_hash(window, hash_for_key((UINT64_C(1) << 50) + i), time);
    return mistakes;
}

static void the_promise_holds_for_even_loads_and_bursts(void **state)
{
    (void)state;
    for (uint32_t layout = ROOST_BLOCKED; layout <= ROOST_CLASSIC; layout++)
        for (uint32_t burst = 0; burst < 2; burst++) {
            roost_config config = window_config(ROOST_WINDOW, layout, 3, 20000, 0.001);
            roost_filter *window = new_filter(&config);
            roost_window_info info;
            uint64_t key = 0, time = EPOCH;
            for (uint32_t round = 0; round < 4; round++, time += SECONDS(burst ? 75 : 60)) {
                add_evenly(window, time, &key, config.capacity, burst ? 1000 : SECONDS(60));
                assert_true(info_of(window).promise_holds);
            }
            roost_window_get_info(window, &info);
            time = info.newest;
            uint64_t mistakes = count_mistakes(window, time, 200000);
            assert_true(mistakes < 200 + 5 * 15); /* 0.1 % and five standard errors */
            assert_true(roost_overlap_estimate_fpr(window, ROOST_OVERLAP_SLOTS, time) <= config.fpr);
            assert_int_equal(info.shortest_slot < info.slot, burst);
            for (uint64_t i = key - config.capacity; i < key; i++)
                assert_true(roost_window_contains_hash(window, hash_for_key(i), time));
            roost_filter_free(window);
        }
}

/* Three times the load, then a tenth: finer slots come and go, the rate stays, the window is as long as ever. */
static void slots_follow_the_load(void **state)
{
    (void)state;
    roost_config config = window_config(ROOST_WINDOW, ROOST_CLASSIC, 3, 4000, 0.001);
    roost_filter *window = new_filter(&config);
    roost_window_info calm, busy, calm_again;
    uint64_t key = 0, time = EPOCH;
    for (uint32_t round = 0; round < 3; round++, time += SECONDS(60))
        add_evenly(window, time, &key, 3000, SECONDS(60));
    roost_window_get_info(window, &calm);
    for (uint32_t round = 0; round < 3; round++, time += SECONDS(60))
        add_evenly(window, time, &key, 12000, SECONDS(60));
    roost_window_get_info(window, &busy);
    for (uint32_t round = 0; round < 4; round++, time += SECONDS(60))
        add_evenly(window, time, &key, 400, SECONDS(60));
    roost_window_get_info(window, &calm_again);
    assert_int_equal(calm.shortest_slot, calm.slot);
    assert_true(busy.shortest_slot < busy.slot && busy.slots >= 2 * calm.slots);
    assert_int_equal(calm_again.shortest_slot, calm.slot);
    assert_true(calm_again.slots <= calm.slots);
    assert_true(info_of(window).promise_holds);
    roost_filter_free(window);
}

/* Where memory is short additions are refused, and what is there keeps its promise. */
static void without_memory_additions_are_refused(void **state)
{
    (void)state;
    for (uint32_t layout = GROWING; layout <= ROOST_CLASSIC; layout++) {
        roost_config config = window_config(ROOST_WINDOW, layout, 1, 2000, 0.001);
        roost_filter *window;
        roost_environment environment = {.memory_limit = 60000};
        assert_ok(roost_filter_new(&window, &config, &environment));
        uint64_t key = 0;
        roost_status status = ROOST_OK;
        while (status == ROOST_OK)
            status = roost_window_add_hash(window, NULL, hash_for_key(key++), EPOCH);
        roost_status refusal = layout == GROWING ? ROOST_TOO_LARGE : ROOST_FULL;
        assert_int_equal(status, refusal);
        assert_true(key > 2000);
        struct portrait before = portrait_of(window);
        assert_int_equal(roost_window_add_hash(window, NULL, hash_for_key(key - 1), EPOCH), refusal);
        assert_still(&before, window);
        assert_true(info_of(window).bytes_memory <= environment.memory_limit && info_of(window).promise_holds);
        for (uint64_t i = 0; i < key - 1; i++)
            assert_true(roost_filter_contains_hash(window, hash_for_key(i)));
        if (layout == GROWING) /* it is there already */
            assert_ok(roost_window_add_hash(window, NULL, hash_for_key(0), EPOCH));
        /* Time goes by, and there is room again. */
        for (uint64_t i = 0; i < 1500; i++)
            assert_ok(roost_window_add_hash(window, NULL, hash_for_key(key + i), EPOCH + SECONDS(600)));
        assert_ok(roost_filter_check(window));
        roost_filter_free(window);
    }
}

/* ---- any load -------------------------------------------------------------------------------------------------- */

static const uint32_t pasts[] = {1, 2, 5, 40, 200};

/* Prefixes so short that the rate can be measured: n elements err by n / 2^bits. */
static roost_config measurable_config(roost_kind kind, uint32_t past)
{
    roost_config config = window_config(kind, GROWING, past, 300, 0.001);
    config.fingerprint_bits = 24;
    return config;
}

/* How many mistakes a rate makes in so many trials, hardly ever exceeded: five standard errors, and three for rates
   near nothing. */
static double most_mistakes(double rate, uint64_t trials)
{
    return rate * (double)trials + 5 * sqrt(rate * (double)trials) + 3;
}

static void assert_rate(const roost_filter *window, uint64_t elements)
{
    enum { PROBES = 200000 };
    roost_window_info info;
    roost_window_get_info(window, &info);
    double rate = (double)elements / (1 << 24);
    uint64_t mistakes = count_mistakes(window, info.newest, PROBES);
    assert_true((double)mistakes <= most_mistakes(rate, PROBES));
    assert_true(rate < 4e-4 || mistakes > 0);
    assert_true(info_of(window).promise_holds && fabs(info_of(window).fpr_now - rate) < 2e-6);
    assert_true(roost_overlap_estimate_fpr(window, ROOST_OVERLAP_SLOTS, info.newest) <= 0.001);
}

/* From what was planned to fifty times as much, in one moment or evenly, at one replica or at two. */
static void a_window_keeps_its_rate_at_any_load(void **state)
{
    (void)state;
    static const uint64_t loads[] = {1, 5, 50};
    for (size_t i = 0; i < COUNT_OF(pasts) * COUNT_OF(loads) * 2; i++) {
        roost_config config = measurable_config(ROOST_WINDOW, pasts[i / 6]);
        uint64_t count = config.capacity * loads[i / 2 % 3], key = 0;
        roost_filter *window = new_filter(&config), *other = new_filter(&config);
        add_evenly(window, EPOCH, &key, count - count / 2, i % 2 ? SECONDS(59) : 1);
        add_evenly(other, EPOCH, &key, count / 2, i % 2 ? SECONDS(59) : 1);
        merge(window, other);
        assert_true(info_of(window).entries <= count && info_of(window).entries > count * 99 / 100);
        assert_rate(window, info_of(window).entries);
        for (uint64_t j = 0; j < count; j++)
            assert_true(roost_filter_contains_hash(window, hash_for_key(j)));
        assert_ok(roost_filter_check(window));
        FREE_ALL(window, other);
    }
}

/* As dedup does it: what passes of a stream in which nothing comes twice. */
static void hardly_anything_new_is_taken_for_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(pasts); i++) {
        roost_config config = window_config(ROOST_WINDOW, GROWING, pasts[i], 1000, 1e-6);
        roost_filter *window = new_filter(&config);
        for (uint64_t key = 0; key < 50000; key++) {
            bool seen;
            assert_ok(roost_window_add_hash(window, &seen, hash_for_key(key), EPOCH + key));
            assert_false(seen); /* 50,000 / 2^54 */
        }
        roost_filter_free(window);
    }
}

static void assert_full(roost_filter *window, uint64_t time)
{
    struct portrait before = portrait_of(window);
    bool seen;
    for (uint64_t key = UINT64_C(1) << 40; key < (UINT64_C(1) << 40) + 20; key++)
        assert_int_equal(roost_window_add_hash(window, &seen, hash_for_key(key), time), ROOST_FULL);
    assert_still(&before, window);
    assert_true(info_of(window).promise_holds);
}

/* Where the rate cannot be kept, an error and no silence. */
static void full_windows_refuse_additions(void **state)
{
    (void)state;
    roost_config growing = measurable_config(ROOST_WINDOW, 3);
    roost_filter *window = new_filter(&growing), *other = new_filter(&growing);
    uint64_t key = 0, limit = info_of(window).growth_limit;
    assert_int_equal(limit, (uint64_t)(0.001 * (1 << 24)));
    while (info_of(window).entries < limit)
        assert_ok(roost_window_add_hash(window, NULL, hash_for_key(key++), EPOCH));
    assert_full(window, EPOCH);
    assert_ok(roost_window_add_hash(window, NULL, hash_for_key(0), EPOCH + SECONDS(60))); /* it is there already */
    for (uint64_t i = 0; i < 200; i++)
        assert_ok(roost_window_add_hash(other, NULL, hash_for_key(key++), EPOCH));
    merge(window, other); /* is never refused, and what it costs is told */
    assert_false(info_of(window).promise_holds);
    assert_ok(roost_window_add_hash(window, NULL, hash_for_key(key), EPOCH + SECONDS(90)));
    assert_true(info_of(window).promise_holds);
    FREE_ALL(window, other);

    roost_config fixed = window_config(ROOST_WINDOW, ROOST_BLOCKED, 40, 1000, 1e-3);
    window = new_filter(&fixed);
    roost_status status = ROOST_OK;
    for (key = 0; key < 1000 && status == ROOST_OK; key++)
        status = roost_window_add_hash(window, NULL, hash_for_key(key), EPOCH);
    assert_int_equal(status, ROOST_FULL); /* a burst, with two levels */
    assert_full(window, EPOCH);
    assert_ok(roost_window_add_hash(window, NULL, hash_for_key(key), EPOCH + SECONDS(2)));
    roost_filter_free(window);
}

/* More than a million entries, in slabs; then time passes, and the memory comes back. */
static void large_windows_come_and_go(void **state)
{
    (void)state;
    only_as_shipped();
    enum { MANY = 1100000, AT_ONCE = 1000 };
    roost_config config = window_config(ROOST_WINDOW, GROWING, 3, 1000, 1e-6);
    roost_filter *window = new_filter(&config);
    static roost_hash hashes[AT_ONCE];
    static bool seen[AT_ONCE];
    for (uint64_t key = 0; key < MANY; key += AT_ONCE) {
        for (uint64_t i = 0; i < AT_ONCE; i++)
            hashes[i] = hash_for_key(key + i);
        assert_ok(roost_window_add_many_hash(window, seen, NULL, hashes, AT_ONCE, EPOCH + SECONDS(60) * key / MANY));
        assert_null(memchr(seen, true, sizeof seen));
    }
    assert_true(as_window(window)->recent.slab_count > 0);
    assert_int_equal(info_of(window).entries, MANY);
    assert_true(info_of(window).bytes_memory < MANY * 24);
    assert_ok(roost_filter_check(window));
    roost_filter *copy = clone_of(window);
    assert_true(roost_filter_equal(window, copy));
    roost_filter_free(copy);
    uint64_t before = info_of(window).bytes_memory;
    for (uint64_t key = MANY; key < MANY + 2000; key++)
        assert_ok(roost_window_add_hash(window, seen, hash_for_key(key), EPOCH + SECONDS(200)));
    assert_true(info_of(window).bytes_memory < before / 10);
    assert_int_equal(info_of(window).entries, 2000);
    assert_ok(roost_filter_check(window));
    roost_filter_free(window);
}

/* Memory fails at each addition once. */
static void additions_survive_a_lack_of_memory(void **state)
{
    (void)state;
    struct meter meter = {0};
    struct random_source random = random_from_seed(test_seed(76));
    roost_environment environment = metered_environment(&meter);
    roost_config config = window_config(ROOST_WINDOW, GROWING, 3, 1000, 1e-6);
    roost_filter *window;
    uint64_t refused = 0, time = EPOCH;
    assert_ok(roost_filter_new(&window, &config, &environment));
    for (uint64_t key = 0; key < 70000; key++) {
        roost_digest before = roost_filter_digest(window);
        time += random_choice(&random, 1500);
        meter.allowed = random_choice(&random, 2);
        roost_status status = roost_window_add_hash(window, NULL, hash_for_key(key), time);
        meter.allowed = -1;
        if (status == ROOST_OK)
            continue;
        roost_digest after = roost_filter_digest(window);
        assert_int_equal(status, ROOST_NO_MEMORY);
        assert_memory_equal(&before, &after, sizeof before);
        refused++;
        assert_ok(roost_window_add_hash(window, NULL, hash_for_key(key), time));
    }
    assert_true(refused > 5);
    assert_ok(roost_filter_check(window));
    roost_filter_free(window);
    assert_int_equal(meter.outstanding, 0);
}

/* ---- clocks ---------------------------------------------------------------------------------------------------- */

static void assert_clock_refused(roost_filter *window, uint64_t time)
{
    bool seen, applied;
    struct portrait before = portrait_of(window);
    if (roost_filter_get_config(window)->kind == ROOST_WINDOW)
        assert_int_equal(roost_window_add(window, &seen, "x", 1, time), ROOST_CLOCK);
    else
        assert_int_equal(roost_counter_increment(window, &applied, NULL, "x", 1, 1, time), ROOST_CLOCK);
    assert_still(&before, window);
}

static void clocks_that_go_wrong_change_nothing(void **state)
{
    (void)state;
    for (uint32_t kind = ROOST_WINDOW; kind <= ROOST_COUNTER; kind++) {
        struct random_source random = random_from_seed(68);
        roost_config config = window_config(kind, kind == ROOST_WINDOW ? GROWING : ROOST_BLOCKED, 3, 500, 1e-4);
        roost_filter *window = new_filter(&config), *later = new_filter(&config);
        uint64_t clock = EPOCH, year = SECONDS(365 * 86400), ahead = EPOCH + year;
        live(window, &random, &clock, 100);
        live(later, &random, &ahead, 20);
        assert_clock_refused(window, clock + year);
        assert_clock_refused(window, clock - year);
        assert_clock_refused(window, 0);
        assert_clock_refused(window, clock - SECONDS(120));
        assert_clock_refused(window, UINT64_MAX);
        assert_clock_refused(window, ROOST_WINDOW_MOST_TIME + 1);
        roost_window_set_latest(window, clock + SECONDS(10));
        assert_clock_refused(window, clock + SECONDS(11));
        struct portrait before = portrait_of(window);
        assert_int_equal(roost_filter_merge(window, NULL, later), ROOST_CLOCK);
        assert_still(&before, window);
        roost_buffer frame;
        roost_cursor cursor = {0};
        assert_ok(roost_filter_encode_delta(later, &frame, &cursor, &cursor));
        roost_buffer_release(&frame);
        live(later, &random, &ahead, 5);
        assert_ok(roost_filter_encode_delta(later, &frame, &cursor, &cursor));
        assert_int_equal(frame.data[5], 2);
        before = portrait_of(window);
        assert_int_equal(roost_filter_merge_frame(window, NULL, frame.data, frame.size), ROOST_CLOCK);
        assert_still(&before, window);
        roost_window_set_latest(window, ahead + SECONDS(10));
        assert_ok(roost_filter_merge_frame(window, NULL, frame.data, frame.size));
        live(window, &random, &ahead, 1); /* he vouches for it */
        roost_buffer_release(&frame);
        FREE_ALL(window, later);
    }
}

static void what_is_not_for_windows_says_so(void **state)
{
    (void)state;
    roost_config config = window_config(ROOST_WINDOW, ROOST_BLOCKED, 3, 500, 1e-4),
                 plain = bloom_config(ROOST_BLOCKED, 9, 0.1);
    roost_filter *window = new_filter(&config), *bloom = new_filter(&plain);
    bool seen, applied;
    size_t done = 7;
    assert_int_equal(roost_filter_add(window, &seen, "x", 1), ROOST_UNSUPPORTED);
    assert_int_equal(roost_filter_add_many(window, NULL, &done, &(roost_bytes){"x", 1}, 1), ROOST_UNSUPPORTED);
    assert_int_equal(done, 0);
    assert_int_equal(roost_filter_remove(window, &seen, "x", 1), ROOST_UNSUPPORTED);
    assert_int_equal(roost_window_add(bloom, &seen, "x", 1, EPOCH), ROOST_UNSUPPORTED);
    assert_int_equal(roost_window_add_many(bloom, &seen, &done, &(roost_bytes){"x", 1}, 1, EPOCH), ROOST_UNSUPPORTED);
    assert_int_equal(roost_counter_increment(bloom, &applied, NULL, "x", 1, 1, EPOCH), ROOST_UNSUPPORTED);
    assert_int_equal(roost_counter_increment(window, &applied, NULL, "x", 1, 1, EPOCH), ROOST_UNSUPPORTED);
    assert_int_equal(roost_filter_merge(window, NULL, bloom), ROOST_MISMATCH);
    FREE_ALL(window, bloom);
}

static void configurations_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    const roost_config good = window_config(ROOST_WINDOW, ROOST_BLOCKED, 3, 500, 1e-4);
    roost_config bad[15];
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        bad[i] = good;
    for (size_t i = 10; i < COUNT_OF(bad); i++)
        bad[i].scalable = true;
    bad[0].window = 0;
    bad[1].window = UINT64_C(1) << 51;
    bad[2].past = 65;
    bad[3].capacity = 0;
    bad[4].fpr = 0;
    bad[5].fpr = 1;
    bad[6].window = UINT64_MAX;
    bad[7].slot_bits = 1000; /* no multiple of a block, and no probes */
    bad[8].multiset = true;
    bad[9].layout = 3;
    bad[10].past = 256;
    bad[11].fpr = 1e-16; /* 2^60 times that is fewer than the capacity */
    bad[12].slot_bits = 1024;
    bad[13].fingerprint_bits = 61;
    bad[14].fingerprint_bits = 7;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        roost_filter *filter;
        assert_int_equal(roost_filter_new(&filter, &bad[i], NULL), ROOST_INVALID);
        assert_null(filter);
    }
    for (uint32_t layout = GROWING; layout <= ROOST_CLASSIC; layout++) {
        roost_config config = window_config(ROOST_WINDOW, layout, 3, 500, 1e-4);
        roost_filter *window = new_filter(&config), *again = new_filter(roost_filter_get_config(window));
        assert_same_frame(window, again);
        FREE_ALL(window, again);
    }
}

/* ---- batches --------------------------------------------------------------------------------------------------- */

static void batches_do_as_single_additions_do(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(69));
    for (uint64_t number = 0; number < 12; number++) {
        roost_config config = some_window_config(ROOST_WINDOW, number);
        roost_filter *one = new_filter(&config), *many = new_filter(&config);
        uint64_t time = EPOCH;
        for (uint32_t round = 0; round < 20; round++, time += random_choice(&random, 20000000)) {
            static roost_hash hashes[1500];
            static roost_bytes keys[1500];
            static uint64_t numbers[1500];
            static bool seen[1500];
            size_t count = random_choice(&random, 1500), done;
            for (size_t i = 0; i < count; i++) {
                numbers[i] = random_choice(&random, 2000);
                keys[i] = (roost_bytes){&numbers[i], sizeof numbers[i]};
                hashes[i] = roost_filter_hash(one, keys[i].data, keys[i].size);
            }
            roost_status status = round % 2 ? roost_window_add_many(many, seen, &done, keys, count, time)
                                            : roost_window_add_many_hash(many, seen, &done, hashes, count, time);
            assert_true(status == ROOST_OK ? done == count : status == ROOST_FULL && !config.scalable);
            for (size_t i = 0; i < done; i++) {
                bool was_seen;
                assert_ok(roost_window_add_hash(one, &was_seen, hashes[i], time));
                assert_int_equal(was_seen, seen[i]);
            }
            if (done < count)
                assert_int_equal(roost_window_add_hash(one, NULL, hashes[done], time), ROOST_FULL);
            assert_same_frame(one, many);
        }
        FREE_ALL(one, many);
    }
}

/* A caller that does not ask what was seen gets the same window, in all layouts. */
static void answers_need_not_be_asked_for(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 12; number++) {
        roost_config config = some_window_config(ROOST_WINDOW, number);
        roost_filter *asked = new_filter(&config), *unasked = new_filter(&config), *hashed = new_filter(&config);
        static roost_hash hashes[1500];
        static roost_bytes keys[1500];
        static uint64_t numbers[1500];
        static bool seen[1500];
        size_t done, done_unasked, done_hashed;
        for (size_t i = 0; i < 1500; i++) {
            numbers[i] = i % 1000;
            keys[i] = (roost_bytes){&numbers[i], sizeof numbers[i]};
            hashes[i] = roost_filter_hash(asked, keys[i].data, keys[i].size);
        }
        roost_status status = roost_window_add_many(asked, seen, &done, keys, 1500, EPOCH);
        assert_int_equal(roost_window_add_many(unasked, NULL, &done_unasked, keys, 1500, EPOCH), status);
        assert_int_equal(roost_window_add_many_hash(hashed, NULL, &done_hashed, hashes, 1500, EPOCH), status);
        assert_true(done > 0 && done_unasked == done && done_hashed == done);
        assert_same_frame(asked, unasked);
        assert_same_frame(asked, hashed);
        FREE_ALL(asked, unasked, hashed);
    }
}

/* ---- the baseline ---------------------------------------------------------------------------------------------- */

static void a_recyclable_filter_is_cleared_whole(void **state)
{
    (void)state;
    roost_recyclable *filter;
    bool seen;
    assert_int_equal(roost_recyclable_new(&filter, 0, 3, 0.01, NULL), ROOST_INVALID);
    assert_int_equal(roost_recyclable_new(&filter, 1500, 0, 0.01, NULL), ROOST_INVALID);
    assert_int_equal(roost_recyclable_new(&filter, 1500, 3, 1, NULL), ROOST_INVALID);
    assert_ok(roost_recyclable_new(&filter, 1500, 3, 0.01, NULL));
    uint64_t held = 0, most = 0;
    for (uint64_t key = 0; key < 2000; key++) {
        uint64_t recycled = roost_recyclable_get_cycles(filter);
        assert_ok(roost_recyclable_add_hash(filter, &seen, hash_for_key(key)));
        held = roost_recyclable_get_cycles(filter) > recycled ? 1 : held + !seen;
        most = held > most ? held : most;
        assert_true(roost_recyclable_contains_hash(filter, hash_for_key(key)));
    }
    /* (1 - exp(-3 l / 1500))^3 passes 0.01 at l = 121.4 */
    assert_int_equal(most, 122);
    assert_true(roost_recyclable_get_cycles(filter) >= 16);
    assert_false(roost_recyclable_contains_hash(filter, hash_for_key(0)) &&
                 roost_recyclable_contains_hash(filter, hash_for_key(1)));
    roost_recyclable_free(filter);
    for (int64_t allowed = 0; allowed < 6; allowed++) {
        struct meter meter;
        roost_environment environment = metered_environment(&meter);
        meter = (struct meter){.allowed = allowed};
        if (roost_recyclable_new(&filter, 1500, 3, 0.01, &environment) == ROOST_OK)
            roost_recyclable_free(filter);
        assert_int_equal(meter.outstanding, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_keep_what_came_and_nothing_else),
        cmocka_unit_test(the_example_is_right),
        cmocka_unit_test(a_window_is_never_shorter_than_asked),
        cmocka_unit_test(merge_is_a_join),
        cmocka_unit_test(an_addition_is_an_inflation),
        cmocka_unit_test(idle_replicas_keep_equal_digests),
        cmocka_unit_test(merges_lose_nothing),
        cmocka_unit_test(the_papers_checks_come_out_as_in_the_paper),
        cmocka_unit_test(the_promise_holds_for_even_loads_and_bursts),
        cmocka_unit_test(slots_follow_the_load),
        cmocka_unit_test(without_memory_additions_are_refused),
        cmocka_unit_test(a_window_keeps_its_rate_at_any_load),
        cmocka_unit_test(hardly_anything_new_is_taken_for_seen),
        cmocka_unit_test(full_windows_refuse_additions),
        cmocka_unit_test(large_windows_come_and_go),
        cmocka_unit_test(additions_survive_a_lack_of_memory),
        cmocka_unit_test(clocks_that_go_wrong_change_nothing),
        cmocka_unit_test(what_is_not_for_windows_says_so),
        cmocka_unit_test(configurations_that_make_no_sense_are_refused),
        cmocka_unit_test(batches_do_as_single_additions_do),
        cmocka_unit_test(answers_need_not_be_asked_for),
        cmocka_unit_test(a_recyclable_filter_is_cleared_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
