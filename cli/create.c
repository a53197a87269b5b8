/* roost create: makes an empty filter. What it is made with stays for ever, so each value is checked by name. */
#include <sys/stat.h>

#include "filter_file.h"
#include "interrupt.h"
#include "kinds.h"
#include "messages.h"
#include "numbers.h"
#include "verb.h"

#define DEFAULT_FPR 0.01

static struct {
    unsigned kind, layout, bucket; /* 0: not given */
    uint64_t capacity, bits, writers;
    double fpr;
    struct seed_option seed;
    bool force;
} settings;

static const char *const bucket_sizes[] = {"1", "2", "4", "8", NULL};

static const struct option options[] = {
    {.name = "capacity",
     .type = OPTION_COUNT,
     .place = &settings.capacity,
     .value = "N",
     .help = "elements, over all replicas, for which the promise holds:\n1000, 1e6, 2.5M (k, M, G: powers of ten); "
             "required",
     .least = 1},
    {.name = "fpr",
     .type = OPTION_RATE,
     .place = &settings.fpr,
     .value = "P",
     .help = "promised false-positive rate, as 0.01 or 1% (default 1%;\nwith --bits: what they give)"},
    {.name = "kind",
     .type = OPTION_CHOICE,
     .place = &settings.kind,
     .value = "KIND",
     .help = "bloom: fastest, never full (default)\ncuckoo: smaller, refuses keys once its table is full",
     .choices = kind_names,
     .later_choices = later_kind_names},
    {.name = "layout",
     .type = OPTION_CHOICE,
     .place = &settings.layout,
     .value = "LAYOUT",
     .help = "of a bloom filter. blocked: one cache line a key\n(default); classic: smaller, slower",
     .choices = layout_names},
    {.name = "bits",
     .type = OPTION_COUNT,
     .place = &settings.bits,
     .value = "L",
     .help = "of a cuckoo fingerprint, 4 to 32 (default: the fewest\nthat keep the rate)",
     .least = 4,
     .most = 32},
    {.name = "bucket",
     .type = OPTION_CHOICE,
     .place = &settings.bucket,
     .value = "B",
     .help = "slots of a cuckoo bucket: 1, 2, 4 (default) or 8",
     .choices = bucket_sizes},
    {.name = "seed",
     .type = OPTION_SEED,
     .place = &settings.seed,
     .value = "S",
     .help = "of the hash, decimal or 0x and hexadecimal; filters\nmade apart merge if it is the same (default: a "
             "fixed one)"},
    {.name = "writers",
     .type = OPTION_COUNT,
     .place = &settings.writers,
     .value = "R",
     .help = "how many replicas will add at once, 1 to 65535;\nhas no effect on filters of fixed size",
     .least = 1,
     .most = 65535},
    {.name = "force",
     .letter = 'f',
     .type = OPTION_SWITCH,
     .place = &settings.force,
     .help = "replace FILE if it exists"},
    {.name = "scalable", .type = OPTION_LATER},
    {.name = "multiset", .type = OPTION_LATER},
    {.name = "entry", .type = OPTION_LATER, .value = "W"},
    {.name = "growth", .type = OPTION_LATER, .value = "G"},
    {.name = "schedule", .type = OPTION_LATER, .value = "S"},
    {0},
};

/* ---- configuration --------------------------------------------------------------------------------------------- */

static bool options_fit_kind(roost_kind kind)
{
    if (kind != ROOST_BLOOM && settings.layout)
        return complain("--layout", "only for --kind bloom");
    if (kind != ROOST_CUCKOO && settings.bits)
        return complain("--bits", "only for --kind cuckoo");
    if (kind != ROOST_CUCKOO && settings.bucket)
        return complain("--bucket", "only for --kind cuckoo");
    return settings.capacity > 0 || complain("create", "--capacity is missing");
}

static bool configure(roost_config *config)
{
    *config = roost_config_default();
    config->kind = settings.kind ? settings.kind : config->kind;
    if (!options_fit_kind(config->kind))
        return false;
    config->layout = settings.layout ? settings.layout : config->layout;
    config->capacity = settings.capacity;
    config->fpr = settings.fpr > 0 ? settings.fpr : settings.bits ? 0 : DEFAULT_FPR;
    config->fingerprint_bits = (uint32_t)settings.bits;
    config->bucket_size = settings.bucket ? 1u << (settings.bucket - 1) : config->bucket_size;
    config->seed = settings.seed.given ? settings.seed.seed : config->seed;
    return true;
}

/* All options are sound one by one; what is wrong is how they go together. */
static bool complain_of_configuration(const roost_config *config)
{
    char rate[NUMBER_ROOM];
    format_shortest(rate, config->fpr);
    if (config->fingerprint_bits)
        return complain("create", "fingerprints of %u bits cannot keep a rate of %s", config->fingerprint_bits, rate);
    if (config->kind == ROOST_BLOOM && config->layout == ROOST_BLOCKED)
        return complain("create", "a rate of %s is out of reach for the blocked layout; --layout classic goes lower", rate);
    return complain("create", "a rate of %s is out of reach for this kind of filter", rate);
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

static bool write_filter(const char *name, const roost_filter *filter)
{
    struct safe_file file;
    bool written = safe_file_open(&file, name) && (file.lock < 0 || settings.force || complain_of_existence(name)) &&
                   filter_file_write(&file, filter);
    safe_file_close(&file);
    return written;
}

static int run(const struct arguments *arguments)
{
    const char *name = arguments->operands[0];
    struct stat present;
    roost_filter *filter = make_filter(name);
    interrupt_catch();
    bool free_to_go = filter && (settings.force || stat(name, &present) != 0 || complain_of_existence(name));
    bool written = free_to_go && write_filter(name, filter);
    roost_filter_free(filter);
    return written ? EXIT_FINE : EXIT_TROUBLE;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_create = {
    .name = "create",
    .synopsis = "FILE --capacity N [--fpr P] [--kind bloom|cuckoo] [OPTION...]",
    .summary = "make an empty filter",
    .details = "Makes an empty filter. Filters merge when all of these options are equal, so that\n"
               "machines that never met can make theirs with the same command.\n",
    .options = options,
    .operands = operands,
    .changes_file = true,
    .run = run,
};
