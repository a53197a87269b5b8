/*
 * See sync.h.
 *
 *     ROOST.ASK at one  ->  a request  ->  ROOST.SYNC at the other  ->  its reply  ->  ROOST.ASK at the one  ->  ...
 *
 * until the asking side has nothing left to ask. Then the other side is looked at once more: what each had when the
 * sync began the other has now, if both are still in the lives that they were in, and from there on cursors are good
 * again.
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
    unsigned asking, answering;
    uint64_t generation;
    struct view before_asking, before_answering, after_asking;
    bool equal;
    uint64_t bytes; /* of messages */
    size_t id_size;
    char id[64]; /* of the session, as the asking side calls it */
};

static void take_asked(void *context, const redisReply *reply);

/* One of the two is ahead of the clock of the other. Which one a sync does not tell: a side that refuses something says
   so to the other, whose error that is then. The round goes on with pushes. */
static bool is_ahead(struct session *session, const redisReply *reply)
{
    if (!reply || reply->type != REDIS_REPLY_ERROR || !is_clock_error(reply->str))
        return false;
    work_avoid_sync(session->work, session->asking, session->answering);
    free(session);
    return true;
}

static roost_bytes generation_word(char text[24], uint64_t generation)
{
    snprintf(text, 24, "%llu", (unsigned long long)generation);
    return text_word(text);
}

/* What each had when it began, the other has now: if both are still in the lives that they were in before. */
static void learn_from_sync(struct session *session, const struct view *answering)
{
    struct work *work = session->work;
    const struct view *here = &session->before_asking, *there = &session->before_answering,
                      *after = &session->after_asking;
    if (after->cursor.incarnation != here->cursor.incarnation || !answering->value ||
        answering->cursor.incarnation != there->cursor.incarnation)
        return;
    work_has_until(work, session->answering, session->asking, after->cursor, there->cursor);
    work_has_all(work, session->asking, after->cursor, session->generation, there->digest);
    work_has_until(work, session->asking, session->answering, answering->cursor,
                   session->equal ? after->cursor : here->cursor);
    work_has_all(work, session->answering, answering->cursor, session->generation, here->digest);
}

static void take_confirmed(void *context, const redisReply *reply)
{
    struct session *session = context;
    struct work *work = session->work;
    struct pulled pulled;
    if (is_answer(work, session->answering, -1, reply)) {
        if (read_pulled(&pulled, reply)) {
            learn_from_sync(session, &pulled.view);
            take_reply(work, session->answering, &pulled.view);
        } else {
            refuse_nonsense(work, session->answering);
        }
    }
    free(session);
}

/* It is over for the asking side, which says in which life it is. The other side is asked. */
static void confirm(struct session *session, const struct asked *asked)
{
    struct work *work = session->work;
    session->equal = asked->equal;
    session->after_asking = (struct view){.known = true,
                                          .value = true,
                                          .generation = session->generation,
                                          .digest = asked->digest,
                                          .cursor = asked->cursor};
    take_reply(work, session->asking, &session->after_asking);
    region_of(work, session->answering)->counters.syncs++;
    report_work(region_of(work, session->answering), work->row, "synced", session->bytes);
    forget_view(work, session->answering);
    roost_bytes words[] = {text_word("ROOST.PULL"), key_word(work), text_word(UNKNOWN_CURSOR)};
    ask(work, session->serial, session->answering, (struct words){words, 3}, take_confirmed, session);
}

/* A reply of the answering side goes back to the one that asks, unless nobody waits for the end any more. */
static void take_answer(void *context, const redisReply *reply)
{
    struct session *session = context;
    struct work *work = session->work;
    if (is_ahead(session, reply))
        return;
    bool fine = is_answer(work, session->answering, (int)session->asking, reply);
    if (fine && reply->type != REDIS_REPLY_STRING)
        refuse_nonsense(work, session->answering);
    if (!fine || reply->type != REDIS_REPLY_STRING || session->serial != work->serial) {
        free(session);
        return;
    }
    roost_bytes words[] = {
        text_word("ROOST.ASK"), key_word(work), {session->id, session->id_size}, {reply->str, (size_t)reply->len}};
    session->bytes += (size_t)reply->len;
    ask(work, session->serial, session->asking, (struct words){words, 4}, take_asked, session);
}

static void carry(struct session *session, const struct asked *asked)
{
    char generation[24];
    roost_bytes words[] = {text_word("ROOST.SYNC"), key_word(session->work), asked->request, text_word("GENERATION"),
                           generation_word(generation, session->generation)};
    session->bytes += asked->request.size;
    session->id_size = asked->session.size;
    memcpy(session->id, asked->session.data, asked->session.size);
    ask(session->work, session->serial, session->answering, (struct words){words, 5}, take_answer, session);
}

static void take_asked(void *context, const redisReply *reply)
{
    struct session *session = context;
    struct work *work = session->work;
    struct asked asked;
    if (is_ahead(session, reply))
        return;
    bool fine = is_answer(work, session->asking, (int)session->answering, reply);
    bool sense = fine && read_asked(&asked, reply) && asked.session.size <= sizeof session->id;
    if (fine && !sense)
        refuse_nonsense(work, session->asking);
    if (sense && asked.request.data && session->serial == work->serial) {
        carry(session, &asked);
        return;
    }
    if (sense && !asked.request.data)
        confirm(session, &asked);
    else
        free(session);
}

bool sync_two(struct work *work, unsigned asking, unsigned answering)
{
    struct session *session = work->syncs < work->regions ? malloc(sizeof *session) : NULL;
    if (!session) {
        work->failed = true; /* no memory, or one sync after the other that leaves no cursors */
        return false;
    }
    char generation[24];
    work->syncs++;
    *session = (struct session){.work = work,
                                .serial = work->serial,
                                .asking = asking,
                                .answering = answering,
                                .generation = view_of(work, asking)->generation,
                                .before_asking = *view_of(work, asking),
                                .before_answering = *view_of(work, answering)};
    roost_bytes words[] = {text_word("ROOST.ASK"), key_word(work), generation_word(generation, session->generation)};
    ask(work, work->serial, asking, (struct words){words, 3}, take_asked, session);
    return true;
}
