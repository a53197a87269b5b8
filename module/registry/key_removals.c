/*
 * See departures.h.
 *
 * Which is which. MIGRATE and DEL both end in the event `del`. MIGRATE writes the value out first, within the same
 * command: commands are counted by a filter that the server runs before each, and a value that was written out and
 * deleted under one number has been moved. (A transaction has one number: DUMP and DEL in one look the same, and are a
 * move only where the server holds a connection of a MIGRATE, which it keeps for ten seconds. That somebody sent the
 * word MIGRATE proves nothing: the filter sees commands before it is known whether they are allowed.) Where MIGRATE
 * within a cluster is repeated, it replaces what an earlier attempt has brought, by a command of its own: nothing was
 * deleted then either. A slot that goes to another node is emptied by the server itself, when the slot is ours no
 * longer: Valkey tells `del` of each key, Redis 7.0 nothing at all.
 *
 * A key that is overwritten (SET, SUNIONSTORE) causes an event of the class of what it holds now; listening to all of
 * those would cost every write of the server. Redis 7.0 overwrites in place: the key is still there while the type is
 * told, and other keys may be written. Newer servers offer a job at the end of the command, transaction or script: what
 * no event has explained by then, and whose name holds something, was overwritten. Both are part of the command for
 * replicas and AOF.
 */
#include "key_removals.h"

#include <errno.h>
#include <string.h>

#include "module/base/arguments.h"
#include "module/value/filter_value.h"
#include "tombstones.h"
#include "registry.h"
#include "slots.h"

#define FEW 4 /* RENAME has two */

struct key_removal {
    struct key_removal *earlier;
    RedisModuleString *name;
    int database;
    uint64_t generation;
    uint64_t command; /* under which it happened */
    bool written_out; /* under the same */
};
static struct key_removal *latest;
static uint64_t commands;
static bool is_transaction;     /* the one under way; */
static bool brings;             /* it was sent by MIGRATE */
static RedisModuleCtx *lasting; /* a context where the server gives none */

static void free_removal(struct key_removal *removal)
{
    RedisModule_FreeString(NULL, removal->name);
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

/* Newer servers have a job that looks after all of them; otherwise only what has just happened counts. */
static bool is_recent(const struct key_removal *removal)
{
    return newer.add_post_notification_job || removal->command == commands;
}

static bool decided_elsewhere(void)
{
    return RedisModule_GetContextFlags(NULL) &
           (REDISMODULE_CTX_FLAGS_SLAVE | REDISMODULE_CTX_FLAGS_LOADING | REDISMODULE_CTX_FLAGS_ASYNC_LOADING);
}

/* What goes was at this generation. Where a grave tells of a later one already (a server that died between the two), it
   stays at that: what others have made there since is not deleted with it. */
static void record_deletion(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t generation)
{
    uint64_t deleted = registry_generation(ctx, name), next = generation_after(generation);
    tombstones_record(ctx, name, deleted > next ? deleted : next); /* 0: no link ever spoke */
}

/* Whether the server is connected to another one that it moves keys to. */
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

void key_removals_note_copy(struct value *value)
{
    value->written_out = commands;
}

/* ---- overwritten keys ----------------------------------------------------------------------------------------------
 */

static void explain_rest(RedisModuleCtx *ctx, void *unused)
{
    (void)unused;
    int database = RedisModule_GetSelectedDb(ctx);
    for (struct key_removal *removal; (removal = latest);) {
        latest = removal->earlier;
        RedisModule_SelectDb(ctx, removal->database);
        if (RedisModule_KeyExists(ctx, removal->name))
            record_deletion(ctx, removal->name, removal->generation);
        free_removal(removal);
    }
    RedisModule_SelectDb(ctx, database);
}

static bool explain_now(const RedisModuleString *name, int database, uint64_t generation)
{
    RedisModule_SelectDb(lasting, database);
    if (!RedisModule_KeyExists(lasting, (RedisModuleString *)(uintptr_t)name))
        return false;
    record_deletion(lasting, (RedisModuleString *)(uintptr_t)name, generation);
    return true;
}

void key_removals_note(struct value *value, const RedisModuleString *name, int database)
{
    if (value->class != &filter_class || decided_elsewhere())
        return;
    if (!newer.add_post_notification_job && explain_now(name, database, value->generation))
        return;
    struct key_removal *removal = RedisModule_Alloc(sizeof *removal);
    *removal = (struct key_removal){.earlier = latest,
                                    .name = RedisModule_CreateStringFromString(NULL, name),
                                    .database = database,
                                    .generation = value->generation,
                                    .command = commands,
                                    .written_out = was_written_out(value)};
    latest = removal;
    if (newer.add_post_notification_job)
        newer.add_post_notification_job(lasting, explain_rest, NULL, NULL);
    else
        forget_all_but(FEW);
}

/* ---- events --------------------------------------------------------------------------------------------------------
 */

/* The latest one of this name; all of them are forgotten. */
static bool take(struct key_removal *found, const RedisModuleString *name, int database)
{
    bool any = false;
    for (struct key_removal **place = &latest, *removal; (removal = *place);) {
        if (removal->database != database ||
            RedisModule_StringCompare(removal->name, (RedisModuleString *)(uintptr_t)name) != 0) {
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

void key_removals_forget(const RedisModuleString *name, int database)
{
    struct key_removal removal;
    (void)take(&removal, name, database);
}

void key_removals_resolve(RedisModuleCtx *ctx, RedisModuleString *name)
{
    struct key_removal removal;
    if (take(&removal, name, RedisModule_GetSelectedDb(ctx)))
        record_deletion(ctx, name, removal.generation);
}

/* A read of the name is refused where its slot is not ours; and where it is, but on its way to another node. */
static bool is_served_here(RedisModuleCtx *ctx, RedisModuleString *name)
{
    if (!(RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_CLUSTER))
        return true;
    errno = 0;
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "EXISTS", "s", name);
    if (reply) {
        RedisModule_FreeCallReply(reply);
        return true;
    }
    roost_bytes bytes = argument_bytes(name);
    return slot_is_ours(ctx, slot_of((const char *)bytes.data, bytes.size));
}

static bool was_moved(RedisModuleCtx *ctx, const struct key_removal *removal, const char *event,
                      RedisModuleString *name)
{
    if (strcmp(event, "restore") == 0)
        return brings && removal->command == commands;
    return strcmp(event, "del") == 0 && (removal->written_out || !is_served_here(ctx, name));
}

void key_removals_explain(RedisModuleCtx *ctx, const char *event, RedisModuleString *name)
{
    struct key_removal removal;
    if (!take(&removal, name, RedisModule_GetSelectedDb(ctx)) || strcmp(event, "evicted") == 0 ||
        was_moved(ctx, &removal, event, name))
        return;
    record_deletion(ctx, name, removal.generation);
}

/* ---- commands ------------------------------------------------------------------------------------------------------
 */

static void count_command(RedisModuleCommandFilterCtx *filter)
{
    const RedisModuleString *name = RedisModule_CommandFilterArgGet(filter, 0);
    commands++;
    is_transaction = argument_is(name, "EXEC");
    brings = argument_is(name, "RESTORE-ASKING");
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
