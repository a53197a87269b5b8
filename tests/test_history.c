/*
 * Histories beside bitmaps of a small universe, their bytes, many actors and many dots, and every allocation refused
 * once.
 */
#include "meter.h"

#include "causal/history.h"

static roost_allocator plain_allocator(void)
{
    return allocator_or_default((roost_allocator){0});
}

/* ---- the model: four actors, a window of 64 counters each, as bits ----------------------------------------------- */

#define ACTORS 4

/* Neighbours, and the largest: where arithmetic on positions could go wrong. */
static const uint64_t actor_ids[ACTORS] = {1, 2, 3, UINT64_MAX};

struct model {
    uint32_t below; /* bit i is counter below + 1 + i: the window begins at 1, or ends at the largest counter */
    uint64_t seen[ACTORS];
};

static const uint32_t windows[] = {0, 1, UINT32_MAX - 64};

static struct model empty_model(struct random_source *random)
{
    return (struct model){.below = windows[random_choice(random, COUNT_OF(windows))]};
}

static uint64_t bits_between(unsigned first, unsigned last)
{
    return (UINT64_MAX >> (63 - (last - first))) << first;
}

static bool model_has(const struct model *model, unsigned actor, uint64_t counter)
{
    uint64_t bit = counter - model->below - 1;
    return bit < 64 && (model->seen[actor] >> bit & 1);
}

struct model_run {
    unsigned actor, first, last; /* bits */
};

/* Short ones and long ones. */
static struct model_run random_run(struct random_source *random)
{
    unsigned first = random_choice(random, 64), most = random_choice(random, 4) ? 6 : 64;
    unsigned last = first + random_choice(random, most);
    return (struct model_run){random_choice(random, ACTORS), first, last < 64 ? last : 63};
}

static void model_add(struct model *model, struct model_run run)
{
    model->seen[run.actor] |= bits_between(run.first, run.last);
}

static struct dot_run real_run(const struct model *model, struct model_run run)
{
    return (struct dot_run){actor_ids[run.actor], model->below + 1 + run.first, model->below + 1 + run.last};
}

static uint64_t model_dots(const struct model *model)
{
    uint64_t dots = 0;
    for (unsigned actor = 0; actor < ACTORS; actor++)
        dots += count_ones(model->seen[actor]);
    return dots;
}

/* Runs begin where a bit is set and the one below is not. */
static size_t model_runs(const struct model *model)
{
    size_t runs = 0;
    for (unsigned actor = 0; actor < ACTORS; actor++)
        runs += count_ones(model->seen[actor] & ~(model->seen[actor] << 1));
    return runs;
}

static void assert_actor_matches(const struct history *history, const struct model *model, unsigned actor)
{
    uint64_t id = actor_ids[actor], seen = model->seen[actor];
    for (unsigned bit = 0; bit < 64; bit++)
        assert_int_equal(history_contains(history, id, model->below + 1 + bit), seen >> bit & 1);
    assert_false(history_contains(history, id, 0));
    for (size_t run = 0; run < history->count; run++)
        if (history->runs[run].actor == id) {
            assert_int_equal(history_run_of(history, id, history->runs[run].first), run);
            assert_int_equal(history_run_of(history, id, history->runs[run].last), run);
        }
    assert_int_equal(history_contains(history, id, 1), model_has(model, actor, 1));
    assert_int_equal(history_contains(history, id, 66), model_has(model, actor, 66));
    assert_int_equal(history_contains(history, id, UINT32_MAX), model_has(model, actor, UINT32_MAX));
    assert_int_equal(history_largest(history, id), seen ? model->below + 1 + highest_bit(seen) : 0);
    bool from_one = model->below == 0 && (seen & 1);
    assert_int_equal(history_contiguous(history, id), !from_one ? 0 : ~seen ? lowest_bit(~seen) : 64);
}

static void assert_matches(const struct history *history, const struct model *model)
{
    size_t actors = 0, from_one = 0;
    assert_true(history_check(history));
    for (unsigned actor = 0; actor < ACTORS; actor++) {
        assert_actor_matches(history, model, actor);
        actors += model->seen[actor] != 0;
        from_one += model_has(model, actor, 1);
    }
    assert_int_equal(history->dots, model_dots(model));
    assert_int_equal(history->count, model_runs(model));
    assert_int_equal(history_actors(history), actors);
    assert_int_equal(history_gaps(history), history->count - from_one);
    assert_false(history_contains(history, 4, 1));
    assert_int_equal(history_contiguous(history, 4), 0);
    assert_int_equal(history_largest(history, UINT64_MAX - 1), 0);
}

/* A history with random runs, and what it holds; it may be empty. */
static struct history random_history(struct random_source *random, struct model *model, uint32_t below,
                                     const roost_allocator *allocator)
{
    struct history history = {0};
    *model = (struct model){.below = below};
    for (uint32_t runs = random_choice(random, 4) ? random_choice(random, 60) : random_choice(random, 3); runs;
         runs--) {
        struct model_run run = random_run(random);
        model_add(model, run);
        assert_true(history_add(&history, allocator, real_run(model, run)));
    }
    return history;
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static void adding_runs_matches_the_model(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(1));
    unsigned inserted = 0, extended = 0, melted = 0, known = 0;
    for (int round = 0; round < 300; round++) {
        struct model model = empty_model(&random);
        struct history history = {0};
        for (int step = 0; step < 80; step++) {
            struct model_run run = random_run(&random);
            size_t runs = history.count;
            uint64_t dots = history.dots;
            model_add(&model, run);
            assert_true(history_add(&history, &allocator, real_run(&model, run)));
            assert_matches(&history, &model);
            inserted += history.count > runs;
            melted += history.count < runs;
            extended += history.count == runs && history.dots > dots;
            known += history.dots == dots;
        }
        history_release(&history, &allocator);
    }
    printf("%u inserted, %u extended, %u melted, %u known\n", inserted, extended, melted, known);
    assert_true(inserted > 1000 && extended > 1000 && melted > 1000 && known > 1000);
}

static void adding_many_matches_the_model(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(2));
    for (int round = 0; round < 3000; round++) {
        struct model model = empty_model(&random);
        struct history history = {0};
        for (int batch = 0; batch < 4; batch++) {
            struct dot_run runs[100];
            size_t count = random_choice(&random, batch % 2 ? 8 : COUNT_OF(runs));
            for (size_t i = 0; i < count; i++) {
                struct model_run run = random_run(&random);
                model_add(&model, run);
                runs[i] = real_run(&model, run);
            }
            assert_true(history_add_many(&history, &allocator, runs, count));
            assert_matches(&history, &model);
        }
        history_release(&history, &allocator);
    }
}

static void shuffle(struct random_source *random, struct dot_run *runs, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = random_choice(random, (uint32_t)i);
        struct dot_run run = runs[i - 1];
        runs[i - 1] = runs[j];
        runs[j] = run;
    }
}

static void dots_in_any_order_become_one_run(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(3));
    for (int round = 0; round < 20; round++) {
        struct dot_run dots[1200];
        struct history history = {0};
        size_t widest = 0;
        for (size_t i = 0; i < COUNT_OF(dots); i++) {
            uint32_t counter = (uint32_t)(i / 3) + (round % 2 ? 1 : UINT32_MAX - 399);
            dots[i] = (struct dot_run){7 + i % 3, counter, counter};
        }
        shuffle(&random, dots, COUNT_OF(dots));
        for (size_t i = 0; i < COUNT_OF(dots); i++) {
            assert_false(history_contains(&history, dots[i].actor, dots[i].first));
            assert_true(history_add(&history, &allocator, dots[i]));
            assert_true(history_contains(&history, dots[i].actor, dots[i].first));
            assert_true(history_check(&history));
            widest = history.count > widest ? history.count : widest;
        }
        assert_int_equal(history.count, 3);
        assert_int_equal(history.dots, COUNT_OF(dots));
        assert_true(widest > 200);
        history_release(&history, &allocator);
    }
}

static void a_million_dots_become_one_run(void **state)
{
    (void)state;
    const size_t count = 1000000, batch = 250000;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(4));
    struct dot_run *dots = calloc(count, sizeof *dots);
    struct history history = {0};
    for (size_t i = 0; i < count; i++)
        dots[i] = (struct dot_run){UINT64_C(0xfedcba9876543210), (uint32_t)i + 1, (uint32_t)i + 1};
    shuffle(&random, dots, count);
    for (size_t i = 0; i < count; i += batch) {
        assert_true(history_add_many(&history, &allocator, dots + i, batch));
        assert_true(history_check(&history));
        assert_int_equal(history.dots, i + batch);
    }
    assert_int_equal(history.count, 1);
    assert_int_equal(history_contiguous(&history, UINT64_C(0xfedcba9876543210)), count);
    free(dots);
    history_release(&history, &allocator);
}

/* Sorting has its own paths: actors far apart and close together, equal runs, runs with one beginning and many ends. */
static void many_are_added_as_if_one_by_one(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(5));
    for (int round = 0; round < 300; round++) {
        static struct dot_run runs[3000];
        struct history at_once = {0}, one_by_one = {0};
        size_t count = random_choice(&random, COUNT_OF(runs) + 1);
        unsigned actor_bits = 1 + random_choice(&random, 64), counter_bits = 1 + random_choice(&random, 32);
        for (size_t i = 0; i < count; i++) {
            uint32_t first = (uint32_t)(random_next(&random) >> (64 - counter_bits)) | 1;
            uint32_t more = random_choice(&random, 9);
            runs[i].actor = random_next(&random) >> (64 - actor_bits) | 1;
            runs[i].first = first;
            runs[i].last = more < UINT32_MAX - first ? first + more : first;
            assert_true(history_add(&one_by_one, &allocator, runs[i]));
        }
        assert_true(history_add_many(&at_once, &allocator, runs, count));
        assert_true(history_check(&at_once));
        assert_true(history_equal(&at_once, &one_by_one));
        history_release(&at_once, &allocator);
        history_release(&one_by_one, &allocator);
    }
}

static void runs_of_two_actors_never_touch(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct history history = {0}, sum, other = {0};
    assert_true(history_add(&history, &allocator, (struct dot_run){7, UINT32_MAX, UINT32_MAX}));
    assert_true(history_add(&history, &allocator, (struct dot_run){8, 1, UINT32_MAX}));
    assert_true(history_add(&other, &allocator, (struct dot_run){9, 1, 1}));
    assert_int_equal(history.count, 2);
    assert_int_equal(history.dots, UINT64_C(1) + UINT32_MAX);
    assert_true(history_union(&sum, &history, &other, &allocator));
    assert_true(history_check(&sum));
    assert_int_equal(sum.count, 3);
    assert_int_equal(history_contiguous(&sum, 8), UINT32_MAX);
    assert_int_equal(history_contiguous(&sum, 7), 0);
    history_release(&history, &allocator);
    history_release(&sum, &allocator);
    history_release(&other, &allocator);
}

static void reserved_room_lets_adds_succeed(void **state)
{
    (void)state;
    struct meter meter;
    roost_allocator allocator = allocator_of(&meter);
    struct history history = {0};
    for (uint32_t i = 0; i < 10; i++)
        assert_true(history_add(&history, &allocator, (struct dot_run){1, 2 * i + 1, 2 * i + 1}));
    assert_true(history_reserve(&history, &allocator, 1000));
    meter.allowed = 0;
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(history_add(&history, &allocator, (struct dot_run){2, 2 * i + 1, 2 * i + 1}));
    assert_int_equal(meter.failures, 0);
    assert_false(history_reserve(&history, &allocator, SIZE_MAX));
    assert_int_equal(meter.failures, 0);
    history_release(&history, &allocator);
    assert_int_equal(meter.outstanding, 0);
}

/* ---- two histories ----------------------------------------------------------------------------------------------- */

typedef bool set_operation(struct history *result, const struct history *first, const struct history *second,
                           const roost_allocator *allocator);

static void assert_operation(set_operation *operation, const struct history *a, const struct history *b,
                             const struct model *expected, const roost_allocator *allocator)
{
    struct history result;
    assert_true(operation(&result, a, b, allocator));
    assert_matches(&result, expected);
    history_release(&result, allocator);
}

static void set_operations_match_the_model(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(6));
    unsigned included = 0, overlapped = 0, equal = 0;
    for (int round = 0; round < 5000; round++) {
        uint32_t below = windows[random_choice(&random, COUNT_OF(windows))];
        struct model x, y, either = {.below = below}, both = either, alone = either;
        struct history a = random_history(&random, &x, below, &allocator);
        struct history b = random_history(&random, &y, below, &allocator);
        uint64_t missing = 0, common = 0, different = 0;
        for (unsigned actor = 0; actor < ACTORS; actor++) {
            either.seen[actor] = x.seen[actor] | y.seen[actor];
            both.seen[actor] = x.seen[actor] & y.seen[actor];
            alone.seen[actor] = x.seen[actor] & ~y.seen[actor];
            missing |= alone.seen[actor];
            common |= both.seen[actor];
            different |= x.seen[actor] ^ y.seen[actor];
        }
        assert_operation(history_union, &a, &b, &either, &allocator);
        assert_operation(history_intersection, &a, &b, &both, &allocator);
        assert_operation(history_difference, &a, &b, &alone, &allocator);
        assert_int_equal(history_includes(&b, &a), missing == 0);
        assert_int_equal(history_overlaps(&a, &b), common != 0);
        assert_int_equal(history_equal(&a, &b), different == 0);
        included += missing == 0;
        overlapped += common != 0;
        equal += different == 0;
        history_release(&a, &allocator);
        history_release(&b, &allocator);
    }
    printf("%u included, %u overlapped, %u equal\n", included, overlapped, equal);
    assert_true(included > 100 && included < 2500 && overlapped > 1000 && overlapped < 4900 && equal > 10);
}

static struct history union_of(const struct history *a, const struct history *b, const roost_allocator *allocator)
{
    struct history sum;
    assert_true(history_union(&sum, a, b, allocator));
    assert_true(history_check(&sum));
    return sum;
}

static void assert_same_and_release(struct history a, struct history b, const roost_allocator *allocator)
{
    assert_true(history_equal(&a, &b));
    history_release(&a, allocator);
    history_release(&b, allocator);
}

static void union_is_a_lattice(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(7));
    for (int round = 0; round < 2000; round++) {
        struct model model;
        uint32_t below = windows[random_choice(&random, COUNT_OF(windows))];
        struct history a = random_history(&random, &model, below, &allocator);
        struct history b = random_history(&random, &model, below, &allocator);
        struct history c = random_history(&random, &model, below, &allocator);
        struct history ab = union_of(&a, &b, &allocator), bc = union_of(&b, &c, &allocator), copy, common, alone;
        assert_same_and_release(union_of(&ab, &c, &allocator), union_of(&a, &bc, &allocator), &allocator);
        assert_same_and_release(union_of(&a, &b, &allocator), union_of(&b, &a, &allocator), &allocator);
        assert_true(history_copy(&copy, &a, &allocator));
        assert_same_and_release(union_of(&a, &a, &allocator), copy, &allocator);
        assert_true(history_includes(&ab, &a) && history_includes(&ab, &b));
        assert_int_equal(history_includes(&a, &b), history_equal(&ab, &a));
        assert_true(history_intersection(&common, &a, &b, &allocator));
        assert_true(history_difference(&alone, &a, &b, &allocator));
        assert_int_equal(common.dots + alone.dots, a.dots);
        assert_false(history_overlaps(&alone, &b));
        assert_true(history_copy(&copy, &a, &allocator));
        assert_same_and_release(union_of(&common, &alone, &allocator), copy, &allocator);
        struct history *all[] = {&a, &b, &c, &ab, &bc, &common, &alone};
        for (size_t i = 0; i < COUNT_OF(all); i++)
            history_release(all[i], &allocator);
    }
}

static void ranks_name_the_dots_in_order(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(8));
    uint64_t ranks = 0;
    for (int round = 0; round < 1000; round++) {
        struct model model;
        struct history history =
            random_history(&random, &model, windows[random_choice(&random, COUNT_OF(windows))], &allocator);
        uint64_t before[ACTORS * 32 + 1], rank = 0;
        history_ranks(&history, before);
        assert_int_equal(before[history.count], history.dots);
        for (unsigned actor = 0; actor < ACTORS; actor++)
            for (unsigned bit = 0; bit < 64; bit++) {
                if (!(model.seen[actor] >> bit & 1))
                    continue;
                size_t run = history_run_of_rank(&history, before, rank);
                assert_int_equal(history_rank(&history, before, actor_ids[actor], model.below + 1 + bit), rank);
                assert_true(history.runs[run].actor == actor_ids[actor]);
                assert_int_equal(history.runs[run].first + (rank - before[run]), model.below + 1 + bit);
                rank++;
            }
        assert_int_equal(rank, history.dots);
        ranks += rank;
        history_release(&history, &allocator);
    }
    assert_true(ranks > 10000);
}

/* Each actor has the run from 1; every fifth also a gap, which the other half of the replicas has filled. */
static void five_thousand_actors(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(9));
    static uint64_t ids[MANY];
    struct history whole = {0}, holes = {0}, sum, difference;
    for (uint32_t i = 0; i < MANY; i++) {
        ids[i] = random_next(&random) | 1;
        assert_true(history_add(&whole, &allocator, (struct dot_run){ids[i], 1, 100 + i}));
        assert_true(history_add(&holes, &allocator, (struct dot_run){ids[i], 1, i % 5 ? 100 + i : 50}));
        if (i % 5 == 0)
            assert_true(history_add(&holes, &allocator, (struct dot_run){ids[i], 60, 100 + i}));
    }
    assert_true(history_check(&whole) && history_check(&holes));
    assert_int_equal(history_actors(&whole), MANY);
    assert_int_equal(history_gaps(&whole), 0);
    assert_int_equal(history_actors(&holes), MANY);
    assert_int_equal(history_gaps(&holes), MANY / 5);
    assert_true(history_includes(&whole, &holes) && !history_includes(&holes, &whole));
    assert_true(history_difference(&difference, &whole, &holes, &allocator));
    assert_int_equal(difference.dots, MANY / 5 * 9);
    sum = union_of(&holes, &difference, &allocator);
    assert_true(history_equal(&sum, &whole));
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(history_contiguous(&holes, ids[i]), i % 5 ? 100 + i : 50);
        assert_int_equal(history_largest(&holes, ids[i]), 100 + i);
        assert_int_equal(history_contains(&holes, ids[i], 55), i % 5 != 0);
        assert_false(history_contains(&holes, ids[i], 101 + i));
    }
    struct history *all[] = {&whole, &holes, &sum, &difference};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        history_release(all[i], &allocator);
}

static void a_check_finds_what_is_wrong(void **state)
{
    (void)state;
    struct dot_run good[] = {{7, 1, 120}, {7, 124, 125}, {9, 1, 3}};
    const struct {
        size_t at;
        struct dot_run run;
    } wrong[] = {
        {0, {0, 1, 120}}, {0, {7, 0, 119}},   {0, {7, 120, 1}},   {0, {7, 1, 119}}, {0, {8, 1, 120}},
        {0, {7, 4, 123}}, {1, {7, 121, 122}}, {1, {7, 120, 121}}, {2, {6, 1, 3}},   {2, {7, 124, 126}},
    };
    struct history history = {good, 3, 3, 125};
    assert_true(history_check(&history));
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct dot_run runs[3];
        memcpy(runs, good, sizeof runs);
        runs[wrong[i].at] = wrong[i].run;
        history.runs = runs;
        assert_false(history_check(&history));
    }
    history = (struct history){good, 3, 2, 125};
    assert_false(history_check(&history));
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static struct bit_writer bytes_of(const struct history *history)
{
    struct bit_writer writer;
    bit_writer_init(&writer, plain_allocator());
    history_write(history, &writer);
    assert_false(writer.failed);
    return writer;
}

static void bytes_come_back(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(10));
    for (int round = 0; round < 3000; round++) {
        struct model model;
        struct history read, history = random_history(&random, &model, windows[random_choice(&random, 3)], &allocator);
        struct bit_writer writer = bytes_of(&history);
        struct bit_reader reader = bit_reader_over(writer.buffer.data, writer.buffer.size);
        assert_int_equal(history_read(&read, &reader, UINT32_MAX, ACTORS, &allocator), HISTORY_READ);
        assert_int_equal(reader_bits_left(&reader), 0);
        assert_false(reader.failed);
        assert_true(history_equal(&read, &history));
        assert_matches(&read, &model);
        bit_writer_release(&writer);
        history_release(&read, &allocator);
        history_release(&history, &allocator);
    }
}

/* The example in history.h, with one more actor whose first run is at 2. */
static void bytes_are_as_specified(void **state)
{
    (void)state;
    struct dot_run runs[] = {{7, 1, 120}, {7, 124, 125}, {9, 1, 3}, {10, 2, 2}, {10, 130, 430}};
    const uint8_t expected[] = {
        3,                                                            /* actors */
        7,  0, 0, 0, 0, 0, 0, 0, 0xf1,   0x01, 2, 1 << 1,             /* to 120, more; 3 missing, 2 dots */
        9,  0, 0, 0, 0, 0, 0, 0, 3 << 1,                              /* to 3 */
        10, 0, 0, 0, 0, 0, 0, 0, 1,      0,    1, 126,    0xd8, 0x04, /* none, more; 1, 1, more; 127, 301 */
    };
    struct history history = {runs, COUNT_OF(runs), COUNT_OF(runs), 427};
    assert_true(history_check(&history));
    struct bit_writer writer = bytes_of(&history);
    assert_int_equal(writer.buffer.size, sizeof expected);
    assert_memory_equal(writer.buffer.data, expected, sizeof expected);
    bit_writer_release(&writer);
}

static void an_actor_takes_at_most_twelve_bytes(void **state)
{
    (void)state;
    for (unsigned bits = 1; bits <= 24; bits++) {
        struct dot_run runs[] = {{1, 1, (1u << bits) - 1}, {UINT64_MAX, 1, (1u << bits) - 1}};
        struct history one = {runs, 1, 2, runs[0].last}, two = {runs, 2, 2, 2 * (uint64_t)runs[0].last};
        struct bit_writer of_one = bytes_of(&one), of_two = bytes_of(&two);
        assert_true(of_two.buffer.size - of_one.buffer.size <= 12);
        assert_true(of_one.buffer.size <= 1 + 12);
        bit_writer_release(&of_one);
        bit_writer_release(&of_two);
    }
}

/* Whatever is accepted is what would be written, and takes no more memory than eight times its bytes. */
static bool accepts(const uint8_t *bytes, size_t size, uint32_t most_counter)
{
    struct meter meter;
    roost_allocator allocator = allocator_of(&meter);
    struct bit_reader reader = bit_reader_over(bytes, size);
    struct history history = {.count = 77};
    enum history_read outcome = history_read(&history, &reader, most_counter, 1000, &allocator);
    assert_true(outcome == HISTORY_READ || outcome == HISTORY_CORRUPT);
    assert_int_equal(reader.failed, outcome != HISTORY_READ);
    assert_true(meter.largest <= 8 * size);
    assert_true(history_check(&history));
    if (outcome != HISTORY_READ) {
        assert_int_equal(history.count, 0);
        assert_int_equal(meter.outstanding, 0);
        return false;
    }
    for (size_t i = 0; i < history.count; i++)
        assert_true(history.runs[i].last <= most_counter);
    struct bit_writer writer = bytes_of(&history);
    assert_int_equal(writer.buffer.size, reader.position / 8);
    assert_memory_equal(writer.buffer.data, bytes, writer.buffer.size);
    bit_writer_release(&writer);
    history_release(&history, &allocator);
    assert_int_equal(meter.outstanding, 0);
    return true;
}

static void other_forms_are_refused(void **state)
{
    (void)state;
    const struct {
        uint8_t bytes[32];
        size_t size;
        bool accepted;
    } cases[] = {
        {{0}, 1, true},                                                               /* the empty history */
        {{0}, 0, false},                                                              /* no bytes at all */
        {{0x80, 0}, 2, false},                                                        /* a long 0 */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 2}, 10, true},                                   /* to 1 */
        {{1, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 10, false},                                  /* actor 0 */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 0}, 10, false},                                  /* no run */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 3}, 10, false},                                  /* more, and nothing */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 3, 0}, 11, false},                               /* a gap, no run */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0}, 12, true},                             /* 1 and 3 */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 1}, 12, false},                            /* 1, 3, and nothing */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}, 12, true},                             /* 2 */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x1f}, 14, true},        /* to 2^32 - 1 */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x20}, 14, false},       /* to 2^32 */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x1f, 0, 0}, 16, false}, /* beyond, by a gap */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0xff, 0xff, 0xff, 0x0f, 0}, 16, true},  /* just 2^32 - 1 */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0}, 16, false}, /* just 2^32 */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0xff, 0xff, 0xff, 0x0f, 2}, 16, false}, /* beyond, by its length */
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}, 21, false},
        {{1, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 21, false},
        {{2, 7, 0, 0, 0, 0, 0, 0, 0, 2, 8, 0, 0, 0, 0, 0, 0, 0, 2}, 19, true},        /* two actors */
        {{2, 7, 0, 0, 0, 0, 0, 0, 0, 2, 8, 0, 0, 0, 0, 0, 0, 0, 2}, 18, false},       /* the second cut off */
        {{2, 8, 0, 0, 0, 0, 0, 0, 0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 2}, 19, false},       /* out of order */
        {{2, 7, 0, 0, 0, 0, 0, 0, 0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 2}, 19, false},       /* one twice */
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 7, 0}, 12, false}, /* 2^64 - 1 actors */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(accepts(cases[i].bytes, cases[i].size, UINT32_MAX), cases[i].accepted);
    const uint8_t to_hundred[] = {1, 7, 0, 0, 0, 0, 0, 0, 0, 0xc8, 0x01};
    assert_true(accepts(to_hundred, sizeof to_hundred, 100));
    assert_false(accepts(to_hundred, sizeof to_hundred, 99));
    assert_false(accepts(to_hundred, sizeof to_hundred, 0));
}

static void too_many_actors_are_told_apart(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct dot_run runs[] = {{7, 1, 120}, {8, 124, 125}, {9, 1, 3}};
    struct history read, history = {runs, 3, 3, 125};
    struct bit_writer writer = bytes_of(&history);
    for (size_t most = 0; most < 5; most++) {
        struct bit_reader reader = bit_reader_over(writer.buffer.data, writer.buffer.size);
        enum history_read expected = most < 3 ? HISTORY_TOO_MANY : HISTORY_READ;
        assert_int_equal(history_read(&read, &reader, 125, most, &allocator), expected);
        assert_int_equal(reader.failed, most < 3);
        assert_int_equal(read.count, most < 3 ? 0 : 3);
        history_release(&read, &allocator);
    }
    bit_writer_release(&writer);
}

static void truncated_bytes_are_refused(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(11));
    for (int round = 0; round < 300; round++) {
        struct model model;
        struct history history = random_history(&random, &model, windows[random_choice(&random, 3)], &allocator);
        struct bit_writer writer = bytes_of(&history);
        for (size_t size = 0; size < writer.buffer.size; size++) {
            /* A copy of just that size, so that the sanitizer sees a read past it. */
            uint8_t *bytes = malloc(size ? size : 1);
            memcpy(bytes, writer.buffer.data, size);
            assert_false(accepts(bytes, size, UINT32_MAX));
            free(bytes);
        }
        bit_writer_release(&writer);
        history_release(&history, &allocator);
    }
}

/* All ends of two bytes after one actor, and those of four with bytes that matter. */
static void every_short_form_is_canonical_or_refused(void **state)
{
    (void)state;
    static const uint8_t telling[] = {0, 1, 2, 3, 4, 5, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff};
    uint8_t bytes[13] = {1, 7};
    unsigned accepted = 0, refused = 0;
    for (unsigned end = 0; end < 1u << 16; end++) {
        bytes[9] = (uint8_t)end;
        bytes[10] = (uint8_t)(end >> 8);
        accepts(bytes, 11, 200) ? accepted++ : refused++;
    }
    for (unsigned end = 0; end < 12 * 12 * 12 * 12; end++) {
        for (unsigned i = 0, rest = end; i < 4; i++, rest /= 12)
            bytes[9 + i] = telling[rest % 12];
        accepts(bytes, 13, 200) ? accepted++ : refused++;
    }
    printf("%u accepted, %u refused\n", accepted, refused);
    assert_true(accepted > 1000 && refused > 1000);
}

/* Good bytes with a few of them changed, dropped or doubled. */
static size_t mutate(struct random_source *random, uint8_t *bytes, size_t size, size_t room)
{
    for (uint32_t changes = 1 + random_choice(random, 3); changes && size > 0; changes--) {
        size_t at = random_choice(random, (uint32_t)size);
        switch (random_choice(random, 4)) {
        case 0:
            bytes[at] = (uint8_t)random_next(random);
            break;
        case 1:
            bytes[at] ^= (uint8_t)(1u << random_choice(random, 8));
            break;
        case 2:
            memmove(bytes + at, bytes + at + 1, --size - at);
            break;
        default:
            if (size < room) {
                memmove(bytes + at + 1, bytes + at, size - at);
                size++;
            }
        }
    }
    return size;
}

static void mutated_bytes_are_canonical_or_refused(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(12));
    unsigned accepted = 0, refused = 0;
    for (int round = 0; round < 500; round++) {
        struct model model;
        struct history history = random_history(&random, &model, windows[random_choice(&random, 3)], &allocator);
        struct bit_writer writer = bytes_of(&history);
        for (int mutation = 0; mutation < 200; mutation++) {
            uint8_t bytes[2048];
            assert_true(writer.buffer.size < sizeof bytes);
            memcpy(bytes, writer.buffer.data, writer.buffer.size);
            size_t size = mutate(&random, bytes, writer.buffer.size, sizeof bytes);
            accepts(bytes, size, random_choice(&random, 2) ? UINT32_MAX : 64) ? accepted++ : refused++;
        }
        bit_writer_release(&writer);
        history_release(&history, &allocator);
    }
    printf("%u accepted, %u refused\n", accepted, refused);
    assert_true(accepted > 5000 && refused > 5000);
}

static void random_bytes_are_canonical_or_refused(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(13));
    unsigned accepted = 0, refused = 0;
    for (int round = 0; round < 200000; round++) {
        uint8_t bytes[64];
        size_t size = random_choice(&random, sizeof bytes + 1);
        unsigned zeros = random_choice(&random, 8); /* more of them, more that are short and in order */
        for (size_t i = 0; i < size; i++)
            bytes[i] = random_choice(&random, 8) < zeros ? 0 : (uint8_t)(random_next(&random) & (zeros ? 0x87 : 0xff));
        accepts(bytes, size, UINT32_MAX) ? accepted++ : refused++;
    }
    printf("%u accepted, %u refused\n", accepted, refused);
    assert_true(accepted > 1000 && refused > 1000);
}

/* ---- every allocation fails once --------------------------------------------------------------------------------- */

/* All arrays are full, so that one more of anything needs room. */
struct scene {
    struct meter meter;
    roost_allocator allocator;
    struct history a, b;
    struct bit_writer bytes; /* of a */
};

static void scene_open(struct scene *scene)
{
    *scene = (struct scene){0};
    scene->allocator = allocator_of(&scene->meter);
    for (uint32_t i = 0; i < 64; i++) {
        assert_true(history_add(&scene->a, &scene->allocator, (struct dot_run){5, 10 * i + 1, 10 * i + 2}));
        assert_true(history_add(&scene->b, &scene->allocator, (struct dot_run){5, 7 * i + 2, 7 * i + 5}));
    }
    assert_int_equal(scene->a.room, scene->a.count);
    scene->bytes = bytes_of(&scene->a);
}

static void scene_close(struct scene *scene)
{
    scene->meter.allowed = -1;
    history_release(&scene->a, &scene->allocator);
    history_release(&scene->b, &scene->allocator);
    bit_writer_release(&scene->bytes);
    assert_int_equal(scene->meter.outstanding, 0);
}

/* Each does one thing and answers whether it could. */
typedef bool history_call(struct scene *scene);

static bool call_reserve(struct scene *scene)
{
    return history_reserve(&scene->a, &scene->allocator, 1);
}

static bool call_add(struct scene *scene)
{
    return history_add(&scene->a, &scene->allocator, (struct dot_run){4, 1, 1});
}

static bool call_add_few(struct scene *scene)
{
    struct dot_run runs[] = {{5, 3, 3}, {6, 1, 1}};
    return history_add_many(&scene->a, &scene->allocator, runs, COUNT_OF(runs));
}

static bool call_add_many(struct scene *scene)
{
    struct dot_run runs[200];
    for (uint32_t i = 0; i < COUNT_OF(runs); i++)
        runs[i] = (struct dot_run){6, 1000 - 2 * i, 1000 - 2 * i};
    return history_add_many(&scene->a, &scene->allocator, runs, COUNT_OF(runs));
}

static bool released(struct scene *scene, struct history *result, bool done)
{
    assert_true(history_check(result));
    assert_true(done || (result->count == 0 && result->room == 0));
    history_release(result, &scene->allocator);
    return done;
}

static bool call_copy(struct scene *scene)
{
    struct history result;
    return released(scene, &result, history_copy(&result, &scene->a, &scene->allocator));
}

static bool call_union(struct scene *scene)
{
    struct history result;
    return released(scene, &result, history_union(&result, &scene->a, &scene->b, &scene->allocator));
}

static bool call_difference(struct scene *scene)
{
    struct history result;
    return released(scene, &result, history_difference(&result, &scene->a, &scene->b, &scene->allocator));
}

static bool call_intersection(struct scene *scene)
{
    struct history result;
    return released(scene, &result, history_intersection(&result, &scene->a, &scene->b, &scene->allocator));
}

static bool call_read(struct scene *scene)
{
    struct history result;
    struct bit_reader reader = bit_reader_over(scene->bytes.buffer.data, scene->bytes.buffer.size);
    enum history_read outcome = history_read(&result, &reader, UINT32_MAX, 1000, &scene->allocator);
    assert_true(outcome == HISTORY_READ || outcome == HISTORY_NO_MEMORY);
    return released(scene, &result, outcome == HISTORY_READ);
}

/* A failure leaves everything as it was, down to the addresses of the arrays. */
static unsigned fail_each_allocation(history_call *call)
{
    roost_allocator unmetered = plain_allocator();
    unsigned failures = 0;
    for (bool done = false; !done; failures += !done) {
        struct scene scene, before;
        struct history a;
        scene_open(&scene);
        before = scene;
        assert_true(history_copy(&a, &scene.a, &unmetered));
        scene.meter.allowed = failures;
        done = call(&scene);
        assert_int_equal(scene.meter.failures, !done);
        if (!done) {
            assert_memory_equal(&scene.a, &before.a, sizeof scene.a);
            assert_memory_equal(&scene.b, &before.b, sizeof scene.b);
            assert_true(history_equal(&scene.a, &a));
        }
        assert_true(history_check(&scene.a) && history_check(&scene.b));
        history_release(&a, &unmetered);
        scene_close(&scene);
        assert_true(failures < 100);
    }
    return failures;
}

static void a_refused_allocation_changes_nothing(void **state)
{
    (void)state;
    history_call *calls[] = {call_reserve, call_add,        call_add_few,      call_add_many, call_copy,
                             call_union,   call_difference, call_intersection, call_read};
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        assert_true(fail_each_allocation(calls[i]) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding_runs_matches_the_model),
        cmocka_unit_test(adding_many_matches_the_model),
        cmocka_unit_test(dots_in_any_order_become_one_run),
        cmocka_unit_test(a_million_dots_become_one_run),
        cmocka_unit_test(many_are_added_as_if_one_by_one),
        cmocka_unit_test(runs_of_two_actors_never_touch),
        cmocka_unit_test(reserved_room_lets_adds_succeed),
        cmocka_unit_test(set_operations_match_the_model),
        cmocka_unit_test(union_is_a_lattice),
        cmocka_unit_test(ranks_name_the_dots_in_order),
        cmocka_unit_test(five_thousand_actors),
        cmocka_unit_test(a_check_finds_what_is_wrong),
        cmocka_unit_test(bytes_come_back),
        cmocka_unit_test(bytes_are_as_specified),
        cmocka_unit_test(an_actor_takes_at_most_twelve_bytes),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(too_many_actors_are_told_apart),
        cmocka_unit_test(truncated_bytes_are_refused),
        cmocka_unit_test(every_short_form_is_canonical_or_refused),
        cmocka_unit_test(mutated_bytes_are_canonical_or_refused),
        cmocka_unit_test(random_bytes_are_canonical_or_refused),
        cmocka_unit_test(a_refused_allocation_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
