/*
 * What the experiment on workloads that only grow is to show, each as one line that holds or fails.
 *
 * A rate that is measured on fresh keys scatters: of 2^20 keys at 1/32, by half a per cent either way. Bounds are
 * therefore held against the mean of the repeats; where the exact rate of a state is known, the same bound is held
 * against that as well, in every single repeat, and nothing scatters there.
 */
#include "grow_only.h"

#include <math.h>
#include <string.h>

#include "claim.h"
#include "thesis.h"

#define FPR_TOLERANCE     0.05 /* of theory, for a Bloom filter */
#define MOST_OVERFLOW     0.01 /* of the entries; of those of a filter that */
#define MOST_OVERFLOW_OR  0.03 /* holds copies apart, and so has as many as slots: 2 % were seen */
#define MOST_BLOOM_BYTES  0.91 /* an element, local and after a split */
#define MOST_CUCKOO_BYTES 0.84
#define MOST_DEVIATIONS   5

static void claim_about(const char *what, enum contender contender, bool holds, const char *detail)
{
    char name[96];
    snprintf(name, sizeof name, "%s %s", contender_names[contender], what);
    claim(name, holds, "%s", detail);
}

/* ---- over all cells of a filter ---------------------------------------------------------------------------------- */

typedef bool outcome_test(const struct grow_only *experiment, const struct outcome *outcome);

static unsigned count_outcomes(const struct grow_only *experiment, enum contender contender, outcome_test *test)
{
    unsigned count = 0;
    for (unsigned i = 0; i < experiment->cells; i++)
        for (unsigned repeat = 0; repeat < experiment->scale.repeats; repeat++)
            count += test(experiment, &experiment->results[contender][i].outcomes[repeat]);
    return count;
}

static bool any(const struct grow_only *experiment, const struct outcome *outcome)
{
    (void)experiment, (void)outcome;
    return true;
}

static bool agrees(const struct grow_only *experiment, const struct outcome *outcome)
{
    (void)experiment;
    return outcome->replicas_agree;
}

static bool frame_returns(const struct grow_only *experiment, const struct outcome *outcome)
{
    (void)experiment;
    return outcome->frame_returns;
}

static bool took_all(const struct grow_only *experiment, const struct outcome *outcome)
{
    return outcome->elements == experiment->scale.keys;
}

static bool has_slot_a_key(const struct grow_only *experiment, const struct outcome *outcome)
{
    return (size_t)outcome->info.buckets * THESIS_BUCKET_SIZE == experiment->scale.keys;
}

static bool has_entry_an_element(const struct grow_only *experiment, const struct outcome *outcome)
{
    (void)experiment;
    return outcome->info.entries == outcome->elements;
}

static bool has_five_probes(const struct grow_only *experiment, const struct outcome *outcome)
{
    (void)experiment;
    return outcome->info.probes == THESIS_PROBES;
}

static bool expects_within_bound(const struct grow_only *experiment, const struct outcome *outcome)
{
    (void)experiment;
    return cuckoo_expected_fpr(outcome) <= cuckoo_bound(outcome);
}

static void claim_of_all(const struct grow_only *experiment, enum contender contender, const char *what,
                         outcome_test *test)
{
    char detail[64];
    unsigned runs = count_outcomes(experiment, contender, any), right = count_outcomes(experiment, contender, test);
    snprintf(detail, sizeof detail, "in %u of %u runs", right, runs);
    claim_about(what, contender, right == runs, detail);
}

static void claim_no_false_negatives(const struct grow_only *experiment, enum contender contender)
{
    char detail[96];
    uint64_t lookups = 0, missing = 0;
    for (unsigned i = 0; i < experiment->cells; i++)
        for (unsigned repeat = 0; repeat < experiment->scale.repeats; repeat++) {
            lookups += experiment->results[contender][i].outcomes[repeat].lookups;
            missing += experiment->results[contender][i].outcomes[repeat].false_negatives;
        }
    snprintf(detail, sizeof detail, "%llu in %llu look-ups of added keys", (unsigned long long)missing,
             (unsigned long long)lookups);
    claim_about("no false negatives", contender, missing == 0 && lookups > 0, detail);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

static bool same_state(const struct outcome *a, const struct outcome *b)
{
    return memcmp(a->digest.bytes, b->digest.bytes, sizeof a->digest.bytes) == 0 && a->frame_bytes == b->frame_bytes;
}

/* Cells of one repeat in which every key was taken hold the same elements, so they must be the same state. */
static void claim_one_state(const struct grow_only *experiment, enum contender contender)
{
    char detail[96];
    unsigned compared = 0, different = 0;
    for (unsigned repeat = 0; repeat < experiment->scale.repeats; repeat++) {
        const struct outcome *first = NULL;
        for (unsigned i = 0; i < experiment->cells; i++) {
            const struct outcome *outcome = &experiment->results[contender][i].outcomes[repeat];
            if (!took_all(experiment, outcome))
                continue;
            compared += first != NULL;
            different += first && !same_state(first, outcome);
            first = first ? first : outcome;
        }
    }
    snprintf(detail, sizeof detail, "%u pairs of runs that took every key, %u differ", compared, different);
    claim_about("same keys, same digest", contender, compared > 0 && different == 0, detail);
}

/* ---- rates ------------------------------------------------------------------------------------------------------- */

static struct spread means_over_cells(const struct grow_only *experiment, enum contender contender, measure *quantity)
{
    struct spread means = {0, INFINITY, -INFINITY};
    for (unsigned i = 0; i < experiment->cells; i++) {
        double mean = spread_of(experiment, &experiment->results[contender][i], quantity).mean;
        means.mean += mean / experiment->cells;
        means.least = fmin(means.least, mean);
        means.most = fmax(means.most, mean);
    }
    return means;
}

static void claim_bloom_rate(const struct grow_only *experiment, enum contender contender)
{
    char detail[128];
    struct spread fpr = means_over_cells(experiment, contender, measured_fpr);
    snprintf(detail, sizeof detail, "%.4f %% to %.4f %%, theory %.4f %%", 100 * fpr.least, 100 * fpr.most,
             100 * THESIS_FPR);
    claim_about("FPR is the same whatever split and sync", contender, fpr.least == fpr.most, detail);
    snprintf(detail, sizeof detail, "%+.2f %% off", 100 * (fpr.mean / THESIS_FPR - 1));
    claim_about("FPR within 5 % of theory", contender, fabs(fpr.mean / THESIS_FPR - 1) <= FPR_TOLERANCE, detail);
}

/* How far above (positive) or below the bound the mean of each cell is, as part of the bound. */
static double over_bound(const struct outcome *outcome)
{
    return measured_fpr(outcome) / cuckoo_bound(outcome) - 1;
}

static double expected_over_bound(const struct outcome *outcome)
{
    return cuckoo_expected_fpr(outcome) / cuckoo_bound(outcome) - 1;
}

static void claim_cuckoo_bound(const struct grow_only *experiment, enum contender contender)
{
    char detail[128];
    struct spread fpr = means_over_cells(experiment, contender, over_bound);
    snprintf(detail, sizeof detail, "%+.2f %% to %+.2f %% off the bound, mean of %u repeats", 100 * fpr.least,
             100 * fpr.most, experiment->scale.repeats);
    claim_about("measured FPR at most 2c*alpha/2^l", contender, fpr.most <= 0, detail);
    fpr = means_over_cells(experiment, contender, expected_over_bound);
    unsigned runs = count_outcomes(experiment, contender, any);
    unsigned within = count_outcomes(experiment, contender, expects_within_bound);
    snprintf(detail, sizeof detail, "in %u of %u runs, %+.2f %% to %+.2f %% off the bound", within, runs,
             100 * fpr.least, 100 * fpr.most);
    claim_about(contender == ORCF ? "expected FPR at most 2c*alpha/2^l" : "exact FPR at most 2c*alpha/2^l", contender,
                within == runs, detail);
}

/* The scatter that is due in the mean of a cell's repeats, in standard deviations. */
static double deviations(const struct grow_only *experiment, const struct cell *cell)
{
    double expected = spread_of(experiment, cell, cuckoo_expected_fpr).mean;
    double trials = (double)experiment->scale.fresh_keys * experiment->scale.repeats;
    return (spread_of(experiment, cell, measured_fpr).mean - expected) / sqrt(expected * (1 - expected) / trials);
}

static void claim_cuckoo_expectation(const struct grow_only *experiment, enum contender contender)
{
    char detail[96];
    double worst = 0;
    for (unsigned i = 0; i < experiment->cells; i++)
        worst = fmax(worst, fabs(deviations(experiment, &experiment->results[contender][i])));
    snprintf(detail, sizeof detail, "%.2f standard deviations at most", worst);
    claim_about(contender == ORCF ? "measured FPR agrees with the expected one"
                                  : "measured FPR agrees with the exact one",
                contender, worst <= MOST_DEVIATIONS, detail);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static void claim_size(const struct grow_only *experiment, enum contender contender, const struct cell *cell,
                       const char *workload, double most)
{
    char what[64], detail[96];
    struct spread bytes = spread_of(experiment, cell, bytes_an_element);
    snprintf(what, sizeof what, "bytes an element, %s", workload);
    snprintf(detail, sizeof detail, "%.4f, at most %.2f", bytes.mean, most);
    claim_about(what, contender, bytes.most <= most, detail);
}

static void claim_sizes(const struct grow_only *experiment, enum contender contender, double most)
{
    claim_size(experiment, contender, &experiment->results[contender][LOCAL_CELL], "all local", most);
    claim_size(experiment, contender, split_cell(experiment, contender), "50-50 split", most);
}

static void claim_small_overflow(const struct grow_only *experiment, enum contender contender)
{
    char what[64], detail[96];
    double most = 0, limit = contender == ORCF ? MOST_OVERFLOW_OR : MOST_OVERFLOW;
    for (unsigned i = 0; i < experiment->cells; i++)
        most = fmax(most, spread_of(experiment, &experiment->results[contender][i], overflow_share).most);
    snprintf(detail, sizeof detail, "%.3f %% of the entries at most", 100 * most);
    snprintf(what, sizeof what, "overflow at most %.0f %% of the entries", 100 * limit);
    claim_about(what, contender, most <= limit, detail);
}

static void claim_sets(const struct grow_only *experiment)
{
    bool right = true;
    for (unsigned repeat = 0; repeat < experiment->scale.repeats; repeat++)
        right &= experiment->sets[repeat].merge_agrees && experiment->sets[repeat].frames_return;
    const struct set_sizes *sizes = &experiment->sets[0];
    claim("GSet frames return, merged or local", right, "%.2f bytes an element sorted, %.2f Rice-coded",
          (double)sizes->bytes[SET_RAW] / (double)sizes->elements,
          (double)sizes->bytes[SET_RICE] / (double)sizes->elements);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* An observed-remove filter also holds who added what, so that its state is another for every split. */
static void claim_replication(const struct grow_only *experiment, enum contender contender)
{
    claim_no_false_negatives(experiment, contender);
    claim_of_all(experiment, contender, "replicas end with equal digests", agrees);
    claim_of_all(experiment, contender, "frame decodes to an equal filter", frame_returns);
    if (contender != ORCF)
        claim_one_state(experiment, contender);
}

static void claim_work_was_done(const struct grow_only *experiment, enum contender contender)
{
    char detail[96];
    const struct cell *cell = &experiment->results[contender][LOCAL_CELL];
    struct spread local = spread_of(experiment, cell, load_by_elements);
    snprintf(detail, sizeof detail, "after %.2f %% of the keys, %.2f %% of the slots", 100 * local.mean,
             100 * spread_of(experiment, cell, load_by_entries).mean);
    claim_about("was filled until it refused", contender, local.most < 1 && local.least > 0.95, detail);
}

static void claim_cuckoo(const struct grow_only *experiment, enum contender contender)
{
    claim_of_all(experiment, contender, "has a slot a key", has_slot_a_key);
    claim_work_was_done(experiment, contender);
    claim_cuckoo_bound(experiment, contender);
    claim_cuckoo_expectation(experiment, contender);
    claim_small_overflow(experiment, contender);
}

void grow_only_claims(const struct grow_only *experiment)
{
    for (int contender = 0; contender < CONTENDERS; contender++)
        claim_replication(experiment, contender);
    for (int contender = GBF_CLASSIC; contender <= GBF_BLOCKED; contender++) {
        claim_of_all(experiment, contender, "takes every key", took_all);
        claim_of_all(experiment, contender, "has five probes", has_five_probes);
        claim_bloom_rate(experiment, contender);
    }
    claim_cuckoo(experiment, GCF);
    claim_cuckoo(experiment, ORCF);
    claim_of_all(experiment, ORCF, "has one entry an element", has_entry_an_element);
    claim_sizes(experiment, GBF_CLASSIC, MOST_BLOOM_BYTES);
    claim_sizes(experiment, GCF, MOST_CUCKOO_BYTES);
    claim_sets(experiment);
}
