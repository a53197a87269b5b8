/* See items.h. */
#include "items.h"

#include "module/base/arguments.h"
#include "module/base/replies.h"
#include "module/value/timed.h"

/* ---- additions --------------------------------------------------------------------------------------------------- */

int reply_creation_error(RedisModuleCtx *ctx, roost_status status, const char *refusal)
{
    return status == ROOST_INVALID ? RedisModule_ReplyWithError(ctx, refusal) : reply_status(ctx, status);
}

bool target_open_to_add(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name,
                        const struct adding *adding)
{
    target_open(target, ctx, name, REDISMODULE_READ | REDISMODULE_WRITE);
    if (target->missing && !adding->no_create) {
        roost_status status = adding->create(target, adding->options);
        if (status == ROOST_OK)
            return true;
        target_close(target);
        reply_creation_error(ctx, status, adding->refusal);
        return false;
    }
    if (target->filter && adding->takes(target))
        return true;
    target_refuse(target, ERROR_NOT_FOUND);
    return false;
}

/* ---- lookup ------------------------------------------------------------------------------------------------------ */

/* A single item needs no allocation. */
static void look_up(const struct target *target, bool *found, RedisModuleString **items, size_t count)
{
    roost_bytes key = argument_bytes(*items);
    timed_contains(target->filter->filter, found, count == 1 ? &key : argument_keys(target->ctx, items, count), count);
}

int reply_contained(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, const struct membership_query *query)
{
    struct target target;
    bool one = false;
    if (argc < 3 || (query->single && argc > 3))
        return RedisModule_WrongArity(ctx);
    size_t count = (size_t)argc - 2;
    target_open(&target, ctx, argv[1], REDISMODULE_READ);
    bool taken = target.filter && query->takes(&target);
    if (target.staged || (!taken && !target.missing && query->refuses_others))
        return target_refuse(&target, ERROR_NOT_FOUND);
    bool *found = count == 1 ? &one : pool_booleans(ctx, count);
    if (taken)
        look_up(&target, found, argv + 2, count);
    target_close(&target);
    return query->single ? RedisModule_ReplyWithBool(ctx, one) : reply_booleans(ctx, found, count);
}
