/*
 * See target.h.
 *
 * What replicas are told of a filter that cannot be repeated comes out of its journal: each change is followed by the
 * delta since the mark. Batches are cut so that the journal never forgets what has not been told.
 */
#include "target.h"

#include <stdio.h>
#include <string.h>

#include "module/base/context.h"
#include "module/base/arguments.h"
#include "module/registry/key_removals.h"
#include "module/registry/tombstones.h"
#include "module/value/chunks.h"
#include "module/registry/registry.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "module/value/timed.h"

#define SLICE 64 /* changes between two deltas; several records a change fit into the shortest journal */

/* ---- the key ----------------------------------------------------------------------------------------------------- */

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
    if (target->missing || RedisModule_ModuleTypeGetType(target->key) != value_type)
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

/* One item needs no memory. */
static void look_up(const struct target *target, bool *found, RedisModuleString **items, size_t count)
{
    roost_bytes key = argument_bytes(*items);
    timed_contains(target->filter->filter, found, count == 1 ? &key : argument_keys(target->ctx, items, count), count);
}

int reply_contained(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                    const struct membership_query *membership_query)
{
    struct target target;
    bool one = false;
    if (argc < 3 || (membership_query->single && argc > 3))
        return RedisModule_WrongArity(ctx);
    size_t count = (size_t)argc - 2;
    target_open(&target, ctx, argv[1], REDISMODULE_READ);
    bool taken = target.filter && membership_query->takes(&target);
    if (!taken && !target.missing && membership_query->refuses_others)
        return target_refuse(&target, ERROR_NOT_FOUND);
    bool *found = count == 1 ? &one : pool_booleans(ctx, count);
    if (taken)
        look_up(&target, found, argv + 2, count);
    target_close(&target);
    return membership_query->single ? RedisModule_ReplyWithBool(ctx, one) : reply_booleans(ctx, found, count);
}

uint64_t target_generation(const struct target *target)
{
    return target->filter ? target->filter->value.generation : tombstones_generation_of(target->ctx, target->name);
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

/* A client's own change is limited, one that was decided elsewhere is not. What a merge makes a window forget goes only
   after what it brings has come. */
static void set_limit(struct target *target)
{
    target->filter->value.limit = target->mirrored ? 0 : settings.memory_limit + timed_grant(target->filter->filter);
    timed_bound(target->filter->filter, !target->mirrored);
}

static void lift_limit(struct target *target)
{
    target->filter->value.limit = 0;
}

/* ---- effects ----------------------------------------------------------------------------------------------------- */

static void replicate_whole(struct target *target)
{
    size_t size;
    uint8_t *bytes = value_encode_whole(&target->filter->value, &size, ENCODE_MIRROR);
    if (!bytes)
        RedisModule_Log(target->ctx, "warning", "no memory to tell replicas of a filter");
    else
        RedisModule_Replicate(target->ctx, "ROOST.RESTORE", "slb", target->name, 0LL, (const char *)bytes, size);
    RedisModule_Free(bytes);
}

static roost_status ready_to_replicate(struct target *target)
{
    roost_cursor cursor;
    return target->filter->mark.incarnation ? ROOST_OK : filter_value_cursor(target->filter, &cursor);
}

/* Over what replicas were told otherwise, so that the next delta is not about it. */
static void advance_replicated(struct filter_value *filter)
{
    roost_cursor cursor;
    if (filter->mark.incarnation)
        (void)(filter_value_cursor(filter, &cursor) == ROOST_OK); /* else there is no mark any more */
}

/* Whether there was anything to tell. */
static bool replicate_delta(struct target *target)
{
    struct filter_value *filter = target->filter;
    roost_cursor sent = filter->mark;
    roost_buffer frame;
    roost_status status = roost_filter_delta(filter->filter, &frame, &filter->mark, &filter->mark);
    bool news = memcmp(&sent, &filter->mark, sizeof sent) != 0;
    if (status != ROOST_OK)
        RedisModule_Log(target->ctx, "warning", "replicas cannot be told of a change: %s", roost_status_text(status));
    else if (news)
        RedisModule_Replicate(target->ctx, "ROOST.MERGE", "sb", target->name, (const char *)frame.data, frame.size);
    roost_buffer_release(&frame);
    return news || status != ROOST_OK;
}

roost_status target_begin(struct target *target)
{
    timed_bound(target->filter->filter, !target->mirrored);
    return ready_to_replicate(target);
}

bool target_replicate(struct target *target)
{
    return replicate_delta(target);
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

roost_status target_create(struct target *target, const roost_config *config, struct shown shown)
{
    struct filter_value *filter;
    roost_status status = filter_value_new(&filter, config, shown);
    if (status == ROOST_OK)
        target_put(target, filter);
    return status;
}

void target_put(struct target *target, struct filter_value *filter)
{
    key_removals_resolve(target->ctx, target->name);
    uint64_t generation = target_generation(target);
    target_put_at(target, filter, target->filter ? generation_after(generation) : generation);
}

void target_put_at(struct target *target, struct filter_value *filter, uint64_t generation)
{
    bool raised = generation > tombstones_generation_of(target->ctx, target->name);
    filter->value.generation = generation;
    if (!target->missing) {
        RedisModule_UnlinkKey(target->key);
        RedisModule_Replicate(target->ctx, "UNLINK", "s", target->name);
        key_removals_forget(target->name, RedisModule_GetSelectedDb(target->ctx));
    }
    target->filter = filter;
    target->missing = false;
    filter_value_identify(filter);
    RedisModule_ModuleTypeSetValue(target->key, value_type, &filter->value);
    registry_touch(target->ctx, &filter->value, target->name);
    if (target->mirrored)
        RedisModule_ReplicateVerbatim(target->ctx);
    else
        replicate_whole(target);
    if (raised && !target->mirrored)
        tombstones_record(target->ctx, target->name, generation);
}

void target_delete(struct target *target, uint64_t generation)
{
    bool there = !target->missing;
    if (there) {
        RedisModule_UnlinkKey(target->key);
        RedisModule_Replicate(target->ctx, "UNLINK", "s", target->name);
    }
    target->filter = NULL;
    target->missing = true;
    tombstones_record(target->ctx, target->name, generation);
    key_removals_forget(target->name, RedisModule_GetSelectedDb(target->ctx));
    if (there)
        RedisModule_NotifyKeyspaceEvent(target->ctx, REDISMODULE_NOTIFY_GENERIC, "del", target->name);
}

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

/* ---- additions --------------------------------------------------------------------------------------------------- */

static bool any(const bool *changed, size_t count)
{
    return count > 0 && memchr(changed, true, count) != NULL;
}

/* Repeated by replicas as they are. */
static roost_status add_bloom(struct target *target, bool *changed, size_t *done, const roost_bytes *keys,
                              RedisModuleString **items, size_t count)
{
    if (!target->mirrored && filter_value_identify(target->filter))
        RedisModule_Replicate(target->ctx, "ROOST.IDENTITY", "sl", target->name, (long long)target->filter->identity);
    roost_status status = filter_value_add(target->filter, changed, done, keys, count);
    bool grew = any(changed, *done);
    if (target->mirrored || (grew && target->as_it_came && status == ROOST_OK)) {
        if (!target->passed_on)
            RedisModule_ReplicateVerbatim(target->ctx);
        target->passed_on = true;
    } else if (grew)
        RedisModule_Replicate(target->ctx, "ROOST.ADD", "sv", target->name, items, *done);
    advance_replicated(target->filter);
    return status;
}

static roost_status add_and_replicate(struct target *target, bool *changed, size_t *done, const roost_bytes *keys,
                                      size_t count)
{
    roost_status status = ready_to_replicate(target);
    *done = 0;
    while (status == ROOST_OK && *done < count) {
        size_t taken, slice = count - *done < SLICE ? count - *done : SLICE;
        status = filter_value_add(target->filter, changed + *done, &taken, keys + *done, slice);
        /* a set takes a new dot for an element that it holds already: told as well */
        bool dots = config_of(target->filter)->kind == ROOST_ORCUCKOO;
        if (dots ? taken > 0 : any(changed + *done, taken))
            replicate_delta(target);
        *done += taken;
    }
    return status;
}

roost_status target_add(struct target *target, bool *changed, size_t *done, const roost_bytes *keys,
                        RedisModuleString **items, size_t count)
{
    set_limit(target);
    roost_status status = is_bloom(target->filter) ? add_bloom(target, changed, done, keys, items, count)
                                                   : add_and_replicate(target, changed, done, keys, count);
    lift_limit(target);
    return status;
}

/* ---- other changes ----------------------------------------------------------------------------------------------- */

static roost_status remove_some(roost_filter *filter, bool *changed, const roost_bytes *keys, size_t count, bool one)
{
    roost_status status = ROOST_OK;
    if (!one)
        return roost_filter_remove_many(filter, changed, keys, count);
    for (size_t i = 0; i < count && status == ROOST_OK; i++)
        status = roost_filter_remove_one(filter, &changed[i], keys[i].data, keys[i].size);
    return status;
}

roost_status target_remove(struct target *target, bool *changed, const roost_bytes *keys, size_t count, bool one)
{
    roost_status status = ready_to_replicate(target);
    for (size_t done = 0; status == ROOST_OK && done < count; done += SLICE) {
        size_t slice = count - done < SLICE ? count - done : SLICE;
        status = remove_some(target->filter->filter, changed + done, keys + done, slice, one);
        if (any(changed + done, slice))
            replicate_delta(target);
    }
    return status;
}

roost_status target_merge(struct target *target, bool *changed, const void *frame, size_t size)
{
    set_limit(target);
    roost_status status = roost_filter_merge_frame(target->filter->filter, changed, frame, size);
    lift_limit(target);
    if (*changed && is_bloom(target->filter))
        target->filter->inserted_known = false;
    if (*changed || target->mirrored)
        RedisModule_Replicate(target->ctx, "ROOST.MERGE", "sb", target->name, (const char *)frame, size);
    if (*changed)
        advance_replicated(target->filter);
    return status;
}

/* What the step brought is told as it is. */
roost_status target_merge_step(struct target *target, bool *changed, bool *done, roost_merging *merging)
{
    roost_bytes sent;
    set_limit(target);
    roost_status status = roost_merging_step(merging, target->filter->filter, changed, done, &sent);
    lift_limit(target);
    if (!*changed)
        return status;
    target->filter->inserted_known &= !is_bloom(target->filter);
    RedisModule_Replicate(target->ctx, "ROOST.MERGE", "sb", target->name, (const char *)sent.data, sent.size);
    advance_replicated(target->filter);
    registry_touch(target->ctx, &target->filter->value, target->name);
    return status;
}

static void replicate_synced(struct target *target)
{
    struct filter_value *filter = target->filter;
    filter->inserted_known = filter->inserted_known && !is_bloom(filter);
    replicate_delta(target);
    target_changed(target, "roost.sync");
}

/* What a message brings is told as a delta: the exchange itself depends on journals, which replicas do not have. */
roost_status target_sync(struct target *target, roost_buffer *reply, const void *message, size_t size)
{
    struct filter_value *filter = target->filter;
    bool changed = false;
    *reply = (roost_buffer){0};
    roost_status status = ready_to_replicate(target);
    if (status != ROOST_OK)
        return status;
    set_limit(target);
    status = roost_sync_answer(filter->filter, reply, &changed, message, size);
    lift_limit(target);
    if (changed)
        replicate_synced(target);
    return status;
}

/* Replies are taken in even where a later part of one is refused. */
static bool has_changed(struct filter_value *filter, roost_cursor since)
{
    roost_cursor now;
    return roost_filter_cursor(filter->filter, &now) != ROOST_OK || now.sequence != since.sequence ||
           now.incarnation != since.incarnation;
}

roost_status target_ask(struct target *target, roost_sync *sync, roost_buffer *request, const void *reply, size_t size)
{
    roost_cursor before;
    roost_status status = filter_value_cursor(target->filter, &before);
    if (status != ROOST_OK)
        return status;
    set_limit(target);
    status = roost_sync_next(sync, request, reply, size);
    lift_limit(target);
    if (has_changed(target->filter, before))
        replicate_synced(target);
    return status;
}
