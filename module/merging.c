/*
 * See merging.h.
 *
 * The frame is read and cut by a thread (roost/steps.h), part by part it is merged in the turns of steps.h, and each
 * part is told to replicas as a ROOST.MERGE of its own, so that they are held no longer than their primary. What the
 * frame is read into goes away on a thread as well.
 *
 * Windows and counters are not cut: they are merged at once.
 *
 * What may happen meanwhile:
 *
 *     the key is deleted, replaced or renamed   the merge ends with an error; what was merged went with the object
 *     a missing key is made by somebody else    an error
 *     others change the filter                  the span of the journal that is told as the merge's own begins after it
 *     the client goes away                      the merge goes on
 *     the server becomes a replica              the merge ends with an error, and its primary knows nothing of the rest
 *     writes are paused, for a failover         the merge waits
 *     memory ends                               an error; what was merged stays, and the same frame can be sent again
 */
#include "merging.h"

#include <pthread.h>
#include <stdatomic.h>

#include "replies.h"
#include "settings.h"
#include "steps.h"
#include "tidying.h"
#include "timed.h"

#define LONG_FRAME   ((size_t)64 << 10)
#define LARGE_FILTER ((size_t)4 << 20)
/* Of a sparse array each byte may be a page that is touched for the first time. */
#define PART_BYTES ((size_t)4 << 10)

struct merge_job {
    struct job job;
    struct value memory; /* counts what the frame is read into, and limits it */
    const struct merge_verb *verb;
    roost_merging *merging;
    RedisModuleString *frame;
    roost_bytes bytes;
    pthread_t thread;
    atomic_bool read;
    bool joined;
    bool begins;         /* the frame has a filter of its own yet to be made, */
    uint64_t generation; /* of this generation */
    bool all_in;
    roost_cursor so_far; /* after the last step */
    struct merged merged;
};

bool merge_is_long(const struct target *target, roost_bytes frame)
{
    if (target->filter && is_timed(target->filter))
        return false;
    if (frame.size > LONG_FRAME)
        return true;
    return target->filter && target->filter->value.bytes > LARGE_FILTER &&
           !roost_frame_is_delta(frame.data, frame.size);
}

/* ---- threads -------------------------------------------------------------------------------------------------------
 */

static void *read_frame(void *context)
{
    struct merge_job *merge = context;
    merge->merged.status = roost_merging_read(merge->merging, merge->bytes.data, merge->bytes.size, PART_BYTES);
    atomic_store(&merge->read, true);
    return NULL;
}

static void *release(void *context)
{
    struct merge_job *merge = context;
    roost_merging_free(merge->merging);
    RedisModule_Free(merge);
    return NULL;
}

static void free_merge(struct job *job)
{
    pthread_t thread;
    struct merge_job *merge = (struct merge_job *)job;
    RedisModule_FreeString(NULL, merge->frame);
    if (pthread_create(&thread, NULL, release, merge) == 0)
        pthread_detach(thread);
    else
        release(merge);
}

/* ---- steps ---------------------------------------------------------------------------------------------------------
 */

/* An empty filter for a frame that gets one of its own; a window, which is not cut, comes whole. */
static roost_status make_filter(struct merge_job *merge, struct filter_value **filter)
{
    roost_status status = filter_value_open(filter, merge->merging);
    if (status != ROOST_OK || !is_timed(*filter))
        return status;
    value_free(&(*filter)->value);
    merge->all_in = true;
    return filter_value_decode(filter, merge->bytes.data, merge->bytes.size);
}

static roost_status create(struct merge_job *merge, struct target *target)
{
    struct filter_value *filter;
    roost_status status = make_filter(merge, &filter);
    if (status != ROOST_OK)
        return status;
    target_put_at(target, filter, merge->generation);
    merge->job.object = filter->object;
    merge->job.generation = merge->generation;
    merge->begins = false;
    merge->merged.changed = true;
    return ROOST_OK;
}

static bool is_same(roost_cursor a, roost_cursor b)
{
    return a.incarnation == b.incarnation && a.sequence == b.sequence;
}

/* Before a step: is the filter as the last one has left it? */
static roost_status look_for_others(struct merge_job *merge, struct target *target)
{
    roost_cursor now;
    if (!merge->verb->tells_state)
        return ROOST_OK;
    roost_status status = filter_value_cursor(target->filter, &now);
    if (status == ROOST_OK && !is_same(now, merge->so_far))
        merge->merged.from = now;
    return status;
}

static roost_status merge_part(struct merge_job *merge, struct target *target)
{
    bool changed = false;
    roost_status status = merge->begins ? create(merge, target) : ROOST_OK;
    if (status != ROOST_OK || merge->all_in)
        return status;
    status = look_for_others(merge, target);
    if (status == ROOST_OK)
        status = target_merge_step(target, &changed, &merge->all_in, merge->merging);
    merge->merged.changed |= changed;
    if (status == ROOST_OK && merge->verb->tells_state)
        status = filter_value_cursor(target->filter, &merge->so_far);
    return status;
}

static enum progress merge_some(struct merge_job *merge, struct target *target)
{
    merge->merged.status = merge_part(merge, target);
    bool over = merge->all_in || merge->merged.status != ROOST_OK;
    if (over && merge->merged.changed && target->filter)
        target_changed(target, merge->verb->event);
    return merge->merged.status != ROOST_OK || (over && !merge->verb->tells_state) ? ALL_DONE : MORE_TO_DO;
}

/* The digest is long to compute, too. */
static enum progress tell_state(struct merge_job *merge, struct target *target)
{
    struct merged *merged = &merge->merged;
    if (digest_step(target))
        return MORE_TO_DO;
    merged->generation = target_generation(target);
    merged->digest = roost_filter_digest(target->filter->filter);
    merged->status = filter_value_cursor(target->filter, &merged->to);
    if (!is_same(merged->to, merge->so_far) || merged->from.incarnation != merged->to.incarnation)
        merged->from = merged->to;
    return ALL_DONE;
}

static enum progress work_on(RedisModuleCtx *ctx, struct merge_job *merge)
{
    struct target target;
    enum progress progress = ALL_DONE;
    if (!job_open(ctx, &merge->job, &target, REDISMODULE_READ | REDISMODULE_WRITE))
        merge->merged.error = "STALE the key has changed while it was merged";
    else
        progress = merge->all_in ? tell_state(merge, &target) : merge_some(merge, &target);
    target_close(&target);
    return progress;
}

static enum progress merge_step(RedisModuleCtx *ctx, struct job *job)
{
    struct merge_job *merge = (struct merge_job *)job;
    if (!merge->joined) {
        if (!atomic_load(&merge->read))
            return NOTHING_TO_DO_NOW;
        pthread_join(merge->thread, NULL);
        merge->joined = true;
    }
    if (merge->merged.status != ROOST_OK)
        return ALL_DONE;
    if (may_write(ctx, &merge->merged.error))
        return work_on(ctx, merge);
    return merge->merged.error ? ALL_DONE : NOTHING_TO_DO_NOW;
}

static int reply_merge(RedisModuleCtx *ctx, struct job *job)
{
    const struct merge_job *merge = (const struct merge_job *)job;
    if (merge->merged.error)
        return RedisModule_ReplyWithError(ctx, merge->merged.error);
    return merge->merged.status == ROOST_OK ? merge->verb->reply(ctx, &merge->merged)
                                            : reply_status(ctx, merge->merged.status);
}

static const struct job_class merge_class = {merge_step, reply_merge, free_merge};

/* ---- the beginning -------------------------------------------------------------------------------------------------
 */

static roost_status begin(struct merge_job *merge, struct target *target)
{
    roost_environment environment = {.allocator = value_allocator(&merge->memory),
                                     .memory_limit = settings_machine_memory()};
    roost_status status = ROOST_OK;
    if (merge->verb->tells_state && !merge->begins)
        status = filter_value_cursor(target->filter, &merge->so_far);
    merge->merged.from = merge->so_far;
    if (status == ROOST_OK)
        status = roost_merging_new(&merge->merging, merge->begins ? NULL : target->filter->filter, &environment);
    if (status == ROOST_OK && pthread_create(&merge->thread, NULL, read_frame, merge) != 0)
        status = ROOST_NO_MEMORY;
    return status;
}

int merge_in_steps(struct target *target, RedisModuleString *frame, uint64_t generation, const struct merge_verb *verb)
{
    struct merge_job *merge = RedisModule_Calloc(1, sizeof *merge);
    merge->job.class = &merge_class;
    merge->verb = verb;
    merge->memory.limit = settings.memory_limit;
    merge->frame = RedisModule_HoldString(NULL, frame);
    merge->bytes.data = RedisModule_StringPtrLen(merge->frame, &merge->bytes.size);
    merge->begins = !target->filter || target_generation(target) < generation;
    merge->generation = generation;
    roost_status status = begin(merge, target);
    if (status == ROOST_OK)
        return job_begin(target->ctx, &merge->job, target);
    target_close(target);
    free_merge(&merge->job);
    return reply_status(target->ctx, status);
}
