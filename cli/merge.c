/* roost merge: takes filters into another one. All sources are merged in memory; the file changes once, or not. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "filter_file.h"
#include "interrupt.h"
#include "json.h"
#include "kinds.h"
#include "messages.h"
#include "numbers.h"
#include "verb.h"

static struct {
    bool verbose, json;
} settings;

static const struct option options[] = {
    {.name = "verbose",
     .letter = 'v',
     .type = OPTION_SWITCH,
     .place = &settings.verbose,
     .help = "say whether anything was new, and what DEST holds now"},
    {.name = "json", .type = OPTION_SWITCH, .place = &settings.json, .help = "the same as a JSON object"},
    {0},
};

/* ---- what differs ---------------------------------------------------------------------------------------------- */

/* The first field in which two configurations differ, with both values as text. */
struct difference {
    const char *field;
    char ours[NUMBER_ROOM], theirs[NUMBER_ROOM];
};

static bool differ_in_word(struct difference *difference, const char *field, const char *ours, const char *theirs)
{
    difference->field = field;
    snprintf(difference->ours, NUMBER_ROOM, "%s", ours);
    snprintf(difference->theirs, NUMBER_ROOM, "%s", theirs);
    return strcmp(ours, theirs) != 0;
}

static bool differ_in_count(struct difference *difference, const char *field, uint64_t ours, uint64_t theirs)
{
    difference->field = field;
    snprintf(difference->ours, NUMBER_ROOM, "%llu", (unsigned long long)ours);
    snprintf(difference->theirs, NUMBER_ROOM, "%llu", (unsigned long long)theirs);
    return ours != theirs;
}

static bool differ_in_rate(struct difference *difference, double ours, double theirs)
{
    difference->field = "fpr";
    format_shortest(difference->ours, ours);
    format_shortest(difference->theirs, theirs);
    return ours != theirs;
}

static bool differ_in_seed(struct difference *difference, uint64_t ours, uint64_t theirs)
{
    difference->field = "seed";
    snprintf(difference->ours, NUMBER_ROOM, "0x%llx", (unsigned long long)ours);
    snprintf(difference->theirs, NUMBER_ROOM, "0x%llx", (unsigned long long)theirs);
    return ours != theirs;
}

/* Sizes derive from the configuration, but the library that made a file may have derived them in another way. */
static bool differ_in_size(struct difference *difference, const roost_filter *ours, const roost_filter *theirs)
{
    roost_info a, b;
    roost_filter_info(ours, &a);
    roost_filter_info(theirs, &b);
    return differ_in_count(difference, "size in bits", a.bits, b.bits) ||
           differ_in_count(difference, "number of probes", a.probes, b.probes) ||
           differ_in_count(difference, "number of buckets", a.buckets, b.buckets);
}

static bool find_difference(struct difference *difference, const roost_filter *ours, const roost_filter *theirs)
{
    const roost_config *a = roost_filter_config(ours), *b = roost_filter_config(theirs);
    return differ_in_word(difference, "kind", kind_name(a->kind), kind_name(b->kind)) ||
           differ_in_word(difference, "layout", layout_name(a->layout), layout_name(b->layout)) ||
           differ_in_count(difference, "capacity", a->capacity, b->capacity) ||
           differ_in_rate(difference, a->fpr, b->fpr) || differ_in_seed(difference, a->seed, b->seed) ||
           differ_in_count(difference, "bits", a->fingerprint_bits, b->fingerprint_bits) ||
           differ_in_count(difference, "bucket", a->bucket_size, b->bucket_size) ||
           differ_in_size(difference, ours, theirs);
}

static bool complain_of_mismatch(const char *name, const roost_filter *theirs, const char *into,
                                 const roost_filter *ours)
{
    struct difference difference;
    if (!find_difference(&difference, ours, theirs))
        return complain_of_status(name, ROOST_MISMATCH);
    return complain(name, "does not merge into %s: its %s is %s, not %s", into, difference.field, difference.theirs,
                    difference.ours);
}

/* ---- merge ----------------------------------------------------------------------------------------------------- */

struct merging {
    const char *into; /* whose configuration counts, for messages */
    roost_filter *filter;
    bool grew;
};

static bool merge_source(struct merging *merging, const char *name)
{
    bool grew = false;
    roost_filter *source = filter_file_read(name, NULL);
    if (!source || interrupted()) {
        roost_filter_free(source);
        return false;
    }
    roost_status status = roost_filter_merge(merging->filter, &grew, source);
    if (status == ROOST_MISMATCH)
        complain_of_mismatch(name, source, merging->into, merging->filter);
    else if (status != ROOST_OK)
        complain_of_status(merging->into, status);
    roost_filter_free(source);
    merging->grew |= grew;
    return status == ROOST_OK;
}

/* Where DEST is yet to be made, the first source is what the others are merged into. */
static bool merge_all(struct merging *merging, const struct safe_file *file, const struct arguments *arguments)
{
    size_t next = 1;
    if (file->lock >= 0) {
        *merging = (struct merging){file->name, filter_file_read_locked(file), false};
    } else {
        *merging = (struct merging){arguments->operands[next], filter_file_read(arguments->operands[next], NULL), true};
        next++;
    }
    bool fine = merging->filter != NULL;
    for (; fine && next < arguments->count; next++)
        fine = merge_source(merging, arguments->operands[next]);
    return fine;
}

static void report(const struct merging *merging)
{
    roost_info info;
    roost_filter_info(merging->filter, &info);
    uint64_t elements = (uint64_t)llround(info.elements);
    if (settings.json) {
        struct json json;
        json_begin(&json);
        json_bool(&json, "changed", merging->grew);
        json_count(&json, "elements", elements);
        json_bool(&json, "promise_holds", info.promise_holds);
        json_end(&json);
    } else if (settings.verbose) {
        char held[COUNT_ROOM];
        format_count(held, elements);
        printf("%s; about %s elements%s\n", merging->grew ? "merged" : "nothing new", held,
               info.promise_holds ? "" : ", more than it was made for: the promised rate no longer holds");
    }
}

static int run(const struct arguments *arguments)
{
    struct safe_file file;
    struct merging merging = {0};
    interrupt_catch();
    bool merged = safe_file_open(&file, arguments->operands[0]) && merge_all(&merging, &file, arguments) &&
                  (!merging.grew || filter_file_write(&file, merging.filter));
    if (merged)
        report(&merging);
    safe_file_close(&file);
    roost_filter_free(merging.filter);
    return merged ? EXIT_FINE : EXIT_TROUBLE;
}

static const char *const operands[] = {"DEST", "SRC", NULL};

const struct verb verb_merge = {
    .name = "merge",
    .synopsis = "DEST SRC... [-v] [--json]",
    .summary = "take what other filters hold into one",
    .details = "DEST takes in all that the sources hold; these stay as they are. Order and repetition\n"
               "do not matter. A DEST that does not exist is made from the first SRC. Either all\n"
               "sources are merged or, on trouble, none.\n",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .changes_file = true,
    .run = run,
};
