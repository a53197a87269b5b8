/* The blocked pattern with AVX-512: a block is one vector. A rotation counts modulo 64, so no mask is needed. */
#include "bloom_kernel.h"

#include <immintrin.h>

static inline __m512i key_bits(roost_hash hash, uint32_t probes)
{
    const __m512i shifts = _mm512_setr_epi64(0, 6, 12, 18, 24, 30, 36, 42);
    const __m512i one = _mm512_set1_epi64((long long)bloom_one);
    __m512i bits = _mm512_setzero_si512();
    for (uint32_t round = 0; round * 8 < probes; round++) {
        uint64_t word = block_round_word(hash, round);
        __mmask8 lanes = (__mmask8)block_round_lanes(word, probes - round * 8);
        __m512i places = _mm512_srlv_epi64(_mm512_set1_epi64((long long)word), shifts);
        bits = _mm512_or_si512(bits, _mm512_maskz_rolv_epi64(lanes, one, places));
    }
    return bits;
}

/* Where all lanes have a bit, it is enough to see that none lacks it: one instruction less, and the load is part of
   it. */
static inline bool has_a_bit_everywhere(__m512i words, __m512i bits)
{
    return _mm512_testn_epi64_mask(bits, words) == 0;
}

static inline bool block_holds(const uint64_t *block, roost_hash hash, uint32_t probes)
{
    if (probes == 8)
        return has_a_bit_everywhere(_mm512_load_si512(block), key_bits(hash, 8));
    __m512i missing = _mm512_andnot_si512(_mm512_load_si512(block), key_bits(hash, probes));
    return _mm512_test_epi64_mask(missing, missing) == 0;
}

static inline bool block_take(uint64_t *block, roost_hash hash, uint32_t probes)
{
    __m512i bits = key_bits(hash, probes), before = _mm512_load_si512(block);
    _mm512_store_si512(block, _mm512_or_si512(before, bits));
    if (probes == 8)
        return !has_a_bit_everywhere(before, bits);
    __m512i missing = _mm512_andnot_si512(before, bits);
    return _mm512_test_epi64_mask(missing, missing) != 0;
}

/*
 * One key of eight probes alone, by registers from 16 on: they have no lower halves that older instructions know, so
 * that no instruction has to clear them before the function returns. Compilers take the lower ones and clear them.
 */
#define KEY_BITS_IN_ZMM16                                                                                              \
    "vpbroadcastq %[word], %%zmm16\n\t"                                                                                \
    "vpbroadcastq %[one], %%zmm17\n\t"                                                                                 \
    "vpsrlvq %[shifts], %%zmm16, %%zmm16\n\t"                                                                          \
    "vprolvq %%zmm16, %%zmm17, %%zmm16\n\t"

static const _Alignas(64) uint64_t round_shifts[BLOCK_WORDS] = {0, 6, 12, 18, 24, 30, 36, 42};

static ALWAYS_INLINE bool lone_block_holds(const uint64_t *block, roost_hash hash, uint32_t probes)
{
    bool holds;
    if (probes != 8)
        return block_holds(block, hash, probes);
    __asm__(KEY_BITS_IN_ZMM16 "vptestnmq %[block], %%zmm16, %%k1\n\t"
                              "kortestb %%k1, %%k1"
            : "=@ccz"(holds)
            : [word] "r"(hash.high), [one] "m"(bloom_one), [shifts] "m"(*(const __m512i *)round_shifts),
              [block] "m"(*(const __m512i *)block)
            : "xmm16", "xmm17", "k1");
    return holds;
}

static ALWAYS_INLINE bool lone_block_take(uint64_t *block, roost_hash hash, uint32_t probes)
{
    bool changed;
    if (probes != 8)
        return block_take(block, hash, probes);
    __asm__(KEY_BITS_IN_ZMM16 "vptestnmq %[block], %%zmm16, %%k1\n\t"
                              "vporq %[block], %%zmm16, %%zmm16\n\t"
                              "vmovdqa64 %%zmm16, %[block]\n\t"
                              "kortestb %%k1, %%k1"
            : "=@ccnz"(changed), [block] "+m"(*(__m512i *)block)
            : [word] "r"(hash.high), [one] "m"(bloom_one), [shifts] "m"(*(const __m512i *)round_shifts)
            : "xmm16", "xmm17", "k1");
    return changed;
}
#define HAS_LONE_BLOCKS

#include "bloom_loops.h"

static bool usable(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

const struct bloom_kernel bloom_kernel_avx512 = {{"avx512", usable}, add_batch,       contains_batch, merge_words,
                                                 count_words,        &calls_of_eight, &calls_of_any};
