/* roost add: puts keys into a filter. All of them are added in memory; the file changes once, at the end, or not. */
#include <math.h>
#include <stdio.h>

#include "filter_file.h"
#include "interrupt.h"
#include "json.h"
#include "keys.h"
#include "messages.h"
#include "numbers.h"
#include "progress.h"
#include "verb.h"

static struct {
    bool verbose, json;
} settings;

static const struct option options[] = {
    {.name = "verbose",
     .letter = 'v',
     .type = OPTION_SWITCH,
     .place = &settings.verbose,
     .help = "say how many keys there were and how many were new"},
    {.name = "json", .type = OPTION_SWITCH, .place = &settings.json, .help = "the same as a JSON object"},
    {0},
};

struct tally {
    uint64_t keys, fresh;
};

static bool complain_of_full(const char *name, const roost_filter *filter)
{
    char capacity[COUNT_ROOM];
    format_count(capacity, roost_filter_config(filter)->capacity);
    return complain(name, "full: it was made for %s elements and has no room for all of these; nothing was added",
                    capacity);
}

static bool add_batch(const char *name, roost_filter *filter, const struct key_source *source, size_t count,
                      struct tally *tally)
{
    bool changed[KEYS_AT_ONCE];
    roost_status status = roost_filter_add_many(filter, changed, NULL, source->keys, count);
    if (status == ROOST_FULL)
        return complain_of_full(name, filter);
    if (status != ROOST_OK)
        return complain_of_status(name, status);
    tally->keys += count;
    for (size_t i = 0; i < count; i++)
        tally->fresh += changed[i];
    return true;
}

static bool add_all(const char *name, roost_filter *filter, const struct arguments *arguments, struct tally *tally)
{
    static struct key_source source;
    size_t count;
    bool fine = true;
    key_source_open(&source, arguments, 1);
    progress_begin(false);
    while (fine && (fine = key_source_next(&source, &count)) && count > 0) {
        fine = add_batch(name, filter, &source, count, tally);
        progress_tell(tally->keys);
    }
    progress_erase();
    key_source_close(&source);
    return fine;
}

static void report(const roost_filter *filter, const struct tally *tally)
{
    roost_info info;
    roost_filter_info(filter, &info);
    uint64_t elements = (uint64_t)llround(info.elements);
    if (settings.json) {
        struct json json;
        json_begin(&json);
        json_count(&json, "keys", tally->keys);
        json_count(&json, "new", tally->fresh);
        json_count(&json, "elements", elements);
        json_bool(&json, "promise_holds", info.promise_holds);
        json_end(&json);
    } else if (settings.verbose) {
        char keys[COUNT_ROOM], fresh[COUNT_ROOM], held[COUNT_ROOM];
        format_count(keys, tally->keys);
        format_count(fresh, tally->fresh);
        format_count(held, elements);
        printf("%s keys, %s new; about %s elements%s\n", keys, fresh, held,
               info.promise_holds ? "" : ", more than it was made for: the promised rate no longer holds");
    }
}

static bool add_to_file(struct safe_file *file, const struct arguments *arguments)
{
    struct tally tally = {0};
    roost_filter *filter = filter_file_read_locked(file);
    bool added = filter && add_all(file->name, filter, arguments, &tally) &&
                 (tally.fresh == 0 || filter_file_write(file, filter));
    if (added)
        report(filter, &tally);
    roost_filter_free(filter);
    return added;
}

static int run(const struct arguments *arguments)
{
    struct safe_file file;
    interrupt_catch();
    bool added = safe_file_open(&file, arguments->operands[0]) && add_to_file(&file, arguments);
    safe_file_close(&file);
    return added ? EXIT_FINE : EXIT_TROUBLE;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_add = {
    .name = "add",
    .synopsis = "FILE [KEY...] [-v] [--json]",
    .summary = "add keys to a filter",
    .details = "Adds the keys; without any, those on standard input, one a line. A KEY of - means\n"
               "standard input, too; behind -- it is a key like any other. A key is the bytes before\n"
               "the newline, unchanged. Either all keys are added or, on trouble, none.\n",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .changes_file = true,
    .run = run,
};
