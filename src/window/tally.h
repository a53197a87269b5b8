/*
 * A PN-counter: for each actor what it added and what it subtracted, two numbers that only that actor raises. Merge
 * takes the larger of each; the value is the sum of what was added less the sum of what was subtracted.
 */
#ifndef WINDOW_TALLY_H
#define WINDOW_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/bitstream.h"
#include "../base/memory.h"

#define MOST_TALLY ((uint64_t)INT64_MAX)

struct tally_entry {
    uint64_t actor;        /* not 0 */
    uint64_t added, taken; /* not both 0, each at most MOST_TALLY */
};

/* Sorted by actor; all zero is empty. */
struct tally {
    struct tally_entry *entries;
    size_t count, room;
};

void tally_release(struct tally *tally, const roost_allocator *allocator);
bool tally_copy(struct tally *copy, const struct tally *tally, const roost_allocator *allocator);

/* Room for so many more entries, so that as many tally_take cannot fail. */
bool tally_reserve(struct tally *tally, const roost_allocator *allocator, size_t entries);
/* The place of an actor, or `count`. */
size_t tally_find(const struct tally *tally, uint64_t actor);
/* Merges an entry: the larger numbers; returns whether it changed anything. */
bool tally_take(struct tally *tally, const struct tally_entry *entry);
/* Whether `other` has more in any entry. */
bool tally_lacks(const struct tally *tally, const struct tally *other);

/* The value, which 2^63 entries could not carry out of range. */
__int128 tally_value(const struct tally *tally);
uint128 tally_digest(const struct tally *tally, uint64_t seed);

/* varint count { fixed64 actor, varint added, varint taken }, in order. */
void tally_write(const struct tally *tally, struct bit_writer *writer);
void tally_write_entry(struct bit_writer *writer, const struct tally_entry *entry);
enum tally_read { TALLY_READ, TALLY_CORRUPT, TALLY_NO_MEMORY };
enum tally_read tally_read(struct tally *tally, struct bit_reader *reader, const roost_allocator *allocator);

bool tally_check(const struct tally *tally);

#endif
