/*
 * How large a Bloom filter must be.
 *
 * Classic. With k = ceil(log2 1/eps) probes, a key errs with (1 - e^(-kn/m))^k, so m = -kn / ln(1 - eps^(1/k)) bits
 * keep eps for every eps, and are the papers' optimum where eps is a power of two. That formula is a limit for large n.
 * In a small array the probes of one key meet each other, and the true rate is higher: measured, 3 % too high for a
 * thousand keys at 0.1 %, three times too high for ten. k^2 + 1 extra bits repair that; from 65,536 keys on they would
 * change nothing that can be measured, and m is exactly the papers'.
 *
 * Blocked. All bits of a key are in one block of eight 64-bit words, and blocks are unevenly full: the number of keys
 * that share a block is Poisson with mean L = n / blocks, and the classic formula does not hold. But the rate can be
 * had exactly. A key with probes k = 8r + s sets r bits in each word (r rounds over all eight) and one more in s
 * neighbouring words, from a random start. A query errs when all of its bits are set; by inclusion and exclusion over
 * the bits T that are *not* set,
 *
 *     rate = sum over T of (-1)^|T| * P(no key of the block sets a bit of T)
 *          = sum over T of (-1)^|T| * exp(L * (avoid(T) - 1))
 *
 * where avoid(T) is the chance that one key misses all of T: for a start of its last round, the product over the words
 * w of (1 - t_w / 64)^(bits that the key has in w), averaged over the eight starts; t_w is the number of distinct bits
 * of T in w. The sum over T is a walk over the words, and the exponential comes from the Poisson sum. Keys that are
 * thrown into a finite number of blocks are spread a little more evenly than Poisson, so the true rate is below this
 * one.
 *
 * Where s = 0 all words are alike: what counts of T is how many words have t of its bits, for each t, and the sum has
 * 45 terms for sixteen probes, not 3^8. bloom_rate computes rates in this way.
 *
 * Worked example: eps = 1 %, eight probes: L = 50.7, 10.1 bits a key (classic: 9.6).
 *
 * Sizes come from integers. A series does not state the sizes of its tables, so all machines must find the same ones,
 * and doubles do not: a compiler may fuse a multiplication and an addition, libraries round exp() and pow() each in
 * their own way, and near 10^-9 the sum above loses most of its digits to cancellation.
 *
 * For the blocked layout the number of bits a key is in 64ths, and the rates of all such numbers that are of use, 5,535
 * of them, are in a table (bloom_block_rate_table.c) as bits of doubles. Positive doubles are ordered as their bits
 * are, so a binary search for the first that is not above the promised rate is the whole computation. The table is that
 * of bloom_blocked_rate as gcc 12 and glibc 2.36 computed it on x86-64 without fused multiply-add: it gives the sizes
 * of all frames that were written there before there was a table. It falls strictly, so that there is one first, and it
 * is right within 0.07 %, less than a step.
 *
 * For the classic layout logarithm and power are computed in fixed point (base/logarithm.h), to 58 bits or more.
 */
#include "bloom_size.h"

#include <math.h>

#include "../base/binary64.h"
#include "../base/logarithm.h"

#define STEPS_A_BIT        64
#define MOST_BITS_A_KEY    1024
#define SMALL_CAPACITY     65536
#define LEAST_BLOCKED_RATE 1e-9 /* below, the signs of the sum cancel into the noise of doubles */

/* ---- classic ----------------------------------------------------------------------------------------------------- */

/* log2(e) in units of 2^-63. */
#define LOG2_E UINT64_C(0xb8aa3b295c17f0bc)
/* What is taken for a rounding error: of the probes, and of the bits as a part of a trillion. */
#define PROBES_NOISE (((fixed)1 << FRACTION_BITS) / 1000000000)
#define TRILLION     UINT64_C(1000000000000)

uint32_t bloom_probes_for(double rate)
{
    fixed exact = minus_log2_of_double(bits_of_double(rate));
    return exact <= PROBES_NOISE ? 1 : (uint32_t)((exact - PROBES_NOISE - 1) >> FRACTION_BITS) + 1;
}

uint32_t bloom_nearest_probes(double rate)
{
    fixed exact = minus_log2_of_double(bits_of_double(rate)), half = (fixed)1 << (FRACTION_BITS - 1);
    uint32_t nearest = (uint32_t)((exact + half) >> FRACTION_BITS);
    return nearest ? nearest : 1;
}

/* The first 64 bits of a number above 0, which are to be shifted left by as many as it says (or right). */
static uint64_t leading_bits(uint128 number, int *shift)
{
    uint64_t upper = (uint64_t)(number >> 64);
    *shift = upper ? 1 + (int)highest_bit(upper) : (int)highest_bit((uint64_t)number) - 63;
    return (uint64_t)(*shift >= 0 ? number >> *shift : number << -*shift);
}

/* rate^(1/probes); 0 for what is below 2^-128. */
static fraction root_of(double rate, uint32_t probes)
{
    uint64_t bits = bits_of_double(rate);
    return probes == 1 ? fraction_of_double(bits) : power_of_half(minus_log2_of_double(bits) / probes);
}

/*
 * k n / -ln(1 - eps^(1/k)) = k n log2(e) / -log2(1 - eps^(1/k)), less `off` trillionths of it, rounded up. Each factor
 * is right to 58 bits or more. The number is not rational, so rounded up is one more than rounded down.
 */
static uint64_t bits_for(uint64_t elements, uint32_t probes, double rate, unsigned off)
{
    fraction root = root_of(rate, probes);
    fixed denominator = root ? minus_log2_of_rest(root) : 0;
    if (elements == 0 || elements > UINT64_MAX / probes || denominator == 0)
        return elements ? UINT64_MAX : 1;
    int up, down;
    uint64_t dividend = leading_bits((uint128)(elements * probes) * LOG2_E, &up);
    uint128 quotient = ((uint128)dividend << 64) / leading_bits(denominator, &down);
    quotient -= quotient / TRILLION * off;
    /* quotient * 2^(up - 63) / 2^(64 + down - FRACTION_BITS) */
    int shift = 64 + 63 - FRACTION_BITS + down - up;
    if (shift < 3)
        return UINT64_MAX;
    return shift > 127 ? 1 : (uint64_t)(quotient >> shift) + 1;
}

uint64_t bloom_bits_for(uint64_t elements, uint32_t probes, double rate)
{
    return bits_for(elements, probes, rate, 0);
}

roost_status bloom_size_classic(struct bloom_geometry *geometry, uint64_t capacity, double fpr)
{
    uint32_t probes = bloom_keeps_rate(ROOST_CLASSIC, fpr) ? bloom_probes_for(fpr) : UINT32_MAX;
    if (probes > MOST_PROBES)
        return ROOST_INVALID;
    uint64_t bits = bits_for(capacity, probes, fpr, 1);
    if (capacity < SMALL_CAPACITY && bits < MOST_BLOOM_BITS)
        bits += probes * probes + 1;
    if (bits >= MOST_BLOOM_BITS)
        return ROOST_TOO_LARGE;
    *geometry = (struct bloom_geometry){bits, probes};
    return ROOST_OK;
}

/* ---- blocked: the rate ------------------------------------------------------------------------------------------- */

/* A walk over the words that sums over all T; `avoid[start]` is the product over the words before this one. */
struct rate_walk {
    uint32_t rounds, rest;               /* r and s */
    double keys_a_block;                 /* L */
    double weight[2][MOST_BLOCK_PROBES]; /* [0]: a word with r query bits, [1]: with r + 1; signed weight of t_w = t */
};

/* The signed weight of leaving t distinct bits unset, where a query has `bits` random bits in one word. */
static void inclusion_weights(double weight[MOST_BLOCK_PROBES], uint32_t bits)
{
    double distinct[MOST_BLOCK_PROBES + 1] = {1};
    for (uint32_t drawn = 0; drawn < bits; drawn++) {
        for (uint32_t d = drawn + 1; d > 0; d--)
            distinct[d] = distinct[d] * d / 64 + distinct[d - 1] * (65 - d) / 64;
        distinct[0] = 0;
    }
    for (uint32_t t = 0; t <= bits; t++) {
        weight[t] = 0;
        for (uint32_t d = t; d <= bits; d++) {
            double choose = 1;
            for (uint32_t i = 0; i < t; i++)
                choose = choose * (d - i) / (i + 1);
            weight[t] += (t % 2 ? -choose : choose) * distinct[d];
        }
    }
}

static double walk_words(const struct rate_walk *walk, uint32_t word, const double avoid[BLOCK_WORDS])
{
    if (word == BLOCK_WORDS) {
        double mean = 0;
        for (uint32_t start = 0; start < BLOCK_WORDS; start++)
            mean += avoid[start] / BLOCK_WORDS;
        return exp(walk->keys_a_block * (mean - 1));
    }
    uint32_t extra = word < walk->rest, query_bits = walk->rounds + extra;
    double sum = 0;
    for (uint32_t t = 0; t <= query_bits; t++) {
        double next[BLOCK_WORDS];
        for (uint32_t start = 0; start < BLOCK_WORDS; start++) {
            uint32_t key_bits = walk->rounds + (((word - start) & 7) < walk->rest);
            next[start] = avoid[start];
            for (uint32_t bit = 0; bit < key_bits; bit++)
                next[start] *= 1 - t / 64.0;
        }
        sum += walk->weight[extra][t] * walk_words(walk, word + 1, next);
    }
    return sum;
}

double bloom_blocked_rate(uint32_t probes, double keys_a_block)
{
    struct rate_walk walk = {.rounds = probes / 8, .rest = probes % 8, .keys_a_block = keys_a_block};
    inclusion_weights(walk.weight[0], walk.rounds);
    inclusion_weights(walk.weight[1], walk.rounds + 1);
    const double avoid[BLOCK_WORDS] = {1, 1, 1, 1, 1, 1, 1, 1};
    return walk_words(&walk, 0, avoid);
}

/* `words` of them are still to be given t bits of T or more. */
static double walk_alike(const struct rate_walk *walk, uint32_t t, uint32_t words, double weight, double avoid)
{
    double miss = pow(1 - t / 64.0, walk->rounds), sum = 0;
    if (t == walk->rounds)
        return weight * pow(walk->weight[0][t], words) * exp(walk->keys_a_block * (avoid * pow(miss, words) - 1));
    for (uint32_t given = 0; given <= words; given++) {
        sum += walk_alike(walk, t + 1, words - given, weight, avoid);
        weight *= walk->weight[0][t] * (words - given) / (given + 1);
        avoid *= miss;
    }
    return sum;
}

double bloom_rate(roost_layout layout, struct bloom_geometry geometry, double elements)
{
    double bits = (double)geometry.bits, probes = geometry.probes, keys_a_block = elements * BLOCK_BITS / bits;
    if (layout == ROOST_BLOCKED && geometry.probes % BLOCK_WORDS == 0) {
        struct rate_walk walk = {.rounds = geometry.probes / BLOCK_WORDS, .keys_a_block = keys_a_block};
        inclusion_weights(walk.weight[0], walk.rounds);
        return walk_alike(&walk, 0, BLOCK_WORDS, 1, 1);
    }
    if (layout == ROOST_BLOCKED)
        return bloom_blocked_rate(geometry.probes, keys_a_block);
    return pow(-expm1(-probes * elements / bits), probes);
}

double bloom_blocked_survival(uint32_t probes)
{
    const uint32_t rounds = probes / 8, rest = probes % 8;
    return pow(1 - 1 / 64.0, rounds) * (1 - rest / 512.0);
}

/* ---- blocked: the size ------------------------------------------------------------------------------------------- */

/* Where each number of probes begins to need the fewest bits; eight, the fastest, wins wherever it is within 2 %. */
static const struct row {
    double from;
    uint32_t probes, first_step; /* and the first row of the table is for so many 64ths of a bit a key */
    uint32_t first, count;       /* rows of the table */
} rows[] = {{0.35, 1, 2, 0, 148},
            {0.17, 2, 144, 148, 100},
            {0.075, 3, 240, 248, 116},
            {0.042, 4, 350, 364, 83},
            {0.020, 5, 431, 447, 106},
            {0.0125, 6, 536, 553, 68},
            {0.0003, 8, 618, 621, 631},
            {0.00001, 12, 1214, 1252, 713},
            {LEAST_BLOCKED_RATE, MOST_BLOCK_PROBES, 1921, 1965, 3570}};

bool bloom_keeps_rate(roost_layout layout, double fpr)
{
    return fpr < 1 && (layout == ROOST_BLOCKED ? fpr >= LEAST_BLOCKED_RATE : fpr > 0);
}

/* The fewest 64ths of a bit a key that keep the rate. */
static uint64_t steps_for(const struct row *row, uint64_t rate)
{
    uint32_t low = 0, high = row->count - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (bloom_block_rate(row->first + middle) <= rate)
            high = middle;
        else
            low = middle + 1;
    }
    return row->first_step + low;
}

roost_status bloom_size_blocked(struct bloom_geometry *geometry, uint64_t capacity, double fpr)
{
    const struct row *row = rows;
    if (!bloom_keeps_rate(ROOST_BLOCKED, fpr))
        return ROOST_INVALID;
    if (capacity > MOST_BLOOM_BITS / MOST_BITS_A_KEY)
        return ROOST_TOO_LARGE;
    while (bits_of_double(fpr) < bits_of_double(row->from))
        row++;
    uint128 bits = (uint128)capacity * steps_for(row, bits_of_double(fpr)) / STEPS_A_BIT + 1;
    *geometry = (struct bloom_geometry){divide_up((uint64_t)bits, BLOCK_BITS) * BLOCK_BITS, row->probes};
    return ROOST_OK;
}
