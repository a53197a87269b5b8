/*
 * See key_removals.h.
 *
 * How the reasons are distinguished. MIGRATE and DEL both end in the event `del`. MIGRATE writes the value out first,
 * in the same command. A command filter, which the server runs before each command, counts commands; a value that was
 * written out and deleted under one number has been moved. (A transaction has one number, so DUMP and DEL in one look
 * the same. They count as a move only if the server holds a connection of a MIGRATE, which it keeps for ten seconds.
 * The name of the command proves nothing, since the filter sees commands before it is known whether they are allowed.)
 * When MIGRATE is repeated in a cluster, it replaces what an earlier attempt brought, by a command of its own: nothing
 * was deleted then either. The server itself empties a slot that went to another node. Valkey sends `del` for each key,
 * Redis 8.4 and later `key_trimmed`, Redis 7.0 nothing.
 *
 * A slot that moves as a whole (CLUSTER MIGRATESLOTS of Valkey 9, CLUSTER MIGRATION of Redis 8.4) reaches the other
 * node as a stream of commands, like those of a primary. The stream has the tombstones of the node that still serves
 * the slot, so a node records none for keys that it does not serve: its replicas, which get the stream too, would not
 * hear of them.
 *
 * A key that is overwritten (SET, SUNIONSTORE) causes an event of the class of its new value. Listening to all of those
 * would slow down every write of the server. Redis 7.0 overwrites in place: the key is still there when the data type
 * is called, and other keys may be written. Newer servers offer a job at the end of the command, transaction or script:
 * a removal that no event has explained by then, and whose key holds something, was an overwrite. Replicas and the AOF
 * get the tombstone as part of the command in both cases.
 */
#include "key_removals.h"

#include <errno.h>
#include <string.h>

#include "module/base/arguments.h"
#include "module/base/client_database.h"
#include "module/base/context.h"
#include "slots.h"
#include "tombstones.h"

#define FEW 4 /* RENAME has two */

struct key_removal {
    struct key_removal *earlier;
    RedisModuleString *key;
    int database;
    uint64_t generation;
    uint64_t command; /* number of the command that removed it */
    bool written_out; /* by the same command */
};
static struct key_removal *latest;
static uint64_t commands;
static bool is_transaction;     /* the present command is EXEC; */
static bool is_migration;       /* or one that MIGRATE sends to the other server */
static RedisModuleCtx *lasting; /* for calls outside of a command */

static void free_removal(struct key_removal *removal)
{
    RedisModule_FreeString(NULL, removal->key);
    RedisModule_Free(removal);
}

static void forget_all_but(unsigned count)
{
    struct key_removal **place = &latest;
    for (; *place && count > 0; count--)
        place = &(*place)->earlier;
    while (*place) {
        struct key_removal *removal = *place;
        *place = removal->earlier;
        free_removal(removal);
    }
}

/* Newer servers have a job that resolves all removals. On Redis 7.0 only those of the present command count. */
static bool is_recent(const struct key_removal *removal)
{
    return newer.add_post_notification_job || removal->command == commands;
}

/* A read is refused if the slot of the key is not ours; also if it is ours, but on its way to another node. Then
   CLUSTER NODES tells, which takes longer the more nodes and slots there are. The server deletes all keys of a slot
   that it has lost at a stroke, so the loss is remembered until the next command: without one no key comes back. */
static bool is_served_here(RedisModuleCtx *ctx, RedisModuleString *key)
{
    static uint64_t lost_at; /* number of the command */
    static unsigned lost;
    if (!is_cluster())
        return true;
    roost_bytes bytes = argument_bytes(key);
    unsigned slot = slot_of((const char *)bytes.data, bytes.size);
    if (lost_at == commands && lost == slot)
        return false;
    errno = 0;
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "EXISTS", "s", key);
    if (reply) {
        RedisModule_FreeCallReply(reply);
        return true;
    }
    if (slot_is_ours(ctx, slot))
        return true;
    lost_at = commands;
    lost = slot;
    return false;
}

/* The removed value was at this generation. If there is a tombstone of a later one already (the server died between the
   two), it stays: what others have made there since is not deleted. */
static void record_deletion(RedisModuleCtx *ctx, RedisModuleString *key, uint64_t generation)
{
    if (newer.add_post_notification_job && !is_served_here(ctx, key))
        return;
    uint64_t deleted = tombstones_generation_of(ctx, key), next = generation_after(generation);
    tombstones_record(ctx, key, deleted > next ? deleted : next); /* 0: no link ever spoke to the server */
}

/* Whether the server is connected to another one, to move keys there. */
static bool is_migrating(void)
{
    int error = REDISMODULE_ERR;
    RedisModuleServerInfoData *info = RedisModule_GetServerInfo(lasting, "stats");
    bool connected = RedisModule_ServerInfoGetFieldUnsigned(info, "migrate_cached_sockets", &error) > 0;
    RedisModule_FreeServerInfo(lasting, info);
    return error == REDISMODULE_OK && connected;
}

static bool was_written_out(const struct value *value)
{
    return value->written_out == commands && (!is_transaction || is_migrating());
}

static void note_saved(struct value *value)
{
    value->written_out = commands;
}

/* ---- overwritten keys -------------------------------------------------------------------------------------------- */

static void resolve_rest(RedisModuleCtx *ctx, void *unused)
{
    (void)unused;
    int database = RedisModule_GetSelectedDb(ctx);
    for (struct key_removal *removal; (removal = latest);) {
        latest = removal->earlier;
        RedisModule_SelectDb(ctx, removal->database);
        if (RedisModule_KeyExists(ctx, removal->key))
            record_deletion(ctx, removal->key, removal->generation);
        free_removal(removal);
    }
    RedisModule_SelectDb(ctx, database);
}

static bool resolve_now(const RedisModuleString *key, int database, uint64_t generation)
{
    RedisModule_SelectDb(lasting, database);
    if (!RedisModule_KeyExists(lasting, (RedisModuleString *)(uintptr_t)key))
        return false;
    record_deletion(lasting, (RedisModuleString *)(uintptr_t)key, generation);
    return true;
}

static void note_unlinked(struct value *value, const RedisModuleString *key, int database)
{
    if (!value->class->cursor || is_decided_elsewhere())
        return;
    if (!newer.add_post_notification_job && resolve_now(key, database, value->generation))
        return;
    struct key_removal *removal = RedisModule_Alloc(sizeof *removal);
    *removal = (struct key_removal){.earlier = latest,
                                    .key = RedisModule_CreateStringFromString(NULL, key),
                                    .database = database,
                                    .generation = value->generation,
                                    .command = commands,
                                    .written_out = was_written_out(value)};
    latest = removal;
    if (newer.add_post_notification_job)
        newer.add_post_notification_job(lasting, resolve_rest, NULL, NULL);
    else
        forget_all_but(FEW);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* The latest removal of this key; all of them are forgotten. */
static bool take(struct key_removal *found, const RedisModuleString *key, int database)
{
    bool any = false;
    for (struct key_removal **place = &latest, *removal; (removal = *place);) {
        if (removal->database != database ||
            RedisModule_StringCompare(removal->key, (RedisModuleString *)(uintptr_t)key) != 0) {
            place = &removal->earlier;
            continue;
        }
        *place = removal->earlier;
        if (!any && is_recent(removal)) {
            *found = *removal;
            any = true;
        }
        free_removal(removal);
    }
    return any;
}

void key_removals_forget(const RedisModuleString *key, int database)
{
    struct key_removal removal;
    (void)take(&removal, key, database);
}

void key_removals_resolve(RedisModuleCtx *ctx, RedisModuleString *key)
{
    struct key_removal removal;
    if (take(&removal, key, RedisModule_GetSelectedDb(ctx)))
        record_deletion(ctx, key, removal.generation);
}

static bool was_moved(const struct key_removal *removal, const char *event)
{
    if (strcmp(event, "restore") == 0)
        return is_migration && removal->command == commands;
    return strcmp(event, "key_trimmed") == 0 || (strcmp(event, "del") == 0 && removal->written_out);
}

void key_removals_explain(RedisModuleCtx *ctx, const char *event, RedisModuleString *key)
{
    struct key_removal removal;
    if (!take(&removal, key, RedisModule_GetSelectedDb(ctx)) || strcmp(event, "evicted") == 0 ||
        was_moved(&removal, event))
        return;
    record_deletion(ctx, key, removal.generation);
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static void count_command(RedisModuleCommandFilterCtx *filter)
{
    const RedisModuleString *name = RedisModule_CommandFilterArgGet(filter, 0);
    commands++;
    client_database_note_command(filter, name);
    is_transaction = argument_is(name, "EXEC");
    is_migration = argument_is(name, "RESTORE-ASKING");
}

int key_removals_begin(RedisModuleCtx *ctx)
{
    lasting = RedisModule_GetDetachedThreadSafeContext(ctx);
    commands = 1;
    return RedisModule_RegisterCommandFilter(ctx, count_command, REDISMODULE_CMDFILTER_NOSELF) ? REDISMODULE_OK
                                                                                               : REDISMODULE_ERR;
}

void key_removals_end(void)
{
    forget_all_but(0);
    if (lasting)
        RedisModule_FreeThreadSafeContext(lasting);
    lasting = NULL;
}

const struct value_observer key_removals_observer = {.unlinked = note_unlinked, .saved = note_saved};
