/*
 * See merging.h.
 *
 * The frame is read and cut by a thread (roost/steps.h), part by part it is merged in the turns of steps.h, and each
 * part is told to replicas as a ROOST.MERGE of its own, so that they are held no longer than their primary. What the
 * frame is read into goes away on a thread as well.
 *
 * What may happen meanwhile:
 *
 *     the key is deleted, replaced or renamed   the merge ends with an error; what was merged went with the object
 *     a missing key is made by somebody else    an error
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

#define LONG_FRAME   ((size_t)64 << 10)
#define LARGE_FILTER ((size_t)4 << 20)
#define PART_BYTES   ((size_t)16 << 10)

struct merge_job {
    struct job job;
    struct value memory; /* counts what the frame is read into, and limits it */
    roost_merging *merging;
    RedisModuleString *frame;
    roost_bytes bytes;
    const char *event;
    pthread_t thread;
    atomic_bool read;
    bool joined, changed;
    roost_status status;
    const char *error;
};

bool merge_is_long(const struct target *target, roost_bytes frame)
{
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
    merge->status = roost_merging_read(merge->merging, merge->bytes.data, merge->bytes.size, PART_BYTES);
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

/* An empty filter for a frame that came to a missing key. */
static roost_status create(struct merge_job *merge, struct target *target)
{
    struct filter_value *filter;
    roost_status status = filter_value_open(&filter, merge->merging);
    if (status != ROOST_OK)
        return status;
    target_put(target, filter);
    merge->job.object = filter->object;
    merge->changed = true;
    return ROOST_OK;
}

static enum progress merge_some(RedisModuleCtx *ctx, struct merge_job *merge)
{
    struct target target;
    bool changed = false, done = false;
    if (!job_open(ctx, &merge->job, &target, REDISMODULE_READ | REDISMODULE_WRITE)) {
        target_close(&target);
        merge->error = "ERR the key has changed while it was merged";
        return ALL_DONE;
    }
    if (target.missing)
        merge->status = create(merge, &target);
    if (merge->status == ROOST_OK)
        merge->status = target_merge_step(&target, &changed, &done, merge->merging);
    merge->changed |= changed;
    done |= merge->status != ROOST_OK;
    if (done && merge->changed && target.filter)
        target_changed(&target, merge->event);
    target_close(&target);
    return done ? ALL_DONE : MORE_TO_DO;
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
    if (merge->status != ROOST_OK)
        return ALL_DONE;
    if (may_write(ctx, &merge->error))
        return merge_some(ctx, merge);
    return merge->error ? ALL_DONE : NOTHING_TO_DO_NOW;
}

static int reply_merge(RedisModuleCtx *ctx, struct job *job)
{
    const struct merge_job *merge = (const struct merge_job *)job;
    if (merge->error)
        return RedisModule_ReplyWithError(ctx, merge->error);
    return merge->status == ROOST_OK ? RedisModule_ReplyWithBool(ctx, merge->changed)
                                     : reply_status(ctx, merge->status);
}

static const struct job_class merge_class = {merge_step, reply_merge, free_merge};

int merge_in_steps(struct target *target, RedisModuleString *frame, const char *event)
{
    struct merge_job *merge = RedisModule_Calloc(1, sizeof *merge);
    merge->job.class = &merge_class;
    merge->memory.limit = settings.memory_limit;
    merge->event = event;
    merge->frame = RedisModule_HoldString(NULL, frame);
    merge->bytes.data = RedisModule_StringPtrLen(merge->frame, &merge->bytes.size);
    roost_environment environment = {.allocator = value_allocator(&merge->memory),
                                     .memory_limit = settings_machine_memory()};
    roost_status status =
        roost_merging_new(&merge->merging, target->filter ? target->filter->filter : NULL, &environment);
    if (status == ROOST_OK && pthread_create(&merge->thread, NULL, read_frame, merge) != 0)
        status = ROOST_NO_MEMORY;
    target_close(target);
    if (status == ROOST_OK)
        return job_begin(target->ctx, &merge->job, target->name, target->filter);
    free_merge(&merge->job);
    return reply_status(target->ctx, status);
}
