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

#include "key_removals.h"
#include "tombstones.h"
#include "links.h"

#define EVENTS                                                                                                         \
    (REDISMODULE_NOTIFY_GENERIC | REDISMODULE_NOTIFY_EXPIRED | REDISMODULE_NOTIFY_EVICTED | REDISMODULE_NOTIFY_LOADED)
#define SWEPT_AT_ONCE 2
#define FEW           1024      /* names that hold nothing are kept, and as many as there are others; */
#define LONG_AGO      (1 << 20) /* but none from so many changes ago */
#define FOUND         8         /* places in the list that are remembered */

struct registry registry;
static struct registry_entry *next_swept;
static struct registry_entry *last_found[FOUND]; /* by those who ask in turn; NULL: none */
static unsigned next_found;
static RedisModuleDict *names; /* entries by database and name */
static uint64_t empty;         /* entries of names that hold nothing, and that no grave tells of; */
static uint64_t empty_deleted; /* and that one tells of */
static bool incomplete;        /* there may be keys that it has not been told of */
static void (*wake)(void);

/* ---- the list ------------------------------------------------------------------------------------------------------
 */

static void take_out(struct registry_entry *entry)
{
    if (next_swept == entry)
        next_swept = entry->newer;
    for (unsigned i = 0; i < FOUND; i++)
        if (last_found[i] == entry)
            last_found[i] = entry->older;
    if (registry.stale == entry)
        registry.stale = entry->newer;
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
    if (registry.newest != entry) {
        take_out(entry);
        put_first(entry);
    }
    entry->stale = true;
    if (!registry.stale)
        registry.stale = entry;
    entry->sequence = ++registry.sequence;
    if (wake)
        wake();
}

void registry_wake_at_change(void (*function)(void))
{
    wake = function;
}

static uint64_t distance(const struct registry_entry *entry, uint64_t sequence)
{
    return entry->sequence > sequence ? entry->sequence - sequence : sequence - entry->sequence;
}

/* Several clients page through the list at once, far apart: each begins where it left off itself. */
struct registry_entry *registry_after(uint64_t sequence)
{
    struct registry_entry *entry = registry.newest;
    unsigned place = FOUND;
    if (entry && distance(registry.oldest, sequence) < distance(entry, sequence))
        entry = registry.oldest;
    for (unsigned i = 0; i < FOUND; i++)
        if (last_found[i] && distance(last_found[i], sequence) < distance(entry, sequence))
            entry = last_found[place = i];
    while (entry && entry->sequence > sequence && entry->older)
        entry = entry->older;
    while (entry && entry->sequence <= sequence)
        entry = entry->newer;
    if (entry)
        last_found[place < FOUND ? place : next_found++ % FOUND] = entry;
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

/* Database and name in one; to be freed. */
static uint8_t *full_name(int database, const void *name, size_t size)
{
    uint8_t *full = RedisModule_Alloc(sizeof database + size);
    memcpy(full, &database, sizeof database);
    memcpy(full + sizeof database, name, size);
    return full;
}

static void free_entry(struct registry_entry *entry)
{
    cut(entry);
    RedisModule_FreeString(NULL, entry->name);
    RedisModule_Free(entry);
}

/* Of an entry that holds nothing. */
static uint64_t *counter_of(const struct registry_entry *entry)
{
    return entry->deleted ? &empty_deleted : &empty;
}

static void drop(struct registry_entry *entry)
{
    size_t size;
    const char *name = RedisModule_StringPtrLen(entry->name, &size);
    uint8_t *full = full_name(entry->database, name, size);
    RedisModule_DictDelC(names, full, sizeof entry->database + size, NULL);
    RedisModule_Free(full);
    take_out(entry);
    registry.digest -= entry->part;
    if (entry->left)
        --*counter_of(entry);
    registry.keys -= !entry->left;
    free_entry(entry);
}

/* Names that hold nothing, of old, or where there are many. Those that graves tell of are still known there: whoever
   has heard of such a name elsewhere, and asks for it, is told. */
static void sweep(void)
{
    for (int i = 0; i < SWEPT_AT_ONCE; i++) {
        struct registry_entry *entry = next_swept ? next_swept : registry.oldest;
        if (!entry)
            return;
        next_swept = entry->newer;
        bool old = entry->sequence + LONG_AGO < registry.sequence;
        if (!is_orphan(entry) || !(old || *counter_of(entry) > FEW + registry.keys))
            continue;
        if (registry.floor < entry->sequence)
            registry.floor = entry->sequence;
        drop(entry);
    }
}

void registry_leave(struct value *value)
{
    struct registry_entry *entry = value->entry;
    if (value->class == &tombstones_class)
        tombstones_leave(value);
    if (value->class == &links_class)
        links_leave(value);
    if (!entry)
        return;
    cut(entry);
    registry.keys--;
    ++*counter_of(entry);
    entry->left = true;
    move_to_front(entry);
}

static struct registry_entry *make_entry(int database, const void *name, size_t size)
{
    sweep();
    struct registry_entry *entry = RedisModule_Calloc(1, sizeof *entry);
    entry->name = RedisModule_CreateString(NULL, name, size);
    entry->database = database;
    entry->left = true;
    entry->deleted = tombstones_generation(database, name, size);
    put_first(entry);
    ++*counter_of(entry);
    return entry;
}

/* The entry of a name; where there is none it is NULL, or made. */
static struct registry_entry *entry_of(int database, const void *name, size_t size, bool make)
{
    uint8_t *full = full_name(database, name, size);
    struct registry_entry *entry = RedisModule_DictGetC(names, full, sizeof database + size, NULL);
    if (!entry && make) {
        entry = make_entry(database, name, size);
        RedisModule_DictSetC(names, full, sizeof database + size, entry);
    }
    RedisModule_Free(full);
    return entry;
}

/* ---- burials -------------------------------------------------------------------------------------------------------
 */

static void set_deleted(struct registry_entry *entry, uint64_t generation)
{
    if (entry->left)
        --*counter_of(entry);
    entry->deleted = generation;
    if (entry->left)
        ++*counter_of(entry);
    entry->dropped = entry->evicted = false;
    move_to_front(entry);
}

void registry_set_deleted(int database, const void *name, size_t size, uint64_t generation)
{
    struct registry_entry *entry = entry_of(database, name, size, true);
    set_deleted(entry, entry->deleted > generation ? entry->deleted : generation);
}

void registry_lower_deleted(int database, const void *name, size_t size, uint64_t generation)
{
    struct registry_entry *entry = entry_of(database, name, size, false);
    if (entry && entry->deleted != generation)
        set_deleted(entry, generation);
}

void registry_drop_tombstone(int database, const void *name, size_t size, uint64_t generation)
{
    struct registry_entry *entry = entry_of(database, name, size, true);
    set_deleted(entry, generation);
    entry->dropped = generation == 0;
}

void registry_raise(int database, const void *name, size_t size, uint64_t generation)
{
    struct registry_entry *entry = entry_of(database, name, size, false);
    if (!entry || !entry->value || entry->value->generation >= generation)
        return;
    entry->value->generation = generation;
    move_to_front(entry);
}

uint64_t registry_generation(RedisModuleCtx *ctx, RedisModuleString *name)
{
    size_t size;
    const char *bytes = RedisModule_StringPtrLen(name, &size);
    registry_complete(ctx);
    return tombstones_generation(RedisModule_GetSelectedDb(ctx), bytes, size);
}

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

void registry_orphan(struct value *value)
{
    pthread_mutex_lock(&ties);
    if (value->entry)
        value->entry->value = NULL;
    value->entry = NULL;
    pthread_mutex_unlock(&ties);
}

static void join(struct value *value, RedisModuleString *name, int database)
{
    size_t size;
    const char *bytes = RedisModule_StringPtrLen(name, &size);
    struct registry_entry *entry = entry_of(database, bytes, size, true);
    if (entry->left) {
        --*counter_of(entry);
        registry.keys++;
    }
    cut(entry);
    entry->left = entry->evicted = false;
    entry->value = value;
    value->entry = entry;
}

void registry_touch(RedisModuleCtx *ctx, struct value *value, RedisModuleString *name)
{
    if (!value->entry)
        join(value, name, RedisModule_GetSelectedDb(ctx));
    move_to_front(value->entry);
}

static void forget_database(int database)
{
    tombstones_leave_all(database);
    for (struct registry_entry *entry = registry.oldest, *following; entry; entry = following) {
        following = entry->newer;
        if (entry->database == database)
            drop(entry);
    }
}

static void forget_all(void)
{
    tombstones_leave_all(ALL_DATABASES);
    for (struct registry_entry *entry = registry.oldest, *following; entry; entry = following) {
        following = entry->newer;
        free_entry(entry);
    }
    if (names)
        RedisModule_FreeDict(NULL, names);
    names = NULL;
    registry.oldest = registry.newest = registry.stale = next_swept = NULL;
    memset(last_found, 0, sizeof last_found);
    registry.keys = registry.digest = empty = empty_deleted = 0;
}

/* What was told may be otherwise now. */
static void begin_incarnation(int database)
{
    if (database == ALL_DATABASES || database == 0)
        links_forget();
    if (database == ALL_DATABASES)
        forget_all();
    else
        forget_database(database);
    if (!names)
        names = RedisModule_CreateDict(NULL);
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

/* Events by which a value comes to a name. One that had another name before has that one's generation. */
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

static bool is_named(const struct registry_entry *entry, RedisModuleString *name, int database)
{
    return entry->database == database && RedisModule_StringCompare(entry->name, name) == 0;
}

void registry_name(RedisModuleCtx *ctx, struct value *value, RedisModuleString *name)
{
    if (value->class == &tombstones_class)
        tombstones_arrive(value, name, RedisModule_GetSelectedDb(ctx));
    if (value->class == &links_class)
        links_arrive(value, name);
    if (!value->class->cursor)
        return;
    if (value->entry && !is_named(value->entry, name, RedisModule_GetSelectedDb(ctx)))
        registry_leave(value);
    registry_touch(ctx, value, name);
}

/* What is loaded has its generation; graves may be loaded after it. */
static void take_generation(RedisModuleCtx *ctx, struct value *value, RedisModuleString *name,
                            const struct arrival *arrival)
{
    if (strcmp(arrival->event, "loaded") == 0 || !value->class->cursor)
        return;
    uint64_t generation = registry_generation(ctx, name);
    if (arrival->renamed || value->generation < generation)
        value->generation = generation;
}

/* Its value went a moment ago, which moved the entry to the front: whoever is told of that is told of this. */
static void note_eviction(RedisModuleCtx *ctx, const RedisModuleString *name)
{
    size_t size;
    const char *bytes = RedisModule_StringPtrLen(name, &size);
    struct registry_entry *entry = entry_of(RedisModule_GetSelectedDb(ctx), bytes, size, false);
    if (entry && entry->left)
        entry->evicted = true;
}

static int on_event(RedisModuleCtx *ctx, int type, const char *event, RedisModuleString *name)
{
    const struct arrival *arrival = arrival_by(event);
    key_removals_explain(ctx, event, name);
    if (type == REDISMODULE_NOTIFY_EVICTED)
        note_eviction(ctx, name);
    if (!arrival)
        return REDISMODULE_OK;
    /* while loading, the name is on the server's stack and must not be held */
    RedisModuleString *copy = RedisModule_CreateStringFromString(NULL, name);
    struct value *value = value_at(ctx, copy);
    /* a replica may load beside the data that it has, which cannot be looked at before it takes their place */
    if (strcmp(event, "loaded") == 0 && (value ? value->entry != NULL : !RedisModule_KeyExists(ctx, copy)))
        incomplete = true;
    else if (value) {
        take_generation(ctx, value, copy, arrival);
        registry_name(ctx, value, copy);
        if (value->class == &tombstones_class && strcmp(event, "restore") == 0)
            tombstones_catch_up(value);
    }
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
        registry_name(ctx, value, name);
}

/* Walks through all keys of the server, once after such a load. */
void registry_complete(RedisModuleCtx *ctx)
{
    if (!incomplete)
        return;
    incomplete = false;
    int database = RedisModule_GetSelectedDb(ctx);
    for (int i = 0; RedisModule_SelectDb(ctx, i) == REDISMODULE_OK; i++) {
        RedisModuleScanCursor *cursor = RedisModule_ScanCursorCreate();
        while (RedisModule_Scan(ctx, cursor, scan_key, NULL))
            continue;
        RedisModule_ScanCursorDestroy(cursor);
    }
    RedisModule_SelectDb(ctx, database);
}

/* ---- all at once ---------------------------------------------------------------------------------------------------
 */

/* Values go without a word of their own. */
static void on_flush(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t moment, void *data)
{
    (void)ctx, (void)event;
    if (moment != REDISMODULE_SUBEVENT_FLUSHDB_START)
        return;
    begin_incarnation(((RedisModuleFlushInfo *)data)->dbnum);
}

static void on_exchange_of_data(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t moment, void *data)
{
    (void)ctx, (void)event, (void)moment, (void)data;
    begin_incarnation(ALL_DATABASES);
    incomplete = true;
}

int registry_begin(RedisModuleCtx *ctx)
{
    registry.sequence = 1; /* a mark that tells of no change yet is not the one that asks for everything */
    begin_incarnation(ALL_DATABASES);
    bool sent =
        RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_FlushDB, on_flush) == REDISMODULE_OK &&
        RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_SwapDB, on_exchange_of_data) == REDISMODULE_OK &&
        RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_ReplAsyncLoad, on_exchange_of_data) == REDISMODULE_OK;
    return sent ? RedisModule_SubscribeToKeyspaceEvents(ctx, EVENTS, on_event) : REDISMODULE_ERR;
}

void registry_end(void)
{
    forget_all();
}
