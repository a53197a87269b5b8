#include "summary.h"

#include "../base/hash.h"
#include "../base/sort.h"

/* Words, and positions of a list, that share a sum. */
#define BLOCK_WORDS     4
#define BLOCK_POSITIONS 16

static bool is_sorted(const uint64_t *numbers, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++)
        if (numbers[i] < numbers[i - 1])
            return false;
    return true;
}

void summary_of_positions(struct summary *summary, uint64_t *positions, uint64_t count, uint64_t universe,
                          uint64_t seed)
{
    uint64_t *sums = positions + count;
    if (!is_sorted(positions, count))
        sort_numbers(positions, sums, count, universe ? highest_bit(universe) + 1 : 1);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i % BLOCK_POSITIONS == 0)
            sums[i / BLOCK_POSITIONS] = sum;
        sum += (uint64_t)hash_number(seed, positions[i]);
    }
    if (count % BLOCK_POSITIONS == 0)
        sums[count / BLOCK_POSITIONS] = sum;
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

uint64_t *summary_of_members(struct summary *summary, uint64_t universe, uint64_t seed,
                             const roost_allocator *allocator)
{
    uint64_t words = universe / 64 + 1, blocks = words / BLOCK_WORDS + 2;
    struct word_range *range = memory_allocate(allocator, sizeof *range + (words + blocks) * sizeof(uint64_t));
    *summary = (struct summary){.universe = universe, .seed = seed};
    if (!range)
        return NULL;
    uint64_t *bits = (uint64_t *)(void *)(range + 1);
    *range = (struct word_range){0, universe, bits};
    summary->word_ranges = range;
    summary->word_range_count = 1;
    summary->block_sums = bits + words;
    return bits;
}

static uint64_t sum_of_bits(const struct summary *summary, uint64_t first, uint64_t bits)
{
    uint64_t sum = 0;
    for (; bits; bits &= bits - 1)
        sum += (uint64_t)hash_number(summary->seed, first + lowest_bit(bits));
    return sum;
}

void summary_sum_up(struct summary *summary)
{
    const struct word_range *range = summary->word_ranges;
    uint64_t words = range->to / 64 + 1, sum = 0;
    for (uint64_t i = 0; i < words; i++) {
        if (i % BLOCK_WORDS == 0)
            summary->block_sums[i / BLOCK_WORDS] = sum;
        sum += sum_of_bits(summary, i * 64, range->words[i]);
    }
    summary->block_sums[(words - 1) / BLOCK_WORDS + 1] = sum;
}

/* Of the members below a position. */
static uint64_t sum_below(const struct summary *summary, uint64_t position)
{
    const struct word_range *range = summary->word_ranges;
    uint64_t word = (position < range->to ? position : range->to) / 64,
             left = position < range->to ? position % 64 : 64;
    uint64_t sum = summary->block_sums[word / BLOCK_WORDS];
    for (uint64_t i = word / BLOCK_WORDS * BLOCK_WORDS; i < word; i++)
        sum += sum_of_bits(summary, i * 64, range->words[i]);
    return left == 0 ? sum : sum + sum_of_bits(summary, word * 64, range->words[word] & (UINT64_MAX >> (64 - left)));
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

/* Of the first members of a list. */
static uint64_t sum_of_first(const struct summary *summary, uint64_t count)
{
    uint64_t first = count / BLOCK_POSITIONS * BLOCK_POSITIONS, sum = summary->sums[count / BLOCK_POSITIONS];
    for (uint64_t i = first; i < count; i++)
        sum += (uint64_t)hash_number(summary->seed, summary->positions[i]);
    return sum;
}

uint32_t summary_digest(const struct summary *summary, uint64_t from, uint64_t to)
{
    if (summary_is_view(summary))
        return digest_of_words(summary, from, to);
    if (summary->block_sums)
        return (uint32_t)((sum_below(summary, to) - sum_below(summary, from)) >> 32);
    uint64_t sum =
        sum_of_first(summary, positions_below(summary, to)) - sum_of_first(summary, positions_below(summary, from));
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
