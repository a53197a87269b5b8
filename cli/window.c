/*
 * roost window: keys of the last minutes, hours or days. `add` and `check` work on a file as roost add and roost check
 * do, `dedup` on a pipe.
 */
#include <stdio.h>
#include <string.h>

#include "window_dedup.h"
#include "cli/base/interrupt.h"
#include "cli/base/json.h"
#include "cli/lines/keys.h"
#include "cli/base/messages.h"
#include "cli/base/nearest_word.h"
#include "cli/base/numbers.h"
#include "cli/base/progress.h"
#include "cli/file/timed_file.h"
#include "verb.h"

static struct {
    struct timed_settings timed;
    struct key_options keys;
    bool verbose, count, quiet, json, stamped;
    uint64_t step, threads;
} settings;

static const struct option options[] = {
    TIMED_OPTIONS(settings.timed,
                  "keys expected in one window (default 100,000; dedup 1M); more take more memory, at the same rate"),
    RESUME_OPTION(settings.timed),
    KEY_OPTIONS(settings.keys),
    {.name = "stamped",
     .type = OPTION_BOOLEAN,
     .place = &settings.stamped,
     .help = "dedup: each line begins with its time in seconds and a space; the rest is the key"},
    {.name = "step",
     .type = OPTION_DURATION,
     .place = &settings.step,
     .value = "TIME",
     .help = "dedup: each line is that much later than the one before, instead of the clock"},
    {.name = "verbose",
     .letter = 'v',
     .type = OPTION_BOOLEAN,
     .place = &settings.verbose,
     .help = "add: print how many keys there were and how many were new; check: select the keys that are not in the "
             "window"},
    {.name = "count",
     .letter = 'c',
     .type = OPTION_BOOLEAN,
     .place = &settings.count,
     .help = "check: print only how many keys were selected"},
    {.name = "quiet", .letter = 'q', .type = OPTION_BOOLEAN, .place = &settings.quiet, .help = "check: print nothing"},
    {.name = "json", .type = OPTION_BOOLEAN, .place = &settings.json, .help = "print counts as a JSON object"},
    THREADS_OPTION(settings.threads, "dedup: "),
    {0},
};

struct tally {
    uint64_t keys, selected;
};

/* ---- add ------------------------------------------------------------------------------------------------------- */

static bool add_all(struct filter_file *file, const struct arguments *arguments, struct tally *tally)
{
    static struct key_source source;
    static bool seen[KEYS_AT_ONCE];
    size_t count;
    bool fine;
    key_source_open(&source, arguments, 2, &settings.keys);
    progress_begin("keys", key_source_is_typed(&source), false);
    while ((fine = key_source_next(&source, &count)) && count > 0) {
        roost_status status =
            roost_window_add_many(file->filter, seen, NULL, source.keys, count, timed_now(&settings.timed));
        if (status != ROOST_OK) {
            fine = complain_of_status(file->name, status);
            break;
        }
        tally->keys += count;
        for (size_t i = 0; i < count; i++)
            tally->selected += !seen[i];
        progress_count(tally->keys);
    }
    progress_erase();
    if (fine)
        key_source_hint(&source, "added", "window add", file->name);
    key_source_close(&source);
    return fine;
}

static void report_added(const struct tally *tally)
{
    char keys[THINGS_ROOM], fresh[COUNT_ROOM];
    struct json json;
    format_things(keys, tally->keys, "key");
    format_count(fresh, tally->selected);
    if (settings.json) {
        json_begin(&json);
        json_count(&json, "keys", tally->keys);
        json_count(&json, "new", tally->selected);
        json_end(&json);
    } else if (settings.verbose) {
        printf("%s, %s new\n", keys, fresh);
    }
}

static int run_add(const struct arguments *arguments)
{
    struct filter_file file = {0};
    struct tally tally = {0};
    interrupt_catch();
    bool done = timed_file_open(&file, arguments->operands[1], &settings.timed, ROOST_WINDOW) &&
                add_all(&file, arguments, &tally) && filter_file_save(&file);
    if (done)
        report_added(&tally);
    filter_file_close(&file);
    return done ? EXIT_FINE : EXIT_ERROR;
}

/* ---- check ----------------------------------------------------------------------------------------------------- */

static bool prints_keys(void)
{
    return !settings.count && !settings.quiet && !settings.json;
}

static void check_key(const roost_filter *window, roost_bytes key, struct tally *tally)
{
    bool found = roost_window_contains(window, key.data, key.size, timed_now(&settings.timed));
    tally->keys++;
    if (found == settings.verbose)
        return;
    tally->selected++;
    if (prints_keys()) {
        fwrite_unlocked(key.data, 1, key.size, stdout);
        putc_unlocked(key_terminator(&settings.keys), stdout);
    }
}

static bool check_all(const roost_filter *window, const struct arguments *arguments, struct tally *tally)
{
    static struct key_source source;
    size_t count;
    bool fine;
    key_source_open(&source, arguments, 2, &settings.keys);
    progress_begin("keys", key_source_is_typed(&source), prints_keys());
    while ((fine = key_source_next(&source, &count)) && count > 0) {
        for (size_t i = 0; i < count; i++)
            check_key(window, source.keys[i], tally);
        if (!(fine = finish_output()))
            break;
        progress_count(tally->keys);
    }
    progress_erase();
    if (fine && !settings.quiet)
        key_source_hint(&source, "checked", "window check", arguments->operands[1]);
    key_source_close(&source);
    return fine;
}

static int run_check(const struct arguments *arguments)
{
    struct filter_file file = {0};
    struct tally tally = {0};
    struct json json;
    bool fine = filter_file_look(&file, arguments->operands[1]) &&
                timed_file_fits(&file, &settings.timed, ROOST_WINDOW) && check_all(file.filter, arguments, &tally);
    filter_file_close(&file);
    if (!fine)
        return EXIT_ERROR;
    if (settings.json) {
        json_begin(&json);
        json_count(&json, "keys", tally.keys);
        json_count(&json, "selected", tally.selected);
        json_end(&json);
    } else if (settings.count) {
        printf("%llu\n", (unsigned long long)tally.selected);
    }
    return tally.selected > 0 ? EXIT_FINE : EXIT_NONE;
}

/* ---- the verb -------------------------------------------------------------------------------------------------- */

static int run_dedup(const struct arguments *arguments)
{
    const struct dedup_settings dedup_settings = {&settings.timed, settings.stamped,
                                                  settings.step,   key_terminator(&settings.keys),
                                                  settings.json,   settings.threads};
    if (arguments->count > 1)
        return complain(arguments->operands[1], "one argument too many; dedup reads standard input"), EXIT_ERROR;
    if (settings.keys.files.count > 0)
        return complain("--file", "only for add and check; dedup reads standard input"), EXIT_ERROR;
    if (settings.stamped && (settings.step || settings.timed.time))
        return complain("--stamped", "not together with --step or --time"), EXIT_ERROR;
    return dedup(&dedup_settings) ? EXIT_FINE : EXIT_ERROR;
}

static const char *const actions[] = {"add", "check", "dedup", NULL};

static int run(const struct arguments *arguments)
{
    const char *action = arguments->operands[0];
    bool is_dedup = strcmp(action, "dedup") == 0;
    if (is_dedup)
        return run_dedup(arguments);
    if (strcmp(action, "add") != 0 && strcmp(action, "check") != 0)
        return refuse_word(action, "action", actions), EXIT_ERROR;
    if (arguments->count < 2)
        return complain(action, "FILE is missing; usage: roost window %s FILE [KEY...]", action), EXIT_ERROR;
    if (settings.stamped || settings.step || settings.threads)
        return complain(settings.stamped ? "--stamped"
                        : settings.step  ? "--step"
                                         : "--threads",
                        "only for dedup"),
               EXIT_ERROR;
    return strcmp(action, "add") == 0 ? run_add(arguments) : run_check(arguments);
}

static const char *const operands[] = {"add, check or dedup", NULL};

const struct verb verb_window = {
    .name = "window",
    .synopsis = "add|check FILE [KEY...] [-f KEYS] [-0] [OPTION...] | dedup --window TIME [-0] [OPTION...]",
    .summary = "keep keys for a time, then drop them",
    .details = "window add FILE adds keys, which expire by themselves after --window; a missing FILE is created "
               "if --window is given.\n\n"
               "window check FILE prints the keys that were added within the window, with the exit status of "
               "roost check. KEY is as in roost add.\n\n"
               "window dedup copies lines from standard input to standard output, except those that occurred "
               "within the window. It takes 9 to 32 bytes of memory for each distinct line of one window, and "
               "stops with an error if there is no more memory.\n\n"
               "merge, sync, info and digest accept window files, too.",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .run = run,
};
