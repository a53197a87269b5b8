/*
 * A round looks at the views of a key and does the first of these that applies, again and again, until none does:
 *
 *     probe     a view is unknown                       PULL with a cursor that no value has: returns the state alone
 *     seed      a lower generation, or no value         PULL 0 from a region that has it, PUSH the state or a deletion
 *     exchange  digests differ, cursors are known       PULL since the cursor, PUSH the delta to those that lack it
 *     sync      digests differ, nothing else applies    ASK at one, SYNC at the other, in turn, until the sync is over
 *
 * Deltas are pulled once in a round: under a steady stream of changes there is always more, which is left to the next
 * round, one interval later. Each step waits for all of its replies; views, cursors and spans come from these replies
 * alone.
 *
 * An example: two regions at rest, one addition at A. A reports a new digest and the cursor a-8; the pair A to B has
 * a-7.
 *
 *     PULL k a-7        at A   ->  generation 0, a-8, digest D, 60 bytes
 *     PUSH k 0 bytes    at B   ->  merged, 0, D, b-4, b-5
 *
 * Now both views have D: the key is at rest, and the cursors a-8 and b-5 are ready for the next change. Had B changed
 * meanwhile, its digest would differ, and the next delta from B would be pulled since b-4 without the span 4-5.
 *
 * A refusal is a conflict between two regions (different configurations) or of one region with all others (a key of
 * another type, a limit). A region without memory is sent nothing for a while, but its changes are still pulled. The
 * other regions go on with the key. Windows and counters whose times are ahead of another region's clock are refused
 * there, but values in the other direction are accepted: a conflict in one direction. A sync carries both directions
 * and ends at the first refusal; so such regions push whole states and then deltas, as far as they are accepted. If a
 * server does not reply, or cannot carry out a command now, the round ends and the key is tried again after a pause
 * that doubles. A round does not wait for ever, since the other regions would wait with it: when a region has been
 * silent for some seconds, the engine ends the round and goes on without that region. Late replies are still used,
 * since they are about states and not about rounds.
 */
#include "round.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "ask.h"
#include "client/reply_fields.h"
#include "replies.h"
#include "report.h"
#include "sync.h"
#include "transfer.h"

#define MOST_STEPS 64          /* of a round that does not end */
#define MOST_BYTES (64u << 20) /* under way */

/* ---- regions of a key -------------------------------------------------------------------------------------------- */

/* The regions that are ready and whose view is known. */
static region_set known_regions(const struct work *work)
{
    region_set ready = ready_regions_of(work->engine, work->row), known = 0;
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
        work->failed = true;
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
        if (!has(ready, region) || view_of(work, region)->known || work->of[region].conflicts)
            continue;
        struct question *question = question_new(work, region);
        if (!question)
            return true;
        roost_bytes words[] = {text_word("ROOST.PULL"), key_word(work), text_word(UNKNOWN_CURSOR)};
        ask(work, work->serial, region, (struct words){words, 3}, probed, question);
        any = true;
    }
    return any;
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

/* Once for each key: warns if the filter was created for fewer writers than there are regions. */
static void ask_writers(struct work *work, unsigned region)
{
    struct question *question = work->row->asked_writers ? NULL : question_new(work, region);
    if (!question)
        return;
    work->row->asked_writers = true;
    roost_bytes words[] = {text_word("ROOST.INFO"), key_word(work)};
    ask(work, work->serial, region, (struct words){words, 2}, take_info, question);
}

/* ---- seed -------------------------------------------------------------------------------------------------------- */

/* Whether it lacks the value of the holders, and what is withheld from it is another one. */
static bool lacks_value(const struct work *work, unsigned region, region_set holders)
{
    for (unsigned holder = 0; holder < work->regions; holder++)
        if (has(holders, holder) && views_agree(view_of(work, region), view_of(work, holder)))
            return false;
    return holders && !view_of(work, region)->value;
}

/* The regions at a lower generation, or without the value that others have. */
static region_set in_want(const struct work *work, region_set known, uint64_t top, region_set holders)
{
    region_set found = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(known, region) && (view_of(work, region)->generation < top || lacks_value(work, region, holders)))
            found |= one_region(region);
    return found;
}

static region_set holders_of(const struct work *work, region_set known, uint64_t top)
{
    region_set holders = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(known, region) && is_holder(work, region, top))
            holders |= one_region(region);
    return holders;
}

/*
 * A region that evicts keys would evict another key for each that is sent there, and that one would be sent again in
 * turn, without end. So a key that a full region does not hold is withheld from it, unless it has changed since we
 * listen: then it is in use. The digest of the withheld value is kept; another digest means that the value has changed.
 */
static bool is_to_be_withheld(const struct work *work, unsigned region)
{
    const struct region *to = region_of(work, region);
    const struct view *view = view_of(work, region);
    static const roost_digest none;
    if (work->engine->settings->refill && !work->row->refilled)
        return false;
    if (view->withheld)
        return memcmp(view->digest.bytes, none.bytes, sizeof none.bytes) == 0 || region_refuses_memory(to);
    return region_refuses_memory(to) || (!work->changed && region_is_full_for(to, work->row));
}

static void withhold(struct work *work, region_set known)
{
    uint64_t top = top_generation(work, known);
    region_set holders = holders_of(work, known, top);
    for (unsigned region = 0; holders && region < work->regions; region++) {
        struct view *view = view_of(work, region);
        if (!has(known, region) || view->value || view->generation != top || !is_to_be_withheld(work, region))
            continue;
        view->withheld = region_of(work, region)->withholds = true;
        view->digest = view_of(work, (unsigned)__builtin_ctz(holders))->digest;
    }
}

static bool send_deletion(struct work *work, region_set known, region_set wanting, uint64_t top)
{
    region_set willing = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(wanting, region) && (work->of[region].conflicts & known) != (known & ~one_region(region)) &&
            (!has(work->full, region) || view_of(work, region)->value)) /* deletions need no memory */
            willing |= one_region(region);
    if (willing)
        transfer_deletion(work, willing, top);
    return willing != 0;
}

/* Limits the whole states under way, by their recent size. */
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

/* One after the other, as long as there is memory: those that continue may have nothing left to seed. */
void rounds_resume(struct engine *engine)
{
    while (engine->stalled && has_room(engine)) {
        struct work *work = engine->stalled;
        engine->stalled = work->stalled;
        round_answered(work);
    }
}

static bool seed_from(struct work *work, unsigned source, region_set wanting, uint64_t top)
{
    region_set willing = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (has(wanting, region) && !work_conflicts(work, source, region) && !work_is_ahead(work, source, region) &&
            !has(work->full, region))
            willing |= one_region(region);
    if (!willing || stall(work))
        return willing != 0;
    ask_writers(work, source);
    work->row->refilled = true;
    transfer_whole(work, source, willing, top);
    return true;
}

static bool seed(struct work *work, region_set known)
{
    uint64_t top = top_generation(work, known);
    region_set holders = holders_of(work, known, top), wanting = in_want(work, known, top, holders);
    if (!wanting)
        return false;
    if (!holders)
        return send_deletion(work, known, wanting, top);
    for (unsigned source = 0; source < work->regions; source++)
        if (has(holders, source) && seed_from(work, source, wanting, top))
            return true;
    return false;
}

/* ---- exchange ---------------------------------------------------------------------------------------------------- */

/* Whether two regions hold different values of the same generation and are not in conflict. */
static bool differ(const struct work *work, unsigned a, unsigned b)
{
    const struct view *one = view_of(work, a), *other = view_of(work, b);
    return a != b && one->value && other->value && one->generation == other->generation &&
           !same_digest(one->digest, other->digest) && !work_conflicts(work, a, b);
}

static bool has_unseen(struct work *work, region_set known, unsigned source, unsigned destination)
{
    return has(known, source) && has(known, destination) && !has(work->full, destination) &&
           differ(work, source, destination) && !work_is_ahead(work, source, destination) &&
           work_knows(work, source, destination) && work_has_unseen(work, source, destination);
}

/* One delta for all destinations with the same cursor. */
static void send_to_group(struct work *work, unsigned source, region_set *left)
{
    unsigned first = (unsigned)__builtin_ctz(*left);
    roost_cursor since = work_pair(work, source, first)->cursor;
    region_set group = 0;
    for (unsigned region = first; region < work->regions; region++)
        if (has(*left, region) && same_cursor(work_pair(work, source, region)->cursor, since))
            group |= one_region(region);
    *left &= ~group;
    transfer_delta(work, source, group, view_of(work, source)->generation, since);
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
            if (has_unseen(work, known, source, region))
                left |= one_region(region);
        if (!left)
            continue;
        any = true;
        ask_writers(work, source);
        while (left)
            send_to_group(work, source, &left);
    }
    return any;
}

/* ---- sync -------------------------------------------------------------------------------------------------------- */

static bool sync_both(struct work *work, unsigned initiator, unsigned responder)
{
    ask_writers(work, initiator);
    return sync_two(work, initiator, responder);
}

/* Regions whose clocks differ do not sync: each pushes its whole state, and one of them may accept it. After that
   there are cursors. */
static bool send_whole(struct work *work, unsigned source, unsigned destination)
{
    if (work_is_ahead(work, source, destination) || has(work->full, destination) ||
        work_knows(work, source, destination))
        return false;
    if (!stall(work))
        transfer_whole(work, source, one_region(destination), view_of(work, source)->generation);
    return true;
}

static bool is_synced(const struct work *work, unsigned a, unsigned b)
{
    return !has(work->of[a].unsynced, b);
}

/* Whether values are accepted in one direction only, or in none. */
static bool is_one_way(const struct work *work, unsigned a, unsigned b)
{
    return work_is_ahead(work, a, b) || work_is_ahead(work, b, a);
}

static bool send_both(struct work *work, unsigned a, unsigned b)
{
    return is_synced(work, a, b) ? sync_both(work, a, b) : send_whole(work, a, b) || send_whole(work, b, a);
}

/* The regions that deltas can reach from a region, by pairs with usable cursors in both directions. */
static region_set joined(struct work *work, region_set known, unsigned region)
{
    region_set found = one_region(region), before = 0;
    while (found != before) {
        before = found;
        for (unsigned a = 0; a < work->regions; a++)
            for (unsigned b = 0; b < work->regions; b++)
                if (has(before, a) && has(known, b) && a != b && !work_conflicts(work, a, b) &&
                    (views_agree(view_of(work, a), view_of(work, b)) ||
                     (work_knows(work, a, b) && work_knows(work, b, a) && !is_one_way(work, a, b))))
                    found |= one_region(b);
    }
    return found;
}

static bool sync_unjoined(struct work *work, region_set known)
{
    for (unsigned a = 0; a < work->regions; a++) {
        region_set reached = has(known, a) ? joined(work, known, a) : 0;
        for (unsigned b = a + 1; b < work->regions; b++)
            if (has(known, a) && has(known, b) && !has(reached, b) && differ(work, a, b) && !work_refuses(work, a, b) &&
                send_both(work, a, b))
                return true;
    }
    return false;
}

static bool any_unseen(struct work *work, region_set known)
{
    for (unsigned a = 0; a < work->regions; a++)
        for (unsigned b = 0; b < work->regions; b++)
            if (has_unseen(work, known, a, b))
                return true;
    return false;
}

/* There are no unseen changes, and still the views differ: both are probed once more, and then synced. */
static bool sync_doubted(struct work *work, region_set known)
{
    if (any_unseen(work, known))
        return false;
    for (unsigned a = 0; a < work->regions; a++)
        for (unsigned b = a + 1; b < work->regions; b++) {
            if (!has(known, a) || !has(known, b) || !differ(work, a, b) || is_one_way(work, a, b) ||
                work_refuses(work, a, b))
                continue;
            if (work->verified) {
                work->verified = false;
                work->fruitless++;
                return sync_both(work, a, b);
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
    for (unsigned a = 0; a < work->regions; a++)
        for (unsigned b = a + 1; b < work->regions; b++)
            if (has(known, a) && has(known, b) && !views_agree(view_of(work, a), view_of(work, b)))
                return false;
    return true;
}

static bool step(struct work *work)
{
    region_set ready = ready_regions_of(work->engine, work->row);
    work->failed |= ++work->steps > MOST_STEPS;
    if (work->failed || work->engine->stopping || !(ready & (ready - 1)))
        return false;
    if (probe(work, ready))
        return true;
    region_set known = known_regions(work);
    work_compare(work);
    withhold(work, known);
    if (all_agree(work, known))
        return false;
    return seed(work, known) || exchange(work, known) || sync_unjoined(work, known) || sync_doubted(work, known);
}

/* A command may be answered while it is sent: a step is not over before all of its commands are under way. */
static void proceed(struct work *work)
{
    bool asked;
    do {
        work->pending++;
        asked = step(work);
        work->pending--;
    } while (asked && work->pending == 0);
    if (!asked)
        work->engine->events->round_over(work);
}

void round_answered(struct work *work)
{
    if (--work->pending == 0)
        proceed(work);
}

static void begin_serial(struct work *work)
{
    work->serial++;
    work->pending = 0;
    for (unsigned region = 0; region < work->regions; region++)
        work->of[region].waiting = 0;
}

void round_begin(struct work *work)
{
    begin_serial(work);
    work->running = true;
    work->begun = event_loop_now(work->engine->loop);
    work->rounds++;
    work->steps = work->syncs = 0;
    work->exchanged = work->failed = work->verified = false;
    proceed(work);
}

void round_give_up(struct work *work)
{
    begin_serial(work);
    work->engine->events->round_over(work);
}
