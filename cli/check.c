/* roost check: prints the keys that are in a filter, with options and exit status like those of grep. */
#include <stdio.h>

#include "cli/base/threads.h"
#include "cli/file/filter_file.h"
#include "cli/base/interrupt.h"
#include "cli/base/json.h"
#include "cli/lines/keys.h"
#include "cli/base/messages.h"
#include "cli/base/progress.h"
#include "cli/peer/shards.h"
#include "verb.h"

static struct {
    struct key_options keys;
    bool invert, count, quiet, json;
    uint64_t threads;
    struct shards_options shards;
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
    SHARDS_OPTIONS(settings.shards),
    {0},
};

struct checking {
    const char *name;
    const roost_filter *filter;
    struct shards *shards; /* NULL: the filter is here */
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
    if (block->no_memory || checking->shards)
        return;
    roost_filter_contains_many(checking->filter, block->marks, block->lines, block->count);
    line_block_select(block, !settings.invert, terminator);
}

/* In servers; of which one thread asks. */
static bool ask_servers(const struct checking *checking, struct line_block *block)
{
    if (!shards_call(checking->shards, "ROOST.EXISTS", true, block->marks, block->lines, block->count))
        return false;
    line_block_select(block, !settings.invert, key_terminator(&settings.keys));
    return true;
}

/* Flushes after each block, so that a slow pipe gets its answers in time. */
static bool print_selected(void *context, struct line_block *block)
{
    struct checking *checking = context;
    if (block->no_memory)
        return complain_of_status(checking->name, ROOST_NO_MEMORY);
    if (checking->shards && !ask_servers(checking, block))
        return false;
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
                                    .threads = checking->shards ? 1 : settings.threads};
    key_source_open(&source, arguments, 1, &settings.keys);
    progress_begin("keys", key_source_is_typed(&source), prints_keys());
    bool fine = work_on_blocks(&work);
    progress_erase();
    if (fine && !settings.quiet)
        key_source_hint(&source, "checked", "check", checking->shards ? "URL" : checking->name);
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

static bool check_file(struct checking *checking, const struct arguments *arguments)
{
    roost_filter *filter = filter_file_read(arguments->operands[0]);
    *checking = (struct checking){.name = arguments->operands[0], .filter = filter};
    bool checked = filter && check_all(checking, arguments);
    roost_filter_free(filter);
    return checked;
}

/* A server says no of everything if its key is not there. So all of them have to be, before and after. */
static bool check_servers(struct checking *checking, const struct arguments *arguments)
{
    struct shards_facts facts;
    struct shards *shards;
    interrupt_catch();
    bool fine = shards_open(&shards, arguments->operands[0], &settings.shards);
    if (fine) {
        *checking = (struct checking){.name = shards_name(shards), .shards = shards};
        fine = shards_look_at_all(shards, &facts, false) && check_all(checking, arguments) &&
               shards_look_at_all(shards, &facts, false);
    }
    shards_close(shards);
    return fine;
}

static int run(const struct arguments *arguments)
{
    struct checking checking = {0};
    set_executor_threads(settings.threads);
    if (!shards_options_fit(&settings.shards, arguments->operands[0]))
        return EXIT_ERROR;
    if (!(is_server_name(arguments->operands[0]) ? check_servers : check_file)(&checking, arguments))
        return EXIT_ERROR;
    report(&checking);
    return checking.selected > 0 ? EXIT_FINE : EXIT_NONE;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_check = {
    .name = "check",
    .synopsis =
        "FILE [KEY...] [-f KEYS] [-0] [-v] [-c] [-q] [--json] [--threads N] | URL [--shards N] [KEY...] [OPTION...]",
    .summary = "print the keys that are in a filter, like grep",
    .details = "Prints the keys that are in the filter; a few of them may be false positives, at the promised "
               "rate. With -v prints those that are not in it, which is never wrong. KEY is as in roost add, and so "
               "is URL, a filter in servers.\n\n"
               "Exit status: 0 some key was selected, 1 none, 2 error.",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .run = run,
};
