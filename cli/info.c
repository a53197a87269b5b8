/* roost info: what a filter is, what it holds, and whether its promise stands. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "filter_file.h"
#include "json.h"
#include "kinds.h"
#include "messages.h"
#include "numbers.h"
#include "verb.h"

static struct {
    bool json;
} settings;

static const struct option options[] = {
    {.name = "json", .type = OPTION_SWITCH, .place = &settings.json, .help = "as a JSON object"},
    {0},
};

struct facts {
    const char *name;
    const roost_config *config;
    roost_info info;
    uint64_t elements, bytes_encoded;
    char digest[33], seed[20];
};

static struct facts gather(const char *name, roost_filter *filter, uint64_t bytes_encoded)
{
    struct facts facts = {.name = name, .config = roost_filter_config(filter), .bytes_encoded = bytes_encoded};
    roost_filter_info(filter, &facts.info);
    facts.elements = (uint64_t)llround(facts.info.elements);
    roost_digest_text(roost_filter_digest(filter), facts.digest);
    snprintf(facts.seed, sizeof facts.seed, "0x%llx", (unsigned long long)facts.config->seed);
    return facts;
}

/* ---- for programs ---------------------------------------------------------------------------------------------- */

static void print_shape_json(struct json *json, const struct facts *facts)
{
    if (facts->config->kind == ROOST_BLOOM) {
        json_count(json, "bits", facts->info.bits);
        json_count(json, "probes", facts->info.probes);
    } else {
        json_count(json, "fingerprint_bits", facts->config->fingerprint_bits);
        json_count(json, "bucket_size", facts->config->bucket_size);
        json_count(json, "buckets", facts->info.buckets);
    }
}

static void print_json(const struct facts *facts)
{
    struct json json;
    json_begin(&json);
    json_text(&json, "file", facts->name);
    json_text(&json, "kind", kind_name(facts->config->kind));
    if (facts->config->kind == ROOST_BLOOM)
        json_text(&json, "layout", layout_name(facts->config->layout));
    json_count(&json, "capacity", facts->config->capacity);
    json_count(&json, "elements", facts->elements);
    json_count(&json, "entries", facts->info.entries);
    json_count(&json, "overflow", facts->info.overflow);
    json_number(&json, "load", facts->info.load);
    json_number(&json, "fpr_promised", facts->config->fpr);
    json_number(&json, "fpr_now", facts->info.fpr_now);
    json_bool(&json, "promise_holds", facts->info.promise_holds);
    json_count(&json, "bytes_memory", facts->info.bytes_memory);
    json_count(&json, "bytes_encoded", facts->bytes_encoded);
    json_text(&json, "digest", facts->digest);
    json_text(&json, "seed", facts->seed);
    print_shape_json(&json, facts);
    json_end(&json);
}

/* ---- for people ------------------------------------------------------------------------------------------------ */

#define LABEL "%-17s"

static void print_shape(const struct facts *facts)
{
    char many[COUNT_ROOM], entries[COUNT_ROOM], load[NUMBER_ROOM];
    format_count(entries, facts->info.entries);
    format_percent(load, facts->info.load, 3);
    if (facts->config->kind == ROOST_BLOOM) {
        format_count(many, facts->info.bits);
        printf(LABEL "bloom, %s: %s bits, %u for each key\n", "kind", layout_name(facts->config->layout), many,
               facts->info.probes);
        printf(LABEL "%s bits set, %s\n", "load", entries, load);
    } else {
        format_count(many, facts->info.buckets);
        printf(LABEL "cuckoo: %s buckets of %u, fingerprints of %u bits\n", "kind", many, facts->config->bucket_size,
               facts->config->fingerprint_bits);
        printf(LABEL "%s entries, %s of the slots; %llu overflowed\n", "load", entries, load,
               (unsigned long long)facts->info.overflow);
    }
}

static void print_contents(const struct facts *facts)
{
    char capacity[COUNT_ROOM], elements[COUNT_ROOM], promised[NUMBER_ROOM], now[NUMBER_ROOM];
    format_count(capacity, facts->config->capacity);
    format_count(elements, facts->elements);
    format_percent(promised, facts->config->fpr, 3);
    format_percent(now, facts->info.fpr_now, 3);
    printf(LABEL "about %s of %s\n", "elements", elements, capacity);
    printf(LABEL "%s promised, %s now: the promise %s\n", "false positives", promised, now,
           facts->info.promise_holds ? "holds" : "NO LONGER HOLDS");
}

static void print_table(const struct facts *facts)
{
    char memory[COUNT_ROOM], encoded[COUNT_ROOM];
    format_bytes(memory, facts->info.bytes_memory);
    format_bytes(encoded, facts->bytes_encoded);
    print_contents(facts);
    print_shape(facts);
    printf(LABEL "%s in memory, %s in the file\n", "size", memory, encoded);
    printf(LABEL "%s\n", "seed", facts->seed);
    printf(LABEL "%s\n", "digest", facts->digest);
}

static int run(const struct arguments *arguments)
{
    uint64_t bytes_encoded;
    roost_filter *filter = filter_file_read(arguments->operands[0], &bytes_encoded);
    if (!filter)
        return EXIT_TROUBLE;
    struct facts facts = gather(arguments->operands[0], filter, bytes_encoded);
    if (settings.json)
        print_json(&facts);
    else
        print_table(&facts);
    roost_filter_free(filter);
    return EXIT_FINE;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_info = {
    .name = "info",
    .synopsis = "FILE [--json]",
    .summary = "tell what a filter is and what it holds",
    .details = "Tells what the filter was made for, about how many elements it holds, and how often it\n"
               "errs at present beside what was promised.\n",
    .options = options,
    .operands = operands,
    .run = run,
};
