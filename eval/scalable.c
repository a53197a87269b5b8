/*
 * Series of filters through the schedules of Figure 6.1.
 *
 *     thesis's setting   the first table has room for a quarter of the keys, all others are like it, and each gets half
 *                        of the error rate of the one before. Bloom in the classic layout; observed-remove filters hold
 *                        copies apart
 *     ours               the first table has room for a 64th, and all else is as by default; Bloom blocked
 *
 * Cuckoo kinds have one table of hash prefixes; to them these are the budgets of the lengths of prefixes.
 *
 * Both promise 1/32, to two writers.
 *
 * Claims. The rate that is measured on fresh keys is to be at most the promise in every single run, not in the mean.
 * The exact or expected rate of the state, which does not scatter, is to be so as well, and the two are to agree.
 * Beside the thesis's setting stands what its own rule comes to (thesis_rule.h), to show that the experiment is one
 * that can be failed.
 */
#include "scalable.h"

#include <math.h>

#include "claim.h"
#include "repeats.h"
#include "thesis.h"
#include "thesis_rule.h"

#define OUR_PARTS       64 /* the first table has room for so small a part of the keys */
#define WRITERS         2
#define MOST_DEVIATIONS 5

static const char *const scalable_names[SCALABLE_CONTENDERS] = {"ScGBF5", "ScGCF4", "ScORCF4",
                                                                "ScGBF",  "ScGCF",  "ScORCF"};
static const roost_kind kinds[SCALABLE_CONTENDERS] = {ROOST_BLOOM, ROOST_CUCKOO, ROOST_ORCUCKOO,
                                                      ROOST_BLOOM, ROOST_CUCKOO, ROOST_ORCUCKOO};

static bool is_thesis_setting(enum scalable_contender contender)
{
    return contender <= SCORCF_THESIS;
}

/* ---- configurations and the run ---------------------------------------------------------------------------------- */

static roost_config scalable_config(enum scalable_contender contender, size_t keys)
{
    roost_config config = roost_config_default();
    config.kind = kinds[contender];
    config.fpr = THESIS_FPR;
    config.capacity = keys / OUR_PARTS;
    config.scalable = true;
    config.writers = WRITERS;
    if (!is_thesis_setting(contender))
        return config;
    config.capacity = keys / THESIS_PARTS;
    config.growth = 1;
    config.schedule = ROOST_HALVING;
    config.layout = ROOST_CLASSIC;
    config.multiset = contender == SCORCF_THESIS;
    config.fingerprint_bits = contender == SCORCF_THESIS ? THESIS_FINGERPRINT_BITS : 0; /* at least */
    return config;
}

static void follow_rule(struct scalable *experiment, enum scalable_contender contender)
{
    const struct panel *panel = &experiment->panels[contender];
    for (unsigned i = 0; i < panel->cells && is_thesis_setting(contender); i++)
        experiment->rule[contender][i] =
            thesis_rule_fpr(kinds[contender], panel->scale.keys, panel->results[i].schedule);
}

static void run_repeat(void *context, unsigned repeat)
{
    struct scalable *experiment = context;
    const struct scale *scale = &experiment->scale;
    struct workload workload;
    workload_draw(&workload, experiment->seed + ((uint64_t)repeat << 32), scale->keys, scale->fresh_keys);
    for (int contender = 0; contender < SCALABLE_CONTENDERS; contender++)
        if (!scale->sample || contender >= SCGCF)
            panel_run(&experiment->panels[contender], repeat, &workload);
    workload_release(&workload);
}

void scalable_run(struct scalable *experiment, struct scale scale, uint64_t seed)
{
    scale.repeats = scale.series_repeats;
    scale.fresh_keys = scale.series_fresh_keys;
    *experiment = (struct scalable){.scale = scale, .seed = seed};
    for (int contender = 0; contender < SCALABLE_CONTENDERS; contender++) {
        panel_open(&experiment->panels[contender], scalable_names[contender], scalable_config(contender, scale.keys),
                   scale);
        follow_rule(experiment, contender);
    }
    run_repeats(run_repeat, experiment, scale.repeats, scale.at_once);
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static double rate_of_state(const struct outcome *outcome)
{
    return outcome->info.fpr_now;
}

static double tables(const struct outcome *outcome)
{
    return outcome->info.tables;
}

static double memory_bits_an_element(const struct outcome *outcome)
{
    return 8 * (double)outcome->info.bytes_memory / (double)outcome->elements;
}

static double shortest_prefix(const struct outcome *outcome)
{
    return outcome->info.shortest_prefix;
}

static double longest_prefix(const struct outcome *outcome)
{
    return outcome->info.longest_prefix;
}

static bool keeps_promise(const struct panel *panel, const struct outcome *outcome)
{
    return outcome->fpr <= panel->config.fpr && outcome->info.fpr_now <= panel->config.fpr &&
           outcome->info.promise_holds;
}

static struct spread over_all(const struct panel *panel, measure *quantity)
{
    struct spread all = {panel_means(panel, quantity).mean, INFINITY, -INFINITY};
    for (unsigned i = 0; i < panel->cells; i++) {
        struct spread cell = panel_spread(panel, &panel->results[i], quantity);
        all.least = fmin(all.least, cell.least);
        all.most = fmax(all.most, cell.most);
    }
    return all;
}

static void claim_promise(const struct panel *panel)
{
    struct spread measured = over_all(panel, measured_fpr), state = over_all(panel, rate_of_state);
    unsigned runs = panel_count(panel, any_outcome), kept = panel_count(panel, keeps_promise);
    claim_about(panel, "FPR at most the promise in every cell", kept == runs,
                "in %u of %u runs; %.5f %% to %.5f %%, of the state %.5f %% to %.5f %%, promised %.3f %%", kept, runs,
                100 * measured.least, 100 * measured.most, 100 * state.least, 100 * state.most,
                100 * panel->config.fpr);
}

/* What is reported of a filter that holds copies counts elements of one class twice. */
static double due_rate(const struct outcome *outcome)
{
    return outcome->holds_copies ? -expm1(-outcome->info.fpr_now) : outcome->info.fpr_now;
}

static void claim_rate_is_known(const struct panel *panel)
{
    double worst = 0, trials = (double)panel->scale.fresh_keys * panel->scale.repeats;
    for (unsigned i = 0; i < panel->cells; i++) {
        double due = panel_spread(panel, &panel->results[i], due_rate).mean;
        double off = panel_spread(panel, &panel->results[i], measured_fpr).mean - due;
        worst = fmax(worst, fabs(off) / sqrt(due * (1 - due) / trials));
    }
    claim_about(panel, "measured FPR agrees with the reported one", worst <= MOST_DEVIATIONS,
                "%.2f standard deviations at most", worst);
}

static bool grew(const struct panel *panel, const struct outcome *outcome)
{
    /* one table of prefixes grows by longer ones */
    bool several = outcome->info.tables >= 2 || outcome->info.longest_prefix > outcome->info.shortest_prefix;
    return several && outcome->elements == panel->scale.keys;
}

/* Where replicas meet once, at the end. */
static void claim_rule_fails(const struct scalable *experiment, enum scalable_contender contender)
{
    const struct panel *panel = &experiment->panels[contender];
    double rule = experiment->rule[contender][panel->scale.intervals];
    claim_about(panel, "with the thesis's own rule would miss the promise", rule > THESIS_FPR,
                "%.2f %% expected, 50-50, merged at the end", 100 * rule);
}

void scalable_claims(const struct scalable *experiment)
{
    for (int contender = 0; contender < SCALABLE_CONTENDERS; contender++) {
        const struct panel *panel = &experiment->panels[contender];
        claim_replication(panel);
        claim_of_all(panel, "takes every key and grows", grew);
        claim_promise(panel);
        claim_rate_is_known(panel);
        if (is_thesis_setting(contender))
            claim_rule_fails(experiment, contender);
    }
}

/* ---- Figure 6.1d,e,f --------------------------------------------------------------------------------------------- */

static void write_cell(const struct panel *panel, const struct cell *cell, double rule, FILE *csv)
{
    panel_write_cell(panel, cell, csv);
    fprintf(csv, ",%.3e,%.6f,", panel_spread(panel, cell, rate_of_state).mean, panel->config.fpr);
    if (rule > 0)
        fprintf(csv, "%.6f", rule);
    fprintf(csv, ",%.1f,%.1f,%.3f,%.3f,%.0f,%.0f", panel_spread(panel, cell, elements).mean,
            panel_spread(panel, cell, tables).mean, 8 * panel_spread(panel, cell, bytes_an_element).mean,
            panel_spread(panel, cell, memory_bits_an_element).mean, panel_spread(panel, cell, shortest_prefix).least,
            panel_spread(panel, cell, longest_prefix).most);
    panel_write_faults(panel, cell, csv);
}

void scalable_write_figure(const struct scalable *experiment, FILE *csv)
{
    fprintf(csv, "filter,split,sync_every,repeats,fpr_mean,fpr_min,fpr_max,fpr_of_state,fpr_promised,"
                 "fpr_thesis_rule,elements,tables,frame_bits_an_element,memory_bits_an_element,"
                 "shortest_prefix,longest_prefix,false_negatives,replicas_agree\n");
    for (int contender = 0; contender < SCALABLE_CONTENDERS; contender++)
        for (unsigned i = 0; i < experiment->panels[contender].cells; i++)
            write_cell(&experiment->panels[contender], &experiment->panels[contender].results[i],
                       experiment->rule[contender][i], csv);
}

void scalable_write_first_repeat(const struct scalable *experiment, FILE *csv)
{
    panel_write_first_repeat_header(csv);
    for (int contender = 0; contender < SCALABLE_CONTENDERS; contender++)
        panel_write_first_repeat(&experiment->panels[contender], csv);
}
