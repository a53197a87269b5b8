/*
 * The thesis's own experiments on Roost's filters: runs them, states each claim with the figure behind it, writes the
 * tables.
 *
 *     roost-eval [--short | --full] [--out DIRECTORY] [--seed NUMBER]
 *
 * --short   2^16 keys, four repeats: seconds; what `make check` runs
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
#include "fatal.h"
#include "grow_only.h"

#define DEFAULT_SEED 20240601

static const struct scale short_scale = {
    .name = "short",
    .keys = (size_t)1 << 16,
    .fresh_keys = (size_t)1 << 20,
    .repeats = 4,
    .intervals = 3,
    .first_interval = 1000,
};

static const struct scale full_scale = {
    .name = "full",
    .keys = (size_t)1 << 20,
    .fresh_keys = (size_t)1 << 20,
    .repeats = 5,
    .intervals = 5,
    .first_interval = 1000,
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

typedef void table_writer(const struct grow_only *experiment, FILE *csv);

static void write_table(const struct grow_only *experiment, const char *directory, const char *name,
                        table_writer *writer)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        fatal(directory, "too long a name");
    FILE *csv = fopen(path, "w");
    if (!csv)
        fatal(path, strerror(errno));
    writer(experiment, csv);
    if (ferror(csv) | fclose(csv))
        fatal(path, "not written");
}

int main(int count, char **arguments)
{
    struct options options = read_options(count, arguments);
    struct grow_only *experiment = must_allocate(1, sizeof *experiment);
    printf("roost-eval %s: %zu keys, %u repeats, seed %llu\n", options.scale.name, options.scale.keys,
           options.scale.repeats, (unsigned long long)options.seed);
    fflush(stdout);
    grow_only_run(experiment, options.scale, options.seed);
    grow_only_claims(experiment);
    if (options.directory) {
        write_table(experiment, options.directory, "figure-6.1-grow-only.csv", grow_only_write_figure);
        write_table(experiment, options.directory, "table-6.1.csv", grow_only_write_table);
    }
    free(experiment);
    printf("%u claims, %u failed\n", claims_made(), claims_failed());
    return claims_failed() ? 1 : 0;
}
