/*
 * Causal contexts beside bitmaps of a small universe, their bytes, many actors and many dots, and every allocation
 * refused once.
 */
#include "meter.h"

#include "causal/causal_context.h"

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

static void assert_actor_matches(const struct causal_context *causal, const struct model *model, unsigned actor)
{
    uint64_t id = actor_ids[actor], seen = model->seen[actor];
    for (unsigned bit = 0; bit < 64; bit++)
        assert_int_equal(causal_contains(causal, id, model->below + 1 + bit), seen >> bit & 1);
    assert_false(causal_contains(causal, id, 0));
    for (size_t run = 0; run < causal->count; run++)
        if (causal->runs[run].actor == id) {
            assert_int_equal(causal_run_of(causal, id, causal->runs[run].first), run);
            assert_int_equal(causal_run_of(causal, id, causal->runs[run].last), run);
        }
    assert_int_equal(causal_contains(causal, id, 1), model_has(model, actor, 1));
    assert_int_equal(causal_contains(causal, id, 66), model_has(model, actor, 66));
    assert_int_equal(causal_contains(causal, id, UINT32_MAX), model_has(model, actor, UINT32_MAX));
    assert_int_equal(causal_largest(causal, id), seen ? model->below + 1 + highest_bit(seen) : 0);
    bool from_one = model->below == 0 && (seen & 1);
    assert_int_equal(causal_contiguous(causal, id), !from_one ? 0 : ~seen ? lowest_bit(~seen) : 64);
}

static void assert_matches(const struct causal_context *causal, const struct model *model)
{
    size_t actors = 0, from_one = 0;
    assert_true(causal_check(causal));
    for (unsigned actor = 0; actor < ACTORS; actor++) {
        assert_actor_matches(causal, model, actor);
        actors += model->seen[actor] != 0;
        from_one += model_has(model, actor, 1);
    }
    assert_int_equal(causal->dots, model_dots(model));
    assert_int_equal(causal->count, model_runs(model));
    assert_int_equal(causal_actors(causal), actors);
    assert_int_equal(causal_gaps(causal), causal->count - from_one);
    assert_false(causal_contains(causal, 4, 1));
    assert_int_equal(causal_contiguous(causal, 4), 0);
    assert_int_equal(causal_largest(causal, UINT64_MAX - 1), 0);
}

/* A causal context with random runs, and what it holds; it may be empty. */
static struct causal_context random_causal(struct random_source *random, struct model *model, uint32_t below,
                                           const roost_allocator *allocator)
{
    struct causal_context causal = {0};
    *model = (struct model){.below = below};
    for (uint32_t runs = random_choice(random, 4) ? random_choice(random, 60) : random_choice(random, 3); runs;
         runs--) {
        struct model_run run = random_run(random);
        model_add(model, run);
        assert_true(causal_add(&causal, allocator, real_run(model, run)));
    }
    return causal;
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
        struct causal_context causal = {0};
        for (int step = 0; step < 80; step++) {
            struct model_run run = random_run(&random);
            size_t runs = causal.count;
            uint64_t dots = causal.dots;
            model_add(&model, run);
            assert_true(causal_add(&causal, &allocator, real_run(&model, run)));
            assert_matches(&causal, &model);
            inserted += causal.count > runs;
            melted += causal.count < runs;
            extended += causal.count == runs && causal.dots > dots;
            known += causal.dots == dots;
        }
        causal_release(&causal, &allocator);
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
        struct causal_context causal = {0};
        for (int batch = 0; batch < 4; batch++) {
            struct dot_run runs[100];
            size_t count = random_choice(&random, batch % 2 ? 8 : COUNT_OF(runs));
            for (size_t i = 0; i < count; i++) {
                struct model_run run = random_run(&random);
                model_add(&model, run);
                runs[i] = real_run(&model, run);
            }
            assert_true(causal_add_many(&causal, &allocator, runs, count));
            assert_matches(&causal, &model);
        }
        causal_release(&causal, &allocator);
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
        struct causal_context causal = {0};
        size_t widest = 0;
        for (size_t i = 0; i < COUNT_OF(dots); i++) {
            uint32_t counter = (uint32_t)(i / 3) + (round % 2 ? 1 : UINT32_MAX - 399);
            dots[i] = (struct dot_run){7 + i % 3, counter, counter};
        }
        shuffle(&random, dots, COUNT_OF(dots));
        for (size_t i = 0; i < COUNT_OF(dots); i++) {
            assert_false(causal_contains(&causal, dots[i].actor, dots[i].first));
            assert_true(causal_add(&causal, &allocator, dots[i]));
            assert_true(causal_contains(&causal, dots[i].actor, dots[i].first));
            assert_true(causal_check(&causal));
            widest = causal.count > widest ? causal.count : widest;
        }
        assert_int_equal(causal.count, 3);
        assert_int_equal(causal.dots, COUNT_OF(dots));
        assert_true(widest > 200);
        causal_release(&causal, &allocator);
    }
}

static void a_million_dots_become_one_run(void **state)
{
    (void)state;
    const size_t count = 1000000, batch = 250000;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(4));
    struct dot_run *dots = calloc(count, sizeof *dots);
    struct causal_context causal = {0};
    for (size_t i = 0; i < count; i++)
        dots[i] = (struct dot_run){UINT64_C(0xfedcba9876543210), (uint32_t)i + 1, (uint32_t)i + 1};
    shuffle(&random, dots, count);
    for (size_t i = 0; i < count; i += batch) {
        assert_true(causal_add_many(&causal, &allocator, dots + i, batch));
        assert_true(causal_check(&causal));
        assert_int_equal(causal.dots, i + batch);
    }
    assert_int_equal(causal.count, 1);
    assert_int_equal(causal_contiguous(&causal, UINT64_C(0xfedcba9876543210)), count);
    free(dots);
    causal_release(&causal, &allocator);
}

/* Sorting has its own paths: actors far apart and close together, equal runs, runs with one beginning and many ends. */
static void many_are_added_as_if_one_by_one(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(5));
    for (int round = 0; round < 300; round++) {
        static struct dot_run runs[3000];
        struct causal_context at_once = {0}, one_by_one = {0};
        size_t count = random_choice(&random, COUNT_OF(runs) + 1);
        unsigned actor_bits = 1 + random_choice(&random, 64), counter_bits = 1 + random_choice(&random, 32);
        for (size_t i = 0; i < count; i++) {
            uint32_t first = (uint32_t)(random_next(&random) >> (64 - counter_bits)) | 1;
            uint32_t more = random_choice(&random, 9);
            runs[i].actor = random_next(&random) >> (64 - actor_bits) | 1;
            runs[i].first = first;
            runs[i].last = more < UINT32_MAX - first ? first + more : first;
            assert_true(causal_add(&one_by_one, &allocator, runs[i]));
        }
        assert_true(causal_add_many(&at_once, &allocator, runs, count));
        assert_true(causal_check(&at_once));
        assert_true(causal_equal(&at_once, &one_by_one));
        causal_release(&at_once, &allocator);
        causal_release(&one_by_one, &allocator);
    }
}

static void runs_of_two_actors_never_touch(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct causal_context causal = {0}, sum, other = {0};
    assert_true(causal_add(&causal, &allocator, (struct dot_run){7, UINT32_MAX, UINT32_MAX}));
    assert_true(causal_add(&causal, &allocator, (struct dot_run){8, 1, UINT32_MAX}));
    assert_true(causal_add(&other, &allocator, (struct dot_run){9, 1, 1}));
    assert_int_equal(causal.count, 2);
    assert_int_equal(causal.dots, UINT64_C(1) + UINT32_MAX);
    assert_true(causal_union(&sum, &causal, &other, &allocator));
    assert_true(causal_check(&sum));
    assert_int_equal(sum.count, 3);
    assert_int_equal(causal_contiguous(&sum, 8), UINT32_MAX);
    assert_int_equal(causal_contiguous(&sum, 7), 0);
    causal_release(&causal, &allocator);
    causal_release(&sum, &allocator);
    causal_release(&other, &allocator);
}

static void reserved_room_lets_adds_succeed(void **state)
{
    (void)state;
    struct meter meter;
    roost_allocator allocator = allocator_of(&meter);
    struct causal_context causal = {0};
    for (uint32_t i = 0; i < 10; i++)
        assert_true(causal_add(&causal, &allocator, (struct dot_run){1, 2 * i + 1, 2 * i + 1}));
    assert_true(causal_reserve(&causal, &allocator, 1000));
    meter.allowed = 0;
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(causal_add(&causal, &allocator, (struct dot_run){2, 2 * i + 1, 2 * i + 1}));
    assert_int_equal(meter.failures, 0);
    assert_false(causal_reserve(&causal, &allocator, SIZE_MAX));
    assert_int_equal(meter.failures, 0);
    causal_release(&causal, &allocator);
    assert_int_equal(meter.outstanding, 0);
}

/* ---- two causal contexts ----------------------------------------------------------------------------------------- */

typedef bool set_operation(struct causal_context *result, const struct causal_context *first,
                           const struct causal_context *second, const roost_allocator *allocator);

static void assert_operation(set_operation *operation, const struct causal_context *a, const struct causal_context *b,
                             const struct model *expected, const roost_allocator *allocator)
{
    struct causal_context result;
    assert_true(operation(&result, a, b, allocator));
    assert_matches(&result, expected);
    causal_release(&result, allocator);
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
        struct causal_context a = random_causal(&random, &x, below, &allocator);
        struct causal_context b = random_causal(&random, &y, below, &allocator);
        uint64_t missing = 0, common = 0, different = 0;
        for (unsigned actor = 0; actor < ACTORS; actor++) {
            either.seen[actor] = x.seen[actor] | y.seen[actor];
            both.seen[actor] = x.seen[actor] & y.seen[actor];
            alone.seen[actor] = x.seen[actor] & ~y.seen[actor];
            missing |= alone.seen[actor];
            common |= both.seen[actor];
            different |= x.seen[actor] ^ y.seen[actor];
        }
        assert_operation(causal_union, &a, &b, &either, &allocator);
        assert_operation(causal_intersection, &a, &b, &both, &allocator);
        assert_operation(causal_difference, &a, &b, &alone, &allocator);
        assert_int_equal(causal_includes(&b, &a), missing == 0);
        assert_int_equal(causal_overlaps(&a, &b), common != 0);
        assert_int_equal(causal_equal(&a, &b), different == 0);
        included += missing == 0;
        overlapped += common != 0;
        equal += different == 0;
        causal_release(&a, &allocator);
        causal_release(&b, &allocator);
    }
    printf("%u included, %u overlapped, %u equal\n", included, overlapped, equal);
    assert_true(included > 100 && included < 2500 && overlapped > 1000 && overlapped < 4900 && equal > 10);
}

static struct causal_context union_of(const struct causal_context *a, const struct causal_context *b,
                                      const roost_allocator *allocator)
{
    struct causal_context sum;
    assert_true(causal_union(&sum, a, b, allocator));
    assert_true(causal_check(&sum));
    return sum;
}

static void assert_same_and_release(struct causal_context a, struct causal_context b, const roost_allocator *allocator)
{
    assert_true(causal_equal(&a, &b));
    causal_release(&a, allocator);
    causal_release(&b, allocator);
}

static void union_is_a_lattice(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(7));
    for (int round = 0; round < 2000; round++) {
        struct model model;
        uint32_t below = windows[random_choice(&random, COUNT_OF(windows))];
        struct causal_context a = random_causal(&random, &model, below, &allocator);
        struct causal_context b = random_causal(&random, &model, below, &allocator);
        struct causal_context c = random_causal(&random, &model, below, &allocator);
        struct causal_context ab = union_of(&a, &b, &allocator), bc = union_of(&b, &c, &allocator), copy, common, alone;
        assert_same_and_release(union_of(&ab, &c, &allocator), union_of(&a, &bc, &allocator), &allocator);
        assert_same_and_release(union_of(&a, &b, &allocator), union_of(&b, &a, &allocator), &allocator);
        assert_true(causal_copy(&copy, &a, &allocator));
        assert_same_and_release(union_of(&a, &a, &allocator), copy, &allocator);
        assert_true(causal_includes(&ab, &a) && causal_includes(&ab, &b));
        assert_int_equal(causal_includes(&a, &b), causal_equal(&ab, &a));
        assert_true(causal_intersection(&common, &a, &b, &allocator));
        assert_true(causal_difference(&alone, &a, &b, &allocator));
        assert_int_equal(common.dots + alone.dots, a.dots);
        assert_false(causal_overlaps(&alone, &b));
        assert_true(causal_copy(&copy, &a, &allocator));
        assert_same_and_release(union_of(&common, &alone, &allocator), copy, &allocator);
        struct causal_context *all[] = {&a, &b, &c, &ab, &bc, &common, &alone};
        for (size_t i = 0; i < COUNT_OF(all); i++)
            causal_release(all[i], &allocator);
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
        struct causal_context causal =
            random_causal(&random, &model, windows[random_choice(&random, COUNT_OF(windows))], &allocator);
        uint64_t before[ACTORS * 32 + 1], rank = 0;
        causal_ranks(&causal, before);
        assert_int_equal(before[causal.count], causal.dots);
        for (unsigned actor = 0; actor < ACTORS; actor++)
            for (unsigned bit = 0; bit < 64; bit++) {
                if (!(model.seen[actor] >> bit & 1))
                    continue;
                size_t run = causal_run_of_rank(&causal, before, rank);
                assert_int_equal(causal_rank(&causal, before, actor_ids[actor], model.below + 1 + bit), rank);
                assert_true(causal.runs[run].actor == actor_ids[actor]);
                assert_int_equal(causal.runs[run].first + (rank - before[run]), model.below + 1 + bit);
                rank++;
            }
        assert_int_equal(rank, causal.dots);
        ranks += rank;
        causal_release(&causal, &allocator);
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
    struct causal_context whole = {0}, holes = {0}, sum, difference;
    for (uint32_t i = 0; i < MANY; i++) {
        ids[i] = random_next(&random) | 1;
        assert_true(causal_add(&whole, &allocator, (struct dot_run){ids[i], 1, 100 + i}));
        assert_true(causal_add(&holes, &allocator, (struct dot_run){ids[i], 1, i % 5 ? 100 + i : 50}));
        if (i % 5 == 0)
            assert_true(causal_add(&holes, &allocator, (struct dot_run){ids[i], 60, 100 + i}));
    }
    assert_true(causal_check(&whole) && causal_check(&holes));
    assert_int_equal(causal_actors(&whole), MANY);
    assert_int_equal(causal_gaps(&whole), 0);
    assert_int_equal(causal_actors(&holes), MANY);
    assert_int_equal(causal_gaps(&holes), MANY / 5);
    assert_true(causal_includes(&whole, &holes) && !causal_includes(&holes, &whole));
    assert_true(causal_difference(&difference, &whole, &holes, &allocator));
    assert_int_equal(difference.dots, MANY / 5 * 9);
    sum = union_of(&holes, &difference, &allocator);
    assert_true(causal_equal(&sum, &whole));
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(causal_contiguous(&holes, ids[i]), i % 5 ? 100 + i : 50);
        assert_int_equal(causal_largest(&holes, ids[i]), 100 + i);
        assert_int_equal(causal_contains(&holes, ids[i], 55), i % 5 != 0);
        assert_false(causal_contains(&holes, ids[i], 101 + i));
    }
    struct causal_context *all[] = {&whole, &holes, &sum, &difference};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        causal_release(all[i], &allocator);
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
    struct causal_context causal = {good, 3, 3, 125};
    assert_true(causal_check(&causal));
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct dot_run runs[3];
        memcpy(runs, good, sizeof runs);
        runs[wrong[i].at] = wrong[i].run;
        causal.runs = runs;
        assert_false(causal_check(&causal));
    }
    causal = (struct causal_context){good, 3, 2, 125};
    assert_false(causal_check(&causal));
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static struct bit_writer bytes_of(const struct causal_context *causal)
{
    struct bit_writer writer;
    bit_writer_init(&writer, plain_allocator());
    causal_write(causal, &writer);
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
        struct causal_context read,
            causal = random_causal(&random, &model, windows[random_choice(&random, 3)], &allocator);
        struct bit_writer writer = bytes_of(&causal);
        struct bit_reader reader = bit_reader_over(writer.buffer.data, writer.buffer.size);
        assert_int_equal(causal_read(&read, &reader, UINT32_MAX, ACTORS, &allocator), CAUSAL_READ);
        assert_int_equal(reader_bits_left(&reader), 0);
        assert_false(reader.failed);
        assert_true(causal_equal(&read, &causal));
        assert_matches(&read, &model);
        bit_writer_release(&writer);
        causal_release(&read, &allocator);
        causal_release(&causal, &allocator);
    }
}

/* The example in causal context.h, with one more actor whose first run is at 2. */
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
    struct causal_context causal = {runs, COUNT_OF(runs), COUNT_OF(runs), 427};
    assert_true(causal_check(&causal));
    struct bit_writer writer = bytes_of(&causal);
    assert_int_equal(writer.buffer.size, sizeof expected);
    assert_memory_equal(writer.buffer.data, expected, sizeof expected);
    bit_writer_release(&writer);
}

static void an_actor_takes_at_most_twelve_bytes(void **state)
{
    (void)state;
    for (unsigned bits = 1; bits <= 24; bits++) {
        struct dot_run runs[] = {{1, 1, (1u << bits) - 1}, {UINT64_MAX, 1, (1u << bits) - 1}};
        struct causal_context one = {runs, 1, 2, runs[0].last}, two = {runs, 2, 2, 2 * (uint64_t)runs[0].last};
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
    struct causal_context causal = {.count = 77};
    enum causal_read outcome = causal_read(&causal, &reader, most_counter, 1000, &allocator);
    assert_true(outcome == CAUSAL_READ || outcome == CAUSAL_CORRUPT);
    assert_int_equal(reader.failed, outcome != CAUSAL_READ);
    assert_true(meter.largest <= 8 * size);
    assert_true(causal_check(&causal));
    if (outcome != CAUSAL_READ) {
        assert_int_equal(causal.count, 0);
        assert_int_equal(meter.outstanding, 0);
        return false;
    }
    for (size_t i = 0; i < causal.count; i++)
        assert_true(causal.runs[i].last <= most_counter);
    struct bit_writer writer = bytes_of(&causal);
    assert_int_equal(writer.buffer.size, reader.position / 8);
    assert_memory_equal(writer.buffer.data, bytes, writer.buffer.size);
    bit_writer_release(&writer);
    causal_release(&causal, &allocator);
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
        {{0}, 1, true},                                                               /* the empty causal context */
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
    struct causal_context read, causal = {runs, 3, 3, 125};
    struct bit_writer writer = bytes_of(&causal);
    for (size_t most = 0; most < 5; most++) {
        struct bit_reader reader = bit_reader_over(writer.buffer.data, writer.buffer.size);
        enum causal_read expected = most < 3 ? CAUSAL_TOO_MANY : CAUSAL_READ;
        assert_int_equal(causal_read(&read, &reader, 125, most, &allocator), expected);
        assert_int_equal(reader.failed, most < 3);
        assert_int_equal(read.count, most < 3 ? 0 : 3);
        causal_release(&read, &allocator);
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
        struct causal_context causal = random_causal(&random, &model, windows[random_choice(&random, 3)], &allocator);
        struct bit_writer writer = bytes_of(&causal);
        for (size_t size = 0; size < writer.buffer.size; size++) {
            /* A copy of just that size, so that the sanitizer sees a read past it. */
            uint8_t *bytes = malloc(size ? size : 1);
            memcpy(bytes, writer.buffer.data, size);
            assert_false(accepts(bytes, size, UINT32_MAX));
            free(bytes);
        }
        bit_writer_release(&writer);
        causal_release(&causal, &allocator);
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
        struct causal_context causal = random_causal(&random, &model, windows[random_choice(&random, 3)], &allocator);
        struct bit_writer writer = bytes_of(&causal);
        for (int mutation = 0; mutation < 200; mutation++) {
            uint8_t bytes[2048];
            assert_true(writer.buffer.size < sizeof bytes);
            memcpy(bytes, writer.buffer.data, writer.buffer.size);
            size_t size = mutate(&random, bytes, writer.buffer.size, sizeof bytes);
            accepts(bytes, size, random_choice(&random, 2) ? UINT32_MAX : 64) ? accepted++ : refused++;
        }
        bit_writer_release(&writer);
        causal_release(&causal, &allocator);
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
    struct causal_context a, b;
    struct bit_writer bytes; /* of a */
};

static void scene_open(struct scene *scene)
{
    *scene = (struct scene){0};
    scene->allocator = allocator_of(&scene->meter);
    for (uint32_t i = 0; i < 64; i++) {
        assert_true(causal_add(&scene->a, &scene->allocator, (struct dot_run){5, 10 * i + 1, 10 * i + 2}));
        assert_true(causal_add(&scene->b, &scene->allocator, (struct dot_run){5, 7 * i + 2, 7 * i + 5}));
    }
    assert_int_equal(scene->a.room, scene->a.count);
    scene->bytes = bytes_of(&scene->a);
}

static void scene_close(struct scene *scene)
{
    scene->meter.allowed = -1;
    causal_release(&scene->a, &scene->allocator);
    causal_release(&scene->b, &scene->allocator);
    bit_writer_release(&scene->bytes);
    assert_int_equal(scene->meter.outstanding, 0);
}

/* Each does one thing and answers whether it could. */
typedef bool causal_call(struct scene *scene);

static bool call_reserve(struct scene *scene)
{
    return causal_reserve(&scene->a, &scene->allocator, 1);
}

static bool call_add(struct scene *scene)
{
    return causal_add(&scene->a, &scene->allocator, (struct dot_run){4, 1, 1});
}

static bool call_add_few(struct scene *scene)
{
    struct dot_run runs[] = {{5, 3, 3}, {6, 1, 1}};
    return causal_add_many(&scene->a, &scene->allocator, runs, COUNT_OF(runs));
}

static bool call_add_many(struct scene *scene)
{
    struct dot_run runs[200];
    for (uint32_t i = 0; i < COUNT_OF(runs); i++)
        runs[i] = (struct dot_run){6, 1000 - 2 * i, 1000 - 2 * i};
    return causal_add_many(&scene->a, &scene->allocator, runs, COUNT_OF(runs));
}

static bool released(struct scene *scene, struct causal_context *result, bool done)
{
    assert_true(causal_check(result));
    assert_true(done || (result->count == 0 && result->room == 0));
    causal_release(result, &scene->allocator);
    return done;
}

static bool call_copy(struct scene *scene)
{
    struct causal_context result;
    return released(scene, &result, causal_copy(&result, &scene->a, &scene->allocator));
}

static bool call_union(struct scene *scene)
{
    struct causal_context result;
    return released(scene, &result, causal_union(&result, &scene->a, &scene->b, &scene->allocator));
}

static bool call_difference(struct scene *scene)
{
    struct causal_context result;
    return released(scene, &result, causal_difference(&result, &scene->a, &scene->b, &scene->allocator));
}

static bool call_intersection(struct scene *scene)
{
    struct causal_context result;
    return released(scene, &result, causal_intersection(&result, &scene->a, &scene->b, &scene->allocator));
}

static bool call_read(struct scene *scene)
{
    struct causal_context result;
    struct bit_reader reader = bit_reader_over(scene->bytes.buffer.data, scene->bytes.buffer.size);
    enum causal_read outcome = causal_read(&result, &reader, UINT32_MAX, 1000, &scene->allocator);
    assert_true(outcome == CAUSAL_READ || outcome == CAUSAL_NO_MEMORY);
    return released(scene, &result, outcome == CAUSAL_READ);
}

/* A failure leaves everything as it was, down to the addresses of the arrays. */
static unsigned fail_each_allocation(causal_call *call)
{
    roost_allocator unmetered = plain_allocator();
    unsigned failures = 0;
    for (bool done = false; !done; failures += !done) {
        struct scene scene, before;
        struct causal_context a;
        scene_open(&scene);
        before = scene;
        assert_true(causal_copy(&a, &scene.a, &unmetered));
        scene.meter.allowed = failures;
        done = call(&scene);
        assert_int_equal(scene.meter.failures, !done);
        if (!done) {
            assert_memory_equal(&scene.a, &before.a, sizeof scene.a);
            assert_memory_equal(&scene.b, &before.b, sizeof scene.b);
            assert_true(causal_equal(&scene.a, &a));
        }
        assert_true(causal_check(&scene.a) && causal_check(&scene.b));
        causal_release(&a, &unmetered);
        scene_close(&scene);
        assert_true(failures < 100);
    }
    return failures;
}

static void a_refused_allocation_changes_nothing(void **state)
{
    (void)state;
    causal_call *calls[] = {call_reserve, call_add,        call_add_few,      call_add_many, call_copy,
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
