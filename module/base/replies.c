#include "replies.h"

#include <stdio.h>

#include "counters.h"

int reply_booleans_until(RedisModuleCtx *ctx, const bool *booleans, size_t done, const char *error)
{
    RedisModule_ReplyWithArray(ctx, (long)(done + (error != NULL)));
    for (size_t i = 0; i < done; i++)
        RedisModule_ReplyWithBool(ctx, booleans[i]);
    return error ? RedisModule_ReplyWithError(ctx, error) : REDISMODULE_OK;
}

int reply_booleans(RedisModuleCtx *ctx, const bool *booleans, size_t count)
{
    return reply_booleans_until(ctx, booleans, count, NULL);
}

const char *memory_error(void)
{
    count_refusal(ROOST_NO_MEMORY);
    return ERROR_MEMORY;
}

int reply_status(RedisModuleCtx *ctx, roost_status status)
{
    char text[128];
    count_refusal(status);
    if (status == ROOST_NO_MEMORY || status == ROOST_TOO_LARGE)
        return RedisModule_ReplyWithError(ctx, ERROR_MEMORY);
    snprintf(text, sizeof text, "ERR %s", roost_status_text(status));
    return RedisModule_ReplyWithError(ctx, text);
}
