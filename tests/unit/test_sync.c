/*
 * Sync, for every kind: two replicas tell each other what they lack, whatever becomes of messages, memories and peers.
 *
 * exchange.h tells what must hold, and watches it. When the responder changes between messages, the initiator
 * has at the end all that the other had at the beginning, and the other way round; neither ever has anything that did
 * not exist. test_sync_ranges.c has how they find what differs, and what it costs.
 */
#include "exchange.h"

enum { REPLICAS = 4 };

/* ---- random worlds ----------------------------------------------------------------------------------------------- */

struct world {
    int replicas;
    roost_filter *filters[REPLICAS];
    roost_environment environment;
    roost_buffer memory[REPLICAS][REPLICAS], older[REPLICAS][REPLICAS]; /* of the first about the second */
    struct saved_replica backup;
    roost_filter *everything; /* the merge of all that ever was */
    struct random_source *random, entropy;
    uint32_t keys;
    uint64_t salt;
};

static uint32_t choose(struct world *world, uint32_t choices)
{
    return random_choice(world->random, choices);
}

static int any_replica(struct world *world)
{
    return (int)choose(world, (uint32_t)world->replicas);
}

static uint64_t any_key(struct world *world)
{
    return world->salt + choose(world, world->keys);
}

static void world_open(struct world *world, uint64_t number, struct random_source *random)
{
    static const uint64_t journals[] = {0, 4, 16, 0, 1, 64};
    *world = (struct world){.random = random, .entropy = random_from_seed(random_next(random))};
    world->replicas = 2 + (int)choose(world, REPLICAS - 1);
    world->keys = 10 + choose(world, 400);
    world->salt = random_next(random) >> 1;
    roost_config config = config_for(number, choose(world, 3) ? 500 : 5 + choose(world, 100));
    for (int i = 0; i < world->replicas; i++) {
        world->environment = (roost_environment){.random_seed = random_next(random),
                                                 .kicks = 30,
                                                 .entropy = {&world->entropy, draw_random},
                                                 .journal = journals[choose(world, COUNT_OF(journals))]};
        assert_ok(roost_filter_new(&world->filters[i], &config, &world->environment));
    }
    world->backup = save_replica(world->filters[0]);
    world->everything = clone_of(world->filters[0]);
}

static void world_close(struct world *world)
{
    for (int i = 0; i < world->replicas; i++) {
        roost_filter_free(world->filters[i]);
        for (int j = 0; j < world->replicas; j++) {
            roost_buffer_release(&world->memory[i][j]);
            roost_buffer_release(&world->older[i][j]);
        }
    }
    roost_filter_free(world->everything);
    saved_release(&world->backup);
}

/* A few adds and removals, now and then very many. */
static void change(struct world *world, int at)
{
    roost_filter *filter = world->filters[at];
    uint32_t count = 1 + choose(world, choose(world, 6) ? 8 : 150), removals = choose(world, 4);
    while (count-- > 0)
        if (choose(world, 4) < removals)
            take(filter, any_key(world), choose(world, 2));
        else
            put(filter, any_key(world));
    merge(world->everything, filter);
}

static void restore_backup(struct world *world, int at)
{
    roost_filter_free(world->filters[at]);
    world->filters[at] = restore_replica(&world->backup, &world->environment, false);
}

static void make_backup(struct world *world, int at)
{
    saved_release(&world->backup);
    world->backup = save_replica(world->filters[at]);
}

/* It goes on as the same replica, perhaps with another room for its journal. */
static void save_and_restore(struct world *world, int at)
{
    struct saved_replica saved = save_replica(world->filters[at]);
    roost_environment environment = whole_environment(world->filters[at]);
    environment.journal = choose(world, 4) ? environment.journal : 1 + choose(world, 40);
    roost_filter_free(world->filters[at]);
    world->filters[at] = restore_replica(&saved, &environment, true);
    saved_release(&saved);
}

/* What the initiator brings along: mostly what it should. To be released. */
static roost_buffer some_memory(struct world *world, int initiator, int responder)
{
    roost_buffer *right = &world->memory[initiator][responder];
    uint32_t choice = choose(world, 12);
    if (choice == 0)
        return copy_of(&(roost_buffer){0});
    if (choice == 1)
        return copy_of(&world->older[initiator][responder]);
    if (choice == 2)
        return copy_of(&world->memory[any_replica(world)][any_replica(world)]);
    roost_buffer copy = copy_of(right);
    if (choice == 3) /* noise, of the right length; the version may be right */
        for (size_t i = choose(world, 2); i < copy.size; i++)
            copy.data[i] = (uint8_t)choose(world, 256);
    return copy;
}

static void remember(struct world *world, int initiator, int responder, roost_buffer memory)
{
    if (choose(world, 3) == 0) {
        roost_buffer_release(&world->older[initiator][responder]);
        world->older[initiator][responder] = world->memory[initiator][responder];
    } else {
        roost_buffer_release(&world->memory[initiator][responder]);
    }
    world->memory[initiator][responder] = memory;
}

static void step_sync(struct world *world)
{
    int initiator = any_replica(world), responder = any_replica(world);
    if (initiator == responder)
        return;
    roost_buffer memory = some_memory(world, initiator, responder);
    sync_alone(world->filters[initiator], world->filters[responder], &memory);
    if (choose(world, 8))
        remember(world, initiator, responder, memory);
    else
        roost_buffer_release(&memory);
}

static void step_incarnation(struct world *world)
{
    int at = any_replica(world), from = any_replica(world);
    uint32_t choice = choose(world, 40);
    if (choice < 26)
        change(world, at);
    else if (choice < 31)
        merge(world->filters[at], world->filters[from]);
    else if (choice < 35)
        make_backup(world, at);
    else if (choice < 37)
        restore_backup(world, at);
    else
        save_and_restore(world, at);
}

static void left_alone_both_become_the_merge(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(31));
    uint64_t worlds = count_of_worlds(300);
    memset(&tally, 0, sizeof tally);
    for (uint64_t number = 0; number < worlds; number++) {
        struct world world;
        world_open(&world, number, &random);
        for (uint32_t step = choose(&world, 120); step > 0; step--)
            if (choose(&world, 3))
                step_incarnation(&world);
            else
                step_sync(&world);
        world_close(&world);
    }
    printf("%llu syncs: equal %llu, delta %llu, lost %llu, trade %llu, ranges %llu, leaves %llu, state %llu\n",
           (unsigned long long)tally.exchanges, (unsigned long long)tally.replies[EQUAL],
           (unsigned long long)tally.replies[DELTA], (unsigned long long)tally.replies[LOST],
           (unsigned long long)tally.replies[CHANGES], (unsigned long long)tally.replies[DIFFER],
           (unsigned long long)tally.replies[RESOLVE], (unsigned long long)tally.replies[WHOLE]);
    assert_true(tally.replies[EQUAL] > worlds / 4 && tally.replies[DELTA] > worlds / 4 &&
                tally.replies[CHANGES] > worlds / 4 && tally.replies[RESOLVE] > worlds / 4 &&
                tally.replies[WHOLE] > worlds / 10);
}

/* ---- disturbed --------------------------------------------------------------------------------------------------- */

struct disturbance {
    struct world *world;
    int initiator, responder;
    uint32_t chance; /* one in so many messages */
    bool may_replace, replaced;
    uint64_t count;
    bool both; /* the initiator changes too: it answers others, say */
    bool by_job;
};

static void disturb(struct exchange *exchange, void *context)
{
    struct disturbance *disturbance = context;
    struct world *world = disturbance->world;
    int at = disturbance->responder, third = any_replica(world);
    if (choose(world, disturbance->chance))
        return;
    disturbance->count++;
    if (disturbance->both && choose(world, 2)) {
        change(world, disturbance->initiator);
        if (third != disturbance->initiator)
            merge(world->filters[disturbance->initiator], world->filters[third]);
    }
    uint32_t choice = choose(world, 12);
    if (choice < 7) {
        change(world, at);
    } else if (choice < 9 && third != disturbance->initiator && third != at) {
        change(world, third);
        merge(world->filters[at], world->filters[third]);
    } else if (choice < 10) { /* so much that the journal is overrun */
        for (uint64_t i = 0; i < 200; i++)
            put(world->filters[at], any_key(world));
        merge(world->everything, world->filters[at]);
    } else if (choice < 11 || !disturbance->may_replace) {
        save_and_restore(world, at);
        exchange->is_another = true;
    } else {
        restore_backup(world, at);
        exchange->is_another = disturbance->replaced = true;
    }
    exchange->responder = &world->filters[at];
}

/*
 * Whether the initiator has all that a responder had before others changed it. Where prefixes are covered, a shorter one
 * that came between two messages may stand for what was there, in a range that is not asked about any more: then the
 * next sync sends it, since it is in the journal after the remembered place (assert_memory_is_sound).
 */
static bool has_all_of(const roost_filter *initiator, const roost_filter *before)
{
    return (before->kind->has_prefixes && !tracks_dots(before)) || included(before, initiator);
}

/* What holds at the end though the responder changed in between; then once more, with nobody in the way. */
static void step_disturbed(struct world *world, bool may_replace, bool both, bool by_job)
{
    int initiator = any_replica(world), responder = any_replica(world);
    if (initiator == responder)
        return;
    roost_filter *asked_before = clone_of(world->filters[initiator]);
    roost_filter *answered_before = clone_of(world->filters[responder]);
    struct disturbance disturbance = {world, initiator, responder, 1 + choose(world, 3), may_replace, false,
                                      0,     both,      by_job};
    struct exchange exchange = {.initiator = world->filters[initiator],
                                .responder = &world->filters[responder],
                                .interfere = by_job ? NULL : disturb,
                                .between = by_job ? disturb : NULL,
                                .context = &disturbance};
    roost_buffer memory = some_memory(world, initiator, responder);
    run_exchange(&exchange, &memory);
    roost_buffer_release(&memory);
    roost_filter *a = world->filters[initiator], *b = world->filters[responder];
    assert_ok(exchange.status);
    assert_true(included(asked_before, a) && included(a, world->everything) && included(b, world->everything));
    if (!disturbance.replaced)
        assert_true(included(answered_before, b) && has_all_of(a, answered_before) && included(asked_before, b));
    if (!both && !by_job) /* "no" may come of not having looked again, "yes" from before a change */
        assert_true(!exchange.result.equal || roost_filter_equal(a, b));
    assert_true(exchange.result.equal || disturbance.count > 0);
    tally.disturbed += disturbance.count > 0;
    tally.replaced += disturbance.replaced;
    tally.ended_equal += exchange.result.equal && disturbance.count > 0;
    tally.ended_unequal += !exchange.result.equal;
    remember(world, initiator, responder, exchange.memory);
    if (choose(world, 2))
        sync_alone(a, b, &world->memory[initiator][responder]);
    roost_filter_free(asked_before);
    roost_filter_free(answered_before);
}

static void live_disturbed(struct world *world, uint64_t number, bool by_job)
{
    for (uint32_t step = choose(world, 100); step > 0; step--)
        if (choose(world, 3))
            step_incarnation(world);
        else
            step_disturbed(world, number % 2, number % 4 > 1, by_job);
}

static void disturbed_exchanges_lose_nothing(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(32));
    uint64_t worlds = count_of_worlds(300);
    memset(&tally, 0, sizeof tally);
    for (uint64_t number = 0; number < worlds; number++) {
        struct world world;
        world_open(&world, number, &random);
        live_disturbed(&world, number, false);
        world_close(&world);
    }
    printf("%llu syncs, %llu disturbed: %llu ended equal, %llu not; %llu replaced by a backup\n",
           (unsigned long long)tally.exchanges, (unsigned long long)tally.disturbed,
           (unsigned long long)tally.ended_equal, (unsigned long long)tally.ended_unequal,
           (unsigned long long)tally.replaced);
    assert_true(tally.disturbed > worlds * 2 && tally.ended_equal > worlds / 4 && tally.ended_unequal > worlds / 2 &&
                tally.replaced > worlds / 20);
}

/* ---- replies in stages ------------------------------------------------------------------------------------------- */

/* The responder changes between any two stages. */
static void replies_by_jobs_lose_nothing(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(33));
    uint64_t worlds = count_of_worlds(150);
    memset(&tally, 0, sizeof tally);
    for (uint64_t number = 0; number < worlds; number++) {
        struct world world;
        if (number % 3) { /* most servers have these, and each kind of reply is one of a job */
            world_open(&world, growing_kinds[number / 3 % COUNT_OF(growing_kinds)], &random);
            assert_true(roost_filter_shares_copies(world.filters[0]));
        } else {
            world_open(&world, number / 3, &random);
        }
        live_disturbed(&world, number, true);
        world_close(&world);
    }
    printf(
        "%llu syncs, %llu disturbed: %llu ended equal, %llu not; %llu replaced; %llu copied, %llu reads, %llu steps\n",
        (unsigned long long)tally.exchanges, (unsigned long long)tally.disturbed, (unsigned long long)tally.ended_equal,
        (unsigned long long)tally.ended_unequal, (unsigned long long)tally.replaced,
        (unsigned long long)tally.stages[ROOST_REPLY_COPY], (unsigned long long)tally.stages[ROOST_REPLY_READ],
        (unsigned long long)tally.stages[ROOST_REPLY_STEP]);
    assert_true(tally.disturbed > worlds && tally.ended_equal > worlds / 8 && tally.ended_unequal > worlds / 8);
    for (enum message_type type = CHANGES; type <= WHOLE; type += 2) /* each kind of reply that a job makes */
        assert_true(tally.replies[type] > worlds / 10);
}

/* ---- two who ask at once ----------------------------------------------------------------------------------------- */

struct initiator {
    roost_filter *filter;
    roost_sync *sync;
    roost_buffer reply;
    bool over;
};

/* One request and its reply; what the last one applied is taken in first. */
static void turn(struct initiator *initiator, roost_filter *responder)
{
    roost_buffer request;
    assert_ok(roost_sync_next(initiator->sync, &request, initiator->reply.data, initiator->reply.size));
    roost_buffer_release(&initiator->reply);
    initiator->over = request.size == 0;
    if (!initiator->over)
        assert_ok(roost_sync_reply(responder, &initiator->reply, NULL, request.data, request.size));
    roost_buffer_release(&request);
}

static void initiator_leaves(struct initiator *initiator, struct world *world, int who, int responder)
{
    roost_buffer memory;
    assert_ok(roost_sync_save_memory(initiator->sync, &memory));
    assert_ok(roost_filter_check(initiator->filter));
    assert_memory_is_sound(initiator->filter, world->filters[responder], &memory);
    remember(world, who, responder, memory);
    roost_sync_free(initiator->sync);
}

static void step_crowd(struct world *world)
{
    struct initiator initiators[2];
    roost_filter *before[3], *b = world->filters[2];
    for (int i = 0; i < 3; i++) {
        change(world, i);
        before[i] = clone_of(world->filters[i]);
    }
    for (int i = 0; i < 2; i++) {
        roost_buffer memory = some_memory(world, i, 2);
        initiators[i] = (struct initiator){.filter = world->filters[i]};
        assert_ok(roost_sync_new(&initiators[i].sync, initiators[i].filter, memory.data, memory.size));
        roost_buffer_release(&memory);
    }
    while (!initiators[0].over || !initiators[1].over) {
        uint32_t next = choose(world, 2);
        turn(&initiators[initiators[next].over ? 1 - next : next], b);
    }
    for (int i = 0; i < 2; i++) {
        initiator_leaves(&initiators[i], world, i, 2);
        assert_true(included(before[i], world->filters[i]) && has_all_of(world->filters[i], before[2]));
        assert_true(included(before[i], b) && included(world->filters[i], world->everything));
    }
    for (int i = 0; i < 2; i++)
        sync_alone(world->filters[i], b, &world->memory[i][2]);
    sync_alone(world->filters[0], b, &world->memory[0][2]);
    assert_true(roost_filter_equal(world->filters[0], world->filters[1]));
    for (int i = 0; i < 3; i++)
        roost_filter_free(before[i]);
}

static void two_may_ask_at_once(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(33));
    for (uint64_t number = 0; number < count_of_worlds(120); number++) {
        struct world world;
        do
            world_open(&world, number, &random);
        while (world.replicas < 3 && (world_close(&world), true));
        for (uint32_t step = 1 + choose(&world, 12); step > 0; step--)
            step_crowd(&world);
        world_close(&world);
    }
}

/* ---- two behind one name ----------------------------------------------------------------------------------------- */

struct double_peer {
    struct world *world;
    int initiator;
};

static void answer_by_any(struct exchange *exchange, void *context)
{
    struct double_peer *peer = context;
    if (choose(peer->world, 3) == 0)
        change(peer->world, 1 + (int)choose(peer->world, 2));
    exchange->responder = &peer->world->filters[1 + choose(peer->world, 2)];
}

/* Each message may be answered by another replica than the one before. What is remembered is right about both. */
static void two_may_answer_to_one_name(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(34));
    for (uint64_t number = 0; number < count_of_worlds(150); number++) {
        struct world world;
        do
            world_open(&world, number, &random);
        while (world.replicas < 3 && (world_close(&world), true));
        for (uint32_t step = 1 + choose(&world, 20); step > 0; step--) {
            struct double_peer peer = {&world, 0};
            roost_filter *before = clone_of(world.filters[0]);
            if (choose(&world, 3)) /* now and then they hold the same, as seen from one of them */
                merge(world.filters[1], world.filters[2]);
            change(&world, 0);
            struct exchange exchange = {.initiator = world.filters[0],
                                        .responder = &world.filters[1],
                                        .interfere = answer_by_any,
                                        .context = &peer};
            run_exchange(&exchange, &world.memory[0][1]);
            assert_ok(exchange.status);
            assert_true(included(before, world.filters[0]) && included(world.filters[0], world.everything));
            for (int i = 1; i < 3; i++)
                assert_memory_is_sound(world.filters[0], world.filters[i], &exchange.memory);
            remember(&world, 0, 1, exchange.memory);
            roost_filter_free(before);
        }
        sync_alone(world.filters[0], world.filters[1], &world.memory[0][1]);
        sync_alone(world.filters[0], world.filters[2], &world.memory[0][1]);
        world_close(&world);
    }
}

/* ---- crashes -------------------------------------------------------------------------------------------------------
 *
 * Whoever answers stores what changed before the reply leaves; whoever asks stores nothing before the end.
 */

enum crash {
    ASKING_DIES,       /* with the reply on its way: it is what it was before */
    ANSWER_UNDONE,     /* the responder dies before it could store */
    ANSWER_LOST,       /* the responder dies after it had stored; the reply is lost */
    ANSWERING_WAKES,   /* the same, but the reply arrives, and the exchange goes on */
    ANSWERING_FORGETS, /* the same; it wakes up as another replica */
    CRASHES
};

static void nap(roost_filter **filter, const roost_environment *environment, bool as_the_same)
{
    struct saved_replica saved = save_replica(*filter);
    roost_filter_free(*filter);
    *filter = restore_replica(&saved, environment, as_the_same);
    saved_release(&saved);
}

/* One message of the exchange, with the crash around the answer. Whether the exchange can go on. */
static bool crash(struct scene *scene, enum crash crash, roost_filter **b, roost_buffer *reply,
                  const roost_buffer *request)
{
    struct saved_replica stored = save_replica(*b);
    assert_ok(roost_sync_reply(*b, reply, NULL, request->data, request->size));
    if (crash == ANSWER_UNDONE) {
        roost_filter_free(*b);
        *b = restore_replica(&stored, &scene->environment, true);
    } else if (crash != ASKING_DIES) {
        nap(b, &scene->environment, crash != ANSWERING_FORGETS);
    }
    saved_release(&stored);
    return crash >= ANSWERING_WAKES;
}

/* The crash comes with message number `when`; false if the exchange was over by then. */
static bool crash_at(struct scene *scene, enum crash kind, unsigned when)
{
    roost_filter *a, *b;
    roost_buffer request, reply = {0}, memory;
    scene_restore(scene, &a, &b);
    roost_filter *expected = merged(a, b);
    roost_sync *sync = scene_begin(scene, a);
    bool goes_on = true;
    unsigned message = 0;
    while (goes_on) {
        assert_ok(roost_sync_next(sync, &request, reply.data, reply.size));
        roost_buffer_release(&reply);
        if (request.size == 0)
            break;
        if (message++ == when)
            goes_on = crash(scene, kind, &b, &reply, &request);
        else
            assert_ok(roost_sync_reply(b, &reply, NULL, request.data, request.size));
        roost_buffer_release(&request);
    }
    roost_buffer_release(&reply);
    assert_ok(roost_sync_save_memory(sync, &memory));
    roost_sync_free(sync);
    if (!goes_on && kind == ASKING_DIES) {
        roost_filter_free(a);
        a = restore_replica(&scene->initiator, &scene->environment, true);
        roost_buffer_release(&memory);
        memory = copy_of(&scene->memory);
    }
    assert_memory_is_sound(a, b, &memory);
    assert_true(!goes_on || roost_filter_equal(a, b));
    sync_alone(a, b, &memory);
    assert_true(roost_filter_equal(a, expected));
    roost_buffer_release(&memory);
    roost_filter_free(a);
    roost_filter_free(b);
    roost_filter_free(expected);
    return message > when;
}

static void crashes_lose_nothing(void **state)
{
    (void)state;
    uint64_t count = 0;
    for (uint64_t kind = 0; kind < ALL_KINDS; kind++)
        for (enum relation relation = 0; relation < RELATIONS; relation++) {
            struct scene scene;
            scene_open(&scene, kind, relation, 80);
            for (enum crash crash = 0; crash < CRASHES; crash++)
                for (unsigned when = 0; crash_at(&scene, crash, when); when++)
                    count++;
            scene_close(&scene);
        }
    printf("%llu crashes\n", (unsigned long long)count);
    assert_true(count > 500);
}

/* ---- wrong memories ---------------------------------------------------------------------------------------------- */

/* With a memory in which one bit was flipped. */
static void sync_misled(struct scene *scene, const roost_buffer *memory)
{
    roost_filter *a, *b;
    scene_restore(scene, &a, &b);
    roost_filter *expected = merged(a, b);
    struct exchange exchange = {.initiator = a, .responder = &b, .misled = true};
    run_exchange(&exchange, memory);
    assert_ok(exchange.status);
    assert_true(exchange.result.equal);
    assert_true(roost_filter_equal(a, expected) && roost_filter_equal(b, expected));
    assert_memory_is_sound(a, b, &exchange.memory);
    roost_buffer_release(&exchange.memory);
    roost_filter_free(a);
    roost_filter_free(b);
    roost_filter_free(expected);
}

/* A cursor that is wrong is found out by the digests, and costs bytes. */
static void a_wrong_memory_is_found_out(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < ALL_KINDS; kind++) {
        struct scene scene;
        scene_open(&scene, kind, BY_CURSOR, 60);
        for (size_t bit = 0; bit < scene.memory.size * 8; bit += stride_of(5)) {
            roost_buffer memory = copy_of(&scene.memory);
            memory.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            sync_misled(&scene, &memory);
            memory.size = bit / 8;
            sync_misled(&scene, &memory);
            roost_buffer_release(&memory);
        }
        struct cursors cursors = {{0, 0}, {0, 0}};
        assert_true(read_cursors(&cursors, &scene.memory));
        for (uint64_t sequence = 0; sequence <= cursors.peer.sequence + 20; sequence += stride_of(3))
            for (int which = 0; which < 2; which++) {
                struct bit_writer writer;
                bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
                write_byte(&writer, 1);
                write_fixed64(&writer, cursors.peer.incarnation);
                write_varint(&writer, which ? sequence : cursors.peer.sequence);
                write_fixed64(&writer, cursors.own.incarnation);
                write_varint(&writer, which ? cursors.own.sequence : sequence);
                sync_misled(&scene, &writer.buffer);
                bit_writer_release(&writer);
            }
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_alone_both_become_the_merge), cmocka_unit_test(disturbed_exchanges_lose_nothing),
        cmocka_unit_test(replies_by_jobs_lose_nothing),     cmocka_unit_test(two_may_ask_at_once),
        cmocka_unit_test(two_may_answer_to_one_name),       cmocka_unit_test(crashes_lose_nothing),
        cmocka_unit_test(a_wrong_memory_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
