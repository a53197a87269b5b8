/*
 * Who may add how much where, without asking anybody: shares of a fixed amount, spent and passed on.
 *
 * A table has room for some amount, cut in as many equal shares as there may be writers. An actor spends its own share,
 * and may give a part of it to another. Both are noted in entries that only that actor ever raises:
 *
 *     (table, from, to) -> amount        to = from: spent; else given away
 *     left(actor) = share + given to it by others - given by it - spent by it
 *
 * What an actor has spent and given is known to itself exactly; what it was given can only be more than it knows. So
 * what it believes to have left is never more than it has, whatever has not arrived yet, and all of them together never
 * spend more than the table has room for. Merge takes the larger amount of each entry.
 */
#ifndef CAUSAL_LEDGER_H
#define CAUSAL_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/bitstream.h"
#include "../base/memory.h"

struct ledger_entry {
    uint32_t table;
    uint64_t from, to; /* actors, not 0 */
    uint64_t amount;   /* not 0 */
};

/* Sorted by table, from, to; all zero is empty. */
struct ledger {
    struct ledger_entry *entries;
    size_t count, room;
};

void ledger_release(struct ledger *ledger, const roost_allocator *allocator);
bool ledger_copy(struct ledger *copy, const struct ledger *ledger, const roost_allocator *allocator);

/* What an actor has left of a share; 0 where it has overdrawn (its actor was used twice). */
uint64_t ledger_left(const struct ledger *ledger, uint32_t table, uint64_t actor, uint64_t share);
uint64_t ledger_spent(const struct ledger *ledger, uint32_t table, uint64_t actor);
/* By all actors: in one table; in all. */
uint64_t ledger_spent_in(const struct ledger *ledger, uint32_t table);
uint64_t ledger_spent_at_all(const struct ledger *ledger);
/* How many actors spent or gave something anywhere. */
size_t ledger_actors(const struct ledger *ledger);

/* Room for so many more entries, so that as many ledger_raise cannot fail. */
bool ledger_reserve(struct ledger *ledger, const roost_allocator *allocator, size_t entries);
/* Adds to an amount; `from` must be the actor of this replica. */
void ledger_raise(struct ledger *ledger, uint32_t table, uint64_t from, uint64_t to, uint64_t amount);
/* Takes in somebody else's ledger: the larger amount of each entry; whether there was news, and a call for each that
   was. As many entries as it has must have been reserved. Time: that of both ledgers. */
typedef void ledger_visitor(void *context, const struct ledger_entry *entry);
bool ledger_merge(struct ledger *ledger, const struct ledger *other, ledger_visitor *news, void *context);

/* The entries from an actor in a table: the first, and where they end. */
size_t ledger_entries_of(const struct ledger *ledger, uint32_t table, uint64_t from, size_t *end);

/* Whether `other` knows of more than `ledger`, in any entry. */
bool ledger_lacks(const struct ledger *ledger, const struct ledger *other);

/* varint count { varint table, fixed64 from, fixed64 to, varint amount }, in order. */
void ledger_write(const struct ledger *ledger, struct bit_writer *writer);
/* Only entries of one actor and table; the count comes first. */
void ledger_write_entry(struct bit_writer *writer, const struct ledger_entry *entry);
bool ledger_read_entry(struct bit_reader *reader, struct ledger_entry *entry, uint32_t tables);
enum ledger_read { LEDGER_READ, LEDGER_CORRUPT, LEDGER_NO_MEMORY };
enum ledger_read ledger_read(struct ledger *ledger, struct bit_reader *reader, uint32_t tables,
                             const roost_allocator *allocator);

bool ledger_check(const struct ledger *ledger);

#endif
