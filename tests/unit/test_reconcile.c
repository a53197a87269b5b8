/*
 * Reconciliation beside its model: sessions of all shapes, messages that were damaged, peers that lie, allocations that
 * fail. test_sketches.c has the arithmetic below it.
 */
#include "check.h"

#include "reconciling.h"
#include "reconcile/exact.h"

/* ---- worlds ----------------------------------------------------------------------------------------------------- */

/* How the hashes of keys may be forced to agree. */
enum likeness { ALL_DIFFERENT, SAME_HIGH, SAME_LOW, FEW_HIGHS, LIKENESSES };

static roost_hash hash_of_likeness(uint64_t key, enum likeness likeness)
{
    roost_hash hash = hash_for_key(key);
    if (likeness == SAME_HIGH)
        hash.high = 42;
    if (likeness == SAME_LOW)
        hash.low = 42;
    if (likeness == FEW_HIGHS)
        hash.high = hash.high >> 61 << 61;
    return hash;
}

static uint64_t some_count(struct random_source *random, bool multiset)
{
    return multiset ? 1 + random_next(random) % (random_choice(random, 8) ? 5 : UINT64_C(1) << 40)
                    : 1 + random_choice(random, 3);
}

/* So many keys in both, only here, only there, and, in a multiset, with different counts. */
static struct world make_world(uint64_t seed, roost_reconcile_config config, const size_t sizes[4],
                               enum likeness likeness)
{
    struct random_source random = random_from_seed(seed);
    struct world world = {config, NULL, sizes[0] + sizes[1] + sizes[2] + sizes[3], seed};
    world.keys = calloc(world.count + 1, sizeof *world.keys);
    assert_non_null(world.keys);
    for (size_t i = 0; i < world.count; i++) {
        struct both *both = &world.keys[i];
        both->hash = hash_of_likeness(seed << 32 | i, likeness);
        both->here = both->there = some_count(&random, config.multiset);
        if (i < sizes[1])
            both->there = 0;
        else if (i < sizes[1] + sizes[2])
            both->here = 0;
        else if (i < sizes[1] + sizes[2] + sizes[3])
            both->there += config.multiset ? 1 + random_choice(&random, 3) : 0;
    }
    for (size_t i = world.count; i > 1; i--) { /* no side sees any order */
        size_t j = random_choice(&random, (uint32_t)i);
        struct both swap = world.keys[j];
        world.keys[j] = world.keys[i - 1];
        world.keys[i - 1] = swap;
    }
    return world;
}

/* ---- sessions --------------------------------------------------------------------------------------------------- */

/* One that is disturbed changes or cuts a message on its way. */
typedef void disturb(roost_buffer *message, uint32_t number, void *context);

struct outcome {
    roost_status initiator, responder; /* the first error of each side */
    bool over;                         /* both say so */
    unsigned answers;                  /* of how many sides */
    bool right;                        /* and both are */
    uint64_t bytes;
    uint32_t messages;
};

static roost_environment environment_of(uint64_t *drawn)
{
    return (roost_environment){.entropy = {drawn, draw_next}};
}

static void converse(roost_reconcile *initiator, roost_reconcile **responder, const struct world *world,
                     struct outcome *outcome, disturb *disturbs, void *context)
{
    roost_buffer request = {0}, reply = {0};
    outcome->initiator = roost_reconcile_next(initiator, &request, NULL, 0);
    for (uint32_t number = 0; request.size > 0; number += 2) {
        if (disturbs)
            disturbs(&request, number, context);
        if (!*responder) {
            outcome->responder = roost_reconcile_new_responder(responder, request.data, request.size, NULL);
            if (outcome->responder != ROOST_OK)
                break;
            assert_ok(add_side(*responder, world, true));
        }
        roost_status status = roost_reconcile_next(*responder, &reply, request.data, request.size);
        outcome->responder = outcome->responder ? outcome->responder : status;
        roost_buffer_release(&request);
        if (reply.size == 0)
            break;
        if (disturbs)
            disturbs(&reply, number + 1, context);
        status = roost_reconcile_next(initiator, &request, reply.data, reply.size);
        outcome->initiator = outcome->initiator ? outcome->initiator : status;
        roost_buffer_release(&reply);
        assert_true(number < 5000);
    }
    roost_buffer_release(&request);
    roost_buffer_release(&reply);
}

static struct outcome reconcile(const struct world *world, disturb *disturbs, void *context)
{
    struct outcome outcome = {0};
    uint64_t drawn = world->seed;
    roost_environment environment = environment_of(&drawn);
    roost_reconcile *initiator, *responder = NULL;
    assert_ok(roost_reconcile_new_initiator(&initiator, &world->config, &environment));
    assert_ok(add_side(initiator, world, false));
    converse(initiator, &responder, world, &outcome, disturbs, context);
    outcome.answers = roost_reconcile_is_done(initiator) + (responder && roost_reconcile_is_done(responder));
    outcome.over = outcome.answers == 2;
    outcome.right = (!roost_reconcile_is_done(initiator) || result_is_right(world, initiator, false)) &&
                    (!responder || !roost_reconcile_is_done(responder) || result_is_right(world, responder, true));
    roost_reconcile_result result = roost_reconcile_get_result(initiator);
    outcome.bytes = result.sent + result.received;
    outcome.messages = result.messages;
    if (responder && !disturbs) {
        roost_reconcile_result there = roost_reconcile_get_result(responder);
        assert_int_equal(there.sent, result.received);
        assert_int_equal(there.received, result.sent);
    }
    roost_reconcile_free(initiator);
    roost_reconcile_free(responder);
    return outcome;
}

static struct outcome must_reconcile(const struct world *world)
{
    struct outcome outcome = reconcile(world, NULL, NULL);
    if (!outcome.over || !outcome.right || outcome.initiator || outcome.responder)
        print_message("seed %llu, %zu keys, method %d, multiset %d: %d %d\n", (unsigned long long)world->seed,
                      world->count, world->config.method, world->config.multiset, outcome.initiator, outcome.responder);
    assert_int_equal(outcome.initiator, ROOST_OK);
    assert_int_equal(outcome.responder, ROOST_OK);
    assert_true(outcome.over);
    assert_true(outcome.right);
    return outcome;
}

/* Those that are exact, then those that are not. */
static const roost_reconcile_config all_methods[] = {
    {ROOST_RECONCILE_AUTO, false},      {ROOST_RECONCILE_AUTO, true},       {ROOST_RECONCILE_RIBLT, false},
    {ROOST_RECONCILE_DBF, false},       {ROOST_RECONCILE_CCF_QUERY, true},  {ROOST_RECONCILE_CCF_DECODE, true},
    {ROOST_RECONCILE_CCF_QUERY, false}, {ROOST_RECONCILE_CCF_DECODE, false}};

#define EXACT_METHODS 4

static roost_reconcile_config some_method(uint64_t number)
{
    return all_methods[number % EXACT_METHODS];
}

/* Sizes of all kinds: none, one, few, those at which the plan changes, many. */
static size_t some_size(struct random_source *random)
{
    static const size_t sizes[] = {0, 0, 1, 2, 3, 6, 11, 12, 13, 20, 40, 60, 130, 500, 1500};
    return sizes[random_choice(random, COUNT_OF(sizes))];
}

static void thousands_of_worlds_are_exact(void **state)
{
    (void)state;
    uint64_t seed = test_seed(0), worlds = count_of_worlds(2500), longest = 0;
    for (uint64_t i = seed; i < seed + worlds; i++) {
        struct random_source random = random_from_seed(i + 77);
        size_t sizes[4] = {some_size(&random), some_size(&random), some_size(&random), some_size(&random) / 4};
        if (i % 16 == 0)
            pin_sketch_force(&pin_sketch_plain);
        struct world world = make_world(i, some_method(i), sizes, ALL_DIFFERENT);
        struct outcome outcome = must_reconcile(&world);
        longest = outcome.messages > longest ? outcome.messages : longest;
        pin_sketch_force(NULL);
        free(world.keys);
    }
    print_message("at most %llu messages\n", (unsigned long long)longest);
}

static void special_worlds_are_exact(void **state)
{
    (void)state;
    /* both, here, there, changed */
    static const size_t special[][4] = {{0, 0, 0, 0},     {1, 0, 0, 0},     {0, 1, 0, 0},     {0, 0, 1, 0},
                                        {3000, 0, 0, 0},  {0, 3000, 0, 0},  {0, 0, 3000, 0},  {0, 3000, 3000, 0},
                                        {3000, 1, 0, 0},  {3000, 0, 12, 0}, {3000, 13, 0, 0}, {10, 3000, 0, 0},
                                        {10, 0, 3000, 0}, {1, 2000, 10, 0}, {0, 0, 0, 700},   {20000, 0, 0, 300}};
    for (size_t i = 0; i < COUNT_OF(special); i++)
        for (uint64_t method = 0; method < 4; method++) {
            struct world world = make_world(1000 + i, some_method(method), special[i], ALL_DIFFERENT);
            must_reconcile(&world);
            free(world.keys);
        }
}

/* 64 of the 128 bits that tell keys apart are the same for all, or nearly. */
static void keys_that_share_half_a_hash_are_told_apart(void **state)
{
    (void)state;
    uint64_t seed = test_seed(5000);
    for (uint64_t i = seed; i < seed + 240; i++) {
        struct random_source random = random_from_seed(i);
        size_t sizes[4] = {some_size(&random), some_size(&random), some_size(&random), some_size(&random) / 4};
        struct world world = make_world(i, some_method(i), sizes, 1 + (enum likeness)(i / 4 % (LIKENESSES - 1)));
        must_reconcile(&world);
        free(world.keys);
    }
}

/* What it costs, so that a change that costs more is seen. The bounds are a tenth above what was measured. */
static void bytes_follow_the_difference(void **state)
{
    (void)state;
    only_as_shipped();
    static const struct {
        size_t sizes[4];
        bool multiset;
        uint64_t most;
    } expected[] = {
        {{100000, 0, 0, 0}, false, 80},          {{100000, 5, 5, 0}, false, 90},
        {{100000, 20, 20, 0}, false, 420},       {{100000, 150, 150, 0}, false, 1700},
        {{100000, 2500, 2500, 0}, false, 16500}, {{100000, 0, 0, 100}, true, 1800},
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        uint64_t bytes = 0, messages = 0, runs = 5;
        for (uint64_t seed = 0; seed < runs; seed++) {
            struct world world = make_world(seed + 9000, (roost_reconcile_config){.multiset = expected[i].multiset},
                                            expected[i].sizes, ALL_DIFFERENT);
            struct outcome outcome = must_reconcile(&world);
            bytes += outcome.bytes;
            messages += outcome.messages;
            free(world.keys);
        }
        print_message("%zu + %zu + %zu, %zu changed: %llu bytes, %llu messages\n", expected[i].sizes[0],
                      expected[i].sizes[1], expected[i].sizes[2], expected[i].sizes[3],
                      (unsigned long long)(bytes / runs), (unsigned long long)(messages / runs));
        assert_in_range(bytes / runs, 1, expected[i].most);
    }
}

/* ---- Bloom filters ---------------------------------------------------------------------------------------------- */

/* 1.44 bits of filter for each key and doubling of the difference, both ways, and not three times that. */
static void bloom_filters_cost_what_they_should(void **state)
{
    (void)state;
    static const struct {
        size_t sizes[4];
        uint64_t most_bytes, most_messages;
    } expected[] = {
        {{20000, 0, 0, 0}, 60, 2},          {{20000, 10, 10, 0}, 60000, 9}, {{20000, 1000, 1000, 0}, 130000, 10},
        {{20000, 0, 20000, 0}, 100000, 10}, {{50, 20000, 0, 0}, 5000, 11},  {{50, 0, 20000, 0}, 5000, 11},
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        uint64_t bytes = 0, longest = 0, runs = 5;
        for (uint64_t seed = 0; seed < runs; seed++) {
            struct world world = make_world(seed + 9100, (roost_reconcile_config){.method = ROOST_RECONCILE_DBF},
                                            expected[i].sizes, ALL_DIFFERENT);
            struct outcome outcome = must_reconcile(&world);
            bytes += outcome.bytes;
            longest = outcome.messages > longest ? outcome.messages : longest;
            free(world.keys);
        }
        print_message("%zu + %zu + %zu: %llu bytes, at most %llu messages\n", expected[i].sizes[0],
                      expected[i].sizes[1], expected[i].sizes[2], (unsigned long long)(bytes / runs),
                      (unsigned long long)longest);
        assert_in_range(bytes / runs, 1, expected[i].most_bytes);
        assert_in_range(longest, 2, expected[i].most_messages);
    }
}

/* ---- the approximate methods ------------------------------------------------------------------------------------ */

struct errors {
    uint64_t differences, missed, invented, sessions, incomplete;
};

/* What one side says beside the model; the session is over. */
static void count_errors(const struct world *world, const roost_reconcile *session, bool there, struct errors *errors)
{
    roost_reconcile_result result = roost_reconcile_get_result(session);
    roost_difference *differences = calloc(result.only_here + 1, sizeof *differences);
    uint64_t next = 0, index = 0;
    assert_non_null(differences);
    roost_reconcile_get_differences(session, differences);
    for (size_t i = 0; i < world->count; i++) {
        uint64_t here = there ? world->keys[i].there : world->keys[i].here;
        uint64_t far = there ? world->keys[i].here : world->keys[i].there;
        bool named = here && next < result.only_here && differences[next].index == index;
        if (named) {
            const roost_difference *difference = &differences[next++];
            assert_int_equal(difference->count_here, world->config.multiset ? here : 1);
            if (difference->count_there) /* a count is never too small */
                assert_true(difference->count_there >= far);
        }
        errors->differences += here && differs(world, i);
        errors->missed += here && differs(world, i) && !named;
        errors->invented += named && !differs(world, i);
        index += calls_for(here);
    }
    assert_int_equal(next, result.only_here);
    free(differences);
}

/* Both are over, agree about each other's numbers, and do not call it exact. */
static void reconcile_approximately(const struct world *world, struct errors *errors)
{
    struct outcome outcome = {0};
    uint64_t drawn = world->seed, missed = errors->missed;
    roost_environment environment = environment_of(&drawn);
    roost_reconcile *initiator, *responder = NULL;
    assert_ok(roost_reconcile_new_initiator(&initiator, &world->config, &environment));
    assert_ok(add_side(initiator, world, false));
    converse(initiator, &responder, world, &outcome, NULL, NULL);
    assert_ok(outcome.initiator);
    assert_ok(outcome.responder);
    assert_true(roost_reconcile_is_done(initiator) && roost_reconcile_is_done(responder));
    roost_reconcile_result here = roost_reconcile_get_result(initiator), there = roost_reconcile_get_result(responder);
    assert_int_equal(here.messages, 4);
    assert_int_equal(here.only_here, there.only_there);
    assert_int_equal(here.only_there, there.only_here);
    assert_false(here.exact || there.exact);
    count_errors(world, initiator, false, errors);
    count_errors(world, responder, true, errors);
    assert_int_equal(here.complete, there.complete);
    if (errors->missed > missed) /* what was missed is always noticed */
        assert_false(here.complete);
    errors->sessions++;
    errors->incomplete += !here.complete;
    roost_reconcile_free(initiator);
    roost_reconcile_free(responder);
}

/* In fingerprints of sixteen bits one in ten thousand collides with a key of the other side. */
static void few_differences_are_missed_and_never_in_silence(void **state)
{
    (void)state;
    only_as_shipped();
    static const size_t large[4] = {3000, 2500, 2500, 1500};
    for (size_t method = EXACT_METHODS; method < COUNT_OF(all_methods); method++) {
        struct errors errors = {0};
        for (uint64_t seed = 0; seed < 260; seed++) {
            struct random_source random = random_from_seed(seed + 78);
            size_t sizes[4] = {some_size(&random), some_size(&random), some_size(&random), some_size(&random) / 4};
            struct world world = make_world(seed, all_methods[method], seed < 20 ? large : sizes, ALL_DIFFERENT);
            reconcile_approximately(&world, &errors);
            free(world.keys);
        }
        print_message("method %d, multiset %d: of %llu differences %llu missed, %llu invented; %llu of %llu sessions "
                      "are not complete\n",
                      all_methods[method].method, all_methods[method].multiset, (unsigned long long)errors.differences,
                      (unsigned long long)errors.missed, (unsigned long long)errors.invented,
                      (unsigned long long)errors.incomplete, (unsigned long long)errors.sessions);
        assert_true(errors.differences > 100000);
        assert_in_range(errors.missed, 0, errors.differences / 4000);
        assert_in_range(errors.invented, 0, errors.differences / 4000);
        assert_in_range(errors.incomplete, 0, 40);
    }
}

/* One key only here and one only there, alike in all bits that a filter looks at: nobody finds them, and both know. */
static void what_collides_is_missed_and_told(void **state)
{
    (void)state;
    roost_hash hash = hash_for_key(1), other = {.low = hash.low ^ 1, .high = hash.high ^ 1};
    struct both keys[] = {{hash, 1, 0}, {other, 0, 1}, {hash_for_key(2), 1, 1}};
    for (size_t method = EXACT_METHODS; method < COUNT_OF(all_methods); method++) {
        struct errors errors = {0};
        struct world world = {all_methods[method], keys, COUNT_OF(keys), 1};
        reconcile_approximately(&world, &errors);
        assert_int_equal(errors.missed, 2);
        assert_int_equal(errors.incomplete, 1);
        assert_int_equal(errors.invented, 0);
    }
    for (size_t method = 0; method < EXACT_METHODS; method++) {
        struct world world = {all_methods[method], keys, COUNT_OF(keys), 1};
        must_reconcile(&world);
    }
}

static void counting_filters_have_limits(void **state)
{
    (void)state;
    roost_reconcile *initiator, *responder;
    roost_reconcile_config config = {ROOST_RECONCILE_CCF_QUERY, true};
    roost_buffer opening, reply;
    assert_ok(roost_reconcile_new_initiator(&initiator, &config, NULL));
    assert_ok(roost_reconcile_next(initiator, &opening, NULL, 0));
    assert_ok(roost_reconcile_new_responder(&responder, opening.data, opening.size, NULL));
    assert_ok(roost_reconcile_add(responder, "key", 3, ROOST_MOST_COPIES + 1));
    assert_int_equal(roost_reconcile_next(responder, &reply, opening.data, opening.size), ROOST_TOO_LARGE);
    roost_buffer_release(&opening);
    assert_int_equal(roost_reconcile_next(initiator, &opening, reply.data, reply.size), ROOST_TOO_LARGE);
    roost_buffer_release(&reply);
    roost_buffer_release(&opening);
    roost_reconcile_free(initiator);
    roost_reconcile_free(responder);
}

static void own_keys_are_counted(void **state)
{
    (void)state;
    for (int multiset = 0; multiset < 2; multiset++) {
        roost_reconcile *session;
        roost_reconcile_config config = {.multiset = multiset};
        roost_buffer message;
        assert_ok(roost_reconcile_new_initiator(&session, &config, NULL));
        for (uint64_t key = 0; key < 100; key++)
            assert_ok(roost_reconcile_add(session, &key, sizeof key, key + 1));
        assert_ok(roost_reconcile_next(session, &message, NULL, 0));
        for (uint64_t key = 0; key < 100; key++)
            assert_int_equal(roost_reconcile_count(session, &key, sizeof key), multiset ? key + 1 : 1);
        for (uint64_t key = 100; key < 200; key++)
            assert_int_equal(roost_reconcile_count(session, &key, sizeof key), 0);
        roost_buffer_release(&message);
        roost_reconcile_free(session);
    }
}

/* ---- damage ----------------------------------------------------------------------------------------------------- */

struct damage {
    uint32_t message; /* which one */
    size_t place;     /* a bit to flip, or a size to cut to */
    bool cuts, happened;
};

static void damage(roost_buffer *message, uint32_t number, void *context)
{
    struct damage *damage = context;
    if (number != damage->message || damage->happened)
        return;
    if (damage->cuts && damage->place < message->size) {
        message->size = damage->place;
        damage->happened = true;
    } else if (!damage->cuts && damage->place / 8 < message->size) {
        message->data[damage->place / 8] ^= (uint8_t)(1u << damage->place % 8);
        damage->happened = true;
    }
}

/* Whatever bit is flipped, whatever is cut off: no side ever believes a wrong answer. */
static void damaged_messages_never_make_a_wrong_answer(void **state)
{
    (void)state;
    static const size_t shapes[][4] = {{200, 3, 4, 2}, {300, 60, 60, 20}, {5, 100, 2, 0}, {2, 90, 90, 3}};
    uint64_t went_on = 0, refused = 0;
    for (size_t shape = 0; shape < COUNT_OF(shapes) * 4; shape++) {
        struct world world = make_world(7000 + shape, some_method(shape), shapes[shape / 4], ALL_DIFFERENT);
        uint32_t messages = must_reconcile(&world).messages;
        for (uint32_t message = 0; message < messages; message++)
            for (size_t place = shape % 3; place < 4000; place += (place < 100 ? 5 : 131) * stride_of(7)) {
                struct damage damages = {message, place, place % 2, false};
                struct outcome outcome = reconcile(&world, damage, &damages);
                if (!outcome.right)
                    print_message("shape %zu, message %u, place %zu\n", shape, message, place);
                assert_true(outcome.right);
                went_on += outcome.over && damages.happened;
                refused += outcome.initiator || outcome.responder;
            }
        free(world.keys);
    }
    print_message("%llu refused, %llu went on\n", (unsigned long long)refused, (unsigned long long)went_on);
    assert_true(refused * stride_of(7) > 900 && went_on * stride_of(7) > 300);
}

/* One message is changed on the way: a bit flipped, or some bytes made others. It is sealed as its sender would have
   done; with `all`, so are all messages after it, each as its receiver expects it, and the session goes on. */
struct resealing {
    struct damage damage;
    struct random_source random; /* some bytes, instead of a bit */
    bool makes_noise, all;
    uint8_t openings[2][11]; /* as the responder got it, and as the initiator sent it */
    uint64_t last;           /* seal of the message before, as it was sent */
};

static void change(roost_buffer *message, struct resealing *resealing)
{
    size_t sealed = message->size - 8, place = resealing->damage.place % (sealed * 8);
    message->data[place / 8] ^= (uint8_t)(1u << place % 8);
    for (size_t i = 1 + place / 8; resealing->makes_noise && i < sealed && random_choice(&resealing->random, 4); i++)
        message->data[i] = (uint8_t)random_next(&resealing->random);
    resealing->damage.happened = true;
}

static void reseal(roost_buffer *message, uint32_t number, void *context)
{
    struct resealing *resealing = context;
    uint64_t last = resealing->last;
    if (message->size < 10)
        return;
    if (number == 0)
        memcpy(resealing->openings[1], message->data, sizeof resealing->openings[1]);
    resealing->last = load_word(message->data + message->size - 8);
    bool is_changed = number == resealing->damage.message && !resealing->damage.happened;
    if (is_changed)
        change(message, resealing);
    if (number == 0)
        memcpy(resealing->openings[0], message->data, sizeof resealing->openings[0]);
    if ((is_changed || (resealing->damage.happened && resealing->all)) && message->data[0] != FAILED)
        seal_message(message->data, message->size - 8, resealing->openings[number % 2], number, last);
}

/* Seals are no secret: with the right ones on a changed message, and on all that follow it, no side believes a wrong
   answer either. */
static void resealed_messages_never_make_a_wrong_answer(void **state)
{
    (void)state;
    static const size_t shapes[][4] = {{200, 3, 4, 0}, {300, 60, 60, 0}, {5, 100, 2, 0}, {2, 90, 90, 0}, {40, 0, 9, 0}};
    const roost_reconcile_config dbf = {ROOST_RECONCILE_DBF, false};
    uint64_t answers = 0, longer = 0, refused = 0;
    for (size_t shape = 0; shape < COUNT_OF(shapes); shape++) {
        struct world world = make_world(7300 + shape, dbf, shapes[shape], ALL_DIFFERENT);
        uint32_t messages = must_reconcile(&world).messages;
        for (uint32_t message = 0; message < messages; message++)
            for (size_t place = 0; place < 1600; place += (place < 256 ? 2 : 29) * stride_of(3)) {
                struct resealing resealing = {.damage = {message, place, false, false},
                                              .random = random_from_seed(place),
                                              .makes_noise = place % 5 == 0,
                                              .all = place % 4 != 0};
                struct outcome outcome = reconcile(&world, reseal, &resealing);
                if (!outcome.right)
                    print_message("shape %zu, message %u of %u, place %zu\n", shape, message, messages, place);
                assert_true(outcome.right);
                answers += outcome.answers;
                longer += outcome.messages > message + 2;
                refused += outcome.initiator || outcome.responder;
            }
        free(world.keys);
    }
    print_message("%llu refused, %llu went on for two messages or more, %llu answers\n", (unsigned long long)refused,
                  (unsigned long long)longer, (unsigned long long)answers);
    assert_true(refused * stride_of(3) > 1000 && longer * stride_of(3) > 1000 && answers * stride_of(3) > 50);
}

/* A message that was damaged is refused, or changes nothing. */
static void damaged_filters_are_refused(void **state)
{
    (void)state;
    static const size_t sizes[4] = {30, 10, 12, 5};
    for (size_t method = EXACT_METHODS; method < COUNT_OF(all_methods); method++) {
        struct world world = make_world(7200, all_methods[method], sizes, ALL_DIFFERENT);
        for (uint32_t message = 0; message < 4; message++)
            for (size_t place = message; place < 3000; place += 13) {
                struct damage damages = {message, place, place % 2, false};
                struct outcome outcome = reconcile(&world, damage, &damages);
                assert_true(outcome.right);
                assert_false(outcome.over && damages.happened);
            }
        free(world.keys);
    }
}

struct noise {
    struct random_source random;
    uint32_t message;
    bool keeps_type;
};

static void make_noise(roost_buffer *message, uint32_t number, void *context)
{
    struct noise *noise = context;
    if (number < noise->message)
        return;
    for (size_t i = noise->keeps_type; i < message->size; i++)
        message->data[i] = (uint8_t)random_next(&noise->random);
    if (noise->keeps_type && number == noise->message)
        message->data[0] = (uint8_t)random_choice(&noise->random, 16);
}

static void noise_is_refused(void **state)
{
    (void)state;
    static const size_t shape[4] = {300, 50, 60, 20};
    for (uint64_t i = 0; i < (is_brief() ? 1000 : 4000); i++) {
        struct world world = make_world(7100 + i % 8, some_method(i), shape, ALL_DIFFERENT);
        struct noise noise = {random_from_seed(i), (uint32_t)(i / 4 % 6), i % 3 != 0};
        struct outcome outcome = reconcile(&world, make_noise, &noise);
        assert_true(outcome.right);
        free(world.keys);
    }
}

/* ---- lies ------------------------------------------------------------------------------------------------------- */

/* A session that has said its opening, and 100 keys. */
static roost_reconcile *initiator_side(roost_reconcile_method method, roost_buffer *opening)
{
    roost_reconcile *session;
    roost_reconcile_config config = {.method = method};
    assert_ok(roost_reconcile_new_initiator(&session, &config, NULL));
    for (uint64_t key = 0; key < 100; key++)
        assert_ok(roost_reconcile_add(session, &key, sizeof key, 1));
    assert_ok(roost_reconcile_next(session, opening, NULL, 0));
    return session;
}

/* Symbols that never lead anywhere: random ones, as long as the side that asks wants more. */
static void endless_symbols_end(void **state)
{
    (void)state;
    roost_buffer message;
    roost_reconcile *session = initiator_side(ROOST_RECONCILE_RIBLT, &message);
    struct random_source random = random_from_seed(1);
    roost_status status = ROOST_OK;
    uint64_t fed = 0;
    while (status == ROOST_OK) {
        roost_buffer_release(&message);
        static uint8_t symbols[1 << 16];
        for (size_t i = 0; i < sizeof symbols; i++)
            symbols[i] = (uint8_t)random_next(&random);
        symbols[0] = 1;
        status = roost_reconcile_next(session, &message, symbols, sizeof symbols);
        fed += sizeof symbols;
        assert_true(fed < 1 << 20);
    }
    assert_true(status == ROOST_PROTOCOL || status == ROOST_CORRUPT);
    roost_buffer_release(&message);
    roost_reconcile_free(session);
}

/* What one who knows the salt sends to the initiator: whatever it says, with a right seal. */
static roost_status say_sealed(roost_reconcile *session, const roost_buffer *opening, struct bit_writer *said)
{
    roost_buffer reply;
    static const uint8_t seal[8];
    uint32_t number = roost_reconcile_get_result(session).messages;
    write_bytes(said, seal, sizeof seal);
    assert_false(said->failed);
    seal_message(said->buffer.data, said->buffer.size - 8, opening->data, number, session->last_seal);
    roost_status status = roost_reconcile_next(session, &reply, said->buffer.data, said->buffer.size);
    roost_buffer_release(&reply);
    bit_writer_release(said);
    return status;
}

static struct bit_writer begin_saying(uint8_t type)
{
    struct bit_writer writer;
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    write_byte(&writer, type);
    return writer;
}

/* Filters in which all is there, so that nothing is ever found, and weights that never agree. */
static void endless_filters_end(void **state)
{
    (void)state;
    roost_buffer opening;
    roost_reconcile *session = initiator_side(ROOST_RECONCILE_DBF, &opening);
    roost_status status = ROOST_OK;
    for (uint64_t filters = 0; status == ROOST_OK; filters++) {
        struct bit_writer writer = begin_saying(1);
        write_varint(&writer, 100);
        write_varint(&writer, 100);
        write_fixed64(&writer, filters);
        write_varint(&writer, 8);
        write_byte(&writer, 1);
        write_byte(&writer, 0xff);
        status = say_sealed(session, &opening, &writer);
        assert_true(filters < 100);
    }
    assert_int_equal(status, ROOST_CORRUPT);
    assert_false(roost_reconcile_is_done(session));
    roost_buffer_release(&opening);
    roost_reconcile_free(session);
}

/* Sealed messages with numbers that make no sense. */
static void sealed_nonsense_is_refused(void **state)
{
    (void)state;
    static const struct {
        roost_reconcile_method method;
        uint8_t type;
        uint64_t first, second;
    } lies[] = {
        {ROOST_RECONCILE_DBF, 1, 10, 11},                /* more keys in the filter than there are */
        {ROOST_RECONCILE_DBF, 1, UINT64_C(1) << 32, 1},  /* more than any side has */
        {ROOST_RECONCILE_DBF, 2, UINT64_C(1) << 32, 0},  /* the same in a TURN */
        {ROOST_RECONCILE_DBF, 3, 1, 1},                  /* no such type */
        {ROOST_RECONCILE_CCF_QUERY, 1, 1 << 22, 1},      /* a filter of one byte for four million keys */
        {ROOST_RECONCILE_CCF_QUERY, 1, 100, UINT64_MAX}, /* a frame beyond the message */
        {ROOST_RECONCILE_CCF_QUERY, 1, 100, 1},          /* which is no frame */
        {ROOST_RECONCILE_CCF_DECODE, 2, 1, 1},           /* what only the initiator sends */
        {ROOST_RECONCILE_CCF_DECODE, 3, 1, 1},           /* the end before the filter */
    };
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        roost_buffer opening;
        roost_reconcile *session = initiator_side(lies[i].method, &opening);
        struct bit_writer writer = begin_saying(lies[i].type);
        write_varint(&writer, lies[i].first);
        if (lies[i].type == 1)
            write_varint(&writer, lies[i].second);
        if (lies[i].method == ROOST_RECONCILE_DBF && lies[i].type == 1) {
            write_fixed64(&writer, 0);
            write_varint(&writer, 8);
            write_byte(&writer, 1);
        }
        if (lies[i].type == 1)
            write_byte(&writer, 0xff);
        roost_status status = say_sealed(session, &opening, &writer);
        if (status != ROOST_CORRUPT && status != ROOST_PROTOCOL)
            print_message("lie %zu: %d\n", i, status);
        assert_true(status == ROOST_CORRUPT || status == ROOST_PROTOCOL);
        roost_buffer_release(&opening);
        roost_reconcile_free(session);
    }
}

/* An honest filter, but of another configuration: one for a million keys in a few bytes is not made room for. */
static void foreign_filters_are_refused(void **state)
{
    (void)state;
    static const uint64_t capacities[] = {1, 50, 101, 1000, 1 << 20};
    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        roost_buffer opening, frame;
        roost_multiset *multiset;
        roost_multiset_config config = roost_multiset_config_default();
        roost_reconcile *session = initiator_side(ROOST_RECONCILE_CCF_QUERY, &opening);
        config.capacity = capacities[i];
        config.fpr = 0;
        config.fingerprint_bits = 16;
        config.seed = load_word(opening.data + 3);
        assert_ok(roost_multiset_new(&multiset, &config, NULL));
        assert_ok(roost_multiset_encode(multiset, &frame));
        struct bit_writer writer = begin_saying(1);
        write_varint(&writer, 3);
        write_varint(&writer, frame.size);
        write_bytes(&writer, frame.data, frame.size);
        assert_int_equal(say_sealed(session, &opening, &writer), ROOST_CORRUPT);
        roost_multiset_free(multiset);
        roost_buffer_release(&frame);
        roost_buffer_release(&opening);
        roost_reconcile_free(session);
    }
}

static void use_out_of_order_is_refused(void **state)
{
    (void)state;
    roost_buffer opening, reply;
    roost_reconcile *initiator = initiator_side(ROOST_RECONCILE_AUTO, &opening), *responder;
    assert_int_equal(roost_reconcile_add(initiator, "late", 4, 1), ROOST_INVALID);
    assert_ok(roost_reconcile_new_responder(&responder, opening.data, opening.size, NULL));
    assert_int_equal(roost_reconcile_add(responder, "none", 4, 0), ROOST_INVALID);
    assert_int_equal(roost_reconcile_next(responder, &reply, NULL, 0), ROOST_PROTOCOL);
    assert_int_equal(reply.data[0], FAILED);
    roost_buffer_release(&opening);
    assert_int_equal(roost_reconcile_next(initiator, &opening, reply.data, reply.size), ROOST_PROTOCOL);
    assert_int_equal(opening.size, 0); /* nobody is told what he said himself */
    assert_int_equal(roost_reconcile_next(initiator, &opening, reply.data, reply.size), ROOST_PROTOCOL);
    roost_buffer_release(&reply);
    roost_reconcile_free(initiator);
    roost_reconcile_free(responder);
    roost_reconcile_config config = {.method = (roost_reconcile_method)99};
    assert_int_equal(roost_reconcile_new_initiator(&initiator, &config, NULL), ROOST_INVALID);
    config = (roost_reconcile_config){ROOST_RECONCILE_RIBLT, true};
    assert_int_equal(roost_reconcile_new_initiator(&initiator, &config, NULL), ROOST_UNSUPPORTED);
    config = (roost_reconcile_config){ROOST_RECONCILE_DBF, true};
    assert_int_equal(roost_reconcile_new_initiator(&initiator, &config, NULL), ROOST_UNSUPPORTED);
}

static void counts_beyond_a_word_are_refused(void **state)
{
    (void)state;
    roost_reconcile *session;
    roost_reconcile_config config = {.multiset = true};
    roost_buffer message;
    assert_ok(roost_reconcile_new_initiator(&session, &config, NULL));
    assert_ok(roost_reconcile_add(session, "key", 3, UINT64_MAX));
    assert_ok(roost_reconcile_add(session, "key", 3, 1));
    assert_int_equal(roost_reconcile_next(session, &message, NULL, 0), ROOST_TOO_LARGE);
    roost_buffer_release(&message);
    roost_reconcile_free(session);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

struct meter {
    int64_t allowed, outstanding;
    uint64_t bytes;
    bool failed;
};

static void *metered_allocate(void *context, size_t size)
{
    struct meter *meter = context;
    if (meter->allowed-- == 0) {
        meter->failed = true;
        return NULL;
    }
    meter->outstanding++;
    meter->bytes += size;
    return calloc(1, size);
}

static void metered_release(void *context, void *memory)
{
    ((struct meter *)context)->outstanding--;
    free(memory);
}

/* One side's allocation number `allowed` fails; the other is told, and nothing leaks. */
static bool session_with_failure(const struct world *world, int64_t allowed, bool there)
{
    struct meter meter = {.allowed = allowed};
    uint64_t drawn = world->seed;
    roost_environment plain = environment_of(&drawn), metered = plain;
    metered.allocator = (roost_allocator){&meter, metered_allocate, metered_release};
    roost_reconcile *initiator = NULL, *responder = NULL;
    roost_buffer request = {0}, reply = {0};
    roost_status status = roost_reconcile_new_initiator(&initiator, &world->config, there ? &plain : &metered);
    if (status == ROOST_OK)
        status = add_side(initiator, world, false);
    if (status == ROOST_OK)
        status = roost_reconcile_next(initiator, &request, NULL, 0);
    if (status == ROOST_OK)
        status = roost_reconcile_new_responder(&responder, request.data, request.size, there ? &metered : &plain);
    if (status == ROOST_OK)
        status = add_side(responder, world, true);
    while (status == ROOST_OK && request.size > 0) {
        status = roost_reconcile_next(responder, &reply, request.data, request.size);
        roost_buffer_release(&request);
        if (status == ROOST_OK && reply.size > 0)
            status = roost_reconcile_next(initiator, &request, reply.data, reply.size);
        roost_buffer_release(&reply);
    }
    assert_int_equal(status, meter.failed ? ROOST_NO_MEMORY : ROOST_OK);
    roost_buffer_release(&request);
    roost_reconcile_free(initiator);
    roost_reconcile_free(responder);
    assert_int_equal(meter.outstanding, 0);
    return meter.failed;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const size_t shapes[][4] = {{50, 3, 3, 0}, {200, 70, 70, 12}, {3, 100, 5, 0}};
    for (size_t shape = 0; shape < COUNT_OF(shapes); shape++)
        for (uint64_t method = 0; method < COUNT_OF(all_methods); method++)
            for (int there = 0; there < 2; there++) {
                struct world world = make_world(8000 + shape, all_methods[method], shapes[shape], ALL_DIFFERENT);
                int64_t failing = 0;
                while (session_with_failure(&world, failing, there))
                    failing++;
                assert_true(failing > 5);
                free(world.keys);
            }
}

/* A message of that type which claims these numbers of cells, keys, sums. */
static void write_claims(struct bit_writer *writer, uint8_t type, const uint64_t claims[3])
{
    bit_writer_init(writer, allocator_or_default((roost_allocator){0}));
    write_byte(writer, type);
    write_varint(writer, claims[0]);
    write_varint(writer, claims[1]);
    write_varint(writer, claims[2]);
    write_byte(writer, 16);
    for (size_t i = 0; i < 6; i++)
        write_varint(writer, claims[i % 3]);
}

/* What nothing in the message justifies is not allocated: by the sessions of a hundred keys, less than a megabyte. */
static void hear_claims(uint8_t type, const uint64_t claims[3])
{
    struct meter meter = {.allowed = -1};
    roost_environment environment = {.allocator = {&meter, metered_allocate, metered_release}};
    roost_buffer opening, reply;
    roost_reconcile *initiator = initiator_side(ROOST_RECONCILE_AUTO, &opening), *responder;
    assert_ok(roost_reconcile_new_responder(&responder, opening.data, opening.size, &environment));
    assert_ok(roost_reconcile_next(responder, &reply, opening.data, opening.size));
    roost_buffer_release(&reply);
    struct bit_writer writer;
    write_claims(&writer, type, claims);
    roost_status status = roost_reconcile_next(responder, &reply, writer.buffer.data, writer.buffer.size);
    assert_true(status == ROOST_OK || status == ROOST_CORRUPT || status == ROOST_PROTOCOL);
    roost_buffer_release(&reply);
    status = roost_reconcile_next(initiator, &reply, writer.buffer.data, writer.buffer.size);
    assert_true(status == ROOST_OK || status == ROOST_CORRUPT || status == ROOST_PROTOCOL);
    assert_in_range(meter.bytes, 0, 1 << 20);
    roost_buffer_release(&reply);
    roost_buffer_release(&opening);
    bit_writer_release(&writer);
    roost_reconcile_free(initiator);
    roost_reconcile_free(responder);
}

static void large_claims_allocate_little(void **state)
{
    (void)state;
    static const uint64_t claims[] = {0, 1, 255, 1 << 18, UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(claims) * COUNT_OF(claims) * COUNT_OF(claims); i++)
        for (uint8_t type = 1; type < 12; type++)
            hear_claims(type, (uint64_t[]){claims[i % 8], claims[i / 8 % 8], claims[i / 64]});
}

/* ---- public conveniences ---------------------------------------------------------------------------------------- */

static void keys_are_bytes(void **state)
{
    (void)state;
    roost_reconcile *initiator, *responder;
    roost_buffer request, reply;
    assert_ok(roost_reconcile_new_initiator(&initiator, NULL, NULL));
    assert_ok(roost_reconcile_add(initiator, "", 0, 1));
    assert_ok(roost_reconcile_add(initiator, "a\0b", 3, 1));
    assert_ok(roost_reconcile_add(initiator, "a", 1, 1));
    assert_ok(roost_reconcile_next(initiator, &request, NULL, 0));
    assert_ok(roost_reconcile_new_responder(&responder, request.data, request.size, NULL));
    assert_false(roost_reconcile_get_config(responder)->multiset);
    assert_ok(roost_reconcile_add(responder, "a", 1, 1));
    assert_ok(roost_reconcile_add(responder, "", 0, 7));
    assert_ok(roost_reconcile_next(responder, &reply, request.data, request.size));
    roost_buffer_release(&request);
    assert_ok(roost_reconcile_next(initiator, &request, reply.data, reply.size));
    roost_buffer_release(&reply);
    assert_ok(roost_reconcile_next(responder, &reply, request.data, request.size));
    assert_int_equal(reply.size, 0);
    assert_true(roost_reconcile_is_done(initiator) && roost_reconcile_is_done(responder));
    roost_difference difference;
    assert_int_equal(roost_reconcile_get_result(initiator).only_here, 1);
    assert_int_equal(roost_reconcile_get_result(responder).only_here, 0);
    roost_reconcile_get_differences(initiator, &difference);
    assert_int_equal(difference.index, 1);
    roost_buffer_release(&request);
    roost_reconcile_free(initiator);
    roost_reconcile_free(responder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_worlds_are_exact),
        cmocka_unit_test(special_worlds_are_exact),
        cmocka_unit_test(keys_that_share_half_a_hash_are_told_apart),
        cmocka_unit_test(bytes_follow_the_difference),
        cmocka_unit_test(bloom_filters_cost_what_they_should),
        cmocka_unit_test(few_differences_are_missed_and_never_in_silence),
        cmocka_unit_test(what_collides_is_missed_and_told),
        cmocka_unit_test(resealed_messages_never_make_a_wrong_answer),
        cmocka_unit_test(damaged_filters_are_refused),
        cmocka_unit_test(counting_filters_have_limits),
        cmocka_unit_test(own_keys_are_counted),
        cmocka_unit_test(damaged_messages_never_make_a_wrong_answer),
        cmocka_unit_test(noise_is_refused),
        cmocka_unit_test(endless_symbols_end),
        cmocka_unit_test(endless_filters_end),
        cmocka_unit_test(sealed_nonsense_is_refused),
        cmocka_unit_test(foreign_filters_are_refused),
        cmocka_unit_test(large_claims_allocate_little),
        cmocka_unit_test(use_out_of_order_is_refused),
        cmocka_unit_test(counts_beyond_a_word_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(keys_are_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
