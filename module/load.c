/*
 * Loads the module: settings first, since they decide which commands there are; then commands, which another module may
 * have; then the data type. Events and timers come last: Redis 7.0 goes on calling the functions of a module that it
 * has refused, and frees neither its data type nor what the module has allocated.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "module/base/imports.h"
#include "module/base/server.h"
#include "module/base/settings.h"
#include "module/command/commands.h"
#include "module/command/dumps.h"
#include "module/command/info.h"
#include "module/command/sync_sessions.h"
#include "module/command/syntax.h"
#include "module/registry/key_removals.h"
#include "module/registry/keyspace.h"
#include "module/registry/links.h"
#include "module/registry/registry.h"
#include "module/registry/tombstones.h"
#include "module/value/chunks.h"
#include "module/value/data_types.h"
#include "module/value/filter_value.h"

#define MODULE_VERSION ROOST_VERSION_NUMBER

/* What to do if another module has BF.* and CF.*, as Redis 8 may. */
#define LEAVE_THEM                                                                                                     \
    "Unload that module, or have ROOST.* alone: \"loadmodule PATH bf-cf no\", or a line \"roost.bf-cf no\" in the "    \
    "configuration file"

/* What a key may hold, and the observers of values (value/value.h). */
static const struct value_class *const classes[] = {&filter_class, &tombstones_class, &links_class, &staged_class,
                                                    NULL};
static const struct value_observer *const observers[] = {&registry_observer, &key_removals_observer,
                                                         &sync_sessions_observer, NULL};

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static bool writes(const struct command *command)
{
    return command->flags[0] == 'w';
}

static int describe(RedisModuleCtx *ctx, RedisModuleCommand *registered, const struct command *command)
{
    uint64_t write = REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_UPDATE;
    uint64_t read = REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS;
    RedisModuleCommandKeySpec specs[3] = {{.flags = writes(command) ? write : read,
                                           .begin_search_type = REDISMODULE_KSPEC_BS_INDEX,
                                           .bs.index.pos = 1,
                                           .find_keys_type = REDISMODULE_KSPEC_FK_RANGE,
                                           .fk.range = {0, 1, 0}}};
    if (command->keys == FIRST_AND_THIRD)
        specs[0].fk.range = (RedisModuleCommandKeySpec){.fk.range = {2, 2, 0}}.fk.range;
    if (command->keys == KEYS_FROM_FIRST) {
        specs[0].flags = REDISMODULE_CMD_KEY_OW | REDISMODULE_CMD_KEY_UPDATE;
        specs[1] = specs[0];
        specs[1].flags = read;
        specs[1].bs.index.pos = 2;
        specs[1].fk.range.lastkey = -1;
    }
    RedisModuleCommandInfo info = {.version = REDISMODULE_COMMAND_INFO_VERSION,
                                   .summary = command->summary,
                                   .complexity = command->complexity,
                                   .since = "0.2.0",
                                   .arity = command->arity,
                                   .args = syntax_arguments(ctx, command->syntax),
                                   .key_specs = command->keys == NO_KEY ? NULL : specs};
    return RedisModule_SetCommandInfo(registered, &info);
}

/* Redis 7.0 has no categories for commands of modules; there, users get them by name. */
static void categorize(RedisModuleCommand *registered, const struct command *command, const char *category)
{
    char categories[64];
    bool fast = strstr(command->flags, "fast") != NULL;
    snprintf(categories, sizeof categories, "%s %s %s", category, writes(command) ? "write" : "read",
             fast ? "fast" : "slow");
    if (newer.set_command_acl_categories && newer.add_acl_category)
        newer.set_command_acl_categories(registered, categories);
}

/* The module that has the command, by COMMAND DOCS; NULL: unknown. Freed with the context. */
static RedisModuleString *owner_of(RedisModuleCtx *ctx, const char *command)
{
    RedisModuleString *owner = NULL;
    RedisModuleCallReply *docs = RedisModule_Call(ctx, "COMMAND", "cc", "DOCS", command);
    RedisModuleCallReply *fields = docs && RedisModule_CallReplyType(docs) == REDISMODULE_REPLY_ARRAY
                                       ? RedisModule_CallReplyArrayElement(docs, 1)
                                       : NULL;
    for (size_t i = 0; fields && i + 1 < RedisModule_CallReplyLength(fields) && !owner; i += 2) {
        size_t size = 0;
        const char *name = RedisModule_CallReplyStringPtr(RedisModule_CallReplyArrayElement(fields, i), &size);
        if (name && size == 6 && memcmp(name, "module", size) == 0)
            owner = RedisModule_CreateStringFromCallReply(RedisModule_CallReplyArrayElement(fields, i + 1));
    }
    if (docs)
        RedisModule_FreeCallReply(docs);
    return owner;
}

/* The server only says that the module cannot be loaded, and exits if that was at its start. */
static void explain_clash(RedisModuleCtx *ctx, const char *command)
{
    RedisModuleString *owner = owner_of(ctx, command);
    bool ours = strncmp(command, "roost.", 6) == 0;
    RedisModule_Log(ctx, "warning", "cannot load: the command %s is already there, from %s%s. %s", command,
                    owner ? "the module " : "another module", owner ? RedisModule_StringPtrLen(owner, NULL) : "",
                    ours ? "Unload that module first" : LEAVE_THEM);
    if (owner)
        RedisModule_FreeString(ctx, owner);
}

static int register_commands(RedisModuleCtx *ctx, const struct command *commands, const char *category)
{
    for (const struct command *command = commands; command->name; command++) {
        static const int places[][3] = {{0, 0, 0}, {1, 1, 1}, {1, 3, 2}, {1, -1, 1}}; /* first, last, step */
        const int *place = places[command->keys];
        if (RedisModule_CreateCommand(ctx, command->name, command->function, command->flags, place[0], place[1],
                                      place[2]) != REDISMODULE_OK) {
            explain_clash(ctx, command->name);
            return REDISMODULE_ERR;
        }
        RedisModuleCommand *registered = RedisModule_GetCommand(ctx, command->name);
        if (!registered || describe(ctx, registered, command) != REDISMODULE_OK)
            return REDISMODULE_ERR;
        categorize(registered, command, category);
    }
    return REDISMODULE_OK;
}

/* If the server has categories of modules. One that another module has added is shared. */
static void add_categories(RedisModuleCtx *ctx)
{
    static const char *const categories[] = {"roost", "bloom", "cuckoo"};
    for (size_t i = 0; i < sizeof categories / sizeof *categories && newer.add_acl_category; i++)
        newer.add_acl_category(ctx, categories[i]);
}

static int register_all_commands(RedisModuleCtx *ctx)
{
    add_categories(ctx);
    if (register_commands(ctx, roost_commands, "roost") != REDISMODULE_OK)
        return REDISMODULE_ERR;
    if (!settings.bf_cf)
        return REDISMODULE_OK;
    return register_commands(ctx, bf_commands, "bloom") == REDISMODULE_OK
               ? register_commands(ctx, cf_commands, "cuckoo")
               : REDISMODULE_ERR;
}

/* Filters ask the kernel for huge pages (madvise). In a server those cost more than they save: the first access to
   each clears 2 MB, and so does each change while a child process saves. The server disables huge pages itself where
   they are the default; this disables them where they are on request. */
static void do_without_huge_pages(void)
{
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

/* ---- load and unload --------------------------------------------------------------------------------------------- */

ROOST_API int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
ROOST_API int RedisModule_OnUnload(RedisModuleCtx *ctx);

/* NULL, or why the module cannot be loaded; "": that is in the log. */
static const char *register_all(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    if (settings_register(ctx, argv, argc) != REDISMODULE_OK)
        return "a setting is not valid: see the roost.* lines of the configuration and of loadmodule";
    if (register_all_commands(ctx) != REDISMODULE_OK)
        return "";
    const char *taken = data_types_create(ctx, settings.bf_cf);
    if (taken) {
        RedisModule_Log(ctx, "warning", "cannot load: another module has the data type %s. " LEAVE_THEM, taken);
        return "";
    }
    if (report_register(ctx) != REDISMODULE_OK || keyspace_begin(ctx) != REDISMODULE_OK ||
        settings_watch(ctx) != REDISMODULE_OK)
        return "the server does not have the events that the module needs";
    imports_watch(ctx);
    links_keep(ctx);
    if (settings.bf_cf) /* a module that comes later and has them too is refused, and the server does not say why */
        RedisModule_Log(ctx, "notice",
                        "BF.* and CF.* are of this module; \"roost.bf-cf no\" leaves them to another one");
    return NULL;
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    if (RedisModule_Init(ctx, "roost", MODULE_VERSION, REDISMODULE_APIVER_1) != REDISMODULE_OK) {
        if (RedisModule_Log)
            RedisModule_Log(ctx, "warning", "cannot load: a module with the name roost is loaded already");
        return REDISMODULE_ERR;
    }
    if (!RedisModule_RegisterNumericConfig || !RedisModule_SetCommandInfo) {
        RedisModule_Log(ctx, "warning", "this server is too old for the module: Redis 7.0 or Valkey 7.2 is needed");
        return REDISMODULE_ERR;
    }
    find_newer_calls();
    do_without_huge_pages();
    RedisModule_SetModuleOptions(ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS |
                                          REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD |
                                          OPTION_HANDLE_ATOMIC_SLOT_MIGRATION);
    value_register(classes, observers);
    const char *failed = register_all(ctx, argv, argc);
    if (!failed)
        return REDISMODULE_OK;
    if (*failed)
        RedisModule_Log(ctx, "warning", "cannot load: %s", failed);
    settings_release();
    return REDISMODULE_ERR;
}

int RedisModule_OnUnload(RedisModuleCtx *ctx)
{
    (void)ctx;
    forget_dumps();
    sync_sessions_end();
    keyspace_end();
    settings_release();
    return REDISMODULE_OK;
}
