/*
 * See sync_sessions.h.
 *
 * A sync may point to its filter, and another thread may free the filter. So the list of sessions has a lock, and the
 * sessions of a filter end before it is freed. Only the main thread uses a session whose filter is at a key.
 */
#include "sync_sessions.h"

#include <pthread.h>

#define MOST_SESSIONS 256
#define MOST_OF_A_KEY 4
#define FORGET_AFTER  60000 /* milliseconds */

static struct kept {
    struct sync_session session; /* serial 0: none */
    const struct filter_value *filter;
    uint64_t generation; /* a renamed value keeps its sessions, but their replies are for the old key */
    long long touched;
} sessions[MOST_SESSIONS];
static uint64_t last_serial;
static bool watched; /* a timer is set that ends old ones */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void sync_session_free(struct sync_session *session)
{
    roost_sync_free(session->sync);
    roost_filter_free(session->copy);
    RedisModule_Free(session->memory);
    *session = (struct sync_session){0};
}

/* The caller holds the lock. */
static void forget(struct kept *kept)
{
    sync_session_free(&kept->session);
    *kept = (struct kept){0};
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
        if (sessions[i].session.serial && RedisModule_Milliseconds() - sessions[i].touched >= FORGET_AFTER)
            forget(&sessions[i]);
        watched |= sessions[i].session.serial != 0;
    }
    pthread_mutex_unlock(&lock);
    if (watched)
        RedisModule_CreateTimer(ctx, FORGET_AFTER, watch, NULL);
}

/* A free place, or that of the oldest session: of the filter if it has many, otherwise of all. */
static struct kept *place_for(const struct filter_value *filter)
{
    struct kept *own = NULL, *any = &sessions[0];
    size_t count = 0;
    for (size_t i = 0; i < MOST_SESSIONS; i++) {
        struct kept *kept = &sessions[i];
        if (kept->session.serial < any->session.serial)
            any = kept;
        if (kept->filter != filter)
            continue;
        if (!own || kept->session.serial < own->session.serial)
            own = kept;
        count++;
    }
    return count >= MOST_OF_A_KEY ? own : any;
}

void sync_session_keep(struct sync_session *session, struct target *target)
{
    pthread_mutex_lock(&lock);
    struct kept *place = place_for(target->filter);
    forget(place);
    if (!session->serial)
        session->serial = ++last_serial;
    *place = (struct kept){*session, target->filter, target_generation(target), RedisModule_Milliseconds()};
    pthread_mutex_unlock(&lock);
    if (!watched)
        RedisModule_CreateTimer(target->ctx, FORGET_AFTER, watch, NULL);
    watched = true;
}

bool sync_session_take(struct sync_session *session, const struct target *target, const RedisModuleString *serial)
{
    unsigned long long wanted;
    bool found = false;
    if (RedisModule_StringToULongLong(serial, &wanted) != REDISMODULE_OK || wanted == 0)
        return false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MOST_SESSIONS && !found; i++) {
        found = sessions[i].session.serial == wanted && sessions[i].filter == target->filter &&
                sessions[i].generation == target_generation(target);
        if (found) {
            *session = sessions[i].session;
            sessions[i] = (struct kept){0};
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}
