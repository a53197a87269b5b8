/*
 * Deltas, for every kind: lost, doubled, reordered, applied to third parties; with journals that forget, cursors that
 * come from elsewhere, replicas that crash and wake up again. A delta is never wrong: it is included in the state that
 * it comes from, it makes up for all that happened since its cursor, and merge_frame takes it in just as decode and
 * merge would. Beside observed-remove filters runs the exact model of dots.h.
 */
#include "dots.h"

#include "frame/frame.h"
#include "roost/incremental.h"

enum { REPLICAS = 4, SCRATCH = REPLICAS, MOST_MESSAGES = 32, KEYS = 200, HISTORY = 3 };

struct message {
    roost_buffer frame;
    int from, to;
};

struct world {
    int replicas;
    roost_filter *filters[REPLICAS];
    /* what each knows of what it sent to each: a cursor, and the state of that moment; older ones behind */
    roost_cursor cursors[REPLICAS][REPLICAS][HISTORY];
    roost_filter *sent[REPLICAS][REPLICAS][HISTORY];
    struct message bag[MOST_MESSAGES];
    int messages;
    bool added[KEYS]; /* grow-only */
    struct dots dots; /* observed-remove */
    uint64_t salt;
    uint64_t journal;
};

static struct {
    uint64_t parts, wholes, lost, doubled, strangers, restored;
} tally;

static bool observes_removes(const struct world *world)
{
    return roost_filter_get_config(world->filters[0])->kind == ROOST_ORCUCKOO;
}

static roost_hash key_of(const struct world *world, uint32_t key)
{
    return hash_for_key(world->salt * 100003 + key);
}

static bool is_part(const roost_buffer *frame)
{
    return frame->data[5] == DELTA_FRAME;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void world_open(struct world *world, uint64_t number, struct random_source *random)
{
    static const uint64_t journals[] = {0, 8, 1, 40, 3, 0};
    uint64_t capacity = random_choice(random, 3) ? 300 : 5 + random_choice(random, 40);
    roost_config config = number % 2 ? some_orcuckoo_config(number / 2, capacity) : some_config(number / 2, capacity);
    world->replicas = 2 + (int)random_choice(random, REPLICAS - 1);
    world->dots.count = 0;
    world->messages = 0;
    world->salt = random_next(random);
    world->journal = journals[random_choice(random, COUNT_OF(journals))];
    memset(world->added, 0, sizeof world->added);
    for (int i = 0; i < world->replicas; i++) {
        roost_environment environment = {.random_seed = random_next(random), .kicks = 30, .journal = world->journal};
        assert_ok(roost_filter_new(&world->filters[i], &config, &environment));
    }
    for (int i = 0; i < world->replicas; i++)
        for (int j = 0; j < world->replicas; j++)
            for (int age = 0; age < HISTORY; age++) {
                world->cursors[i][j][age] = (roost_cursor){0, 0};
                world->sent[i][j][age] = clone_of(world->filters[i]);
            }
}

static void world_close(struct world *world)
{
    for (int i = 0; i < world->replicas; i++) {
        roost_filter_free(world->filters[i]);
        for (int j = 0; j < world->replicas; j++)
            for (int age = 0; age < HISTORY; age++)
                roost_filter_free(world->sent[i][j][age]);
    }
    while (world->messages > 0)
        roost_buffer_release(&world->bag[--world->messages].frame);
}

/* ---- updates ----------------------------------------------------------------------------------------------------- */

static void step_add(struct world *world, int at, uint32_t key)
{
    roost_filter *filter = world->filters[at];
    roost_dot dot;
    roost_status status;
    if (!observes_removes(world)) {
        status = roost_filter_add_hash(filter, NULL, key_of(world, key));
        world->added[key] |= status == ROOST_OK;
    } else {
        status = roost_filter_add_dot_hash(filter, &dot, key_of(world, key));
        if (status == ROOST_OK)
            dots_add(&world->dots, at, filter, key_of(world, key), dot);
    }
    assert_true(status == ROOST_OK || status == ROOST_FULL);
}

static void step_remove(struct world *world, int at, uint32_t key, bool one)
{
    roost_filter *filter = world->filters[at];
    struct dots *dots = &world->dots;
    roost_hash hash = key_of(world, key);
    if (!observes_removes(world))
        return;
    if (one && roost_filter_get_config(filter)->multiset) {
        assert_ok(roost_filter_remove_one_hash(filter, NULL, hash));
        for (uint32_t i = 0; i < dots->count; i++)
            if (dots->list[i].key == class_for(filter, hash))
                dots->standing[at][i] = (uint8_t)standing_of(filter, hash, dots->list[i].dot);
    } else {
        assert_ok(roost_filter_remove_hash(filter, NULL, hash));
        dots_kill(dots, at, class_for(filter, hash));
    }
}

static void step_merge(struct world *world, int at, int from)
{
    assert_ok(roost_filter_merge(world->filters[at], NULL, world->filters[from]));
    dots_merge(&world->dots, at, from);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static bool included(const roost_filter *a, const roost_filter *b)
{
    roost_order order;
    assert_ok(roost_filter_compare(a, &order, b));
    return order == ROOST_EQUAL || order == ROOST_BEFORE;
}

static roost_filter *decoded(const roost_buffer *frame)
{
    roost_filter *filter;
    assert_ok(roost_filter_decode(&filter, frame->data, frame->size, NULL));
    assert_ok(roost_filter_check(filter));
    return filter;
}

/* Both ways of taking in a frame, on copies: they must agree, to the byte. */
static roost_filter *taken_in(const roost_filter *filter, const roost_buffer *frame)
{
    roost_filter *by_frame = clone_of(filter), *by_merge = clone_of(filter), *part = decoded(frame);
    bool frame_changed, merge_changed;
    assert_ok(roost_filter_merge_frame(by_frame, &frame_changed, frame->data, frame->size));
    assert_ok(roost_filter_merge(by_merge, &merge_changed, part));
    assert_int_equal(frame_changed, merge_changed);
    assert_int_equal(frame_changed, !included(part, filter));
    assert_ok(roost_filter_check(by_frame));
    assert_same_frame(by_frame, by_merge);
    assert_same_digest(by_frame, by_merge);
    roost_filter_free(by_merge);
    roost_filter_free(part);
    return by_frame;
}

static void assert_delta_is_right(const roost_filter *sender, const roost_filter *base, const roost_buffer *frame)
{
    roost_filter *part = decoded(frame), *sum = taken_in(base, frame);
    assert_true(included(part, sender));
    assert_true(roost_filter_equal(sum, sender));
    assert_same_frame(sum, sender);
    roost_filter_free(part);
    roost_filter_free(sum);
}

/* What the filter says since this cursor, and its next cursor in the same place. */
static roost_buffer ask(roost_filter *filter, roost_cursor *cursor, const roost_filter *base)
{
    roost_buffer frame;
    bool fresh = cursor->incarnation == 0;
    roost_filter *before = clone_of(filter);
    assert_copy_says_the_same(filter, cursor);
    assert_ok(roost_filter_encode_delta(filter, &frame, cursor, cursor));
    assert_true(roost_filter_equal(before, filter));
    assert_true(cursor->incarnation != 0);
    assert_true(!fresh || !is_part(&frame));
    if (base)
        assert_delta_is_right(filter, base, &frame);
    tally.parts += is_part(&frame);
    tally.wholes += !is_part(&frame);
    roost_filter_free(before);
    return frame;
}

static void step_send(struct world *world, int from, int to, uint32_t age)
{
    if (world->messages == MOST_MESSAGES)
        return;
    roost_cursor cursor = world->cursors[from][to][age];
    roost_buffer frame = ask(world->filters[from], &cursor, world->sent[from][to][age]);
    roost_filter_free(world->sent[from][to][HISTORY - 1]);
    for (int i = HISTORY - 1; i > 0; i--) {
        world->cursors[from][to][i] = world->cursors[from][to][i - 1];
        world->sent[from][to][i] = world->sent[from][to][i - 1];
    }
    world->cursors[from][to][0] = cursor;
    world->sent[from][to][0] = clone_of(world->filters[from]);
    world->bag[world->messages++] = (struct message){frame, from, to};
}

static void deliver(struct world *world, const struct message *message, int at)
{
    roost_filter *expected = taken_in(world->filters[at], &message->frame), *part = decoded(&message->frame);
    assert_ok(roost_filter_merge_frame(world->filters[at], NULL, message->frame.data, message->frame.size));
    assert_ok(roost_filter_check(world->filters[at]));
    assert_true(roost_filter_equal(expected, world->filters[at]));
    if (observes_removes(world)) {
        dots_read(&world->dots, SCRATCH, part);
        dots_merge(&world->dots, at, SCRATCH);
        dots_agree(&world->dots, at, world->filters[at]);
    }
    roost_filter_free(expected);
    roost_filter_free(part);
}

static void forget_message(struct world *world, int number)
{
    roost_buffer_release(&world->bag[number].frame);
    world->bag[number] = world->bag[--world->messages];
}

/* Somebody's message arrives, or does not; where it was lost, the sender goes back to the start. */
static void step_deliver(struct world *world, struct random_source *random)
{
    if (world->messages == 0)
        return;
    int number = (int)random_choice(random, (uint32_t)world->messages);
    struct message *message = &world->bag[number];
    switch (random_choice(random, 8)) {
    case 0:
        memset(world->cursors[message->from][message->to], 0, sizeof world->cursors[message->from][message->to]);
        tally.lost++;
        break;
    case 1:
        deliver(world, message, (int)random_choice(random, (uint32_t)world->replicas));
        tally.doubled++;
        return;
    case 2:
        deliver(world, message, (int)random_choice(random, (uint32_t)world->replicas));
        deliver(world, message, message->to);
        tally.strangers++;
        break;
    default:
        deliver(world, message, message->to);
    }
    forget_message(world, number);
}

/* ---- cursors and incarnations ------------------------------------------------------------------------------------ */

/* A cursor that this filter did not hand out, or that is too old: all of the state, and nothing wrong. */
static void step_foreign_cursor(struct world *world, struct random_source *random)
{
    int at = (int)random_choice(random, (uint32_t)world->replicas), other = (at + 1) % world->replicas;
    roost_cursor cursor = world->cursors[other][at][0];
    switch (random_choice(random, 3)) {
    case 0:
        cursor = (roost_cursor){world->cursors[at][other][0].incarnation, UINT64_MAX - random_choice(random, 3)};
        break;
    case 1:
        cursor = (roost_cursor){random_next(random), random_choice(random, 3)};
        break;
    default:
        break;
    }
    roost_buffer frame = ask(world->filters[at], &cursor, NULL);
    assert_false(is_part(&frame));
    roost_filter *whole = decoded(&frame);
    assert_true(roost_filter_equal(whole, world->filters[at]));
    roost_filter_free(whole);
    roost_buffer_release(&frame);
}

/* Saved and awake again: the same replica, with its actor and its journal. */
static roost_filter *restored(const struct world *world, const roost_filter *filter)
{
    roost_buffer frame, replica, again;
    roost_filter *back;
    roost_environment environment = {.journal = world->journal, .kicks = 30};
    assert_ok(roost_filter_encode(filter, &frame));
    assert_ok(roost_filter_save_replica(filter, &replica));
    assert_ok(roost_filter_decode(&back, frame.data, frame.size, &environment));
    assert_ok(roost_filter_restore_replica(back, replica.data, replica.size));
    assert_ok(roost_filter_save_replica(back, &again));
    assert_int_equal(again.size, replica.size);
    if (again.size)
        assert_memory_equal(again.data, replica.data, again.size);
    assert_int_equal(roost_filter_get_actor(back), roost_filter_get_actor(filter));
    roost_buffer_release(&frame);
    roost_buffer_release(&replica);
    roost_buffer_release(&again);
    return back;
}

static void step_restore(struct world *world, int at, bool same_replica)
{
    roost_filter *next = same_replica ? restored(world, world->filters[at]) : clone_of(world->filters[at]);
    roost_filter_free(world->filters[at]);
    world->filters[at] = next;
    tally.restored++;
}

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

static void step(struct world *world, struct random_source *random)
{
    int at = (int)random_choice(random, (uint32_t)world->replicas),
        to = (int)random_choice(random, (uint32_t)world->replicas);
    uint32_t choice = random_choice(random, 100), key = random_choice(random, random_choice(random, 2) ? 20 : KEYS);
    if (choice < 40)
        step_add(world, at, key);
    else if (choice < 60)
        step_remove(world, at, key, choice < 50);
    else if (choice < 75 && at != to)
        step_send(world, at, to, choice < 72 ? 0 : random_choice(random, HISTORY));
    else if (choice < 92)
        step_deliver(world, random);
    else if (choice < 94)
        step_merge(world, at, to);
    else if (choice < 96)
        step_foreign_cursor(world, random);
    else if (choice < 98)
        step_restore(world, at, choice < 97);
}

/* Everybody sends what is new to everybody; once all of it has arrived, in whatever order, all are equal. */
static void resolve_positions(struct world *world, struct random_source *random)
{
    while (world->messages > 0)
        step_deliver(world, random);
    for (int i = 0; i < world->replicas; i++)
        for (int j = 0; j < world->replicas; j++)
            if (i != j)
                step_send(world, i, j, 0);
    while (world->messages > 0) {
        int number = (int)random_choice(random, (uint32_t)world->messages);
        deliver(world, &world->bag[number], world->bag[number].to);
        if (random_choice(random, 4))
            forget_message(world, number);
    }
    for (int i = 1; i < world->replicas; i++) {
        assert_true(roost_filter_equal(world->filters[0], world->filters[i]));
        assert_same_frame(world->filters[0], world->filters[i]);
        assert_same_digest(world->filters[0], world->filters[i]);
    }
    for (uint32_t key = 0; key < KEYS; key++)
        assert_true(!world->added[key] || roost_filter_contains_hash(world->filters[0], key_of(world, key)));
}

static void deltas_converge_in_random_worlds(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(21));
    static struct world world;
    uint64_t worlds = count_of_worlds(300);
    for (uint64_t number = 0; number < worlds; number++) {
        world_open(&world, number, &random);
        for (uint32_t left = random_choice(&random, 300); left > 0; left--)
            step(&world, &random);
        resolve_positions(&world, &random);
        world_close(&world);
    }
    printf("%llu worlds: %llu parts, %llu whole states, %llu lost, %llu doubled, %llu to strangers, %llu woken\n",
           (unsigned long long)worlds, (unsigned long long)tally.parts, (unsigned long long)tally.wholes,
           (unsigned long long)tally.lost, (unsigned long long)tally.doubled, (unsigned long long)tally.strangers,
           (unsigned long long)tally.restored);
    assert_true(tally.parts > worlds * 3 && tally.wholes > worlds && tally.lost > worlds && tally.restored > worlds);
}

/* ---- single things ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int kind;
} kinds[] = {{"blocked", 0}, {"classic", 1}, {"cuckoo", 2}, {"set", 3}, {"multiset", 4}, {"narrow multiset", 5}};

static roost_config config_of(int kind, uint64_t capacity)
{
    switch (kind) {
    case 0:
    case 1:
        return bloom_config(kind ? ROOST_CLASSIC : ROOST_BLOCKED, capacity, 0.01);
    case 2:
        return cuckoo_config(12, 4, capacity);
    case 3:
        return orcuckoo_config(24, 64, false, capacity);
    default:
        return orcuckoo_config(8, kind == 4 ? 64 : 32, true, capacity);
    }
}

static roost_cursor begin_deltas(roost_filter *filter)
{
    roost_cursor cursor = {0, 0};
    roost_buffer frame = ask(filter, &cursor, NULL);
    roost_buffer_release(&frame);
    return cursor;
}

static void change_many(roost_filter *filter, uint64_t from, uint64_t count)
{
    bool removes = roost_filter_get_config(filter)->kind == ROOST_ORCUCKOO;
    for (uint64_t key = from; key < from + count; key++) {
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
        if (removes && key % 2)
            assert_ok(roost_filter_remove_hash(filter, NULL, hash_for_key(key - from)));
    }
}

/* From one change to more than a merge in place takes: the same result, and bytes that follow the change. */
static void bytes_follow_the_change(void **state)
{
    (void)state;
    only_as_shipped();
    static const uint64_t changes[] = {0, 1, 10, 100, 1000, 4000};
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++)
        for (size_t i = 0; i < COUNT_OF(changes); i++) {
            roost_config config = config_of(kinds[kind].kind, 30000);
            roost_environment environment = {.journal = 20000};
            roost_filter *filter, *peer;
            assert_ok(roost_filter_new(&filter, &config, &environment));
            for (uint64_t key = 0; key < 20000; key++)
                assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
            roost_cursor cursor = begin_deltas(filter);
            peer = clone_of(filter);
            change_many(filter, 1000000, changes[i]);
            roost_buffer frame = ask(filter, &cursor, peer);
            assert_true(is_part(&frame));
            double bytes = (double)frame.size - 70;
            if (bytes > 14 * (double)changes[i])
                fail_msg("%s: %zu bytes for %u changes", kinds[kind].name, frame.size, (unsigned)changes[i]);
            begin_deltas(peer); /* who passes it on must know it too */
            roost_filter *third = clone_of(peer);
            roost_cursor between = begin_deltas(peer);
            assert_ok(roost_filter_merge_frame(peer, NULL, frame.data, frame.size));
            assert_true(roost_filter_equal(peer, filter));
            roost_buffer_release(&frame);
            frame = ask(peer, &between, third);
            roost_buffer_release(&frame);
            FREE_ALL(filter, peer, third);
        }
}

/* Batches are noted as single adds are; hashes may be any numbers, also those whose half is 0. */
static void every_hash_is_told(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        roost_config config = config_of(kinds[kind].kind, 2000);
        roost_filter *filter = new_filter(&config), *base = clone_of(filter);
        roost_cursor cursor = begin_deltas(filter);
        roost_hash hashes[700] = {{0, 0}, {5, 0}, {UINT64_MAX, 0}, {0, 5}, {0, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}};
        bool changed[700];
        for (uint64_t i = 6; i < 700; i++)
            hashes[i] = i % 10 ? hash_for_key(i) : hashes[i - 1];
        size_t done;
        assert_ok(roost_filter_add_many_hash(filter, changed, &done, hashes, 700));
        assert_true(done == 700 && changed[0]);
        for (int i = 0; i < 700; i++)
            assert_true(roost_filter_contains_hash(filter, hashes[i]));
        roost_buffer frame = ask(filter, &cursor, base);
        assert_true(is_part(&frame));
        roost_buffer_release(&frame);
        FREE_ALL(filter, base);
    }
}

/* A removal that reaches somebody who passes it on without ever having held the element: its class is not told. */
static void removals_travel_by_way_of_others(void **state)
{
    (void)state;
    for (int kind = 3; kind < 6; kind++) {
        roost_config config = config_of(kind, 100);
        roost_filter *a = new_filter(&config), *b = new_filter(&config), *c;
        for (uint64_t key = 0; key < 20; key++)
            add(a, hash_for_key(key));
        c = clone_of(a); /* holds all twenty */
        roost_cursor of_b = begin_deltas(b);
        for (uint64_t key = 0; key < 10; key++)
            assert_true(removes(a, hash_for_key(key)));
        assert_ok(roost_filter_merge(b, NULL, a)); /* sees twenty dots and ten entries */
        roost_buffer frame = ask(b, &of_b, NULL);
        assert_true(is_part(&frame));
        bool changed = false;
        assert_ok(roost_filter_merge_frame(c, &changed, frame.data, frame.size));
        assert_true(changed);
        assert_true(roost_filter_equal(c, a));
        assert_int_equal(entries_of(c), entries_of(a));
        assert_ok(roost_filter_merge_frame(c, &changed, frame.data, frame.size));
        assert_false(changed);
        roost_buffer_release(&frame);
        FREE_ALL(a, b, c);
    }
}

/* A journal of eight: as many changes as fit make a part, one more makes the whole state. */
static void a_journal_forgets_the_oldest_first(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++)
        for (uint64_t changes = 0; changes < 20; changes++) {
            roost_config config = config_of(kinds[kind].kind, 10000);
            roost_environment environment = {.journal = 8};
            roost_filter *filter;
            assert_ok(roost_filter_new(&filter, &config, &environment));
            assert_int_equal(info_of(filter).journal, 0);
            roost_cursor cursor = begin_deltas(filter);
            roost_filter *base = clone_of(filter);
            for (uint64_t key = 0; key < changes; key++)
                assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
            assert_int_equal(info_of(filter).journal, changes < 8 ? changes : 8);
            roost_buffer frame = ask(filter, &cursor, base);
            assert_int_equal(is_part(&frame), changes <= 8);
            roost_buffer_release(&frame);
            frame = ask(filter, &cursor, filter); /* and from then on there is nothing to tell */
            assert_true(is_part(&frame) && frame.size < 60);
            roost_buffer_release(&frame);
            FREE_ALL(filter, base);
        }
}

/* It begins short, and is doubled where it would forget, as far as it may be. */
static void a_journal_grows_rather_than_forget(void **state)
{
    (void)state;
    static const struct {
        uint64_t journal;
        uint32_t part;
        uint64_t changes, kept; /* 0: what the part of the memory holds */
    } cases[] = {
        {0, 0, 60, 60},      {0, 0, 4000, 4000}, {0, 0, 9000, 4096},         {100, 0, 99, 99},     {100, 0, 1000, 100},
        {1, 0, 50, 1},       {70, 0, 69, 69},    {20000, 0, 8000, 8000},     {20000, 4, 200, 200}, {20000, 4, 8000, 0},
        {256, 4, 8000, 256}, {256, 9, 500, 256}, {20000, 1000000, 8000, 256}};
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++)
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            roost_config config = config_of(kinds[kind].kind, 10000);
            roost_environment environment = {.journal = cases[i].journal, .journal_part = cases[i].part};
            roost_filter *filter;
            assert_ok(roost_filter_new(&filter, &config, &environment));
            roost_cursor start, cursor;
            assert_ok(roost_filter_get_cursor(filter, &start));
            assert_true(filter->journal->room <= 64);
            roost_filter *base = clone_of(filter);
            for (uint64_t key = 0; filter->journal->next < start.sequence + cases[i].changes; key++)
                assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
            uint64_t held = info_of(filter).bytes_memory - journal_bytes(filter->journal);
            uint64_t kept = cases[i].kept ? cases[i].kept : held / cases[i].part / 17;
            if (cases[i].kept)
                assert_int_equal(info_of(filter).journal, kept);
            else /* the memory of a cuckoo table is all there from the start, or comes with the entries */
                assert_true(info_of(filter).journal <= (kept > 256 ? kept : 256) && info_of(filter).journal >= 256);
            assert_true(filter->journal->room < 2 * info_of(filter).journal + 64);
            cursor = (roost_cursor){start.incarnation, filter->journal->oldest};
            roost_buffer frame = ask(filter, &start, base); /* the whole state, if it has to be */
            assert_int_equal(is_part(&frame), cases[i].kept >= cases[i].changes);
            roost_buffer_release(&frame);
            frame = ask(filter, &cursor, NULL);
            assert_true(is_part(&frame));
            roost_buffer_release(&frame);
            FREE_ALL(filter, base);
        }
}

/* A small filter that grows fast, and a peer that asks often: no cursor is lost. One that nothing happens to pays for
   little. */
static void a_journal_keeps_pace(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < SERIES; number++) {
        roost_config config = series_config(number, 100);
        roost_environment environment = {.journal = 1 << 20, .journal_part = 4};
        roost_filter *filter, *idle;
        roost_cursor cursor;
        uint64_t lost = 0, steps = 0;
        assert_ok(roost_filter_new(&filter, &config, &environment));
        assert_ok(roost_filter_new(&idle, &config, &environment));
        assert_ok(roost_filter_get_cursor(filter, &cursor));
        for (uint64_t key = 0; key < 60000; steps++) {
            uint64_t step = key < 20000 ? 5000 : key / 8; /* from more than there is to an eighth of it */
            while (step-- > 0)
                assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key++)));
            roost_buffer frame;
            assert_ok(roost_filter_encode_delta_without(filter, &frame, &cursor, &cursor, NULL, 0));
            lost += frame.size == 0;
            roost_buffer_release(&frame);
        }
        uint64_t journal = journal_bytes(filter->journal), held = info_of(filter).bytes_memory - journal;
        printf("series %llu: %llu of %llu cursors lost, journal %llu bytes beside %llu\n", (unsigned long long)number,
               (unsigned long long)lost, (unsigned long long)steps, (unsigned long long)journal,
               (unsigned long long)held);
        assert_true(lost <= 2 && steps > 10);
        assert_true(journal <= held || journal <= 16384 * 17);
        roost_cursor of_idle;
        assert_ok(roost_filter_get_cursor(idle, &of_idle));
        assert_true(journal_bytes(idle->journal) < 200);
        FREE_ALL(filter, idle);
    }
}

/* Without memory for a longer ring additions go on, and the oldest are forgotten. */
struct short_of_memory {
    bool short_now;
    uint64_t refused;
};

static void *allocate_or_not(void *context, size_t size)
{
    struct short_of_memory *memory = context;
    memory->refused += memory->short_now;
    return memory->short_now ? NULL : calloc(1, size);
}

static void release_plainly(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void a_journal_without_memory_forgets(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        struct short_of_memory memory = {false, 0};
        roost_environment environment = {.allocator = {&memory, allocate_or_not, release_plainly}, .journal = 5000};
        roost_config config = config_of(kinds[kind].kind, 10000);
        roost_filter *filter;
        roost_cursor cursor, later;
        assert_ok(roost_filter_new(&filter, &config, &environment));
        assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(0))); /* an actor needs memory once */
        assert_ok(roost_filter_get_cursor(filter, &cursor));
        memory.short_now = true;
        for (uint64_t key = 1; key < 400; key++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
        assert_true(memory.refused > 2 && memory.refused < 120); /* it is not asked for with each of them */
        assert_int_equal(info_of(filter).journal, 8);
        assert_false(journal_knows(filter->journal, &cursor));
        memory.short_now = false;
        roost_filter *base = clone_of(filter);
        assert_ok(roost_filter_get_cursor(filter, &later));
        for (uint64_t key = 400; key < 1000; key++)
            assert_ok(roost_filter_add_hash(filter, NULL, hash_for_key(key)));
        roost_buffer frame = ask(filter, &later, base);
        assert_true(is_part(&frame));
        roost_buffer_release(&frame);
        FREE_ALL(filter, base);
    }
}

/* A merge that fails half-way has noted what did not happen: a delta must not tell it. */
static void failed_merges_are_not_told(void **state)
{
    (void)state;
    for (int kind = 2; kind < 6; kind++) {
        uint64_t failures = 0;
        for (uint64_t spare = 6; spare < 60; spare++) {
            roost_config config = config_of(kind, 50);
            roost_environment environment = {.kicks = 2, .journal = 100};
            roost_filter *filter, *other = new_filter(&config), *base;
            assert_ok(roost_filter_new(&filter, &config, &environment));
            begin_deltas(filter);
            change_many(filter, 0, 10);
            environment.memory_limit = info_of(filter).bytes_memory + spare * 300;
            roost_filter_free(filter);
            assert_ok(roost_filter_new(&filter, &config, &environment));
            roost_cursor cursor = begin_deltas(filter);
            change_many(filter, 0, 8);
            base = clone_of(filter);
            roost_cursor later = begin_deltas(filter);
            change_many(filter, 100, 2);
            for (uint64_t key = 0; key < 120; key++) {
                roost_filter *one = new_filter(&config);
                assert_ok(roost_filter_add_hash(one, NULL, hash_for_key(500 + key)));
                assert_ok(roost_filter_merge(other, NULL, one));
                roost_filter_free(one);
            }
            roost_filter *before = clone_of(filter);
            roost_status status = roost_filter_merge(filter, NULL, other);
            assert_true(status == ROOST_OK || status == ROOST_TOO_LARGE);
            assert_true(status == ROOST_OK || roost_filter_equal(before, filter));
            failures += status != ROOST_OK;
            roost_filter *empty = new_filter(&config);
            roost_buffer frame = ask(filter, &later, base);
            roost_buffer_release(&frame);
            frame = ask(filter, &cursor, empty);
            roost_buffer_release(&frame);
            FREE_ALL(filter, other, base, before, empty);
        }
        printf("%s: %llu merges failed\n", kinds[kind].name, (unsigned long long)failures);
        assert_true(failures > 3);
    }
}

/* What the journal takes is not there for entries any more. */
static void a_journal_counts_against_the_limit(void **state)
{
    (void)state;
    for (int kind = 2; kind < 6; kind++) {
        roost_config config = config_of(kind, 10);
        roost_filter *plain = new_filter(&config), *filter;
        uint64_t limit = info_of(plain).bytes_memory + 1000 * sizeof(struct change) + 20000, merges = 0;
        roost_environment environment = {.journal = 1000, .memory_limit = limit};
        assert_ok(roost_filter_new(&filter, &config, &environment));
        roost_cursor cursor = begin_deltas(filter);
        for (roost_status status = ROOST_OK; status == ROOST_OK; merges++) {
            roost_filter *other = new_filter(&config);
            assert_ok(roost_filter_add_hash(other, NULL, hash_for_key(merges)));
            roost_buffer frame;
            assert_ok(roost_filter_encode(other, &frame));
            status = merges % 2 ? roost_filter_merge(filter, NULL, other)
                                : roost_filter_merge_frame(filter, NULL, frame.data, frame.size);
            assert_true(status == ROOST_OK || status == ROOST_TOO_LARGE);
            assert_true(info_of(filter).bytes_memory <= limit);
            roost_buffer_release(&frame);
            roost_filter_free(other);
        }
        printf("%s: %llu merges\n", kinds[kind].name, (unsigned long long)merges);
        assert_true(merges > 50);
        roost_buffer frame = ask(filter, &cursor, plain);
        roost_buffer_release(&frame);
        FREE_ALL(plain, filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_converge_in_random_worlds),
        cmocka_unit_test(bytes_follow_the_change),
        cmocka_unit_test(every_hash_is_told),
        cmocka_unit_test(removals_travel_by_way_of_others),
        cmocka_unit_test(a_journal_forgets_the_oldest_first),
        cmocka_unit_test(a_journal_grows_rather_than_forget),
        cmocka_unit_test(a_journal_keeps_pace),
        cmocka_unit_test(a_journal_without_memory_forgets),
        cmocka_unit_test(failed_merges_are_not_told),
        cmocka_unit_test(a_journal_counts_against_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
