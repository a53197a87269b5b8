/* The blocked pattern with AVX-512: a block is one vector. A rotation counts modulo 64, so no mask is needed. */
#include "bloom_kernel.h"

#include <immintrin.h>

static inline __m512i key_bits(roost_hash hash, uint32_t probes)
{
    const __m512i shifts = _mm512_setr_epi64(0, 6, 12, 18, 24, 30, 36, 42), one = _mm512_set1_epi64(1);
    __m512i bits = _mm512_setzero_si512();
    for (uint32_t round = 0; round * 8 < probes; round++) {
        uint64_t word = block_round_word(hash, round);
        __mmask8 lanes = (__mmask8)block_round_lanes(word, probes - round * 8);
        __m512i places = _mm512_srlv_epi64(_mm512_set1_epi64((long long)word), shifts);
        bits = _mm512_or_si512(bits, _mm512_maskz_rolv_epi64(lanes, one, places));
    }
    return bits;
}

/* Where all lanes have a bit, it is enough to see that none lacks it: one instruction less, and the load is part of it. */
static inline bool has_a_bit_everywhere(__m512i words, __m512i bits)
{
    return _mm512_test_epi64_mask(words, bits) == 0xff;
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

#include "bloom_loops.h"

static bool usable(void)
{
    return __builtin_cpu_supports("avx512f");
}

const struct bloom_kernel bloom_kernel_avx512 = {"avx512",    usable,      add_batch,       contains_batch,
                                                 merge_words, count_words, &calls_of_eight, &calls_of_any};
