/* All keys are applied in memory; the file is saved once, at the end, or not at all. */
#include "key_change.h"

#include <stdio.h>

#include "element_report.h"
#include "cli/file/filter_file.h"
#include "cli/base/interrupt.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "cli/base/progress.h"

struct tally {
    uint64_t keys, effective;
};

static bool change_batch(const struct key_change *change, const struct filter_file *file,
                         const struct key_source *source, size_t count, struct tally *tally)
{
    bool changed[KEYS_AT_ONCE];
    if (!change->apply(file->name, file->filter, changed, source->keys, count))
        return false;
    tally->keys += count;
    for (size_t i = 0; i < count; i++)
        tally->effective += changed[i];
    return true;
}

static bool change_all(const struct key_change *change, const struct filter_file *file,
                       const struct arguments *arguments, struct tally *tally)
{
    static struct key_source source;
    size_t count;
    bool fine = !change->is_possible || change->is_possible(file->name, file->filter);
    key_source_open(&source, arguments, 1, &change->keys);
    progress_begin("keys", key_source_is_typed(&source), false);
    while (fine && (fine = key_source_next(&source, &count)) && count > 0) {
        fine = change_batch(change, file, &source, count, tally);
        progress_count(tally->keys);
    }
    progress_erase();
    if (fine)
        key_source_hint(&source, change->done, change->verb, file->name);
    key_source_close(&source);
    return fine;
}

static bool is_worth_saving(const struct key_change *change, const roost_filter *filter, const struct tally *tally)
{
    bool renewed = change->renews && tally->keys > 0 && roost_filter_get_config(filter)->kind == ROOST_ORCUCKOO;
    return tally->effective > 0 || renewed;
}

static void report_json(const struct key_change *change, const roost_filter *filter, const struct tally *tally)
{
    struct json json;
    json_begin(&json);
    json_count(&json, "keys", tally->keys);
    json_count(&json, change->effect, tally->effective);
    json_elements(&json, filter);
    json_end(&json);
}

static void report_text(const struct key_change *change, const roost_filter *filter, const struct tally *tally)
{
    char keys[THINGS_ROOM], effective[COUNT_ROOM], others[COUNT_ROOM];
    format_things(keys, tally->keys, "key");
    format_count(effective, tally->effective);
    format_count(others, tally->keys - tally->effective);
    printf("%s, %s %s", keys, effective, change->effect);
    if (change->no_effect)
        printf(", %s %s", others, change->no_effect);
    printf("; ");
    print_elements(filter);
}

int change_keys(const struct key_change *change, const struct arguments *arguments)
{
    struct filter_file file = {0};
    struct tally tally = {0};
    interrupt_catch();
    bool done = filter_file_open(&file, arguments->operands[0]) && change_all(change, &file, arguments, &tally) &&
                (!is_worth_saving(change, file.filter, &tally) || filter_file_save(&file));
    if (done && change->adds && tally.keys > 0)
        warn_of_promise(file.name, file.filter);
    if (done && change->json)
        report_json(change, file.filter, &tally);
    else if (done && change->verbose)
        report_text(change, file.filter, &tally);
    filter_file_close(&file);
    return done ? EXIT_FINE : EXIT_ERROR;
}
