/*
 * What a replica has seen: a set of dots, as runs of counters for each actor.
 *
 * Dots of one actor are made in a row, so nearly always one run from 1 says it all: that is the actor's entry of the
 * version vector. What was delivered out of order lies beyond a gap: those runs are the dot cloud. Both are kept in one
 * sorted array, and a run that closes a gap is joined with its neighbours, so the cloud compacts itself.
 *
 *     actor 7:  [1 .. 120]  [124 .. 125]        seen: 1 to 120, 124, 125; not yet: 121, 122, 123
 *     actor 9:  [1 .. 3]
 *
 * A dot has a *rank* in a causal context: how many of its dots come before it, by actor, then by counter. The ranks of
 * a causal context's dots are 0, 1, 2, ... without gaps, which makes them short names for dots between two replicas
 * that both know the causal context.
 */
#ifndef CAUSAL_CAUSAL_CONTEXT_H
#define CAUSAL_CAUSAL_CONTEXT_H

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
 * Invariants (causal_check): runs are sorted by actor and counter, no actor is 0, no counter is 0, between two runs of
 * one actor at least one counter is missing; `dots` is the sum of their lengths. All zero is the empty causal context.
 */
struct causal_context {
    struct dot_run *runs;
    size_t count, room;
    uint64_t dots;
};

void causal_release(struct causal_context *causal, const roost_allocator *allocator);
/* False, and an empty copy, when there is no memory. */
bool causal_copy(struct causal_context *copy, const struct causal_context *causal, const roost_allocator *allocator);

bool causal_contains(const struct causal_context *causal, uint64_t actor, uint32_t counter);
/* The end of the actor's run from 1, or 0: its version-vector entry. */
uint32_t causal_contiguous(const struct causal_context *causal, uint64_t actor);
/* The largest counter seen of the actor, or 0. */
uint32_t causal_largest(const struct causal_context *causal, uint64_t actor);
/* The run that holds the dot, which must be there. */
size_t causal_run_of(const struct causal_context *causal, uint64_t actor, uint32_t counter);
/* How many different actors; runs that do not start at 1. */
size_t causal_actors(const struct causal_context *causal);
size_t causal_gaps(const struct causal_context *causal);

/* Makes room for so many more runs, so that as many causal_add that follow cannot fail. */
bool causal_reserve(struct causal_context *causal, const roost_allocator *allocator, size_t runs);

/* Adds one run, which may overlap and touch others. False, and nothing changed, when there is no memory. */
bool causal_add(struct causal_context *causal, const roost_allocator *allocator, struct dot_run run);

/* Adds many runs in any order, overlapping or not, in one pass over the causal context. As causal_add; `runs` may
   come back in another order. */
bool causal_add_many(struct causal_context *causal, const roost_allocator *allocator, struct dot_run *runs,
                     size_t count);

/* Each makes a new causal context in *result, which must not be one of the operands; false and an empty one when
   there is no memory. */
bool causal_union(struct causal_context *result, const struct causal_context *first,
                  const struct causal_context *second, const roost_allocator *allocator);
bool causal_difference(struct causal_context *result, const struct causal_context *first,
                       const struct causal_context *second,
                       const roost_allocator *allocator); /* in the first, not in the second */
bool causal_intersection(struct causal_context *result, const struct causal_context *first,
                         const struct causal_context *second, const roost_allocator *allocator);
/* Whether every dot of `part` is in `causal context`. */
bool causal_includes(const struct causal_context *causal, const struct causal_context *part);
bool causal_overlaps(const struct causal_context *first, const struct causal_context *second);
bool causal_equal(const struct causal_context *first, const struct causal_context *second);

/*
 * Ranks. `before[i]` is the rank of the first dot of run i; before[count] is the number of dots. The table is the
 * caller's: causal_ranks fills count + 1 places. causal_rank wants a dot that is in the causal context.
 */
void causal_ranks(const struct causal_context *causal, uint64_t *before);
uint64_t causal_rank(const struct causal_context *causal, const uint64_t *before, uint64_t actor, uint32_t counter);
/* The run that holds a rank, for rank < dots; the dot is then first + (rank - before[run]). */
size_t causal_run_of_rank(const struct causal_context *causal, const uint64_t *before, uint64_t rank);

/*
 * Bytes, canonical: how many actors; for each the actor (8 bytes) and then numbers of its runs. docs/format.md.
 *   varint actors { fixed64 actor, varint contiguous << 1 | more, { varint gap, varint length << 1 | more } }
 * where `contiguous` is the end of the run from 1 (0: none; then more is set), gap is the number of counters missing
 * before the run less 1, length the number of its dots less 1, and `more` is set if another run of the actor follows.
 * After no run from 1 the first gap counts from counter 1 (so a first run at 2 has gap 0).
 *
 * Both want a stream that is aligned. Reading refuses other forms, actor 0, actors out of order and counters above
 * `most_counter` (CAUSAL_CORRUPT), and more actors than `most_actors` (CAUSAL_TOO_MANY; what they are is not looked
 * at). Whatever it refuses, the reader has failed and the causal context is empty. Memory follows the bytes that are
 * there: at most eight times as many, in one allocation.
 */
void causal_write(const struct causal_context *causal, struct bit_writer *writer);
enum causal_read { CAUSAL_READ, CAUSAL_CORRUPT, CAUSAL_TOO_MANY, CAUSAL_NO_MEMORY };
enum causal_read causal_read(struct causal_context *causal, struct bit_reader *reader, uint32_t most_counter,
                             size_t most_actors, const roost_allocator *allocator);

bool causal_check(const struct causal_context *causal);

#endif
