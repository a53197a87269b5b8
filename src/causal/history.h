/*
 * What a replica has seen: a set of dots, as runs of counters for each actor.
 *
 * Dots of one actor are made in a row, so nearly always one run from 1 says it all: that is the actor's entry of the
 * version vector. What was delivered out of order lies beyond a gap: those runs are the dot cloud. Both are kept in one
 * sorted array, and a run that closes a gap melts into its neighbours, so the cloud compacts itself.
 *
 *     actor 7:  [1 .. 120]  [124 .. 125]        seen: 1 to 120, 124, 125; not yet: 121, 122, 123
 *     actor 9:  [1 .. 3]
 *
 * A dot has a *rank* in a history: how many of its dots come before it, by actor, then by counter. The ranks of a
 * history's dots are 0, 1, 2, ... without gaps, which makes them short names for dots between two who know the history.
 */
#ifndef CAUSAL_HISTORY_H
#define CAUSAL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/bitstream.h"
#include "../base/memory.h"

/* Counters `first` to `last` of one actor; 1 <= first <= last. A single dot is a run of one. */
struct dot_run {
    uint64_t actor;
    uint32_t first, last;
};

/*
 * Invariants (history_check): runs are sorted by actor and counter, no actor is 0, no counter is 0, between two runs of
 * one actor at least one counter is missing; `dots` is the sum of their lengths. All zero is the empty history.
 */
struct history {
    struct dot_run *runs;
    size_t count, room;
    uint64_t dots;
};

void history_release(struct history *history, const roost_allocator *allocator);
/* False, and an empty copy, when there is no memory. */
bool history_copy(struct history *copy, const struct history *history, const roost_allocator *allocator);

bool history_contains(const struct history *history, uint64_t actor, uint32_t counter);
/* The end of the actor's run from 1, or 0: its version-vector entry. */
uint32_t history_contiguous(const struct history *history, uint64_t actor);
/* The largest counter seen of the actor, or 0. */
uint32_t history_largest(const struct history *history, uint64_t actor);
/* The run that holds the dot, which must be there. */
size_t history_run_of(const struct history *history, uint64_t actor, uint32_t counter);
/* How many different actors; runs that do not start at 1. */
size_t history_actors(const struct history *history);
size_t history_gaps(const struct history *history);

/* Makes room for so many more runs, so that as many history_add that follow cannot fail. */
bool history_reserve(struct history *history, const roost_allocator *allocator, size_t runs);

/* Adds one run, which may overlap and touch others. False, and nothing changed, when there is no memory. */
bool history_add(struct history *history, const roost_allocator *allocator, struct dot_run run);

/* Adds many runs in any order, overlapping or not, in one pass over the history. As history_add; `runs` may come back
   in another order. */
bool history_add_many(struct history *history, const roost_allocator *allocator, struct dot_run *runs, size_t count);

/* Each makes a new history in *result, which is none of the others; false and an empty one when there is no memory. */
bool history_union(struct history *result, const struct history *first, const struct history *second,
                   const roost_allocator *allocator);
bool history_difference(struct history *result, const struct history *first, const struct history *second,
                        const roost_allocator *allocator); /* in the first, not in the second */
bool history_intersection(struct history *result, const struct history *first, const struct history *second,
                          const roost_allocator *allocator);
/* Whether every dot of `part` is in `history`. */
bool history_includes(const struct history *history, const struct history *part);
bool history_overlaps(const struct history *first, const struct history *second);
bool history_equal(const struct history *first, const struct history *second);

/*
 * Ranks. `before[i]` is the rank of the first dot of run i; before[count] is the number of dots. The table is the
 * caller's: history_ranks fills count + 1 places. history_rank wants a dot that is in the history.
 */
void history_ranks(const struct history *history, uint64_t *before);
uint64_t history_rank(const struct history *history, const uint64_t *before, uint64_t actor, uint32_t counter);
/* The run that holds a rank, for rank < dots; the dot is then first + (rank - before[run]). */
size_t history_run_of_rank(const struct history *history, const uint64_t *before, uint64_t rank);

/*
 * Bytes, canonical: how many actors; for each the actor (8 bytes) and then numbers of its runs. docs/format.md.
 *   varint actors { fixed64 actor, varint contiguous << 1 | more, { varint gap, varint length << 1 | more } }
 * where `contiguous` is the end of the run from 1 (0: none; then more is set), gap is the number of counters missing
 * before the run less 1, length the number of its dots less 1, and `more` tells whether another run of the actor
 * follows. After no run from 1 the first gap counts from counter 1 (so a first run at 2 has gap 0).
 *
 * Both want a stream that is aligned. Reading refuses other forms, actor 0, actors out of order and counters above
 * `most_counter` (HISTORY_CORRUPT), and more actors than `most_actors` (HISTORY_TOO_MANY; what they are is not looked
 * at). Whatever it refuses, the reader has failed and the history is empty. Memory follows the bytes that are there:
 * at most eight times as many, in one allocation.
 */
void history_write(const struct history *history, struct bit_writer *writer);
enum history_read { HISTORY_READ, HISTORY_CORRUPT, HISTORY_TOO_MANY, HISTORY_NO_MEMORY };
enum history_read history_read(struct history *history, struct bit_reader *reader, uint32_t most_counter,
                               size_t most_actors, const roost_allocator *allocator);

bool history_check(const struct history *history);

#endif
