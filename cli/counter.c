/*
 * roost counter: counts operations, each once. The value is printed when the count is on the disk; a caller that gets
 * no answer repeats the command with the same id.
 */
#include <stdio.h>
#include <string.h>

#include "cli/base/interrupt.h"
#include "cli/base/json.h"
#include "cli/base/messages.h"
#include "cli/base/nearest_word.h"
#include "cli/file/timed_file.h"
#include "verb.h"

static struct {
    struct timed_settings timed;
    const char *id;
    int64_t by;
    bool quiet, json;
} settings = {.by = 1};

static const struct option options[] = {
    {.name = "id",
     .type = OPTION_TEXT,
     .place = &settings.id,
     .value = "ID",
     .help = "incr: the id of the operation, unique to it"},
    {.name = "by",
     .type = OPTION_AMOUNT,
     .place = &settings.by,
     .value = "N",
     .help = "incr: the number to add (default 1); may be negative"},
    TIMED_OPTIONS(settings.timed,
                  "expected operations in one window (default 100,000); more take more memory, at the same rate"),
    RESUME_OPTION(settings.timed),
    {.name = "quiet", .letter = 'q', .type = OPTION_BOOLEAN, .place = &settings.quiet, .help = "incr: print nothing"},
    {.name = "json", .type = OPTION_BOOLEAN, .place = &settings.json, .help = "print a JSON object"},
    {0},
};

static bool complain_of_increment(const char *name, roost_status status)
{
    if (status == ROOST_INVALID)
        return complain("--id", "must have 1 to %zu bytes", (size_t)ROOST_COUNTER_MOST_ID);
    if (status == ROOST_OVERFLOW)
        return complain(name, "the counter would leave the range of 64 bits; nothing was counted");
    return complain_of_status(name, status);
}

/* ---- incr ------------------------------------------------------------------------------------------------------ */

static void report(bool applied, int64_t value)
{
    struct json json;
    if (settings.json) {
        json_begin(&json);
        json_bool(&json, "applied", applied);
        json_integer(&json, "value", value);
        json_end(&json);
    } else if (!settings.quiet)
        printf("%lld %s\n", (long long)value, applied ? "applied" : "duplicate");
}

static bool increment(struct filter_file *file, bool *applied, int64_t *value)
{
    roost_status status = roost_counter_increment(file->filter, applied, value, settings.id, strlen(settings.id),
                                                  settings.by, timed_now(&settings.timed));
    return status == ROOST_OK || complain_of_increment(file->name, status);
}

static int run_increment(const char *name)
{
    struct filter_file file = {0};
    bool applied;
    int64_t value;
    if (!settings.id)
        return complain("counter incr", "--id is missing; give the id of the operation, as --id order-17"), EXIT_ERROR;
    interrupt_catch();
    bool done = timed_file_open(&file, name, &settings.timed, ROOST_COUNTER) && increment(&file, &applied, &value) &&
                filter_file_save(&file);
    if (done)
        report(applied, value);
    filter_file_close(&file);
    return done ? EXIT_FINE : EXIT_ERROR;
}

/* ---- show ------------------------------------------------------------------------------------------------------ */

static void show_json(const roost_filter *counter, int64_t value)
{
    roost_info info;
    struct json json;
    roost_filter_get_info(counter, &info);
    json_begin(&json);
    json_integer(&json, "value", value);
    json_count(&json, "replicas", info.actors);
    json_number(&json, "fpr_now", info.fpr_now);
    json_bool(&json, "promise_holds", info.promise_holds);
    json_end(&json);
}

static int run_show(const char *name)
{
    struct filter_file file = {0};
    int64_t value;
    bool fine = filter_file_look(&file, name) && timed_file_fits(&file, &settings.timed, ROOST_COUNTER);
    if (fine && roost_counter_get_value(file.filter, &value) != ROOST_OK)
        fine = complain(name, "the sum over its replicas does not fit into 64 bits");
    if (fine && settings.json)
        show_json(file.filter, value);
    else if (fine)
        printf("%lld\n", (long long)value);
    filter_file_close(&file);
    return fine ? EXIT_FINE : EXIT_ERROR;
}

/* ---- the verb -------------------------------------------------------------------------------------------------- */

static const char *const actions[] = {"incr", "show", NULL};

static int run(const struct arguments *arguments)
{
    const char *action = arguments->operands[0], *name = arguments->operands[1];
    if (strcmp(action, "incr") != 0 && strcmp(action, "show") != 0)
        return refuse_word(action, "action", actions), EXIT_ERROR;
    if (arguments->count > 2)
        return complain(arguments->operands[2], "one argument too many; usage: roost counter %s",
                        verb_counter.synopsis),
               EXIT_ERROR;
    return strcmp(action, "incr") == 0 ? run_increment(name) : run_show(name);
}

static const char *const operands[] = {"incr or show", "FILE", NULL};

const struct verb verb_counter = {
    .name = "counter",
    .synopsis = "incr FILE --id ID [--by N] [--window TIME] | show FILE",
    .summary = "count operations, each once",
    .details = "counter incr FILE counts an operation and prints the value, and whether it was applied or is a "
               "duplicate: its id was counted within the window, here or at a replica that was merged or synced "
               "since. A missing FILE is created if --window is given.\n\n"
               "counter show FILE prints the value.\n\n"
               "A retry at another replica that has not merged the first attempt counts twice; one operation in "
               "1/fpr is taken for a duplicate and not counted.",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .run = run,
};
