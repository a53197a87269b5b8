/*
 * A filter as a set of positions, for the digest tree: what two replicas compare to find out where they differ.
 *
 * Every kind has an order of its own for what it holds. Grow-only kinds: a position is a bit (Bloom), a class key
 * (cuckoo); what one side has is in the union. Observed-remove: a position is the rank of a dot in a causal context
 * that both sides know, and it is in the set while the dot is live; what one side has lost is lost to both.
 *
 * The digest of a range of positions is a sum over its members (cuckoo), so that any range costs two look-ups, or over
 * its words that have bits (Bloom), which are at hand: a summary of bits costs nothing to make, and a range what it is
 * long. A series of Bloom tables has a range of words for each, with nothing but zeros between.
 *
 * Members come as a sorted list, or, where there is one in 64 positions or more, as bits with sums at every block of
 * positions: these need not be sorted, and take a hundredth of the memory.
 */
#ifndef FILTER_SUMMARY_H
#define FILTER_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/memory.h"

/* The bits of positions `from` (a multiple of 64) to `to` - 1, which are the filter's, and may move when it changes. */
struct word_range {
    uint64_t from, to;
    const uint64_t *words;
};

struct summary {
    uint64_t universe; /* positions are below this */
    uint64_t seed;
    /* either: sorted positions, and for some of them the sum of the hashes of those before */
    uint64_t *positions, *sums;
    uint64_t count;
    /* or: the bits themselves, in ascending ranges of words */
    struct word_range *word_ranges;
    uint32_t word_range_count;
    /* which are members of the summary's own if there are sums: of the hashes of those before each block */
    uint64_t *block_sums;
};

/* Whether it points into the filter. */
static inline bool summary_is_view(const struct summary *summary)
{
    return summary->word_ranges && !summary->block_sums;
}

/* Whether so many members are summarized as bits of their own. */
static inline bool summary_uses_bits(uint64_t members, uint64_t universe)
{
    return universe / 64 <= members;
}
/* An empty summary of such; NULL without memory, or the words whose bits are to be set. Then they are summed up. */
uint64_t *summary_of_members(struct summary *summary, uint64_t universe, uint64_t seed,
                             const roost_allocator *allocator);
void summary_sum_up(struct summary *summary);

/* Takes over `positions`, which has room for twice `count` + 1 numbers: sorts them, unless they are, and sums up. */
void summary_of_positions(struct summary *summary, uint64_t *positions, uint64_t count, uint64_t universe,
                          uint64_t seed);
/* An empty summary with room for so many ranges of words; false without memory. */
bool summary_of_bits(struct summary *summary, uint32_t word_ranges, uint64_t universe, uint64_t seed,
                     const roost_allocator *allocator);
void summary_release(struct summary *summary, const roost_allocator *allocator);

/* The range is from <= position < to; of bits, `from` is a multiple of 64. */
uint32_t summary_digest(const struct summary *summary, uint64_t from, uint64_t to);
uint64_t summary_count(const struct summary *summary, uint64_t from, uint64_t to);
/* Writes the members of a range, ascending; there are summary_count of them. */
void summary_members(const struct summary *summary, uint64_t from, uint64_t to, uint64_t *members);

/* The same, one after the other, without a list of them. */
struct member_walk {
    const struct summary *summary;
    uint64_t next, end;   /* of positions */
    uint32_t word_range;  /* of bits: the present one, */
    uint64_t at, to;      /* the next word and the end of the range, as positions, */
    uint64_t first, bits; /* and what is left of the present word */
};
struct member_walk summary_walk(const struct summary *summary, uint64_t from, uint64_t to);
bool summary_next(struct member_walk *walk, uint64_t *position);

#endif
