/*
 * Removes that a caller should not make, on whole filters, beside what theory expects (class_theory.c).
 *
 *     strangers   keys that were never added are removed, from a 16th of the number of elements up to 16 times. Such a
 *                 remove finds an entry as often as a look-up errs, and then takes an entry of another element.
 *     parallel    two replicas that hold the same elements remove at the same time, and merge: each another part of
 *                 them (causally safe; thesis, Figure 3.4b), or both the same part (safe from a local view; 3.4a).
 *
 * Filters: ORCF4, the thesis's multiset with fingerprints of 8 bits, at one replica and with half of the strangers at
 * each of two; a set with fingerprints of 16 bits, the fewest that a set may have; the default, a set with 24.
 */
#include "unsafe_removal.h"

#include <math.h>
#include <stdlib.h>

#include "claim.h"
#include "class_theory.h"
#include "environment.h"
#include "fatal.h"
#include "grow_only.h"
#include "thesis.h"
#include "workload.h"

#define SMALL_SLOTS     ((size_t)1 << 14) /* a size that every form has, so that a sample can run it again */
#define SET_BITS        16
#define DEFAULT_BITS    24
#define MOST_DEVIATIONS 5

static const char *const filter_names[UNSAFE_FILTERS] = {"ORCF4", "ORCF4 at two replicas", "ORCF set of 16 bits",
                                                         "ORCF default"};
static const double stages[UNSAFE_STAGES] = {1.0 / 16, 1.0 / 4, 1, 4, 16}; /* removes of strangers for each element */
static const double shares[PARALLEL_SHARES] = {0.25, 0.4};                 /* of the elements, at each replica */

/* ---- filters ----------------------------------------------------------------------------------------------------- */

static bool is_multiset(enum unsafe_filter filter)
{
    return filter == UNSAFE_MULTISET || filter == UNSAFE_TWO_REPLICAS;
}

static unsigned fingerprint_bits(enum unsafe_filter filter)
{
    return is_multiset(filter) ? THESIS_FINGERPRINT_BITS : filter == UNSAFE_SET ? SET_BITS : DEFAULT_BITS;
}

static roost_config config_of(enum unsafe_filter filter, size_t slots)
{
    roost_config config = thesis_orcuckoo(slots);
    if (is_multiset(filter))
        return config;
    config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.capacity = thesis_orcuckoo(slots).capacity;
    if (filter == UNSAFE_SET) {
        config.fingerprint_bits = SET_BITS;
        config.fpr = 0;
    }
    return config;
}

static double classes_of(const roost_filter *filter, unsigned bits)
{
    roost_info info;
    roost_filter_get_brief_info(filter, &info);
    return info.buckets / 2.0 * ((1 << bits) - 1);
}

static roost_filter *copy_of(const roost_filter *filter)
{
    roost_filter *copy;
    must(roost_filter_clone(filter, &copy), "replica");
    return copy;
}

static roost_filter *filled(enum unsafe_filter filter, size_t slots, const struct workload *workload, uint64_t *entropy)
{
    roost_filter *made;
    roost_config config = config_of(filter, slots);
    roost_environment environment = seeded_environment(entropy, workload->seed);
    must(roost_filter_new(&made, &config, &environment), "replica");
    must(roost_filter_add_many_hash(made, NULL, NULL, workload->hashes, workload->count), "add");
    return made;
}

static uint64_t hidden_of(const roost_filter *filter, const roost_hash *hashes, size_t count)
{
    return count - count_found(filter, hashes, count);
}

/* ---- strangers --------------------------------------------------------------------------------------------------- */

static bool remove_stranger(roost_filter *filter, bool multiset, uint64_t *luck)
{
    bool found;
    uint64_t low = next_number(luck);
    roost_hash hash = {low, next_number(luck)};
    must((multiset ? roost_filter_remove_one_hash : roost_filter_remove_hash)(filter, &found, hash), "remove");
    return found;
}

static double expected_hidden(enum unsafe_filter filter, double classes, double elements, double removes)
{
    double each = elements / classes, strangers = removes / classes;
    return elements * (filter == UNSAFE_MULTISET       ? hidden_in_multiset(each, strangers)
                       : filter == UNSAFE_TWO_REPLICAS ? hidden_at_two_replicas(each, strangers)
                                                       : hidden_in_set(strangers));
}

/* The replicas go on apart: only copies of them merge. */
static uint64_t hidden_after_merge(roost_filter *const replicas[2], const struct workload *workload)
{
    roost_filter *merged = copy_of(replicas[0]);
    must(roost_filter_merge(merged, NULL, replicas[1]), "merge");
    uint64_t hidden = hidden_of(merged, workload->hashes, workload->count);
    roost_filter_free(merged);
    return hidden;
}

static void run_strangers(struct unsafe_stage *stage, enum unsafe_filter filter, size_t slots,
                          const struct workload *workload)
{
    uint64_t entropy, luck = ~workload->seed, removes = 0, found = 0;
    roost_filter *replicas[2] = {filled(filter, slots, workload, &entropy)};
    replicas[1] = copy_of(replicas[0]);
    double classes = classes_of(replicas[0], fingerprint_bits(filter));
    for (unsigned i = 0; i < UNSAFE_STAGES; i++, stage++) {
        for (; removes < (uint64_t)(stages[i] * (double)workload->count); removes++)
            found +=
                remove_stranger(replicas[filter == UNSAFE_TWO_REPLICAS && removes % 2], is_multiset(filter), &luck);
        stage->elements += workload->count;
        stage->removes += removes;
        stage->found += found;
        stage->hidden += hidden_after_merge(replicas, workload);
        stage->hidden_expected += expected_hidden(filter, classes, (double)workload->count, (double)removes);
    }
    roost_filter_free(replicas[0]);
    roost_filter_free(replicas[1]);
}

/* ---- parallel removes -------------------------------------------------------------------------------------------- */

static void remove_part(roost_filter *filter, const struct workload *workload, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        must(roost_filter_remove_one_hash(filter, NULL, workload->hashes[from + i]), "remove");
}

/* Removed are the first elements, of which the first replica removes the first ones. */
static void run_parallel(struct parallel_stage *stage, const roost_filter *full, const struct workload *workload,
                         double share, bool same)
{
    size_t each = (size_t)(share * (double)workload->count), gone = same ? each : 2 * each;
    roost_filter *first = copy_of(full), *second = copy_of(full);
    double classes = classes_of(full, THESIS_FINGERPRINT_BITS), entries = (double)workload->count / classes;
    roost_info info;
    remove_part(first, workload, 0, each);
    remove_part(second, workload, same ? 0 : each, each);
    must(roost_filter_merge(first, NULL, second), "merge");
    roost_filter_get_brief_info(first, &info);
    stage->elements += workload->count;
    stage->removes += each;
    stage->left += info.entries - (workload->count - gone);
    stage->hidden += hidden_of(first, workload->hashes + gone, workload->count - gone);
    stage->left_expected += same ? 0 : classes * left_by_smallest(entries, share);
    stage->left_by_random += same ? 0 : classes * left_by_random(entries, share);
    stage->hidden_by_random += same ? classes * hidden_by_random(entries, share) : 0;
    roost_filter_free(first);
    roost_filter_free(second);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static unsigned repeats_of(const struct unsafe_removal *experiment, unsigned size)
{
    return experiment->slots[size] == SMALL_SLOTS ? 1 : experiment->scale.operation_repeats;
}

static void run_size(struct unsafe_removal *experiment, unsigned size, uint64_t seed)
{
    struct workload workload;
    size_t slots = experiment->slots[size];
    uint64_t entropy;
    workload_draw(&workload, seed, thesis_orcuckoo(slots).capacity, 0);
    for (int filter = 0; filter < UNSAFE_FILTERS; filter++)
        run_strangers(experiment->stages[size][filter], filter, slots, &workload);
    roost_filter *full = filled(UNSAFE_MULTISET, slots, &workload, &entropy);
    for (unsigned share = 0; share < PARALLEL_SHARES; share++) {
        run_parallel(&experiment->apart[size][share], full, &workload, shares[share], false);
        run_parallel(&experiment->same[size][share], full, &workload, shares[share], true);
    }
    roost_filter_free(full);
    workload_release(&workload);
}

void unsafe_removal_run(struct unsafe_removal *experiment, struct scale scale, uint64_t seed)
{
    bool small = scale.sample || scale.keys < SMALL_SLOTS << 6;
    *experiment = (struct unsafe_removal){.scale = scale, .sizes = small ? 1 : 2, .slots = {SMALL_SLOTS, scale.keys}};
    for (unsigned size = 0; size < experiment->sizes; size++)
        for (unsigned repeat = 0; repeat < repeats_of(experiment, size); repeat++) {
            if (scale.says_where_it_is)
                fprintf(stderr, "roost-eval: unsafe removes, %zu slots: repeat %u of %u\n", experiment->slots[size],
                        repeat + 1, repeats_of(experiment, size));
            run_size(experiment, size, seed + ((uint64_t)repeat << 32));
        }
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Counts of rare events; where less than one is expected, one is no wonder. */
static double deviations(uint64_t count, double expected)
{
    return ((double)count - expected) / sqrt(fmax(expected, 1));
}

static void claim_strangers(const struct unsafe_removal *experiment, unsigned size, enum unsafe_filter filter)
{
    char name[128];
    double worst = 0;
    const struct unsafe_stage *last = &experiment->stages[size][filter][UNSAFE_STAGES - 1];
    for (unsigned i = 0; i < UNSAFE_STAGES; i++) {
        const struct unsafe_stage *stage = &experiment->stages[size][filter][i];
        worst = fmax(worst, fabs(deviations(stage->hidden, stage->hidden_expected)));
    }
    snprintf(name, sizeof name, "%s, %zu slots: removes of strangers hide as many as theory says", filter_names[filter],
             experiment->slots[size]);
    claim(name, worst <= MOST_DEVIATIONS,
          "%.2f standard deviations off at most; after %llu removes %llu of %llu are hidden, %.1f expected", worst,
          (unsigned long long)last->removes, (unsigned long long)last->hidden, (unsigned long long)last->elements,
          last->hidden_expected);
}

static void claim_parallel(const struct unsafe_removal *experiment, unsigned size, unsigned share)
{
    char name[128];
    const struct parallel_stage *apart = &experiment->apart[size][share], *same = &experiment->same[size][share];
    snprintf(name, sizeof name, "ORCF4, %zu slots: causally safe removes of %.0f %% hide nothing",
             experiment->slots[size], 100 * shares[share]);
    claim(name, apart->hidden == 0 && fabs(deviations(apart->left, apart->left_expected)) <= MOST_DEVIATIONS,
          "%llu hidden; %llu entries left over, %.1f expected, random picks %.1f", (unsigned long long)apart->hidden,
          (unsigned long long)apart->left, apart->left_expected, apart->left_by_random);
    snprintf(name, sizeof name, "ORCF4, %zu slots: the same %.0f %% removed twice at the same time hide nothing",
             experiment->slots[size], 100 * shares[share]);
    claim(name, same->hidden == 0 && same->left == 0, "%llu hidden of %llu, random picks %.1f; %llu left over",
          (unsigned long long)same->hidden, (unsigned long long)(same->elements - same->removes),
          same->hidden_by_random, (unsigned long long)same->left);
}

void unsafe_removal_claims(const struct unsafe_removal *experiment)
{
    for (unsigned size = 0; size < experiment->sizes; size++) {
        for (int filter = 0; filter < UNSAFE_FILTERS; filter++)
            claim_strangers(experiment, size, filter);
        for (unsigned share = 0; share < PARALLEL_SHARES; share++)
            claim_parallel(experiment, size, share);
    }
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

void unsafe_removal_write_strangers(const struct unsafe_removal *experiment, FILE *csv)
{
    fprintf(csv, "filter,slots,repeats,removes_an_element,elements,removes,found,hidden,hidden_share,expected_share\n");
    for (unsigned size = 0; size < experiment->sizes; size++)
        for (int filter = 0; filter < UNSAFE_FILTERS; filter++)
            for (unsigned i = 0; i < UNSAFE_STAGES; i++) {
                const struct unsafe_stage *stage = &experiment->stages[size][filter][i];
                fprintf(csv, "%s,%zu,%u,%g,%llu,%llu,%llu,%llu,%.4e,%.4e\n", filter_names[filter],
                        experiment->slots[size], repeats_of(experiment, size), stages[i],
                        (unsigned long long)stage->elements, (unsigned long long)stage->removes,
                        (unsigned long long)stage->found, (unsigned long long)stage->hidden,
                        (double)stage->hidden / (double)stage->elements,
                        stage->hidden_expected / (double)stage->elements);
            }
}

static void write_parallel(const struct unsafe_removal *experiment, unsigned size, unsigned share, const char *course,
                           const struct parallel_stage *stage, FILE *csv)
{
    fprintf(csv, "%s,%zu,%u,%g,%llu,%llu,%llu,%llu,%.1f,%.1f,%.1f\n", course, experiment->slots[size],
            repeats_of(experiment, size), shares[share], (unsigned long long)stage->elements,
            (unsigned long long)stage->removes, (unsigned long long)stage->hidden, (unsigned long long)stage->left,
            stage->left_expected, stage->hidden_by_random, stage->left_by_random);
}

void unsafe_removal_write_parallel(const struct unsafe_removal *experiment, FILE *csv)
{
    fprintf(csv, "course,slots,repeats,share,elements,removes_at_each,hidden,left_over,left_over_expected,"
                 "hidden_by_random_picks,left_over_by_random_picks\n");
    for (unsigned size = 0; size < experiment->sizes; size++)
        for (unsigned share = 0; share < PARALLEL_SHARES; share++) {
            write_parallel(experiment, size, share, "each another part", &experiment->apart[size][share], csv);
            write_parallel(experiment, size, share, "both the same part", &experiment->same[size][share], csv);
        }
}
