/*
 * See sync.h. One region is the initiator, the other the responder:
 *
 *     ROOST.ASK at the initiator -> request -> ROOST.SYNC at the responder -> reply -> ROOST.ASK at the initiator ...
 *
 * until the initiator has nothing left to request. Then the responder is probed: each region now has what the other had
 * when the sync began, if both are still in the same incarnations, and cursors are usable again.
 */
#include "sync.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "ask.h"
#include "replies.h"
#include "report.h"

struct session {
    struct work *work;
    uint32_t serial;
    unsigned initiator, responder;
    uint64_t generation;
    struct view before_initiator, before_responder, after_initiator;
    bool equal;
    uint64_t bytes; /* of messages */
    size_t id_size;
    char id[64]; /* of the session, as the initiator names it */
};

static void take_asked(void *context, const redisReply *reply);

/* A value is ahead of the other region's clock. A sync does not tell which: a side that refuses something reports it
   to the other side, whose error it becomes. The round continues with pushes. */
static bool is_ahead(struct session *session, const redisReply *reply)
{
    if (!reply || reply->type != REDIS_REPLY_ERROR || !is_clock_error(reply->str))
        return false;
    work_avoid_sync(session->work, session->initiator, session->responder);
    free(session);
    return true;
}

static roost_bytes generation_word(char text[24], uint64_t generation)
{
    snprintf(text, 24, "%llu", (unsigned long long)generation);
    return text_word(text);
}

/* Each region now has what the other had when the sync began, if both are still in the same incarnations. */
static void learn_from_sync(struct session *session, const struct view *responder)
{
    struct work *work = session->work;
    const struct view *here = &session->before_initiator, *there = &session->before_responder,
                      *after = &session->after_initiator;
    if (after->cursor.incarnation != here->cursor.incarnation || !responder->value ||
        responder->cursor.incarnation != there->cursor.incarnation)
        return;
    work_has_until(work, session->responder, session->initiator, after->cursor, there->cursor);
    work_has_all(work, session->initiator, after->cursor, session->generation, there->digest);
    work_has_until(work, session->initiator, session->responder, responder->cursor,
                   session->equal ? after->cursor : here->cursor);
    work_has_all(work, session->responder, responder->cursor, session->generation, here->digest);
}

static void take_confirmed(void *context, const redisReply *reply)
{
    struct session *session = context;
    struct work *work = session->work;
    struct pulled pulled;
    if (is_answer(work, session->responder, -1, reply)) {
        if (read_pulled(&pulled, reply)) {
            learn_from_sync(session, &pulled.view);
            take_reply(work, session->responder, &pulled.view);
        } else {
            refuse_nonsense(work, session->responder);
        }
    }
    free(session);
}

/* The sync is over for the initiator, which returns its cursor. The responder is probed. */
static void confirm(struct session *session, const struct asked *asked)
{
    struct work *work = session->work;
    session->equal = asked->equal;
    session->after_initiator = (struct view){.known = true,
                                             .value = true,
                                             .generation = session->generation,
                                             .digest = asked->digest,
                                             .cursor = asked->cursor};
    take_reply(work, session->initiator, &session->after_initiator);
    region_of(work, session->responder)->counters.syncs++;
    report_work(region_of(work, session->responder), work->row, "synced", session->bytes);
    forget_view(work, session->responder);
    roost_bytes words[] = {text_word("ROOST.PULL"), key_word(work), text_word(UNKNOWN_CURSOR)};
    ask(work, session->serial, session->responder, (struct words){words, 3}, take_confirmed, session);
}

/* Sends the responder's reply to the initiator, unless the round was abandoned. */
static void take_answer(void *context, const redisReply *reply)
{
    struct session *session = context;
    struct work *work = session->work;
    if (is_ahead(session, reply))
        return;
    bool fine = is_answer(work, session->responder, (int)session->initiator, reply);
    if (fine && reply->type != REDIS_REPLY_STRING)
        refuse_nonsense(work, session->responder);
    if (!fine || reply->type != REDIS_REPLY_STRING || session->serial != work->serial) {
        free(session);
        return;
    }
    roost_bytes words[] = {
        text_word("ROOST.ASK"), key_word(work), {session->id, session->id_size}, {reply->str, (size_t)reply->len}};
    session->bytes += (size_t)reply->len;
    ask(work, session->serial, session->initiator, (struct words){words, 4}, take_asked, session);
}

static void carry(struct session *session, const struct asked *asked)
{
    char generation[24];
    roost_bytes words[] = {text_word("ROOST.SYNC"), key_word(session->work), asked->request, text_word("GENERATION"),
                           generation_word(generation, session->generation)};
    session->bytes += asked->request.size;
    session->id_size = asked->session.size;
    memcpy(session->id, asked->session.data, asked->session.size);
    ask(session->work, session->serial, session->responder, (struct words){words, 5}, take_answer, session);
}

static void take_asked(void *context, const redisReply *reply)
{
    struct session *session = context;
    struct work *work = session->work;
    struct asked asked;
    if (is_ahead(session, reply))
        return;
    bool fine = is_answer(work, session->initiator, (int)session->responder, reply);
    bool sense = fine && read_asked(&asked, reply) && asked.session.size <= sizeof session->id;
    if (fine && !sense)
        refuse_nonsense(work, session->initiator);
    if (sense && asked.request.data && session->serial == work->serial) {
        carry(session, &asked);
        return;
    }
    if (sense && !asked.request.data)
        confirm(session, &asked);
    else
        free(session);
}

bool sync_two(struct work *work, unsigned initiator, unsigned responder)
{
    struct session *session = work->syncs < work->regions ? malloc(sizeof *session) : NULL;
    if (!session) {
        work->failed = true; /* no memory, or syncs that leave no cursors */
        return false;
    }
    char generation[24];
    work->syncs++;
    *session = (struct session){.work = work,
                                .serial = work->serial,
                                .initiator = initiator,
                                .responder = responder,
                                .generation = view_of(work, initiator)->generation,
                                .before_initiator = *view_of(work, initiator),
                                .before_responder = *view_of(work, responder)};
    roost_bytes words[] = {text_word("ROOST.ASK"), key_word(work), generation_word(generation, session->generation)};
    ask(work, work->serial, initiator, (struct words){words, 3}, take_asked, session);
    return true;
}
