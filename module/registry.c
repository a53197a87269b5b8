/*
 * See registry.h.
 *
 * Values may be freed on another thread, where the main thread was not told that they go. So entry and value know each
 * other through a pair of pointers that are cut under a lock, by whoever goes first. An entry whose value went first is
 * an orphan; it is swept away as other entries come. Everything else is the main thread's alone.
 */
#include "registry.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#define SWEPT_AT_ONCE 2
#define FEW           1024      /* names that hold nothing are kept, and as many as there are others; */
#define LONG_AGO      (1 << 20) /* but none from so many changes ago */

struct registry registry;
static struct registry_entry *next_swept, *last_found;
static uint64_t empty;  /* entries without a value */
static bool incomplete; /* there may be keys that it has not been told of */
static void (*wake)(void);

/* ---- the list ------------------------------------------------------------------------------------------------------
 */

static void take_out(struct registry_entry *entry)
{
    if (next_swept == entry)
        next_swept = entry->newer;
    if (last_found == entry)
        last_found = entry->older;
    *(entry->newer ? &entry->newer->older : &registry.newest) = entry->older;
    *(entry->older ? &entry->older->newer : &registry.oldest) = entry->newer;
}

static void put_first(struct registry_entry *entry)
{
    entry->newer = NULL;
    entry->older = registry.newest;
    *(registry.newest ? &registry.newest->newer : &registry.oldest) = entry;
    registry.newest = entry;
}

static void move_to_front(struct registry_entry *entry)
{
    entry->stale = true;
    if (registry.newest != entry) {
        take_out(entry);
        put_first(entry);
    }
    entry->sequence = ++registry.sequence;
    if (wake)
        wake();
}

void registry_wake_at_change(void (*function)(void))
{
    wake = function;
}

struct registry_entry *registry_after(uint64_t sequence)
{
    struct registry_entry *entry = last_found ? last_found : registry.newest;
    if (sequence == 0)
        entry = registry.oldest;
    while (entry && entry->sequence > sequence && entry->older)
        entry = entry->older;
    while (entry && entry->sequence <= sequence)
        entry = entry->newer;
    last_found = entry;
    return entry;
}

/* ---- values and their entries --------------------------------------------------------------------------------------
 */

static pthread_mutex_t ties = PTHREAD_MUTEX_INITIALIZER;

static void cut(struct registry_entry *entry)
{
    pthread_mutex_lock(&ties);
    if (entry->value)
        entry->value->entry = NULL;
    entry->value = NULL;
    pthread_mutex_unlock(&ties);
}

static bool is_orphan(const struct registry_entry *entry)
{
    pthread_mutex_lock(&ties);
    bool orphan = entry->value == NULL;
    pthread_mutex_unlock(&ties);
    return orphan;
}

static void drop(struct registry_entry *entry)
{
    cut(entry);
    take_out(entry);
    registry.digest -= entry->part;
    RedisModule_FreeString(NULL, entry->name);
    RedisModule_Free(entry);
}

/* Names that hold nothing, of old, or where there are many. */
static void sweep(void)
{
    for (int i = 0; i < SWEPT_AT_ONCE; i++) {
        struct registry_entry *entry = next_swept ? next_swept : registry.oldest;
        if (!entry)
            return;
        next_swept = entry->newer;
        bool old = entry->sequence + LONG_AGO < registry.sequence;
        if (!is_orphan(entry) || !(old || empty > FEW + registry.keys))
            continue;
        if (registry.floor < entry->sequence)
            registry.floor = entry->sequence;
        empty--;
        drop(entry);
    }
}

void registry_leave(struct value *value)
{
    struct registry_entry *entry = value->entry;
    if (!entry)
        return;
    cut(entry);
    registry.keys--;
    empty++;
    move_to_front(entry);
}

void registry_orphan(struct value *value)
{
    pthread_mutex_lock(&ties);
    if (value->entry)
        value->entry->value = NULL;
    value->entry = NULL;
    pthread_mutex_unlock(&ties);
}

/* While loading, the name is on the server's stack and must not be held. */
static void join(struct value *value, RedisModuleString *name, int database)
{
    sweep();
    struct registry_entry *entry = RedisModule_Calloc(1, sizeof *entry);
    entry->value = value;
    entry->name = RedisModule_CreateStringFromString(NULL, name);
    entry->database = database;
    put_first(entry);
    registry.keys++;
    value->entry = entry;
}

void registry_touch(RedisModuleCtx *ctx, struct value *value, RedisModuleString *name)
{
    if (!value->entry)
        join(value, name, RedisModule_GetSelectedDb(ctx));
    move_to_front(value->entry);
}

uint64_t registry_generation(RedisModuleCtx *ctx, RedisModuleString *name)
{
    (void)ctx, (void)name;
    return 0;
}

/* All that was told may be otherwise now. */
static void begin_another_life(void)
{
    while (registry.oldest)
        drop(registry.oldest);
    registry.keys = empty = 0;
    if (getrandom(&registry.incarnation, sizeof registry.incarnation, 0) != sizeof registry.incarnation)
        registry.incarnation += 2;
    registry.incarnation |= 1;
    if (wake)
        wake();
}

/* ---- names ---------------------------------------------------------------------------------------------------------
 */

static struct value *value_at(RedisModuleCtx *ctx, RedisModuleString *name)
{
    RedisModuleKey *key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_OPEN_KEY_NOTOUCH);
    struct value *value =
        key && RedisModule_ModuleTypeGetType(key) == value_type ? RedisModule_ModuleTypeGetValue(key) : NULL;
    RedisModule_CloseKey(key);
    return value;
}

static bool gives_a_name(const char *event)
{
    static const char *const events[] = {"loaded", "rename_to", "move_to", "copy_to", "restore"};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (strcmp(event, events[i]) == 0)
            return true;
    return false;
}

static void name_value(RedisModuleCtx *ctx, struct value *value, RedisModuleString *name)
{
    if (!value->class->cursor)
        return;
    registry_leave(value);
    registry_touch(ctx, value, name);
}

static int on_event(RedisModuleCtx *ctx, int type, const char *event, RedisModuleString *name)
{
    (void)type;
    if (!gives_a_name(event))
        return REDISMODULE_OK;
    /* while loading, the name is on the server's stack and must not be held */
    RedisModuleString *copy = RedisModule_CreateStringFromString(NULL, name);
    struct value *value = value_at(ctx, copy);
    /* a replica may load beside the data that it has, which cannot be looked at before it takes their place */
    if (strcmp(event, "loaded") == 0 && (value ? value->entry != NULL : !RedisModule_KeyExists(ctx, copy)))
        incomplete = true;
    else if (value)
        name_value(ctx, value, copy);
    RedisModule_FreeString(NULL, copy);
    return REDISMODULE_OK;
}

static void scan_key(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleKey *key, void *unused)
{
    (void)unused;
    struct value *value = key ? NULL : value_at(ctx, name);
    if (key && RedisModule_ModuleTypeGetType(key) == value_type)
        value = RedisModule_ModuleTypeGetValue(key);
    if (value && !value->entry)
        name_value(ctx, value, name);
}

/* Walks through all keys of the server, once after such a load. */
void registry_complete(RedisModuleCtx *ctx)
{
    if (!incomplete)
        return;
    int database = RedisModule_GetSelectedDb(ctx);
    for (int i = 0; RedisModule_SelectDb(ctx, i) == REDISMODULE_OK; i++) {
        RedisModuleScanCursor *cursor = RedisModule_ScanCursorCreate();
        while (RedisModule_Scan(ctx, cursor, scan_key, NULL))
            continue;
        RedisModule_ScanCursorDestroy(cursor);
    }
    RedisModule_SelectDb(ctx, database);
    incomplete = false;
}

/* ---- all at once ---------------------------------------------------------------------------------------------------
 */

/* Values go without a word of their own; those of other databases are found again. */
static void on_flush(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t moment, void *data)
{
    (void)ctx, (void)event;
    if (moment != REDISMODULE_SUBEVENT_FLUSHDB_START)
        return;
    begin_another_life();
    incomplete |= ((RedisModuleFlushInfo *)data)->dbnum >= 0;
}

static void on_exchange_of_data(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t moment, void *data)
{
    (void)ctx, (void)event, (void)moment, (void)data;
    begin_another_life();
    incomplete = true;
}

int registry_begin(RedisModuleCtx *ctx)
{
    registry.sequence = 1; /* a mark that tells of no change yet is not the one that asks for everything */
    begin_another_life();
    bool told =
        RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_FlushDB, on_flush) == REDISMODULE_OK &&
        RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_SwapDB, on_exchange_of_data) == REDISMODULE_OK &&
        RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_ReplAsyncLoad, on_exchange_of_data) == REDISMODULE_OK;
    return told ? RedisModule_SubscribeToKeyspaceEvents(ctx, REDISMODULE_NOTIFY_GENERIC | REDISMODULE_NOTIFY_LOADED,
                                                        on_event)
                : REDISMODULE_ERR;
}

void registry_end(void)
{
    while (registry.oldest)
        drop(registry.oldest);
}
