/* Another module that has taken a name of ours; tests/module/commands.py. */
#include <redismodule.h>

static int add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    (void)argv;
    (void)argc;
    return RedisModule_ReplyWithLongLong(ctx, 0);
}

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    (void)argv;
    (void)argc;
    return RedisModule_Init(ctx, "elsewhere", 1, REDISMODULE_APIVER_1) == REDISMODULE_OK &&
                   RedisModule_CreateCommand(ctx, "bf.add", add, "write", 1, 1, 1) == REDISMODULE_OK
               ? REDISMODULE_OK
               : REDISMODULE_ERR;
}
