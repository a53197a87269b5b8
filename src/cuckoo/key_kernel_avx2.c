/*
 * Class keys with AVX2: the four slots of a bucket are four lanes of 64 bits, and their keys are computed at once, as
 * class_key does it. Keys that are wanted move to the front of the vector, which is stored whole; the end of the list
 * then moves by as many as they are.
 */
#include "key_kernel.h"

#include <immintrin.h>

/* For each set of lanes: these, in order, as pairs of half words. */
#define LANE(lane) 2 * (lane), 2 * (lane) + 1
static const uint32_t lanes_to_front[16][8] __attribute__((aligned(32))) = {
    {LANE(0), LANE(0), LANE(0), LANE(0)}, {LANE(0), LANE(0), LANE(0), LANE(0)}, {LANE(1), LANE(0), LANE(0), LANE(0)},
    {LANE(0), LANE(1), LANE(0), LANE(0)}, {LANE(2), LANE(0), LANE(0), LANE(0)}, {LANE(0), LANE(2), LANE(0), LANE(0)},
    {LANE(1), LANE(2), LANE(0), LANE(0)}, {LANE(0), LANE(1), LANE(2), LANE(0)}, {LANE(3), LANE(0), LANE(0), LANE(0)},
    {LANE(0), LANE(3), LANE(0), LANE(0)}, {LANE(1), LANE(3), LANE(0), LANE(0)}, {LANE(0), LANE(1), LANE(3), LANE(0)},
    {LANE(2), LANE(3), LANE(0), LANE(0)}, {LANE(0), LANE(2), LANE(3), LANE(0)}, {LANE(1), LANE(2), LANE(3), LANE(0)},
    {LANE(0), LANE(1), LANE(2), LANE(3)},
};

struct constants {
    __m256i offsets, mask, buckets;
    unsigned bits;
};

static inline __m256i all(uint64_t number)
{
    return _mm256_set1_epi64x((long long)number);
}

/* pair_sum: of the upper half of the first product only the lower half word counts. */
static inline __m256i pair_sums(__m256i fingerprints, __m256i buckets)
{
    __m256i low = _mm256_srli_epi64(_mm256_mul_epu32(fingerprints, all(0x6659fd93)), 32);
    __m256i mixed = _mm256_add_epi64(low, _mm256_mul_epu32(fingerprints, all(0xd6e8feb8)));
    return _mm256_srli_epi64(_mm256_mul_epu32(mixed, buckets), 32);
}

static inline __m256i keys_of(__m256i fingerprints, uint32_t bucket, const struct constants *constants)
{
    const __m256i zero = _mm256_setzero_si256(), one = all(1), n = constants->buckets;
    __m256i sums = pair_sums(fingerprints, n), odd = _mm256_and_si256(sums, one);
    __m256i u = _mm256_sub_epi64(all(bucket), _mm256_srli_epi64(_mm256_add_epi64(sums, one), 1));
    u = _mm256_add_epi64(u, _mm256_and_si256(_mm256_cmpgt_epi64(zero, u), n));
    __m256i v = _mm256_sub_epi64(_mm256_sub_epi64(n, u), odd);
    __m256i smaller = _mm256_blendv_epi8(u, v, _mm256_cmpgt_epi64(u, v));
    return _mm256_or_si256(_mm256_sll_epi64(smaller, _mm_cvtsi32_si128((int)constants->bits)), fingerprints);
}

static uint32_t list(const struct cuckoo_table *table, uint32_t from, uint32_t to, struct key_range range,
                     uint64_t *keys)
{
    const uint64_t bits = table->geometry.bits, bucket_bits = table->bucket_bits;
    const struct constants constants = {
        _mm256_setr_epi64x(0, (long long)bits, (long long)(2 * bits), (long long)(3 * bits)),
        all((UINT64_C(1) << bits) - 1), all(table->geometry.buckets), (unsigned)bits};
    const __m256i first = all(range.first), end = all(range.first + range.count), zero = _mm256_setzero_si256();
    const uint8_t *bytes = table->slots.bytes;
    uint32_t found = 0;
    for (uint32_t row = from; row < to; row++) {
        const uint64_t bit = row * bucket_bits;
        __m256i slots = _mm256_srlv_epi64(all(load_word(bytes + bit / 8) >> (bit & 7)), constants.offsets);
        __m256i fingerprints = _mm256_and_si256(slots, constants.mask), key = keys_of(fingerprints, row, &constants);
        __m256i unwanted = _mm256_or_si256(_mm256_cmpeq_epi64(fingerprints, zero), _mm256_cmpgt_epi64(first, key));
        __m256i wanted = _mm256_andnot_si256(unwanted, _mm256_cmpgt_epi64(end, key));
        unsigned lanes = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(wanted));
        __m256i order = _mm256_load_si256((const __m256i *)lanes_to_front[lanes]);
        _mm256_storeu_si256((__m256i *)(keys + found), _mm256_permutevar8x32_epi32(key, order));
        found += count_ones(lanes);
    }
    return found;
}

static bool usable(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

const struct key_kernel key_kernel_avx2 = {{"avx2", usable}, 24, list};
