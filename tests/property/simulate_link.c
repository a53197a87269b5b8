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
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client/secrets.h"
#include "link/engine.h"
#include "link/engine_state.h"
#include "link/metrics.h"
#include "cli/base/machine.h"
#include "module/registry/change_cursor.h"

enum {
    MOST_SERVERS = 4,
    KEYS = 9,
    ELEMENTS = 64,
    JOURNAL_ROOM = 12,
    STEPS = 400,
    PATIENCE = 3600000, /* milliseconds within which all regions must be equal */
    NARROW = 1800000,   /* for which a server may have too little room */
    REST = 900000,      /* after which the link must be at rest */
    BEGINNING = 3600000,
};

enum { USUAL, STORMY, SPOILING, EPISODE_KINDS };

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("not ok episode %" PRIu64 " at %" PRIu64 " ms: %s: ", world.episode, world.now, #condition);        \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- the world --------------------------------------------------------------------------------------------------- */

struct key {
    uint64_t generation, mask, incarnation, next, sequence;
    bool value, evicted;            /* in the list of changes if its sequence is not 0 */
    uint8_t journal[2 * ELEMENTS];  /* the element of each change */
    uint64_t mask_at[2 * ELEMENTS]; /* the set before each change */
};

struct server {
    uint64_t incarnation, sequence, floor, frozen_until;
    unsigned room; /* for so many values */
    bool evicts;   /* evicts other keys, or else refuses new ones */
    bool old;      /* its module has the pages of the first version */
    uint64_t evictions, refusals, summaries, commands;
    bool ahead; /* its clock */
    struct key keys[KEYS];
    struct key backup[KEYS];
    struct deployment *deployment;
};

static struct {
    uint64_t seed, episode, now, order;
    uint64_t random;
    unsigned servers, steps;
    bool quiet, clocks_wrong;
    bool (*script)(unsigned stage); /* of a directed episode */
    unsigned stage;
    const char *traced;    /* a key, or NULL */
    uint64_t future[KEYS]; /* elements added where the clock was ahead */
    struct server server[MOST_SERVERS];
    struct engine *engine;
    unsigned elements[KEYS]; /* how many were ever added */
    struct added {
        uint64_t generation;
        unsigned server;
        bool safe;
    } added[KEYS][ELEMENTS];
    uint64_t pulls, pushes, syncs, checks, breaks, deaths, spoilt, evictions, refusals, missed, stalls, narrow, refused;
    uint64_t quiet_since;
} world;

static bool is_narrow_episode(void)
{
    return world.episode % 4 == 1;
}

static uint64_t draw(uint64_t below)
{
    uint64_t z = world.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

/* Replaces the system's function: the order of the engine's table is part of a run. */
ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)draw(256);
    return (ssize_t)size;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

struct timer {
    struct timer *next;
    struct event_loop *loop;
    uint64_t due, order;
    void (*call)(void *context);
    void *context;
};

struct event_loop {
    struct timer *first;
    bool stopped;
};

struct event_loop *event_loop_new(void)
{
    return calloc(1, sizeof(struct event_loop));
}

void event_loop_free(struct event_loop *loop)
{
    while (loop->first)
        timer_remove(loop->first);
    free(loop);
}

uint64_t event_loop_now(const struct event_loop *loop)
{
    (void)loop;
    return world.now;
}

struct timer *timer_add(struct event_loop *loop, uint64_t milliseconds, void (*call)(void *context), void *context)
{
    struct timer *timer = malloc(sizeof *timer), **at = &loop->first;
    *timer = (struct timer){NULL, loop, world.now + milliseconds, world.order++, call, context};
    while (*at && (*at)->due <= timer->due)
        at = &(*at)->next;
    timer->next = *at;
    return *at = timer;
}

void timer_remove(struct timer *timer)
{
    if (!timer)
        return;
    struct timer **at = &timer->loop->first;
    while (*at != timer)
        at = &(*at)->next;
    *at = timer->next;
    free(timer);
}

void event_loop_stop(struct event_loop *loop)
{
    loop->stopped = true;
}

static void world_step(void *loop);

void event_loop_run(struct event_loop *loop)
{
    timer_add(loop, 1, world_step, loop);
    while (!loop->stopped && loop->first) {
        struct timer timer = *loop->first;
        world.now = timer.due > world.now ? timer.due : world.now;
        timer_remove(loop->first);
        timer.call(timer.context);
    }
}

struct watch *watch_add(struct event_loop *loop, int descriptor, unsigned events,
                        void (*ready)(void *context, unsigned events), void *context)
{
    (void)loop, (void)descriptor, (void)events, (void)ready, (void)context;
    return NULL;
}

void watch_change(struct watch *watch, unsigned events)
{
    (void)watch, (void)events;
}

void watch_remove(struct watch *watch)
{
    (void)watch;
}

/* ---- replies ----------------------------------------------------------------------------------------------------- */

static redisReply *reply_of(int type)
{
    redisReply *reply = calloc(1, sizeof *reply);
    reply->type = type;
    return reply;
}

static redisReply *reply_nil(void)
{
    return reply_of(REDIS_REPLY_NIL);
}

static redisReply *reply_number(uint64_t number)
{
    redisReply *reply = reply_of(REDIS_REPLY_INTEGER);
    reply->integer = (long long)number;
    return reply;
}

static redisReply *reply_bytes(const void *bytes, size_t size)
{
    redisReply *reply = reply_of(REDIS_REPLY_STRING);
    reply->str = malloc(size + 1);
    memcpy(reply->str, bytes, size);
    reply->str[size] = '\0';
    reply->len = size;
    return reply;
}

static redisReply *reply_text(const char *text)
{
    return reply_bytes(text, strlen(text));
}

static redisReply *reply_error(const char *text)
{
    redisReply *reply = reply_text(text);
    reply->type = REDIS_REPLY_ERROR;
    return reply;
}

static redisReply *reply_array(size_t count)
{
    redisReply *reply = reply_of(REDIS_REPLY_ARRAY);
    reply->elements = count;
    reply->element = calloc(count + 1, sizeof *reply->element);
    return reply;
}

static redisReply *reply_cursor(uint64_t incarnation, uint64_t sequence)
{
    char text[40];
    snprintf(text, sizeof text, "%" PRIx64 "-%" PRIx64, incarnation, sequence);
    return reply_text(text);
}

static redisReply *reply_digest(uint64_t a, uint64_t b)
{
    char text[40];
    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, a, b);
    return reply_text(text);
}

static redisReply *key_digest(const struct key *key)
{
    return key->value ? reply_digest(key->mask, ~key->mask) : reply_nil();
}

static redisReply *key_cursor(const struct key *key)
{
    return key->value ? reply_cursor(key->incarnation, key->next) : reply_nil();
}

/* ---- a server ---------------------------------------------------------------------------------------------------- */

static void wake_waiters(struct server *server);

/* Forgets one of the keys without a value. */
static void sweep(struct server *server)
{
    struct key *key = &server->keys[draw(KEYS)];
    if (key->value || key->generation || !key->sequence)
        return;
    if (server->floor < key->sequence)
        server->floor = key->sequence;
    key->sequence = 0;
}

static void changed(struct server *server, struct key *key)
{
    sweep(server);
    key->sequence = ++server->sequence;
    wake_waiters(server);
}

static unsigned values(const struct server *server)
{
    unsigned count = 0;
    for (unsigned i = 0; i < KEYS; i++)
        count += server->keys[i].value;
    return count;
}

static void doubt(unsigned number, unsigned first, unsigned last);

/* Removes a value; listeners are notified. */
static void leave(struct server *server, struct key *key, bool evicted)
{
    unsigned number = (unsigned)(server - world.server), i = (unsigned)(key - server->keys);
    *key = (struct key){.generation = key->generation, .evicted = evicted};
    server->evictions += evicted;
    world.evictions += evicted;
    doubt(number, i, i);
    changed(server, key);
}

static void evict_one(struct server *server, const struct key *other)
{
    struct key *key;
    do
        key = &server->keys[draw(KEYS)];
    while (!key->value || key == other);
    leave(server, key, true);
}

/* Whether there is room for one more value, or there will be after an eviction. */
static bool has_room(const struct server *server, const struct key *key)
{
    return key->value || values(server) < server->room || (server->evicts && server->room > 0);
}

static void make_room(struct server *server, const struct key *key)
{
    while (server->evicts && values(server) > server->room && values(server) > (key && key->value))
        evict_one(server, key);
}

static void begin_incarnation(struct key *key)
{
    key->evicted &= !key->value;
    key->incarnation = key->value ? 16 + draw(UINT64_C(1) << 60) : 0;
    key->next = 1;
    key->mask_at[1] = key->mask;
}

static void take_element(struct key *key, unsigned element)
{
    if (key->mask >> element & 1)
        return;
    key->journal[key->next++] = (uint8_t)element;
    key->mask |= UINT64_C(1) << element;
    key->mask_at[key->next] = key->mask;
}

static bool take_mask(struct key *key, uint64_t mask)
{
    bool unseen = mask & ~key->mask;
    for (unsigned element = 0; element < ELEMENTS; element++)
        if (mask >> element & 1)
            take_element(key, element);
    return unseen;
}

static void put_value(struct key *key, uint64_t generation, uint64_t mask)
{
    key->generation = generation;
    key->value = true;
    key->mask = mask;
    begin_incarnation(key);
}

static void delete_key(struct key *key, uint64_t generation)
{
    *key = (struct key){.generation = generation, .sequence = key->sequence};
}

static unsigned key_number(roost_bytes key)
{
    return (unsigned)(((const char *)key.data)[1] - '0');
}

static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + 1) * UINT64_C(0xbf58476d1ce4e5b9) ^
                 (c + 7) * UINT64_C(0x94d049bb133111eb);
    z = (z ^ z >> 29) * UINT64_C(0xff51afd7ed558ccd);
    return z ^ z >> 32;
}

/* The next that changed after a position, oldest first. */
static struct key *next_changed(struct server *server, uint64_t position)
{
    struct key *next = NULL;
    for (unsigned i = 0; i < KEYS; i++) {
        struct key *key = &server->keys[i];
        if (key->sequence > position && (!next || key->sequence < next->sequence))
            next = key;
    }
    return next;
}

static redisReply *reply_entry(const struct server *server, const struct key *key)
{
    char label[3] = {'n', (char)('0' + (key - server->keys)), '\0'};
    bool evicted = key->evicted && !key->value && !server->old;
    redisReply *entry = reply_array(evicted ? 6 : 5);
    entry->element[0] = reply_number(0);
    entry->element[1] = reply_text(label);
    entry->element[2] = reply_number(key->generation);
    entry->element[3] = key_digest(key);
    entry->element[4] = key_cursor(key);
    if (evicted)
        entry->element[5] = reply_text("evicted");
    return entry;
}

static redisReply *total_digest(const struct server *server, uint64_t *keys)
{
    unsigned __int128 total = 0;
    *keys = values(server);
    for (unsigned i = 0; i < KEYS; i++) {
        const struct key *key = &server->keys[i];
        if (key->value || key->generation)
            total += mixed(i, key->generation, key->value ? key->mask : UINT64_MAX / 3);
    }
    return reply_digest((uint64_t)(total >> 64), (uint64_t)total);
}

static redisReply *summary_since(struct server *server, const struct change_cursor *since, uint64_t most)
{
    redisReply *reply = reply_array(server->old ? 10 : 16), *reported = reply_array(KEYS);
    struct change_cursor next = *since;
    const struct key *key;
    char text[CHANGE_CURSOR_ROOM];
    uint64_t keys;
    for (reported->elements = 0; reported->elements < most && (key = next_changed(server, next.position));
         reported->elements++) {
        next.position = key->sequence;
        reported->element[reported->elements] = reply_entry(server, key);
    }
    bool more = next_changed(server, next.position);
    next.position = more ? next.position : server->sequence;
    next.began = server->old ? 0 : next.began;
    change_cursor_text(text, &next);
    const char *fields[] = {"digest", "mark", "keys", "more", "changed", "listed", "missed", "full"};
    bool missed = change_cursor_has_missed(since, server->floor);
    world.missed += missed;
    redisReply *values[] = {total_digest(server, &keys),
                            reply_text(text),
                            reply_number(keys),
                            reply_number(more),
                            reported,
                            reply_number(change_cursor_has_listed(&next)),
                            reply_number(missed),
                            reply_number(server->evicts && keys >= server->room)};
    for (size_t i = 0; i < 8; i++) {
        if (2 * i >= reply->elements) {
            freeReplyObject(values[i]);
            continue;
        }
        reply->element[2 * i] = reply_text(fields[i]);
        reply->element[2 * i + 1] = values[i];
    }
    reply->element[5]->integer = (long long)keys;
    return reply;
}

static bool is_left_out(uint64_t sequence, char **words, size_t count)
{
    unsigned long long from, to;
    for (size_t i = 0; i < count; i++)
        if (sscanf(words[i], "%llx-%llx", &from, &to) == 2 && from <= sequence && sequence < to)
            return true;
    return false;
}

/* A frame is a letter, W for a whole state and D for a delta, and the set. */
static redisReply *reply_frame(char kind, uint64_t mask)
{
    char frame[9] = {kind};
    memcpy(frame + 1, &mask, 8);
    return reply_bytes(frame, 9);
}

static redisReply *pull_since(const struct key *key, char **words, size_t count)
{
    unsigned long long incarnation, sequence;
    uint64_t mask = 0;
    if (strcmp(words[2], "0") == 0)
        return reply_frame('W', key->mask);
    if (sscanf(words[2], "%llx-%llx", &incarnation, &sequence) != 2 || incarnation != key->incarnation ||
        sequence > key->next || sequence + JOURNAL_ROOM < key->next)
        return reply_nil();
    for (uint64_t at = sequence; at < key->next; at++)
        if (!is_left_out(at, words + 3, count - 3))
            mask |= UINT64_C(1) << key->journal[at];
    return reply_frame('D', mask);
}

static redisReply *do_pull(struct key *key, char **words, size_t count)
{
    redisReply *reply = reply_array(4);
    reply->element[0] = reply_number(key->generation);
    reply->element[1] = key_cursor(key);
    reply->element[2] = key_digest(key);
    reply->element[3] = key->value ? pull_since(key, words, count) : reply_nil();
    world.pulls++;
    return reply;
}

/* A server whose clock is not ahead refuses elements that are. */
static bool is_refused(const struct server *server, const struct key *key, uint64_t mask)
{
    bool refused = !server->ahead && mask & world.future[key - server->keys];
    world.refused += refused;
    return refused;
}

static redisReply *refuse_future(void)
{
    char text[120];
    snprintf(text, sizeof text, "ERR %s", roost_status_text(ROOST_CLOCK));
    return reply_error(text);
}

static redisReply *do_time(const struct server *server)
{
    char seconds[24];
    snprintf(seconds, sizeof seconds, "%" PRIu64, machine_time() / 1000000 + (server->ahead ? 300 : 0));
    redisReply *reply = reply_array(2);
    reply->element[0] = reply_text(seconds);
    reply->element[1] = reply_text("0");
    return reply;
}

static const char *push_outcome(struct server *server, struct key *key, uint64_t generation, const char *frame,
                                size_t size)
{
    uint64_t mask;
    bool unseen = true;
    if (generation < key->generation)
        return "stale";
    if (size == 0 && generation == key->generation)
        return "same";
    if (size == 0)
        delete_key(key, generation);
    if (size == 0)
        return changed(server, key), "merged";
    memcpy(&mask, frame + 1, 8);
    if (!has_room(server, key))
        return NULL;
    if (generation > key->generation || !key->value) {
        if (frame[0] == 'D')
            return "whole";
        put_value(key, generation, mask);
        make_room(server, key);
    } else {
        unseen = take_mask(key, mask);
    }
    if (unseen)
        changed(server, key);
    return unseen ? "merged" : "same";
}

static redisReply *do_push(struct server *server, struct key *key, char **words, const size_t *sizes)
{
    uint64_t from = key->next, incarnation = key->incarnation, mask = 0;
    if (sizes[3])
        memcpy(&mask, words[3] + 1, 8);
    if (strtoull(words[2], NULL, 10) >= key->generation && is_refused(server, key, mask))
        return refuse_future();
    const char *outcome = push_outcome(server, key, strtoull(words[2], NULL, 10), words[3], sizes[3]);
    world.refusals += !outcome;
    server->refusals += !outcome;
    if (!outcome)
        return reply_error("OOM command not allowed when used memory > 'maxmemory'.");
    redisReply *reply = reply_array(5);
    reply->element[0] = reply_text(outcome);
    reply->element[1] = reply_number(key->generation);
    reply->element[2] = key_digest(key);
    reply->element[3] =
        incarnation && incarnation == key->incarnation ? reply_cursor(incarnation, from) : key_cursor(key);
    reply->element[4] = key_cursor(key);
    world.pushes++;
    return reply;
}

/* One message each way: the set of the initiator, and that of the responder. The session is the incarnation of the
   value. */
static redisReply *do_ask(struct server *server, struct key *key, char **words, size_t count)
{
    char session[24];
    uint64_t mask;
    if (!key->value)
        return reply_error("ERR not found");
    snprintf(session, sizeof session, "%" PRIu64, key->incarnation >> 1);
    redisReply *reply = reply_array(count == 3 ? 2 : 5);
    if (count == 3 && strtoull(words[2], NULL, 10) != key->generation)
        return freeReplyObject(reply), reply_error("STALE another generation");
    if (count == 4 && strcmp(words[2], session) != 0)
        return freeReplyObject(reply), reply_error("ERR no such session");
    reply->element[0] = reply_text(session);
    if (count == 3)
        return reply->element[1] = reply_frame('S', key->mask), reply;
    memcpy(&mask, words[3] + 1, 8);
    if (words[3][0] == 'T' || is_refused(server, key, mask)) /* refused by the other side, or here */
        return freeReplyObject(reply), refuse_future();
    if (take_mask(key, mask))
        changed(server, key);
    reply->element[1] = reply_nil();
    reply->element[2] = reply_number(key->mask == mask);
    reply->element[3] = key_digest(key);
    reply->element[4] = key_cursor(key);
    world.syncs++;
    return reply;
}

static redisReply *do_sync(struct server *server, struct key *key, char **words)
{
    uint64_t mask;
    if (!key->value)
        return reply_error("ERR not found");
    if (strtoull(words[4], NULL, 10) != key->generation)
        return reply_error("STALE another generation");
    memcpy(&mask, words[2] + 1, 8);
    if (is_refused(server, key, mask))
        return reply_frame('T', 0);
    if (take_mask(key, mask))
        changed(server, key);
    return reply_frame('S', key->mask);
}

static redisReply *carry_out(struct server *server, char **words, const size_t *sizes, size_t count)
{
    if (strcmp(words[0], "TIME") == 0)
        return do_time(server);
    struct key *key = &server->keys[key_number((roost_bytes){words[1], 2})];
    if (strcmp(words[0], "ROOST.PULL") == 0)
        return do_pull(key, words, count);
    if (strcmp(words[0], "ROOST.PUSH") == 0)
        return do_push(server, key, words, sizes);
    if (strcmp(words[0], "ROOST.ASK") == 0)
        return do_ask(server, key, words, count);
    if (strcmp(words[0], "ROOST.SYNC") == 0)
        return do_sync(server, key, words);
    return reply_error("ERR unknown command");
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

struct node {
    struct deployment *deployment;
    void *place;
};

struct call {
    struct call *next;
    struct deployment *deployment;
    struct timer *timer;
    char *words[40];
    size_t sizes[40], count;
    bool waits, waiting;
    struct change_cursor since;
    uint64_t most;
    redisReply *reply;
    answered *answer;
    void *context;
};

struct deployment {
    struct event_loop *loop;
    struct server *server;
    struct deployment_events events;
    struct node node;
    struct call *calls;
    struct timer *reconnect;
    uint64_t arrive[2], back[2]; /* in order, for each of the two connections */
    bool up;
    char key[32];
};

static void print_word(const char *word, size_t size)
{
    uint64_t mask;
    if (size == 9 && strchr("WDST", word[0])) {
        memcpy(&mask, word + 1, 8);
        printf(" %c:%" PRIx64, word[0], mask);
    } else {
        printf(" %s", word);
    }
}

static void print_reply(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        printf(" %lld", reply->integer);
    else if (reply->type == REDIS_REPLY_ARRAY)
        for (size_t i = 0; i < reply->elements; i++)
            print_reply(reply->element[i]);
    else if (reply->type == REDIS_REPLY_NIL)
        printf(" nil");
    else
        print_word(reply->str, (size_t)reply->len);
}

static bool is_traced(const struct call *call)
{
    return world.traced && call->count > 1 && strcmp(call->words[1], world.traced) == 0;
}

static void trace_call(const struct call *call)
{
    if (!is_traced(call))
        return;
    printf("%" PRIu64 " to %u%s:", world.now, (unsigned)(call->deployment->server - world.server),
           call->deployment->up ? "" : ", which is down");
    for (size_t i = 0; i < call->count; i++)
        print_word(call->words[i], call->sizes[i]);
    printf("\n");
}

static void trace_reply(const struct call *call, const redisReply *reply)
{
    if (!is_traced(call))
        return;
    printf("%" PRIu64 " from %u:", world.now, (unsigned)(call->deployment->server - world.server));
    if (reply)
        print_reply(reply);
    printf(reply ? "\n" : " no reply\n");
}

static void call_over(struct call *call, const redisReply *reply)
{
    trace_reply(call, reply);
    struct call **at = &call->deployment->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    timer_remove(call->timer);
    call->answer(call->context, reply, reply ? NULL : "the connection broke");
    if (call->reply)
        freeReplyObject(call->reply);
    for (size_t i = 0; i < call->count; i++)
        free(call->words[i]);
    free(call);
}

static void come_back(void *context)
{
    struct call *call = context;
    call->timer = NULL;
    call_over(call, call->reply);
}

static uint64_t delay(uint64_t *last)
{
    uint64_t at = world.now + 1 + draw(draw(20) == 0 ? 300 : 5);
    *last = at > *last ? at : *last;
    return *last - world.now;
}

static void send_back(struct call *call, redisReply *reply)
{
    call->reply = reply;
    call->waiting = false;
    timer_remove(call->timer);
    call->timer = timer_add(call->deployment->loop, delay(&call->deployment->back[call->waits]), come_back, call);
}

static void waited(void *context)
{
    struct call *call = context;
    call->timer = NULL;
    send_back(call, summary_since(call->deployment->server, &call->since, call->most));
}

static void wake_waiters(struct server *server)
{
    for (struct call *call = server->deployment ? server->deployment->calls : NULL; call; call = call->next)
        if (call->waiting)
            send_back(call, summary_since(server, &call->since, call->most));
}

static const char *argument(const struct call *call, const char *key)
{
    for (size_t i = 1; i + 1 < call->count; i += 2)
        if (strcmp(call->words[i], key) == 0)
            return call->words[i + 1];
    return NULL;
}

static void summarise(struct call *call)
{
    struct server *server = call->deployment->server;
    const char *change_cursor = argument(call, "SINCE"), *wait = argument(call, "WAIT");
    call->since = change_cursor_read(change_cursor ? change_cursor : "", server->incarnation, server->sequence);
    call->most = strtoull(argument(call, "COUNT"), NULL, 10) / 500;
    if (server->old && change_cursor_has_missed(&call->since, server->floor))
        call->since.position = 0;
    server->summaries++;
    world.stalls += call->most > 2;
    if (wait && call->since.position == server->sequence) {
        call->waiting = true;
        call->timer = timer_add(call->deployment->loop, strtoull(wait, NULL, 10), waited, call);
    } else {
        send_back(call, summary_since(server, &call->since, call->most));
    }
}

static void arrive(void *context)
{
    struct call *call = context;
    struct server *server = call->deployment->server;
    call->timer = NULL;
    if (server->frozen_until > world.now)
        call->timer = timer_add(call->deployment->loop, server->frozen_until - world.now, arrive, call);
    else if (call->waits)
        summarise(call);
    else
        server->commands++, send_back(call, carry_out(server, call->words, call->sizes, call->count));
}

static void refuse_call(void *context)
{
    struct call *call = context;
    call->timer = NULL;
    call_over(call, NULL);
}

static void call_new(struct deployment *deployment, struct words words, bool waits, answered *answer, void *context)
{
    struct call *call = calloc(1, sizeof *call);
    *call = (struct call){.next = deployment->calls, .deployment = deployment, .waits = waits, .answer = answer};
    call->context = context;
    call->count = words.count;
    for (size_t i = 0; i < words.count; i++) {
        call->words[i] = malloc(words.words[i].size + 1);
        call->sizes[i] = words.words[i].size;
        memcpy(call->words[i], words.words[i].data, words.words[i].size);
        call->words[i][words.words[i].size] = '\0';
    }
    deployment->calls = call;
    trace_call(call);
    call->timer = deployment->up ? timer_add(deployment->loop, delay(&deployment->arrive[waits]), arrive, call)
                                 : timer_add(deployment->loop, 500, refuse_call, call);
}

static void connect_again(void *context)
{
    struct deployment *deployment = context;
    deployment->reconnect = NULL;
    deployment->up = true;
    deployment->events.node_up(deployment->events.context, &deployment->node);
}

static void break_connections(struct deployment *deployment)
{
    if (!deployment->up)
        return;
    deployment->up = false;
    struct call *given[4096], *call = deployment->calls;
    size_t count = 0;
    for (; call; call = call->next)
        given[count++] = call;
    while (count > 0)
        call_over(given[--count], NULL);
    deployment->events.node_down(deployment->events.context, &deployment->node);
    deployment->node.place = NULL;
    deployment->reconnect = timer_add(deployment->loop, 20 + draw(500), connect_again, deployment);
    world.breaks++;
}

struct deployment *deployment_open(struct event_loop *loop, const char *url, const struct secrets *secrets,
                                   const struct connection_options *options, const struct deployment_events *events)
{
    struct deployment *deployment = calloc(1, sizeof *deployment);
    (void)secrets, (void)options;
    deployment->loop = loop;
    deployment->server = &world.server[atoi(url)];
    deployment->server->deployment = deployment;
    deployment->events = *events;
    deployment->node.deployment = deployment;
    snprintf(deployment->key, sizeof deployment->key, "server-%s", url);
    deployment->reconnect = timer_add(loop, 1 + draw(10), connect_again, deployment);
    world.engine = ((struct region *)events->context)->engine;
    return deployment;
}

void deployment_close(struct deployment *deployment)
{
    timer_remove(deployment->reconnect);
    deployment->up = false;
    while (deployment->calls)
        call_over(deployment->calls, NULL);
    deployment->server->deployment = NULL;
    free(deployment);
}

const char *deployment_name(const struct deployment *deployment)
{
    return deployment->key;
}

bool deployment_is_cluster(const struct deployment *deployment)
{
    (void)deployment;
    return false;
}

uint64_t deployment_sent(const struct deployment *deployment)
{
    (void)deployment;
    return 0;
}

uint64_t deployment_received(const struct deployment *deployment)
{
    (void)deployment;
    return 0;
}

struct node *deployment_node(struct deployment *deployment, roost_bytes key)
{
    (void)key;
    return deployment->up ? &deployment->node : NULL;
}

void deployment_ask(struct deployment *deployment, int database, roost_bytes key, struct words command,
                    answered *answer, void *context)
{
    (void)database, (void)key;
    call_new(deployment, command, false, answer, context);
}

void node_wait(struct node *node, struct words command, answered *answer, void *context)
{
    call_new(node->deployment, command, true, answer, context);
}

const char *node_name(const struct node *node)
{
    return node->deployment->key;
}

void **node_place(struct node *node)
{
    return &node->place;
}

struct secrets *secrets_read(const char *file)
{
    (void)file;
    return malloc(1);
}

void secrets_free(struct secrets *secrets)
{
    free(secrets);
}

void secrets_hide(char *url)
{
    (void)url;
}

struct metrics *metrics_open(struct engine *engine, uint16_t port)
{
    (void)engine, (void)port;
    return NULL;
}

void metrics_close(struct metrics *metrics)
{
    (void)metrics;
}

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

/*
 * A push wrote a span at B, and A accepted the same frame later than the point that the pair B to A is about. When the
 * cursor moves past the span, the pair must not claim that A had it before: C, which has A's earlier state, does not
 * have it.
 */
static void check_spans(void)
{
    enum { A, B, C };
    struct rows rows;
    rows_begin(&rows, 3);
    struct row *row = rows_get(&rows, 0, (roost_bytes){"n0", 2});
    for (unsigned region = 0; region < 3; region++)
        row->views[region] =
            (struct view){.known = true, .value = true, .digest = {{(uint8_t)region}}, .cursor = {16 + region, 9}};
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
    enum { A, B, C };
    struct rows rows;
    rows_begin(&rows, 3);
    struct row *row = rows_get(&rows, 0, (roost_bytes){"n0", 2});
    for (unsigned region = 0; region < 3; region++)
        row->views[region] = (struct view){
            .known = true, .value = true, .digest = {{(uint8_t)(region == A)}}, .cursor = {16 + region, 9}};
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
