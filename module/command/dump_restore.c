/* See dump_restore.h. */
#include "dump_restore.h"

#include "module/base/arguments.h"
#include "module/base/replies.h"
#include "module/key/target.h"
#include "dumps.h"
#include "load_chunk.h"

int dump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    long long iterator;
    if (argc != 3)
        return RedisModule_WrongArity(ctx);
    if (!argument_number(argv[2], &iterator, 0, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, "ERR invalid iterator");
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ))
        return REDISMODULE_OK;
    return reply_chunk(&target, iterator, "ERR invalid iterator");
}

int restore_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    return load_chunk(ctx, argv, argc,
                      &(struct load_errors){.number = "ERR invalid iterator",
                                            .position = "ERR not the chunk that comes next",
                                            .data = ERROR_BAD_DATA,
                                            .event = "roost.restore"});
}
