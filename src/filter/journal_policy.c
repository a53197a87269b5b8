/*
 * When the journal of a filter begins, and how long it may grow: `journal.c` has the ring itself.
 *
 * A journal begins with the first cursor. It grows, by doubling, up to the smallest of three limits:
 *   - what the caller set (`roost_environment.journal`), or one record for each CAPACITY_A_CHANGE elements of the
 *     capacity: a peer that is further behind gets the whole state for about the same bytes;
 *   - its part of the memory (`journal_part`), or what the slowest cursor needed so far, doubled;
 *   - half of the memory that the limit of the filter leaves.
 */
#include "journal_policy.h"
#include "importing.h"
#include "inherited.h"

#include "../base/entropy.h"

#define FEWEST_CHANGES    4096
#define CAPACITY_A_CHANGE 8
#define FIRST_CHANGES     8     /* in a journal that begins */
#define FEWEST_IN_PART    256   /* however small the filter, */
#define MOST_WANTED       16384 /* and so many where cursors need them */

/* How many changes are worth keeping. */
static uint64_t most_changes(const roost_filter *filter)
{
    uint64_t capacity = filter->config->capacity;
    if (filter->environment.common->journal)
        return filter->environment.common->journal;
    if (filter->kind->set.capacity && filter->kind->set.capacity(filter) > capacity)
        capacity = filter->kind->set.capacity(filter);
    return capacity / CAPACITY_A_CHANGE > FEWEST_CHANGES ? capacity / CAPACITY_A_CHANGE : FEWEST_CHANGES;
}

static uint64_t changes_in(uint64_t bytes)
{
    return bytes / journal_bytes(&(struct journal){.room = 1});
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t largest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* With imported parts, whose removals are in the journal, too. */
static uint64_t memory_of(const roost_filter *filter)
{
    return filter->kind->report.memory(filter) + imported_memory(filter->imported);
}

/*
 * As many of them as the journal's part of the memory holds. Peers that sync get more, so that their cursors stay
 * valid: twice as many records as the slowest of them was behind, but no more than the filter itself takes, unless that
 * is little.
 */
static uint64_t most_changes_here(const roost_filter *filter)
{
    uint64_t held = changes_in(memory_of(filter) - journal_bytes(filter->journal));
    uint64_t wanted = least(2 * filter->journal->behind, largest(held, MOST_WANTED));
    if (!filter->environment.common->journal_part)
        return most_changes(filter);
    uint64_t part = largest(held / filter->environment.common->journal_part, FEWEST_IN_PART);
    return least(most_changes(filter), largest(part, wanted));
}

static uint64_t bytes_left(const roost_filter *filter)
{
    uint64_t limit = filter->environment.common->memory_limit, taken = memory_of(filter);
    return taken < limit ? limit - taken : 0;
}

/* Twice as long, or as long as it may be. Half of the memory that is left stays for elements. */
static bool extend(struct journal *journal)
{
    const roost_filter *filter = journal->owner;
    uint64_t room = least(2 * journal->room, most_changes_here(filter));
    room = least(room, changes_in(bytes_left(filter) / 2));
    return room > journal->room && journal_lengthen(journal, &filter->environment.allocator, room);
}

roost_status begin_journal(roost_filter *filter)
{
    uint64_t incarnation, room;
    leave_inherited(filter);
    if (journal_is_on(filter->journal))
        return ROOST_OK;
    room = least(least(FIRST_CHANGES, most_changes(filter)), changes_in(bytes_left(filter)));
    if (room == 0)
        return ROOST_TOO_LARGE;
    if (!entropy_number(&filter->environment.common->entropy, &incarnation))
        return ROOST_EXHAUSTED;
    const roost_allocator *allocator = &filter->environment.allocator;
    struct journal *journal =
        is_slim(filter) ? memory_allocate(allocator, sizeof *journal) : &own_part(filter)->journal;
    if (!journal)
        return ROOST_NO_MEMORY;
    if (!journal_begin(journal, allocator, room, incarnation, extend)) {
        memory_release(allocator, is_slim(filter) ? journal : NULL);
        return ROOST_NO_MEMORY;
    }
    journal->owner = filter;
    filter->journal = journal;
    return ROOST_OK;
}

struct journal no_journal;

void release_journal(roost_filter *filter)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    if (filter->in_series || filter->journal == &no_journal)
        return;
    journal_release(filter->journal, allocator);
    if (is_slim(filter)) {
        memory_release(allocator, filter->journal);
        filter->journal = &no_journal;
    }
}

void forget_inherited(roost_filter *filter)
{
    if (filter->kind->replica.forget)
        filter->kind->replica.forget(filter);
    release_journal(filter);
    filter->process = process_number;
}

void move_journal(roost_filter *filter, const struct memory_mover *mover)
{
    if (!is_slim(filter)) {
        journal_move(&own_part(filter)->journal, mover);
    } else if (filter->journal != &no_journal) {
        filter->journal = memory_moved(mover, filter->journal);
        journal_move(filter->journal, mover);
    }
}
