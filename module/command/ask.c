/*
 * See ask.h.
 *
 * A sync points to its filter, and another thread may free the filter. So the list of sessions has a lock, and the
 * sessions of a filter end before it is freed. Only the main thread uses a session whose filter is at a key.
 */
#include "ask.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "module/base/arguments.h"
#include "module/base/replies.h"
#include "module/job/digest_job.h"
#include "module/key/changes.h"
#include "module/key/target.h"
#include "cursors.h"

#define MOST_SESSIONS 256
#define MOST_OF_A_KEY 4
#define FORGET_AFTER  60000 /* milliseconds */

static struct session {
    uint64_t serial; /* 0: none */
    const struct filter_value *filter;
    uint64_t generation; /* a renamed value keeps its sessions, but their replies are for the old key */
    roost_sync *sync;
    long long touched;
} sessions[MOST_SESSIONS];
static uint64_t last_serial;
static bool watched; /* a timer is set that ends old ones */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The caller holds the lock. */
static void forget(struct session *session)
{
    roost_sync_free(session->sync);
    *session = (struct session){0};
}

static void end(struct session *session)
{
    pthread_mutex_lock(&lock);
    forget(session);
    pthread_mutex_unlock(&lock);
}

static void forget_filter(struct value *value)
{
    const struct filter_value *filter = (const struct filter_value *)value;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MOST_SESSIONS; i++)
        if (sessions[i].filter == filter)
            forget(&sessions[i]);
    pthread_mutex_unlock(&lock);
}

static bool pins(const struct value *value)
{
    const struct filter_value *filter = (const struct filter_value *)value;
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MOST_SESSIONS; i++)
        found |= sessions[i].filter == filter;
    pthread_mutex_unlock(&lock);
    return found;
}

const struct value_observer sync_sessions_observer = {.freed = forget_filter, .pins = pins};

void sync_sessions_end(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MOST_SESSIONS; i++)
        forget(&sessions[i]);
    pthread_mutex_unlock(&lock);
}

static void watch(RedisModuleCtx *ctx, void *unused)
{
    (void)unused;
    watched = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MOST_SESSIONS; i++) {
        if (sessions[i].serial && RedisModule_Milliseconds() - sessions[i].touched >= FORGET_AFTER)
            forget(&sessions[i]);
        watched |= sessions[i].serial != 0;
    }
    pthread_mutex_unlock(&lock);
    if (watched)
        RedisModule_CreateTimer(ctx, FORGET_AFTER, watch, NULL);
}

/* A free place, or that of the oldest session: of the filter if it has many, otherwise of all. */
static struct session *place_for(const struct filter_value *filter)
{
    struct session *own = NULL, *any = &sessions[0];
    size_t count = 0;
    for (size_t i = 0; i < MOST_SESSIONS; i++) {
        struct session *session = &sessions[i];
        if (session->serial < any->serial)
            any = session;
        if (session->filter != filter)
            continue;
        if (!own || session->serial < own->serial)
            own = session;
        count++;
    }
    return count >= MOST_OF_A_KEY ? own : any;
}

static roost_status begin(struct session **session, struct target *target)
{
    roost_sync *sync;
    roost_status status = roost_sync_new(&sync, target->filter->filter, NULL, 0);
    if (status != ROOST_OK)
        return status;
    pthread_mutex_lock(&lock);
    *session = place_for(target->filter);
    forget(*session);
    **session = (struct session){
        .serial = ++last_serial, .filter = target->filter, .generation = target_generation(target), .sync = sync};
    pthread_mutex_unlock(&lock);
    if (!watched)
        RedisModule_CreateTimer(target->ctx, FORGET_AFTER, watch, NULL);
    watched = true;
    return ROOST_OK;
}

static struct session *find(const struct target *target, const RedisModuleString *name)
{
    unsigned long long serial;
    struct session *found = NULL;
    if (RedisModule_StringToULongLong(name, &serial) != REDISMODULE_OK || serial == 0)
        return NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MOST_SESSIONS && !found; i++)
        if (sessions[i].serial == serial && sessions[i].filter == target->filter &&
            sessions[i].generation == target_generation(target))
            found = &sessions[i];
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* The result of one step: an error, a request, or the end. */
struct asked {
    const char *error;
    roost_status status;
    uint64_t serial;
    RedisModuleString *request;
    bool equal, placed; /* both sides are equal; there is a cursor */
    roost_digest digest;
    roost_cursor cursor;
};

/* Applies the reply and makes the next request. */
static void go_on(struct target *target, struct session *session, roost_bytes reply, struct asked *asked)
{
    roost_buffer request = {0};
    session->touched = RedisModule_Milliseconds();
    asked->serial = session->serial;
    asked->status = target_ask(target, session->sync, &request, reply.data, reply.size);
    asked->request = outcome_bytes(&request);
    if (asked->status == ROOST_OK && !asked->request) {
        asked->equal = roost_sync_get_result(session->sync).equal;
        asked->digest = roost_filter_digest(target->filter->filter);
        asked->placed = filter_value_cursor(target->filter, &asked->cursor) == ROOST_OK;
    }
    if (asked->status != ROOST_OK || !asked->request)
        end(session);
}

static void act(struct target *target, void *outcome, RedisModuleString **argv, int argc)
{
    struct asked *asked = outcome;
    struct session *session = NULL;
    if (argc == 4)
        session = find(target, argv[2]);
    else
        asked->status = begin(&session, target);
    if (session)
        go_on(target, session, argc == 4 ? argument_bytes(argv[3]) : (roost_bytes){NULL, 0}, asked);
    else if (asked->status == ROOST_OK)
        asked->error = "ERR no such session";
}

static void reply_end(RedisModuleCtx *ctx, const struct asked *asked)
{
    RedisModule_ReplyWithNull(ctx);
    RedisModule_ReplyWithLongLong(ctx, asked->equal);
    reply_digest(ctx, asked->digest);
    if (asked->placed)
        reply_cursor(ctx, asked->cursor);
    else
        RedisModule_ReplyWithNull(ctx);
}

static int reply_asked(RedisModuleCtx *ctx, const void *outcome)
{
    const struct asked *asked = outcome;
    char serial[24];
    if (asked->error)
        return RedisModule_ReplyWithError(ctx, asked->error);
    if (asked->status != ROOST_OK)
        return reply_status(ctx, asked->status);
    snprintf(serial, sizeof serial, "%llu", (unsigned long long)asked->serial);
    RedisModule_ReplyWithArray(ctx, asked->request ? 2 : 5);
    RedisModule_ReplyWithCString(ctx, serial);
    if (asked->request)
        RedisModule_ReplyWithString(ctx, asked->request);
    else
        reply_end(ctx, asked);
    return REDISMODULE_OK;
}

static void release_asked(void *outcome)
{
    outcome_release(((struct asked *)outcome)->request);
}

static const struct digest_verb ask_verb = {sizeof(struct asked), REDISMODULE_READ | REDISMODULE_WRITE, act,
                                            reply_asked, release_asked};

int ask_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    if (argc != 3 && argc != 4)
        return RedisModule_WrongArity(ctx);
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE))
        return REDISMODULE_OK;
    if (argc == 3 && !target_is_at(&target, argv[2]))
        return REDISMODULE_OK;
    return digest_run(&target, &ask_verb, argv, argc);
}
