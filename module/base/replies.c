#include "replies.h"

#include <stdio.h>

int reply_switches_until(RedisModuleCtx *ctx, const bool *switches, size_t done, const char *error)
{
    RedisModule_ReplyWithArray(ctx, (long)(done + (error != NULL)));
    for (size_t i = 0; i < done; i++)
        RedisModule_ReplyWithBool(ctx, switches[i]);
    return error ? RedisModule_ReplyWithError(ctx, error) : REDISMODULE_OK;
}

int reply_switches(RedisModuleCtx *ctx, const bool *switches, size_t count)
{
    return reply_switches_until(ctx, switches, count, NULL);
}

int reply_status(RedisModuleCtx *ctx, roost_status status)
{
    char text[128];
    if (status == ROOST_NO_MEMORY || status == ROOST_TOO_LARGE)
        return RedisModule_ReplyWithError(ctx, ERROR_MEMORY);
    snprintf(text, sizeof text, "ERR %s", roost_status_text(status));
    return RedisModule_ReplyWithError(ctx, text);
}
