/*
 * See transfer.h.
 *
 * One pull serves all regions that lack the same changes. The range that a push writes to the journal of its
 * destination is a span that this link applied: it is left out of deltas from there for all regions that accepted the
 * same frame.
 */
#include "transfer.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "ask.h"
#include "replies.h"
#include "report.h"

#define SPAN_ROOM 36

/* A frame of one region on its way to others. */
struct transfer {
    struct work *work;
    uint32_t serial; /* of its round */
    unsigned source;
    region_set destinations, taken;
    bool whole;          /* the whole state, not a delta */
    bool deletion;       /* no frame */
    roost_cursor since;  /* of the delta */
    uint64_t generation; /* of the key when the pull was sent */
    struct view view;    /* of the source when it replied */
    unsigned pending;    /* pushes without a reply */
    size_t size;
    roost_cursor destination_cursors[MOST_REGIONS]; /* of the destinations when the pull was sent */
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
        work->failed = true;
        return NULL;
    }
    transfer->work = work;
    transfer->serial = work->serial;
    transfer->source = source;
    transfer->destinations = destinations;
    transfer->generation = generation;
    for (unsigned region = 0; region < work->regions; region++)
        transfer->destination_cursors[region] = view_of(work, region)->cursor;
    return transfer;
}

/* All regions that accepted the frame have the changes in each other's spans of it. */
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
    if (transfer->whole && !transfer->deletion) {
        work->engine->wholes--;
        work->engine->events->whole_released(work->engine);
    }
    free(transfer);
}

/* ---- push -------------------------------------------------------------------------------------------------------- */

/* Updates cursors after a push was accepted. */
static void learn(struct transfer *transfer, unsigned destination, const struct pushed *pushed)
{
    struct work *work = transfer->work;
    roost_cursor at = pushed->view.cursor;
    if (!transfer->whole && at.incarnation != transfer->destination_cursors[destination].incarnation)
        return; /* the destination is in another incarnation than the cursor was for */
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
    uint64_t *figure = transfer->deletion ? &region->counters.deletions
                       : transfer->whole  ? &region->counters.seeds
                                          : &region->counters.merges;
    ++*figure;
    report_work(region, transfer->work->row,
                transfer->deletion ? "deleted"
                : transfer->whole  ? "seeded"
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
    work->of[destination].complaint = 0;
    if (!transfer->deletion)
        region_has_memory(region_of(work, destination));
    count_push(transfer, destination, pushed->outcome);
    if (pushed->view.value && !transfer->deletion && pushed->view.generation == transfer->generation)
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
    if (is_answer(work, push.destination, transfer->deletion ? -1 : (int)transfer->source, reply)) {
        if (read_pushed(&pushed, reply))
            take_pushed(transfer, push.destination, &pushed);
        else
            refuse_nonsense(work, push.destination);
    }
    if (--transfer->pending == 0)
        transfer_over(transfer);
}

/* If the push raises the generation: the region that has it, and the time of its tombstone. */
static bool push_origin(const struct transfer *transfer, unsigned destination, char number[24], char time[24])
{
    const struct work *work = transfer->work;
    number[0] = time[0] = '\0';
    if (view_of(work, destination)->generation >= transfer->generation)
        return false;
    for (unsigned region = 0; region < work->regions; region++) {
        const struct view *view = view_of(work, region);
        uint64_t who = region_of(work, region)->number;
        if (region == destination || !who || !view->time || view->generation != transfer->generation)
            continue;
        snprintf(number, 24, "%llu", (unsigned long long)who);
        snprintf(time, 24, "%lu", (unsigned long)view->time);
        return true;
    }
    return false;
}

static void push_to(struct transfer *transfer, unsigned destination, roost_bytes frame)
{
    struct push *push = malloc(sizeof *push);
    if (!push) {
        transfer->work->failed = true;
        return;
    }
    char generation[24];
    snprintf(generation, sizeof generation, "%llu", (unsigned long long)transfer->generation);
    *push = (struct push){transfer, destination};
    roost_bytes words[7] = {text_word("ROOST.PUSH"), key_word(transfer->work), text_word(generation), frame};
    char number[24], time[24];
    bool origin = push_origin(transfer, destination, number, time);
    words[4] = text_word("REGION"), words[5] = text_word(number), words[6] = text_word(time);
    transfer->size = frame.size;
    transfer->work->engine->held += frame.size;
    transfer->pending++;
    ask(transfer->work, transfer->serial, destination, (struct words){words, origin ? 7 : 4}, take_push, push);
}

/* All at once; the extra count keeps the transfer alive meanwhile. */
static void push_to_all(struct transfer *transfer, roost_bytes frame)
{
    transfer->pending++;
    for (unsigned region = 0; region < transfer->work->regions; region++)
        if (has(transfer->destinations, region))
            push_to(transfer, region, frame);
    if (--transfer->pending == 0)
        transfer_over(transfer);
}

/* ---- pull -------------------------------------------------------------------------------------------------------- */

/* The journal does not go back so far: a sync is needed. A cursor that is not of the past is wrong, and says nothing
   about others. */
static void drop_cursors(struct transfer *transfer)
{
    roost_cursor now = transfer->view.cursor;
    if (transfer->since.incarnation == now.incarnation && transfer->since.sequence < now.sequence)
        work_lost(transfer->work, transfer->source, transfer->since);
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
    roost_bytes words[3 + MOST_SPANS] = {text_word("ROOST.PULL"), key_word(work)};
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

/* ---- transfers --------------------------------------------------------------------------------------------------- */

void transfer_delta(struct work *work, unsigned source, region_set destinations, uint64_t generation,
                    roost_cursor since)
{
    struct transfer *transfer = transfer_new(work, source, destinations, generation);
    if (!transfer)
        return;
    transfer->since = since;
    pull(transfer);
}

void transfer_whole(struct work *work, unsigned source, region_set destinations, uint64_t generation)
{
    struct transfer *transfer = transfer_new(work, source, destinations, generation);
    if (!transfer)
        return;
    transfer->whole = true;
    work->engine->wholes++;
    pull(transfer);
}

void transfer_deletion(struct work *work, region_set destinations, uint64_t generation)
{
    struct transfer *transfer = transfer_new(work, 0, destinations, generation);
    if (!transfer)
        return;
    transfer->whole = transfer->deletion = true;
    push_to_all(transfer, (roost_bytes){"", 0});
}
