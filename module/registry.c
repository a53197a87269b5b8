/*
 * See registry.h.
 *
 * Values may be freed on another thread, and after FLUSHALL without a word before. So entry and value know each other
 * through a pair of pointers that are cut under a lock, by whoever goes first. An entry whose value went first is an
 * orphan; it is swept away as other entries come. Everything else is the main thread's alone.
 */
#include "registry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "arguments.h"
#include "checksum.h"
#include "replies.h"
#include "steps.h"

struct registry_entry {
    struct registry_entry *older, *newer;
    struct value *value; /* NULL: an orphan */
    RedisModuleString *name;
    int database;
    bool stale; /* its part of the digest is not up to date */
    uint64_t sequence;
    sum128 part;
};

#define SWEPT_AT_ONCE 2

static struct {
    struct registry_entry *newest, *oldest, *sweep;
    uint64_t sequence, incarnation, keys;
    bool incomplete; /* there may be keys that it has not been told of */
    sum128 digest;
} registry;

/* ---- the list ------------------------------------------------------------------------------------------------------
 */

static void take_out(struct registry_entry *entry)
{
    if (registry.sweep == entry)
        registry.sweep = entry->newer;
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
    registry.keys--;
    RedisModule_FreeString(NULL, entry->name);
    RedisModule_Free(entry);
}

static void sweep(void)
{
    for (int i = 0; i < SWEPT_AT_ONCE; i++) {
        struct registry_entry *entry = registry.sweep ? registry.sweep : registry.oldest;
        if (!entry)
            return;
        registry.sweep = entry->newer;
        if (is_orphan(entry))
            drop(entry);
    }
}

void registry_leave(struct value *value)
{
    if (value->entry)
        drop(value->entry);
}

void registry_orphan(struct value *value)
{
    pthread_mutex_lock(&ties);
    if (value->entry)
        value->entry->value = NULL;
    value->entry = NULL;
    pthread_mutex_unlock(&ties);
}

static void name_entry(struct registry_entry *entry, RedisModuleString *name, int database)
{
    if (entry->name)
        RedisModule_FreeString(NULL, entry->name);
    entry->name = RedisModule_CreateStringFromString(NULL, name);
    entry->database = database;
}

static struct registry_entry *join(struct value *value)
{
    sweep();
    struct registry_entry *entry = RedisModule_Calloc(1, sizeof *entry);
    entry->value = value;
    put_first(entry);
    registry.keys++;
    value->entry = entry;
    return entry;
}

static void move_to_front(struct registry_entry *entry)
{
    entry->stale = true;
    if (registry.newest != entry) {
        take_out(entry);
        put_first(entry);
    }
    entry->sequence = ++registry.sequence;
}

void registry_touch(RedisModuleCtx *ctx, struct value *value, RedisModuleString *name)
{
    if (!value->entry)
        name_entry(join(value), name, RedisModule_GetSelectedDb(ctx));
    move_to_front(value->entry);
}

uint64_t registry_keys(void)
{
    return registry.keys;
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
    if (!value->entry)
        join(value);
    name_entry(value->entry, name, RedisModule_GetSelectedDb(ctx));
    move_to_front(value->entry);
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
        registry.incomplete = true;
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
static void complete(RedisModuleCtx *ctx)
{
    int database = RedisModule_GetSelectedDb(ctx);
    for (int i = 0; RedisModule_SelectDb(ctx, i) == REDISMODULE_OK; i++) {
        RedisModuleScanCursor *cursor = RedisModule_ScanCursorCreate();
        while (RedisModule_Scan(ctx, cursor, scan_key, NULL))
            continue;
        RedisModule_ScanCursorDestroy(cursor);
    }
    RedisModule_SelectDb(ctx, database);
    registry.incomplete = false;
}

int registry_begin(RedisModuleCtx *ctx)
{
    if (getrandom(&registry.incarnation, sizeof registry.incarnation, 0) < 0)
        return REDISMODULE_ERR;
    return RedisModule_SubscribeToKeyspaceEvents(ctx, REDISMODULE_NOTIFY_GENERIC | REDISMODULE_NOTIFY_LOADED, on_event);
}

void registry_end(void)
{
    while (registry.oldest)
        drop(registry.oldest);
}

/* ---- ROOST.SUMMARY -------------------------------------------------------------------------------------------------
 */

static sum128 part_of(const struct registry_entry *entry, const uint8_t digest[16])
{
    size_t size;
    const char *name = RedisModule_StringPtrLen(entry->name, &size);
    sum128 sum = checksum_wide(SUM128_START, &entry->database, sizeof entry->database);
    return checksum_wide(checksum_wide(sum, name, size), digest, 16);
}

/* Whether the value is still at the key that it was last seen at. */
static bool is_there(RedisModuleCtx *ctx, struct registry_entry *entry)
{
    if (RedisModule_SelectDb(ctx, entry->database) != REDISMODULE_OK)
        return false;
    const struct value *value = value_at(ctx, entry->name);
    return value && value->entry == entry;
}

static void refresh(struct registry_entry *entry)
{
    uint8_t digest[16];
    if (!entry->stale)
        return;
    entry->value->class->digest(entry->value, digest);
    registry.digest -= entry->part;
    entry->part = part_of(entry, digest);
    registry.digest += entry->part;
    entry->stale = false;
}

static void refresh_all(RedisModuleCtx *ctx)
{
    int database = RedisModule_GetSelectedDb(ctx);
    for (struct registry_entry *entry = registry.newest, *older; entry; entry = older) {
        older = entry->older;
        if (is_there(ctx, entry))
            refresh(entry);
        else
            drop(entry);
    }
    RedisModule_SelectDb(ctx, database);
}

/* One value at a time: what the first of them leaves over is for the next call. */
bool registry_tidy(RedisModuleCtx *ctx, uint64_t effort)
{
    int database = RedisModule_GetSelectedDb(ctx);
    bool more = false;
    for (struct registry_entry *entry = registry.newest; entry && !more; entry = entry->older)
        if (entry->stale && is_there(ctx, entry) && entry->value->class->tidy)
            more = entry->value->class->tidy(entry->value, effort);
    RedisModule_SelectDb(ctx, database);
    return more;
}

/* "incarnation-sequence", in hexadecimal; 0 for a mark that is none of this server's. */
static uint64_t sequence_of(RedisModuleString *mark)
{
    unsigned long long incarnation, sequence;
    if (sscanf(RedisModule_StringPtrLen(mark, NULL), "%llx-%llx", &incarnation, &sequence) != 2)
        return 0;
    return incarnation == registry.incarnation ? sequence : 0;
}

static void reply_changed(RedisModuleCtx *ctx, uint64_t since)
{
    long count = 0;
    RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
    for (struct registry_entry *entry = registry.newest; entry && entry->sequence > since; entry = entry->older) {
        RedisModule_ReplyWithArray(ctx, 2);
        RedisModule_ReplyWithLongLong(ctx, entry->database);
        RedisModule_ReplyWithString(ctx, entry->name);
        count++;
    }
    RedisModule_ReplySetArrayLength(ctx, count);
}

static int reply_summary(RedisModuleCtx *ctx, uint64_t since)
{
    char mark[40], digest[33];
    roost_digest sum;
    refresh_all(ctx);
    sum128_bytes(registry.digest, sum.bytes);
    roost_digest_text(sum, digest);
    snprintf(mark, sizeof mark, "%016llx-%llx", (unsigned long long)registry.incarnation,
             (unsigned long long)registry.sequence);
    reply_map_begin(ctx, 4);
    reply_text_pair(ctx, "digest", digest);
    reply_text_pair(ctx, "mark", mark);
    reply_number_pair(ctx, "keys", (long long)registry.keys);
    reply_name(ctx, "changed");
    reply_changed(ctx, since);
    return REDISMODULE_OK;
}

/* Where a lot must be read for it, the client waits. */
struct summary_job {
    struct job job;
    uint64_t since;
};

#define AT_ONCE   1000 /* chunks; as in tidying.c */
#define IN_A_STEP 200

static enum progress summary_step(RedisModuleCtx *ctx, struct job *job)
{
    (void)job;
    return registry_tidy(ctx, IN_A_STEP) ? MORE_TO_DO : ALL_DONE;
}

static int reply_summary_job(RedisModuleCtx *ctx, struct job *job)
{
    return reply_summary(ctx, ((struct summary_job *)job)->since);
}

static void free_summary(struct job *job)
{
    RedisModule_Free(job);
}

static const struct job_class summary_class = {summary_step, reply_summary_job, free_summary};

int summary_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    if (argc != 1 && !(argc == 3 && argument_is(argv[1], "SINCE")))
        return RedisModule_WrongArity(ctx);
    uint64_t since = argc == 3 ? sequence_of(argv[2]) : 0;
    if (registry.incomplete)
        complete(ctx);
    if (!registry_tidy(ctx, AT_ONCE) || !can_wait(ctx))
        return reply_summary(ctx, since);
    struct summary_job *summary = RedisModule_Calloc(1, sizeof *summary);
    summary->job.class = &summary_class;
    summary->since = since;
    return job_begin(ctx, &summary->job, argv[0], NULL);
}
