/*
 * The world of simulate_link.c: models of servers that reply to the commands of a link as the module does, connections to
 * them that break, and time that passes only where nothing is left to do. The client, event loop and metrics that the
 * engine calls are replaced by these.
 */
#ifndef TESTS_SIMULATED_REGIONS_H
#define TESTS_SIMULATED_REGIONS_H

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

#endif
