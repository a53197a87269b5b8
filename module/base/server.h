/*
 * The calls of the server. redismodule.h is the same for Redis 7.0 and later and for Valkey. Calls that only newer
 * servers have are looked up by name when the module is loaded; they are NULL if the server does not have them.
 */
#ifndef MODULE_BASE_SERVER_H
#define MODULE_BASE_SERVER_H

#include <redismodule.h>
#include <roost.h>

struct newer_calls {
    int (*add_acl_category)(RedisModuleCtx *ctx, const char *name);
    int (*set_command_acl_categories)(RedisModuleCommand *command, const char *categories);
    void *(*try_calloc)(size_t count, size_t size);
    int (*add_post_notification_job)(RedisModuleCtx *ctx, void (*job)(RedisModuleCtx *ctx, void *data), void *data,
                                     void (*free_data)(void *data));
    unsigned long long (*command_filter_client)(RedisModuleCommandFilterCtx *filter); /* of Valkey */
    int (*acl_check_permissions)(RedisModuleUser *user, RedisModuleString **argv, int argc, int database, int *reason);
};
extern struct newer_calls newer;

/* Constants of newer servers. Servers that do not have them ignore the option; NOTIFY_KEY_TRIMMED needs a question
   (RedisModule_GetKeyspaceNotificationFlagsAll), since another server may use its bit for something else. */
#define OPTION_HANDLE_ATOMIC_SLOT_MIGRATION (1 << 5)  /* Valkey 9.0: CLUSTER MIGRATESLOTS */
#define NOTIFY_KEY_TRIMMED                  (1 << 17) /* Redis 8.4: CLUSTER MIGRATION */

void find_newer_calls(void);

#endif
