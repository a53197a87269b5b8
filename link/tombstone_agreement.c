/*
 * See tombstone_agreement.h; the servers' side is in module/registry/links.h.
 *
 * A link sends HELLO to every primary before anything from it is merged. From then on the server keeps tombstones. The
 * reply has the number of the region, the time before which it has dropped tombstones, and for each other region the
 * time up to which it has received all deletions of that region, by that region's clock.
 *
 *     region 7   dropped 100                  region 8   dropped 90
 *                8: had 95                               7: had 60
 *
 * Region 8 has not received all tombstones that region 7 wrote before 100 and has dropped since. Region 8 may hold a
 * key that was deleted everywhere else, and no tombstone of it is left: merged, the key would come back. So region 8 is
 * *outdated*: it is not merged, and a message says what to do. All other regions go on. A region without keys has
 * nothing that could come back; it may join. When HELLO is sent to a region, all others are asked again, so that the
 * comparison uses current times.
 *
 * A region may join while another one is away. All that it will hold comes from its own clients and from the regions
 * that are up. Those hold nothing that the absent region deleted before the time up to which each of them has received
 * its deletions. So JOIN has the lowest of these times for the absent region, and when that comes back the new region
 * is not outdated. (An absent region cannot have dropped later tombstones: it drops only what all others had.)
 *
 * Agreement. All primaries report their time with each summary. When all regions are up, we note these times: all
 * deletions before them have been reported by then. We wait for work that is under way with different generations;
 * values may differ. Then all regions have all of these deletions, and each is sent AGREED: it has the deletions of the
 * others as of these times, and the others have its own as of the times of the round before, which all regions have
 * confirmed. So no region drops a tombstone because of a round that another region never heard of. If a region is down,
 * the others are sent HOLD with its number, or with a hash of its host and port if it was never up: they wait for it.
 *
 * It is enough that this is true when it is sent. A server that goes back to an older state replies to the next HELLO
 * with older times.
 */
#include "tombstone_agreement.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "engine_state.h"
#include "report.h"

#define LONGEST_PAUSE  60000 /* milliseconds between two rounds of agreement */
#define SHORTEST_PAUSE 1000
#define PARTS          8 /* the pause is one of so many parts of the retention */
#define MOST_WORDS     (4 + 2 * (MOST_REGIONS + MOST_KNOWN))

struct agreement {
    bool pending; /* times are noted, and work from before them is under way */
    uint64_t times[MOST_REGIONS];
    uint64_t recorded[MOST_REGIONS]; /* times of the last round that all regions confirmed; 0: none yet */
    uint64_t sent[MOST_REGIONS];     /* times of the last round that was sent */
    uint64_t round;                  /* its number */
    unsigned unanswered;             /* messages of that round */
    uint64_t noted, next;            /* by our clock */
    unsigned refreshing;             /* HELLO commands to other regions that are under way */
};

static struct agreement *agreement_of(struct engine *engine)
{
    if (!engine->agreement)
        engine->agreement = calloc(1, sizeof *engine->agreement);
    return engine->agreement;
}

void agree_end(struct engine *engine)
{
    free(engine->agreement);
    engine->agreement = NULL;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

struct message {
    char texts[MOST_WORDS][24];
    roost_bytes words[MOST_WORDS];
    size_t count;
};

static void message_begin(struct message *message, const char *key, const char *word)
{
    message->words[0] = (roost_bytes){"ROOST.LINK", 10};
    message->words[1] = (roost_bytes){key, strlen(key)};
    message->words[2] = (roost_bytes){word, strlen(word)};
    message->count = 3;
}

static void message_number(struct message *message, uint64_t number)
{
    char *text = message->texts[message->count];
    int size = snprintf(text, sizeof message->texts[0], "%llu", (unsigned long long)number);
    message->words[message->count++] = (roost_bytes){text, (size_t)size};
}

/* The primary that a command was sent to, by its key, since the listener may be gone when the reply comes. */
struct addressee {
    struct region *region;
    bool refresh;
    uint64_t round; /* of AGREED; 0: another command */
    char key[];
};

static void answered_message(void *context, const redisReply *reply, const char *error);

static void send(struct region *region, const struct message *message, const char *key, bool refresh, uint64_t round)
{
    struct addressee *addressee = malloc(sizeof *addressee + strlen(key) + 1);
    if (!addressee)
        return;
    addressee->region = region;
    addressee->refresh = refresh;
    addressee->round = round;
    strcpy(addressee->key, key);
    agreement_of(region->engine)->refreshing += refresh;
    deployment_ask(region->deployment, 0, (roost_bytes){key, strlen(key)},
                   (struct words){message->words, message->count}, answered_message, addressee);
}

/* Sends to all primaries of a region; returns their number. */
static unsigned send_to_all(struct region *region, struct message *message, bool refresh, uint64_t round)
{
    unsigned count = 0;
    for (struct listener *listener = region->listeners; listener; listener = listener->next)
        if (listener->greeting.due && listener->greeting.answered) {
            const char *key = listener->greeting.key;
            message->words[1] = (roost_bytes){key, strlen(key)};
            send(region, message, key, refresh, round);
            count++;
        }
    return count;
}

/* ---- HELLO ------------------------------------------------------------------------------------------------------- */

static bool read_numbers(uint64_t *numbers, const redisReply *reply, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (reply->element[i]->type != REDIS_REPLY_INTEGER || reply->element[i]->integer < 0)
            return false;
        numbers[i] = (uint64_t)reply->element[i]->integer;
    }
    return true;
}

static bool read_greeting(struct greeting *greeting, const redisReply *reply)
{
    uint64_t numbers[6], pairs[2 * MOST_KNOWN];
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 7 || !read_numbers(numbers, reply, 6))
        return false;
    const redisReply *others = reply->element[6];
    if (others->type != REDIS_REPLY_ARRAY || others->elements > 2 * MOST_KNOWN || others->elements % 2 ||
        !read_numbers(pairs, others, others->elements))
        return false;
    greeting->number = numbers[0];
    greeting->keys = numbers[2];
    greeting->dropped = numbers[3];
    greeting->retention = numbers[4];
    greeting->trusted = numbers[5] != 0;
    greeting->count = others->elements / 2;
    for (size_t i = 0; i < greeting->count; i++) {
        greeting->others[i].number = pairs[2 * i];
        greeting->others[i].had = pairs[2 * i + 1];
    }
    return true;
}

static uint64_t had_of(const struct greeting *greeting, uint64_t number)
{
    for (size_t i = 0; i < greeting->count; i++)
        if (greeting->others[i].number == number)
            return greeting->others[i].had;
    return 0;
}

/* Random below the time in seconds. Of two numbers of one region the lower one counts, so that a node of a cluster that
   has lost its record, and is greeted before its siblings, cannot give the region another number. */
static uint64_t fresh_number(void)
{
    uint64_t number = 0, seconds = (uint64_t)time(NULL) & UINT32_MAX;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = (uint64_t)(uintptr_t)&number * UINT64_C(0x9e3779b97f4a7c15);
    return UINT64_C(1) << 62 | seconds << 30 | number >> 34;
}

/* Combines what the primaries of a region replied. */
static void gather(struct region *region)
{
    region->dropped = 0;
    for (const struct listener *listener = region->listeners; listener; listener = listener->next) {
        const struct greeting *greeting = &listener->greeting;
        if (!greeting->answered)
            continue;
        if (greeting->number && (!region->number || greeting->number < region->number))
            region->number = greeting->number;
        if (greeting->dropped > region->dropped)
            region->dropped = greeting->dropped;
    }
}

/* ---- outdated regions -------------------------------------------------------------------------------------------- */

/* A node of a cluster knows of no region if it is new, or lost the slot of its record and was started anew. Its keys
   came from its siblings, so they are judged by what those know. */
static bool knows_regions(const struct listener *listener)
{
    return listener->greeting.answered && listener->greeting.count > 0;
}

/* Whether a region has missed tombstones that the other one has dropped. */
static bool has_missed(const struct region *region, const struct region *other)
{
    bool any_knows = false;
    for (const struct listener *listener = region->listeners; listener; listener = listener->next)
        any_knows |= knows_regions(listener);
    for (const struct listener *listener = region->listeners; listener; listener = listener->next) {
        const struct greeting *greeting = &listener->greeting;
        if (greeting->answered && greeting->keys && !greeting->trusted && (knows_regions(listener) || !any_knows) &&
            had_of(greeting, other->number) < other->dropped)
            return true;
    }
    return false;
}

static bool is_greeted(const struct region *region)
{
    return region->number != 0 && region->listeners != NULL;
}

static unsigned missed_by(struct engine *engine, const struct region *region)
{
    unsigned count = 0;
    for (unsigned i = 0; i < engine->count; i++)
        count +=
            &engine->regions[i] != region && is_greeted(&engine->regions[i]) && has_missed(region, &engine->regions[i]);
    return count;
}

/* If both have missed tombstones of each other, the one that missed those of more regions is outdated; else the
   later one. */
static bool yields_to(struct engine *engine, const struct region *region, const struct region *other)
{
    if (!has_missed(region, other))
        return false;
    if (!has_missed(other, region))
        return true;
    unsigned ours = missed_by(engine, region), theirs = missed_by(engine, other);
    return ours > theirs || (ours == theirs && region->index > other->index);
}

static void report_outdated(struct region *region, const struct region *other, bool copied)
{
    char text[400];
    if (copied)
        snprintf(text, sizeof text,
                 "is a copy of the data of %s: it is not merged; empty it (FLUSHALL), and it is seeded",
                 deployment_name(other->deployment));
    else
        snprintf(
            text, sizeof text,
            "has missed deletions that %s no longer knows of, so that deleted keys would come back: it is not merged; "
            "empty it (FLUSHALL), and it is seeded, or keep its keys with ROOST.LINK %s TRUST",
            deployment_name(other->deployment), region->listeners->greeting.key);
    report_error_at(region, deployment_name(region->deployment), text);
}

static void judge(struct region *region)
{
    struct engine *engine = region->engine;
    bool before = region->outdated;
    region->outdated = false;
    for (unsigned i = 0; i < engine->count && !region->outdated; i++) {
        struct region *other = &engine->regions[i];
        bool copied = other->index < region->index && other->number == region->number;
        if (other == region || !is_greeted(other) || (!copied && !yields_to(engine, region, other)))
            continue;
        region->outdated = region->spoken = true; /* so that the others do not wait for it */
        report_outdated(region, other, copied);
    }
    if (region->outdated != before)
        engine->activity++;
}

/* When it last had reported all changes: the earliest time of its primaries. */
static uint64_t time_of(const struct region *region)
{
    uint64_t time = UINT64_MAX;
    for (const struct listener *listener = region->listeners; listener; listener = listener->next)
        time = listener->greeting.time < time ? listener->greeting.time : time;
    return region->listeners ? time : 0;
}

/* Whether a region may send keys to one that joins. */
static bool may_seed(const struct region *region, const struct region *joining)
{
    return region != joining && is_greeted(region) && !region->outdated;
}

/* The time up to which all that may seed a region have received the deletions of another one; 0: not known. */
static uint64_t had_by_seeders(const struct region *joining, uint64_t number)
{
    const struct engine *engine = joining->engine;
    uint64_t had = UINT64_MAX;
    for (unsigned i = 0; i < engine->count; i++)
        for (const struct listener *listener = engine->regions[i].listeners;
             listener && may_seed(&engine->regions[i], joining); listener = listener->next) {
            uint64_t known = had_of(&listener->greeting, number);
            had = known < had ? known : had;
        }
    return had == UINT64_MAX ? 0 : had;
}

static bool is_of_link(const struct engine *engine, uint64_t number)
{
    for (unsigned i = 0; i < engine->count; i++)
        if (engine->regions[i].number == number)
            return true;
    return false;
}

/* Regions that this link has not met since it was started. All that may seed must know of one, so the list of the first
   of them has them all. */
static void message_absent(struct message *message, const struct region *joining)
{
    const struct engine *engine = joining->engine;
    const struct region *seeder = NULL;
    for (unsigned i = 0; i < engine->count && !seeder; i++)
        seeder = may_seed(&engine->regions[i], joining) ? &engine->regions[i] : NULL;
    for (size_t i = 0; seeder && i < seeder->listeners->greeting.count; i++) {
        uint64_t number = seeder->listeners->greeting.others[i].number, had = had_by_seeders(joining, number);
        if (had == 0 || is_of_link(engine, number))
            continue;
        message_number(message, number);
        message_number(message, had);
    }
}

/*
 * A server without keys holds nothing that was deleted elsewhere, up to now. (It may be given a key that is deleted in
 * one region and not yet in another. The first one drops the tombstone only when the other one has it, which then has
 * a later tombstone of its own.) A server that was emptied accepts no keys before it has joined.
 */
static void let_join(struct listener *listener)
{
    struct region *region = listener->region;
    const struct engine *engine = region->engine;
    struct message message;
    message_begin(&message, listener->greeting.key, "JOIN");
    for (unsigned i = 0; i < engine->count; i++) {
        const struct region *other = &engine->regions[i];
        uint64_t time = other->listeners ? time_of(other) : had_by_seeders(region, other->number);
        if (other == region || !other->number)
            continue;
        message_number(&message, other->number);
        message_number(&message, time > other->dropped ? time : other->dropped);
    }
    message_absent(&message, region);
    send(region, &message, listener->greeting.key, false, 0);
}

static bool knows_region(const struct greeting *greeting, uint64_t number)
{
    for (size_t i = 0; i < greeting->count; i++)
        if (greeting->others[i].number == number)
            return true;
    return false;
}

/* Whether a region has come up that was not named when this one joined. */
static bool joins_again(const struct listener *listener)
{
    const struct engine *engine = listener->region->engine;
    for (unsigned i = 0; i < engine->count; i++)
        if (may_seed(&engine->regions[i], listener->region) &&
            !knows_region(&listener->greeting, engine->regions[i].number))
            return true;
    return false;
}

/* Regions reply in any order. No key comes from a region before it was greeted itself, and then the others are asked
   again how many keys they have: one that is still without keys joins before it gets any. */
static void greeted(struct listener *listener)
{
    struct greeting *greeting = &listener->greeting;
    if (!greeting->answered)
        return;
    if (!greeting->keys && (!greeting->done || joins_again(listener)))
        let_join(listener);
    greeting->done = true;
}

static void judge_all(struct engine *engine)
{
    for (unsigned i = 0; i < engine->count; i++)
        gather(&engine->regions[i]);
    for (unsigned i = 0; i < engine->count; i++)
        if (is_greeted(&engine->regions[i]))
            judge(&engine->regions[i]);
    for (unsigned i = 0; i < engine->count; i++)
        for (struct listener *listener = engine->regions[i].listeners; listener && is_greeted(&engine->regions[i]);
             listener = listener->next)
            greeted(listener);
    for (unsigned i = 0; i < engine->count; i++)
        if (is_greeted(&engine->regions[i]))
            engine->events->region_changed(&engine->regions[i]);
}

/* The times are recorded once all regions have replied; if one does not, those of the next round will be. */
static void answered_round(struct agreement *agreement, uint64_t round, const redisReply *reply)
{
    if (!agreement || round != agreement->round || !agreement->unanswered)
        return;
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        agreement->unanswered = 0;
    else if (--agreement->unanswered == 0)
        memcpy(agreement->recorded, agreement->sent, sizeof agreement->recorded);
}

static void answered_message(void *context, const redisReply *reply, const char *error)
{
    struct addressee *addressee = context;
    struct engine *engine = addressee->region->engine;
    (void)error; /* the deployment reports it */
    for (struct listener *listener = engine->stopping ? NULL : addressee->region->listeners; listener && reply;
         listener = listener->next)
        if (strcmp(listener->greeting.key, addressee->key) == 0)
            read_greeting(&listener->greeting, reply);
    if (reply && reply->type == REDIS_REPLY_ERROR && !engine->stopping)
        report_error_at(addressee->region, deployment_name(addressee->region->deployment), reply->str);
    if (addressee->round)
        answered_round(engine->agreement, addressee->round, reply);
    if (addressee->refresh && engine->agreement && --engine->agreement->refreshing == 0 && !engine->stopping)
        judge_all(engine);
    free(addressee);
}

/* Asks the others again which tombstones they have dropped. */
static void refresh_others(struct region *region)
{
    struct engine *engine = region->engine;
    struct agreement *agreement = agreement_of(engine);
    struct message message;
    message_begin(&message, "", "HELLO");
    message_number(&message, 0);
    if (!agreement)
        return;
    agreement->refreshing++;
    for (unsigned i = 0; i < engine->count; i++)
        if (&engine->regions[i] != region && engine->regions[i].up)
            send_to_all(&engine->regions[i], &message, true, 0);
    if (--agreement->refreshing == 0)
        judge_all(engine);
}

/* A server that is sent HELLO may have gone back to before its confirmation: a promoted replica, a restored backup. */
static void forget_rounds(struct engine *engine)
{
    struct agreement *agreement = agreement_of(engine);
    if (!agreement)
        return;
    memset(agreement->recorded, 0, sizeof agreement->recorded);
    agreement->unanswered = 0;
}

/* A node of a cluster that has no number may be new, or have lost it. Others of its region may have one: a second one
   would make the region a stranger to all regions. */
static bool all_replied(const struct region *region)
{
    for (const struct listener *listener = region->listeners; listener; listener = listener->next)
        if (!listener->greeting.replied && !listener->greeting.done)
            return false;
    return true;
}

bool agree_take_greeting(struct listener *listener, const redisReply *reply)
{
    struct region *region = listener->region;
    struct greeting *greeting = &listener->greeting;
    if (!read_greeting(greeting, reply))
        return false;
    greeting->replied = true;
    if (greeting->number == 0) { /* HELLO is sent once more, with a number for it */
        if (!region->number && all_replied(region))
            region->number = fresh_number();
        greeting->just_done = false;
        return true;
    }
    greeting->answered = true;
    forget_rounds(region->engine);
    if (!greeting->done || region->outdated)
        refresh_others(region);
    return true;
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

static uint64_t pause_of(const struct engine *engine)
{
    uint64_t pause = LONGEST_PAUSE;
    for (unsigned i = 0; i < engine->count; i++)
        for (const struct listener *listener = engine->regions[i].listeners; listener; listener = listener->next) {
            uint64_t part = listener->greeting.retention * 1000 / PARTS;
            pause = part && part < pause ? part : pause;
        }
    return pause < SHORTEST_PAUSE ? SHORTEST_PAUSE : pause;
}

static bool all_take_part(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->count; i++)
        if (!engine->regions[i].ready || !engine->regions[i].number || !time_of(&engine->regions[i]))
            return false;
    return engine->count > 1;
}

/* Whether all regions have the same generation of a key, whatever their values. */
static bool same_generation(const struct engine *engine, const struct row *row)
{
    region_set regions = regions_of(engine, row);
    const struct view *first = NULL;
    for (unsigned i = 0; i < engine->count; i++) {
        if (!(regions & one_region(i)))
            continue;
        if (!row->views[i].known || (first && row->views[i].generation != first->generation))
            return false;
        first = &row->views[i];
    }
    return true;
}

/* Whether there is work whose generations differ and may have differed when the times were noted. */
static bool is_waited_for(struct engine *engine, uint64_t now)
{
    bool found = false;
    for (struct work *work = engine->works; work; work = work->after)
        if (same_generation(engine, work->row))
            work->level = now;
        else
            found |= work->level <= engine->agreement->noted;
    return found;
}

static void message_agreed(struct message *message, const struct engine *engine, unsigned to)
{
    const struct agreement *agreement = engine->agreement;
    message_begin(message, "", "AGREED");
    message_number(message, agreement->recorded[to]);
    for (unsigned other = 0; other < engine->count; other++)
        if (other != to) {
            message_number(message, engine->regions[other].number);
            message_number(message, agreement->times[other]);
        }
}

static void say_agreed(struct engine *engine)
{
    struct agreement *agreement = engine->agreement;
    struct message message;
    agreement->round++;
    agreement->unanswered = 1; /* so that the round is not complete before all are sent */
    memcpy(agreement->sent, agreement->times, sizeof agreement->sent);
    for (unsigned i = 0; i < engine->count; i++) {
        message_agreed(&message, engine, i);
        agreement->unanswered += send_to_all(&engine->regions[i], &message, false, agreement->round);
    }
    agreement->unanswered--;
}

static uint64_t number_of_name(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    return (hash & INT64_MAX) | 1;
}

static void say_hold(struct engine *engine)
{
    struct message message;
    message_begin(&message, "", "HOLD");
    for (unsigned i = 0; i < engine->count; i++)
        if (!engine->regions[i].ready && !engine->regions[i].outdated)
            message_number(&message, engine->regions[i].number
                                         ? engine->regions[i].number
                                         : number_of_name(deployment_name(engine->regions[i].deployment)));
    for (unsigned i = 0; i < engine->count && message.count > 3; i++)
        if (engine->regions[i].ready)
            send_to_all(&engine->regions[i], &message, false, 0);
}

static void note_times(struct engine *engine, uint64_t now)
{
    struct agreement *agreement = engine->agreement;
    for (unsigned i = 0; i < engine->count; i++)
        agreement->times[i] = time_of(&engine->regions[i]);
    agreement->noted = now;
    agreement->pending = true;
}

void agree_tick(struct engine *engine)
{
    struct agreement *agreement = agreement_of(engine);
    uint64_t now = event_loop_now(engine->loop);
    if (!agreement || engine->stopping)
        return;
    bool together = all_take_part(engine);
    agreement->pending &= together;
    if (!agreement->pending && now < agreement->next)
        return;
    if (!together) {
        say_hold(engine);
        agreement->next = now + pause_of(engine);
    } else if (!agreement->pending) {
        note_times(engine, now);
    } else if (!is_waited_for(engine, now)) {
        say_agreed(engine);
        agreement->pending = false;
        agreement->next = now + pause_of(engine);
    }
}
