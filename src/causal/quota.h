/*
 * Quotas of additions without coordination: each actor has a share of a fixed amount, spends it, and transfers parts
 * of it.
 *
 * A table has room for a fixed amount, which is divided into as many equal shares as there may be writers. An actor
 * spends its own share, and may transfer a part of it to another. Both are recorded in entries that only that actor
 * ever raises:
 *
 *     (table, from, to) -> amount        to = from: spent; else given away
 *     left(actor) = share + given to it by others - given by it - spent by it
 *
 * An actor knows exactly what it has spent and transferred; what it has received can only be more than it knows. So it
 * never overestimates what it has left, whatever has not arrived yet, and all actors together never spend more than the
 * table has room for. Merge takes the larger amount of each entry (an escrow counter).
 */
#ifndef CAUSAL_QUOTA_H
#define CAUSAL_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/bitstream.h"
#include "../base/memory.h"

struct quota_entry {
    uint32_t table;
    uint64_t from, to; /* actors, not 0 */
    uint64_t amount;   /* not 0 */
};

/* Sorted by table, from, to; all zero is empty. */
struct quota {
    struct quota_entry *entries;
    size_t count, room;
};

void quota_release(struct quota *quota, const roost_allocator *allocator);
bool quota_copy(struct quota *copy, const struct quota *quota, const roost_allocator *allocator);

/* What an actor has left of a share; 0 if it is overdrawn (two replicas used one actor). */
uint64_t quota_left(const struct quota *quota, uint32_t table, uint64_t actor, uint64_t share);
uint64_t quota_spent(const struct quota *quota, uint32_t table, uint64_t actor);
/* What all actors have spent: in one table; in all tables. */
uint64_t quota_spent_in(const struct quota *quota, uint32_t table);
uint64_t quota_spent_at_all(const struct quota *quota);
/* How many actors spent or gave something anywhere. */
size_t quota_actors(const struct quota *quota);

/* Room for so many more entries, so that as many quota_raise cannot fail. */
bool quota_reserve(struct quota *quota, const roost_allocator *allocator, size_t entries);
/* Adds to an amount; `from` must be the actor of this replica. */
void quota_raise(struct quota *quota, uint32_t table, uint64_t from, uint64_t to, uint64_t amount);
/* Merges another quota: the larger amount of each entry. Returns whether anything changed, and calls back for each
   changed entry. As many entries as the other quota has must have been reserved. Time: linear in both quotas. */
typedef void quota_visitor(void *context, const struct quota_entry *entry);
bool quota_merge(struct quota *quota, const struct quota *other, quota_visitor *unseen, void *context);

/* The entries from an actor in a table: the first, and where they end. */
size_t quota_entries_of(const struct quota *quota, uint32_t table, uint64_t from, size_t *end);

/* Whether `other` knows of more than `quota`, in any entry. */
bool quota_lacks(const struct quota *quota, const struct quota *other);

/* varint count { varint table, fixed64 from, fixed64 to, varint amount }, in order. */
void quota_write(const struct quota *quota, struct bit_writer *writer);
/* Only entries of one actor and table; the count comes first. */
void quota_write_entry(struct bit_writer *writer, const struct quota_entry *entry);
bool quota_read_entry(struct bit_reader *reader, struct quota_entry *entry, uint32_t tables);
enum quota_read { QUOTA_READ, QUOTA_CORRUPT, QUOTA_NO_MEMORY };
enum quota_read quota_read(struct quota *quota, struct bit_reader *reader, uint32_t tables,
                           const roost_allocator *allocator);

bool quota_check(const struct quota *quota);

#endif
