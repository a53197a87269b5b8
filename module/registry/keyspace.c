/* See keyspace.h. */
#include "keyspace.h"

#include <string.h>

#include "module/base/client_database.h"
#include "key_removals.h"
#include "links.h"
#include "registry.h"
#include "tombstones.h"

#define EVENTS                                                                                                         \
    (REDISMODULE_NOTIFY_GENERIC | REDISMODULE_NOTIFY_EXPIRED | REDISMODULE_NOTIFY_EVICTED | REDISMODULE_NOTIFY_LOADED)

/* ---- one key ----------------------------------------------------------------------------------------------------- */

/* Events by which a value comes to a key. A value that was renamed still has the generation of its old key. */
static const struct arrival {
    const char *event;
    bool renamed;
} arrivals[] = {{"loaded", false}, {"rename_to", true}, {"move_to", true}, {"copy_to", false}, {"restore", false}};

static const struct arrival *arrival_by(const char *event)
{
    for (size_t i = 0; i < sizeof arrivals / sizeof *arrivals; i++)
        if (strcmp(event, arrivals[i].event) == 0)
            return &arrivals[i];
    return NULL;
}

/* A value that is loaded has its generation; the tombstones may be loaded after it. */
static void take_generation(RedisModuleCtx *ctx, struct value *value, RedisModuleString *key,
                            const struct arrival *arrival)
{
    if (strcmp(arrival->event, "loaded") == 0 || !value->class->cursor)
        return;
    uint64_t generation = tombstones_generation_of(ctx, key);
    if (arrival->renamed || value->generation < generation)
        value->generation = generation;
}

static void note_arrival(RedisModuleCtx *ctx, RedisModuleString *key, const struct arrival *arrival)
{
    struct value *value = value_at(ctx, key);
    /* a replica may load beside the data that it has, and what it loads cannot be seen before it replaces them */
    if (strcmp(arrival->event, "loaded") == 0 && (value ? value->entry != NULL : !RedisModule_KeyExists(ctx, key))) {
        registry_set_incomplete();
    } else if (value) {
        take_generation(ctx, value, key, arrival);
        registry_arrive(ctx, value, key);
        if (value->class == &tombstones_class && strcmp(arrival->event, "restore") == 0)
            tombstones_catch_up(value);
    }
}

static void note_event(RedisModuleCtx *ctx, int type, const char *event, RedisModuleString *key)
{
    const struct arrival *arrival = arrival_by(event);
    key_removals_explain(ctx, event, key);
    if (type == REDISMODULE_NOTIFY_EVICTED)
        registry_note_eviction(ctx, key);
    if (!arrival)
        return;
    /* while the server loads, the string is on its stack and must not be retained */
    RedisModuleString *copy = RedisModule_CreateStringFromString(NULL, key);
    note_arrival(ctx, copy, arrival);
    RedisModule_FreeString(NULL, copy);
}

static int on_event(RedisModuleCtx *ctx, int type, const char *event, RedisModuleString *key)
{
    note_event(ctx, type, event, key);
    client_database_restore(ctx, event);
    return REDISMODULE_OK;
}

/* ---- all keys at once -------------------------------------------------------------------------------------------- */

static void begin_incarnation(int database, bool emptied)
{
    if (database == ALL_DATABASES || database == 0)
        links_forget(emptied);
    tombstones_leave_all(database);
    registry_restart(database);
}

/* The values are freed without an event of their own. */
static void on_flush(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t moment, void *data)
{
    (void)ctx, (void)event;
    int database = ((RedisModuleFlushInfo *)data)->dbnum;
    if (moment == REDISMODULE_SUBEVENT_FLUSHDB_START)
        begin_incarnation(database, database == ALL_DATABASES);
}

static void on_exchange_of_data(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t moment, void *data)
{
    (void)ctx, (void)event, (void)moment, (void)data;
    begin_incarnation(ALL_DATABASES, false);
    registry_set_incomplete();
}

int keyspace_begin(RedisModuleCtx *ctx)
{
    registry_begin(tombstones_generation);
    bool subscribed =
        RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_FlushDB, on_flush) == REDISMODULE_OK &&
        RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_SwapDB, on_exchange_of_data) == REDISMODULE_OK &&
        RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_ReplAsyncLoad, on_exchange_of_data) == REDISMODULE_OK;
    int events = EVENTS | (RedisModule_GetKeyspaceNotificationFlagsAll() & NOTIFY_KEY_TRIMMED);
    if (!subscribed || RedisModule_SubscribeToKeyspaceEvents(ctx, events, on_event) != REDISMODULE_OK)
        return REDISMODULE_ERR;
    return key_removals_begin(ctx);
}

void keyspace_end(void)
{
    tombstones_leave_all(ALL_DATABASES);
    registry_end();
    key_removals_end();
}
