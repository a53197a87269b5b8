/* See batch.h. */
#include "batch.h"

#include <string.h>

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/key/changes.h"
#include "key_job.h"

#define MOST_MICROSECONDS 1000
/* Each item may go to a segment of its own that the filter shares with a copy, and that is copied first. */
#define LARGE_FILTER ((size_t)4 << 20)
#define LARGE_SLICE  64

/* The progress of a batch. */
struct batch {
    const struct batch_verb *verb;
    struct batch_items all;
    size_t done;
    roost_status status;
    const char *error;
};

static bool is_over(const struct batch *batch)
{
    return batch->done == batch->all.count || batch->status != ROOST_OK;
}

static size_t slice_for(const struct target *target)
{
    return target->filter && target->filter->value.bytes > LARGE_FILTER ? LARGE_SLICE : BATCH_SLICE;
}

static void apply_slice(struct batch *batch, struct target *target)
{
    size_t taken = 0, left = batch->all.count - batch->done, most = slice_for(target);
    struct batch_items slice = {batch->all.items + batch->done, batch->all.results + batch->done,
                                left < most ? left : most};
    batch->status = batch->verb->apply(target, &taken, slice);
    batch->done += taken;
    if (batch->status != ROOST_OK)
        batch->error = batch->verb->error(target, batch->status);
}

/* ---- the rest, later --------------------------------------------------------------------------------------------- */

struct batch_job {
    struct key_job job;
    struct batch batch;
    const char *lost; /* the error that ended it early */
};

static enum progress batch_step(RedisModuleCtx *ctx, struct job *job)
{
    struct batch_job *later = (struct batch_job *)job;
    struct target target;
    if (!may_write(ctx, &later->lost))
        return later->lost ? ALL_DONE : NOTHING_TO_DO_NOW;
    bool there = key_job_open(ctx, &later->job, &target, REDISMODULE_READ | REDISMODULE_WRITE);
    if (there)
        apply_slice(&later->batch, &target);
    else
        later->lost = "STALE the key has changed while items were worked off";
    target_close(&target);
    return later->lost || is_over(&later->batch) ? ALL_DONE : MORE_TO_DO;
}

static int reply_later(RedisModuleCtx *ctx, struct job *job)
{
    const struct batch_job *later = (const struct batch_job *)job;
    const struct batch *batch = &later->batch;
    if (later->lost)
        return job_reply_error(ctx, later->lost);
    return batch->verb->reply(ctx, batch->all.results, batch->done, batch->status, batch->error);
}

static void free_later(struct job *job)
{
    struct batch_job *later = (struct batch_job *)job;
    key_job_release(&later->job);
    for (size_t i = 0; i < later->batch.all.count; i++)
        RedisModule_FreeString(NULL, later->batch.all.items[i]);
    RedisModule_Free(later->batch.all.items);
    RedisModule_Free(later->batch.all.results);
    RedisModule_Free(later);
}

static const struct job_class batch_class = {batch_step, reply_later, free_later, SLOW_BATCH};

static int go_on_later(struct target *target, const struct batch *batch)
{
    struct batch_job *later = RedisModule_Calloc(1, sizeof *later);
    size_t count = batch->all.count;
    later->job.job.class = &batch_class;
    later->batch = *batch;
    later->batch.all.items = RedisModule_Alloc(count * sizeof *batch->all.items);
    later->batch.all.results = RedisModule_Alloc(count * sizeof *batch->all.results);
    for (size_t i = 0; i < count; i++)
        later->batch.all.items[i] = RedisModule_HoldString(NULL, batch->all.items[i]);
    memcpy(later->batch.all.results, batch->all.results, count * sizeof *batch->all.results);
    return key_job_begin(&later->job, target);
}

/* ---- now --------------------------------------------------------------------------------------------------------- */

int batch_run(struct target *target, const struct batch_verb *verb, RedisModuleString **items, size_t count)
{
    RedisModuleCtx *ctx = target->ctx;
    struct batch batch = {.verb = verb, .all = {items, RedisModule_PoolAlloc(ctx, count * sizeof(int)), count}};
    bool short_one = count <= slice_for(target);
    uint64_t begin = short_one ? 0 : microseconds_now();
    target->as_it_came = short_one;
    do
        apply_slice(&batch, target);
    while (!is_over(&batch) && (microseconds_now() - begin < MOST_MICROSECONDS || !can_wait(ctx)));
    target_close(target);
    if (!is_over(&batch))
        return go_on_later(target, &batch);
    return verb->reply(ctx, batch.all.results, batch.done, batch.status, batch.error);
}

void batch_keys(const struct batch_items *items, roost_bytes keys[BATCH_SLICE])
{
    for (size_t i = 0; i < items->count; i++)
        keys[i] = argument_bytes(items->items[i]);
}

void batch_results(const struct batch_items *items, const bool *changed, size_t count)
{
    for (size_t i = 0; i < count; i++)
        items->results[i] = changed[i];
}

/* ---- additions --------------------------------------------------------------------------------------------------- */

roost_status batch_add(struct target *target, size_t *done, struct batch_items items, const char *event)
{
    bool changed[BATCH_SLICE] = {false};
    roost_bytes keys[BATCH_SLICE] = {{0}};
    batch_keys(&items, keys);
    roost_status status = target_add(target, changed, done, keys, items.items, items.count);
    batch_results(&items, changed, *done);
    if (*done)
        target_changed(target, event);
    return status;
}

/* An error ends the array: clients expect it in place of the first item that was refused. */
int batch_reply_booleans(RedisModuleCtx *ctx, const int *results, size_t done, roost_status status, const char *error)
{
    RedisModule_ReplyWithArray(ctx, (long)(done + (status != ROOST_OK)));
    for (size_t i = 0; i < done; i++)
        RedisModule_ReplyWithBool(ctx, results[i]);
    return status == ROOST_OK ? REDISMODULE_OK : RedisModule_ReplyWithError(ctx, error);
}
