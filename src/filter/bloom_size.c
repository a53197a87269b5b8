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
 * 45 terms for sixteen probes, not 3^8. That is how rates are told (bloom_rate). Sizes are searched by the walk: they
 * are part of configurations, which have to be the same everywhere, and near the lowest rates the two differ by noise.
 *
 * Worked example: eps = 1 %, eight probes: L = 50.7, 10.1 bits a key (classic: 9.6). The search runs in steps of 1/64
 * bit a key, so that rounding in the last place of exp() does not make two machines disagree.
 */
#include "bloom.h"

#include <math.h>

#define STEPS_A_BIT        64
#define MOST_BITS_A_KEY    1024
#define SMALL_CAPACITY     65536
#define LEAST_BLOCKED_RATE 1e-9 /* below, the signs of the sum cancel into the noise of doubles */

roost_status bloom_size_classic(struct bloom_geometry *geometry, uint64_t capacity, double fpr)
{
    double probes = ceil(-log2(fpr) - 1e-9);
    probes = probes < 1 ? 1 : probes;
    double bits = -probes * (double)capacity / log1p(-pow(fpr, 1 / probes));
    bits = ceil(bits * (1 - 1e-12));
    if (capacity < SMALL_CAPACITY)
        bits += probes * probes + 1;
    if (probes > MOST_PROBES)
        return ROOST_INVALID;
    if (!(bits < (double)MOST_BLOOM_BITS))
        return ROOST_TOO_LARGE;
    *geometry = (struct bloom_geometry){(uint64_t)bits, (uint32_t)probes};
    return ROOST_OK;
}

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
    return pow(1 - 1 / 64.0, probes / 8) * (1 - (probes % 8) / 512.0);
}

/* Where each number of probes begins to need the fewest bits; eight, the fastest, wins wherever it is within 2 %. */
static uint32_t best_probes(double fpr)
{
    static const struct {
        double from;
        uint32_t probes;
    } table[] = {{0.35, 1}, {0.17, 2}, {0.075, 3}, {0.042, 4}, {0.020, 5}, {0.0125, 6}, {0.0003, 8}, {0.00001, 12}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (fpr >= table[i].from)
            return table[i].probes;
    return MOST_BLOCK_PROBES;
}

bool bloom_keeps_rate(roost_layout layout, double fpr)
{
    return fpr < 1 && (layout == ROOST_BLOCKED ? fpr >= LEAST_BLOCKED_RATE : fpr > 0);
}

roost_status bloom_size_blocked(struct bloom_geometry *geometry, uint64_t capacity, double fpr)
{
    uint32_t probes = best_probes(fpr);
    uint64_t low = 0, high = MOST_BITS_A_KEY * STEPS_A_BIT;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (bloom_blocked_rate(probes, (double)BLOCK_BITS * STEPS_A_BIT / (double)middle) <= fpr)
            high = middle;
        else
            low = middle;
    }
    if (fpr < LEAST_BLOCKED_RATE || high == MOST_BITS_A_KEY * STEPS_A_BIT)
        return ROOST_INVALID;
    if (capacity > MOST_BLOOM_BITS / MOST_BITS_A_KEY)
        return ROOST_TOO_LARGE;
    uint64_t blocks = divide_up((uint64_t)(((uint128)capacity * high) / STEPS_A_BIT) + 1, BLOCK_BITS);
    *geometry = (struct bloom_geometry){blocks * BLOCK_BITS, probes};
    return ROOST_OK;
}
