/*
 * A link keeps several regions equal. Each region has its own clients that add, remove and delete. One process is
 * notified of their changes and carries them to the other regions (anti-entropy):
 *
 *         Amsterdam              link               Tokyo
 *      ROOST.SUMMARY WAIT  ->  rows, views  <-  ROOST.SUMMARY WAIT        which region holds what
 *      ROOST.PULL          ->  cursors, spans ->  ROOST.PUSH              what changed
 *      ROOST.ASK           <->                <-> ROOST.SYNC              when the changes are not known
 *
 * The link keeps no state that matters. The state of a key is (generation, value), an element of a lattice: the higher
 * generation wins, and at equal generations values merge. Every server does that merge itself, in one command. The link
 * only decides what to send. Whatever it sends, twice, late, in any order or beside other links, is merged or changes
 * nothing. It cannot make two regions hold something that no region held. What remains to be shown is that it never
 * stops too early.
 *
 * Why all regions become equal once their clients pause and all servers can be reached:
 *
 * - Differences are seen. A region reports every key whose state changed since the change cursor that we send, with
 *   generation and digest of the same moment. If a summary is lost, we ask with the old change cursor again. If the
 *   link dies, the next one has no change cursor and gets everything. If the server restarts, it does not know the
 *   change cursor and reports everything. Two cases are not reported as changes: keys that vanish without a trace
 *   (FLUSHALL), and changes that the server forgot before we heard of them. In the second case the server says so, and
 *   we list the region from the beginning, at growing intervals. In both cases the digest over all keys differs: when
 *   nothing changes any more and two regions have different digests, both are listed from the beginning, and keys that
 *   they do not mention are probed.
 *
 * - Differences are worked on. A row is at rest only while the last report of every region has the same generation and
 *   digest for the key. Otherwise it has a place in the schedule, or waits for a region that is down and is scheduled
 *   when that region comes back.
 *
 * - Work ends only with equal digests. A round does the first of probe, seed, exchange and sync that applies (round.c).
 *   Seeding raises a region to the highest generation, and there are finitely many generations once clients pause.
 *   Deltas move cursors forward to the cursor that the source has reported. A cursor that the source's journal no
 *   longer reaches is given up for all regions, and a sync takes its place. When there is nothing left after any cursor
 *   and digests still differ, no cursor is trusted, and a sync compares the two values. What a region refused is tried
 *   again by the first round that begins after a pause, however busy the key is.
 *
 * The only way to lose a change silently is a cursor that is too far: the changes before it are never requested.
 * Cursors come only from replies (work.c), each for one incarnation of the source and one of the destination. A server
 * that went back in time (a restored backup, a promoted replica that missed the last writes) begins a new incarnation,
 * and cursors for the old one are not used. If a cursor is wrong all the same, the digests differ when all is quiet,
 * and a sync repairs it. No message has to arrive, and nothing that the link remembers has to be right, for regions to
 * become equal.
 *
 * One difference is left alone: a value is withheld from a region that evicted it or has no room for it (round.c),
 * until the value changes elsewhere, there is room, or the user asks for it. Such a region counts as equal to those
 * that hold the withheld value. Nothing is lost, since others hold the value. Sending it would evict another key,
 * without end. Withheld values are sent when the region reports that it has room, at growing intervals (`release`), so
 * regions with room become equal.
 *
 * Two links at once double the traffic and change nothing else: what one link has sent is `same` for the other, or
 * comes back as an echo, since a delta leaves out only what this link sent.
 *
 * Fairness: a key that keeps changing is due again one interval after its last round began, behind all keys that are
 * due earlier. The number of concurrent rounds and the bytes under way are bounded, so a thousand large filters are
 * seeded a few at a time.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "cli/base/interrupt.h"
#include "tombstone_agreement.h"
#include "ask.h"
#include "clock.h"
#include "engine_state.h"
#include "listen.h"
#include "metrics.h"
#include "report.h"
#include "round.h"
#include "cli/base/messages.h"
#include "client/secrets.h"

#define MOST_ROUNDS        128 /* at a time */
#define MOST_BYTES         (64u << 20)
#define FIRST_WHOLE_SIZE   (8u << 20) /* assumed until some whole states were pulled */
#define MOST_RESTING       10000      /* keys without a value in any region; */
#define SOME_RESTING       1000       /* while no key is behind */
#define MANY_BEHIND        10000      /* keys whose work is worth giving back */
#define TICK               250        /* milliseconds */
#define SILENCE            3000       /* without a reply: the other regions go on without it */
#define CONFLICT_PAUSE     60000
#define CHANGED_PAUSE      2000 /* of a conflict whose key changed */
#define FIRST_RELIST_PAUSE 2000
#define LAST_RELIST_PAUSE  600000
#define ONCE_ROUNDS        30    /* limit of --once for a key that keeps changing */
#define ONCE_FAILURES      6     /* for one whose commands fail */
#define ONCE_SILENCE       60000 /* for a region that is up but does not reply */
#define ONCE_TIMEOUT       5000  /* for a region that is down */

static uint64_t now_of(const struct engine *engine)
{
    return event_loop_now(engine->loop);
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

static bool all_ready(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->count; i++)
        if (!engine->regions[i].ready)
            return false;
    return true;
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

static void pump(void *engine);

static bool has_room(const struct engine *engine)
{
    return engine->begun && !engine->stopping && engine->running < MOST_ROUNDS && engine->held < MOST_BYTES;
}

static void arm(struct engine *engine)
{
    struct work *first = schedule_first(&engine->schedule);
    if (!first || !has_room(engine) || (engine->pump && engine->pump_due <= first->due))
        return;
    uint64_t now = now_of(engine);
    timer_remove(engine->pump);
    engine->pump_due = first->due;
    engine->pump = timer_add(engine->loop, first->due > now ? first->due - now : 0, pump, engine);
}

static void pump(void *context)
{
    struct engine *engine = context;
    struct work *work;
    uint64_t now = now_of(engine);
    engine->pump = NULL;
    while (has_room(engine) && (work = schedule_first(&engine->schedule)) && work->due <= now) {
        schedule_put(&engine->schedule, work, NEVER);
        engine->running++;
        if (now >= work->retry) {
            work_forget_refusals(work);
            work->retry = 0;
        }
        round_begin(work);
    }
    arm(engine);
}

/* Unless a round is under way. */
static void schedule(struct engine *engine, struct work *work, uint64_t due)
{
    if (work->running)
        return;
    if (!schedule_put(&engine->schedule, work, due))
        complain_plainly("no memory");
    arm(engine);
}

/* ---- rest and work ----------------------------------------------------------------------------------------------- */

/* Gives a row work, if it has none. False without memory. */
static bool disturb(struct engine *engine, struct row *row)
{
    if (row->work)
        return true;
    struct work *work = work_new(row, engine->count);
    if (!work)
        return complain_plainly("no memory");
    work->engine = engine;
    work->level = now_of(engine);
    work->after = engine->works;
    if (engine->works)
        engine->works->before = work;
    engine->works = work;
    row->work = work;
    engine->keys_behind++;
    if (engine->keys_behind > engine->most_behind)
        engine->most_behind = engine->keys_behind;
    return true;
}

static void work_over(struct engine *engine, struct work *work)
{
    schedule_put(&engine->schedule, work, NEVER);
    work->row->work = NULL;
    *(work->before ? &work->before->after : &engine->works) = work->after;
    if (work->after)
        work->after->before = work->before;
    work_free(work);
    engine->keys_behind--;
}

/* Whether all of these regions are known to hold the same value, except for withheld ones. Each pair is compared:
   two regions without a value agree with each other, but need not both agree with a third. */
static bool agree(const struct row *row, region_set set)
{
    for (unsigned a = 0; set >> a; a++) {
        if (!(set & one_region(a)))
            continue;
        if (!row->views[a].known)
            return false;
        for (unsigned b = a + 1; set >> b; b++)
            if (set & one_region(b) && !views_agree(&row->views[a], &row->views[b]))
                return false;
    }
    return true;
}

/* Whether no region of the set holds a value: it was deleted, or all have evicted it. */
static bool holds_nothing(const struct row *row, region_set set)
{
    for (unsigned region = 0; set >> region; region++)
        if (set & one_region(region) && row->views[region].value)
            return false;
    return true;
}

/* Whether no region of the set ever held a value. */
static bool never_was(const struct row *row, region_set set)
{
    for (unsigned region = 0; set >> region; region++)
        if (set & one_region(region) && (row->views[region].value || row->views[region].generation > 0))
            return false;
    return true;
}

/* The C library keeps memory that was freed, unless it is asked. */
static void give_memory_back(struct engine *engine)
{
    schedule_shrink(&engine->schedule);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* When a link is started, all keys have work until all regions have listed them. Most of that memory is not needed
   again. */
static void give_memory_of_work_back(struct engine *engine)
{
    if (engine->most_behind <= MANY_BEHIND || engine->keys_behind > engine->most_behind / 16)
        return;
    give_memory_back(engine);
    engine->most_behind = engine->keys_behind;
}

static void forget_if_resting(void *context, struct row *row)
{
    struct engine *engine = context;
    if (!row->work && holds_nothing(row, regions_of(engine, row)))
        rows_remove(&engine->rows, row);
}

static void forget_resting(struct engine *engine)
{
    rows_each(&engine->rows, forget_if_resting, engine);
    engine->resting = 0;
}

/* Few regions still have to report the last deletions, or none: rows without a value are forgotten if they are worth a
   walk through all rows. They lie scattered between memory that can be given back then. */
static void forget_many_resting(struct engine *engine, size_t least)
{
    size_t before = engine->rows.count;
    if (engine->resting < least || engine->resting < before / 64)
        return;
    forget_resting(engine);
    rows_shrink(&engine->rows);
    if (before - engine->rows.count > before / 2)
        give_memory_back(engine);
}

/* A key that was deleted everywhere is kept for a while, since each region that received the deletion reports it. It
   could be forgotten at once: if a region mentions it again, all others are probed. */
static void rest(struct engine *engine, struct row *row)
{
    engine->resting += holds_nothing(row, regions_of(engine, row));
    work_over(engine, row->work);
    if (never_was(row, regions_of(engine, row)))
        rows_remove(&engine->rows, row);
    if (engine->resting > MOST_RESTING)
        forget_resting(engine);
    give_memory_of_work_back(engine);
    if (engine->keys_behind == 0)
        forget_many_resting(engine, SOME_RESTING);
    if (engine->keys_behind == 0 && all_ready(engine))
        report_in_step(engine, true);
}

/* Whether two regions that are ready still have changes to exchange. */
static bool is_unfinished(struct work *work, region_set ready)
{
    for (unsigned a = 0; a < work->regions; a++)
        for (unsigned b = a + 1; b < work->regions; b++)
            if (ready & one_region(a) && ready & one_region(b) && work_is_unfinished(work, a, b))
                return true;
    return false;
}

static uint64_t next_round(struct work *work, uint64_t now)
{
    const struct engine *engine = work->engine;
    uint64_t interval = engine->settings->interval;
    region_set ready = ready_regions_of(engine, work->row);
    work->resolved = false;
    if (work->failed)
        return now + doubled(interval > 100 ? interval : 100, work->failures++, 30000);
    work->failures = 0;
    if (is_unfinished(work, ready))
        return work->begun + doubled(interval, work->fruitless, CONFLICT_PAUSE);
    work->resolved = true;
    return work_any_refusal(work) ? work->retry : NEVER;
}

/* Updates since when each region is behind. A round carries what there was when it began, unless that is refused or
   changes nothing. */
static void note_behind(struct work *work, bool round_over)
{
    const struct engine *engine = work->engine;
    region_set all = regions_of(engine, work->row), ready = ready_regions_of(engine, work->row);
    for (unsigned region = 0; region < work->regions; region++) {
        uint64_t *since = &work->of[region].behind_since;
        bool refused = work->of[region].conflicts || work->of[region].ahead || work->full & one_region(region);
        if (!work_is_behind(work, region, all))
            *since = 0;
        else if (!*since)
            *since = now_of(engine);
        else if (round_over && !work->failed && !work->fruitless && !refused && ready & one_region(region) &&
                 *since < work->begun)
            *since = work->begun;
    }
}

/* When refused commands are tried again: later where memory is short. */
static uint64_t next_retry(struct work *work, uint64_t now)
{
    if (!work->full)
        return now + CONFLICT_PAUSE;
    return now + doubled(CHANGED_PAUSE, work->refusals++, LAST_RELIST_PAUSE);
}

static void last_command_answered(struct work *work)
{
    if (agree(work->row, regions_of(work->engine, work->row)))
        rest(work->engine, work->row);
    else if (work->due == NEVER)
        schedule(work->engine, work, now_of(work->engine));
}

static void round_over(struct work *work)
{
    struct engine *engine = work->engine;
    struct row *row = work->row;
    uint64_t now = now_of(engine);
    work->running = false;
    engine->running--;
    engine->rounds++;
    engine->activity++;
    if (agree(row, ready_regions_of(engine, row)))
        work->fruitless = 0;
    if (agree(row, regions_of(engine, row)) && work->outstanding == 0) {
        rest(engine, row);
    } else {
        note_behind(work, true);
        work->refusals = work->full ? work->refusals : 0;
        if (work_any_refusal(work) && !work->retry) /* one that came due during this round is left to the next */
            work->retry = next_retry(work, now);
        schedule(engine, work, next_round(work, now));
    }
    arm(engine);
}

/* ---- reports of regions ------------------------------------------------------------------------------------------ */

static void wake(struct engine *engine, struct work *work)
{
    uint64_t now = now_of(engine), due = work->begun ? work->begun + engine->settings->interval : now;
    if (work->running)
        return;
    if (work_any_conflict(work) && !work_any_ahead(work) && !work->full && work->retry > work->begun + CHANGED_PAUSE)
        work->retry = work->begun + CHANGED_PAUSE;
    if (work->failed && work->due != NEVER && work->due > due)
        due = work->due;
    schedule(engine, work, due > now ? due : now);
}

static void clocks_set(struct engine *engine)
{
    for (struct work *work = engine->works; work; work = work->after) {
        if (!work_any_ahead(work))
            continue;
        work->retry = now_of(engine);
        wake(engine, work);
    }
}

static bool is_unseen(const struct view *old, const struct view *view)
{
    return !views_agree(old, view) || !same_cursor(old->cursor, view->cursor) || old->withheld != view->withheld;
}

/* Whether the value differs from the one before, or was created since we listen; not merely that a listing mentions
   it. */
static bool is_change(const struct view *old, const struct view *view, bool listing)
{
    return view->value && (!listing || (old->known && old->value && !same_digest(old->digest, view->digest)));
}

static bool key_reported(struct region *region, int database, roost_bytes key, const struct view *view, bool listing)
{
    struct engine *engine = region->engine;
    struct row *row = rows_get(&engine->rows, database, key);
    if (!row)
        return complain_plainly("no memory");
    struct view *old = &row->views[region->index], after = view_after(old, view);
    bool first = old->listing != region->listing, change = is_change(old, view, listing);
    old->listing = region->listing;
    region->withholds |= after.withheld;
    if (!is_unseen(old, &after))
        return first;
    if (!row->work && views_agree(old, &after) &&
        (old->value || !after.value)) { /* all that agreed with the old one agree with the new one */
        take_view(row, region->index, &after, true);
        engine->resting += holds_nothing(row, regions_of(engine, row));
        return true;
    }
    if (!disturb(engine, row))
        return true;
    if (database != 0) {
        engine->other_databases = true;
        report_databases(engine);
    }
    take_view(row, region->index, &after, true);
    row->work->of[region->index].reports++;
    row->work->resolved = false;
    row->work->changed |= change;
    note_behind(row->work, false);
    report_in_step(engine, false);
    wake(engine, row->work);
    return true;
}

static void tombstone_dropped(struct region *region, int database, roost_bytes key)
{
    struct engine *engine = region->engine;
    struct row *row = rows_get(&engine->rows, database, key);
    bool value = false;
    for (unsigned i = 0; row && i < engine->count; i++)
        value |= row->views[i].value;
    if (!row || row->work || value) {
        if (row)
            key_reported(region, database, key, &(struct view){.known = true}, false);
        return;
    }
    rows_remove(&engine->rows, row);
}

static void sweep_row(void *context, struct row *row)
{
    struct region *region = context;
    struct view *view = &row->views[region->index];
    if (!view->known || view->listing == region->listing || (!view->value && view->generation == 0) ||
        !disturb(region->engine, row))
        return;
    view->known = false;
    row->work->of[region->index].reports++;
    row->work->resolved = false;
    note_behind(row->work, false);
    report_in_step(region->engine, false);
    wake(region->engine, row->work);
}

static void listed(struct region *region)
{
    rows_each(&region->engine->rows, sweep_row, region);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Whether some region holds a value that could be sent. */
static bool is_held(const struct row *row, const struct engine *engine, uint64_t generation)
{
    for (unsigned region = 0; region < engine->count; region++) {
        const struct view *view = &row->views[region];
        if (view->known && view->value && view->generation >= generation)
            return true;
    }
    return false;
}

struct release {
    struct region *region;
    size_t left; /* keys that may still be released */
};

static void release_row(void *context, struct row *row)
{
    struct release *release = context;
    struct region *region = release->region;
    struct view *view = &row->views[region->index];
    if (!view->withheld)
        return;
    if (release->left == 0 || !is_held(row, region->engine, view->generation) || region_is_full_for(region, row) ||
        !disturb(region->engine, row)) {
        region->withholds = true;
        return;
    }
    release->left--;
    view->withheld = false;
    view->digest = (roost_digest){0};
    row->work->resolved = false;
    note_behind(row->work, false);
    wake(region->engine, row->work);
}

/* Sends withheld values and retries refused ones when the region has room again. They may not fit, or evict others;
   so this happens at growing intervals, and with a single key first if the last one was refused. */
static void release(struct region *region)
{
    struct engine *engine = region->engine;
    uint64_t now = now_of(engine);
    if (!region->withholds || !region->ready || now < region->release.at || region_refuses_memory(region) ||
        region_is_full(region))
        return;
    struct release release = {region, region->refusing_since ? 1 : SIZE_MAX};
    region->withholds = false;
    rows_each(&engine->rows, release_row, &release);
    for (struct work *work = engine->works; work; work = work->after)
        if (work->full & one_region(region->index) && release.left > 0) {
            release.left--;
            work->retry = now;
            schedule(engine, work, now);
        } else if (work->full & one_region(region->index)) {
            region->withholds = true;
        }
    back_off_next(&region->release, now, FIRST_RELIST_PAUSE, LAST_RELIST_PAUSE);
}

/* ---- quiet ------------------------------------------------------------------------------------------------------- */

/* Whether no work is under way, and every primary has reported "no change" since the last activity. */
static bool is_quiet(const struct engine *engine)
{
    for (const struct work *work = engine->works; work; work = work->after)
        if (!work->resolved)
            return false;
    for (unsigned i = 0; i < engine->count; i++)
        for (const struct listener *listener = engine->regions[i].listeners; listener; listener = listener->next)
            if (listener->calm != engine->activity)
                return false;
    return all_ready(engine);
}

/* Whether all digests are equal, or are the ones that an earlier listing has explained. */
static bool totals_are_fine(struct engine *engine, const roost_digest totals[MOST_REGIONS])
{
    bool equal = true, known = true;
    for (unsigned i = 0; i < engine->count; i++) {
        equal &= same_digest(totals[i], totals[0]);
        known &= same_digest(totals[i], engine->quiet_digests[i]);
    }
    if (equal)
        engine->relist_pause = FIRST_RELIST_PAUSE;
    return equal || known;
}

/* Whether the regions still hold what was listed, and the listing led to no work: then the digests differ because of
   keys that do not match the pattern or are in conflict. (If it led to work, the work may have been undone since.) */
static bool is_explained(const struct engine *engine)
{
    if (!engine->relisting || engine->rounds != engine->rounds_relisted)
        return false;
    for (unsigned i = 0; i < engine->count; i++)
        for (const struct listener *listener = engine->regions[i].listeners; listener; listener = listener->next)
            if (!same_digest(listener->listed, listener->digest) || !listener->has_listed)
                return false;
    return true;
}

static void unchanged(struct engine *engine)
{
    roost_digest totals[MOST_REGIONS] = {0};
    uint64_t now = now_of(engine);
    if (!is_quiet(engine))
        return;
    for (unsigned i = 0; i < engine->count; i++)
        totals[i] = region_digest(&engine->regions[i]);
    if (totals_are_fine(engine, totals) || is_explained(engine)) {
        engine->relisting = false;
        memcpy(engine->quiet_digests, totals, sizeof totals);
        forget_many_resting(engine, 1);
        return;
    }
    if (now < engine->relist_at)
        return;
    engine->relisting = true;
    engine->relist_at = now + engine->relist_pause;
    engine->relist_pause = doubled(engine->relist_pause, 1, LAST_RELIST_PAUSE);
    engine->rounds_relisted = engine->rounds;
    engine->activity++;
    for (unsigned i = 0; i < engine->count; i++)
        region_relist(&engine->regions[i]);
}

/* If a region reports that changes may have been missed, it is listed from the beginning, at growing intervals. */
static void relist_what_was_missed(struct region *region)
{
    uint64_t now = now_of(region->engine);
    if (!region->missed || !region->ready || region->swept != region->listing || now < region->relist.at)
        return;
    region->missed = false;
    back_off_next(&region->relist, now, FIRST_RELIST_PAUSE, LAST_RELIST_PAUSE);
    region->engine->activity++;
    region_relist(region);
}

/* ---- regions up and down ----------------------------------------------------------------------------------------- */

static void begin_when_all_spoke(struct engine *engine)
{
    for (unsigned i = 0; i < engine->count; i++)
        if (!engine->regions[i].spoken)
            return;
    engine->begun = true;
    if (engine->keys_behind == 0 && all_ready(engine))
        report_in_step(engine, true);
    arm(engine);
}

/* A region is ready again: work that failed is retried at once. */
static void wake_all(struct engine *engine)
{
    for (struct work *work = engine->works; work; work = work->after) {
        if (!work->running)
            work->failed = false;
        work->failures = 0;
        wake(engine, work);
    }
}

static void region_changed(struct region *region)
{
    bool ready = region->listeners && !region->silent, was_ready = region->ready;
    for (const struct listener *listener = region->listeners; listener; listener = listener->next)
        ready &= listener->caught_up && listener->greeting.done;
    ready &= !region->outdated;
    region->ready = ready;
    region->spoken |= ready;
    if (was_ready && !ready)
        region->away_since = now_of(region->engine);
    if (region->up != (region->listeners != NULL)) {
        region->up = !region->up;
        report_region(region, region->up);
        if (region->engine->other_databases)
            report_databases(region->engine);
    }
    begin_when_all_spoke(region->engine);
    if (ready && !was_ready)
        wake_all(region->engine);
}

/* Marks a region as silent, so that the other regions do not wait for it. */
static void check_silence(struct region *region)
{
    struct engine *engine = region->engine;
    struct work *next;
    if (region->silent || !region->outstanding || now_of(engine) - region->answered_at < SILENCE)
        return;
    region->silent = true;
    region_changed(region);
    for (struct work *work = engine->works; work; work = next) {
        next = work->after;
        if (work->running && work->of[region->index].waiting)
            round_give_up(work);
    }
}

static void node_up(void *context, struct node *node)
{
    struct region *region = context;
    struct listener *listener = listener_start(region, node);
    *node_place(node) = listener;
    if (!listener)
        complain_plainly("no memory");
    region_changed(region);
}

static void node_down(void *context, struct node *node)
{
    struct region *region = context;
    if (*node_place(node))
        listener_stop(*node_place(node));
    if (!region->engine->stopping)
        region_changed(region);
}

static void error_changed(void *context, const char *text)
{
    struct region *region = context;
    if (region->engine->stopping)
        return;
    report_error(region, text);
    region->spoken |= text != NULL;
    begin_when_all_spoke(region->engine);
}

/* ---- --once ------------------------------------------------------------------------------------------------------ */

static void stop(struct engine *engine, int status)
{
    engine->status = status;
    event_loop_stop(engine->loop);
}

/* Whether --once may end: no key is left that may still become equal. */
static bool is_done(const struct engine *engine, size_t *changing, bool *failing)
{
    for (const struct work *work = engine->works; work; work = work->after) {
        bool failed = work->failures >= ONCE_FAILURES, tired = work->rounds >= ONCE_ROUNDS;
        if (work->running || (!work->resolved && !failed && !tired))
            return false;
        *failing |= failed;
        *changing += !work->resolved && !failed;
    }
    return true;
}

static bool report_all_withheld(struct engine *engine)
{
    struct status status;
    bool any = false;
    report_status(engine, &status);
    for (unsigned i = 0; i < engine->count; i++) {
        any |= status.peers[i].withheld > 0;
        if (status.peers[i].withheld)
            report_withheld(&engine->regions[i], status.peers[i].withheld);
    }
    return any;
}

static void check_once(struct engine *engine)
{
    uint64_t now = now_of(engine);
    size_t changing = 0;
    bool failing = false;
    for (unsigned i = 0; i < engine->count; i++) {
        const struct region *region = &engine->regions[i];
        uint64_t timeout = region->silent ? ONCE_SILENCE : region->spoken ? ONCE_TIMEOUT : 4 * ONCE_TIMEOUT;
        if (!region->ready && now - region->away_since > timeout) {
            complain(deployment_name(region->deployment), "cannot be reached; the regions are not in step");
            stop(engine, EXIT_ERROR);
            return;
        }
    }
    if (!all_ready(engine) || !is_done(engine, &changing, &failing) || clocks_are_compared(engine))
        return;
    if (changing)
        report_left(engine, changing);
    bool withheld = report_all_withheld(engine);
    int status = failing ? EXIT_ERROR : engine->keys_behind || withheld ? EXIT_NONE : EXIT_FINE;
    report_once(engine, status == EXIT_FINE);
    stop(engine, status);
}

static void tick(void *context)
{
    struct engine *engine = context;
    engine->tick = timer_add(engine->loop, TICK, tick, engine);
    for (unsigned i = 0; i < engine->count; i++) {
        check_silence(&engine->regions[i]);
        relist_what_was_missed(&engine->regions[i]);
        release(&engine->regions[i]);
    }
    agree_tick(engine);
    report_refusals(engine, false);
    report_status_line(engine);
    if (engine->settings->once)
        check_once(engine);
}

/* ---- start and stop ---------------------------------------------------------------------------------------------- */

static bool open_region(struct engine *engine, char *url)
{
    struct region *region = &engine->regions[engine->count];
    struct deployment_events events = {region, node_up, node_down, error_changed};
    *region = (struct region){.engine = engine, .index = engine->count, .listing = 1, .swept = 1};
    region->away_since = now_of(engine);
    region->deployment = deployment_open(engine->loop, url, engine->secrets, &engine->settings->connection, &events);
    secrets_hide(url);
    if (!region->deployment)
        return false;
    engine->count++;
    for (unsigned i = 0; i < region->index; i++)
        if (strcmp(deployment_name(engine->regions[i].deployment), deployment_name(region->deployment)) == 0)
            return complain(deployment_name(region->deployment), "is given twice; a region has one URL");
    return true;
}

static bool start(struct engine *engine)
{
    const struct link_settings *settings = engine->settings;
    if (!(engine->loop = event_loop_new()))
        return complain_plainly("no memory");
    if (!(engine->secrets = secrets_read(settings->password_file)))
        return false;
    for (unsigned i = 0; i < settings->count; i++)
        if (!open_region(engine, settings->urls[i]))
            return false;
    if (settings->metrics && !(engine->metrics = metrics_open(engine, settings->metrics))) {
        engine->status = EXIT_LATER;
        return false;
    }
    report_start(engine);
    engine->tick = timer_add(engine->loop, TICK, tick, engine);
    return true;
}

static void stop_all(struct engine *engine)
{
    engine->stopping = true;
    clocks_release(engine);
    report_stop(engine);
    metrics_close(engine->metrics);
    for (unsigned i = 0; i < engine->count; i++)
        deployment_close(engine->regions[i].deployment);
    for (unsigned i = 0; i < engine->count; i++) {
        while (engine->regions[i].listeners)
            listener_stop(engine->regions[i].listeners);
        region_forget_change_cursors(&engine->regions[i]);
    }
    while (engine->works)
        work_over(engine, engine->works);
    rows_release(&engine->rows);
    schedule_release(&engine->schedule);
    agree_end(engine);
    secrets_free(engine->secrets);
    event_loop_free(engine->loop);
}

static const struct engine_events events = {.key_reported = key_reported,
                                            .tombstone_dropped = tombstone_dropped,
                                            .listed = listed,
                                            .unchanged = unchanged,
                                            .region_changed = region_changed,
                                            .command_answered = round_answered,
                                            .last_command_answered = last_command_answered,
                                            .round_over = round_over,
                                            .whole_released = rounds_resume,
                                            .clocks_set = clocks_set};

int link_run(const struct link_settings *settings)
{
    struct engine engine = {
        .events = &events, .settings = settings, .status = EXIT_FINE, .whole_size = FIRST_WHOLE_SIZE};
    engine.relist_pause = FIRST_RELIST_PAUSE;
    rows_begin(&engine.rows, settings->count);
    interrupt_catch();
    if (start(&engine)) {
        event_loop_run(engine.loop);
        engine.status = interrupted() && settings->once ? EXIT_ERROR : engine.status;
    } else if (engine.status == EXIT_FINE) {
        engine.status = EXIT_ERROR;
    }
    stop_all(&engine);
    return engine.status;
}
