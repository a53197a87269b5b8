/* roost add: adds keys to a filter. */
#include "cli/base/threads.h"
#include "cli/file/filter_file.h"
#include "key_change.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "verb.h"

static bool can_add(const char *name, const roost_config *config);
static bool add_keys(const char *name, roost_filter *filter, bool *changed, const roost_bytes *keys, size_t count);
static bool add_hashes(const char *name, roost_filter *filter, bool *changed, const roost_hash *hashes, size_t count);

/* A second addition of an element survives a removal elsewhere that saw only the first one, so that it is saved,
   too. */
static struct key_change change = {.verb = "add",
                                   .done = "added",
                                   .is_possible = can_add,
                                   .apply = add_keys,
                                   .apply_hashes = add_hashes,
                                   .command = "ROOST.ADD",
                                   .repeatable = true,
                                   .effect = "new",
                                   .renews = true,
                                   .adds = true};

static const struct option options[] = {
    KEY_OPTIONS(change.keys),
    {.name = "verbose",
     .letter = 'v',
     .type = OPTION_BOOLEAN,
     .place = &change.verbose,
     .help = "print how many keys there were and how many were new"},
    {.name = "json", .type = OPTION_BOOLEAN, .place = &change.json, .help = "the same as a JSON object"},
    THREADS_OPTION(change.threads, ""),
    SHARDS_OPTIONS(change.shards),
    {0},
};

static bool can_add(const char *name, const roost_config *config)
{
    if (config->kind == ROOST_WINDOW)
        return complain(name, "is a window; use roost window add");
    return config->kind != ROOST_COUNTER || complain(name, "is a counter; use roost counter incr");
}

static bool complain_of_full(const char *name, const roost_filter *filter)
{
    char capacity[THINGS_ROOM];
    if (roost_filter_get_config(filter)->scalable)
        return complain(name, "full: it cannot grow any further; nothing was added");
    format_things(capacity, roost_filter_get_config(filter)->capacity, "element");
    return complain(
        name,
        "full: it was created for %s and has no room for all of these, so that nothing was added; create a larger "
        "one, or one with --scalable",
        capacity);
}

static bool is_added(const char *name, const roost_filter *filter, roost_status status)
{
    bool cannot_grow = status == ROOST_INVALID && roost_filter_get_config(filter)->scalable; /* its next table's rate */
    if (status == ROOST_FULL || cannot_grow)
        return complain_of_full(name, filter);
    return status == ROOST_OK || complain_of_status(name, status);
}

static bool add_keys(const char *name, roost_filter *filter, bool *changed, const roost_bytes *keys, size_t count)
{
    return is_added(name, filter, roost_filter_add_many(filter, changed, NULL, keys, count));
}

static bool add_hashes(const char *name, roost_filter *filter, bool *changed, const roost_hash *hashes, size_t count)
{
    return is_added(name, filter, roost_filter_add_many_hash(filter, changed, NULL, hashes, count));
}

static int run(const struct arguments *arguments)
{
    set_executor_threads(change.threads);
    return change_keys(&change, arguments);
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_add = {
    .name = "add",
    .synopsis = "FILE [KEY...] [-f KEYS] [-0] [-v] [--json] [--threads N] | URL [--shards N] [KEY...] [OPTION...]",
    .summary = "add keys to a filter",
    .details =
        "Adds the keys of the command line and of the files of -f or, if there are none, the lines of standard "
        "input. A KEY of - also stands for standard input; after -- it is an ordinary key. A key is all bytes "
        "before the newline.\n\n"
        "Either all keys are added or, after an error, none. A warning on standard error says when FILE holds "
        "more than its capacity.\n\n"
        "A URL, redis://[user[:password]@]host[:port]/KEY or rediss://, is a filter in a server or cluster that has "
        "loaded the module roost.so; with --shards N it is spread over N keys. There keys are added as they are read: "
        "after an error those before it stay, and a message says how many.",
    .options = options,
    .operands = operands,
    .more_operands = true,
    .changes_file = true,
    .run = run,
};
