#include "replies.h"

#include <stdio.h>

int reply_switches(RedisModuleCtx *ctx, const bool *switches, size_t count)
{
    RedisModule_ReplyWithArray(ctx, (long)count);
    for (size_t i = 0; i < count; i++)
        RedisModule_ReplyWithBool(ctx, switches[i]);
    return REDISMODULE_OK;
}

int reply_status(RedisModuleCtx *ctx, roost_status status)
{
    char text[128];
    if (status == ROOST_NO_MEMORY || status == ROOST_TOO_LARGE)
        return RedisModule_ReplyWithError(ctx, ERROR_MEMORY);
    snprintf(text, sizeof text, "ERR %s", roost_status_text(status));
    return RedisModule_ReplyWithError(ctx, text);
}
