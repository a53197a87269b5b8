/* roost create: creates an empty filter. Its configuration never changes, so each option is checked on its own. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/file/filter_file.h"
#include "cli/base/interrupt.h"
#include "cli/base/kinds.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "cli/peer/shards.h"
#include "verb.h"

#define DEFAULT_FPR            0.01
#define DEFAULT_FIRST_CAPACITY 10000 /* of a series of tables, which grows anyway */
#define DEFAULT_WRITERS        4     /* see writers in roost/filter.h */
#define MOST_WRITERS           1024
#define LEAST_EXPONENT         (-20) /* no kind has a lower rate */

/* Of the fingerprints of an orcuckoo filter; see fingerprint_bits and entry_bits in roost/filter.h. */
#define LEAST_SET_BITS      16
#define LEAST_MULTISET_BITS 8
#define MOST_ENTRY_BITS     28
#define SHORT_ENTRY_BITS    8

static struct {
    unsigned kind, layout, bucket, entry, growth, schedule, semantics; /* 0: not given */
    uint64_t capacity, bits, writers;
    double fpr;
    struct seed_option seed;
    bool multiset, scalable, force;
    struct shards_options shards;
} settings;

static const char *const powers_of_two[] = {"1", "2", "4", "8", NULL}; /* choice i is 2^(i - 1) */

enum { ENTRY_32 = 1, ENTRY_64 };
static const char *const entry_sizes[] = {"32", "64", NULL};

static const struct option options[] = {
    {.name = "capacity",
     .type = OPTION_COUNT,
     .place = &settings.capacity,
     .value = "N",
     .help = "elements, over all replicas, for which --fpr holds: 1000, 1e6, 2.5M (k, M, G: powers of ten); "
             "without it the filter grows",
     .least = 1},
    {.name = "fpr",
     .type = OPTION_RATE,
     .place = &settings.fpr,
     .value = "P",
     .help = "promised false-positive rate, as 0.01 or 1% (default 1%; with --bits: what these give)"},
    {.name = "kind",
     .type = OPTION_CHOICE,
     .place = &settings.kind,
     .value = "KIND",
     .help = "bloom: fastest, never full (default for a fixed size)\ncuckoo: smaller, refuses keys once its table is "
             "full; the best one that grows (default for filters that grow)\norcuckoo: keys can be removed again",
     .choices = kind_names},
    {.name = "layout",
     .type = OPTION_CHOICE,
     .place = &settings.layout,
     .value = "LAYOUT",
     .help = "of a bloom filter. blocked (default): one cache line a key; classic: smaller, slower",
     .choices = layout_names},
    {.name = "bits",
     .type = OPTION_COUNT,
     .place = &settings.bits,
     .value = "L",
     .help =
         "bits of a fingerprint. cuckoo: 4 to 32 (default: the fewest that keep the rate); orcuckoo: 16 to 28, in a "
         "multiset 8 to 28 (default: 24, or more if the rate needs them)",
     .least = 4,
     .most = 32},
    {.name = "bucket",
     .type = OPTION_CHOICE,
     .place = &settings.bucket,
     .value = "B",
     .help = "slots of a cuckoo or orcuckoo bucket: 1, 2, 4 (default) or 8",
     .choices = powers_of_two},
    {.name = "multiset",
     .type = OPTION_BOOLEAN,
     .place = &settings.multiset,
     .help = "of an orcuckoo filter: a key that is added twice is contained twice"},
    {.name = "semantics",
     .type = OPTION_CHOICE,
     .place = &settings.semantics,
     .value = "S",
     .help = "of an orcuckoo filter that grows: what holds where one replica adds a key and another removes it at the "
             "same time. add-wins (default): the key is in; remove-wins: it is out, until it is added again; "
             "last-writer-wins: the later of the two, by the clocks of their machines. The latter two keep an entry "
             "for each removal",
     .choices = semantics_names},
    {.name = "entry",
     .type = OPTION_CHOICE,
     .place = &settings.entry,
     .value = "W",
     .help = "bits of an orcuckoo entry: 64 (default), or 32 in a multiset, with fingerprints of 8 bits",
     .choices = entry_sizes},
    {.name = "seed",
     .type = OPTION_SEED,
     .place = &settings.seed,
     .value = "S",
     .help = "seed of the hash, decimal or 0x and hexadecimal; filters merge if theirs are equal (default: a fixed "
             "one)"},
    {.name = "scalable",
     .type = OPTION_BOOLEAN,
     .place = &settings.scalable,
     .help = "grow with what is added, and keep the rate; --capacity is what you expect, if you know"},
    {.name = "growth",
     .type = OPTION_CHOICE,
     .place = &settings.growth,
     .value = "G",
     .help = "of a scalable filter: each table or level has 1, 2, 4 or 8 times the capacity of the one before "
             "(default 2)",
     .choices = powers_of_two},
    {.name = "schedule",
     .type = OPTION_CHOICE,
     .place = &settings.schedule,
     .value = "S",
     .help = "of a scalable filter, how tables or levels divide the rate: gentle (cuckoo and orcuckoo, default there), "
             "quadratic (default of bloom) or halving, which takes more memory from the sixth table on",
     .choices = schedule_names},
    {.name = "writers",
     .type = OPTION_COUNT,
     .place = &settings.writers,
     .value = "R",
     .help = "how many replicas add keys, 1 to 1024 (default 4); no effect without --scalable",
     .least = 1,
     .most = MOST_WRITERS},
    {.name = "force",
     .letter = 'f',
     .type = OPTION_BOOLEAN,
     .place = &settings.force,
     .help = "replace FILE if it exists; of a filter in servers: create keys that are missing although others hold "
             "elements"},
    SHARDS_OPTIONS(settings.shards),
    {0},
};

/* ---- configuration --------------------------------------------------------------------------------------------- */

static bool options_fit_kind(roost_kind kind)
{
    if (kind != ROOST_BLOOM && settings.layout)
        return complain("--layout", "only for --kind bloom");
    if (kind == ROOST_BLOOM && settings.bits)
        return complain("--bits", "only for --kind cuckoo and orcuckoo");
    if (kind == ROOST_BLOOM && settings.bucket)
        return complain("--bucket", "only for --kind cuckoo and orcuckoo");
    if (kind != ROOST_ORCUCKOO && settings.multiset)
        return complain("--multiset", "only for --kind orcuckoo");
    if (kind != ROOST_ORCUCKOO && settings.semantics)
        return complain("--semantics", "only for --kind orcuckoo");
    if (kind != ROOST_ORCUCKOO && settings.entry)
        return complain("--entry", "only for --kind orcuckoo");
    return true;
}

static roost_semantics chosen_semantics(void)
{
    return settings.semantics ? (roost_semantics)(settings.semantics - 1) : ROOST_ADD_WINS;
}

/* Without a capacity a filter grows. What grows is a cuckoo filter, unless another kind is asked for. */
static bool is_to_grow(void)
{
    return settings.scalable || settings.capacity == 0;
}

static roost_kind chosen_kind(void)
{
    return settings.kind ? settings.kind : is_to_grow() && !settings.layout ? ROOST_CUCKOO : ROOST_BLOOM;
}

static bool options_fit_growth(roost_kind kind)
{
    if (!is_to_grow() && settings.growth)
        return complain("--growth", "only with --scalable");
    if (!is_to_grow() && settings.schedule)
        return complain("--schedule", "only with --scalable");
    if (settings.schedule == ROOST_GENTLE && kind == ROOST_BLOOM)
        return complain("--schedule gentle", "only for --kind cuckoo and orcuckoo");
    if (is_to_grow() && settings.bits && kind != ROOST_BLOOM)
        return complain("--bits", "not for a cuckoo filter that grows: give --capacity without --scalable, or --fpr");
    if (is_to_grow() && settings.bucket && kind != ROOST_BLOOM)
        return complain("--bucket", "not for a cuckoo filter that grows: give --capacity without --scalable");
    if (!is_to_grow() && chosen_semantics() != ROOST_ADD_WINS)
        return complain("--semantics", "a filter of fixed size is add-wins; for %s add --scalable",
                        semantics_name(chosen_semantics()));
    if (settings.multiset && chosen_semantics() != ROOST_ADD_WINS)
        return complain("--semantics", "a multiset is add-wins; leave --multiset out for %s",
                        semantics_name(chosen_semantics()));
    if (is_to_grow() && settings.entry)
        return complain("--entry", "not for a filter that grows, whose entries are as wide as they must be");
    return true;
}

/* In a set, the fingerprint alone tells elements apart when one is removed; in a multiset, copies are counted. */
static bool entries_fit(void)
{
    unsigned least = settings.multiset ? LEAST_MULTISET_BITS : LEAST_SET_BITS;
    if (settings.entry == ENTRY_32 && !settings.multiset)
        return complain("--entry 32", "only with --multiset; a set needs entries of 64 bits");
    if (settings.entry == ENTRY_32 && settings.bits && settings.bits != SHORT_ENTRY_BITS)
        return complain("--bits", "entries of 32 bits have fingerprints of %d bits, no others", SHORT_ENTRY_BITS);
    if (settings.bits && (settings.bits < least || settings.bits > MOST_ENTRY_BITS))
        return complain("--bits", "must be from %u to %u in an orcuckoo %s", least, MOST_ENTRY_BITS,
                        settings.multiset ? "multiset" : "filter without --multiset");
    return true;
}

/* With --bits the rate follows from the fingerprints, unless --fpr is given. A scalable filter divides a rate among
   its tables, so it needs one. */
static double promised_rate(void)
{
    bool bits_are_given = !is_to_grow() && (settings.bits || settings.entry == ENTRY_32);
    return settings.fpr > 0 ? settings.fpr : bits_are_given ? 0 : DEFAULT_FPR;
}

static uint32_t power_of_two(unsigned choice, uint32_t otherwise)
{
    return choice ? 1u << (choice - 1) : otherwise;
}

static void configure_growth(roost_config *config)
{
    config->scalable = true;
    if (!config->capacity && config->kind == ROOST_BLOOM)
        config->capacity = DEFAULT_FIRST_CAPACITY;
    config->writers = (uint32_t)settings.writers;
    config->growth = power_of_two(settings.growth, 0);
    config->schedule = settings.schedule;
}

static bool configure(roost_config *config)
{
    *config = roost_config_default();
    config->kind = chosen_kind();
    if (!options_fit_kind(config->kind) || !options_fit_growth(config->kind) ||
        (config->kind == ROOST_ORCUCKOO && !entries_fit()))
        return false;
    config->layout = settings.layout ? settings.layout : config->layout;
    config->capacity = settings.capacity;
    config->fpr = promised_rate();
    config->fingerprint_bits = settings.entry == ENTRY_32 ? SHORT_ENTRY_BITS : (uint32_t)settings.bits;
    config->bucket_size = power_of_two(settings.bucket, config->bucket_size);
    config->entry_bits = settings.entry == ENTRY_32 ? 32 : settings.entry == ENTRY_64 ? 64 : 0;
    config->multiset = settings.multiset;
    config->semantics = chosen_semantics();
    config->seed = settings.seed.given ? settings.seed.seed : config->seed;
    if (is_to_grow())
        configure_growth(config);
    return true;
}

static bool is_possible(roost_config config)
{
    roost_filter *filter;
    roost_environment environment = filter_environment();
    config.capacity = MOST_WRITERS; /* rates do not depend on it, and a small filter is made in no time */
    roost_status status = roost_filter_new(&filter, &config, &environment);
    roost_filter_free(filter);
    return status == ROOST_OK;
}

/* Names a layout or a rate that does. */
static bool complain_of_rate(roost_config config)
{
    char rate[NUMBER_ROOM], possible[NUMBER_ROOM];
    format_shortest(rate, config.fpr);
    if (config.kind == ROOST_BLOOM && config.layout == ROOST_BLOCKED) {
        config.layout = ROOST_CLASSIC;
        if (is_possible(config))
            return complain("create", "a rate of %s is too low for the blocked layout; use --layout classic", rate);
        config.layout = ROOST_BLOCKED;
    }
    for (int exponent = LEAST_EXPONENT; exponent < 0; exponent++) {
        snprintf(possible, sizeof possible, "1e%d", exponent);
        config.fpr = strtod(possible, NULL);
        if (is_possible(config))
            return complain("create", "this kind of filter cannot have a rate of %s; use --fpr %s or more", rate,
                            possible);
    }
    return complain("create", "this kind of filter cannot have a rate of %s", rate);
}

/* Each option is valid; their combination is not. */
static bool complain_of_configuration(const roost_config *config)
{
    char rate[NUMBER_ROOM];
    format_shortest(rate, config->fpr);
    uint32_t writers = config->writers ? config->writers : DEFAULT_WRITERS;
    if (config->scalable && config->capacity < writers && config->kind == ROOST_BLOOM)
        return complain("--capacity", "must be at least %u in a scalable filter: one for each writer", writers);
    if (config->fingerprint_bits && !config->scalable)
        return complain("create", "fingerprints of %u bits cannot keep a rate of %s", config->fingerprint_bits, rate);
    return complain_of_rate(*config);
}

static roost_filter *make_filter(const char *name)
{
    roost_filter *filter;
    roost_config config;
    if (!configure(&config))
        return NULL;
    roost_environment environment = filter_environment();
    roost_status status = roost_filter_new(&filter, &config, &environment);
    if (status == ROOST_INVALID)
        complain_of_configuration(&config);
    else if (status != ROOST_OK)
        complain_of_status(name, status);
    return filter;
}

/* ---- file ------------------------------------------------------------------------------------------------------ */

static bool complain_of_existence(const char *name)
{
    return complain(name, "already exists; --force replaces it");
}

static bool write_filter(struct filter_file *file, const char *name)
{
    return filter_file_lock(file, name) &&
           (!filter_file_exists(file) || settings.force || complain_of_existence(name)) && filter_file_save(file);
}

/* ---- servers --------------------------------------------------------------------------------------------------- */

static bool create_in_servers(const char *url)
{
    struct shards *shards;
    roost_config config;
    if (!configure(&config) || !(is_possible(config) || complain_of_configuration(&config)))
        return false;
    interrupt_catch();
    bool fine = shards_open(&shards, url, &settings.shards) && shards_create(shards, &config, settings.force);
    shards_close(shards);
    return fine;
}

static int run(const struct arguments *arguments)
{
    const char *name = arguments->operands[0];
    if (!shards_options_fit(&settings.shards, name))
        return EXIT_ERROR;
    if (is_server_name(name))
        return create_in_servers(name) ? EXIT_FINE : EXIT_ERROR;
    struct stat present;
    struct filter_file file = {0};
    bool made = filter_file_put(&file, name, make_filter(name));
    interrupt_catch();
    bool free_to_go = made && (settings.force || stat(name, &present) != 0 || complain_of_existence(name));
    bool written = free_to_go && write_filter(&file, name);
    filter_file_close(&file);
    return written ? EXIT_FINE : EXIT_ERROR;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_create = {
    .name = "create",
    .synopsis = "FILE [--capacity N] [--scalable] [--fpr P] [--kind bloom|cuckoo|orcuckoo] [OPTION...] | URL [--shards "
                "N] [OPTION...]",
    .summary = "create an empty filter",
    .details =
        "Creates an empty filter. Filters merge if they were created with the same options, on any "
        "machine. Without --capacity the filter grows with what you add.\n\n"
        "A URL, redis://[user[:password]@]host[:port]/KEY or rediss://, is a filter in a server or cluster that has "
        "loaded the module roost.so. With --shards N it is spread over the keys {KEY:0} to {KEY:N-1}, so that it can "
        "be "
        "larger than a node; --capacity is that of the whole. Give the same N to all other verbs. Keys that exist "
        "already stay, and those that are missing are created.",
    .options = options,
    .operands = operands,
    .changes_file = true,
    .run = run,
};
