/*
 * A round looks at the views of a name and does the first of these that there is to do, again and again, until there is
 * nothing left:
 *
 *     probe     a view is not known                     PULL with a cursor that nobody gave: tells what is there
 *     seed      a lower generation, or no value         PULL 0 from one that has it, PUSH the whole state or a burial
 *     exchange  digests differ, cursors are known       PULL since the cursor, PUSH the delta to all who lack it
 *     sync      digests differ, nothing else helps      ASK at one, SYNC at the other, in turn, until they are through
 *
 * Deltas are asked for once in a round: under a steady stream of changes there is always more, and that is for the next
 * round, one interval later. Each step waits for the answers to all it asked; then views, cursors and spans come from
 * what the servers replied, and from nothing else.
 *
 * An example, two regions at rest, one addition at A. A tells a new digest and the cursor a-8; the pair A to B has a-7.
 *
 *     PULL k a-7        at A   ->  generation 0, a-8, digest D, 60 bytes
 *     PUSH k 0 bytes    at B   ->  merged, 0, D, b-4, b-5
 *
 * Now both views say D: at rest, and the cursors a-8 and b-5 are good for the next time. Had B changed meanwhile, its
 * digest would be another one, and the next delta from B would be asked for since b-4 without the span 4-5.
 *
 * What a server refuses is a conflict between two regions (another configuration) or of one region with all others (a
 * key of another type, no memory). The rest of the name's regions goes on. What a server cannot do at the moment, or
 * does not answer, ends the round, and the name is tried again after a pause that doubles. A round does not wait for
 * ever, since the other regions would wait with it: where a region has been silent for some seconds, the engine gives
 * the round up and goes on without that region. What was asked stays under way, and each reply is good whenever it
 * comes, for it speaks of states and not of rounds.
 */
#include "link_round.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link_replies.h"
#include "link_report.h"

#define MOST_STEPS     64          /* of a round that comes to no end */
#define MOST_BYTES     (64u << 20) /* under way */
#define UNKNOWN_CURSOR "1-0"       /* that no value ever gave */
#define SPAN_ROOM      36

static void finish(struct work *work);

/* ---- regions of a name ------------------------------------------------------------------------------------------- */

static struct region *region_of(const struct work *work, unsigned region)
{
    return &work->engine->regions[region];
}

static struct view *view_of(const struct work *work, unsigned region)
{
    return &work->row->views[region];
}

static bool has(region_set set, unsigned region)
{
    return set & one_region(region);
}

/* Those that can be asked and whose view is known. */
static region_set known_regions(const struct work *work)
{
    region_set ready = engine_ready_regions(work->engine, work->row), known = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(ready, region) && view_of(work, region)->known)
            known |= one_region(region);
    return known;
}

static uint64_t top_generation(const struct work *work, region_set known)
{
    uint64_t top = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(known, region) && view_of(work, region)->generation > top)
            top = view_of(work, region)->generation;
    return top;
}

static bool is_holder(const struct work *work, unsigned region, uint64_t generation)
{
    return view_of(work, region)->value && view_of(work, region)->generation == generation;
}

bool take_view(struct row *row, unsigned region, const struct view *view, bool is_summary)
{
    struct view *old = &row->views[region];
    bool same_life = old->known && old->cursor.incarnation == view->cursor.incarnation;
    bool older = same_life && (view->value ? view->cursor.sequence < old->cursor.sequence
                                           : view->generation < old->generation && !is_summary);
    if (older)
        return true;
    if (!is_summary && !same_life && row->work->doubtful) {
        old->known = false; /* which of the two came first, nobody can say */
        return false;
    }
    uint32_t listing = old->listing;
    *old = *view;
    old->listing = listing;
    return true;
}

static void take_reply(struct work *work, unsigned region, const struct view *view)
{
    take_view(work->row, region, view, false);
    view_of(work, region)->listing = region_of(work, region)->listing;
}

static void forget_view(struct work *work, unsigned region)
{
    view_of(work, region)->known = false;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static roost_bytes text_word(const char *text)
{
    return (roost_bytes){text, strlen(text)};
}

static roost_bytes name_word(const struct work *work)
{
    return (roost_bytes){work->row->name, work->row->name_size};
}

/* What comes of a command; its reply is NULL where there is none. */
typedef void taken(void *context, const redisReply *reply);

/* A command that is under way, for the round that asked it. */
struct ticket {
    struct work *work;
    unsigned region;
    uint32_t serial, told; /* told: how often summaries had spoken of the name */
    taken *take;
    void *context;
};

static void ticket_back(struct ticket ticket)
{
    struct work *work = ticket.work;
    work->outstanding--;
    if (ticket.serial == work->serial) {
        work->waiting[ticket.region]--;
        finish(work);
    } else if (!work->running && work->outstanding == 0) {
        engine_settle(work);
    }
}

static void answered_ticket(void *context, const redisReply *reply, const char *trouble)
{
    struct ticket ticket = *(struct ticket *)context;
    (void)trouble; /* the deployment tells it */
    free(context);
    engine_answered(region_of(ticket.work, ticket.region));
    ticket.work->doubtful = ticket.told != ticket.work->told[ticket.region];
    ticket.take(ticket.context, reply);
    ticket_back(ticket);
}

/* Asks, in the name of a round. Without memory it is as if nothing were answered. */
static void ask(struct work *work, uint32_t serial, unsigned region, struct words words, taken *take, void *context)
{
    struct ticket *ticket = malloc(sizeof *ticket);
    if (!ticket) {
        take(context, NULL);
        return;
    }
    *ticket = (struct ticket){work, region, serial, work->told[region], take, context};
    work->outstanding++;
    if (serial == work->serial) {
        work->pending++;
        work->waiting[region]++;
    }
    engine_asked(region_of(work, region));
    deployment_ask(region_of(work, region)->deployment, work->row->database, name_word(work), words, answered_ticket,
                   ticket);
}

/* Of a region with all others. */
static void conflict_with_all(struct work *work, unsigned region)
{
    region_set all = engine_regions_of(work->engine, work->row);
    for (unsigned other = 0; other < work->regions; other++)
        if (other != region && has(all, other))
            work_conflict(work, region, other);
}

static void refuse(struct work *work, unsigned region, int other, const char *text)
{
    bool known_already = other >= 0 && work_conflicts(work, region, (unsigned)other);
    if (other >= 0 && is_configuration_error(text))
        work_conflict(work, region, (unsigned)other);
    else
        conflict_with_all(work, region);
    region_of(work, region)->figures.errors++;
    if (!known_already)
        report_conflict(region_of(work, region), work, text);
}

/* Whether there is a reply that is none of the errors; `other` is the region from which it came, or -1. */
static bool is_answer(struct work *work, unsigned region, int other, const redisReply *reply)
{
    if (!reply) {
        work->in_trouble = true;
    } else if (reply->type != REDIS_REPLY_ERROR) {
        return true;
    } else if (is_outdated_error(reply->str)) {
        forget_view(work, region);
    } else if (is_passing_error(reply->str)) {
        work->in_trouble = true;
        region_of(work, region)->figures.errors++;
        report_trouble_at(region_of(work, region), deployment_name(region_of(work, region)->deployment), reply->str);
    } else {
        refuse(work, region, other, reply->str);
    }
    return false;
}

static void refuse_nonsense(struct work *work, unsigned region)
{
    refuse(work, region, -1, "the server answers something else than it should");
}

/* ---- probe ------------------------------------------------------------------------------------------------------- */

struct question {
    struct work *work;
    unsigned region;
};

static struct question *question_new(struct work *work, unsigned region)
{
    struct question *question = malloc(sizeof *question);
    if (question)
        *question = (struct question){work, region};
    else
        work->in_trouble = true;
    return question;
}

static void probed(void *context, const redisReply *reply)
{
    struct question question = *(struct question *)context;
    struct pulled pulled;
    free(context);
    if (is_answer(question.work, question.region, -1, reply)) {
        if (read_pulled(&pulled, reply))
            take_reply(question.work, question.region, &pulled.view);
        else
            refuse_nonsense(question.work, question.region);
    }
}

static bool probe(struct work *work, region_set ready)
{
    bool any = false;
    for (unsigned region = 0; region < work->regions; region++) {
        if (!has(ready, region) || view_of(work, region)->known || work->conflicts[region])
            continue;
        struct question *question = question_new(work, region);
        if (!question)
            return true;
        roost_bytes words[] = {text_word("ROOST.PULL"), name_word(work), text_word(UNKNOWN_CURSOR)};
        ask(work, work->serial, region, (struct words){words, 3}, probed, question);
        any = true;
    }
    return any;
}

/* ---- pull and push ----------------------------------------------------------------------------------------------- */

/* A frame of one region on its way to others. */
struct transfer {
    struct work *work;
    uint32_t serial; /* of the round that it belongs to */
    unsigned source;
    region_set destinations, taken;
    bool whole;          /* the state, not a delta */
    bool burial;         /* no frame at all */
    roost_cursor since;  /* of the delta */
    uint64_t generation; /* of the name when it was asked for */
    struct view view;    /* of the source when it answered */
    unsigned pending;    /* pushes */
    size_t size;
    roost_cursor lives[MOST_REGIONS]; /* the destinations when it was asked for */
    struct written {
        roost_cursor from, to;
    } written[MOST_REGIONS];
};

struct push {
    struct transfer *transfer;
    unsigned destination;
};

static struct transfer *transfer_new(struct work *work, unsigned source, region_set destinations, uint64_t generation)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) {
        work->in_trouble = true;
        return NULL;
    }
    transfer->work = work;
    transfer->serial = work->serial;
    transfer->source = source;
    transfer->destinations = destinations;
    transfer->generation = generation;
    for (unsigned region = 0; region < work->regions; region++)
        transfer->lives[region] = view_of(work, region)->cursor;
    return transfer;
}

/* Who took the frame knows what the others wrote with it. */
static void transfer_over(struct transfer *transfer)
{
    struct work *work = transfer->work;
    uint64_t knowing[MOST_REGIONS] = {0};
    for (unsigned region = 0; region < work->regions; region++)
        if (has(transfer->taken, region))
            knowing[region] = transfer->written[region].to.incarnation;
    knowing[transfer->source] = transfer->view.cursor.incarnation;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(transfer->taken, region))
            work_wrote(work, region, transfer->written[region].from, transfer->written[region].to, knowing);
    if (transfer->whole && !transfer->burial) {
        work->engine->wholes--;
        rounds_resume(work->engine);
    }
    free(transfer);
}

/* What a push that was taken says about cursors. */
static void learn(struct transfer *transfer, unsigned destination, const struct pushed *pushed)
{
    struct work *work = transfer->work;
    roost_cursor at = pushed->view.cursor;
    if (!transfer->whole && at.incarnation != transfer->lives[destination].incarnation)
        return; /* the delta went to another life than the cursor was for */
    work_has_until(work, transfer->source, destination, at, transfer->view.cursor);
    work_has_all(work, destination, at, transfer->generation, transfer->view.digest);
    if (same_digest(pushed->view.digest, transfer->view.digest))
        work_has_until(work, destination, transfer->source, transfer->view.cursor, at);
    if (pushed->from.incarnation == at.incarnation) {
        transfer->taken |= one_region(destination);
        transfer->written[destination] = (struct written){pushed->from, at};
    }
}

static void count_push(struct transfer *transfer, unsigned destination, enum outcome outcome)
{
    struct region *region = region_of(transfer->work, destination);
    if (outcome == PUSH_SAME)
        return;
    uint64_t *figure = transfer->burial  ? &region->figures.deletions
                       : transfer->whole ? &region->figures.seeds
                                         : &region->figures.merges;
    ++*figure;
    report_work(region, transfer->work->row,
                transfer->burial  ? "deleted"
                : transfer->whole ? "seeded"
                                  : "merged",
                transfer->size);
}

static void take_pushed(struct transfer *transfer, unsigned destination, const struct pushed *pushed)
{
    struct work *work = transfer->work;
    if (pushed->outcome > PUSH_SAME) {
        forget_view(work, destination);
        return;
    }
    work->complaints[destination] = 0;
    count_push(transfer, destination, pushed->outcome);
    if (pushed->view.value && !transfer->burial && pushed->view.generation == transfer->generation)
        learn(transfer, destination, pushed);
    take_reply(work, destination, &pushed->view);
}

static void take_push(void *context, const redisReply *reply)
{
    struct push push = *(struct push *)context;
    struct transfer *transfer = push.transfer;
    struct work *work = transfer->work;
    struct pushed pushed;
    free(context);
    work->engine->held -= transfer->size;
    if (is_answer(work, push.destination, transfer->burial ? -1 : (int)transfer->source, reply)) {
        if (read_pushed(&pushed, reply))
            take_pushed(transfer, push.destination, &pushed);
        else
            refuse_nonsense(work, push.destination);
    }
    if (--transfer->pending == 0)
        transfer_over(transfer);
}

static void push_to(struct transfer *transfer, unsigned destination, roost_bytes frame)
{
    struct push *push = malloc(sizeof *push);
    if (!push) {
        transfer->work->in_trouble = true;
        return;
    }
    char generation[24];
    snprintf(generation, sizeof generation, "%llu", (unsigned long long)transfer->generation);
    *push = (struct push){transfer, destination};
    roost_bytes words[] = {text_word("ROOST.PUSH"), name_word(transfer->work), text_word(generation), frame};
    transfer->size = frame.size;
    transfer->work->engine->held += frame.size;
    transfer->pending++;
    ask(transfer->work, transfer->serial, destination, (struct words){words, 4}, take_push, push);
}

/* All at once; the one in hand keeps the transfer alive meanwhile. */
static void push_to_all(struct transfer *transfer, roost_bytes frame)
{
    transfer->pending++;
    for (unsigned region = 0; region < transfer->work->regions; region++)
        if (has(transfer->destinations, region))
            push_to(transfer, region, frame);
    if (--transfer->pending == 0)
        transfer_over(transfer);
}

/* The journal does not go back so far: a sync will have to do. */
static void drop_cursors(struct transfer *transfer)
{
    for (unsigned region = 0; region < transfer->work->regions; region++)
        if (has(transfer->destinations, region))
            *work_pair(transfer->work, transfer->source, region) = (struct pair){0};
}

static void note_size(struct engine *engine, size_t size)
{
    engine->whole_size += size / 4;
    engine->whole_size -= engine->whole_size / 4;
}

static void take_pulled(struct transfer *transfer, const struct pulled *pulled)
{
    take_reply(transfer->work, transfer->source, &pulled->view);
    transfer->view = pulled->view;
    if (transfer->whole)
        note_size(transfer->work->engine, pulled->frame.size);
    if (pulled->view.generation != transfer->generation || !pulled->view.value)
        transfer->destinations = 0;
    else if (!pulled->frame.data)
        drop_cursors(transfer), transfer->destinations = 0;
    push_to_all(transfer, pulled->frame);
}

static void take_pull(void *context, const redisReply *reply)
{
    struct transfer *transfer = context;
    struct work *work = transfer->work;
    struct pulled pulled;
    if (is_answer(work, transfer->source, -1, reply) && read_pulled(&pulled, reply)) {
        take_pulled(transfer, &pulled);
    } else {
        if (reply && reply->type != REDIS_REPLY_ERROR)
            refuse_nonsense(work, transfer->source);
        transfer_over(transfer);
    }
}

static void pull(struct transfer *transfer)
{
    struct work *work = transfer->work;
    struct span spans[MOST_SPANS];
    char since[CURSOR_ROOM], texts[MOST_SPANS][SPAN_ROOM];
    roost_bytes words[3 + MOST_SPANS] = {text_word("ROOST.PULL"), name_word(work)};
    cursor_text(since, transfer->since);
    words[2] = text_word(since);
    size_t count =
        transfer->whole ? 0 : work_spans(work, transfer->source, transfer->since, transfer->destinations, spans);
    for (size_t i = 0; i < count; i++) {
        snprintf(texts[i], SPAN_ROOM, "%llx-%llx", (unsigned long long)spans[i].from, (unsigned long long)spans[i].to);
        words[3 + i] = text_word(texts[i]);
    }
    ask(work, transfer->serial, transfer->source, (struct words){words, 3 + count}, take_pull, transfer);
}

/* ---- writers ----------------------------------------------------------------------------------------------------- */

static void take_info(void *context, const redisReply *reply)
{
    struct question question = *(struct question *)context;
    int64_t writers, scalable = 1;
    free(context);
    if (reply && reply->type == REDIS_REPLY_ARRAY && field_is(reply, "kind", "bloom") &&
        (!read_field(&scalable, reply, "scalable") || scalable) && read_field(&writers, reply, "writers") &&
        writers < (int64_t)question.work->engine->count)
        report_writers(region_of(question.work, question.region), question.work->row, writers);
}

/* Once for each name that is worked on: whether the promised rate is meant for so many regions. */
static void ask_writers(struct work *work, unsigned region)
{
    struct question *question = work->row->asked_writers ? NULL : question_new(work, region);
    if (!question)
        return;
    work->row->asked_writers = true;
    roost_bytes words[] = {text_word("ROOST.INFO"), name_word(work)};
    ask(work, work->serial, region, (struct words){words, 2}, take_info, question);
}

/* ---- seed -------------------------------------------------------------------------------------------------------- */

/* Those at a lower generation, or without the value that others have. */
static region_set in_want(const struct work *work, region_set known, uint64_t top, bool held)
{
    region_set found = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(known, region) && (view_of(work, region)->generation < top || (held && !view_of(work, region)->value)))
            found |= one_region(region);
    return found;
}

static bool bury(struct work *work, region_set known, region_set wanting, uint64_t top)
{
    region_set willing = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(wanting, region) && (work->conflicts[region] & known) != (known & ~one_region(region)))
            willing |= one_region(region);
    struct transfer *transfer = willing ? transfer_new(work, 0, willing, top) : NULL;
    if (!transfer)
        return willing != 0;
    transfer->whole = transfer->burial = true;
    push_to_all(transfer, (roost_bytes){"", 0});
    return true;
}

/* Whole states are big: only so many at a time, by the size that they had of late. */
static bool has_room(const struct engine *engine)
{
    return engine->wholes == 0 || engine->held + engine->wholes * engine->whole_size < MOST_BYTES;
}

static bool stall(struct work *work)
{
    struct engine *engine = work->engine;
    if (has_room(engine))
        return false;
    work->pending++;
    work->stalled = NULL;
    *(engine->stalled ? &engine->stalled_last->stalled : &engine->stalled) = work;
    engine->stalled_last = work;
    return true;
}

/* One after the other, as long as there is room: there may be nothing left to seed for those that go on. */
void rounds_resume(struct engine *engine)
{
    while (engine->stalled && has_room(engine)) {
        struct work *work = engine->stalled;
        engine->stalled = work->stalled;
        finish(work);
    }
}

static bool seed_from(struct work *work, unsigned source, region_set wanting, uint64_t top)
{
    region_set willing = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(wanting, region) && !work_conflicts(work, source, region))
            willing |= one_region(region);
    if (!willing || stall(work))
        return willing != 0;
    struct transfer *transfer = transfer_new(work, source, willing, top);
    if (!transfer)
        return true;
    transfer->whole = true;
    work->engine->wholes++;
    ask_writers(work, source);
    pull(transfer);
    return true;
}

static bool seed(struct work *work, region_set known)
{
    uint64_t top = top_generation(work, known);
    region_set holders = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(known, region) && is_holder(work, region, top))
            holders |= one_region(region);
    region_set wanting = in_want(work, known, top, holders != 0);
    if (!wanting)
        return false;
    if (!holders)
        return bury(work, known, wanting, top);
    for (unsigned source = 0; source < work->regions; source++)
        if (has(holders, source) && seed_from(work, source, wanting, top))
            return true;
    return false;
}

/* ---- exchange ---------------------------------------------------------------------------------------------------- */

/* Two that hold values of the same generation, but not the same, and may tell each other. */
static bool differ(const struct work *work, unsigned a, unsigned b)
{
    const struct view *one = view_of(work, a), *other = view_of(work, b);
    return a != b && one->value && other->value && one->generation == other->generation &&
           !same_digest(one->digest, other->digest) && !work_conflicts(work, a, b);
}

static bool has_to_tell(struct work *work, region_set known, unsigned source, unsigned destination)
{
    return has(known, source) && has(known, destination) && differ(work, source, destination) &&
           work_knows(work, source, destination) && work_has_news(work, source, destination);
}

/* One delta for all that have come to the same cursor. */
static bool tell_group(struct work *work, unsigned source, region_set *left)
{
    unsigned first = (unsigned)__builtin_ctz(*left);
    roost_cursor since = work_pair(work, source, first)->cursor;
    region_set group = 0;
    for (unsigned region = first; region < work->regions; region++)
        if (has(*left, region) && same_cursor(work_pair(work, source, region)->cursor, since))
            group |= one_region(region);
    *left &= ~group;
    struct transfer *transfer = transfer_new(work, source, group, view_of(work, source)->generation);
    if (!transfer)
        return false;
    transfer->since = since;
    pull(transfer);
    return true;
}

static bool exchange(struct work *work, region_set known)
{
    bool any = false;
    if (work->exchanged)
        return false;
    work->exchanged = true;
    for (unsigned source = 0; source < work->regions; source++) {
        region_set left = 0;
        for (unsigned region = 0; region < work->regions; region++)
            if (has_to_tell(work, known, source, region))
                left |= one_region(region);
        if (left)
            ask_writers(work, source);
        while (left)
            any |= tell_group(work, source, &left);
    }
    return any;
}

/* ---- sync -------------------------------------------------------------------------------------------------------- */

struct session {
    struct work *work;
    uint32_t serial;
    unsigned asking, answering;
    uint64_t generation;
    struct view before_asking, before_answering, after_asking;
    bool equal;
    uint64_t bytes; /* of messages */
    size_t name_size;
    char name[64]; /* of the session, as the asking side calls it */
};

static void take_asked(void *context, const redisReply *reply);

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
    region_of(work, session->answering)->figures.syncs++;
    report_work(region_of(work, session->answering), work->row, "synced", session->bytes);
    forget_view(work, session->answering);
    roost_bytes words[] = {text_word("ROOST.PULL"), name_word(work), text_word(UNKNOWN_CURSOR)};
    ask(work, session->serial, session->answering, (struct words){words, 3}, take_confirmed, session);
}

/* A reply of the answering side goes back to the one that asks, unless nobody waits for the end any more. */
static void take_answer(void *context, const redisReply *reply)
{
    struct session *session = context;
    struct work *work = session->work;
    bool fine = is_answer(work, session->answering, (int)session->asking, reply);
    if (fine && reply->type != REDIS_REPLY_STRING)
        refuse_nonsense(work, session->answering);
    if (!fine || reply->type != REDIS_REPLY_STRING || session->serial != work->serial) {
        free(session);
        return;
    }
    roost_bytes words[] = {
        text_word("ROOST.ASK"), name_word(work), {session->name, session->name_size}, {reply->str, (size_t)reply->len}};
    session->bytes += (size_t)reply->len;
    ask(work, session->serial, session->asking, (struct words){words, 4}, take_asked, session);
}

static void carry(struct session *session, const struct asked *asked)
{
    char generation[24];
    roost_bytes words[] = {text_word("ROOST.SYNC"), name_word(session->work), asked->request, text_word("GENERATION"),
                           generation_word(generation, session->generation)};
    session->bytes += asked->request.size;
    session->name_size = asked->session.size;
    memcpy(session->name, asked->session.data, asked->session.size);
    ask(session->work, session->serial, session->answering, (struct words){words, 5}, take_answer, session);
}

static void take_asked(void *context, const redisReply *reply)
{
    struct session *session = context;
    struct work *work = session->work;
    struct asked asked;
    bool fine = is_answer(work, session->asking, (int)session->answering, reply);
    bool sense = fine && read_asked(&asked, reply) && asked.session.size <= sizeof session->name;
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

static bool sync_two(struct work *work, unsigned asking, unsigned answering)
{
    struct session *session = work->syncs < work->regions ? malloc(sizeof *session) : NULL;
    if (!session) {
        work->in_trouble = true; /* no memory, or one sync after the other that leaves no cursors */
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
    roost_bytes words[] = {text_word("ROOST.ASK"), name_word(work), generation_word(generation, session->generation)};
    ask_writers(work, asking);
    ask(work, work->serial, asking, (struct words){words, 3}, take_asked, session);
    return true;
}

/* Those that are joined to a region by pairs that know both ways: deltas will pass from one to the other. */
static region_set joined(struct work *work, region_set known, unsigned region)
{
    region_set found = one_region(region), before = 0;
    while (found != before) {
        before = found;
        for (unsigned a = 0; a < work->regions; a++)
            for (unsigned b = 0; b < work->regions; b++)
                if (has(before, a) && has(known, b) && a != b && !work_conflicts(work, a, b) &&
                    (views_agree(view_of(work, a), view_of(work, b)) ||
                     (work_knows(work, a, b) && work_knows(work, b, a))))
                    found |= one_region(b);
    }
    return found;
}

static bool sync_unjoined(struct work *work, region_set known)
{
    for (unsigned a = 0; a < work->regions; a++) {
        region_set reached = has(known, a) ? joined(work, known, a) : 0;
        for (unsigned b = a + 1; b < work->regions; b++)
            if (has(known, a) && has(known, b) && !has(reached, b) && differ(work, a, b))
                return sync_two(work, a, b);
    }
    return false;
}

static bool any_news(struct work *work, region_set known)
{
    for (unsigned a = 0; a < work->regions; a++)
        for (unsigned b = 0; b < work->regions; b++)
            if (has_to_tell(work, known, a, b))
                return true;
    return false;
}

/* Everything was told, and still they differ: the views are asked for once more, and then nothing is believed. */
static bool sync_doubted(struct work *work, region_set known)
{
    if (any_news(work, known))
        return false;
    for (unsigned a = 0; a < work->regions; a++)
        for (unsigned b = a + 1; b < work->regions; b++) {
            if (!has(known, a) || !has(known, b) || !differ(work, a, b))
                continue;
            if (work->verified) {
                work->verified = false;
                work->fruitless++;
                return sync_two(work, a, b);
            }
            work->verified = true;
            forget_view(work, a);
            forget_view(work, b);
            return true;
        }
    return false;
}

/* ---- the round --------------------------------------------------------------------------------------------------- */

static bool all_agree(const struct work *work, region_set known)
{
    const struct view *first = NULL;
    for (unsigned region = 0; region < work->regions; region++) {
        if (!has(known, region))
            continue;
        if (first && !views_agree(first, view_of(work, region)))
            return false;
        first = view_of(work, region);
    }
    return true;
}

static bool step(struct work *work)
{
    region_set ready = engine_ready_regions(work->engine, work->row);
    work->in_trouble |= ++work->steps > MOST_STEPS;
    if (work->in_trouble || work->engine->stopping || !(ready & (ready - 1)))
        return false;
    if (probe(work, ready))
        return true;
    region_set known = known_regions(work);
    work_compare(work);
    if (all_agree(work, known))
        return false;
    return seed(work, known) || exchange(work, known) || sync_unjoined(work, known) || sync_doubted(work, known);
}

/* A command may be answered while it is asked: nothing is over before all are on their way. */
static void proceed(struct work *work)
{
    bool asked;
    do {
        work->pending++;
        asked = step(work);
        work->pending--;
    } while (asked && work->pending == 0);
    if (!asked)
        engine_round_over(work);
}

static void finish(struct work *work)
{
    if (--work->pending == 0)
        proceed(work);
}

static void begin_serial(struct work *work)
{
    work->serial++;
    work->pending = 0;
    memset(work->waiting, 0, sizeof work->waiting);
}

void round_begin(struct work *work)
{
    begin_serial(work);
    work->running = true;
    work->begun = event_loop_now(work->engine->loop);
    work->rounds++;
    work->steps = work->syncs = 0;
    work->exchanged = work->in_trouble = work->verified = false;
    proceed(work);
}

void round_give_up(struct work *work)
{
    begin_serial(work);
    engine_round_over(work);
}
