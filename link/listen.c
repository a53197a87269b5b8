/*
 * One listener for each primary. It sends ROOST.SUMMARY with the change cursor of the last reply, and the server
 * replies when something changed or after a time. So a link between idle regions costs a few hundred bytes for each
 * primary every few seconds, however many keys there are.
 *
 *     no change cursor   SUMMARY COUNT n              everything, page by page
 *     more to come       SUMMARY SINCE c COUNT n      the next page, at once
 *     caught up          SUMMARY SINCE c COUNT n WAIT
 *     changes            after a pause of one interval: a busy key is reported once an interval
 *
 * Change cursors outlive the connection: a primary that was away for a while reports only what changed. One that
 * restarted does not know the change cursor and reports everything, which shows in the first half of its cursor. That
 * is a *listing*, as are the first one and the one that is requested when digests disagree (engine.c). Listings of a
 * region are numbered, and each key gets the number of the listing that mentions it. Once all primaries have reported
 * everything, keys with an older number are unknown: the round probes each of them. A key is never taken to be gone
 * because a listing did not mention it.
 *
 * A listing is complete when the server says so (`listed`): everything that existed when it began has been reported.
 * Changes since then come in later pages, as always. So a region can be worked on however fast it changes.
 *
 * Pages advance (module/registry/change_cursor.h), but a server with an older module may reply with the same page for
 * ever. So each page is checked: a change cursor that is not further than the one that was sent, or a page whose
 * entries were all reported before in this listing, is a *stall*. It is reported, and after a pause that doubles the
 * region is listed again in pages twice as large, until a page is large enough. If a server reports that changes may
 * have been missed (`missed`), we go on, and the engine begins a new listing at its own time. A command that brought
 * nothing is never repeated at once.
 */
#include "listen.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tombstone_agreement.h"
#include "glob.h"
#include "replies.h"
#include "report.h"

#define PAGE           1000
#define LARGEST_PAGE   (UINT64_C(1) << 40)
#define SHORTEST_WAIT  1000 /* milliseconds */
#define NUMBER_PAUSE   20   /* until other primaries of the region have said which number it has */
#define LONGEST_WAIT   20000
#define LONGEST_PAUSE  30000
#define CALM_INTERVALS 50 /* that the server waits for changes */

/* The change cursor of a primary, by host and port, and the last listing that the primary completed. */
struct saved_cursor {
    struct saved_cursor *next;
    uint32_t listed;
    char change_cursor[CHANGE_CURSOR_SIZE];
    char name[];
};

static void ask(void *listener);

/* ---- change cursors ---------------------------------------------------------------------------------------------- */

static struct saved_cursor *find_saved_cursor(struct region *region, const char *name)
{
    for (struct saved_cursor *saved = region->saved_cursors; saved; saved = saved->next)
        if (strcmp(saved->name, name) == 0)
            return saved;
    struct saved_cursor *saved = calloc(1, sizeof *saved + strlen(name) + 1);
    if (!saved)
        return NULL;
    strcpy(saved->name, name);
    saved->next = region->saved_cursors;
    region->saved_cursors = saved;
    return saved;
}

void region_forget_change_cursors(struct region *region)
{
    for (struct saved_cursor *saved = region->saved_cursors, *next; saved; saved = next) {
        next = saved->next;
        free(saved);
    }
    region->saved_cursors = NULL;
}

static bool same_incarnation(const char *change_cursor, const char *other)
{
    size_t size = strcspn(change_cursor, "-");
    return size == strcspn(other, "-") && strncmp(change_cursor, other, size) == 0;
}

/* ---- listings ---------------------------------------------------------------------------------------------------- */

/* All primaries report everything; the change cursors of those that are down are dropped, too. */
void region_relist(struct region *region)
{
    region->listing++;
    for (struct saved_cursor *saved = region->saved_cursors; saved; saved = saved->next)
        saved->change_cursor[0] = '\0';
    for (struct listener *listener = region->listeners; listener; listener = listener->next)
        listener->has_listed = false;
}

/* Whether the reply belongs to the latest listing; a new one begins if the server did not know the change cursor. */
static bool is_of_listing(struct listener *listener, const struct summary *summary)
{
    struct region *region = listener->region;
    if (listener->asked_in != region->listing)
        return false;
    if (listener->sent[0] && !same_incarnation(listener->sent, summary->change_cursor))
        region_relist(region);
    if (!listener->sent[0] || listener->asked_in != region->listing) {
        listener->listing = region->listing;
        listener->listed = summary->digest;
    }
    return true;
}

static void finish_listing(struct listener *listener)
{
    struct region *region = listener->region;
    if (listener->has_listed || listener->listing != region->listing)
        return;
    listener->has_listed = true;
    listener->saved->listed = region->listing;
    listener->stalls = 0;
    listener->page = PAGE;
    for (const struct listener *other = region->listeners; other; other = other->next)
        if (!other->has_listed)
            return;
    if (region->swept != region->listing)
        region->engine->events->listed(region);
    region->swept = region->listing;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void ask_later(struct listener *listener, uint64_t milliseconds)
{
    listener->pause = timer_add(listener->region->engine->loop, milliseconds, ask, listener);
}

static void ask_after_error(struct listener *listener)
{
    uint64_t pause = (uint64_t)250 << (listener->failures < 7 ? listener->failures : 7);
    listener->failures++;
    ask_later(listener, pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE);
}

/* False if an entry is invalid. `old`: all entries were reported before in this listing, and are unchanged. */
static bool take_entries(struct listener *listener, const redisReply *entries, bool *old)
{
    struct region *region = listener->region;
    const char *match = region->engine->settings->match;
    struct summary_entry entry;
    size_t heard = 0, new = 0;
    for (size_t i = 0; i < entries->elements; i++) {
        if (!read_summary_entry(&entry, entries->element[i]))
            return false;
        if (match && !glob_matches(match, entry.key))
            continue;
        if (entry.dropped) {
            region->engine->events->tombstone_dropped(region, entry.database, entry.key);
            continue;
        }
        heard++;
        new +=
            region->engine->events->key_reported(region, entry.database, entry.key, &entry.view, !listener->has_listed);
    }
    *old = heard > 0 && new == 0;
    return true;
}

/* ---- pages that do not advance ----------------------------------------------------------------------------------- */

/* The second number of a change cursor. */
static uint64_t position_of(const char *change_cursor)
{
    const char *second = strchr(change_cursor, '-');
    return second ? strtoull(second + 1, NULL, 16) : 0;
}

static bool is_stalled(const struct listener *listener, const struct summary *summary, bool old)
{
    if (!summary->more || !listener->sent[0] || !same_incarnation(listener->sent, summary->change_cursor))
        return false;
    return position_of(summary->change_cursor) <= position_of(listener->sent) ||
           (old && !listener->has_listed && !summary->knows_listings);
}

/* Begins a new listing, after a pause, in larger pages. */
static void stall(struct listener *listener)
{
    struct region *region = listener->region;
    uint64_t pause = (uint64_t)250 << (listener->stalls < 7 ? listener->stalls : 7);
    if (listener->stalls++ == 0)
        listener->stalled_since = event_loop_now(region->engine->loop);
    if (listener->page < LARGEST_PAGE)
        listener->page *= 2;
    report_error_at(region, node_name(listener->node),
                    "its list of keys does not advance (the same page came twice): listing it again, in larger pages. "
                    "Update its module to avoid this");
    region_relist(region);
    ask_later(listener, pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE);
}

/* The next page is requested at once, but not if the server always has more to come. */
static uint64_t pause_before_page(struct listener *listener, const struct summary *summary)
{
    const struct engine *engine = listener->region->engine;
    listener->entries += summary->changed->elements;
    if (summary->knows_listings && !listener->has_listed)
        return 0;
    return listener->entries > 4 * (engine->rows.count + summary->keys + PAGE) ? engine->settings->interval : 0;
}

static uint64_t next_pause(struct listener *listener, bool changed)
{
    struct engine *engine = listener->region->engine;
    uint64_t now = event_loop_now(engine->loop), interval = engine->settings->interval;
    bool waited = now - listener->asked_at >= SHORTEST_WAIT / 2;
    listener->hasty = changed || waited ? 0 : listener->hasty + 1;
    if (changed || listener->hasty < 2)
        return changed ? interval : 0;
    uint64_t pause = interval << (listener->hasty < 10 ? listener->hasty : 10);
    return pause < SHORTEST_WAIT ? pause : SHORTEST_WAIT;
}

/* All keys that existed when the listing began have been reported. */
static void has_listed(struct listener *listener)
{
    bool first = !listener->caught_up;
    listener->caught_up = true;
    finish_listing(listener);
    if (first)
        listener->region->engine->events->region_changed(listener->region);
}

/* And all changes since. */
static void caught_up(struct listener *listener, bool changed, bool first)
{
    struct engine *engine = listener->region->engine;
    listener->entries = 0;
    listener->calm = changed ? 0 : engine->activity;
    ask_later(listener, first ? 0 : next_pause(listener, changed));
    if (!changed)
        engine->events->unchanged(engine);
}

/* Takes what a summary says for ROOST.LINK. A server that restarted is sent HELLO again. */
static void take_greeting(struct listener *listener, const struct summary *summary)
{
    struct greeting *greeting = &listener->greeting;
    if (listener->sent[0] && !same_incarnation(listener->sent, summary->change_cursor))
        greeting->done = false;
    greeting->due = summary->link.data && summary->link.size < sizeof greeting->key;
    greeting->done |= !greeting->due;
    if (!greeting->due)
        return;
    memcpy(greeting->key, summary->link.data, summary->link.size);
    greeting->key[summary->link.size] = '\0';
    if (!summary->more)
        greeting->time = summary->time;
}

/* Whether everything was reported that existed when the listing began; or when the connection was made, if the
   change cursor was known. */
static bool has_reported_all(const struct listener *listener, const struct summary *summary)
{
    if (!summary->more || (!listener->has_listed && summary->listed))
        return true;
    return listener->has_listed && listener->entries > listener->region->engine->rows.count + summary->keys;
}

static void take_summary(struct listener *listener, const struct summary *summary)
{
    bool changed = summary->changed->elements > 0, first = !listener->caught_up, old;
    bool of_listing = is_of_listing(listener, summary);
    if (!take_entries(listener, summary->changed, &old)) {
        report_error_at(listener->region, node_name(listener->node), "its reply to ROOST.SUMMARY is invalid");
        ask_after_error(listener);
        return;
    }
    listener->failures = 0;
    take_greeting(listener, summary);
    listener->digest = summary->digest;
    listener->keys = summary->keys;
    listener->full = summary->full;
    listener->region->engine->activity += changed;
    listener->region->missed |= of_listing && summary->missed;
    if (of_listing && is_stalled(listener, summary, old)) {
        stall(listener);
        return;
    }
    if (of_listing)
        strcpy(listener->saved->change_cursor, summary->change_cursor);
    if (of_listing && has_reported_all(listener, summary))
        has_listed(listener);
    if (summary->more || !of_listing)
        ask_later(listener, pause_before_page(listener, summary));
    else
        caught_up(listener, changed, first);
}

static void answered_summary(void *context, const redisReply *reply, const char *error)
{
    struct listener *listener = context;
    struct summary summary;
    (void)error; /* the deployment reports it */
    if (listener->region->engine->stopping)
        return;
    if (reply && reply->type != REDIS_REPLY_ERROR && read_summary(&summary, reply)) {
        take_summary(listener, &summary);
        return;
    }
    if (reply)
        report_error_at(listener->region, node_name(listener->node),
                        reply->type == REDIS_REPLY_ERROR ? reply->str : "its reply to ROOST.SUMMARY is invalid");
    ask_after_error(listener);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static uint64_t waiting_time(const struct engine *engine)
{
    uint64_t time = engine->settings->interval * CALM_INTERVALS;
    return time < SHORTEST_WAIT ? SHORTEST_WAIT : time > LONGEST_WAIT ? LONGEST_WAIT : time;
}

static roost_bytes word(const char *text)
{
    return (roost_bytes){text, strlen(text)};
}

static void answered_greeting(void *context, const redisReply *reply, const char *error)
{
    struct listener *listener = context;
    (void)error; /* the deployment reports it */
    if (listener->region->engine->stopping)
        return;
    if (reply && agree_take_greeting(listener, reply)) {
        listener->region->engine->events->region_changed(listener->region);
        ask_later(listener, listener->region->number ? 0 : NUMBER_PAUSE);
        return;
    }
    if (reply)
        report_error_at(listener->region, node_name(listener->node),
                        reply->type == REDIS_REPLY_ERROR ? reply->str : "its reply to ROOST.LINK is invalid");
    ask_after_error(listener);
}

static void greet(struct listener *listener)
{
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)listener->region->number);
    roost_bytes words[4] = {word("ROOST.LINK"), word(listener->greeting.key), word("HELLO"), word(number)};
    node_wait(listener->node, (struct words){words, 4}, answered_greeting, listener);
}

static void ask(void *context)
{
    struct listener *listener = context;
    if (listener->greeting.due && (!listener->greeting.done || listener->region->outdated) &&
        !listener->greeting.just_done) {
        listener->greeting.just_done = true;
        listener->pause = NULL;
        greet(listener);
        return;
    }
    listener->greeting.just_done = false;
    char page[24], wait[24];
    roost_bytes words[7] = {word("ROOST.SUMMARY")};
    size_t count = 1;
    listener->pause = NULL;
    listener->asked_in = listener->region->listing;
    strcpy(listener->sent, listener->saved->change_cursor);
    if (listener->sent[0]) {
        words[count++] = word("SINCE");
        words[count++] = word(listener->sent);
    }
    words[count++] = word("COUNT");
    snprintf(page, sizeof page, "%llu", (unsigned long long)listener->page);
    words[count++] = word(page);
    if (listener->caught_up && listener->sent[0]) {
        snprintf(wait, sizeof wait, "%llu", (unsigned long long)waiting_time(listener->region->engine));
        words[count++] = word("WAIT");
        words[count++] = word(wait);
    }
    listener->asked_at = event_loop_now(listener->region->engine->loop);
    node_wait(listener->node, (struct words){words, count}, answered_summary, listener);
}

/* ---- regions up and down ----------------------------------------------------------------------------------------- */

struct listener *listener_start(struct region *region, struct node *node)
{
    struct listener *listener = calloc(1, sizeof *listener);
    struct saved_cursor *saved = find_saved_cursor(region, node_name(node));
    if (!listener || !saved) {
        free(listener);
        return NULL;
    }
    *listener = (struct listener){.next = region->listeners, .region = region, .node = node, .saved = saved};
    listener->listing = region->listing;
    listener->page = PAGE;
    listener->has_listed = saved->change_cursor[0] && saved->listed == region->listing;
    region->listeners = listener;
    ask_later(listener, 0);
    return listener;
}

void listener_stop(struct listener *listener)
{
    struct listener **at = &listener->region->listeners;
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    timer_remove(listener->pause);
    free(listener);
}
