/*
 * See changes.h.
 *
 * Changes that replicas cannot repeat are replicated from the journal of the filter: each change is followed by the
 * delta since the last one that was replicated. Batches are cut so that the journal still has everything that was not
 * replicated yet.
 *
 * A journal takes 250 bytes. A filter with removal that takes little more than that and has none, since nobody asked
 * for a cursor, gets none: its state is about as short as a delta, and is replicated instead.
 */
#include "changes.h"

#include <string.h>

#include "module/base/settings.h"
#include "module/registry/key_removals.h"
#include "module/registry/registry.h"
#include "module/registry/tombstones.h"
#include "module/value/timed.h"

#define SLICE 64  /* changes between two deltas; several records per change fit into the shortest journal */
#define SMALL 640 /* bytes of a filter that is replicated as a whole */

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* Limits the memory of a change by a client. Mirrored changes have no limit. A merge allocates what it adds to a window
   before it frees what the window forgets. */
static void set_limit(struct target *target)
{
    target->filter->value.limit = target->mirrored ? 0 : settings.memory_limit + timed_grant(target->filter->filter);
    timed_bound(target->filter->filter, !target->mirrored);
    roost_filter_set_time(target->filter->filter, timed_now());
}

static void lift_limit(struct target *target)
{
    target->filter->value.limit = 0;
}

/* ---- replication ------------------------------------------------------------------------------------------------- */

static void replicate_whole(struct target *target)
{
    size_t size;
    uint8_t *bytes = value_encode_whole(&target->filter->value, &size, ENCODE_MIRROR);
    if (!bytes)
        RedisModule_Log(target->ctx, "warning", "no memory to replicate a filter");
    else
        RedisModule_Replicate(target->ctx, "ROOST.RESTORE", "slb", target->name, 0LL, (const char *)bytes, size);
    RedisModule_Free(bytes);
}

static roost_status ready_to_replicate(struct target *target)
{
    roost_cursor cursor;
    return extra_of(target->filter)->replicated.incarnation ? ROOST_OK : filter_value_cursor(target->filter, &cursor);
}

/* Skips changes that were replicated in another form, so that the next delta does not repeat them. */
static void advance_replicated(struct filter_value *filter)
{
    roost_cursor cursor;
    if (extra_of(filter)->replicated.incarnation)
        (void)(filter_value_cursor(filter, &cursor) == ROOST_OK); /* otherwise the next change starts anew */
}

/* Returns whether there was anything to replicate. */
static bool replicate_delta(struct target *target)
{
    struct filter_value *filter = target->filter;
    roost_cursor *replicated = &filter_value_extra(filter)->replicated, sent = *replicated;
    roost_buffer frame;
    roost_status status = roost_filter_encode_delta(filter->filter, &frame, replicated, replicated);
    bool unsent = !is_same_cursor(sent, *replicated);
    if (status != ROOST_OK)
        RedisModule_Log(target->ctx, "warning", "a change cannot be replicated: %s", roost_status_text(status));
    else if (unsent)
        RedisModule_Replicate(target->ctx, "ROOST.MERGE", "sb", target->name, (const char *)frame.data, frame.size);
    roost_buffer_release(&frame);
    return unsent || status != ROOST_OK;
}

static bool goes_whole(const struct filter_value *filter)
{
    return config_of(filter)->kind == ROOST_ORCUCKOO && !extra_of(filter)->replicated.incarnation &&
           filter->value.bytes <= SMALL;
}

/* Before some changes of elements, and after them. */
static roost_status begin_slice(struct target *target, bool *whole)
{
    *whole = goes_whole(target->filter);
    return *whole ? ROOST_OK : ready_to_replicate(target);
}

static void replicate_slice(struct target *target, bool whole)
{
    roost_buffer frame;
    if (!whole) {
        replicate_delta(target);
        return;
    }
    roost_status status = roost_filter_encode(target->filter->filter, &frame);
    if (status != ROOST_OK)
        RedisModule_Log(target->ctx, "warning", "a change cannot be replicated: %s", roost_status_text(status));
    else
        RedisModule_Replicate(target->ctx, "ROOST.MERGE", "sb", target->name, (const char *)frame.data, frame.size);
    roost_buffer_release(&frame);
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
    RedisModule_ModuleTypeSetValue(target->key, type_for(&filter->value), &filter->value);
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

/* ---- additions --------------------------------------------------------------------------------------------------- */

static bool any(const bool *changed, size_t count)
{
    return count > 0 && memchr(changed, 1, count) != NULL;
}

/* Replicas repeat these additions. */
static roost_status add_repeatably(struct target *target, bool *changed, size_t *done, const roost_bytes *keys,
                                   RedisModuleString **items, size_t count)
{
    if (!target->mirrored && filter_value_identify(target->filter))
        RedisModule_Replicate(target->ctx, "ROOST.IDENTITY", "sl", target->name,
                              (long long)extra_of(target->filter)->identity);
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
    bool whole;
    roost_status status = ROOST_OK;
    *done = 0;
    while (status == ROOST_OK && *done < count && (status = begin_slice(target, &whole)) == ROOST_OK) {
        size_t taken, slice = count - *done < SLICE ? count - *done : SLICE;
        status = filter_value_add(target->filter, changed + *done, &taken, keys + *done, slice);
        /* a set takes a new dot for an element that it holds already, and replicates it */
        bool dots = config_of(target->filter)->kind == ROOST_ORCUCKOO;
        if (dots ? taken > 0 : any(changed + *done, taken))
            replicate_slice(target, whole);
        *done += taken;
    }
    return status;
}

roost_status target_add(struct target *target, bool *changed, size_t *done, const roost_bytes *keys,
                        RedisModuleString **items, size_t count)
{
    set_limit(target);
    roost_status status = is_for_bf(target->filter) ? add_repeatably(target, changed, done, keys, items, count)
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
    bool whole, recorded = config_of(target->filter)->semantics != ROOST_ADD_WINS; /* also of what is not there */
    roost_status status = begin_slice(target, &whole);
    if (recorded)
        set_limit(target); /* others take no memory */
    for (size_t done = 0; status == ROOST_OK && done < count; done += SLICE) {
        size_t slice = count - done < SLICE ? count - done : SLICE;
        status = remove_some(target->filter->filter, changed + done, keys + done, slice, one);
        if (recorded || any(changed + done, slice))
            replicate_slice(target, whole);
    }
    lift_limit(target);
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

/* Replicates what the step merged. */
roost_status target_merge_step(struct target *target, bool *changed, bool *done, roost_merge_job *merging)
{
    roost_bytes merged;
    set_limit(target);
    roost_status status = roost_merge_job_step(merging, target->filter->filter, changed, done, &merged);
    lift_limit(target);
    if (!*changed)
        return status;
    target->filter->inserted_known &= !is_bloom(target->filter);
    RedisModule_Replicate(target->ctx, "ROOST.MERGE", "sb", target->name, (const char *)merged.data, merged.size);
    advance_replicated(target->filter);
    registry_touch(target->ctx, &target->filter->value, target->name);
    return status;
}

/* The parts may have gigabytes: replicas take them from their own key of that name. */
roost_status target_merge_imported(struct target *target, const struct target *source)
{
    struct value *value = &target->filter->value;
    bool changed = false;
    set_limit(target);
    size_t limit = value->limit;
    roost_status status = roost_filter_merge_imported(target->filter->filter, &changed, source->filter->filter);
    lift_limit(target);
    if (changed || target->mirrored)
        RedisModule_Replicate(target->ctx, "ROOST.MERGEIMPORTED", "ss", target->name, source->name);
    if (!changed)
        return status;
    target->filter->inserted_known &= !is_bloom(target->filter);
    advance_replicated(target->filter);
    registry_touch(target->ctx, value, target->name);
    return limit && value->bytes > limit ? ROOST_TOO_LARGE : status;
}

static void replicate_synced(struct target *target)
{
    struct filter_value *filter = target->filter;
    filter->inserted_known = filter->inserted_known && !is_bloom(filter);
    replicate_delta(target);
    target_changed(target, "roost.sync");
}

/* Replicates the delta of a message: the exchange itself depends on journals, which replicas do not have. */
roost_status target_sync(struct target *target, roost_buffer *reply, const void *message, size_t size)
{
    struct filter_value *filter = target->filter;
    bool changed = false;
    *reply = (roost_buffer){0};
    roost_status status = ready_to_replicate(target);
    if (status != ROOST_OK)
        return status;
    set_limit(target);
    status = roost_sync_reply(filter->filter, reply, &changed, message, size);
    lift_limit(target);
    if (changed)
        replicate_synced(target);
    return status;
}

roost_status target_begin_sync(struct target *target, roost_reply_job **job, roost_bytes message,
                               const roost_environment *environment)
{
    bool changed = false;
    *job = NULL;
    roost_status status = ready_to_replicate(target);
    if (status != ROOST_OK)
        return status;
    set_limit(target);
    status = roost_reply_job_new(job, target->filter->filter, &changed, message.data, message.size, environment);
    lift_limit(target);
    if (changed)
        replicate_synced(target);
    return status;
}

void target_step_sync(struct target *target, roost_reply_job *job)
{
    bool changed;
    set_limit(target);
    roost_reply_job_step(job, target->filter->filter, &changed);
    lift_limit(target);
    if (changed)
        replicate_synced(target);
}

/* A reply may be merged in part, even if the rest of it is refused. */
static bool has_changed(struct filter_value *filter, roost_cursor since)
{
    roost_cursor now;
    return roost_filter_get_cursor(filter->filter, &now) != ROOST_OK || !is_same_cursor(now, since);
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
