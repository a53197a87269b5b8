/* roost remove: removes keys from a filter. */
#include "cli/file/filter_file.h"
#include "key_change.h"
#include "cli/base/kinds.h"
#include "cli/base/messages.h"
#include "verb.h"

static bool can_remove(const char *name, const roost_config *config);
static bool remove_keys(const char *name, roost_filter *filter, bool *changed, const roost_bytes *keys, size_t count);

static struct key_change change = {.verb = "remove",
                                   .done = "removed",
                                   .is_possible = can_remove,
                                   .apply = remove_keys,
                                   .threads = 1,
                                   .command = "ROOST.REM",
                                   .repeatable = true,
                                   .effect = "removed",
                                   .no_effect = "not there"};

static struct {
    bool one;
} settings;

static const struct option options[] = {
    KEY_OPTIONS(change.keys),
    {.name = "one",
     .type = OPTION_BOOLEAN,
     .place = &settings.one,
     .help = "of a multiset: remove one copy of each KEY, not all"},
    {.name = "verbose",
     .letter = 'v',
     .type = OPTION_BOOLEAN,
     .place = &change.verbose,
     .help = "print how many keys were removed and how many were missing"},
    {.name = "json", .type = OPTION_BOOLEAN, .place = &change.json, .help = "the same as a JSON object"},
    SHARDS_OPTIONS(change.shards),
    {0},
};

static bool can_remove(const char *name, const roost_config *config)
{
    if (config->kind == ROOST_WINDOW || config->kind == ROOST_COUNTER)
        return complain(name, "a %s cannot remove keys; they expire by themselves", kind_name(config->kind));
    if (config->kind != ROOST_ORCUCKOO)
        return complain(name, "a %s filter cannot remove; create one with --kind orcuckoo", kind_name(config->kind));
    if (settings.one && !config->multiset)
        return complain(name, "a set has no copies to remove --one of; create one with --multiset");
    return true;
}

static roost_status remove_copies(roost_filter *filter, bool *changed, const roost_bytes *keys, size_t count)
{
    roost_status status = ROOST_OK;
    for (size_t i = 0; status == ROOST_OK && i < count; i++)
        status = roost_filter_remove_one(filter, &changed[i], keys[i].data, keys[i].size);
    return status;
}

static bool remove_keys(const char *name, roost_filter *filter, bool *changed, const roost_bytes *keys, size_t count)
{
    roost_status status = settings.one ? remove_copies(filter, changed, keys, count)
                                       : roost_filter_remove_many(filter, changed, keys, count);
    return status == ROOST_OK || complain_of_status(name, status);
}

static int run(const struct arguments *arguments)
{
    if (settings.one)
        change.command = "ROOST.REMONE";
    return change_keys(&change, arguments);
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_remove = {
    .name = "remove",
    .synopsis = "FILE [KEY...] [-f KEYS] [-0] [--one] [-v] [--json] | URL [--shards N] [KEY...] [OPTION...]",
    .summary = "remove keys from a filter",
    .details =
        "Removes keys from a filter of --kind orcuckoo; KEY is as in roost add. If another replica adds "
        "the key at the same time, the key stays, unless the filter was created with other --semantics. Remove only "
        "keys that were added: removing a false positive removes the key that it collides with.\n\n"
        "Either all keys are removed or, after an error, none. A URL is a filter in servers, as in roost add; there "
        "those before an error stay removed.",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .changes_file = true,
    .run = run,
};
