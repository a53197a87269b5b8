/* See load_chunk.h. Chunks are replicated as they came: the result depends on their bytes alone. */
#include "load_chunk.h"

#include "module/base/arguments.h"
#include "module/base/counters.h"
#include "module/base/replies.h"
#include "module/key/target.h"
#include "module/registry/registry.h"
#include "module/registry/tombstones.h"
#include "module/value/chunks.h"

static const char *error_of(roost_status status, const struct load_errors *errors)
{
    return status == ROOST_INVALID                                  ? errors->position
           : status == ROOST_UNSUPPORTED                            ? ERROR_RESERVED
           : status == ROOST_NO_MEMORY || status == ROOST_TOO_LARGE ? ERROR_MEMORY
                                                                    : errors->data;
}

static void note_loaded(RedisModuleCtx *ctx, RedisModuleString *name, const char *event)
{
    struct target target;
    target_open(&target, ctx, name, REDISMODULE_READ);
    struct value *value = target.staged ? NULL : RedisModule_ModuleTypeGetValue(target.key);
    uint64_t generation = tombstones_generation_of(ctx, name);
    if (value && value->generation < generation)
        value->generation = generation;
    if (value)
        registry_arrive(ctx, value, name);
    if (target.filter)
        target_changed(&target, event);
    target_close(&target);
}

int load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, const struct load_errors *errors)
{
    struct target target;
    long long iterator;
    if (argc != 4)
        return RedisModule_WrongArity(ctx);
    if (!argument_number(argv[2], &iterator, 0, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, errors->number);
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    if (!target.missing && !target.reserved && !target.filter && !target.staged)
        return target_refuse(&target, ERROR_NOT_FOUND);
    roost_bytes chunk = argument_bytes(argv[3]);
    roost_status status = chunks_load(target.key, iterator, chunk.data, chunk.size,
                                      target.mirrored ? ENCODE_MIRROR : ENCODE_COPY, errors->takes, errors->source);
    target_close(&target);
    count_refusal(status);
    if (status != ROOST_OK)
        return RedisModule_ReplyWithError(ctx, error_of(status, errors));
    note_loaded(ctx, argv[1], errors->event);
    RedisModule_ReplicateVerbatim(ctx);
    return reply_ok(ctx);
}
