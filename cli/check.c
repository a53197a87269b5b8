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
    uint64_t threads;
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
    THREADS_OPTION(settings.threads, ""),
    {0},
};

struct checking {
    const char *name;
    const roost_filter *filter;
    uint64_t keys, selected;
};

static bool prints_keys(void)
{
    return !settings.count && !settings.quiet && !settings.json;
}

static void look_up(void *context, struct line_block *block)
{
    const struct checking *checking = context;
    const char terminator = key_terminator(&settings.keys);
    line_block_split(block, terminator);
    if (block->no_memory)
        return;
    roost_filter_contains_many(checking->filter, block->marks, block->lines, block->count);
    line_block_select(block, !settings.invert, terminator);
}

/* Flushes after each block, so that a slow pipe gets its answers in time. */
static bool print_selected(void *context, struct line_block *block)
{
    struct checking *checking = context;
    if (block->no_memory)
        return complain_of_status(checking->name, ROOST_NO_MEMORY);
    checking->keys += block->count;
    checking->selected += block->selected;
    if (prints_keys())
        fwrite_unlocked(block->bytes, 1, block->printed, stdout);
    progress_count(checking->keys);
    return finish_output();
}

static bool has_enough(void *context)
{
    const struct checking *checking = context;
    return settings.quiet && checking->selected > 0;
}

static bool check_all(struct checking *checking, const struct arguments *arguments)
{
    static struct key_source source;
    const struct block_work work = {.read = key_source_read,
                                    .complain = key_source_complain,
                                    .is_ready = key_source_is_ready,
                                    .source = &source,
                                    .prepare = look_up,
                                    .finish = print_selected,
                                    .is_enough = has_enough,
                                    .context = checking,
                                    .threads = settings.threads};
    key_source_open(&source, arguments, 1, &settings.keys);
    progress_begin("keys", key_source_is_typed(&source), prints_keys());
    bool fine = work_on_blocks(&work);
    progress_erase();
    if (fine && !settings.quiet)
        key_source_hint(&source, "checked", "check", arguments->operands[0]);
    key_source_close(&source);
    return fine;
}

static void report(const struct checking *checking)
{
    struct json json;
    if (settings.quiet)
        return;
    if (settings.json) {
        json_begin(&json);
        json_count(&json, "keys", checking->keys);
        json_count(&json, "selected", checking->selected);
        json_end(&json);
    } else if (settings.count) {
        printf("%llu\n", (unsigned long long)checking->selected);
    }
}

static int run(const struct arguments *arguments)
{
    roost_filter *filter = filter_file_read(arguments->operands[0]);
    struct checking checking = {arguments->operands[0], filter, 0, 0};
    bool checked = filter && check_all(&checking, arguments);
    roost_filter_free(filter);
    if (!checked)
        return EXIT_ERROR;
    report(&checking);
    return checking.selected > 0 ? EXIT_FINE : EXIT_NONE;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_check = {
    .name = "check",
    .synopsis = "FILE [KEY...] [-f KEYS] [-0] [-v] [-c] [-q] [--json] [--threads N]",
    .summary = "print the keys that are in a filter, like grep",
    .details = "Prints the keys that are in the filter; a few of them may be false positives, at the promised "
               "rate. With -v prints those that are not in it, which is never wrong. KEY is as in roost add.\n\n"
               "Exit status: 0 some key was selected, 1 none, 2 error.",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .run = run,
};
