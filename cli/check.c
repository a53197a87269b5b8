/* roost check: prints the keys that are in a filter, with options and exit status like those of grep. */
#include <stdio.h>

#include "cli/file/filter_file.h"
#include "cli/base/json.h"
#include "cli/lines/keys.h"
#include "cli/base/messages.h"
#include "cli/base/progress.h"
#include "verb.h"

static struct {
    struct key_options keys;
    bool invert, count, quiet, json;
} settings;

static const struct option options[] = {
    KEY_OPTIONS(settings.keys),
    {.name = "invert",
     .letter = 'v',
     .type = OPTION_BOOLEAN,
     .place = &settings.invert,
     .help = "select the keys that are not in the filter"},
    {.name = "count",
     .letter = 'c',
     .type = OPTION_BOOLEAN,
     .place = &settings.count,
     .help = "print only how many keys were selected"},
    {.name = "quiet",
     .letter = 'q',
     .type = OPTION_BOOLEAN,
     .place = &settings.quiet,
     .help = "print nothing; stop at the first key selected"},
    {.name = "json", .type = OPTION_BOOLEAN, .place = &settings.json, .help = "print only counts, as a JSON object"},
    {0},
};

struct tally {
    uint64_t keys, selected;
};

static bool prints_keys(void)
{
    return !settings.count && !settings.quiet && !settings.json;
}

/* Flushes after each batch, so that a slow pipe gets its answers in time. */
static bool check_batch(const roost_filter *filter, const struct key_source *source, size_t count, struct tally *tally)
{
    bool found[KEYS_AT_ONCE];
    roost_filter_contains_many(filter, found, source->keys, count);
    tally->keys += count;
    for (size_t i = 0; i < count; i++) {
        if (found[i] == settings.invert)
            continue;
        tally->selected++;
        if (prints_keys()) {
            fwrite_unlocked(source->keys[i].data, 1, source->keys[i].size, stdout);
            putc_unlocked(key_terminator(&settings.keys), stdout);
        }
    }
    return finish_output();
}

static bool check_all(const roost_filter *filter, const struct arguments *arguments, struct tally *tally)
{
    static struct key_source source;
    size_t count;
    bool fine = true;
    key_source_open(&source, arguments, 1, &settings.keys);
    progress_begin("keys", key_source_is_typed(&source), prints_keys());
    while (fine && !(settings.quiet && tally->selected > 0) && (fine = key_source_next(&source, &count)) && count > 0) {
        fine = check_batch(filter, &source, count, tally);
        progress_count(tally->keys);
    }
    progress_erase();
    if (fine && !settings.quiet)
        key_source_hint(&source, "checked", "check", arguments->operands[0]);
    key_source_close(&source);
    return fine;
}

static void report(const struct tally *tally)
{
    struct json json;
    if (settings.quiet)
        return;
    if (settings.json) {
        json_begin(&json);
        json_count(&json, "keys", tally->keys);
        json_count(&json, "selected", tally->selected);
        json_end(&json);
    } else if (settings.count) {
        printf("%llu\n", (unsigned long long)tally->selected);
    }
}

static int run(const struct arguments *arguments)
{
    struct tally tally = {0};
    roost_filter *filter = filter_file_read(arguments->operands[0]);
    bool checked = filter && check_all(filter, arguments, &tally);
    roost_filter_free(filter);
    if (!checked)
        return EXIT_ERROR;
    report(&tally);
    return tally.selected > 0 ? EXIT_FINE : EXIT_NONE;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_check = {
    .name = "check",
    .synopsis = "FILE [KEY...] [-f KEYS] [-0] [-v] [-c] [-q] [--json]",
    .summary = "print the keys that are in a filter, like grep",
    .details = "Prints the keys that are in the filter; a few of them may be false positives, at the promised "
               "rate. With -v prints those that are not in it, which is never wrong. KEY is as in roost add.\n\n"
               "Exit status: 0 some key was selected, 1 none, 2 error.",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .run = run,
};
