/*
 * Syncs between replicas that others change all the while, both of them: clients add and remove between any two
 * messages, third replicas are merged in, tables grow and are laid anew, journals forget.
 *
 * What must hold. Whatever either side had when the exchange began is known to both at its end: in the order of states,
 * so additions and removals alike. Cursors that were read before it tell the rest, each way. Nothing that is remembered
 * is too new, after any message. A quiet exchange then makes both equal. And being disturbed is never answered with a
 * whole state: the bytes follow what differs.
 */
#include "windows.h"

enum { SIZE = 120 };

struct scenery {
    roost_filter *initiator, *responder, *third;
    struct random_source *random;
    uint64_t clock, next;
    uint32_t most; /* changes at a time */
    bool grows;
};

static struct {
    uint64_t disturbed, equal, unequal, wholes, grown, lost;
} seen;

static void change_some(struct scenery *scene, roost_filter *filter, uint32_t count)
{
    while (count-- > 0) {
        uint32_t choice = random_choice(scene->random, 6);
        if (is_window(filter))
            step(filter, scene->random, &scene->clock, 500);
        else if (choice < 3)
            put(filter, 1000000 + scene->next++);
        else if (choice < 4)
            put(filter, random_choice(scene->random, SIZE)); /* again, or back */
        else
            take(filter, random_choice(scene->random, SIZE), choice == 4);
    }
}

static void change_one_side(struct scenery *scene, roost_filter *filter)
{
    switch (random_choice(scene->random, 8)) {
    case 0:
        break;
    case 1:
        change_some(scene, scene->third, scene->most);
        merge(filter, scene->third);
        break;
    case 2: /* more tables, wider rows, and more than a short journal knows */
        change_some(scene, filter, scene->grows ? 300 : scene->most);
        seen.grown += scene->grows;
        break;
    default:
        change_some(scene, filter, 1 + random_choice(scene->random, scene->most));
    }
}

static void come_between(struct exchange *exchange, void *context)
{
    struct scenery *scene = context;
    seen.disturbed++;
    change_one_side(scene, exchange->initiator);
    change_one_side(scene, *exchange->responder);
}

/* Three that have met, and gone apart since. What the first two remember of each other is kept, or not. */
static void scenery_open(struct scenery *scene, uint64_t number, struct random_source *random, roost_buffer *memory)
{
    static const uint64_t journals[] = {0, 0, 5, 40};
    roost_config config = config_of_every_kind(number, 3 * SIZE);
    roost_environment environment = {.random_seed = random_next(random),
                                     .kicks = 30,
                                     .journal = journals[random_choice(random, COUNT_OF(journals))]};
    *scene = (struct scenery){
        .random = random, .clock = EPOCH, .most = 1 + random_choice(random, 6), .grows = random_choice(random, 3) == 0};
    roost_filter **filters[] = {&scene->initiator, &scene->responder, &scene->third};
    for (int i = 0; i < 3; i++)
        assert_ok(roost_filter_new(filters[i], &config, &environment));
    live_on(scene->initiator, 0, SIZE);
    scene->clock += SECONDS(1);
    merge(scene->third, scene->initiator);
    sync_alone(scene->initiator, scene->responder, memory);
    if (random_choice(random, 2))
        roost_buffer_release(memory);
    for (int i = 0; i < 3; i++)
        change_some(scene, *filters[i], random_choice(random, 40));
}

static void quiet_at_last(struct scenery *scene, roost_buffer *memory)
{
    if (random_choice(scene->random, 2))
        change_one_side(scene, scene->initiator);
    sync_alone(scene->initiator, scene->responder, memory);
    roost_buffer_release(memory);
}

static void nothing_is_lost(struct scenery *scene, roost_buffer *memory)
{
    roost_filter *a = clone_of(scene->initiator), *b = clone_of(scene->responder);
    roost_cursor of_a = cursor_of(scene->initiator), of_b = cursor_of(scene->responder);
    struct exchange exchange = {
        .initiator = scene->initiator, .responder = &scene->responder, .interfere = come_between, .context = scene};
    run_exchange(&exchange, memory);
    assert_ok(exchange.status);
    assert_true(included(a, scene->responder) && included(b, scene->initiator));
    assert_true(included(a, scene->initiator) && included(b, scene->responder));
    assert_tells_all(scene->initiator, &of_a, scene->responder);
    assert_tells_all(scene->responder, &of_b, scene->initiator);
    seen.equal += exchange.result.equal;
    seen.unequal += !exchange.result.equal;
    seen.wholes += exchange.types >> WHOLE & 1;
    if (exchange.types >> WHOLE & 1) /* no tree; or the peer does not know any more what it said; or that is shorter */
        assert_true(is_window(a) || scene->responder->environment.common->journal || scene->grows);
    seen.lost += exchange.types >> LOST & 1;
    roost_buffer_release(memory);
    *memory = exchange.memory;
    FREE_ALL(a, b);
}

static void both_may_change_between_messages(void **state)
{
    (void)state;
    struct random_source random = random_from_seed(test_seed(33));
    uint64_t worlds = count_of_worlds(10 * EVERY_KIND);
    memset(&seen, 0, sizeof seen);
    for (uint64_t number = 0; number < worlds; number++) {
        struct scenery scene;
        roost_buffer memory = {0};
        scenery_open(&scene, number, &random, &memory);
        nothing_is_lost(&scene, &memory);
        if (random_choice(&random, 2))
            nothing_is_lost(&scene, &memory);
        quiet_at_last(&scene, &memory);
        FREE_ALL(scene.initiator, scene.responder, scene.third);
    }
    printf("%llu worlds, %llu messages disturbed, %llu leaps; ended equal %llu, not %llu; %llu without cursors, %llu "
           "whole states\n",
           (unsigned long long)worlds, (unsigned long long)seen.disturbed, (unsigned long long)seen.grown,
           (unsigned long long)seen.equal, (unsigned long long)seen.unequal, (unsigned long long)seen.lost,
           (unsigned long long)seen.wholes);
    assert_true(seen.unequal > worlds / 2 && seen.equal > 0 && seen.lost > worlds / 3 && seen.grown > worlds / 6);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

struct visitors {
    bool here, there;
    uint64_t next;
};

static void visit(struct exchange *exchange, void *context)
{
    struct visitors *visitors = context;
    for (int i = 0; i < 3; i++, visitors->next++) {
        if (visitors->here) {
            put(exchange->initiator, 3000000 + visitors->next);
            take(exchange->initiator, visitors->next * 7919 % 10000, false);
        }
        if (visitors->there) {
            put(*exchange->responder, 4000000 + visitors->next);
            take(*exchange->responder, visitors->next * 6841 % 10000, false);
        }
    }
}

/* Two that hold the same ten thousand, less what is theirs alone: a few dozen changes on either side. */
static void open_pair(uint64_t kind, roost_filter **initiator, roost_filter **responder)
{
    roost_config config = config_for(kind, 30000);
    *initiator = new_filter(&config);
    put_many(*initiator, 0, 10000);
    *responder = clone_of(*initiator);
    put_many(*initiator, 1000000, 30);
    put_many(*responder, 2000000, 30);
    take_many(*initiator, 100, 20);
    take_many(*responder, 9000, 20);
}

static struct exchange exchange_with(uint64_t kind, struct visitors visitors, size_t *state)
{
    roost_filter *initiator, *responder;
    open_pair(kind, &initiator, &responder);
    roost_filter *a = clone_of(initiator), *b = clone_of(responder);
    struct exchange exchange = {
        .initiator = initiator, .responder = &responder, .interfere = visit, .context = &visitors};
    run_exchange(&exchange, NULL);
    assert_ok(exchange.status);
    assert_true(included(a, responder) && included(b, initiator));
    assert_true(exchange.result.equal || visitors.here || visitors.there);
    *state = encoded_size(initiator);
    roost_buffer_release(&exchange.memory);
    FREE_ALL(a, b, initiator, responder);
    return exchange;
}

/* Kinds without positions send the whole state. */
static bool has_positions(uint64_t kind)
{
    return config_for(kind, 100).semantics != ROOST_LAST_WRITER_WINS;
}

/*
 * A disturbed exchange goes the way of a quiet one, and there is no whole state. What comes between makes further
 * ranges differ: an element has at most a dozen positions, in ranges that differ already or cost another leaf and,
 * above it, digests that are asked for by the sixteen. Three elements and three removals on a side come before each
 * answer.
 */
static void bytes_follow_what_differs(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < ALL_KINDS; kind++) {
        size_t whole;
        if (!has_positions(kind))
            continue;
        struct exchange quiet = exchange_with(kind, (struct visitors){false, false, 0}, &whole);
        for (int who = 1; who < 4; who++) {
            struct exchange busy = exchange_with(kind, (struct visitors){who & 1, who >> 1, 0}, &whole);
            printf("kind %llu, disturbed %d: %llu bytes in %u rounds, quiet %llu in %u, state %zu\n",
                   (unsigned long long)kind, who, (unsigned long long)(busy.sent + busy.received), busy.rounds,
                   (unsigned long long)(quiet.sent + quiet.received), quiet.rounds, whole);
            assert_false(busy.types >> WHOLE & 1);
            uint64_t changes = busy.rounds * (who == 3 ? 12 : 6);
            assert_true(busy.sent + busy.received <= quiet.sent + quiet.received + 100 * changes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_may_change_between_messages),
        cmocka_unit_test(bytes_follow_what_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
