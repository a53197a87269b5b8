/*
 * The estimator. An element belongs to level i with probability 3/4 * 4^-i, and there flips one of 128 bits. Elements
 * that both sets have flip the same bits, so the bits in which two estimators differ depend on the difference alone: x
 * elements of the difference in a level leave on average 64 (1 - e^(-x/64)) of them. Levels in which that is neither
 * near 0 nor near 64 are the most precise; all are weighed together by their likelihood. Ten levels, 160 bytes, are
 * right within a sixth or so, whatever the size; that is enough, since what follows adapts itself.
 *
 * The plan. With L differences in each of the cells, of N elements on average, and hashes of b bits in a cell:
 *
 *     sums            a cell needs as many as it has differences. That is a Poisson number: those that are sent before
 *                     it is known, and those that are asked for in steps, are about 0.6 sqrt(L) + 1 too many
 *     checks          of 14 bits for each cell, and about two bits to say which want more
 *     collisions      each difference shares its hash with another element with probability N / 2^b; so x = L N / 2^b
 *                     of them are expected in a cell, and each costs a sum or two of a second sketch, with its checks
 *     the other way   which elements of the one side the other lacks: about the same whatever the plan
 *
 * so the bits for each cell are
 *
 *     (L + 0.6 sqrt(L) + 1) b + 16 + (1 - e^-x) (2.5 b + 34) + 1.5 x b
 *
 * and we take the L and b for which these, times the number of cells, are fewest: for 1,000 differences in a million,
 * about 24 a cell and b = 19. The sum is flat around its minimum, so an estimate that is wrong by a third costs little
 * there. What does cost is to send sums that no cell needs: so the first message has fewer than the estimate says, by a
 * sixth, and cells that need more get a quarter more at a time.
 *
 * Where the difference is as large as the sets, listing the hashes of the smaller set is shorter: b - log2(N) + 1.6
 * bits an element, whatever the difference.
 */
#include "exact_plan.h"

#include <math.h>

#define FIRST_SUMS       12
#define FIRST_SPARE_BITS 9
#define MOST_BITS        32
#define FEWEST_BITS      8
#define LISTED_IN_A_CELL 64
#define SPARE_OF_LISTED  8

/* ---- estimating ------------------------------------------------------------------------------------------------- */

unsigned estimator_levels(uint64_t keys)
{
    unsigned levels = 3;
    for (uint64_t left = keys / LEVEL_BITS; left > 0 && levels < MOST_LEVELS; left /= 4)
        levels++;
    return levels;
}

struct estimator estimator_of(const struct roost_reconcile *session, unsigned levels)
{
    struct estimator estimator = {.levels = levels};
    struct element_key key = session_key(session, FOR_ESTIMATE);
    for (size_t i = 0; i < session->set.count; i++) {
        uint64_t hash = element_hash(key, &session->set.elements[i]);
        unsigned level = lowest_bit(hash | UINT64_C(1) << 2 * (MOST_LEVELS - 1)) / 2;
        estimator.parities[level < levels ? level : levels - 1][hash >> 57 & 1] ^= UINT64_C(1) << (hash >> 58);
    }
    return estimator;
}

static double log_likelihood(const struct estimator *here, const struct estimator *there, double difference)
{
    double sum = 0, share = 0.75;
    for (unsigned level = 0; level < here->levels; level++, share /= 4) {
        double part = level + 1 == here->levels ? share * 4 / 3 : share;
        double flipped = 0, chance = 0.5 * (1 - exp(-difference * part / (LEVEL_BITS / 2.0)));
        for (unsigned i = 0; i < LEVEL_WORDS; i++)
            flipped += count_ones(here->parities[level][i] ^ there->parities[level][i]);
        chance = chance < 1e-12 ? 1e-12 : chance > 0.499999 ? 0.499999 : chance;
        sum += flipped * log(chance) + (LEVEL_BITS - flipped) * log(1 - chance);
    }
    return sum;
}

double estimate_difference(const struct estimator *here, const struct estimator *there, uint64_t keys_here,
                           uint64_t keys_there)
{
    double least = fabs((double)keys_here - (double)keys_there), most = (double)keys_here + (double)keys_there;
    double best = least < 1 ? 1 : least, likelihood = -INFINITY;
    // NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): a search in steps of 3 %; their number does not matter
    for (double difference = best; difference <= most; difference *= 1.03) {
        double now = log_likelihood(here, there, difference);
        if (now > likelihood) {
            likelihood = now;
            best = difference;
        }
    }
    return best;
}

/* ---- planning --------------------------------------------------------------------------------------------------- */

static unsigned bits_for(double elements)
{
    return elements > 1 ? (unsigned)ceil(log2(elements)) : 0;
}

static unsigned clamp_bits(unsigned bits)
{
    return bits < FEWEST_BITS ? FEWEST_BITS : bits > MOST_BITS ? MOST_BITS : bits;
}

/* Both sides compute this: integers only. */
struct plan first_plan(uint64_t keys)
{
    return (struct plan){1, clamp_bits((keys ? highest_bit(keys) + 1 : 0) + FIRST_SPARE_BITS), FIRST_SUMS};
}

/* What collisions cost in a cell where so many are expected. A single cell has no check of its own, and is sketched
   again as a whole. */
static double repair_cost(double collisions, double sums, unsigned bits, bool is_only_cell)
{
    double chance = 1 - exp(-collisions);
    return is_only_cell ? chance * (sums * bits + 2000) : chance * (2.5 * bits + 34) + 1.5 * collisions * bits;
}

static double cell_cost(double differences, double elements, unsigned bits, bool multiset, bool is_only_cell)
{
    double collision = elements / exp2(bits) + (multiset ? exp2(-COUNT_BITS) / 2 : 0);
    double sums = differences + 0.6 * sqrt(differences) + 1;
    return sums * bits + 16 + repair_cost(differences * collision, sums, bits, is_only_cell);
}

/* The hashes have to distinguish the elements of the larger set. */
static struct plan list_plan(uint64_t fewer, uint64_t more)
{
    uint64_t cells = fewer / LISTED_IN_A_CELL + 1;
    return (struct plan){cells, clamp_bits(bits_for((double)more / (double)cells) + SPARE_OF_LISTED), 0};
}

static double list_cost(uint64_t fewer, uint64_t more)
{
    struct plan plan = list_plan(fewer, more);
    double elements = (double)fewer / (double)plan.cells;
    return (double)fewer * (plan.bits - (elements > 1 ? log2(elements) : 0) + 2) + 64;
}

static uint32_t sums_at_first(double differences)
{
    double sums = differences * 0.83 - 0.2 * sqrt(differences) + 1;
    return sums < 4 ? 4 : (uint32_t)sums;
}

struct plan best_plan(uint64_t keys_here, uint64_t keys_there, double difference, bool multiset)
{
    double keys = ((double)keys_here + (double)keys_there) / 2, fewest = INFINITY;
    uint64_t fewer = keys_here < keys_there ? keys_here : keys_there, more = keys_here + keys_there - fewer;
    struct plan best = {0};
    for (unsigned halves = 2 * 5; halves <= 2 * 24; halves++) {
        const double in_cell = halves / 2.0;
        double cells = difference < in_cell ? 1 : floor(difference / in_cell), elements = keys / cells;
        for (unsigned spare = 3; spare <= 12; spare++) {
            unsigned bits = clamp_bits(bits_for(elements) + spare - 1);
            double cost = cells * cell_cost(difference / cells, elements, bits, multiset, cells == 1);
            if (cost < fewest) {
                fewest = cost;
                best = (struct plan){(uint64_t)cells, bits, sums_at_first(difference / cells)};
            }
        }
    }
    return fewest < list_cost(fewer, more) ? best : list_plan(fewer, more);
}
