/*
 * Deltas for one who applied some of it himself (roost_filter_encode_delta_without), for every kind: Bloom, cuckoo and
 * observed-remove filters, of fixed size and as series, windows, counters.
 *
 * One replica tells. Things happen to it: changes of its own (additions again and again, removals of what others
 * applied, too), merges of what a third one has, and merges of what the initiator sends, each of which is a span.
 * Beside it runs the least that the initiator can have: what the teller held at the cursor, and what was sent within
 * the spans. With the delta that must be all that the teller has. And whatever else is left out, at any cut, in any
 * order, the rest is a part of the state, no addition is told that is gone, and what was left out makes up for the
 * difference.
 */
#include "windows.h"

#include "frame/frame.h"

enum { KEYS = 60, MOST_SPANS = 40 };

struct scenery {
    roost_filter *teller, *third, *initiator;
    roost_filter *least; /* that the initiator can have */
    roost_cursor cursor, of_initiator;
    roost_span spans[MOST_SPANS];
    size_t count;
    uint64_t clock;
    struct random_source *random;
};

static struct {
    uint64_t told, lost, left_out, hostile;
} seen;

static void scenery_open(struct scenery *scene, uint64_t number, struct random_source *random)
{
    static const uint64_t journals[] = {0, 0, 0, 30, 200};
    roost_config config = config_of_every_kind(number, 200);
    roost_environment environment = {.random_seed = random_next(random),
                                     .kicks = 30,
                                     .journal = journals[random_choice(random, COUNT_OF(journals))]};
    *scene = (struct scenery){.clock = EPOCH, .random = random};
    assert_ok(roost_filter_new(&scene->teller, &config, &environment));
    assert_ok(roost_filter_new(&scene->third, &config, &environment));
    assert_ok(roost_filter_new(&scene->initiator, &config, &environment));
    scene->least = clone_of(scene->teller);
    scene->cursor = cursor_of(scene->teller);
}

static void scenery_close(struct scenery *scene)
{
    FREE_ALL(scene->teller, scene->third, scene->initiator, scene->least);
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

static void change(struct scenery *scene, roost_filter *filter)
{
    if (random_choice(scene->random, 8) == 0) /* time goes by, and takes slots of windows along */
        scene->clock += SECONDS(random_choice(scene->random, 60));
    for (uint32_t left = random_choice(scene->random, 8); left > 0; left--) {
        uint64_t key = random_choice(scene->random, KEYS);
        if (is_window(filter))
            step(filter, scene->random, &scene->clock, KEYS);
        else if (random_choice(scene->random, 3))
            put(filter, key);
        else
            take(filter, key, random_choice(scene->random, 2));
    }
}

/* A frame: what is new since the last one, or everything. */
static roost_buffer frame_of(struct scenery *scene, roost_filter *filter, roost_cursor *since)
{
    roost_buffer frame;
    roost_cursor nothing = {0, 0};
    if (random_choice(scene->random, 4) == 0)
        assert_ok(roost_filter_encode_delta(filter, &frame, since, &nothing));
    else
        assert_ok(roost_filter_encode_delta(filter, &frame, since, since));
    return frame;
}

/* The teller takes in what the initiator sends: a span, and from then on among the least that the initiator has. */
static void bring(struct scenery *scene)
{
    if (scene->count == MOST_SPANS)
        return;
    roost_cursor before = cursor_of(scene->teller);
    roost_buffer frame = frame_of(scene, scene->initiator, &scene->of_initiator);
    roost_filter *applied;
    assert_ok(roost_filter_decode(&applied, frame.data, frame.size, NULL));
    if (random_choice(scene->random, 2))
        merge(scene->teller, applied);
    else
        assert_ok(roost_filter_merge_frame(scene->teller, NULL, frame.data, frame.size));
    merge(scene->least, applied);
    scene->spans[scene->count++] = (roost_span){before.sequence, cursor_of(scene->teller).sequence};
    roost_buffer_release(&frame);
    roost_filter_free(applied);
}

static void visit(struct scenery *scene)
{
    if (random_choice(scene->random, 3) == 0)
        merge(scene->third, random_choice(scene->random, 2) ? scene->teller : scene->initiator);
    else
        merge(scene->teller, scene->third);
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static roost_buffer told_without(roost_filter *teller, const roost_cursor *since, const roost_span *spans, size_t count)
{
    roost_buffer frame;
    roost_cursor next = {0, 0}, now = cursor_of(teller);
    assert_ok(roost_filter_encode_delta_without(teller, &frame, &next, since, spans, count));
    assert_true(next.incarnation == now.incarnation && next.sequence == now.sequence);
    assert_int_equal(frame.size != 0, journal_knows(teller->journal, since));
    assert_true(frame.size == 0 || frame.data[5] == DELTA_FRAME);
    return frame;
}

/* A part of the state: nothing is in it that is not there, and nothing is gone in it that is. (In a remove-wins set an
   element may be there that is out because of a removal, which is another part.) */
static roost_filter *part_of(const roost_filter *teller, const roost_buffer *frame)
{
    roost_filter *part;
    assert_ok(roost_filter_decode(&part, frame->data, frame->size, NULL));
    assert_ok(roost_filter_check(part));
    assert_true(included(part, teller));
    const bool hides = roost_filter_get_config(teller)->semantics == ROOST_REMOVE_WINS;
    for (uint64_t key = 0; key < KEYS && !is_window(teller) && !hides; key++)
        assert_true(!roost_filter_contains_hash(part, hash_for_key(key)) ||
                    roost_filter_contains_hash(teller, hash_for_key(key)));
    return part;
}

static void shuffle(struct scenery *scene)
{
    for (size_t i = scene->count; i > 1; i--) {
        size_t other = random_choice(scene->random, (uint32_t)i);
        roost_span span = scene->spans[i - 1];
        scene->spans[i - 1] = scene->spans[other];
        scene->spans[other] = span;
    }
}

/* Whoever has the least that he can have has everything afterwards. */
static void ask(struct scenery *scene)
{
    shuffle(scene);
    roost_buffer frame = told_without(scene->teller, &scene->cursor, scene->spans, scene->count);
    if (frame.size == 0) { /* in another way, then */
        merge(scene->least, scene->teller);
        seen.lost++;
    } else {
        roost_filter *part = part_of(scene->teller, &frame), *sum = merged(scene->least, part);
        assert_ok(roost_filter_merge_frame(scene->least, NULL, frame.data, frame.size));
        assert_same_frame(sum, scene->least);
        FREE_ALL(part, sum);
        seen.told++;
        seen.left_out += scene->count;
    }
    assert_ok(roost_filter_check(scene->least));
    assert_true(roost_filter_equal(scene->least, scene->teller));
    assert_same_frame(scene->least, scene->teller);
    merge(scene->initiator, scene->teller);
    roost_buffer_release(&frame);
    scene->cursor = cursor_of(scene->teller);
    if (random_choice(scene->random, 2)) /* spans before the cursor mean nothing */
        scene->count = 0;
}

/* Spans cut anywhere, and those between them: two parts, and together they are all that there is to tell. */
static void ask_with_any_spans(struct scenery *scene)
{
    roost_cursor now = cursor_of(scene->teller);
    roost_span within[8], between[9];
    uint64_t at = 0, width = now.sequence - scene->cursor.sequence + 2;
    size_t count = random_choice(scene->random, 8);
    for (size_t i = 0; i < count; i++) {
        uint64_t from = at + random_choice(scene->random, (uint32_t)(2 * width / (count + 1) + 1));
        between[i] = (roost_span){i ? scene->cursor.sequence + at : 0, scene->cursor.sequence + from};
        at = from + random_choice(scene->random, (uint32_t)(width / (count + 1) + 1));
        within[i] = (roost_span){scene->cursor.sequence + from, scene->cursor.sequence + at};
    }
    between[count] = (roost_span){count ? scene->cursor.sequence + at : 0, UINT64_MAX};
    if (!journal_knows(scene->teller->journal, &scene->cursor))
        return;
    roost_buffer whole = told_without(scene->teller, &scene->cursor, NULL, 0);
    roost_buffer one = told_without(scene->teller, &scene->cursor, within, count);
    roost_buffer other = told_without(scene->teller, &scene->cursor, between, count + 1);
    roost_filter *all = part_of(scene->teller, &whole), *first = part_of(scene->teller, &one);
    roost_filter *second = part_of(scene->teller, &other), *sum = merged(first, second);
    assert_true(roost_filter_equal(sum, all));
    roost_buffer_release(&whole);
    roost_buffer_release(&one);
    roost_buffer_release(&other);
    FREE_ALL(all, first, second, sum);
    seen.hostile += count > 0;
}

static void happen(struct scenery *scene)
{
    switch (random_choice(scene->random, 10)) {
    case 0:
    case 1:
    case 2:
        change(scene, scene->teller);
        break;
    case 3:
        change(scene, scene->third);
        break;
    case 4:
        change(scene, scene->initiator);
        break;
    case 5:
    case 6:
        bring(scene);
        break;
    case 7:
        visit(scene);
        break;
    case 8:
        ask_with_any_spans(scene);
        break;
    default:
        ask(scene);
    }
}

static void what_was_applied_is_left_out(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(22));
    struct scenery scene;
    uint64_t worlds = count_of_worlds(10 * EVERY_KIND);
    for (uint64_t number = 0; number < worlds; number++) {
        scenery_open(&scene, number, &random);
        for (uint32_t left = 40 + random_choice(&random, 80); left > 0; left--)
            happen(&scene);
        ask(&scene);
        scenery_close(&scene);
    }
    printf("%llu worlds: %llu told, %llu spans left out, %llu cut anywhere, %llu cursors lost\n",
           (unsigned long long)worlds, (unsigned long long)seen.told, (unsigned long long)seen.left_out,
           (unsigned long long)seen.hostile, (unsigned long long)seen.lost);
    assert_true(seen.told > worlds * 4 && seen.left_out > worlds * 10 && seen.hostile > worlds * 2 &&
                seen.lost > worlds / 4);
}

/* ---- single things ----------------------------------------------------------------------------------------------- */

/* An echo costs nothing, and what is not one costs what it would cost alone: in whatever order it is named. */
static void bytes_follow_what_is_left(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < EVERY_KIND; kind++) {
        roost_config config = config_of_every_kind(kind, 4000);
        roost_environment environment = {.journal = 20000};
        roost_filter *teller, *initiator = new_filter(&config);
        assert_ok(roost_filter_new(&teller, &config, &environment));
        roost_cursor before = cursor_of(teller);
        live_on(initiator, 1000, 250);
        merge(teller, initiator);
        roost_cursor between = cursor_of(teller);
        live_on(initiator, 1250, 250);
        merge(teller, initiator);
        roost_cursor after = cursor_of(teller);
        const roost_span spans[] = {{between.sequence, after.sequence},
                                    {before.sequence, between.sequence},
                                    {0, between.sequence + 7},
                                    {UINT64_MAX, UINT64_MAX}};
        assert_true(after.sequence >= before.sequence + 400 || is_window(teller));
        roost_buffer echo = told_without(teller, &before, spans, 4), nothing = told_without(teller, &after, NULL, 0);
        roost_buffer everything = told_without(teller, &before, NULL, 0);
        assert_int_equal(echo.size, nothing.size);
        assert_true(everything.size > nothing.size + 300);
        live_on(teller, 1, 10);
        roost_buffer ten = told_without(teller, &after, NULL, 0), left = told_without(teller, &before, spans, 2);
        assert_true(ten.size > nothing.size);
        assert_same_bytes(&left, &ten);
        for (roost_buffer *frames[] = {&echo, &nothing, &everything, &ten, &left}, **frame = frames; frame < frames + 5;
             frame++)
            roost_buffer_release(*frame);
        FREE_ALL(teller, initiator);
    }
}

/* It begins the journal, changes nothing else, and all that happens afterwards is told from there. */
static void a_cursor_costs_nothing(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < EVERY_KIND; kind++) {
        roost_config config = config_of_every_kind(kind, 400);
        roost_filter *filter = new_filter(&config);
        live_on(filter, 0, 20);
        roost_filter *before = clone_of(filter);
        roost_cursor cursor = cursor_of(filter), again = cursor_of(filter), nothing = {0, 0};
        assert_true(cursor.incarnation != 0 && cursor.sequence != 0);
        assert_memory_equal(&cursor, &again, sizeof cursor);
        assert_true(roost_filter_equal(before, filter));
        live_on(filter, 50, 20);
        roost_buffer frame = told_without(filter, &cursor, NULL, 0);
        assert_ok(roost_filter_merge_frame(before, NULL, frame.data, frame.size));
        assert_true(roost_filter_equal(before, filter));
        roost_buffer_release(&frame);
        frame = told_without(filter, &nothing, NULL, 0); /* who knows no cursor is told no state */
        assert_int_equal(frame.size, 0);
        FREE_ALL(filter, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_applied_is_left_out),
        cmocka_unit_test(bytes_follow_what_is_left),
        cmocka_unit_test(a_cursor_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
