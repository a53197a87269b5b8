/* roost info: what a filter is, what it holds, and whether its promised rate holds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/file/filter_file.h"
#include "cli/base/interrupt.h"
#include "cli/base/json.h"
#include "cli/base/kinds.h"
#include "cli/base/messages.h"
#include "cli/base/numbers.h"
#include "server_info.h"
#include "verb.h"

static struct {
    bool json, new_replica;
    struct shards_options shards;
} settings;

static const struct option options[] = {
    {.name = "json", .type = OPTION_BOOLEAN, .place = &settings.json, .help = "as a JSON object"},
    {.name = "new-replica", .type = OPTION_BOOLEAN, .place = &settings.new_replica, .help = "make FILE a new replica"},
    SHARDS_OPTIONS(settings.shards),
    {0},
};

struct facts {
    const char *name;
    const roost_config *config;
    roost_info info;
    roost_imported_info imported;
    const roost_filter *filter;
    uint64_t elements, inserted, bytes_encoded, peers;
    char digest[33], seed[20];
    char actor[20]; /* empty: none */
};

static struct facts gather(const struct filter_file *file)
{
    struct facts facts = {.name = file->name, .config = roost_filter_get_config(file->filter), .filter = file->filter};
    uint64_t actor = roost_filter_get_actor(file->filter);
    roost_filter_get_info(file->filter, &facts.info);
    roost_filter_get_imported(file->filter, &facts.imported);
    facts.elements = (uint64_t)llround(facts.info.elements);
    facts.inserted = facts.info.inserted;
    facts.bytes_encoded = roost_file_get_frame_size(file->handle);
    facts.peers = roost_file_get_peer_count(file->handle);
    roost_digest_text(roost_filter_digest(file->filter), facts.digest);
    snprintf(facts.seed, sizeof facts.seed, "0x%llx", (unsigned long long)facts.config->seed);
    if (actor)
        snprintf(facts.actor, sizeof facts.actor, "0x%016llx", (unsigned long long)actor);
    return facts;
}

/* Scalable Bloom filters count how much each writer added, see docs/error-bounds.md. */
static bool keeps_quota(const struct facts *facts)
{
    return facts->config->scalable && facts->config->kind == ROOST_BLOOM;
}

static bool knows_time(const struct facts *facts)
{
    return facts->config->kind == ROOST_WINDOW || facts->config->kind == ROOST_COUNTER;
}

/* ---- for programs ---------------------------------------------------------------------------------------------- */

/* One table of hash prefixes, and not a series of tables. */
static bool has_prefixes(const struct facts *facts)
{
    return facts->config->scalable && facts->config->kind != ROOST_BLOOM && facts->config->bucket_size == 0;
}

static void print_shape_json(struct json *json, const struct facts *facts)
{
    if (knows_time(facts) && facts->config->scalable) {
        json_count(json, "prefix_bits", facts->config->fingerprint_bits);
        json_count(json, "growth_limit", facts->info.growth_limit);
    } else if (facts->config->kind == ROOST_BLOOM || knows_time(facts)) {
        json_count(json, "bits", facts->info.bits);
        json_count(json, "probes", facts->info.probes);
    } else if (has_prefixes(facts)) {
        json_count(json, "shortest_prefix", facts->info.shortest_prefix);
        json_count(json, "longest_prefix", facts->info.longest_prefix);
    } else {
        json_count(json, "fingerprint_bits", facts->config->fingerprint_bits);
        json_count(json, "bucket_size", facts->config->bucket_size);
        json_count(json, "buckets", facts->info.buckets);
    }
}

static void print_growth_json(struct json *json, const struct facts *facts)
{
    json_bool(json, "scalable", facts->config->scalable);
    if (!facts->config->scalable || knows_time(facts))
        return;
    json_count(json, "tables", facts->info.tables);
    json_count(json, "writers", facts->config->writers);
    json_count(json, "growth", facts->config->growth);
    json_text(json, "schedule", schedule_name(facts->config->schedule));
    json_count(json, "inserted", facts->inserted);
    json_count(json, "growth_limit", facts->info.growth_limit);
}

static void print_window_json(struct json *json, const struct facts *facts)
{
    roost_window_info window;
    int64_t value;
    roost_window_get_info(facts->filter, &window);
    json_number(json, "window_seconds", (double)window.window / 1e6);
    json_number(json, "slot_seconds", (double)window.slot / 1e6);
    json_number(json, "shortest_slot_seconds", (double)window.shortest_slot / 1e6);
    json_count(json, "past", facts->config->past);
    json_count(json, "slots", window.slots);
    json_number(json, "newest", (double)window.newest / 1e6);
    if (facts->config->kind == ROOST_WINDOW)
        return;
    if (roost_counter_get_value(facts->filter, &value) == ROOST_OK)
        json_integer(json, "value", value);
    json_count(json, "actors", facts->info.actors);
    json_text(json, "actor", facts->actor[0] ? facts->actor : NULL);
}

static void print_replica_json(struct json *json, const struct facts *facts)
{
    if (keeps_quota(facts)) {
        json_count(json, "actors", facts->info.actors);
        json_text(json, "actor", facts->actor[0] ? facts->actor : NULL);
    }
    if (facts->config->kind == ROOST_ORCUCKOO) {
        json_bool(json, "multiset", facts->config->multiset);
        json_text(json, "semantics", semantics_name(facts->config->semantics));
        json_count(json, "entry_bits", facts->config->entry_bits);
        json_count(json, "actors", facts->info.actors);
        json_count(json, "dots", facts->info.dots);
        json_count(json, "gaps", facts->info.gaps);
        json_text(json, "actor", facts->actor[0] ? facts->actor : NULL);
    }
    json_count(json, "journal", facts->info.journal);
    json_count(json, "peers", facts->peers);
}

/* The names are those of ROOST.INFO. */
static void print_imported_json(struct json *json, const struct facts *facts)
{
    json_count(json, "imported_parts", facts->imported.parts);
    json_count(json, "imported_items", facts->imported.items);
    json_count(json, "imported_removed", facts->imported.removed);
    json_count(json, "imported_capacity", facts->imported.capacity);
    json_count(json, "imported_bytes", facts->imported.bytes);
    json_number(json, "imported_fpr", facts->imported.fpr);
}

static void print_json(const struct facts *facts)
{
    struct json json;
    json_begin(&json);
    json_text(&json, "file", facts->name);
    json_text(&json, "kind", kind_name(facts->config->kind));
    if (facts->config->kind == ROOST_BLOOM || knows_time(facts))
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
    print_growth_json(&json, facts);
    print_shape_json(&json, facts);
    if (knows_time(facts))
        print_window_json(&json, facts);
    if (facts->imported.parts > 0)
        print_imported_json(&json, facts);
    print_replica_json(&json, facts);
    json_end(&json);
}

/* ---- for people ------------------------------------------------------------------------------------------------ */

#define LABEL "%-17s"

static void print_bloom(const struct facts *facts, const char *entries, const char *load)
{
    char bits[THINGS_ROOM];
    format_things(bits, facts->info.bits, "bit");
    printf(LABEL "%s, %s: %s", "kind", facts->config->scalable ? "scalable bloom" : "bloom",
           layout_name(facts->config->layout), bits);
    if (!facts->config->scalable)
        printf(", %u for each key", facts->info.probes);
    printf("\n");
    printf(LABEL "%s set, %s\n", "load", entries, load);
}

static void print_prefixes(const struct facts *facts)
{
    const roost_config *config = facts->config;
    printf(LABEL "scalable %s%s%s%s: hash prefixes of ", "kind", config->kind == ROOST_ORCUCKOO ? "orcuckoo" : "cuckoo",
           config->multiset ? ", a multiset" : "", config->semantics ? ", " : "",
           config->semantics ? semantics_name(config->semantics) : "");
    if (facts->info.shortest_prefix < facts->info.longest_prefix)
        printf("%u to ", facts->info.shortest_prefix);
    printf("%u bits\n", facts->info.longest_prefix);
}

static void print_cuckoo(const struct facts *facts, const char *entries, const char *load)
{
    char buckets[THINGS_ROOM];
    if (has_prefixes(facts)) {
        print_prefixes(facts);
        printf(LABEL "%s, %s of the slots\n", "load", entries, load);
        return;
    }
    format_things(buckets, facts->info.buckets, "bucket");
    printf(LABEL "%s%s%s: %s of %u, ", "kind", facts->config->scalable ? "scalable " : "",
           kind_name(facts->config->kind), facts->config->multiset ? ", a multiset" : "", buckets,
           facts->config->bucket_size);
    if (facts->config->kind == ROOST_ORCUCKOO)
        printf("entries of %u bits, ", facts->config->entry_bits);
    printf("fingerprints of %u bits%s\n", facts->config->fingerprint_bits, facts->config->scalable ? " or more" : "");
    printf(LABEL "%s, %s of the slots; %llu overflowed\n", "load", entries, load,
           (unsigned long long)facts->info.overflow);
}

static void print_window(const struct facts *facts, const char *entries, const char *load)
{
    roost_window_info window;
    char promised[COUNT_ROOM], slot[COUNT_ROOM], shortest[COUNT_ROOM], bits[COUNT_ROOM];
    roost_window_get_info(facts->filter, &window);
    format_duration(promised, window.window);
    format_duration(slot, window.slot);
    format_duration(shortest, window.shortest_slot);
    format_count(bits, facts->info.bits);
    if (facts->config->scalable) {
        printf(LABEL "%s, growing: %u bits of each hash\n", "kind", kind_name(facts->config->kind),
               facts->config->fingerprint_bits);
        printf(LABEL "%s, in slots of %s; %u at present\n", "window", promised, slot, window.slots);
        printf(LABEL "%s, %s of the places\n", "load", entries, load);
        return;
    }
    printf(LABEL "%s, %s: slots of %s bits, %u for each key\n", "kind", kind_name(facts->config->kind),
           layout_name(facts->config->layout), bits, facts->info.probes);
    printf(LABEL "%s, in slots of %s; %u at present, the shortest %s\n", "window", promised, slot, window.slots,
           shortest);
    printf(LABEL "%s set, %s\n", "load", entries, load);
}

static void print_value(const struct facts *facts)
{
    int64_t value;
    char actors[THINGS_ROOM];
    format_things(actors, facts->info.actors, "replica");
    if (roost_counter_get_value(facts->filter, &value) == ROOST_OK)
        printf(LABEL "%lld, counted by %s\n", "value", (long long)value, actors);
    else
        printf(LABEL "out of the range of 64 bits, counted by %s\n", "value", actors);
    printf(LABEL "%s\n", "actor", facts->actor[0] ? facts->actor : "none yet");
}

static const char *entry_name(const struct facts *facts)
{
    if (knows_time(facts))
        return facts->config->scalable ? "entry" : "bit";
    if (facts->config->kind == ROOST_BLOOM)
        return "bit";
    return has_prefixes(facts) ? "prefix" : "entry";
}

static void print_shape(const struct facts *facts)
{
    char entries[THINGS_ROOM], load[NUMBER_ROOM];
    format_things(entries, facts->info.entries, entry_name(facts));
    format_percent(load, facts->info.load, 3);
    if (knows_time(facts))
        print_window(facts, entries, load);
    else if (facts->config->kind == ROOST_BLOOM)
        print_bloom(facts, entries, load);
    else
        print_cuckoo(facts, entries, load);
}

static void print_causal_context(const struct facts *facts)
{
    char actors[THINGS_ROOM], dots[THINGS_ROOM], gaps[THINGS_ROOM];
    format_things(actors, facts->info.actors, "actor");
    format_things(dots, facts->info.dots, facts->config->semantics ? "change" : "addition");
    format_things(gaps, facts->info.gaps, "gap");
    printf(LABEL "%s by %s, %s\n", "causal context", dots, actors, gaps);
    printf(LABEL "%s\n", "actor", facts->actor[0] ? facts->actor : "none yet");
}

static void print_writers(const struct facts *facts)
{
    char known[COUNT_ROOM];
    format_count(known, facts->info.actors);
    printf(LABEL "%s of %u known\n", "writers", known, facts->config->writers);
    printf(LABEL "%s\n", "actor", facts->actor[0] ? facts->actor : "none yet");
}

static void print_replica(const struct facts *facts)
{
    char changes[THINGS_ROOM], peers[THINGS_ROOM];
    format_things(changes, facts->info.journal, "change");
    format_things(peers, facts->peers, "peer");
    if (facts->config->kind == ROOST_ORCUCKOO && facts->config->semantics != ROOST_LAST_WRITER_WINS)
        print_causal_context(facts);
    if (keeps_quota(facts))
        print_writers(facts);
    if (facts->info.journal > 0 || facts->peers > 0)
        printf(LABEL "%s in the journal, cursors of %s\n", "sync", changes, peers);
}

static void print_contents(const struct facts *facts)
{
    char capacity[COUNT_ROOM], elements[COUNT_ROOM], promised[NUMBER_ROOM], now[NUMBER_ROOM];
    format_count(capacity, facts->config->capacity);
    format_count(elements, facts->elements);
    format_rate(promised, facts->config->fpr);
    format_rate(now, facts->info.fpr_now);
    if (!facts->config->scalable)
        printf(LABEL "about %s of %s\n", "elements", elements, capacity);
    else if (keeps_quota(facts))
        printf(LABEL "%s added\n", "elements", elements);
    else
        printf(LABEL "about %s\n", "elements", elements);
    printf(LABEL "%s promised, %s now: the promise %s\n", "false positives", promised, now,
           facts->info.promise_holds ? "holds" : "NO LONGER HOLDS");
}

static void print_growth(const struct facts *facts)
{
    char tables[THINGS_ROOM], capacity[COUNT_ROOM];
    format_things(tables, facts->info.tables, "table");
    format_count(capacity, facts->config->capacity);
    if (has_prefixes(facts)) {
        char limit[COUNT_ROOM];
        format_count(limit, facts->info.growth_limit);
        printf(LABEL "%s%s expected, up to %s; %s schedule, %u writer%s\n", "growth",
               facts->config->capacity ? "" : "no capacity", facts->config->capacity ? capacity : "", limit,
               schedule_name(facts->config->schedule), facts->config->writers, facts->config->writers == 1 ? "" : "s");
        return;
    }
    printf(LABEL "%s; the first for %s, each further one ", "tables", facts->info.tables > 0 ? tables : "none yet",
           capacity);
    if (facts->config->growth == 1)
        printf("as large");
    else
        printf("%u times as large", facts->config->growth);
    printf("; %s schedule, %u writer%s\n", schedule_name(facts->config->schedule), facts->config->writers,
           facts->config->writers == 1 ? "" : "s");
}

static void print_imported(const struct facts *facts)
{
    char parts[THINGS_ROOM], items[THINGS_ROOM], memory[COUNT_ROOM];
    format_things(parts, facts->imported.parts, "part");
    format_things(items, facts->imported.items, "element");
    format_bytes(memory, facts->imported.bytes);
    printf(LABEL "%s of other programs' filters: %s, %s\n", "imported", parts, items, memory);
}

static void print_table(const struct facts *facts)
{
    char memory[COUNT_ROOM], encoded[COUNT_ROOM];
    format_bytes(memory, facts->info.bytes_memory);
    format_bytes(encoded, facts->bytes_encoded);
    print_contents(facts);
    print_shape(facts);
    if (facts->config->scalable && !knows_time(facts))
        print_growth(facts);
    if (facts->config->kind == ROOST_COUNTER)
        print_value(facts);
    if (facts->imported.parts > 0)
        print_imported(facts);
    printf(LABEL "%s in memory, %s encoded\n", "size", memory, encoded);
    print_replica(facts);
    printf(LABEL "%s\n", "seed", facts->seed);
    printf(LABEL "%s\n", "digest", facts->digest);
}

/* ---- a new replica --------------------------------------------------------------------------------------------- */

static void print_forgotten(const struct facts *before)
{
    char peers[THINGS_ROOM];
    format_things(peers, before->peers, "peer");
    printf("%s is a new replica", before->name);
    if (before->actor[0])
        printf("; it was actor %s", before->actor);
    if (before->peers > 0)
        printf("; dropped the cursors of %s", peers);
    printf("\n");
}

static bool make_new_replica(struct filter_file *file, const char *name)
{
    interrupt_catch();
    if (!filter_file_open(file, name))
        return false;
    struct facts before = gather(file);
    roost_status status = roost_file_reset_replica(file->handle);
    if (status != ROOST_OK)
        return complain_of_file(name, file->handle, status);
    file->filter = roost_file_get_filter(file->handle);
    if (!filter_file_save(file))
        return false;
    if (!settings.json)
        print_forgotten(&before);
    return true;
}

static void print_facts(const struct filter_file *file)
{
    struct facts facts = gather(file);
    if (settings.json)
        print_json(&facts);
    else
        print_table(&facts);
}

static int run(const struct arguments *arguments)
{
    struct filter_file file = {0};
    const char *name = arguments->operands[0];
    if (!shards_options_fit(&settings.shards, name))
        return EXIT_ERROR;
    if (is_server_name(name) && settings.new_replica)
        return complain("--new-replica", "only for a FILE"), EXIT_ERROR;
    if (is_server_name(name))
        return print_server_info(name, &settings.shards, settings.json) ? EXIT_FINE : EXIT_ERROR;
    bool fine = settings.new_replica ? make_new_replica(&file, name) : filter_file_look(&file, name);
    if (fine && (settings.json || !settings.new_replica))
        print_facts(&file);
    filter_file_close(&file);
    return fine ? EXIT_FINE : EXIT_ERROR;
}

static const char *const operands[] = {"FILE", NULL};

const struct verb verb_info = {
    .name = "info",
    .synopsis = "FILE [--json] [--new-replica] | URL [--shards N] [--json] [OPTION...]",
    .summary = "describe a filter and what it holds",
    .details =
        "Prints the configuration of the filter, an estimate of its elements, and its present rate of "
        "false positives beside the promised one.\n\n"
        "A file that was copied or restored becomes a new replica by itself; use --new-replica where "
        "that cannot be detected, as on a disk that was cloned as a whole.\n\n"
        "A URL is a filter in servers, as in roost add. With --shards the numbers are those of all shards together; "
        "the present rate is their mean, since a key is as likely to belong to one as to any other.",
    .options = options,
    .operands = operands,
    .run = run,
};
