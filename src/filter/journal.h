/*
 * What changed in a filter, in order, as far back as there is room: the source of deltas.
 *
 * A ring of records, each a change that one kind of filter understands. Records are numbered from 1 on; a cursor is the
 * number of the next record to be written, and the incarnation of the journal, which is drawn at random when it begins:
 * a copy or a restored backup begins another one, so that a cursor never reads the wrong journal. A filter begins its
 * journal when the first cursor is asked for. Before that it costs nothing.
 *
 * The ring begins short and is doubled where it would otherwise forget, as far as the environment of its filter allows
 * and there is memory; so the journal of an idle filter takes 1 kB, and one that changes fast keeps its cursors valid.
 * How far it may go is looked up when the ring is full, and then not again until as many records have come as it has
 * room for: a note never costs more than a comparison beside what it writes.
 */
#ifndef FILTER_JOURNAL_H
#define FILTER_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roost/filter.h"
#include "../base/memory.h"

struct journal;
/* Makes the ring longer, as far as its filter allows (journal_policy.c). False: it is as long as before. */
typedef bool journal_extension(struct journal *journal);

struct change {
    uint64_t key, tag; /* their meaning is defined by the kind */
};

/* The table number of records about imported parts (importing.c), which no kind has for its own. */
#define IMPORTED_TABLE 0xfd

/* Records `oldest` to `next` - 1 are there, record r at place r modulo `room`. All zero: it has not begun. */
struct journal {
    struct change *changes;
    uint8_t *tables; /* of a series: which of its tables each change was in */
    uint64_t room;
    uint64_t oldest, next;
    uint64_t content; /* a full ring stays as long as it is until this record */
    uint64_t behind;  /* how many records the slowest cursor was behind */
    uint64_t incarnation;
    journal_extension *extend;
    const void *owner; /* the filter whose changes it records, or the series to which that filter belongs */
};

/* Neither `room` nor `incarnation` is 0. False when there is no memory. */
bool journal_begin(struct journal *journal, const roost_allocator *allocator, uint64_t room, uint64_t incarnation,
                   journal_extension *extend);
/* Room for more records; all stay. False, and nothing changed, when there is no memory. */
bool journal_lengthen(struct journal *journal, const roost_allocator *allocator, uint64_t room);
/* The records of another journal from `since` on, which it has, under its incarnation, instead of those that are there.
   False, and nothing changed, when there is no memory. */
bool journal_take_records(struct journal *journal, const roost_allocator *allocator, const struct journal *other,
                          uint64_t since);
/* Extends a full ring, or leaves it as it is until as many records have come as it has room for: then false. */
bool journal_outgrow(struct journal *journal);
void journal_move(struct journal *journal, const struct memory_mover *mover);
void journal_release(struct journal *journal, const roost_allocator *allocator);

static inline bool journal_is_on(const struct journal *journal)
{
    return journal->room != 0;
}

static inline void journal_note(struct journal *journal, uint8_t table, uint64_t key, uint64_t tag)
{
    if (journal->room == 0)
        return;
    if (journal->next - journal->oldest == journal->room &&
        (journal->next < journal->content || !journal_outgrow(journal)))
        journal->oldest++;
    journal->changes[journal->next % journal->room] = (struct change){key, tag};
    journal->tables[journal->next % journal->room] = table;
    journal->next++;
}

/* Whether so many more could all be there at once; the ring is made as long as it takes, if it may. */
static inline bool journal_takes(struct journal *journal, uint64_t count)
{
    while (journal->room < count && journal->next >= journal->content && journal_outgrow(journal))
        continue;
    return count <= journal->room;
}

/* Forgets all records: every cursor so far is lost. For changes that cannot be recorded one by one, or were undone. */
static inline void journal_forget(struct journal *journal)
{
    if (journal->room)
        journal->oldest = ++journal->next;
}

static inline uint64_t journal_bytes(const struct journal *journal)
{
    return journal->room * (sizeof *journal->changes + sizeof *journal->tables);
}

static inline uint64_t journal_length(const struct journal *journal)
{
    return journal->next - journal->oldest;
}

static inline const struct change *journal_change(const struct journal *journal, uint64_t number)
{
    return &journal->changes[number % journal->room];
}

static inline uint8_t journal_table(const struct journal *journal, uint64_t number)
{
    return journal->tables[number % journal->room];
}

/*
 * The records that a delta encodes: those from `since` on that are in none of the spans left out. Spans ascend by
 * `from`; they may overlap, be empty, or reach beyond the journal. It is its own walk: next_selected uses it up.
 */
struct selection {
    uint64_t since;
    const roost_span *left_out;
    size_t count;
};

/* Advances to the next record that is not left out. */
static inline void leave_out(struct selection *selection)
{
    for (; selection->count > 0 && selection->left_out->from <= selection->since;
         selection->left_out++, selection->count--)
        if (selection->left_out->to > selection->since)
            selection->since = selection->left_out->to;
}

static inline bool next_selected_record(const struct journal *journal, struct selection *selection, uint64_t *record)
{
    leave_out(selection);
    if (selection->since >= journal->next)
        return false;
    *record = selection->since++;
    return true;
}

/* The same for the kinds, whose changes are all but those of imported parts. */
static inline bool next_selected(const struct journal *journal, struct selection *selection, uint64_t *record)
{
    while (next_selected_record(journal, selection, record))
        if (journal_table(journal, *record) != IMPORTED_TABLE)
            return true;
    return false;
}

static inline uint64_t count_selected(const struct journal *journal, struct selection selection)
{
    uint64_t count = 0;
    for (leave_out(&selection); selection.since < journal->next; leave_out(&selection)) {
        uint64_t end =
            selection.count > 0 && selection.left_out->from < journal->next ? selection.left_out->from : journal->next;
        count += end - selection.since;
        selection.since = end;
    }
    return count;
}

/* Whether all that happened since the cursor is still there. */
static inline bool journal_knows(const struct journal *journal, const roost_cursor *cursor)
{
    return journal->room != 0 && cursor->incarnation == journal->incarnation && cursor->sequence >= journal->oldest &&
           cursor->sequence <= journal->next;
}

/* The same for a peer that syncs by this cursor; remembers how far behind it was, for the length of the journal. */
static inline bool journal_serves(struct journal *journal, const roost_cursor *cursor)
{
    if (journal->room != 0 && cursor->incarnation == journal->incarnation && cursor->sequence <= journal->next &&
        journal->next - cursor->sequence > journal->behind)
        journal->behind = journal->next - cursor->sequence;
    return journal_knows(journal, cursor);
}

#endif
