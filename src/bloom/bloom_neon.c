/*
 * The blocked pattern with NEON: a block is four vectors of two words. These vectors are short, so additions are as
 * those of the other kernels, and look-ups are not: an instruction fetches any eight bytes of the 64, and of each word
 * only one byte can have the bit that is looked for.
 */
#include "bloom_kernel.h"

#include <arm_neon.h>

/* ---- additions: the bits of all words ---------------------------------------------------------------------------- */

/* The number, shifted right by one step more in each lane. */
static inline uint64x2x4_t shifted_in_lanes(uint64_t number, unsigned step)
{
    const uint64x2_t pair = {number, number >> step};
    return (uint64x2x4_t){{pair, pair >> 2 * step, pair >> 4 * step, pair >> 6 * step}};
}

/* Each active lane of a round is 1 shifted to its place, the others 0. */
static inline uint64x2x4_t round_bits(uint64_t word, uint32_t lanes)
{
    const uint64x2_t one = vdupq_n_u64(1), six_bits = vdupq_n_u64(63);
    uint64x2x4_t bits = shifted_in_lanes(word, 6), active = shifted_in_lanes(lanes, 1);
    for (int i = 0; i < 4; i++) {
        int64x2_t places = vreinterpretq_s64_u64(vandq_u64(bits.val[i], six_bits));
        bits.val[i] = vshlq_u64(lanes == 0xff ? one : vandq_u64(active.val[i], one), places);
    }
    return bits;
}

static inline uint64x2x4_t key_bits(roost_hash hash, uint32_t probes)
{
    uint64x2x4_t bits = {{{0}, {0}, {0}, {0}}};
    for (uint32_t round = 0; round * 8 < probes; round++) {
        uint64_t word = block_round_word(hash, round);
        uint64x2x4_t more = round_bits(word, block_round_lanes(word, probes - round * 8));
        for (int i = 0; i < 4; i++)
            bits.val[i] = vorrq_u64(bits.val[i], more.val[i]);
    }
    return bits;
}

/* Returns those that the block did not have, pairs over one another. */
static inline uint64x2_t set_bits(uint64_t *block, uint64x2x4_t bits)
{
    uint64x2x4_t words = vld1q_u64_x4(block);
    uint64x2_t missing = vdupq_n_u64(0);
    for (int i = 0; i < 4; i++) {
        missing = vorrq_u64(missing, vbicq_u64(bits.val[i], words.val[i]));
        words.val[i] = vorrq_u64(words.val[i], bits.val[i]);
    }
    vst1q_u64_x4(block, words);
    return missing;
}

static inline bool any_bit(uint64x2_t words)
{
    return vmaxvq_u32(vreinterpretq_u32_u64(words)) != 0;
}

static inline bool block_take(uint64_t *block, roost_hash hash, uint32_t probes)
{
    return any_bit(set_bits(block, key_bits(hash, probes)));
}

/* ---- look-ups: one byte of each word ----------------------------------------------------------------------------- */

/* The eight numbers of a round. Each lies in two bytes, which are put side by side and shifted. */
static inline uint16x8_t round_numbers(uint64_t word)
{
    const uint8x16_t bytes = {0, 1, 0, 1, 1, 2, 2, 3, 3, 4, 3, 4, 4, 5, 5, 6};
    const int16x8_t shifts = {0, -6, -4, -2, 0, -6, -4, -2};
    uint8x16_t pairs = vqtbl1q_u8(vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(word), vcreate_u64(0))), bytes);
    return vandq_u16(vshlq_u16(vreinterpretq_u16_u8(pairs), shifts), vdupq_n_u16(63));
}

/* Which words lack their bit: a byte each, 0 or 255. */
static inline uint8x8_t lacking(uint8x16x4_t block, uint64_t word, uint32_t lanes)
{
    const uint8x8_t one = vdup_n_u8(1), word_starts = vcreate_u8(UINT64_C(0x3830282018100800));
    const uint8x8_t lane_bits = vcreate_u8(UINT64_C(0x8040201008040201));
    uint16x8_t numbers = round_numbers(word);
    uint8x8_t bytes = vqtbl4_u8(block, vorr_u8(word_starts, vshrn_n_u16(numbers, 3)));
    uint8x8_t bits = vshl_u8(one, vreinterpret_s8_u8(vand_u8(vmovn_u16(numbers), vdup_n_u8(7))));
    uint8x8_t held = vtst_u8(bytes, bits);
    return lanes == 0xff ? vmvn_u8(held) : vbic_u8(vtst_u8(vdup_n_u8((uint8_t)lanes), lane_bits), held);
}

static inline bool block_holds(const uint64_t *block, roost_hash hash, uint32_t probes)
{
    const uint8x16x4_t bytes = vld1q_u8_x4((const uint8_t *)block);
    uint8x8_t missing = vdup_n_u8(0);
    for (uint32_t round = 0; round * 8 < probes; round++) {
        uint64_t word = block_round_word(hash, round);
        missing = vorr_u8(missing, lacking(bytes, word, block_round_lanes(word, probes - round * 8)));
    }
    return vget_lane_u64(vreinterpret_u64_u8(missing), 0) == 0;
}

#include "bloom_loops.h"

/* ---- words -------------------------------------------------------------------------------------------------------
 *
 * By eight. What compilers make of the loops for single words takes twice the instructions to merge, four times to
 * count.
 */

static bool merge_blocks(uint64_t *restrict words, const uint64_t *restrict other, size_t count)
{
    uint64x2_t fresh = vdupq_n_u64(0);
    size_t i = 0;
    for (; count - i >= BLOCK_WORDS; i += BLOCK_WORDS)
        fresh = vorrq_u64(fresh, set_bits(words + i, vld1q_u64_x4(other + i)));
    bool rest_changed = merge_words(words + i, other + i, count - i);
    return rest_changed || any_bit(fresh);
}

/* Bytes have at most 32 ones together in four vectors. */
static uint64_t count_blocks(const uint64_t *words, size_t count)
{
    uint64x2_t ones = vdupq_n_u64(0);
    size_t i = 0;
    for (; count - i >= BLOCK_WORDS; i += BLOCK_WORDS) {
        uint8x16x4_t bytes = vld1q_u8_x4((const uint8_t *)(words + i));
        uint8x16_t sums =
            vcntq_u8(bytes.val[0]) + vcntq_u8(bytes.val[1]) + vcntq_u8(bytes.val[2]) + vcntq_u8(bytes.val[3]);
        ones = vpadalq_u32(ones, vpaddlq_u16(vpaddlq_u8(sums)));
    }
    return vaddvq_u64(ones) + count_words(words + i, count - i);
}

const struct bloom_kernel bloom_kernel_neon = {
    {"neon", usable_everywhere}, add_batch, contains_batch, merge_blocks, count_blocks, &calls_of_eight, &calls_of_any};
