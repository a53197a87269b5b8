/* roost merge: merges filters into another one. All sources are merged in memory; the file is saved once, or not at
   all. */
#include <stdio.h>

#include "cli/file/difference.h"
#include "element_report.h"
#include "cli/file/filter_file.h"
#include "cli/base/interrupt.h"
#include "cli/peer/share_transfer.h"
#include "cli/base/messages.h"
#include "cli/base/threads.h"
#include "cli/lines/blocks.h"
#include "verb.h"

static struct {
    bool verbose, json;
    uint64_t threads;
} settings;

static const struct option options[] = {
    {.name = "verbose",
     .letter = 'v',
     .type = OPTION_BOOLEAN,
     .place = &settings.verbose,
     .help = "print whether anything was new, and what DEST holds now"},
    {.name = "json", .type = OPTION_BOOLEAN, .place = &settings.json, .help = "the same as a JSON object"},
    THREADS_OPTION(settings.threads, ""),
    {0},
};

/* ---- merge ----------------------------------------------------------------------------------------------------- */

struct merging {
    struct filter_file file;
    const char *into; /* the file whose configuration the others must have, for messages */
    bool grew;
};

static bool merge_source(struct merging *merging, const char *name)
{
    bool grew = false;
    roost_filter *source = filter_file_read(name), *filter = merging->file.filter;
    if (!source || interrupted()) {
        roost_filter_free(source);
        return false;
    }
    roost_status status = roost_filter_merge(filter, &grew, source);
    if (status == ROOST_MISMATCH)
        complain_of_mismatch(name, source, merging->into, filter);
    else if (status != ROOST_OK)
        complain_of_status(merging->into, status);
    roost_filter_free(source);
    merging->grew |= grew;
    return status == ROOST_OK;
}

/* If DEST does not exist, it is created from the first source. */
static bool merge_all(struct merging *merging, const struct arguments *arguments)
{
    size_t next = 1;
    if (filter_file_exists(&merging->file)) {
        merging->into = arguments->operands[0];
        filter_file_refresh(&merging->file);
    } else {
        merging->into = arguments->operands[next++];
        filter_file_put(&merging->file, arguments->operands[0], filter_file_read(merging->into));
        merging->grew = true;
    }
    bool fine = merging->file.filter != NULL;
    for (; fine && next < arguments->count; next++)
        fine = merge_source(merging, arguments->operands[next]);
    return fine;
}

static void report(const struct merging *merging)
{
    if (settings.json) {
        struct json json;
        json_begin(&json);
        json_bool(&json, "changed", merging->grew);
        json_elements(&json, merging->file.filter);
        json_end(&json);
    } else if (settings.verbose) {
        printf("%s; ", merging->grew ? "merged" : "nothing new");
        print_elements(merging->file.filter);
    }
}

static bool save(struct merging *merging)
{
    bool gave;
    if (!transfer_idle_shares(&merging->file, &gave))
        return false;
    return (!merging->grew && !gave) || filter_file_save(&merging->file);
}

static int run(const struct arguments *arguments)
{
    struct merging merging = {0};
    set_executor_threads(settings.threads);
    interrupt_catch();
    bool merged =
        filter_file_lock(&merging.file, arguments->operands[0]) && merge_all(&merging, arguments) && save(&merging);
    if (merged && merging.grew)
        warn_of_promise(arguments->operands[0], merging.file.filter);
    if (merged)
        report(&merging);
    filter_file_close(&merging.file);
    return merged ? EXIT_FINE : EXIT_ERROR;
}

static const char *const operands[] = {"DEST", "SRC", NULL};

const struct verb verb_merge = {
    .name = "merge",
    .synopsis = "DEST SRC... [-v] [--json] [--threads N]",
    .summary = "merge other filters into one",
    .details = "Merges the sources into DEST; they stay unchanged. Order and repetition do not matter. A DEST "
               "that does not exist is created from the first SRC.\n\n"
               "Either all sources are merged or, after an error, none.",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .changes_file = true,
    .run = run,
};
