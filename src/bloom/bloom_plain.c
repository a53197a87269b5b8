/*
 * The blocked pattern in plain C: the reference that the vector kernels are tested against.
 *
 *     block   word 0 | word 1 | ... | word 7        64 bits each
 *     round   one bit in each of the words that it touches: bit number (round word >> 6w) mod 64 in word w
 *
 * Worked example, five probes: one round over five words. hash.high = 0x4000000000000041: the start (top three bits) is
 * 2, so words 2, 3, 4, 5, 6 get a bit each; bits 12 to 17 of the hash are zero, so word 2 gets bit 0.
 */
#include "bloom_kernel.h"

static inline uint64_t probe_bit(uint64_t round_word, uint32_t lane)
{
    return UINT64_C(1) << (round_word >> (6 * lane) & 63);
}

static inline bool block_holds(const uint64_t *block, roost_hash hash, uint32_t probes)
{
    uint64_t missing = 0;
    for (uint32_t round = 0; round * 8 < probes; round++) {
        uint64_t word = block_round_word(hash, round);
        uint32_t lanes = block_round_lanes(word, probes - round * 8);
        for (uint32_t lane = 0; lane < BLOCK_WORDS; lane++)
            if (lanes >> lane & 1)
                missing |= ~block[lane] & probe_bit(word, lane);
    }
    return missing == 0;
}

static inline bool block_take(uint64_t *block, roost_hash hash, uint32_t probes)
{
    uint64_t missing = 0;
    for (uint32_t round = 0; round * 8 < probes; round++) {
        uint64_t word = block_round_word(hash, round);
        uint32_t lanes = block_round_lanes(word, probes - round * 8);
        for (uint32_t lane = 0; lane < BLOCK_WORDS; lane++)
            if (lanes >> lane & 1) {
                missing |= ~block[lane] & probe_bit(word, lane);
                block[lane] |= probe_bit(word, lane);
            }
    }
    return missing != 0;
}

uint32_t block_positions(uint64_t *positions, roost_hash hash, uint64_t blocks, uint32_t probes)
{
    uint64_t start = block_of(hash, blocks) * BLOCK_BITS;
    uint32_t count = 0;
    for (uint32_t round = 0; round * 8 < probes; round++) {
        uint64_t word = block_round_word(hash, round);
        uint32_t lanes = block_round_lanes(word, probes - round * 8);
        for (uint32_t lane = 0; lane < BLOCK_WORDS; lane++)
            if (lanes >> lane & 1)
                positions[count++] = start + lane * 64 + (word >> (6 * lane) & 63);
    }
    return count;
}

#include "bloom_loops.h"

const struct bloom_kernel bloom_kernel_plain = {
    {"plain", usable_everywhere}, add_batch, contains_batch, merge_words, count_words, &calls_of_eight, &calls_of_any};
