/*
 * See registry.h.
 *
 * Another thread may free a value without notice to the main thread. So an entry and its value point to each other, and
 * the pair of pointers is cut under a lock by the one that goes first. An entry whose value went first is an orphan; it
 * is removed while other entries are made. Everything else is used by the main thread alone.
 */
#include "registry.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

#include "entry_index.h"

#define SWEPT_AT_ONCE 2
#define FEW           1024      /* entries of keys without a value are kept, and as many as there are other keys; */
#define LONG_AGO      (1 << 20) /* but none of so many changes ago */
#define FOUND         8         /* places in the list that are remembered */

struct registry registry;
static struct registry_entry *next_swept;
static struct registry_entry *last_found[FOUND]; /* one for each client that pages; NULL: none */
static unsigned next_found;
static uint64_t empty;         /* entries of keys without value and tombstone; */
static uint64_t empty_deleted; /* of keys without value, but with a tombstone */
static bool incomplete;        /* there may be keys that have no entry */
static void (*wake)(void);
static uint64_t (*deleted_below)(int database, const void *key, size_t size);

/* ---- the list ---------------------------------------------------------------------------------------------------- */

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

/* Several clients page through the list at the same time, far apart. Each search begins where that client left off. */
struct registry_entry *registry_after(uint64_t sequence)
{
    struct registry_entry *entry = registry.newest;
    unsigned place = FOUND;
    if (entry && distance(registry.oldest, sequence) < distance(entry, sequence))
        entry = registry.oldest;
    for (unsigned i = 0; entry && i < FOUND; i++)
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

/* ---- values and their entries ------------------------------------------------------------------------------------ */

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

static void free_entry(struct registry_entry *entry)
{
    cut(entry);
    RedisModule_Free(entry);
}

/* The counter of an entry without a value. */
static uint64_t *counter_of(const struct registry_entry *entry)
{
    return entry->deleted ? &empty_deleted : &empty;
}

static void drop(struct registry_entry *entry)
{
    entry_index_remove(entry);
    take_out(entry);
    registry.digest -= entry->part;
    if (entry->removed)
        --*counter_of(entry);
    registry.keys -= !entry->removed;
    free_entry(entry);
}

/* Drops entries of keys without a value: old ones, and any if there are many. A tombstone still knows its key: a client
   that has heard of the key elsewhere, and asks for it, gets the generation. */
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

static void registry_leave(struct value *value)
{
    struct registry_entry *entry = value->entry;
    if (value->class->leave)
        value->class->leave(value);
    if (!entry)
        return;
    cut(entry);
    registry.keys--;
    ++*counter_of(entry);
    entry->removed = true;
    move_to_front(entry);
}

static struct registry_entry *make_entry(int database, const void *key, size_t size)
{
    sweep();
    size_t bytes = offsetof(struct registry_entry, key) + size;
    struct registry_entry *entry = RedisModule_Calloc(1, bytes > sizeof *entry ? bytes : sizeof *entry);
    memcpy(entry->key, key, size);
    entry->size = (uint32_t)size;
    entry->database = database;
    entry->removed = true;
    entry->deleted = deleted_below(database, key, size);
    put_first(entry);
    ++*counter_of(entry);
    return entry;
}

/* The entry of a key. If there is none: NULL, or a new one. */
static struct registry_entry *entry_of(int database, const void *key, size_t size, bool make)
{
    struct registry_entry *entry = entry_index_find(database, key, size);
    if (!entry && make) {
        entry = make_entry(database, key, size);
        entry_index_add(entry);
    }
    return entry;
}

/* ---- deletions --------------------------------------------------------------------------------------------------- */

static void set_deleted(struct registry_entry *entry, uint64_t generation)
{
    if (entry->removed)
        --*counter_of(entry);
    entry->deleted = generation;
    if (entry->removed)
        ++*counter_of(entry);
    entry->dropped = entry->evicted = false;
    move_to_front(entry);
}

void registry_set_deleted(int database, const void *key, size_t size, uint64_t generation)
{
    struct registry_entry *entry = entry_of(database, key, size, true);
    set_deleted(entry, entry->deleted > generation ? entry->deleted : generation);
}

void registry_lower_deleted(int database, const void *key, size_t size, uint64_t generation)
{
    struct registry_entry *entry = entry_of(database, key, size, false);
    if (entry && entry->deleted != generation)
        set_deleted(entry, generation);
}

void registry_drop_tombstone(int database, const void *key, size_t size, uint64_t generation)
{
    struct registry_entry *entry = entry_of(database, key, size, true);
    set_deleted(entry, generation);
    entry->dropped = generation == 0;
}

void registry_raise(int database, const void *key, size_t size, uint64_t generation)
{
    struct registry_entry *entry = entry_of(database, key, size, false);
    if (!entry || !entry->value || entry->value->generation >= generation)
        return;
    entry->value->generation = generation;
    move_to_front(entry);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static void registry_orphan(struct value *value)
{
    pthread_mutex_lock(&ties);
    if (value->entry)
        value->entry->value = NULL;
    value->entry = NULL;
    pthread_mutex_unlock(&ties);
}

static void join(struct value *value, RedisModuleString *key, int database)
{
    size_t size;
    const char *bytes = RedisModule_StringPtrLen(key, &size);
    struct registry_entry *entry = entry_of(database, bytes, size, true);
    if (entry->removed) {
        --*counter_of(entry);
        registry.keys++;
    }
    cut(entry);
    entry->removed = entry->evicted = false;
    entry->value = value;
    value->entry = entry;
}

void registry_touch(RedisModuleCtx *ctx, struct value *value, RedisModuleString *key)
{
    if (!value->entry)
        join(value, key, RedisModule_GetSelectedDb(ctx));
    move_to_front(value->entry);
}

static bool is_at(const struct registry_entry *entry, RedisModuleString *key, int database)
{
    size_t size;
    const char *bytes = RedisModule_StringPtrLen(key, &size);
    return entry->database == database && entry->size == size && memcmp(entry->key, bytes, size) == 0;
}

void registry_arrive(RedisModuleCtx *ctx, struct value *value, RedisModuleString *key)
{
    if (value->class->arrive)
        value->class->arrive(value, key, RedisModule_GetSelectedDb(ctx));
    if (!value->class->cursor)
        return;
    if (value->entry && !is_at(value->entry, key, RedisModule_GetSelectedDb(ctx)))
        registry_leave(value);
    registry_touch(ctx, value, key);
}

/* The removal, a moment ago, moved the entry to the front, so clients that learn of it also learn of the eviction. */
void registry_note_eviction(RedisModuleCtx *ctx, const RedisModuleString *key)
{
    size_t size;
    const char *bytes = RedisModule_StringPtrLen(key, &size);
    struct registry_entry *entry = entry_of(RedisModule_GetSelectedDb(ctx), bytes, size, false);
    if (entry && entry->removed)
        entry->evicted = true;
}

static void forget_database(int database)
{
    for (struct registry_entry *entry = registry.oldest, *following; entry; entry = following) {
        following = entry->newer;
        if (entry->database == database)
            drop(entry);
    }
}

static void forget_all(void)
{
    for (struct registry_entry *entry = registry.oldest, *following; entry; entry = following) {
        following = entry->newer;
        free_entry(entry);
    }
    entry_index_clear();
    registry.oldest = registry.newest = registry.stale = next_swept = NULL;
    memset(last_found, 0, sizeof last_found);
    registry.keys = registry.digest = empty = empty_deleted = 0;
}

/* ---- incarnations ------------------------------------------------------------------------------------------------ */

void registry_restart(int database)
{
    if (database == ALL_DATABASES)
        forget_all();
    else
        forget_database(database);
    if (getrandom(&registry.incarnation, sizeof registry.incarnation, 0) != sizeof registry.incarnation)
        registry.incarnation += 2;
    registry.incarnation |= 1;
    if (wake)
        wake();
}

void registry_begin(uint64_t (*deleted)(int database, const void *key, size_t size))
{
    deleted_below = deleted;
    registry.sequence = 1; /* so that a cursor before the first change differs from one that asks for everything */
    registry_restart(ALL_DATABASES);
}

void registry_end(void)
{
    forget_all();
}

/* ---- keys that came without an event ----------------------------------------------------------------------------- */

static void scan_key(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleKey *key, void *unused)
{
    (void)unused;
    struct value *value = key ? value_of_key(key) : value_at(ctx, name);
    if (value && !value->entry)
        registry_arrive(ctx, value, name);
}

void registry_set_incomplete(void)
{
    incomplete = true;
}

/* Walks through all keys of the server. */
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

/* ---- observer ---------------------------------------------------------------------------------------------------- */

static void note_unlinked(struct value *value, const RedisModuleString *key, int database)
{
    (void)key, (void)database;
    registry_leave(value);
}

const struct value_observer registry_observer = {.unlinked = note_unlinked, .freed = registry_orphan};
