/*
 * A deterministic simulation of `roost link`: the real engine, between models of servers, in simulated time.
 *
 *     simulate-link [EPISODES [FIRST]]        ROOST_TEST_SEED=N repeats a run
 *
 * An episode does not depend on those before it. Where a run of seed 22 fails in episode 3687, this repeats it alone
 * and prints each command about the key n6, each reply and all that happens:
 *
 *     ROOST_TEST_SEED=22 ROOST_TEST_TRACE=n6 simulate-link 1 3687
 *
 * A server here holds for each key an exact set of at most 64 elements with a generation and a journal, and replies to
 * the commands of a link as the module does. Its summaries have pages of two keys, with the module's own change
 * cursors; keys without a value are forgotten now and then. In each episode clients add and delete everywhere while
 * connections break (with commands carried out or not) and servers fall silent, restart, go back to a backup, lose keys
 * without a trace, evict keys, move them away as MIGRATE does, or run out of memory. Another link carries whole states,
 * and our link is stopped and started again. In some episodes a server has an older module, which may reply with the
 * same page for ever. In some, clocks are wrong, too: values from a region whose clock is ahead are refused elsewhere.
 * Then all that ends, the clocks last, and the link has an hour, which takes some milliseconds.
 *
 * In some episodes a server has no room for all keys at the end: it evicts a key for each that is sent there, or
 * refuses it. The link has to come to rest all the same; after half an hour there is room, and all regions must become
 * equal.
 *
 * Before these come directed episodes, in which a script says what happens: cases that random ones rarely meet.
 *
 * What must hold:
 * - always, except in episodes that set cursors too far on purpose: no cursor is too far. Where the engine believes
 *   that a region has everything that another one had at a cursor, in incarnations that still last, it is so. This is
 *   the only thing that could lose elements silently.
 * - when only clocks are still wrong: the regions that are ahead have all that others have.
 * - without changes: few summaries and few other commands are sent, and almost nothing is evicted; after a while the
 *   link has forgotten all keys that hold nothing.
 * - at the end: all regions hold the same generation and the same set of every key; no element of a deleted generation
 *   is there; and no element is missing that was added to the last one where nothing was lost since.
 */
#include "simulated_regions.h"

/* ---- what happens ------------------------------------------------------------------------------------------------ */

static void client_adds(unsigned number)
{
    unsigned i = (unsigned)draw(KEYS);
    struct server *server = &world.server[number];
    struct key *key = &server->keys[i];
    if (world.elements[i] == ELEMENTS || !has_room(server, key))
        return;
    unsigned element = world.elements[i]++;
    if (!key->value)
        put_value(key, key->generation, 0);
    take_element(key, element);
    world.future[i] |= (uint64_t)server->ahead << element;
    make_room(server, key);
    world.added[i][element] = (struct added){key->generation, number, true};
    changed(server, key);
}

static void client_deletes(unsigned number)
{
    struct server *server = &world.server[number];
    struct key *key = &server->keys[draw(KEYS)];
    if (!key->value)
        return;
    delete_key(key, key->generation + 1);
    changed(server, key);
}

/* What was added there may be lost by now, unless it got elsewhere. */
static void doubt(unsigned number, unsigned first, unsigned last)
{
    for (unsigned i = first; i <= last; i++)
        for (unsigned element = 0; element < world.elements[i]; element++)
            if (world.added[i][element].server == number)
                world.added[i][element].safe = false;
}

static void begin_server(struct server *server)
{
    server->incarnation = 16 + draw(UINT64_C(1) << 60);
    server->sequence = 1;
    server->floor = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        struct key *key = &server->keys[i];
        begin_incarnation(key);
        key->evicted = false;
        key->sequence = key->value || key->generation ? ++server->sequence : 0;
    }
    if (server->deployment)
        break_connections(server->deployment);
}

static void server_loses_a_key(unsigned number)
{
    unsigned i = (unsigned)draw(KEYS);
    struct key *key = &world.server[number].keys[i];
    *key = (struct key){.generation = key->generation, .sequence = key->sequence};
    doubt(number, i, i);
}

static void server_evicts_or_moves(unsigned number)
{
    struct key *key = &world.server[number].keys[draw(KEYS)];
    if (key->value)
        leave(&world.server[number], key, draw(2));
}

static void server_is_full(unsigned number)
{
    struct server *server = &world.server[number];
    if (server->old)
        return;
    server->room = draw(3) ? KEYS : (unsigned)draw(KEYS);
    server->evicts = draw(2);
    make_room(server, NULL);
}

static void server_goes_back(unsigned number)
{
    struct server *server = &world.server[number];
    memcpy(server->keys, server->backup, sizeof server->keys);
    begin_server(server);
    doubt(number, 0, KEYS - 1);
    world.deaths++;
}

/* Another link carries a whole state, or a deletion. */
static void another_link(unsigned from, unsigned to)
{
    unsigned i = (unsigned)draw(KEYS);
    const struct key *key = &world.server[from].keys[i];
    char frame[9] = {'W'};
    memcpy(frame + 1, &key->mask, 8);
    if (!is_refused(&world.server[to], &world.server[to].keys[i], key->mask))
        push_outcome(&world.server[to], &world.server[to].keys[i], key->generation, frame, key->value ? 9 : 0);
}

/* How often in a thousand steps: usually, and in episodes where servers come and go all the time. */
enum happening {
    ADD,
    DELETE,
    BREAK,
    RESTART,
    BACK_UP,
    GO_BACK,
    LOSE,
    LEAVE,
    FULL,
    FREEZE,
    OTHER_LINK,
    STOP_LINK,
    HAPPENINGS
};
static const uint64_t shares[][HAPPENINGS] = {
    {600, 15, 25, 10, 10, 8, 12, 60, 10, 10, 40, 10},
    {300, 5, 20, 40, 100, 60, 10, 60, 10, 30, 100, 3},
};

static const char *const happenings[HAPPENINGS] = {"add",     "delete",  "break",        "restart",
                                                   "back up", "go back", "lose a key",   "evict or move",
                                                   "full",    "freeze",  "another link", "stop the link"};

static void happen(enum happening what, unsigned number)
{
    struct server *server = &world.server[number];
    if (world.traced)
        printf("%" PRIu64 " at %u: %s\n", world.now, number, happenings[what]);
    switch (what) {
    case ADD:
        client_adds(number);
        break;
    case DELETE:
        client_deletes(number);
        break;
    case BREAK:
        if (server->deployment)
            break_connections(server->deployment);
        break;
    case RESTART:
        begin_server(server);
        break;
    case BACK_UP:
        memcpy(server->backup, server->keys, sizeof server->keys);
        break;
    case GO_BACK:
        server_goes_back(number);
        break;
    case LOSE:
        server_loses_a_key(number);
        break;
    case LEAVE:
        server_evicts_or_moves(number);
        break;
    case FULL:
        server_is_full(number);
        break;
    case FREEZE:
        server->frozen_until = world.now + draw(8000);
        break;
    case OTHER_LINK:
        another_link(number, (unsigned)draw(world.servers));
        break;
    default:
        event_loop_stop(world.engine->loop); /* our link is stopped */
    }
}

static void something_happens(void)
{
    const uint64_t *share = shares[world.episode % EPISODE_KINDS == STORMY];
    uint64_t chance = draw(1000);
    if (world.clocks_wrong && draw(40) == 0) {
        struct server *server = &world.server[draw(world.servers)];
        server->ahead = !server->ahead;
    }
    for (enum happening what = ADD; what < HAPPENINGS; chance -= share[what++])
        if (chance < share[what]) {
            happen(what, (unsigned)draw(world.servers));
            return;
        }
}

/* ---- what must hold ---------------------------------------------------------------------------------------------- */

static void check_pair(struct work *work, unsigned source, unsigned destination)
{
    unsigned i = key_number((roost_bytes){work->row->key, 2});
    const struct pair *pair = work_pair(work, source, destination);
    const struct key *from = &world.server[source].keys[i], *to = &world.server[destination].keys[i];
    if (!pair->cursor.incarnation || pair->cursor.incarnation != from->incarnation ||
        pair->at.incarnation != to->incarnation)
        return;
    CHECK(pair->cursor.sequence <= from->next, "a cursor of the future");
    CHECK(!(from->mask_at[pair->cursor.sequence] & ~to->mask), "key %u, %u to %u: the cursor is too far", i, source,
          destination);
    world.checks++;
}

/* Sets the engine's cursors too far: the end must be right all the same. */
static void spoil_a_cursor(void)
{
    struct work *work = world.engine->works;
    if (!work || draw(4))
        return;
    unsigned i = key_number((roost_bytes){work->row->key, 2});
    unsigned source = (unsigned)draw(world.servers), destination = (unsigned)draw(world.servers);
    const struct key *from = &world.server[source].keys[i], *to = &world.server[destination].keys[i];
    if (source != destination && from->incarnation && to->incarnation) {
        *work_pair(work, source, destination) =
            (struct pair){{from->incarnation, from->next}, {to->incarnation, to->next}};
        world.spoilt++;
    }
}

static void check_cursors(void)
{
    if (world.episode % EPISODE_KINDS == SPOILING) {
        if (!world.quiet)
            spoil_a_cursor();
        return;
    }
    for (struct work *work = world.engine->works; work; work = work->after)
        for (unsigned a = 0; a < work->regions; a++)
            for (unsigned b = 0; b < work->regions; b++)
                if (a != b)
                    check_pair(work, a, b);
}

static bool all_equal(void)
{
    for (unsigned s = 1; s < world.servers; s++)
        for (unsigned i = 0; i < KEYS; i++) {
            const struct key *one = &world.server[0].keys[i], *other = &world.server[s].keys[i];
            if (one->generation != other->generation || one->value != other->value || one->mask != other->mask)
                return false;
        }
    return true;
}

static void check_elements(void)
{
    for (unsigned i = 0; i < KEYS; i++)
        for (unsigned element = 0; element < world.elements[i]; element++) {
            const struct key *key = &world.server[0].keys[i];
            const struct added *added = &world.added[i][element];
            bool there = key->value && key->mask >> element & 1;
            CHECK(!there || added->generation == key->generation, "key %u: an element of another generation", i);
            CHECK(there || !added->safe || added->generation < key->generation, "key %u: element %u is missing", i,
                  element);
        }
}

static void print_row(void *context, struct row *row)
{
    (void)context;
    for (unsigned s = 0; s < world.servers; s++) {
        const struct view *view = &row->views[s];
        printf("# the link on %.2s at server %u: known %d value %d withheld %d generation %" PRIu64
               " full %d due %" PRIu64 "\n",
               row->key, s, view->known, view->value, view->withheld, view->generation,
               row->work && row->work->full >> s & 1, row->work ? row->work->due : 0);
    }
}

static void print_state(void)
{
    rows_each(&world.engine->rows, print_row, NULL);
    for (unsigned s = 0; s < world.servers; s++) {
        const struct region *region = &world.engine->regions[s];
        printf("# the link on server %u: ready %d withholds %d missed %d release at %" PRIu64 ", memory at %" PRIu64
               "\n",
               s, region->ready, region->withholds, region->missed, region->release.at, region->memory.at);
    }
    for (unsigned s = 0; s < world.servers; s++)
        for (unsigned i = 0; i < KEYS; i++) {
            const struct key *key = &world.server[s].keys[i];
            printf("# server %u key %u: generation %" PRIu64 " value %d %016" PRIx64 "\n", s, i, key->generation,
                   key->value, key->mask);
        }
}

static void find_empty(void *context, struct row *row)
{
    bool empty = true;
    for (unsigned s = 0; s < world.servers; s++)
        empty &= !row->views[s].value;
    *(bool *)context |= empty;
}

/* Whether the link keeps a key that no region holds. A server with an older module is never quiet. */
static bool keeps_empty_keys(void)
{
    bool found = false;
    rows_each(&world.engine->rows, find_empty, &found);
    for (unsigned s = 0; s < world.servers; s++)
        found &= !world.server[s].old;
    return found;
}

/* Whether the regions whose clocks are ahead have all elements that others have. */
static bool those_ahead_have_all(void)
{
    for (unsigned i = 0; i < KEYS; i++)
        for (unsigned a = 0; a < world.servers; a++)
            for (unsigned b = 0; world.server[a].ahead && b < world.servers; b++) {
                const struct key *one = &world.server[a].keys[i], *other = &world.server[b].keys[i];
                if (other->generation > one->generation ||
                    (other->generation == one->generation && other->value && (!one->value || other->mask & ~one->mask)))
                    return false;
            }
    return true;
}

/* Whether that is so, or clocks are right; then clocks are set right. */
static bool clocks_are_over(uint64_t quiet_since)
{
    if (!world.clocks_wrong)
        return true;
    bool all = those_ahead_have_all();
    if (!all && world.now - quiet_since > PATIENCE)
        print_state();
    CHECK(all || world.now - quiet_since <= PATIENCE, "what can travel has not after an hour");
    if (!all)
        return false;
    for (unsigned s = 0; s < world.servers; s++)
        world.server[s].ahead = false;
    memset(world.future, 0, sizeof world.future);
    world.clocks_wrong = false;
    return true;
}

/* From now on clients and failures pause; a server with too little room keeps that for a while. */
static void begin_quiet(void)
{
    world.quiet = true;
    world.quiet_since = world.now;
    world.narrow = is_narrow_episode() ? world.now + NARROW : 0;
    for (unsigned s = 0; s < world.servers; s++) {
        struct server *server = &world.server[s];
        server->room = world.narrow && s == 0 && !server->old ? 1 + (unsigned)draw(KEYS) : KEYS;
        make_room(server, NULL);
        server->summaries = server->commands = 0;
    }
}

static void watch_quiet(void)
{
    uint64_t lasted = world.now - world.quiet_since;
    struct server *narrow = &world.server[0];
    for (unsigned s = 0; s < world.servers; s++) {
        CHECK(world.server[s].summaries < 400 + lasted / 100, "server %u: %" PRIu64 " summaries in %" PRIu64 " ms", s,
              world.server[s].summaries, lasted);
        CHECK(world.server[s].commands < 1000 + lasted / 100, "server %u: %" PRIu64 " commands in %" PRIu64 " ms", s,
              world.server[s].commands, lasted);
    }
    if (!world.narrow)
        return;
    if (lasted < REST)
        narrow->evictions = narrow->refusals = 0;
    CHECK(narrow->evictions < 4, "it evicts for ever");
    CHECK(narrow->refusals < 60, "%" PRIu64 " pushes were refused in %" PRIu64 " ms", narrow->refusals, lasted - REST);
    if (world.now >= world.narrow) {
        world.narrow = 0;
        narrow->room = KEYS;
    }
}

static void world_step(void *context)
{
    struct event_loop *loop = context;
    check_cursors();
    if (!world.quiet && world.script && world.script(world.stage)) {
        timer_add(loop, 2, world_step, loop);
        return;
    }
    if (!world.quiet && !world.script && world.steps++ < STEPS) {
        something_happens();
        timer_add(loop, draw(draw(10) == 0 ? 2000 : 20), world_step, loop);
        return;
    }
    if (!world.quiet)
        begin_quiet();
    watch_quiet();
    if (world.clocks_wrong && clocks_are_over(world.quiet_since))
        begin_quiet();
    bool equal = !world.clocks_wrong && all_equal();
    if (!equal && world.now - world.quiet_since > PATIENCE + NARROW)
        print_state();
    CHECK(equal || world.clocks_wrong || world.now - world.quiet_since <= PATIENCE + NARROW,
          "not in step after an hour");
    bool forgotten = !keeps_empty_keys();
    if (!forgotten && world.now - world.quiet_since > PATIENCE + NARROW)
        print_state();
    CHECK(forgotten || world.now - world.quiet_since <= PATIENCE + NARROW, "deleted keys are kept after an hour");
    if (equal && world.engine->keys_behind == 0 && !world.narrow && forgotten)
        event_loop_stop(loop);
    else
        timer_add(loop, 50, world_step, loop);
}

/* ---- episodes ---------------------------------------------------------------------------------------------------- */

static void begin_world(uint64_t episode)
{
    memset(world.server, 0, sizeof world.server);
    memset(world.elements, 0, sizeof world.elements);
    memset(world.future, 0, sizeof world.future);
    world.episode = episode;
    world.random = world.seed ^ episode * UINT64_C(0xd1342543de82ef95);
    world.now = BEGINNING;
    world.steps = world.stage = 0;
    world.quiet = world.clocks_wrong = false;
}

static void run_link(uint64_t interval)
{
    static char numbers[MOST_SERVERS][12];
    char *urls[MOST_SERVERS];
    for (unsigned i = 0; i < world.servers; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%u", i);
        urls[i] = numbers[i];
    }
    struct link_settings settings = {.urls = urls, .count = world.servers, .interval = interval, .quiet = true};
    do
        CHECK(link_run(&settings) == 0, "the link failed");
    while (!world.quiet);
    CHECK(all_equal(), "at the end");
    check_elements();
}

static void run_episode(uint64_t episode)
{
    begin_world(episode);
    world.servers = 2 + (unsigned)draw(MOST_SERVERS - 1);
    world.clocks_wrong = episode % EPISODE_KINDS != SPOILING && !is_narrow_episode() && draw(4) == 0;
    for (unsigned i = 0; i < world.servers; i++) {
        world.server[i].room = KEYS;
        world.server[i].old = draw(6) == 0;
        begin_server(&world.server[i]);
        world.server[i].ahead = world.clocks_wrong && draw(2);
    }
    run_link(1 + draw(200));
}

/* ---- directed episodes ------------------------------------------------------------------------------------------- */

static void add_to(unsigned number, unsigned i)
{
    struct server *server = &world.server[number];
    struct key *key = &server->keys[i];
    unsigned element = world.elements[i]++;
    if (!key->value)
        put_value(key, key->generation, 0);
    take_element(key, element);
    world.future[i] |= (uint64_t)server->ahead << element;
    world.added[i][element] = (struct added){key->generation, number, true};
    changed(server, key);
}

/*
 * Servers 0 and 2 refuse what 1 adds, whose clock is ahead, so that whole states are pushed instead of syncs. Then the
 * clock of 2 is ahead, too, and it accepts all that 1 adds; at last it loses the key and is seeded from 0. Now it lacks
 * what 0 lacks, and the journal of 1 does not reach back so far. The link must not take that cursor, which is also the
 * one for 0, for a usable one again and again.
 */
static bool lose_a_cursor(unsigned stage)
{
    enum { ADDITIONS = 2 * JOURNAL_ROOM };
    struct server *source = &world.server[1], *other = &world.server[2];
    const struct work *work = world.engine->works;
    if (stage == 0) {
        add_to(1, 0);
        world.stage++;
    } else if (stage == 1 && all_equal() && !work) {
        source->ahead = world.clocks_wrong = true;
        add_to(1, 0);
        world.stage++;
    } else if (stage == 2 && work && work_is_ahead(work, 1, 2)) {
        other->ahead = true;
        world.stage++;
    } else if (stage > 2 && other->keys[0].mask == source->keys[0].mask) {
        if (world.stage++ == 3 + ADDITIONS) {
            leave(other, &other->keys[0], false);
            return false;
        }
        add_to(1, 0);
    }
    return true;
}

/* Server 0 goes on adding to a key, and 1 is slow, so that a round of it is always under way. */
static void keep_busy(unsigned most)
{
    enum { SLOW = 1100 };
    struct server *slow = &world.server[1];
    if (world.now <= slow->frozen_until)
        return;
    CHECK(world.elements[0] < most, "what was refused is not tried again");
    add_to(0, 0);
    slow->frozen_until = world.now + SLOW;
}

/*
 * Server 0 refuses what 1 adds, until that time has come or the clock of 1 is set. The key is busy meanwhile: what was
 * refused must be tried again all the same.
 */
static bool change_without_pause(unsigned stage, bool set, unsigned most)
{
    struct server *source = &world.server[1];
    const struct work *work = world.engine->works;
    if (stage == 0) {
        source->ahead = world.clocks_wrong = true;
        add_to(1, 0);
        add_to(0, 0);
        world.stage++;
    } else if (stage == 1 && work && work_any_ahead(work)) {
        memset(world.future, 0, sizeof world.future);
        world.stage++;
    } else if (stage == 2 && world.server[0].keys[0].mask & 1) {
        source->ahead = world.clocks_wrong = false;
        return false;
    } else if (stage == 2) {
        keep_busy(most);
        if (set && world.elements[0] == 5 && work->running)
            world.engine->events->clocks_set(world.engine);
    }
    return true;
}

static bool wait_without_pause(unsigned stage)
{
    return change_without_pause(stage, false, ELEMENTS);
}

static bool set_without_pause(unsigned stage)
{
    return change_without_pause(stage, true, 20);
}

/* Server 2 has no room for a new generation, so often that the next attempt is far away. Then there is room. */
static bool find_room_without_pause(unsigned stage)
{
    struct server *narrow = &world.server[2];
    struct work *work = world.engine->works;
    if (stage == 0) {
        narrow->room = 0;
        world.server[0].keys[0].generation = 1;
        add_to(0, 0);
        world.stage++;
    } else if (stage == 1 && work && work->full && work->retry) {
        narrow->room = KEYS;
        work->retry = world.now + PATIENCE;
        world.stage++;
    } else if (stage == 2) {
        keep_busy(ELEMENTS);
    }
    return !narrow->keys[0].value;
}

static void run_directed(const char *what, bool (*script)(unsigned stage), unsigned servers)
{
    begin_world(0);
    world.servers = servers;
    world.script = script;
    if (world.traced)
        printf("directed: %s\n", what);
    for (unsigned i = 0; i < world.servers; i++) {
        world.server[i].room = KEYS;
        begin_server(&world.server[i]);
    }
    run_link(1);
    world.script = NULL;
}

enum { A, B, C };

/* A key that three regions have, each at its cursor 9, with these digests. */
static struct row *row_of_three(struct rows *rows, const uint8_t digests[3])
{
    rows_begin(rows, 3);
    struct row *row = rows_get(rows, 0, (roost_bytes){"n0", 2});
    for (unsigned region = A; region <= C; region++)
        row->views[region] =
            (struct view){.known = true, .value = true, .digest = {{digests[region]}}, .cursor = {16 + region, 9}};
    return row;
}

/*
 * A push wrote a span at B, and A accepted the same frame later than the point that the pair B to A is about. When the
 * cursor moves past the span, the pair must not claim that A had it before: C, which has A's earlier state, does not
 * have it.
 */
static void check_spans(void)
{
    struct rows rows;
    struct row *row = row_of_three(&rows, (uint8_t[]){0, 1, 2});
    struct work *work = work_new(row, 3);
    work_has_until(work, B, A, (roost_cursor){16 + A, 7}, (roost_cursor){16 + B, 8});
    CHECK(work_has_unseen(work, B, A), "before the span");
    work_wrote(work, B, (roost_cursor){16 + B, 8}, (roost_cursor){16 + B, 9}, (uint64_t[MOST_REGIONS]){16 + A, 16 + B});
    CHECK(!work_has_unseen(work, B, A), "A took the same frame");
    work_has_until(work, A, C, (roost_cursor){16 + C, 9}, (roost_cursor){16 + A, 8});
    CHECK(work_pair(work, B, C)->cursor.sequence < 9, "C counts as having what A had before");
    work_has_until(work, A, C, (roost_cursor){16 + C, 10}, (roost_cursor){16 + A, 9});
    CHECK(work_pair(work, B, C)->cursor.sequence == 9, "C counts as having what A has now");
    work_free(work);
    rows_release(&rows);
}

/*
 * B and C have all that A had at its cursor 5, where the journal of A does not reach any more. C must not have that
 * cursor from B again; later ones are taken, and so is any of another incarnation.
 */
static void check_lost(void)
{
    struct rows rows;
    struct row *row = row_of_three(&rows, (uint8_t[]){1, 0, 0});
    struct work *work = work_new(row, 3);
    work_has_until(work, A, B, (roost_cursor){16 + B, 7}, (roost_cursor){16 + A, 5});
    work_compare(work);
    CHECK(work_knows(work, A, B) && work_knows(work, A, C), "C has what B has");
    work_lost(work, A, (roost_cursor){16 + A, 5});
    work_compare(work);
    CHECK(!work_knows(work, A, B) && !work_knows(work, A, C), "a lost cursor is back");
    work_has_until(work, A, B, (roost_cursor){16 + B, 8}, (roost_cursor){16 + A, 6});
    work_lost(work, A, (roost_cursor){16 + A, 4});
    work_compare(work);
    CHECK(work_knows(work, A, B) && work_knows(work, A, C), "a later cursor is not lost");
    row->views[A].cursor = (roost_cursor){99, 3};
    work_has_until(work, A, B, (roost_cursor){16 + B, 9}, (roost_cursor){99, 2});
    CHECK(work_knows(work, A, B), "a cursor of another incarnation is not lost");
    work_free(work);
    rows_release(&rows);
}

int main(int count, char **words)
{
    uint64_t episodes = count > 1 ? strtoull(words[1], NULL, 10) : 300;
    uint64_t first = count > 2 ? strtoull(words[2], NULL, 10) : 0;
    const char *seed = getenv("ROOST_TEST_SEED");
    world.seed = seed ? strtoull(seed, NULL, 10) : 20240607;
    world.traced = getenv("ROOST_TEST_TRACE");
    printf("# seed %" PRIu64 "\n", world.seed);
    check_spans();
    check_lost();
    run_directed("a cursor is lost", lose_a_cursor, 3);
    run_directed("a key changes without pause until a time comes", wait_without_pause, 2);
    run_directed("a key changes without pause while a clock is set", set_without_pause, 2);
    run_directed("a key changes without pause when there is room again", find_room_without_pause, 3);
    for (uint64_t episode = first; episode < first + episodes; episode++)
        run_episode(episode);
    if (count > 2)
        return printf("ok %" PRIu64 " episodes from %" PRIu64 " on end in step\n", episodes, first), 0;
    printf("# %" PRIu64 " pulls, %" PRIu64 " pushes, %" PRIu64 " syncs, %" PRIu64 " cursors checked, %" PRIu64
           " broken connections, %" PRIu64 " backups restored, %" PRIu64 " cursors spoilt, %" PRIu64
           " evictions, %" PRIu64 " pushes refused, %" PRIu64 " pages that missed something, %" PRIu64
           " in larger pages, %" PRIu64 " times refused\n",
           world.pulls, world.pushes, world.syncs, world.checks, world.breaks, world.deaths, world.spoilt,
           world.evictions, world.refusals, world.missed, world.stalls, world.refused);
    CHECK(world.evictions > episodes && world.refusals > episodes && world.missed > episodes &&
              world.stalls > episodes / 10,
          "no listing was disturbed");
    CHECK(world.pulls > 10 * episodes && world.syncs > episodes && world.checks > 10 * episodes &&
              world.spoilt > episodes && world.refused > episodes,
          "there was no work");
    printf("ok %" PRIu64 " episodes end in step\n", episodes);
    return 0;
}
