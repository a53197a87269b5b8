/* Files of windows and counters: their common options, how they are created, and the present time. */
#ifndef CLI_FILE_TIMED_FILE_H
#define CLI_FILE_TIMED_FILE_H

#include "filter_file.h"
#include "cli/base/options.h"

struct timed_settings {
    uint64_t window, capacity, past; /* 0: not given */
    double fpr;
    struct seed_option seed;
    uint64_t time; /* 0: the system clock */
    bool resume;
};

/* The options for these settings, for the option tables of the verbs. */
#define TIMED_OPTIONS(settings, capacity_help)                                                                         \
    {.name = "window",                                                                                                 \
     .type = OPTION_DURATION,                                                                                          \
     .place = &(settings).window,                                                                                      \
     .value = "TIME",                                                                                                  \
     .help = "how long keys are kept at least: 60s, 10m, 1.5h, 2d"},                                                   \
        {.name = "capacity",                                                                                           \
         .type = OPTION_COUNT,                                                                                         \
         .place = &(settings).capacity,                                                                                \
         .value = "N",                                                                                                 \
         .help = (capacity_help),                                                                                      \
         .least = 1},                                                                                                  \
        {.name = "fpr",                                                                                                \
         .type = OPTION_RATE,                                                                                          \
         .place = &(settings).fpr,                                                                                     \
         .value = "P",                                                                                                 \
         .help = "promised false-positive rate (default 1e-6)"},                                                       \
        {.name = "past",                                                                                               \
         .type = OPTION_COUNT,                                                                                         \
         .place = &(settings).past,                                                                                    \
         .value = "N",                                                                                                 \
         .help = "past slots, 1 to 255 (default 3): with N keys are kept for up to 1/(N+1) longer than the window",    \
         .least = 1,                                                                                                   \
         .most = 255},                                                                                                 \
        {.name = "seed",                                                                                               \
         .type = OPTION_SEED,                                                                                          \
         .place = &(settings).seed,                                                                                    \
         .value = "S",                                                                                                 \
         .help = "seed of the hash (default: a fixed one)"},                                                           \
    {                                                                                                                  \
        .name = "time", .type = OPTION_DURATION, .place = &(settings).time, .value = "T",                              \
        .help = "the present time in seconds since 1970 (default: the system clock)"                                   \
    }

#define RESUME_OPTION(settings)                                                                                        \
    {                                                                                                                  \
        .name = "resume", .type = OPTION_BOOLEAN, .place = &(settings).resume,                                         \
        .help = "accept a clock that is more than a month ahead of FILE"                                               \
    }

roost_config timed_config(const struct timed_settings *settings, roost_kind kind, uint64_t capacity);

/* The time: that of --time, or the system clock's. */
uint64_t timed_now(const struct timed_settings *settings);

/* Locks and loads, for verbs that change a file; creates a missing one if --window is given. */
bool timed_file_open(struct filter_file *file, const char *name, const struct timed_settings *settings,
                     roost_kind kind);
/* Whether the file has this kind, and the window and other values that were given. Complains if not. */
bool timed_file_fits(const struct filter_file *file, const struct timed_settings *settings, roost_kind kind);

#endif
