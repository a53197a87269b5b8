/*
 * Two elements collide in a cuckoo table if they have the same fingerprint and the same two buckets, in whichever
 * order. The paper (section 5.1) weighs a bit in each slot that tells the order, which separates (1, 2, x) from
 * (2, 1, x), against one more bit in the fingerprint, and takes the latter: by Equations 8 and 10 neither needs a
 * longer field than the other. Here both are counted.
 *
 *     form                 a class is                    classes              chance that any of N elements collide
 *     f bits               pair of buckets, x            b/2 * (2^f - 1)      Equation 4
 *     and the bit          first bucket, x               b * (2^f - 1)        Equation 9
 *     f + 1 bits           pair of buckets, longer x     b/2 * (2^(f+1) - 1)  Equation 4 with f + 1, which is 9
 *
 * So the bit and the longer fingerprint halve collisions alike, and the longer one has b/2 classes more, since only one
 * fingerprint, 0, marks a free slot. The first three forms are counted on tuples as the paper draws them, since Roost
 * has no such bit; the others on real filters of the same sizes.
 */
#include "differentiated_bit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "claim.h"
#include "fatal.h"
#include "workload.h"

#define ELEMENTS        1000
#define BUCKETS         256
#define MOST_DEVIATIONS 4.5

static const char *const form_names[BIT_FORMS] = {"f bits", "f bits and differentiated bit", "f + 1 bits",
                                                  "Roost of f bits", "Roost of f + 1 bits"};
static const unsigned widths[BIT_WIDTHS] = {12, 8, 10, 14, 16}; /* a sample has the first one */

/* ---- tuples ------------------------------------------------------------------------------------------------------ */

struct tuple {
    uint32_t bucket, other, fingerprint;
};

/* The other bucket follows from the first and the fingerprint, and leads back. */
static struct tuple draw_tuple(uint64_t *luck, unsigned bits)
{
    uint64_t number = next_number(luck), spread;
    struct tuple tuple = {.bucket = (uint32_t)number % BUCKETS};
    tuple.fingerprint = 1 + (uint32_t)((number >> 32) % ((UINT64_C(1) << bits) - 1));
    spread = tuple.fingerprint;
    tuple.other = tuple.bucket ^ (uint32_t)next_number(&spread) % BUCKETS;
    return tuple;
}

static uint64_t class_of(struct tuple tuple, bool in_order)
{
    uint32_t first = in_order || tuple.bucket < tuple.other ? tuple.bucket : tuple.other;
    return (uint64_t)tuple.fingerprint << 32 | first;
}

static int compare_classes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static unsigned collided_tuples(uint64_t luck, unsigned bits, bool in_order)
{
    uint64_t classes[ELEMENTS];
    unsigned collided = 0;
    for (unsigned i = 0; i < ELEMENTS; i++)
        classes[i] = class_of(draw_tuple(&luck, bits), in_order);
    qsort(classes, ELEMENTS, sizeof *classes, compare_classes);
    for (unsigned i = 1; i < ELEMENTS; i++)
        collided += classes[i] == classes[i - 1];
    return collided;
}

/* ---- real filters ------------------------------------------------------------------------------------------------ */

static unsigned collided_in_filter(uint64_t luck, unsigned bits)
{
    roost_multiset *filter;
    roost_multiset_info info;
    roost_multiset_config config = roost_multiset_config_default();
    roost_environment environment = {.kicks = BUCKETS, .random_seed = luck};
    config.capacity = ELEMENTS;
    config.fpr = 0;
    config.fingerprint_bits = bits;
    config.buckets = BUCKETS;
    must(roost_multiset_new(&filter, &config, &environment), "counting cuckoo filter");
    for (unsigned i = 0; i < ELEMENTS; i++) {
        uint64_t low = next_number(&luck);
        must(roost_multiset_add_hash(filter, NULL, (roost_hash){low, next_number(&luck)}, 1), "add");
    }
    roost_multiset_get_info(filter, &info);
    roost_multiset_free(filter);
    return ELEMENTS - (unsigned)info.entries;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static bool is_longer(enum bit_form form)
{
    return form == BIT_LONGER || form == BIT_ROOST_LONGER;
}

static unsigned collided_once(enum bit_form form, unsigned bits, uint64_t luck)
{
    unsigned width = bits + is_longer(form);
    return form >= BIT_ROOST ? collided_in_filter(luck, width)
                             : collided_tuples(luck, width, form == BIT_DIFFERENTIATED);
}

static double classes_of(enum bit_form form, unsigned bits)
{
    double fingerprints = (double)((UINT64_C(1) << (bits + is_longer(form))) - 1);
    return fingerprints * BUCKETS / (form == BIT_DIFFERENTIATED ? 1 : 2);
}

/* Equation 4, with the classes that there are; with those of the differentiated bit, Equation 9. */
static double chance_of_any(double classes)
{
    double none = 0;
    for (unsigned j = 2; j <= ELEMENTS; j++)
        none += log1p(-(double)(j - 1) / classes);
    return -expm1(none);
}

static struct bit_cell run_cell(enum bit_form form, unsigned bits, unsigned trials, uint64_t seed)
{
    double classes = classes_of(form, bits);
    struct bit_cell cell = {.bits = bits, .trials = trials, .equation = chance_of_any(classes)};
    cell.expected = ELEMENTS - classes * -expm1(ELEMENTS * log1p(-1 / classes));
    for (unsigned trial = 0; trial < trials; trial++) {
        unsigned collided = collided_once(form, bits, seed + trial * UINT64_C(1000003));
        cell.with_collision += collided > 0;
        cell.collided += (double)collided / trials;
    }
    return cell;
}

void differentiated_bit_run(struct differentiated_bit *experiment, struct scale scale, uint64_t seed)
{
    *experiment = (struct differentiated_bit){0};
    for (unsigned i = 0; i < (scale.sample ? 1 : BIT_WIDTHS); i++)
        for (int form = 0; form < BIT_FORMS; form++)
            experiment->cells[i][form] = run_cell(form, widths[i], scale.bit_trials, seed ^ (uint64_t)form << 32);
}

/* ---- claims and table -------------------------------------------------------------------------------------------- */

static double measured(const struct bit_cell *cell)
{
    return (double)cell->with_collision / cell->trials;
}

/* Where the equation leaves no room for chance, one trial is a standard deviation. */
static double deviations(const struct bit_cell *cell)
{
    double spread = sqrt(cell->equation * (1 - cell->equation) / cell->trials);
    return fabs(measured(cell) - cell->equation) / fmax(spread, 1.0 / cell->trials);
}

static double collided_deviations(const struct bit_cell *cell)
{
    return fabs(cell->collided - cell->expected) / sqrt(cell->expected / cell->trials);
}

static void claim_equation(const struct differentiated_bit *experiment, enum bit_form form, const char *name)
{
    double any = 0, collided = 0;
    for (unsigned i = 0; i < BIT_WIDTHS; i++) {
        any = fmax(any, deviations(&experiment->cells[i][form]));
        collided = fmax(collided, collided_deviations(&experiment->cells[i][form]));
    }
    claim(name, any <= MOST_DEVIATIONS && collided <= MOST_DEVIATIONS,
          "off by %.2f standard deviations at most; collisions by %.2f", any, collided);
}

/* Collisions with the bit over those with a longer fingerprint, all widths together. */
static double bit_over_longer(const struct differentiated_bit *experiment, double *deviation)
{
    double bit = 0, longer = 0, trials = 0;
    for (unsigned i = 0; i < BIT_WIDTHS; i++) {
        bit += experiment->cells[i][BIT_DIFFERENTIATED].collided;
        longer += experiment->cells[i][BIT_LONGER].collided;
        trials = experiment->cells[i][BIT_LONGER].trials;
    }
    *deviation = sqrt((1 / bit + 1 / longer) / trials);
    return bit / longer;
}

void differentiated_bit_claims(const struct differentiated_bit *experiment)
{
    double deviation, ratio = bit_over_longer(experiment, &deviation);
    claim_equation(experiment, BIT_NONE, "Equation 4: tuples of f bits collide as often");
    claim_equation(experiment, BIT_DIFFERENTIATED, "Equation 9: tuples with the differentiated bit collide as often");
    claim_equation(experiment, BIT_LONGER, "Equation 4: tuples of f + 1 bits collide as often");
    claim_equation(experiment, BIT_ROOST, "Equation 4: elements of Roost's filters of f bits collide as often");
    claim_equation(experiment, BIT_ROOST_LONGER,
                   "Equation 4: elements of Roost's filters of f + 1 bits collide as often");
    claim("Equation 10: the differentiated bit gains no more than a longer fingerprint",
          fabs(ratio - 1) <= MOST_DEVIATIONS * deviation + 0.005, "%.4f of the collisions, standard deviation %.4f",
          ratio, deviation);
}

void differentiated_bit_write_table(const struct differentiated_bit *experiment, FILE *csv)
{
    fprintf(csv, "fingerprint_bits,form,elements,buckets,trials,collided_mean,expected,any_collision,equation\n");
    for (unsigned i = 0; i < BIT_WIDTHS; i++)
        for (int form = 0; form < BIT_FORMS; form++) {
            const struct bit_cell *cell = &experiment->cells[i][form];
            if (cell->trials)
                fprintf(csv, "%u,%s,%u,%u,%u,%.3f,%.3f,%.4f,%.4f\n", cell->bits, form_names[form], ELEMENTS, BUCKETS,
                        cell->trials, cell->collided, cell->expected, measured(cell), cell->equation);
        }
}
