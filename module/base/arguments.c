#include "arguments.h"

#include <math.h>
#include <string.h>
#include <strings.h>

bool argument_is(const RedisModuleString *argument, const char *word)
{
    roost_bytes bytes = argument_bytes(argument);
    return bytes.size == strlen(word) && strncasecmp(bytes.data, word, bytes.size) == 0;
}

int argument_among(const RedisModuleString *argument, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (argument_is(argument, words[i]))
            return i;
    return -1;
}

bool argument_number(const RedisModuleString *argument, long long *number, long long least, long long most)
{
    return RedisModule_StringToLongLong(argument, number) == REDISMODULE_OK && *number >= least && *number <= most;
}

enum rate_argument argument_rate(const RedisModuleString *argument, double *rate)
{
    if (RedisModule_StringToDouble(argument, rate) != REDISMODULE_OK || isnan(*rate))
        return RATE_BAD;
    return *rate > 0 && *rate < 1 ? RATE_GOOD : RATE_OUT_OF_RANGE;
}

roost_bytes *argument_keys(RedisModuleCtx *ctx, RedisModuleString **argv, size_t count)
{
    roost_bytes *keys = RedisModule_PoolAlloc(ctx, count * sizeof *keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = argument_bytes(argv[i]);
    return keys;
}

bool *pool_booleans(RedisModuleCtx *ctx, size_t count)
{
    bool *booleans = RedisModule_PoolAlloc(ctx, count * sizeof *booleans);
    memset(booleans, 0, count * sizeof *booleans);
    return booleans;
}

/* When the command ends, the server gives back what it allocated beyond the end of arguments that are held, and may
   move them: so that is done before, or else the thread gets a copy. */
RedisModuleString *hold_for_thread(RedisModuleString *argument)
{
    if (!RedisModule_TrimStringAllocation)
        return RedisModule_CreateStringFromString(NULL, argument);
    RedisModuleString *held = RedisModule_HoldString(NULL, argument);
    RedisModule_TrimStringAllocation(held);
    return held;
}
