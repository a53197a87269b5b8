/* See load_chunk.h. Chunks are replicated as they came: the result depends on their bytes alone. */
#include "load_chunk.h"

#include <pthread.h>
#include <stdatomic.h>

#include "module/base/arguments.h"
#include "module/base/context.h"
#include "module/base/counters.h"
#include "module/base/replies.h"
#include "module/job/job.h"
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

/* ---- large values ---------------------------------------------------------------------------------------------------
 *
 * A thread decodes the chunks. What may happen to the key meanwhile:
 *
 *     another chunk comes, and is taken              an error
 *     it is deleted, replaced, or decoded by a       an error; the staged value stays
 *     client that has sent the last chunk, too
 *     the server becomes a replica                   an error
 *     writes are paused, for a failover              the job waits
 */

struct load_job {
    struct job job;
    RedisModuleString *command, *key, *chunk;
    long long iterator;
    struct load_errors errors;
    struct loading *loading;
    pthread_t thread;
    atomic_bool decoded;
    bool joined;
    roost_status status;
    const char *error;
};

static void *decode(void *context)
{
    struct load_job *load = context;
    loading_decode(load->loading);
    atomic_store(&load->decoded, true);
    return NULL;
}

/* Whether the key holds what it held when the last chunk came. */
static bool is_as_it_was(const struct load_job *load, const struct target *target)
{
    if (target->staged)
        return loading_is_current(load->loading, RedisModule_ModuleTypeGetValue(target->key));
    return target->missing && target_can_be_created(target) && loading_is_current(load->loading, NULL);
}

static void put(RedisModuleCtx *ctx, struct load_job *load)
{
    struct target target;
    target_open(&target, ctx, load->key, REDISMODULE_READ | REDISMODULE_WRITE);
    if (!is_as_it_was(load, &target))
        load->error = "STALE the key has changed while it was loaded";
    else
        load->status = loading_put(load->loading, target.key, load->errors.takes);
    target_close(&target);
    count_refusal(load->status);
    if (load->error || load->status != ROOST_OK)
        return;
    note_loaded(ctx, load->key, load->errors.event);
    RedisModule_Replicate(ctx, RedisModule_StringPtrLen(load->command, NULL), "sls", load->key, load->iterator,
                          load->chunk);
}

static enum progress load_step(RedisModuleCtx *ctx, struct job *job)
{
    struct load_job *load = (struct load_job *)job;
    if (!atomic_load(&load->decoded))
        return NOTHING_TO_DO_NOW;
    if (!load->joined)
        pthread_join(load->thread, NULL);
    load->joined = true;
    if (may_write(ctx, &load->error))
        put(ctx, load);
    else if (!load->error)
        return NOTHING_TO_DO_NOW;
    return ALL_DONE;
}

static int reply_load(RedisModuleCtx *ctx, struct job *job)
{
    const struct load_job *load = (const struct load_job *)job;
    if (load->error)
        return job_reply_error(ctx, load->error);
    return load->status == ROOST_OK ? reply_ok(ctx) : job_reply_error(ctx, error_of(load->status, &load->errors));
}

static void *release(void *loading)
{
    loading_free(loading);
    return NULL;
}

/* The thread frees the chunks, which take long. */
static void free_load(struct job *job)
{
    pthread_t thread;
    struct load_job *load = (struct load_job *)job;
    RedisModule_FreeString(NULL, load->command);
    RedisModule_FreeString(NULL, load->key);
    RedisModule_FreeString(NULL, load->chunk);
    if (pthread_create(&thread, NULL, release, load->loading) == 0)
        pthread_detach(thread);
    else
        release(load->loading);
    RedisModule_Free(load);
}

static const struct job_class load_class = {load_step, reply_load, free_load, SLOW_LOAD};

static int decode_later(RedisModuleCtx *ctx, RedisModuleString **argv, RedisModuleString *chunk, long long iterator,
                        const struct load_errors *errors, struct loading *loading)
{
    struct load_job *load = RedisModule_Calloc(1, sizeof *load);
    load->job.class = &load_class;
    load->command = RedisModule_CreateStringFromString(NULL, argv[0]);
    load->key = RedisModule_CreateStringFromString(NULL, argv[1]);
    load->chunk = chunk;
    load->iterator = iterator;
    load->errors = *errors;
    load->loading = loading;
    load->joined = pthread_create(&load->thread, NULL, decode, load) != 0;
    if (load->joined)
        decode(load);
    return job_begin(ctx, &load->job);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

int load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, const struct load_errors *errors)
{
    struct target target;
    struct loading *later = NULL;
    long long iterator;
    if (argc != 4)
        return RedisModule_WrongArity(ctx);
    if (!argument_number(argv[2], &iterator, 0, INT64_MAX))
        return RedisModule_ReplyWithError(ctx, errors->number);
    target_open(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE);
    if (!target.missing && !target.reserved && !target.filter && !target.staged)
        return target_refuse(&target, ERROR_NOT_FOUND);
    const struct chunk_terms terms = {target.mirrored ? ENCODE_MIRROR : ENCODE_COPY, errors->takes, errors->source,
                                      errors->whole};
    bool may_wait = (target.staged || target.missing) && can_wait(ctx);
    RedisModuleString *held = may_wait ? hold_for_thread(argv[3]) : NULL;
    roost_bytes chunk = argument_bytes(held ? held : argv[3]);
    roost_status status = chunks_load(target.key, iterator, chunk.data, chunk.size, &terms, held ? &later : NULL);
    target_close(&target);
    if (later)
        return decode_later(ctx, argv, held, iterator, errors, later);
    if (held)
        RedisModule_FreeString(NULL, held);
    count_refusal(status);
    if (status != ROOST_OK)
        return RedisModule_ReplyWithError(ctx, error_of(status, errors));
    note_loaded(ctx, argv[1], errors->event);
    RedisModule_ReplicateVerbatim(ctx);
    return reply_ok(ctx);
}
