/*
 * The experiments of the thesis and of the paper on forgetful filters, and what a sync costs: runs them, states each
 * claim with the figure behind it, writes the tables.
 *
 *     roost-eval [--short | --full] [--out DIRECTORY] [--seed NUMBER]
 *
 * --short   2^16 keys, four repeats; with removes 2^20 operations, once: seconds; what `make check` runs
 * --full    2^20 keys, five repeats, as in the thesis: minutes; what `make repro` runs
 * --out     write the CSV files there
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
#include "fatal.h"
#include "forgetful.h"
#include "grow_only.h"
#include "observed_remove.h"
#include "sync_bytes.h"

#define DEFAULT_SEED 20240601

static const struct scale short_scale = {
    .name = "short",
    .keys = (size_t)1 << 16,
    .fresh_keys = (size_t)1 << 20,
    .repeats = 4,
    .intervals = 3,
    .first_interval = 1000,
    .operations = (size_t)1 << 20,
    .operation_repeats = 1,
    .counted = 1000,
    .days = 60,
};

static const struct scale full_scale = {
    .name = "full",
    .keys = (size_t)1 << 20,
    .fresh_keys = (size_t)1 << 20,
    .repeats = 5,
    .intervals = 5,
    .first_interval = 1000,
    .operations = (size_t)1 << 20,
    .operation_repeats = 5,
    .counted = 5000,
    .days = 365,
    .says_where_it_is = true,
};

struct options {
    struct scale scale;
    const char *directory; /* NULL: write nothing */
    uint64_t seed;
};

static const char usage[] = "usage: roost-eval [--short | --full] [--out DIRECTORY] [--seed NUMBER]\n";

static uint64_t read_seed(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 0);
    if (errno || end == text || *end || *text == '-')
        fatal(text, "not a seed");
    return seed;
}

static struct options read_options(int count, char **arguments)
{
    static const struct option known[] = {
        {"short", no_argument, NULL, 's'},      {"full", no_argument, NULL, 'f'}, {"out", required_argument, NULL, 'o'},
        {"seed", required_argument, NULL, 'e'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0},
    };
    struct options options = {.scale = short_scale, .seed = DEFAULT_SEED};
    for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        if (option == 's')
            options.scale = short_scale;
        else if (option == 'f')
            options.scale = full_scale;
        else if (option == 'o')
            options.directory = optarg;
        else if (option == 'e')
            options.seed = read_seed(optarg);
        else {
            fputs(usage, option == 'h' ? stdout : stderr);
            exit(option == 'h' ? 0 : 2);
        }
    }
    if (optind < count)
        fatal(arguments[optind], "no such argument");
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
    struct grow_only *experiment = must_allocate(1, sizeof *experiment);
    grow_only_run(experiment, options->scale, options->seed);
    grow_only_claims(experiment);
    if (options->directory) {
        FILE *figure = open_table(options->directory, "figure-6.1-grow-only.csv");
        grow_only_write_figure(experiment, figure);
        close_table(figure, "figure-6.1-grow-only.csv");
        FILE *table = open_table(options->directory, "table-6.1.csv");
        grow_only_write_table(experiment, table);
        close_table(table, "table-6.1.csv");
    }
    free(experiment);
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
    sync_bytes_claims(&experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "sync-bytes.csv");
        sync_bytes_write_table(&experiment, table);
        close_table(table, "sync-bytes.csv");
    }
}

static void evaluate_windows(const struct options *options)
{
    struct forgetful *experiment = must_allocate(1, sizeof *experiment);
    forgetful_run(experiment, options->scale, options->seed);
    forgetful_claims(experiment);
    if (options->directory) {
        FILE *table = open_table(options->directory, "forgetful-bloom.csv");
        forgetful_write_table(experiment, table);
        close_table(table, "forgetful-bloom.csv");
    }
    free(experiment);
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

int main(int count, char **arguments)
{
    struct options options = read_options(count, arguments);
    printf("roost-eval %s: %zu keys, %u repeats, seed %llu\n", options.scale.name, options.scale.keys,
           options.scale.repeats, (unsigned long long)options.seed);
    fflush(stdout);
    evaluate_growth(&options);
    evaluate_removal(&options);
    evaluate_syncs(&options);
    evaluate_windows(&options);
    evaluate_counters(&options);
    printf("%u claims, %u failed\n", claims_made(), claims_failed());
    return claims_failed() ? 1 : 0;
}
