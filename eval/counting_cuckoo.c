/*
 * Runs the experiments of section 6 and keeps what came out; claims and tables read it there.
 *
 *     fillings     tables of 2^8 to 2^21 buckets of four, 500 elements for each 128 slots: Table 1 with f = log2 b,
 *                  Figure 5a with f = 10; Figure 5b: one table, f = 4 to 32
 *     accuracy     pairs of multisets (multiset_pair.c), by fingerprint and, for counting Bloom filters, by length
 *     growth       pairs of 1,000 to 1,024,000 elements, f = log2 b, and counting Bloom filters of as many bits
 *
 * At most b kicks, as in the paper. Tables of 97.7 % of their slots are fuller than Roost would make them, and an
 * element may find none: it is in the overflow stash then, and not counted for the occupancy. The bits of a counting
 * cuckoo filter are counted as the paper does, eight for a count beside f for a fingerprint. A counting Bloom filter
 * gets the fewest bits a counter, from eight on, with which none overflows.
 */
#include "counting_cuckoo.h"

#include <math.h>

#include "fatal.h"
#include "workload.h"

#define FILLED_IN_ALL ((size_t)1 << 16) /* small tables are filled more often, so that the means are steady */

/* ---- fillings ---------------------------------------------------------------------------------------------------- */

static uint64_t elements_for(unsigned buckets)
{
    return UINT64_C(500) << (buckets - 7);
}

static roost_multiset_config table_config(unsigned buckets, unsigned bits)
{
    roost_multiset_config config = roost_multiset_config_default();
    config.capacity = elements_for(buckets);
    config.fpr = 0;
    config.fingerprint_bits = bits;
    config.buckets = 1u << buckets;
    return config;
}

static roost_multiset_info fill_once(struct ccf_filling *filling, uint64_t seed)
{
    roost_multiset *filter;
    roost_multiset_info info;
    roost_multiset_config config = table_config(filling->buckets, filling->bits);
    roost_environment environment = {.kicks = 1u << filling->buckets, .random_seed = seed};
    must(roost_multiset_new(&filter, &config, &environment), "counting cuckoo filter");
    for (uint64_t i = 0; i < filling->elements; i++) {
        uint64_t low = next_number(&seed);
        must(roost_multiset_add_hash(filter, NULL, (roost_hash){low, next_number(&seed)}, 1), "add");
    }
    roost_multiset_get_info(filter, &info);
    roost_multiset_free(filter);
    return info;
}

static struct ccf_filling fill(unsigned buckets, unsigned bits, unsigned repeats, uint64_t seed)
{
    struct ccf_filling filling = {.buckets = buckets, .bits = bits, .elements = elements_for(buckets)};
    filling.least_occupancy = 1;
    uint64_t more = FILLED_IN_ALL / filling.elements;
    filling.repeats = more > repeats ? (unsigned)more : repeats;
    double classes = (double)(UINT64_C(1) << buckets) / 2 * (double)((UINT64_C(1) << bits) - 1);
    double count = (double)filling.elements;
    filling.expected = count - classes * -expm1(count * log1p(-1 / classes));
    for (unsigned i = 0; i < filling.repeats; i++) {
        roost_multiset_info info = fill_once(&filling, seed + i * UINT64_C(1000003));
        filling.overflow += info.overflow;
        filling.occupancy += info.load / filling.repeats;
        filling.least_occupancy = fmin(filling.least_occupancy, info.load);
        filling.collided += (count - (double)info.entries) / filling.repeats;
    }
    return filling;
}

static void run_fillings(struct counting_cuckoo *experiment, uint64_t seed)
{
    const unsigned largest = experiment->scale.largest_table;
    experiment->tables = largest - CCF_FEWEST_BUCKETS + 1;
    for (unsigned i = 0; i < experiment->tables; i++) {
        unsigned buckets = CCF_FEWEST_BUCKETS + i;
        unsigned repeats = buckets > 18 ? 1 : experiment->scale.root_repeats;
        experiment->occupancy[i] = fill(buckets, buckets, repeats, seed + i);
        experiment->by_buckets[i] = fill(buckets, 10, repeats, seed + i + 100);
    }
    for (unsigned i = 0; i < CCF_WIDTHS && !experiment->scale.sample; i++)
        experiment->by_bits[i] =
            fill(largest < 14 ? largest : 14, CCF_FEWEST_BITS + i, experiment->scale.root_repeats, seed + i + 200);
}

/* ---- accuracy ---------------------------------------------------------------------------------------------------- */

/* How many buckets of four the paper takes for so many elements: 500 for each 128. */
static unsigned buckets_for(size_t roots)
{
    unsigned buckets = CCF_FEWEST_BUCKETS;
    while (elements_for(buckets) < roots)
        buckets++;
    return buckets;
}

static double frame_bits(roost_multiset *const multisets[2], size_t roots)
{
    double bits = 0;
    for (int side = 0; side < 2; side++) {
        roost_buffer frame;
        must(roost_multiset_encode(multisets[side], &frame), "encode");
        bits += (double)frame.size * 8 / (double)roots / 2;
        roost_buffer_release(&frame);
    }
    return bits;
}

static bool open_both(roost_multiset *multisets[2], const struct multiset_pair *pair,
                      const roost_multiset_config *config, uint32_t kicks)
{
    if (!multiset_of_side(&multisets[0], pair, 0, config, kicks))
        return false;
    if (multiset_of_side(&multisets[1], pair, 1, config, kicks))
        return true;
    roost_multiset_free(multisets[0]);
    return false;
}

static void measure_pair(struct ccf_accuracy *accuracy, const struct multiset_pair *pair, roost_multiset *multisets[2],
                         unsigned repeats)
{
    roost_multiset_info info;
    roost_multiset_get_info(multisets[0], &info);
    accuracy->roots = pair->roots;
    accuracy->bits_an_element = (double)info.bits / (double)pair->roots;
    accuracy->frame_bits_an_element += frame_bits(multisets, pair->roots) / repeats;
    for (int method = 0; method < (accuracy->bits ? PAIR_METHODS : PAIR_QUERY_AS_PRINTED); method++) {
        double seconds = 0;
        accuracy->accuracy[method] += accuracy_after_sync(pair, multisets, method, &seconds) / repeats;
        accuracy->identification[method] += seconds / repeats;
    }
    roost_multiset_free(multisets[0]);
    roost_multiset_free(multisets[1]);
}

static void run_cuckoo(struct ccf_accuracy *accuracy, const struct multiset_pair *pair, unsigned bits, unsigned repeats)
{
    roost_multiset *multisets[2];
    unsigned buckets = buckets_for(pair->roots);
    roost_multiset_config config = table_config(buckets, bits);
    double begin = seconds_now();
    if (!open_both(multisets, pair, &config, 1u << buckets))
        fatal("counting cuckoo filter", "full");
    accuracy->insertion_seconds += (seconds_now() - begin) / repeats;
    accuracy->bits = bits;
    measure_pair(accuracy, pair, multisets, repeats);
}

static void run_bloom(struct ccf_accuracy *accuracy, const struct multiset_pair *pair, double bits_an_element,
                      unsigned repeats)
{
    roost_multiset *multisets[2];
    roost_multiset_config config = roost_multiset_config_default();
    config.kind = ROOST_COUNTING_BLOOM;
    config.capacity = pair->roots;
    config.fpr = 0;
    double begin;
    unsigned counter_bits = 8;
    do {
        config.counter_bits = counter_bits;
        config.cells = (uint64_t)(bits_an_element * (double)pair->roots / counter_bits);
        begin = seconds_now();
    } while (!open_both(multisets, pair, &config, 1) && ++counter_bits < 32);
    accuracy->insertion_seconds += (seconds_now() - begin) / repeats;
    accuracy->counter_bits = counter_bits;
    accuracy->probes = roost_multiset_get_config(multisets[0])->probes;
    measure_pair(accuracy, pair, multisets, repeats);
}

static void run_accuracy(struct counting_cuckoo *experiment, uint64_t seed)
{
    const unsigned repeats = experiment->scale.root_repeats;
    for (unsigned repeat = 0; repeat < repeats; repeat++) {
        struct multiset_pair pair;
        multiset_pair_draw(&pair, seed + repeat, experiment->scale.roots);
        for (unsigned i = 0; i < CCF_WIDTHS; i++)
            run_cuckoo(&experiment->cuckoo[i], &pair, CCF_FEWEST_BITS + i, repeats);
        for (unsigned i = 0; i < CBF_SETTINGS; i++)
            run_bloom(&experiment->bloom[i], &pair, CBF_FEWEST_BITS + i * CBF_STEP, repeats);
        multiset_pair_release(&pair);
    }
}

static void run_growth(struct counting_cuckoo *experiment, uint64_t seed)
{
    unsigned steps = experiment->scale.largest_table - CCF_FEWEST_BUCKETS + 1;
    experiment->growth_steps = steps < CCF_GROWTH_STEPS ? steps : CCF_GROWTH_STEPS;
    for (unsigned i = 0; i < experiment->growth_steps; i++) {
        struct multiset_pair pair;
        unsigned buckets = CCF_FEWEST_BUCKETS + i, repeats = buckets > 16 ? 1 : experiment->scale.root_repeats;
        for (unsigned repeat = 0; repeat < repeats; repeat++) {
            multiset_pair_draw(&pair, seed + repeat, elements_for(buckets));
            run_cuckoo(&experiment->growth[i], &pair, buckets, repeats);
            run_bloom(&experiment->growth_bloom[i], &pair, experiment->growth[i].bits_an_element, repeats);
            multiset_pair_release(&pair);
        }
    }
}

void counting_cuckoo_run(struct counting_cuckoo *experiment, struct scale scale, uint64_t seed)
{
    *experiment = (struct counting_cuckoo){.scale = scale};
    if (scale.says_where_it_is)
        fprintf(stderr, "roost-eval: counting cuckoo filters: fillings\n");
    run_fillings(experiment, seed);
    if (scale.says_where_it_is)
        fprintf(stderr, "roost-eval: counting cuckoo filters: accuracy\n");
    if (!scale.sample)
        run_accuracy(experiment, seed ^ 7);
    run_growth(experiment, seed ^ 8);
}
