/*
 * Which changes of each region every other region has.
 *
 * Every statement here is about states that a region held, and states only grow within an incarnation. So a statement
 * stays true until one of its two regions begins a new incarnation (a restart, a promotion, a restored backup), which
 * shows in its cursors. Three kinds of replies lead to statements:
 *
 * - Two views with one digest: each region has what the other had at its cursor.
 * - A frame that was pulled from one region and accepted by another. Its digest is that of the source at that cursor,
 *   so what holds for the source holds for all regions that reported this digest.
 * - A sync that was completed: each region has what the other had when the sync began.
 *
 * Statements are transitive: if B, at its cursor b, had everything that A had at a, and C has everything that B had at
 * b or later, then C has everything that A had at a. So regions that were synced in a chain soon know their cursors for
 * each other.
 *
 * A true statement need not be of use: a region's journal is bounded, and changes since an early cursor are then not to
 * be had. Other pairs may have that cursor, too, or an earlier one, and would pass it on again. So a cursor that is
 * lost is forgotten in all pairs of its region, and is not taken again.
 *
 * What the link pushes to a region enters its journal and would come back with the next delta. So the range of the
 * journal that a push wrote (a span) is remembered together with the regions that have its changes, and deltas for
 * those regions leave it out:
 *
 *     journal of B    ---c-----[ pushed by us, from A ]-------[ pushed, from A ]---> now
 *     B to A                   leave out                      leave out
 *     B to C                   left out only if C accepted the same frame
 *
 * If only such spans follow a cursor, the cursor advances without a command. Forgetting a span costs bytes, so their
 * number is bounded.
 */
#include "work.h"

#include <stdlib.h>
#include <string.h>

struct work *work_new(struct row *row, unsigned regions)
{
    size_t pairs = regions * regions * sizeof(struct pair);
    struct work *work = calloc(1, sizeof *work + regions * sizeof *work->of + pairs);
    if (!work)
        return NULL;
    work->row = row;
    work->regions = regions;
    work->pairs = (struct pair *)&work->of[regions];
    work->place = SIZE_MAX;
    work->due = NEVER;
    work_compare(work);
    return work;
}

void work_free(struct work *work)
{
    if (work)
        free(work->spans);
    free(work);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

struct pair *work_pair(struct work *work, unsigned source, unsigned destination)
{
    return &work->pairs[source * work->regions + destination];
}

bool work_knows(struct work *work, unsigned source, unsigned destination)
{
    const struct pair *pair = work_pair(work, source, destination);
    const struct view *from = &work->row->views[source], *to = &work->row->views[destination];
    return pair->cursor.incarnation && from->value && to->value &&
           pair->cursor.incarnation == from->cursor.incarnation && pair->at.incarnation == to->cursor.incarnation;
}

/* What a destination had in an earlier incarnation says nothing about the current one. */
static void note_incarnation(struct work *work, unsigned destination, uint64_t incarnation)
{
    if (work->of[destination].incarnation == incarnation)
        return;
    work->of[destination].incarnation = incarnation;
    for (unsigned region = 0; work->spans && region < work->regions; region++)
        for (size_t i = 0; i < work->spans[region].count; i++)
            work->spans[region].list[i].known_by &= ~one_region(destination);
}

static bool is_further(const struct pair *pair, roost_cursor at, roost_cursor cursor)
{
    return pair->cursor.incarnation != cursor.incarnation || pair->at.incarnation != at.incarnation ||
           pair->cursor.sequence < cursor.sequence ||
           (pair->cursor.sequence == cursor.sequence && pair->at.sequence > at.sequence);
}

static bool is_lost(const struct work *work, unsigned source, roost_cursor cursor)
{
    const roost_cursor *lost = &work->of[source].lost;
    return cursor.incarnation == lost->incarnation && cursor.sequence <= lost->sequence;
}

static void note_pair(struct work *work, unsigned source, unsigned destination, roost_cursor at, roost_cursor cursor)
{
    struct pair *pair = work_pair(work, source, destination);
    if (source == destination || !at.incarnation || !cursor.incarnation || !is_further(pair, at, cursor) ||
        is_lost(work, source, cursor))
        return;
    note_incarnation(work, destination, at.incarnation);
    *pair = (struct pair){cursor, at};
}

/* The loop adds what the source had from others. A statement about an earlier incarnation of another region is
   useless and must not replace one about its current incarnation. */
void work_has_until(struct work *work, unsigned source, unsigned destination, roost_cursor at, roost_cursor cursor)
{
    note_pair(work, source, destination, at, cursor);
    for (unsigned other = 0; other < work->regions; other++) {
        const struct pair *pair = work_pair(work, other, source);
        if (pair->at.incarnation == cursor.incarnation && pair->at.sequence <= cursor.sequence &&
            pair->cursor.incarnation == work->row->views[other].cursor.incarnation)
            note_pair(work, other, destination, at, pair->cursor);
    }
}

void work_lost(struct work *work, unsigned source, roost_cursor cursor)
{
    if (!is_lost(work, source, cursor))
        work->of[source].lost = cursor;
    for (unsigned destination = 0; destination < work->regions; destination++) {
        struct pair *pair = work_pair(work, source, destination);
        if (is_lost(work, source, pair->cursor))
            *pair = (struct pair){0};
    }
}

void work_has_all(struct work *work, unsigned destination, roost_cursor at, uint64_t generation, roost_digest digest)
{
    for (unsigned source = 0; source < work->regions; source++) {
        const struct view *view = &work->row->views[source];
        if (view->known && view->value && view->generation == generation && same_digest(view->digest, digest))
            work_has_until(work, source, destination, at, view->cursor);
    }
}

void work_compare(struct work *work)
{
    for (unsigned region = 0; region < work->regions; region++) {
        const struct view *view = &work->row->views[region];
        if (view->known && view->value)
            work_has_all(work, region, view->cursor, view->generation, view->digest);
    }
}

/* ---- spans ------------------------------------------------------------------------------------------------------- */

static void drop_span(struct spans *spans, size_t index)
{
    spans->count--;
    memmove(spans->list + index, spans->list + index + 1, (spans->count - index) * sizeof *spans->list);
}

/* Spans before all cursors of the region are no longer needed. */
static void drop_old_spans(struct work *work, unsigned region)
{
    struct spans *spans = &work->spans[region];
    uint64_t least = UINT64_MAX;
    for (unsigned other = 0; other < work->regions; other++) {
        const struct pair *pair = work_pair(work, region, other);
        if (other != region && pair->cursor.incarnation == spans->incarnation && pair->cursor.sequence < least)
            least = pair->cursor.sequence;
    }
    while (spans->count > 0 && spans->list[0].to <= least)
        drop_span(spans, 0);
}

static region_set still_knowing(const struct work *work, const uint64_t knowing[MOST_REGIONS])
{
    region_set found = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (knowing[region] && knowing[region] == work->of[region].incarnation)
            found |= one_region(region);
    return found;
}

void work_wrote(struct work *work, unsigned region, roost_cursor from, roost_cursor to,
                const uint64_t knowing[MOST_REGIONS])
{
    region_set known_by = still_knowing(work, knowing);
    if (from.incarnation != to.incarnation || from.sequence >= to.sequence)
        return;
    if (!work->spans && !(work->spans = calloc(work->regions, sizeof *work->spans)))
        return;
    struct spans *spans = &work->spans[region];
    if (spans->incarnation != to.incarnation)
        *spans = (struct spans){.incarnation = to.incarnation};
    struct span *last = spans->count ? &spans->list[spans->count - 1] : NULL;
    if (last && last->to > from.sequence)
        return;
    if (last && last->to == from.sequence && last->known_by == known_by) {
        last->to = to.sequence;
        return;
    }
    drop_old_spans(work, region);
    if (spans->count == MOST_SPANS)
        drop_span(spans, 0);
    spans->list[spans->count++] = (struct span){from.sequence, to.sequence, known_by};
}

/* That the destination has the changes of a span is known for its current cursor, not for earlier ones. So the pair
   gets the current cursor of the destination: an earlier one would claim too much. */
bool work_has_unseen(struct work *work, unsigned source, unsigned destination)
{
    struct pair *pair = work_pair(work, source, destination);
    roost_cursor present = work->row->views[destination].cursor;
    bool current =
        pair->at.incarnation == work->of[destination].incarnation && pair->at.incarnation == present.incarnation;
    const struct spans *spans = work->spans && current ? &work->spans[source] : NULL;
    for (size_t i = 0; spans && spans->incarnation == pair->cursor.incarnation && i < spans->count; i++)
        if (spans->list[i].from <= pair->cursor.sequence && spans->list[i].to > pair->cursor.sequence &&
            spans->list[i].known_by & one_region(destination))
            *pair = (struct pair){{pair->cursor.incarnation, spans->list[i].to}, present};
    return pair->cursor.sequence < work->row->views[source].cursor.sequence;
}

size_t work_spans(const struct work *work, unsigned source, roost_cursor since, region_set destinations,
                  struct span found[MOST_SPANS])
{
    const struct spans *spans = work->spans ? &work->spans[source] : NULL;
    size_t count = 0;
    for (unsigned region = 0; region < work->regions; region++)
        if (destinations & one_region(region) &&
            work->pairs[source * work->regions + region].at.incarnation != work->of[region].incarnation)
            return 0;
    for (size_t i = 0; spans && spans->incarnation == since.incarnation && i < spans->count; i++)
        if (spans->list[i].to > since.sequence && (spans->list[i].known_by & destinations) == destinations)
            found[count++] = spans->list[i];
    return count;
}

/* ---- who is behind ----------------------------------------------------------------------------------------------- */

/* If two views differ, the cursor tells which region lacks changes: one that has everything that the other has
   reported is not behind, whether or not the other one is reachable. */
static bool lacks(struct work *work, unsigned region, unsigned other)
{
    const struct view *here = &work->row->views[region], *there = &work->row->views[other];
    if (!there->known)
        return false;
    if (!here->known)
        return there->value || there->generation > 0;
    if (views_agree(here, there) || there->generation < here->generation)
        return false;
    if (there->generation > here->generation || !here->value || !there->value)
        return there->generation > here->generation || there->value;
    return !work_knows(work, other, region) || work_has_unseen(work, other, region);
}

bool work_is_behind(struct work *work, unsigned region, region_set set)
{
    for (unsigned other = 0; other < work->regions; other++)
        if (other != region && set & one_region(other) && set & one_region(region) && lacks(work, region, other))
            return true;
    return false;
}

/* ---- conflicts --------------------------------------------------------------------------------------------------- */

bool work_conflicts(const struct work *work, unsigned a, unsigned b)
{
    return work->of[a].conflicts & one_region(b);
}

void work_conflict(struct work *work, unsigned a, unsigned b)
{
    work->of[a].conflicts |= one_region(b);
    work->of[b].conflicts |= one_region(a);
}

void work_note_ahead(struct work *work, unsigned source, unsigned destination)
{
    work->of[destination].ahead |= one_region(source);
    work_avoid_sync(work, source, destination);
}

bool work_is_ahead(const struct work *work, unsigned source, unsigned destination)
{
    return work->of[destination].ahead & one_region(source);
}

void work_avoid_sync(struct work *work, unsigned a, unsigned b)
{
    work->of[a].unsynced |= one_region(b);
    work->of[b].unsynced |= one_region(a);
}

bool work_any_ahead(const struct work *work)
{
    for (unsigned region = 0; region < work->regions; region++)
        if (work->of[region].ahead)
            return true;
    return false;
}

bool work_any_conflict(const struct work *work)
{
    for (unsigned region = 0; region < work->regions; region++)
        if (work->of[region].conflicts)
            return true;
    return work_any_ahead(work);
}

bool work_refuses(const struct work *work, unsigned a, unsigned b)
{
    return work_conflicts(work, a, b) || work->full & (one_region(a) | one_region(b));
}

bool work_any_refusal(const struct work *work)
{
    return work->full || work_any_conflict(work);
}

/* `unsynced` stays: whole states are pushed instead of syncs. */
void work_forget_refusals(struct work *work)
{
    for (unsigned region = 0; region < work->regions; region++)
        work->of[region].conflicts = work->of[region].ahead = 0;
    work->full = 0;
}

static bool has_more(struct work *work, unsigned source, unsigned destination)
{
    const struct view *from = &work->row->views[source], *to = &work->row->views[destination];
    if (!from->known || !to->known || from->generation > to->generation)
        return true;
    if (from->generation < to->generation || !from->value)
        return false;
    return !to->value || !work_knows(work, source, destination) || work_has_unseen(work, source, destination);
}

bool work_is_unfinished(struct work *work, unsigned a, unsigned b)
{
    bool there = !work_is_ahead(work, a, b), back = !work_is_ahead(work, b, a);
    if (work_refuses(work, a, b) || views_agree(&work->row->views[a], &work->row->views[b]))
        return false;
    return (there && back) || (there && has_more(work, a, b)) || (back && has_more(work, b, a));
}
