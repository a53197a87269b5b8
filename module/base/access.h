/* Users that may use some databases alone (ACL SETUSER ... db=1, Valkey 9.1). Other servers have none. */
#ifndef MODULE_BASE_ACCESS_H
#define MODULE_BASE_ACCESS_H

#include "server.h"

#define ERROR_DATABASES                                                                                                \
    "NOPERM the command concerns all databases, and this user may use some of them only: it needs alldbs"

/* Whether the user may give this command in each database. */
bool may_use_all_databases(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
