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

/* ---- over all cells of a filter ---------------------------------------------------------------------------------- */

static bool has_slot_a_key(const struct panel *panel, const struct outcome *outcome)
{
    return (size_t)outcome->buckets * THESIS_BUCKET_SIZE == panel->scale.keys;
}

static bool has_entry_an_element(const struct panel *panel, const struct outcome *outcome)
{
    (void)panel;
    return outcome->info.entries == outcome->elements;
}

static bool has_five_probes(const struct panel *panel, const struct outcome *outcome)
{
    (void)panel;
    return outcome->info.probes == THESIS_PROBES;
}

static bool expects_within_bound(const struct panel *panel, const struct outcome *outcome)
{
    (void)panel;
    return cuckoo_expected_fpr(outcome) <= cuckoo_bound(outcome);
}

/* An observed-remove filter holds copies, and what is known of its rate is a mean. */
static bool is_observed_remove(const struct panel *panel)
{
    return panel->config.kind == ROOST_ORCUCKOO;
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

static bool same_state(const struct outcome *a, const struct outcome *b)
{
    return memcmp(a->digest.bytes, b->digest.bytes, sizeof a->digest.bytes) == 0 && a->frame_bytes == b->frame_bytes;
}

/* Cells of one repeat in which every key was taken hold the same elements, so they must be the same state. */
static void claim_one_state(const struct panel *panel)
{
    unsigned compared = 0, different = 0;
    for (unsigned repeat = 0; repeat < panel->scale.repeats; repeat++) {
        const struct outcome *first = NULL;
        for (unsigned i = 0; i < panel->cells; i++) {
            const struct outcome *outcome = &panel->results[i].outcomes[repeat];
            if (!took_all(panel, outcome))
                continue;
            compared += first != NULL;
            different += first && !same_state(first, outcome);
            first = first ? first : outcome;
        }
    }
    claim_about(panel, "same keys, same digest", compared > 0 && different == 0,
                "%u pairs of runs that took every key, %u differ", compared, different);
}

/* ---- rates ------------------------------------------------------------------------------------------------------- */

static void claim_bloom_rate(const struct panel *panel)
{
    struct spread fpr = panel_means(panel, measured_fpr);
    claim_about(panel, "FPR is the same whatever split and sync", fpr.least == fpr.most,
                "%.4f %% to %.4f %%, theory %.4f %%", 100 * fpr.least, 100 * fpr.most, 100 * THESIS_FPR);
    claim_about(panel, "FPR within 5 % of theory", fabs(fpr.mean / THESIS_FPR - 1) <= FPR_TOLERANCE, "%+.2f %% off",
                100 * (fpr.mean / THESIS_FPR - 1));
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

static void claim_cuckoo_bound(const struct panel *panel)
{
    struct spread fpr = panel_means(panel, over_bound);
    claim_about(panel, "measured FPR at most 2c*alpha/2^l", fpr.most <= 0,
                "%+.2f %% to %+.2f %% off the bound, mean of %u repeats", 100 * fpr.least, 100 * fpr.most,
                panel->scale.repeats);
    fpr = panel_means(panel, expected_over_bound);
    unsigned runs = panel_count(panel, any_outcome), within = panel_count(panel, expects_within_bound);
    claim_about(panel,
                is_observed_remove(panel) ? "expected FPR at most 2c*alpha/2^l" : "exact FPR at most 2c*alpha/2^l",
                within == runs, "in %u of %u runs, %+.2f %% to %+.2f %% off the bound", within, runs, 100 * fpr.least,
                100 * fpr.most);
}

/* The scatter that is due in the mean of a cell's repeats, in standard deviations. */
static double deviations(const struct panel *panel, const struct cell *cell)
{
    double expected = panel_spread(panel, cell, cuckoo_expected_fpr).mean;
    double trials = (double)panel->scale.fresh_keys * panel->scale.repeats;
    return (panel_spread(panel, cell, measured_fpr).mean - expected) / sqrt(expected * (1 - expected) / trials);
}

static void claim_cuckoo_expectation(const struct panel *panel)
{
    double worst = 0;
    for (unsigned i = 0; i < panel->cells; i++)
        worst = fmax(worst, fabs(deviations(panel, &panel->results[i])));
    claim_about(panel,
                is_observed_remove(panel) ? "measured FPR agrees with the expected one"
                                          : "measured FPR agrees with the exact one",
                worst <= MOST_DEVIATIONS, "%.2f standard deviations at most", worst);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static void claim_size(const struct panel *panel, const struct cell *cell, const char *workload, double most)
{
    char what[64];
    struct spread bytes = panel_spread(panel, cell, bytes_an_element);
    snprintf(what, sizeof what, "bytes an element, %s", workload);
    claim_about(panel, what, bytes.most <= most, "%.4f, at most %.2f", bytes.mean, most);
}

static void claim_sizes(const struct panel *panel, double most)
{
    claim_size(panel, &panel->results[LOCAL_CELL], "all local", most);
    claim_size(panel, split_cell(panel), "50-50 split", most);
}

static void claim_small_overflow(const struct panel *panel)
{
    char what[64];
    double most = 0, limit = is_observed_remove(panel) ? MOST_OVERFLOW_OR : MOST_OVERFLOW;
    for (unsigned i = 0; i < panel->cells; i++)
        most = fmax(most, panel_spread(panel, &panel->results[i], overflow_share).most);
    snprintf(what, sizeof what, "overflow at most %.0f %% of the entries", 100 * limit);
    claim_about(panel, what, most <= limit, "%.3f %% of the entries at most", 100 * most);
}

/* Of the frames in Table 6.1. */
static void claim_gzip(const struct grow_only *experiment)
{
    double least = INFINITY, most = 0;
    for (int contender = 0; contender <= GCF; contender++)
        for (int split = 0; split < 2; split++) {
            const struct panel *panel = &experiment->panels[contender];
            const struct cell *cell = split ? split_cell(panel) : &panel->results[LOCAL_CELL];
            double ratio = panel_spread(panel, cell, gzip_bytes_an_element).mean /
                           panel_spread(panel, cell, bytes_an_element).mean;
            least = fmin(least, ratio);
            most = fmax(most, ratio);
        }
    claim("gzip makes grow-only frames no smaller", least >= 0.99, "%.4f to %.4f of their bytes", least, most);
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

static void claim_work_was_done(const struct panel *panel)
{
    const struct cell *cell = &panel->results[LOCAL_CELL];
    struct spread local = panel_spread(panel, cell, load_by_elements);
    claim_about(panel, "was filled until it refused", local.most < 1 && local.least > 0.95,
                "after %.2f %% of the keys, %.2f %% of the slots", 100 * local.mean,
                100 * panel_spread(panel, cell, load_by_entries).mean);
}

static void claim_cuckoo(const struct panel *panel)
{
    claim_of_all(panel, "has a slot a key", has_slot_a_key);
    claim_work_was_done(panel);
    claim_cuckoo_bound(panel);
    claim_cuckoo_expectation(panel);
    claim_small_overflow(panel);
}

void grow_only_claims(const struct grow_only *experiment)
{
    const struct panel *panels = experiment->panels;
    for (int contender = 0; contender < CONTENDERS; contender++) {
        claim_replication(&panels[contender]);
        if (contender != ORCF) /* whose state also has the actors, which differ for every split */
            claim_one_state(&panels[contender]);
    }
    for (int contender = GBF_CLASSIC; contender <= GBF_BLOCKED; contender++) {
        claim_of_all(&panels[contender], "takes every key", took_all);
        claim_of_all(&panels[contender], "has five probes", has_five_probes);
        claim_bloom_rate(&panels[contender]);
    }
    claim_cuckoo(&panels[GCF]);
    claim_cuckoo(&panels[ORCF]);
    claim_of_all(&panels[ORCF], "has one entry an element", has_entry_an_element);
    claim_sizes(&panels[GBF_CLASSIC], MOST_BLOOM_BYTES);
    claim_sizes(&panels[GCF], MOST_CUCKOO_BYTES);
    claim_gzip(experiment);
    claim_sets(experiment);
}
