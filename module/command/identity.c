/* See identity.h, and value/filter_value.h for what an identity is. */
#include "identity.h"

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/key/target.h"

/* Comes from a primary or the AOF, before the first additions that depend on it. */
int identity_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    long long identity;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!argument_number(argv[2], &identity, INT64_MIN, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, "ERR invalid identity");
    if (!is_mirrored(ctx))
        return RedisModule_ReplyWithError(ctx, "ERR only a primary tells identities");
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE))
        return REDISMODULE_OK;
    filter_value_extra(target.filter)->identity = (uint64_t)identity;
    RedisModule_ReplicateVerbatim(ctx);
    target_close(&target);
    return reply_ok(ctx);
}
