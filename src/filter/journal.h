/*
 * What changed in a filter, in order, as far back as there is room: the source of deltas.
 *
 * A ring of records, each a change that one kind of filter understands. Records are numbered from 1 on; a cursor is the
 * number of the next record to be written, and the incarnation of the journal, which is drawn at random when it begins:
 * a copy or a restored backup begins another one, so that a cursor never reads the wrong journal. A filter begins its
 * journal when the first cursor is asked for. Before that it costs nothing.
 */
#ifndef FILTER_JOURNAL_H
#define FILTER_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/memory.h"

struct change {
    uint64_t key, tag; /* what they mean is the kind's business */
};

/* Records `oldest` to `next` - 1 are there, record r at place r modulo `room`. All zero: it has not begun. */
struct journal {
    struct change *changes;
    uint8_t *tables; /* of a series: which of its tables each change was in */
    uint64_t room;
    uint64_t oldest, next;
    uint64_t incarnation;
};

/* Entropy must not be 0. False when there is no memory. */
bool journal_begin(struct journal *journal, uint64_t room, uint64_t incarnation, const roost_allocator *allocator);
/* Room for more records; all stay. False, and nothing changed, when there is no memory. */
bool journal_lengthen(struct journal *journal, uint64_t room, const roost_allocator *allocator);
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
    journal->changes[journal->next % journal->room] = (struct change){key, tag};
    journal->tables[journal->next % journal->room] = table;
    journal->next++;
    if (journal->next - journal->oldest > journal->room)
        journal->oldest++;
}

/* Forgets all records: every cursor so far is lost. For changes that cannot be told one by one, or were undone. */
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

/* Whether all that happened since the cursor is still there. */
static inline bool journal_knows(const struct journal *journal, const roost_cursor *cursor)
{
    return journal->room != 0 && cursor->incarnation == journal->incarnation && cursor->sequence >= journal->oldest &&
           cursor->sequence <= journal->next;
}

#endif
