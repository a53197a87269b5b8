/*
 * See ask.h.
 *
 * A sync of a large filter is about a copy of it. A thread takes in each reply: the sync changes the copy and writes
 * the next request, and the delta of those changes is cut into parts, which the main thread merges into the filter in
 * time slices (roost/incremental.h) before it answers.
 *
 *     main thread   copy, block the client                        keep the session, answer
 *     thread                                write the request
 *
 *     main thread   take the session, block the client                     merge the parts; keep the session, answer
 *     thread                            take in the reply, cut the changes
 *
 * Why that is right. The copy has all that the filter had when the sync began, and each message is that of a filter
 * that nobody else changes. What the sync changes in the copy is a part of the other server's state, so it may be
 * merged into the filter whatever others have done to that. If others have changed the filter since, its digest is not
 * that of the copy at the end: then the reply says that the two sides are not equal, and the caller takes the cursor
 * that it had before the sync for what the other side has.
 */
#include "ask.h"

#include <stdio.h>
#include <string.h>

#include "module/base/arguments.h"
#include "module/base/replies.h"
#include "module/job/digest_job.h"
#include "module/job/merging.h"
#include "module/job/reading.h"
#include "module/key/changes.h"
#include "module/key/target.h"
#include "cursors.h"
#include "sync_sessions.h"

#define ERROR_NO_SESSION "ERR no such session"

/* The result of one step: an error, a request, or the end. */
struct asked {
    const char *error;
    roost_status status;
    uint64_t serial;
    RedisModuleString *request;
    bool equal, placed; /* both sides are equal; there is a cursor */
    roost_digest digest;
    roost_cursor cursor;
};

static void reply_end(RedisModuleCtx *ctx, const struct asked *asked)
{
    RedisModule_ReplyWithNull(ctx);
    RedisModule_ReplyWithLongLong(ctx, asked->equal);
    reply_digest(ctx, asked->digest);
    if (asked->placed)
        reply_cursor(ctx, asked->cursor);
    else
        RedisModule_ReplyWithNull(ctx);
}

static int reply_asked(RedisModuleCtx *ctx, const void *outcome)
{
    const struct asked *asked = outcome;
    char serial[24];
    if (asked->error)
        return RedisModule_ReplyWithError(ctx, asked->error);
    if (asked->status != ROOST_OK)
        return reply_status(ctx, asked->status);
    snprintf(serial, sizeof serial, "%llu", (unsigned long long)asked->serial);
    RedisModule_ReplyWithArray(ctx, asked->request ? 2 : 5);
    RedisModule_ReplyWithCString(ctx, serial);
    if (asked->request)
        RedisModule_ReplyWithString(ctx, asked->request);
    else
        reply_end(ctx, asked);
    return REDISMODULE_OK;
}

static void release_asked(void *outcome)
{
    outcome_release(((struct asked *)outcome)->request);
}

/* Once there is a request, or the sync is over, or it has failed. */
static void conclude(struct asked *asked, struct sync_session *session, struct target *target)
{
    if (asked->status == ROOST_OK && asked->request) {
        sync_session_keep(session, target);
        asked->serial = session->serial;
        return;
    }
    asked->digest = roost_filter_digest(target->filter->filter);
    asked->placed = filter_value_cursor(target->filter, &asked->cursor) == ROOST_OK;
    sync_session_free(session);
}

/* ---- small filters ----------------------------------------------------------------------------------------------- */

/* Takes in the reply and makes the next request. */
static void act(struct target *target, void *outcome, RedisModuleString **argv, int argc)
{
    struct asked *asked = outcome;
    struct sync_session session = {0};
    roost_buffer request = {0};
    roost_bytes reply = argc == 4 ? argument_bytes(argv[3]) : (roost_bytes){NULL, 0};
    if (argc == 4 && !sync_session_take(&session, target, argv[2]))
        asked->error = ERROR_NO_SESSION;
    else if (argc == 3)
        asked->status = roost_sync_new(&session.sync, target->filter->filter, NULL, 0);
    if (asked->error || asked->status != ROOST_OK)
        return;
    asked->serial = session.serial;
    asked->status = target_ask(target, session.sync, &request, reply.data, reply.size);
    asked->request = outcome_bytes(&request);
    asked->equal = roost_sync_get_result(session.sync).equal;
    conclude(asked, &session, target);
}

static const struct digest_verb ask_verb = {sizeof(struct asked), REDISMODULE_READ | REDISMODULE_WRITE, act,
                                            reply_asked, release_asked};

/* ---- large filters ----------------------------------------------------------------------------------------------- */

struct asking {
    struct reading reading;
    struct sync_session session;
    bool read, concluded, over;
    roost_digest digest;      /* of the copy, at the end */
    roost_merge_job *merging; /* of what has changed in it; NULL: nothing */
    bool changed;             /* the filter */
    struct asked asked;
};

static enum reading_stage ask_stage(const struct reading *reading)
{
    const struct asking *asking = (const struct asking *)reading;
    return asking->over           ? TO_BE_ANSWERED
           : asking->concluded    ? TO_BE_READ /* a thread writes the reply, which may be a state */
           : asking->read         ? TO_BE_STEPPED
           : asking->session.copy ? TO_BE_READ
                                  : TO_BE_COPIED;
}

static void ask_copied(struct reading *reading, struct target *target, roost_filter *copy)
{
    struct asking *asking = (struct asking *)reading;
    (void)target;
    asking->session.copy = copy;
    asking->session.memory = reading->memory;
    reading->memory = NULL;
}

/* What the sync has changed in the copy since the cursor. */
static roost_status cut_changes(struct asking *asking, roost_cursor since)
{
    roost_buffer delta;
    roost_cursor now;
    roost_status status = roost_filter_encode_delta(asking->session.copy, &delta, &now, &since);
    if (status != ROOST_OK)
        return status;
    status = roost_merge_job_read(asking->merging, delta.data, delta.size, PART_BYTES);
    roost_buffer_release(&delta);
    return status;
}

static void forget_changes(struct asking *asking)
{
    roost_merge_job_free(asking->merging);
    asking->merging = NULL;
}

static roost_status take_reply(struct asking *asking, roost_buffer *request, roost_bytes reply)
{
    struct sync_session *session = &asking->session;
    roost_cursor before, after;
    roost_status status = ROOST_OK;
    if (!session->sync)
        status = roost_sync_new(&session->sync, session->copy, NULL, 0);
    if (status == ROOST_OK)
        status = roost_filter_get_cursor(session->copy, &before);
    if (status == ROOST_OK)
        status = roost_sync_next(session->sync, request, reply.data, reply.size);
    if (status == ROOST_OK)
        status = roost_filter_get_cursor(session->copy, &after);
    if (status != ROOST_OK)
        return status;
    if (is_same_cursor(before, after))
        forget_changes(asking);
    else
        status = cut_changes(asking, before);
    return status;
}

/* A sync that is over needs no copy any more. */
static void ask_read(struct reading *reading)
{
    struct asking *asking = (struct asking *)reading;
    struct asked *asked = &asking->asked;
    roost_buffer request = {0};
    asking->over = asking->read;
    if (asking->read)
        return;
    asking->read = true;
    asked->serial = asking->session.serial;
    asked->status =
        take_reply(asking, &request, reading->argument ? argument_bytes(reading->argument) : (roost_bytes){0});
    asked->request = outcome_bytes(&request);
    if (asked->status == ROOST_OK && asked->request)
        return;
    asked->equal = asked->status == ROOST_OK && roost_sync_get_result(asking->session.sync).equal;
    asking->digest = roost_filter_digest(asking->session.copy);
    sync_session_free(&asking->session);
}

/* Merges a part. */
static void merge_changes(struct asking *asking, struct target *target)
{
    bool changed = false, done = false;
    roost_status status = target_merge_step(target, &changed, &done, asking->merging);
    asking->changed |= changed;
    if (done || status != ROOST_OK)
        forget_changes(asking);
    if (status != ROOST_OK)
        asking->asked.status = status;
    if (!asking->merging && asking->changed)
        target_changed(target, "roost.sync");
}

static void ask_step(struct reading *reading, struct target *target)
{
    struct asking *asking = (struct asking *)reading;
    struct asked *asked = &asking->asked;
    if (asking->merging && asked->status == ROOST_OK) {
        merge_changes(asking, target);
        return;
    }
    if (!asked->request && digest_step(target))
        return;
    conclude(asked, &asking->session, target);
    asking->session = (struct sync_session){0};
    asked->equal &= memcmp(&asked->digest, &asking->digest, sizeof asked->digest) == 0;
    asking->concluded = true;
    asking->over = !asked->request;
}

static int ask_reply(RedisModuleCtx *ctx, struct reading *reading)
{
    return reply_asked(ctx, &((struct asking *)reading)->asked);
}

static void ask_release(struct reading *reading)
{
    struct asking *asking = (struct asking *)reading;
    forget_changes(asking);
    sync_session_free(&asking->session);
    release_asked(&asking->asked);
}

static const struct reading_verb asking_verb = {
    sizeof(struct asking), ask_stage, ask_copied, ask_read, ask_step, ask_reply, ask_release};

static int ask_on_thread(struct target *target, const struct sync_session *session, RedisModuleString *reply)
{
    struct reading *reading = reading_new(&asking_verb, target, reply);
    struct asking *asking = (struct asking *)reading;
    roost_environment environment = environment_for_job(reading->memory);
    asking->session = *session;
    roost_status status =
        reply ? roost_merge_job_new(&asking->merging, target->filter->filter, &environment) : ROOST_OK;
    return status == ROOST_OK ? reading_begin(reading, target) : reading_refuse(reading, target, status);
}

int ask_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
    struct target target;
    struct sync_session session = {0};
    if (argc != 3 && argc != 4)
        return RedisModule_WrongArity(ctx);
    if (!target_open_filter(&target, ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE))
        return REDISMODULE_OK;
    if (argc == 3 && !target_is_at(&target, argv[2]))
        return REDISMODULE_OK;
    if (argc == 3 && reading_is_long(&target))
        return ask_on_thread(&target, &session, NULL);
    if (argc == 4 && sync_session_take(&session, &target, argv[2])) {
        if (session.copy)
            return ask_on_thread(&target, &session, argv[3]);
        sync_session_keep(&session, &target);
    }
    return digest_run(&target, &ask_verb, argv, argc);
}
