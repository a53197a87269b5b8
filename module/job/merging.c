/*
 * See merging.h.
 *
 * A thread decodes the frame and cuts it (roost/incremental.h). The parts are merged one by one in time slices (job.h).
 * Each part is replicated as a ROOST.MERGE of its own, so that it blocks replicas no longer than the primary. Another
 * thread frees the decoded frame.
 *
 * Windows and counters are not cut: they are merged at once.
 *
 * Filters of other keys are copied first, page by page in time slices (roost/incremental.h), each in the state that it
 * has when its copy is complete. A thread merges and cuts the copies, and the rest is as for a frame. The old value of
 * the key is replaced when the first part is merged, so clients see a partial result meanwhile.
 *
 * What RedisBloom made (roost/imported.h) is not copied: at the first step the receiver shares it with the keys, as it
 * is by then, and replicas are told to do the same.
 *
 * What may happen meanwhile:
 *
 *     the key is deleted, replaced or renamed   the merge ends with an error; what was merged went with the object
 *     a client creates the missing key          the merge ends with an error
 *     the slot of the missing key moves         the merge ends with an error; the key is not created
 *     clients change the filter                 the applied range that is reported begins after their changes
 *     the client disconnects                    the merge goes on
 *     the server becomes a replica              the merge ends with an error, and its primary never gets the rest
 *     writes are paused, for a failover         the merge waits
 *     no memory is left                         an error; what was merged stays, and the same frame can be sent again
 */
#include "merging.h"

#include <pthread.h>
#include <stdatomic.h>

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "module/key/changes.h"
#include "module/value/timed.h"
#include "copying.h"
#include "digest_job.h"
#include "key_job.h"

#define LONG_FRAME   ((size_t)4 << 10)
#define LONG_SPARSE  ((size_t)1 << 10)  /* for a large filter, where each entry may touch new pages */
#define LONG_WORDS   ((size_t)64 << 10) /* for a Bloom filter that is not large: its words are merged as they are */
#define LARGE_FILTER ((size_t)4 << 20)
#define ERROR_COPIED "STALE a key has changed while it was copied"

/* Filters of other keys. */
struct sources {
    RedisModuleString **keys;
    uint64_t *objects;
    roost_filter **copies;
    int count, copied;
    struct copying copying; /* of the next one */
    struct shown shown;     /* of the first one */
    bool imported;          /* there are parts that RedisBloom made */
};

struct merge_job {
    struct key_job job;
    struct sources *sources; /* NULL: a frame */
    struct value memory;     /* counts and limits the memory of the decoded frame */
    const struct merge_verb *verb;
    roost_merge_job *merging;
    RedisModuleString *frame;
    roost_bytes bytes;
    pthread_t thread;
    atomic_bool read;
    bool begun, joined;  /* the thread */
    bool begins;         /* a filter for the frame has to be created, */
    uint64_t generation; /* of this generation */
    bool took_imported, all_in;
    roost_cursor so_far; /* after the last step */
    struct merged merged;
};

/* The size of a frame says little about its cost: a few kilobytes may be thousands of entries, and each may touch new
   pages. */
static size_t long_for(const struct target *target, roost_bytes frame)
{
    uint64_t bytes = target->filter             ? target->filter->value.bytes
                     : frame.size > LONG_SPARSE ? roost_frame_get_memory(frame.data, frame.size)
                                                : 0;
    bool words = target->filter && is_bloom(target->filter);
    return bytes > LARGE_FILTER ? LONG_SPARSE : words ? LONG_WORDS : LONG_FRAME;
}

bool merge_is_long(const struct target *target, roost_bytes frame)
{
    if (target->filter && is_timed(target->filter->filter))
        return false;
    if (frame.size > long_for(target, frame))
        return true;
    return target->filter && target->filter->value.bytes > LARGE_FILTER &&
           !roost_frame_is_delta(frame.data, frame.size);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static roost_status join_sources(struct merge_job *merge)
{
    struct sources *sources = merge->sources;
    roost_status status = ROOST_OK;
    for (int i = 1; i < sources->count && status == ROOST_OK; i++) {
        status = roost_filter_merge(sources->copies[0], NULL, sources->copies[i]);
        roost_filter_free(sources->copies[i]);
        sources->copies[i] = NULL;
    }
    if (status != ROOST_OK)
        return status;
    roost_filter *joined = sources->copies[0];
    sources->copies[0] = NULL;
    return roost_merge_job_read_filter(merge->merging, joined, PART_BYTES);
}

static void *read_frame(void *context)
{
    struct merge_job *merge = context;
    merge->merged.status = merge->sources
                               ? join_sources(merge)
                               : roost_merge_job_read(merge->merging, merge->bytes.data, merge->bytes.size, PART_BYTES);
    atomic_store(&merge->read, true);
    return NULL;
}

static void free_sources(struct sources *sources)
{
    if (!sources)
        return;
    copying_free(&sources->copying);
    for (int i = 0; i < sources->count; i++)
        roost_filter_free(sources->copies[i]);
    RedisModule_Free(sources->copies);
    RedisModule_Free(sources->objects);
    RedisModule_Free(sources);
}

static void *release(void *context)
{
    struct merge_job *merge = context;
    roost_merge_job_free(merge->merging);
    free_sources(merge->sources);
    RedisModule_Free(merge);
    return NULL;
}

static void free_merge(struct job *job)
{
    pthread_t thread;
    struct merge_job *merge = (struct merge_job *)job;
    key_job_release(&merge->job);
    if (merge->frame)
        RedisModule_FreeString(NULL, merge->frame);
    for (int i = 0; merge->sources && i < merge->sources->count; i++)
        RedisModule_FreeString(NULL, merge->sources->keys[i]);
    if (merge->sources) {
        RedisModule_Free(merge->sources->keys);
        copying_end(&merge->sources->copying);
    }
    if (pthread_create(&thread, NULL, release, merge) == 0)
        pthread_detach(thread);
    else
        release(merge);
}

/* ---- merging in steps -------------------------------------------------------------------------------------------- */

/* Creates an empty filter for the frame; decodes a window, which is not cut. */
static roost_status make_filter(struct merge_job *merge, struct filter_value **filter)
{
    roost_status status = filter_value_open(filter, merge->merging);
    if (status != ROOST_OK || !is_timed((*filter)->filter))
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
    if (merge->sources) {
        filter->shown = merge->sources->shown;
        target_put(target, filter);
    } else {
        target_put_at(target, filter, merge->generation);
    }
    merge->job.object = filter->object;
    merge->job.generation = filter->value.generation;
    merge->begins = false;
    merge->merged.changed = true;
    return ROOST_OK;
}

/* Before a step: has a client changed the filter since the last one? */
static roost_status note_other_changes(struct merge_job *merge, struct target *target)
{
    roost_cursor now;
    if (!merge->verb->wants_state)
        return ROOST_OK;
    roost_status status = filter_value_cursor(target->filter, &now);
    if (status == ROOST_OK && !is_same_cursor(now, merge->so_far))
        merge->merged.from = now;
    return status;
}

static bool open_source(struct target *source, RedisModuleCtx *ctx, const struct sources *sources, int number)
{
    target_open(source, ctx, sources->keys[number], REDISMODULE_READ);
    return source->filter && source->filter->object == sources->objects[number];
}

static bool sources_are_there(RedisModuleCtx *ctx, const struct sources *sources)
{
    bool there = true;
    for (int i = 0; sources && sources->imported && i < sources->count && there; i++) {
        struct target source;
        there = open_source(&source, ctx, sources, i);
        target_close(&source);
    }
    return there;
}

static roost_status take_imported(struct merge_job *merge, struct target *target)
{
    roost_status status = ROOST_OK;
    for (int i = 0; merge->sources && i < merge->sources->count && status == ROOST_OK; i++) {
        struct target source;
        if (open_source(&source, target->ctx, merge->sources, i) && imported_of(source.filter).parts > 0)
            status = target_merge_imported(target, &source);
        target_close(&source);
    }
    merge->took_imported = true;
    return status;
}

static roost_status merge_part(struct merge_job *merge, struct target *target)
{
    bool changed = false;
    roost_status status = merge->begins ? create(merge, target) : ROOST_OK;
    if (status != ROOST_OK || merge->all_in)
        return status;
    if (!merge->took_imported)
        status = take_imported(merge, target);
    if (status == ROOST_OK)
        status = note_other_changes(merge, target);
    if (status == ROOST_OK)
        status = target_merge_step(target, &changed, &merge->all_in, merge->merging);
    merge->merged.changed |= changed;
    if (status == ROOST_OK && merge->verb->wants_state)
        status = filter_value_cursor(target->filter, &merge->so_far);
    return status;
}

static enum progress merge_some(struct merge_job *merge, struct target *target)
{
    merge->merged.status = merge_part(merge, target);
    bool over = merge->all_in || merge->merged.status != ROOST_OK;
    if (over && merge->merged.changed && target->filter)
        target_changed(target, merge->verb->event);
    return merge->merged.status != ROOST_OK || (over && !merge->verb->wants_state) ? ALL_DONE : MORE_TO_DO;
}

/* The digest may take long, too. */
static enum progress read_state(struct merge_job *merge, struct target *target)
{
    struct merged *merged = &merge->merged;
    if (digest_step(target))
        return MORE_TO_DO;
    merged->generation = target_generation(target);
    merged->digest = roost_filter_digest(target->filter->filter);
    merged->status = filter_value_cursor(target->filter, &merged->to);
    if (!is_same_cursor(merged->to, merge->so_far) || merged->from.incarnation != merged->to.incarnation)
        merged->from = merged->to;
    return ALL_DONE;
}

/* ROOST.MERGESTORE replaces a value of any type. */
static bool open_receiver(RedisModuleCtx *ctx, struct merge_job *merge, struct target *target)
{
    return key_job_open(ctx, &merge->job, target, REDISMODULE_READ | REDISMODULE_WRITE) ||
           (merge->sources && merge->begins);
}

static enum progress merge_or_finish(RedisModuleCtx *ctx, struct merge_job *merge)
{
    struct target target;
    enum progress progress = ALL_DONE;
    if (!open_receiver(ctx, merge, &target))
        merge->merged.error = "STALE the key has changed while it was merged";
    else if (!merge->took_imported && !sources_are_there(ctx, merge->sources))
        merge->merged.error = ERROR_COPIED;
    else if (merge->begins && target.missing && !target_can_be_created(&target))
        merge->merged.error = "STALE the slot of the key has moved: send the command again";
    else
        progress = merge->all_in ? read_state(merge, &target) : merge_some(merge, &target);
    target_close(&target);
    return progress;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static bool begin_thread(struct merge_job *merge)
{
    return pthread_create(&merge->thread, NULL, read_frame, merge) == 0;
}

static enum progress copy_source(RedisModuleCtx *ctx, struct merge_job *merge)
{
    struct sources *sources = merge->sources;
    struct target source;
    enum progress progress = ALL_DONE;
    if (!open_source(&source, ctx, sources, sources->copied))
        merge->merged.error = ERROR_COPIED;
    else
        progress = copy_some(&sources->copying, source.filter, &merge->memory, &merge->merged.status);
    target_close(&source);
    if (progress != ALL_DONE || merge->merged.error || merge->merged.status != ROOST_OK)
        return progress;
    sources->copies[sources->copied++] = sources->copying.copy;
    sources->copying = (struct copying){0};
    return MORE_TO_DO;
}

/* The thread starts when all copies are complete. */
static enum progress copy_sources(RedisModuleCtx *ctx, struct merge_job *merge)
{
    if (merge->sources->copied < merge->sources->count)
        return copy_source(ctx, merge);
    merge->begun = begin_thread(merge);
    if (merge->begun)
        return NOTHING_TO_DO_NOW;
    merge->merged.status = ROOST_NO_MEMORY;
    return ALL_DONE;
}

static enum progress merge_step(RedisModuleCtx *ctx, struct job *job)
{
    struct merge_job *merge = (struct merge_job *)job;
    if (!merge->begun)
        return copy_sources(ctx, merge);
    if (!merge->joined) {
        if (!atomic_load(&merge->read))
            return NOTHING_TO_DO_NOW;
        pthread_join(merge->thread, NULL);
        merge->joined = true;
    }
    if (merge->merged.status != ROOST_OK)
        return ALL_DONE;
    if (may_write(ctx, &merge->merged.error))
        return merge_or_finish(ctx, merge);
    return merge->merged.error ? ALL_DONE : NOTHING_TO_DO_NOW;
}

static int reply_merge(RedisModuleCtx *ctx, struct job *job)
{
    const struct merge_job *merge = (const struct merge_job *)job;
    if (merge->merged.error)
        return job_reply_error(ctx, merge->merged.error);
    return merge->merged.status == ROOST_OK ? merge->verb->reply(ctx, &merge->merged)
                                            : job_reply_status(ctx, merge->merged.status);
}

static const struct job_class merge_class = {merge_step, reply_merge, free_merge, SLOW_MERGE};

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

static roost_status begin(struct merge_job *merge, struct target *target)
{
    roost_environment environment = environment_for_job(&merge->memory);
    roost_status status = ROOST_OK;
    environment.memory_limit = merge->memory.limit;
    if (merge->verb->wants_state && !merge->begins)
        status = filter_value_cursor(target->filter, &merge->so_far);
    merge->merged.from = merge->so_far;
    if (status == ROOST_OK)
        status = roost_merge_job_new(&merge->merging, merge->begins ? NULL : target->filter->filter, &environment);
    if (status == ROOST_OK && !merge->sources) {
        merge->begun = begin_thread(merge);
        status = merge->begun ? ROOST_OK : ROOST_NO_MEMORY;
    }
    return status;
}

static int begin_or_refuse(struct merge_job *merge, struct target *target)
{
    roost_status status = begin(merge, target);
    if (status == ROOST_OK)
        return key_job_begin(&merge->job, target);
    target_close(target);
    free_merge(&merge->job.job);
    return reply_status(target->ctx, status);
}

int merge_incrementally(struct target *target, RedisModuleString *frame, uint64_t generation,
                        const struct merge_verb *verb)
{
    struct merge_job *merge = RedisModule_Calloc(1, sizeof *merge);
    merge->job.job.class = &merge_class;
    merge->verb = verb;
    merge->memory.limit = settings.memory_limit;
    merge->frame = hold_for_thread(frame);
    merge->bytes.data = RedisModule_StringPtrLen(merge->frame, &merge->bytes.size);
    merge->begins = !target->filter || target_generation(target) < generation;
    merge->generation = generation;
    return begin_or_refuse(merge, target);
}

static void add_source(struct sources *sources, RedisModuleCtx *ctx, RedisModuleString *key)
{
    struct target source;
    target_open(&source, ctx, key, REDISMODULE_READ);
    if (sources->count == 0)
        sources->shown = source.filter->shown;
    sources->imported |= imported_of(source.filter).parts > 0;
    sources->keys[sources->count] = RedisModule_CreateStringFromString(NULL, key);
    sources->objects[sources->count++] = source.filter->object;
    target_close(&source);
}

int merge_filters_incrementally(struct target *target, RedisModuleString **keys, int count,
                                const struct merge_verb *verb)
{
    struct merge_job *merge = RedisModule_Calloc(1, sizeof *merge);
    struct sources *sources = RedisModule_Calloc(1, sizeof *sources);
    const size_t places = (size_t)count;
    *merge = (struct merge_job){.job.job.class = &merge_class, .sources = sources, .verb = verb, .begins = true};
    sources->keys = RedisModule_Alloc(places * sizeof *sources->keys);
    sources->objects = RedisModule_Alloc(places * sizeof *sources->objects);
    sources->copies = RedisModule_Calloc(places, sizeof(roost_filter *));
    merge->memory.limit =
        settings.memory_limit > SIZE_MAX / (places + 1) ? SIZE_MAX : settings.memory_limit * (places + 1);
    for (int i = 0; i < count; i++)
        if (RedisModule_StringCompare(keys[i], target->name) != 0)
            add_source(sources, target->ctx, keys[i]);
        else
            merge->begins = false;
    if (sources->count > 0)
        return begin_or_refuse(merge, target);
    target_close(target); /* the only source is the destination */
    free_merge(&merge->job.job);
    return verb->reply(target->ctx, &(struct merged){.status = ROOST_OK});
}
