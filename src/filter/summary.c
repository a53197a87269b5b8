#include "summary.h"

#include "../base/hash.h"
#include "../base/sort.h"

void summary_of_positions(struct summary *summary, uint64_t *positions, uint64_t count, uint64_t universe,
                          uint64_t seed)
{
    uint64_t *sums = positions + count;
    sort_numbers(positions, sums, count, universe ? highest_bit(universe) + 1 : 1);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        sums[i] = sum;
        sum += (uint64_t)hash_number(seed, positions[i]);
    }
    sums[count] = sum;
    *summary =
        (struct summary){.universe = universe, .seed = seed, .positions = positions, .sums = sums, .count = count};
}

bool summary_of_bits(struct summary *summary, uint32_t word_ranges, uint64_t universe, uint64_t seed,
                     const roost_allocator *allocator)
{
    *summary = (struct summary){.universe = universe, .seed = seed};
    summary->word_ranges = memory_allocate(allocator, (word_ranges + 1) * sizeof *summary->word_ranges);
    return summary->word_ranges != NULL;
}

void summary_release(struct summary *summary, const roost_allocator *allocator)
{
    memory_release(allocator, summary->positions);
    memory_release(allocator, summary->word_ranges);
    *summary = (struct summary){0};
}

/* How many positions are below this one. */
static uint64_t positions_below(const struct summary *summary, uint64_t position)
{
    uint64_t below = 0, left = summary->count;
    while (left > 0) {
        uint64_t half = left - left / 2;
        below += half * (summary->positions[below + half - 1] < position);
        left -= half;
    }
    return below;
}

static struct member_walk walk_words(uint64_t from, uint64_t to, const struct summary *summary)
{
    return (struct member_walk){.summary = summary, .at = from, .to = to};
}

static uint64_t word_in(const struct word_range *word_range, uint64_t at, uint64_t to)
{
    uint64_t bits = word_range->words[(at - word_range->from) / 64], left = to - at;
    return left >= 64 ? bits : bits & ((UINT64_C(1) << left) - 1);
}

/* The words of a range that have bits, one after the other; false at the end. */
static inline bool next_word(struct member_walk *walk)
{
    for (; walk->word_range < walk->summary->word_range_count; walk->word_range++) {
        const struct word_range *word_range = &walk->summary->word_ranges[walk->word_range];
        uint64_t to = word_range->to < walk->to ? word_range->to : walk->to;
        if (walk->at < word_range->from)
            walk->at = word_range->from;
        while (walk->at < to) {
            walk->first = walk->at;
            walk->bits = word_in(word_range, walk->at, to);
            walk->at += 64;
            if (walk->bits)
                return true;
        }
    }
    return false;
}

static uint32_t digest_of_words(const struct summary *summary, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    for (struct member_walk walk = walk_words(from, to, summary); next_word(&walk);)
        sum += multiply_and_fold(walk.bits ^ UINT64_C(0xa0761d6478bd642f),
                                 (walk.first / 64 + summary->seed) * UINT64_C(0x9fb21c651e98df25) | 1);
    return (uint32_t)(sum >> 32);
}

uint32_t summary_digest(const struct summary *summary, uint64_t from, uint64_t to)
{
    if (summary->word_ranges)
        return digest_of_words(summary, from, to);
    uint64_t sum = summary->sums[positions_below(summary, to)] - summary->sums[positions_below(summary, from)];
    return (uint32_t)(sum >> 32);
}

uint64_t summary_count(const struct summary *summary, uint64_t from, uint64_t to)
{
    uint64_t count = 0;
    if (!summary->word_ranges)
        return positions_below(summary, to) - positions_below(summary, from);
    for (struct member_walk walk = walk_words(from, to, summary); next_word(&walk);)
        count += count_ones(walk.bits);
    return count;
}

struct member_walk summary_walk(const struct summary *summary, uint64_t from, uint64_t to)
{
    if (summary->word_ranges)
        return walk_words(from, to, summary);
    return (struct member_walk){
        .summary = summary, .next = positions_below(summary, from), .end = positions_below(summary, to)};
}

bool summary_next(struct member_walk *walk, uint64_t *position)
{
    const struct summary *summary = walk->summary;
    if (!summary->word_ranges) {
        if (walk->next == walk->end)
            return false;
        *position = summary->positions[walk->next++];
        return true;
    }
    if (!walk->bits && !next_word(walk))
        return false;
    *position = walk->first + lowest_bit(walk->bits);
    walk->bits &= walk->bits - 1;
    return true;
}

void summary_members(const struct summary *summary, uint64_t from, uint64_t to, uint64_t *members)
{
    struct member_walk walk = summary_walk(summary, from, to);
    while (summary_next(&walk, members))
        members++;
}
