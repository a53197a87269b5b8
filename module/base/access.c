/* See access.h. */
#include "access.h"

#include <errno.h>

/* The server refuses a number that no database has with another error. */
static bool is_denied_any(RedisModuleUser *user, RedisModuleString **argv, int argc)
{
    int database = 0;
    while (newer.acl_check_permissions(user, argv, argc, database, NULL) == REDISMODULE_OK)
        database++;
    return errno == EACCES;
}

bool may_use_all_databases(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    RedisModuleString *name = newer.acl_check_permissions ? RedisModule_GetCurrentUserName(ctx) : NULL;
    RedisModuleUser *user = name ? RedisModule_GetModuleUserFromUserName(name) : NULL;
    bool denied = user && is_denied_any(user, argv, argc);
    if (user)
        RedisModule_FreeModuleUser(user);
    if (name)
        RedisModule_FreeString(ctx, name);
    return !denied;
}
