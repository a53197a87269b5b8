/* See generation.h, and registry/tombstones.h for what a generation is. */
#include "generation.h"

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/registry/links.h"
#include "module/registry/tombstones.h"

int generation_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    long long generation, time = 0;
    if (argc < 4 || argc > 6)
        return RedisModule_WrongArity(ctx);
    if (!is_mirrored(ctx))
        return RedisModule_ReplyWithError(ctx, "ERR only a primary tells generations");
    if (!argument_number(argv[2], &generation, 0, INT64_MAX) ||
        (argc > 4 && !argument_number(argv[4], &time, 0, UINT32_MAX)))
        return RedisModule_ReplyWithError(ctx, "ERR invalid generation");
    struct tombstone_record record = {argv[1], generation_within((uint64_t)generation),
                                      argc > 4 ? (uint64_t)time : links_time(), argc > 5};
    tombstones_apply(ctx, argv[3], &record);
    RedisModule_ReplicateVerbatim(ctx);
    return reply_ok(ctx);
}
