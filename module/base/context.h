/* Questions about the server and about the command that is being executed. */
#ifndef MODULE_BASE_CONTEXT_H
#define MODULE_BASE_CONTEXT_H

#include "server.h"

static inline bool is_cluster(void)
{
    return RedisModule_GetContextFlags(NULL) & REDISMODULE_CTX_FLAGS_CLUSTER;
}

static inline bool is_loading(void)
{
    return RedisModule_GetContextFlags(NULL) & (REDISMODULE_CTX_FLAGS_LOADING | REDISMODULE_CTX_FLAGS_ASYNC_LOADING);
}

/* The server repeats what a primary or a file of its own says. */
static inline bool is_decided_elsewhere(void)
{
    return is_loading() || RedisModule_GetContextFlags(NULL) & REDISMODULE_CTX_FLAGS_SLAVE;
}

/* The command comes from a primary or from the AOF. */
static inline bool is_mirrored(RedisModuleCtx *ctx)
{
    return RedisModule_GetContextFlags(ctx) &
           (REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING | REDISMODULE_CTX_FLAGS_ASYNC_LOADING);
}

/* The command comes from the node of the cluster that still serves the slot of its keys, which moves here as a
   whole. */
static inline bool is_imported(RedisModuleCtx *ctx)
{
    return is_mirrored(ctx) && !is_decided_elsewhere();
}

/* The client may be blocked. In MULTI, in scripts and in mirrored commands it may not. */
static inline bool can_wait(RedisModuleCtx *ctx)
{
    return !is_mirrored(ctx) &&
           !(RedisModule_GetContextFlags(ctx) &
             (REDISMODULE_CTX_FLAGS_MULTI | REDISMODULE_CTX_FLAGS_LUA | REDISMODULE_CTX_FLAGS_DENY_BLOCKING));
}

/* Code that runs from a timer may change keys now. If it never may again, *error says why. */
static inline bool may_write(RedisModuleCtx *ctx, const char **error)
{
    int flags = RedisModule_GetContextFlags(ctx);
    if (!(flags & REDISMODULE_CTX_FLAGS_MASTER))
        *error = "READONLY the server has become a replica meanwhile";
    return !*error && !(flags & REDISMODULE_CTX_FLAGS_LOADING) && !RedisModule_AvoidReplicaTraffic();
}

#endif
