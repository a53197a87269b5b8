/*
 * See reading.h.
 *
 *     main thread   command: copy, block the client        step: changes, if any       reply callback
 *     thread                        read the copy, free it; write the reply if it is complete
 *
 * The copy of a scalable cuckoo filter takes some microseconds (../../src/growing/segment.c: clones share segments).
 * Others are copied page by page in time slices (copying.h). The copy is freed before the filter is changed, so that
 * what the two shared need not be copied. A reply may have many megabytes: the thread writes it to a buffer of its own,
 * which the server appends to that of the client without copying it.
 *
 * What may happen meanwhile:
 *
 *     the key is deleted, replaced or renamed   a reply that needs no further step is that of the moment of the copy;
 *                                               otherwise an error
 *     clients change the filter                 the reply is that of the moment of the copy; of a sync see
 *                                               roost/incremental.h
 *     the client disconnects                    the job goes on
 *     the server becomes a replica              an error, if there is something to change
 *     writes are paused, for a failover         the job waits, if there is something to change
 */
#include "reading.h"

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/replies.h"
#include "module/base/settings.h"
#include "module/value/timed.h"

#define LARGE_FILTER  ((size_t)512 << 10)
#define LARGE_TO_COPY ((size_t)2 << 20) /* page by page */
#define LONG_DELTA    2048              /* changes */
#define MOST_THREADS  2

static unsigned threads; /* at work */

bool reading_is_long(const struct target *target)
{
    const roost_filter *filter = target->filter->filter;
    size_t large = roost_filter_shares_copies(filter) ? LARGE_FILTER : LARGE_TO_COPY;
    return target->filter->value.bytes > large && !is_timed(filter) && can_wait(target->ctx);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static bool is_complete(const struct reading *reading)
{
    return reading->verb->stage(reading) == TO_BE_ANSWERED;
}

static void *read_on_thread(void *context)
{
    struct reading *reading = context;
    reading->verb->read(reading);
    if (is_complete(reading)) {
        RedisModuleCtx *ctx = RedisModule_GetThreadSafeContext(reading->job.job.client);
        reading->verb->reply(ctx, reading);
        reading->replied = true;
        RedisModule_FreeThreadSafeContext(ctx);
    }
    atomic_store(&reading->read, true);
    return NULL;
}

/* Without a thread it is read at once. */
static enum progress begin_thread(struct reading *reading)
{
    if (threads >= MOST_THREADS)
        return NOTHING_TO_DO_NOW;
    atomic_store(&reading->read, false);
    reading->begun = pthread_create(&reading->thread, NULL, read_on_thread, reading) == 0;
    threads += reading->begun;
    if (!reading->begun)
        reading->verb->read(reading);
    return reading->begun ? NOTHING_TO_DO_NOW : MORE_TO_DO;
}

static bool is_at_work(struct reading *reading)
{
    if (!reading->begun)
        return false;
    if (!atomic_load(&reading->read))
        return true;
    pthread_join(reading->thread, NULL);
    reading->begun = false;
    threads--;
    return false;
}

/* ---- the main thread --------------------------------------------------------------------------------------------- */

static enum progress copy_with_key(struct reading *reading, struct target *target, roost_status *status)
{
    enum progress progress = copy_some(&reading->copying, target->filter, reading->memory, status);
    if (progress != ALL_DONE || *status != ROOST_OK)
        return progress;
    roost_filter *copy = reading->copying.copy;
    reading->copying = (struct copying){0};
    reading->verb->copied(reading, target, copy);
    return MORE_TO_DO;
}

static enum progress step_with_key(struct reading *reading, struct target *target)
{
    if (reading->verb->stage(reading) == TO_BE_COPIED)
        return copy_with_key(reading, target, &reading->failed);
    reading->verb->step(reading, target);
    return MORE_TO_DO;
}

static enum progress open_and_step(RedisModuleCtx *ctx, struct reading *reading)
{
    struct target target;
    enum progress progress = ALL_DONE;
    bool writes = reading->verb->step != NULL;
    if (writes && !may_write(ctx, &reading->error))
        return reading->error ? ALL_DONE : NOTHING_TO_DO_NOW;
    if (key_job_open(ctx, &reading->job, &target, writes ? REDISMODULE_READ | REDISMODULE_WRITE : REDISMODULE_READ))
        progress = step_with_key(reading, &target);
    else
        reading->error = "STALE the key has changed while it was read";
    target_close(&target);
    return reading->error ? ALL_DONE : progress;
}

static enum progress reading_step(RedisModuleCtx *ctx, struct job *job)
{
    struct reading *reading = (struct reading *)job;
    if (is_at_work(reading))
        return NOTHING_TO_DO_NOW;
    if (reading->replied)
        return ALL_DONE;
    switch (reading->verb->stage(reading)) {
    case TO_BE_READ:
        return begin_thread(reading);
    case TO_BE_COPIED:
    case TO_BE_STEPPED:
        return open_and_step(ctx, reading);
    default:
        return ALL_DONE;
    }
}

static int reading_reply(RedisModuleCtx *ctx, struct job *job)
{
    struct reading *reading = (struct reading *)job;
    if (reading->error)
        return job_reply_error(ctx, reading->error);
    if (reading->failed != ROOST_OK)
        return job_reply_status(ctx, reading->failed);
    return reading->replied ? REDISMODULE_OK : reading->verb->reply(ctx, reading);
}

static void reading_free(struct job *job)
{
    struct reading *reading = (struct reading *)job;
    key_job_release(&reading->job);
    copying_end(&reading->copying);
    copying_free(&reading->copying);
    reading->verb->release(reading);
    if (reading->argument)
        RedisModule_FreeString(NULL, reading->argument);
    RedisModule_Free(reading->memory);
    RedisModule_Free(reading);
}

static const struct job_class reading_class = {reading_step, reading_reply, reading_free, SLOW_READ};

struct reading *reading_new(const struct reading_verb *verb, const struct target *target, RedisModuleString *argument)
{
    struct reading *reading = RedisModule_Calloc(1, verb->size);
    const size_t shared = target->filter->value.bytes, limit = settings.memory_limit;
    reading->job.job.class = &reading_class;
    reading->verb = verb;
    reading->memory = RedisModule_Calloc(1, sizeof *reading->memory);
    reading->memory->limit = limit < SIZE_MAX - shared ? limit + shared : SIZE_MAX;
    reading->argument = argument ? hold_for_thread(argument) : NULL;
    return reading;
}

/* In a transaction, say. The copy was made before: otherwise the filter is read without one (reading_is_long). */
static void read_at_once(struct reading *reading, struct target *target)
{
    while (!is_complete(reading))
        if (reading->verb->stage(reading) == TO_BE_READ)
            reading->verb->read(reading);
        else
            reading->verb->step(reading, target);
}

int reading_begin(struct reading *reading, struct target *target)
{
    roost_status status = ROOST_OK;
    if (!can_wait(target->ctx))
        read_at_once(reading, target);
    if (reading->verb->stage(reading) == TO_BE_COPIED)
        copy_with_key(reading, target, &status);
    if (status != ROOST_OK)
        return reading_refuse(reading, target, status);
    if (!is_complete(reading))
        return key_job_begin(&reading->job, target);
    target_close(target);
    reading->verb->reply(target->ctx, reading);
    reading_free(&reading->job.job);
    return REDISMODULE_OK;
}

int reading_refuse(struct reading *reading, struct target *target, roost_status status)
{
    target_close(target);
    reading_free(&reading->job.job);
    return reply_status(target->ctx, status);
}

/* ---- states and deltas ------------------------------------------------------------------------------------------- */

bool delta_is_long(struct target *target, roost_cursor since)
{
    roost_cursor now;
    return reading_is_long(target) && filter_value_cursor(target->filter, &now) == ROOST_OK &&
           since.incarnation == now.incarnation && now.sequence - since.sequence > LONG_DELTA;
}

enum reading_stage state_reading_stage(const struct reading *reading)
{
    const struct state_reading *state = (const struct state_reading *)reading;
    return state->copy ? TO_BE_READ : state->read ? TO_BE_ANSWERED : TO_BE_COPIED;
}

void state_reading_copied(struct reading *reading, struct target *target, roost_filter *copy)
{
    struct state_reading *state = (struct state_reading *)reading;
    state->copy = copy;
    state->placed = filter_value_cursor(target->filter, &state->cursor) == ROOST_OK;
    if (state->since.incarnation)
        state->status = roost_filter_copy_journal(copy, target->filter->filter, &state->since);
}

static roost_status encode(struct state_reading *state)
{
    roost_cursor next;
    roost_status status = state->status;
    if (status == ROOST_OK && state->since.incarnation)
        status = roost_filter_encode_delta_without(state->copy, &state->frame, &next, &state->since, state->spans,
                                                   state->span_count);
    bool whole = !state->since.incarnation || (state->or_state && state->frame.size == 0);
    return status == ROOST_OK && whole ? roost_filter_encode(state->copy, &state->frame) : status;
}

void state_reading_read(struct reading *reading)
{
    struct state_reading *state = (struct state_reading *)reading;
    state->status = encode(state);
    state->digest = roost_filter_digest(state->copy);
    roost_filter_free(state->copy);
    state->copy = NULL;
    state->read = true;
}

void state_reading_release(struct reading *reading)
{
    struct state_reading *state = (struct state_reading *)reading;
    roost_filter_free(state->copy);
    roost_buffer_release(&state->frame);
    RedisModule_Free(state->spans);
}
