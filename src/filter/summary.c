#include "summary.h"

#include <string.h>

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

void summary_release(struct summary *summary, const roost_allocator *allocator)
{
    memory_release(allocator, summary->positions);
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

static uint64_t masked_word(const struct summary *summary, uint64_t word, uint64_t to)
{
    uint64_t bits = summary->words[word], end = to - word * 64;
    return end >= 64 ? bits : bits & ((UINT64_C(1) << end) - 1);
}

static uint32_t digest_of_words(const struct summary *summary, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    for (uint64_t word = from / 64; word * 64 < to; word++)
        sum = multiply_and_fold(sum ^ summary->seed ^ masked_word(summary, word, to), UINT64_C(0x9fb21c651e98df25)) +
              word;
    return (uint32_t)(sum >> 32 ^ sum);
}

uint32_t summary_digest(const struct summary *summary, uint64_t from, uint64_t to)
{
    if (summary->words)
        return digest_of_words(summary, from, to);
    uint64_t sum = summary->sums[positions_below(summary, to)] - summary->sums[positions_below(summary, from)];
    return (uint32_t)(sum >> 32);
}

uint64_t summary_count(const struct summary *summary, uint64_t from, uint64_t to)
{
    uint64_t count = 0;
    if (!summary->words)
        return positions_below(summary, to) - positions_below(summary, from);
    for (uint64_t word = from / 64; word * 64 < to; word++)
        count += count_ones(masked_word(summary, word, to));
    return count;
}

void summary_members(const struct summary *summary, uint64_t from, uint64_t to, uint64_t *members)
{
    if (!summary->words) {
        uint64_t begin = positions_below(summary, from), end = positions_below(summary, to);
        if (end > begin)
            memcpy(members, summary->positions + begin, (end - begin) * sizeof *members);
        return;
    }
    for (uint64_t word = from / 64; word * 64 < to; word++)
        for (uint64_t bits = masked_word(summary, word, to); bits; bits &= bits - 1)
            *members++ = word * 64 + lowest_bit(bits);
}
