/*
 * The papers' own experiments on Roost's filters, multisets, gossip, windows and counters, and what a sync costs. Runs
 * them, prints each claim with its figure, and writes the tables.
 *
 *     roost-eval [--short | --medium | --full | --sample] [--out DIRECTORY] [--seed NUMBER] [--only EXPERIMENT]
 *                [--repeats NUMBER] [--jobs NUMBER]
 *
 * --short   2^16 keys, two repeats; with removes 2^18 operations, once: seconds; what `make check` runs
 * --medium  2^16 keys, four repeats; with removes 2^20 operations, once: a minute; what `make check-long` runs
 * --full    2^20 keys, five repeats, as in the thesis: minutes; what `make repro` runs
 * --sample  a few rows of the tables of --full, without claims: seconds; tests/fresh compares them with eval/results
 * --out     write the CSV files there: tables, and the claims of each experiment
 * --only    one experiment, by its name in the list at the end of this file
 * --repeats of filters that grow, 1 to 5, where there is no time for as many as the form has; the tables say how many
 * --jobs    how many repeats of Figure 6.1 run side by side, each in a process of its own; 1 unless told
 *
 * Exit: 0 all claims hold, 1 one failed, 2 it could not run.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "counting.h"
#include "counting_cuckoo.h"
#include "differentiated_bit.h"
#include "distributed_bloom.h"
#include "fatal.h"
#include "forgetful.h"
#include "grow_only.h"
#include "grown_removal.h"
#include "heal.h"
#include "observed_remove.h"
#include "parallel_picks.h"
#include "repeats.h"
#include "scalable.h"
#include "specification.h"
#include "sync_bytes.h"
#include "unsafe_removal.h"

#define DEFAULT_SEED 20240601

static const struct scale short_scale = {
    .name = "short",
    .keys = (size_t)1 << 16,
    .fresh_keys = (size_t)1 << 19,
    .repeats = 2,
    .intervals = 3,
    .first_interval = 1000,
    .series_fresh_keys = (size_t)1 << 17,
    .series_repeats = 1,
    .healing = (size_t)1 << 14,
    .removes = 100000,
    .operations = (size_t)1 << 18,
    .operation_repeats = 1,
    .picks = 200,
    .networks = 2,
    .roots = 16000,
    .root_repeats = 2,
    .bit_trials = 40,
    .largest_table = 13,
    .counted = 1000,
    .rare_probes = 400000,
    .days = 60,
};

static const struct scale medium_scale = {
    .name = "medium",
    .keys = (size_t)1 << 16,
    .fresh_keys = (size_t)1 << 20,
    .repeats = 4,
    .intervals = 3,
    .first_interval = 1000,
    .series_fresh_keys = (size_t)1 << 18,
    .series_repeats = 2,
    .healing = (size_t)1 << 14,
    .removes = 100000,
    .operations = (size_t)1 << 20,
    .operation_repeats = 1,
    .picks = 1000,
    .networks = 2,
    .roots = 16000,
    .root_repeats = 3,
    .bit_trials = 200,
    .largest_table = 14,
    .counted = 1000,
    .rare_probes = 2000000,
    .days = 60,
    .gzips = true,
};

static const struct scale full_scale = {
    .name = "full",
    .keys = (size_t)1 << 20,
    .fresh_keys = (size_t)1 << 20,
    .repeats = 5,
    .intervals = 5,
    .first_interval = 1000,
    .series_fresh_keys = (size_t)1 << 20,
    .series_repeats = 5,
    .healing = (size_t)1 << 17,
    .removes = 1000000,
    .operations = (size_t)1 << 20,
    .operation_repeats = 5,
    .picks = 5000,
    .networks = 20,
    .roots = 64000,
    .root_repeats = 5,
    .bit_trials = 500,
    .largest_table = 21,
    .counted = 5000,
    .rare_probes = 400000000,
    .days = 365,
    .says_where_it_is = true,
    .gzips = true,
};

/* Tables that are small enough, one network, the first repeat; the rest is where `sample` is read. */
static struct scale sample_scale(void)
{
    struct scale scale = full_scale;
    scale.name = "sample";
    scale.series_repeats = 1;
    scale.networks = 1;
    scale.largest_table = 10;
    scale.says_where_it_is = false;
    scale.sample = true;
    return scale;
}

struct options {
    struct scale scale;
    const char *directory; /* NULL: write nothing */
    uint64_t seed;
    const char *only; /* NULL: all experiments */
};

static const char usage[] =
    "usage: roost-eval [--short | --medium | --full | --sample] [--out DIRECTORY] [--seed NUMBER] [--only EXPERIMENT]\n"
    "                  [--repeats NUMBER] [--jobs NUMBER]\n";

static uint64_t read_number(const char *text, const char *otherwise)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 0);
    if (errno || end == text || *end || *text == '-')
        fatal(text, otherwise);
    return number;
}

static unsigned read_repeats(const char *text)
{
    uint64_t repeats = read_number(text, "not a number of repeats");
    if (repeats < 1 || repeats > MOST_REPEATS)
        fatal(text, "repeats are 1 to 5");
    return (unsigned)repeats;
}

static struct options read_options(int count, char **arguments)
{
    static const struct option known[] = {
        {"short", no_argument, NULL, 's'},
        {"medium", no_argument, NULL, 'm'},
        {"full", no_argument, NULL, 'f'},
        {"out", required_argument, NULL, 'o'},
        {"seed", required_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},
        {"only", required_argument, NULL, 'y'},
        {"sample", no_argument, NULL, 'a'},
        {"repeats", required_argument, NULL, 'r'},
        {"jobs", required_argument, NULL, 'j'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.scale = short_scale, .seed = DEFAULT_SEED};
    unsigned jobs = 1, repeats = 0;
    for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        if (option == 's')
            options.scale = short_scale;
        else if (option == 'm')
            options.scale = medium_scale;
        else if (option == 'f')
            options.scale = full_scale;
        else if (option == 'a')
            options.scale = sample_scale();
        else if (option == 'o')
            options.directory = optarg;
        else if (option == 'e')
            options.seed = read_number(optarg, "not a seed");
        else if (option == 'j')
            jobs = (unsigned)read_number(optarg, "not a number of jobs");
        else if (option == 'r')
            repeats = read_repeats(optarg);
        else if (option == 'y')
            options.only = optarg;
        else {
            fputs(usage, option == 'h' ? stdout : stderr);
            exit(option == 'h' ? 0 : 2);
        }
    }
    if (optind < count)
        fatal(arguments[optind], "no such argument");
    options.scale.at_once = jobs;
    if (repeats)
        options.scale.series_repeats = repeats;
    return options;
}

static FILE *open_table(const char *directory, const char *name)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        fatal(directory, "too long a name");
    FILE *csv = fopen(path, "w");
    if (!csv)
        fatal(path, strerror(errno));
    return csv;
}

static void close_table(FILE *csv, const char *name)
{
    if (ferror(csv) | fclose(csv))
        fatal(name, "not written");
}

static void evaluate_growth(const struct options *options)
{
    struct grow_only *experiment = must_share(sizeof *experiment);
    grow_only_run(experiment, options->scale, options->seed);
    if (!options->scale.sample)
        grow_only_claims(experiment);
    if (options->directory) {
        FILE *first = open_table(options->directory, "figure-6.1-grow-only-first.csv");
        grow_only_write_first_repeat(experiment, first);
        close_table(first, "figure-6.1-grow-only-first.csv");
    }
    if (options->directory && !options->scale.sample) {
        FILE *figure = open_table(options->directory, "figure-6.1-grow-only.csv");
        grow_only_write_figure(experiment, figure);
        close_table(figure, "figure-6.1-grow-only.csv");
        FILE *table = open_table(options->directory, "table-6.1.csv");
        grow_only_write_table(experiment, table);
        close_table(table, "table-6.1.csv");
    }
}

static void evaluate_series(const struct options *options)
{
    struct scalable *experiment = must_share(sizeof *experiment);
    scalable_run(experiment, options->scale, options->seed);
    if (!options->scale.sample)
        scalable_claims(experiment);
    if (options->directory) {
        FILE *first = open_table(options->directory, "figure-6.1-scalable-first.csv");
        scalable_write_first_repeat(experiment, first);
        close_table(first, "figure-6.1-scalable-first.csv");
    }
    if (options->directory && !options->scale.sample) {
        FILE *figure = open_table(options->directory, "figure-6.1-scalable.csv");
        scalable_write_figure(experiment, figure);
        close_table(figure, "figure-6.1-scalable.csv");
    }
}

static void evaluate_removal(const struct options *options)
{
    struct observed_remove *experiment = must_allocate(1, sizeof *experiment);
    observed_remove_run(experiment, options->scale, options->seed);
    observed_remove_claims(experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "table-6.2.csv");
        observed_remove_write_table(experiment, table);
        close_table(table, "table-6.2.csv");
    }
    free(experiment);
}

static void evaluate_syncs(const struct options *options)
{
    struct sync_bytes experiment;
    sync_bytes_run(&experiment, options->scale, options->seed);
    if (!options->scale.sample)
        sync_bytes_claims(&experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "sync-bytes.csv");
        sync_bytes_write_table(&experiment, table);
        close_table(table, "sync-bytes.csv");
    }
}

static void evaluate_multisets(const struct options *options)
{
    static const struct {
        const char *name;
        void (*write)(const struct counting_cuckoo *experiment, FILE *csv);
        bool in_sample;
    } tables[] = {
        {"counting-cuckoo-occupancy.csv", counting_cuckoo_write_occupancy, true},
        {"counting-cuckoo-accuracy.csv", counting_cuckoo_write_accuracy, false},
        {"counting-cuckoo-times.csv", counting_cuckoo_write_times, false},
        {"counting-cuckoo-collisions.csv", counting_cuckoo_write_collisions, true},
        {"counting-cuckoo-sizes.csv", counting_cuckoo_write_sizes, true},
    };
    struct counting_cuckoo *experiment = must_allocate(1, sizeof *experiment);
    counting_cuckoo_run(experiment, options->scale, options->seed);
    if (!options->scale.sample)
        counting_cuckoo_claims(experiment);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && options->directory; i++) {
        if (options->scale.sample && !tables[i].in_sample)
            continue;
        FILE *table = open_table(options->directory, tables[i].name);
        tables[i].write(experiment, table);
        close_table(table, tables[i].name);
    }
    free(experiment);
}

static void evaluate_differentiated_bit(const struct options *options)
{
    struct differentiated_bit experiment;
    differentiated_bit_run(&experiment, options->scale, options->seed);
    if (!options->scale.sample)
        differentiated_bit_claims(&experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "counting-cuckoo-bit.csv");
        differentiated_bit_write_table(&experiment, table);
        close_table(table, "counting-cuckoo-bit.csv");
    }
}

static void evaluate_gossip(const struct options *options)
{
    struct distributed_bloom *experiment = must_allocate(1, sizeof *experiment);
    distributed_bloom_run(experiment, options->scale, options->seed);
    if (!options->scale.sample)
        distributed_bloom_claims(experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "distributed-bloom.csv");
        distributed_bloom_write_table(experiment, table);
        close_table(table, "distributed-bloom.csv");
    }
    if (options->directory && !options->scale.sample) { /* curves are over all networks */
        FILE *curves = open_table(options->directory, "distributed-bloom-curves.csv");
        distributed_bloom_write_curves(experiment, curves);
        close_table(curves, "distributed-bloom-curves.csv");
        FILE *participants = open_table(options->directory, "distributed-bloom-participants.csv");
        distributed_bloom_write_participants(experiment, participants);
        close_table(participants, "distributed-bloom-participants.csv");
        FILE *neighbours = open_table(options->directory, "distributed-bloom-neighbours.csv");
        distributed_bloom_write_neighbours(experiment, neighbours);
        close_table(neighbours, "distributed-bloom-neighbours.csv");
    }
    free(experiment);
}

static void evaluate_windows(const struct options *options)
{
    struct forgetful *experiment = must_allocate(1, sizeof *experiment);
    forgetful_run(experiment, options->scale, options->seed);
    if (!options->scale.sample)
        forgetful_claims(experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "forgetful-bloom.csv");
        forgetful_write_table(experiment, table);
        close_table(table, "forgetful-bloom.csv");
    }
    free(experiment);
}

static void evaluate_partitions(const struct options *options)
{
    struct heal *experiment = must_allocate(1, sizeof *experiment);
    heal_run(experiment, options->scale, options->seed);
    if (!options->scale.sample)
        heal_claims(experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "heal.csv");
        heal_write_table(experiment, table);
        close_table(table, "heal.csv");
    }
    free(experiment);
}

static void evaluate_grown_removal(const struct options *options)
{
    struct grown_removal experiment;
    grown_removal_run(&experiment, options->scale, options->seed);
    grown_removal_claims(&experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "grown-removal.csv");
        grown_removal_write_table(&experiment, table);
        close_table(table, "grown-removal.csv");
    }
}

static void evaluate_unsafe_removal(const struct options *options)
{
    struct parallel_picks picks;
    struct unsafe_removal whole;
    parallel_picks_run(&picks, options->scale, options->seed);
    unsafe_removal_run(&whole, options->scale, options->seed);
    if (!options->scale.sample) {
        parallel_picks_claims(&picks);
        unsafe_removal_claims(&whole);
    }
    if (options->directory) {
        FILE *table = open_table(options->directory, "equation-3.19.csv");
        parallel_picks_write_table(&picks, table);
        close_table(table, "equation-3.19.csv");
        FILE *strangers = open_table(options->directory, "unsafe-removal.csv");
        unsafe_removal_write_strangers(&whole, strangers);
        close_table(strangers, "unsafe-removal.csv");
        FILE *parallel = open_table(options->directory, "parallel-removal.csv");
        unsafe_removal_write_parallel(&whole, parallel);
        close_table(parallel, "parallel-removal.csv");
    }
}

static void evaluate_specifications(const struct options *options)
{
    struct specification experiment;
    specification_run(&experiment);
    if (!options->scale.sample)
        specification_claims(&experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "table-4.1.csv");
        specification_write_table(&experiment, table);
        close_table(table, "table-4.1.csv");
    }
}

static void evaluate_counters(const struct options *options)
{
    struct counting experiment;
    counting_run(&experiment, options->scale, options->seed);
    counting_claims(&experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "figure-14.csv");
        counting_write_table(&experiment, table);
        close_table(table, "figure-14.csv");
    }
}

static const struct experiment {
    const char *name;
    void (*evaluate)(const struct options *options);
    bool in_sample;
} experiments[] = {
    {"growth", evaluate_growth, true},
    {"removal", evaluate_removal, false},
    {"syncs", evaluate_syncs, true},
    {"series", evaluate_series, true},
    {"partitions", evaluate_partitions, true},
    {"grown-removal", evaluate_grown_removal, false},
    {"multisets", evaluate_multisets, true},
    {"gossip", evaluate_gossip, true},
    {"windows", evaluate_windows, true},
    {"counters", evaluate_counters, false},
    {"unsafe-removal", evaluate_unsafe_removal, true},
    {"specifications", evaluate_specifications, true},
    {"differentiated-bit", evaluate_differentiated_bit, true},
};

static bool is_wanted(const struct experiment *experiment, const struct options *options)
{
    bool named = !options->only || strcmp(options->only, experiment->name) == 0;
    return named && (experiment->in_sample || !options->scale.sample);
}

static void evaluate(const struct experiment *experiment, const struct options *options)
{
    char name[64];
    if (!options->directory || options->scale.sample) {
        experiment->evaluate(options);
        return;
    }
    snprintf(name, sizeof name, "claims-%s.csv", experiment->name);
    FILE *claims = open_table(options->directory, name);
    claims_write_to(claims);
    experiment->evaluate(options);
    claims_write_to(NULL);
    close_table(claims, name);
}

int main(int count, char **arguments)
{
    struct options options = read_options(count, arguments);
    bool any = false;
    printf("roost-eval %s: %zu keys, %u repeats, seed %llu\n", options.scale.name, options.scale.keys,
           options.scale.repeats, (unsigned long long)options.seed);
    fflush(stdout);
    for (size_t i = 0; i < sizeof experiments / sizeof *experiments; i++)
        if (is_wanted(&experiments[i], &options)) {
            evaluate(&experiments[i], &options);
            any = true;
        }
    if (!any)
        fatal(options.only, "no such experiment");
    printf("%u claims, %u failed\n", claims_made(), claims_failed());
    return claims_failed() ? 1 : 0;
}
