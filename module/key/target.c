/* See target.h. */
#include "target.h"

#include <stdio.h>

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/registry/registry.h"
#include "module/registry/slots.h"
#include "module/registry/tombstones.h"
#include "module/value/chunks.h"

void target_open(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name, int mode)
{
    *target = (struct target){.ctx = ctx, .name = name, .key = RedisModule_OpenKey(ctx, name, mode)};
    target->missing = !target->key || RedisModule_KeyType(target->key) == REDISMODULE_KEYTYPE_EMPTY;
    if (mode & REDISMODULE_WRITE) {
        target->mirrored = is_mirrored(ctx);
        target->reserved = target->missing && !target->mirrored && is_reserved_key(name);
        target->missing &= !target->reserved;
    }
    if (target->reserved)
        return;
    if (target->missing || !is_value_type(RedisModule_ModuleTypeGetType(target->key)))
        return;
    struct value *value = RedisModule_ModuleTypeGetValue(target->key);
    target->staged = value->class == &staged_class;
    target->filter = value->class == &filter_class ? (struct filter_value *)value : NULL;
}

void target_close(struct target *target)
{
    if (target->key)
        RedisModule_CloseKey(target->key);
    target->key = NULL;
}

int target_refuse(struct target *target, const char *when_missing)
{
    target_close(target);
    return RedisModule_ReplyWithError(target->ctx, target->missing    ? when_missing
                                                   : target->staged   ? ERROR_STAGED
                                                   : target->reserved ? ERROR_RESERVED
                                                                      : REDISMODULE_ERRORMSG_WRONGTYPE);
}

bool target_open_filter(struct target *target, RedisModuleCtx *ctx, RedisModuleString *name, int mode)
{
    target_open(target, ctx, name, mode);
    if (!target->filter)
        target_refuse(target, ERROR_NOT_FOUND);
    return target->filter;
}

uint64_t target_generation(const struct target *target)
{
    return target->filter ? target->filter->value.generation : tombstones_generation_of(target->ctx, target->name);
}

bool target_can_be_created(const struct target *target)
{
    roost_bytes bytes = argument_bytes(target->name);
    return !is_cluster() || slot_takes_new_keys(target->ctx, slot_of(bytes.data, bytes.size));
}

bool target_is_at(struct target *target, const RedisModuleString *argument)
{
    long long generation;
    char text[80];
    uint64_t here = target_generation(target);
    if (argument_number(argument, &generation, 0, LAST_GENERATION) && (uint64_t)generation == here)
        return true;
    target_close(target);
    snprintf(text, sizeof text, "STALE the key is at generation %llu", (unsigned long long)here);
    RedisModule_ReplyWithError(target->ctx, text);
    return false;
}

void target_changed(struct target *target, const char *event)
{
    registry_touch(target->ctx, &target->filter->value, target->name);
    RedisModule_NotifyKeyspaceEvent(target->ctx, REDISMODULE_NOTIFY_MODULE, event, target->name);
}
