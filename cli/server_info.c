/* What the shards of a filter hold together. The names of JSON fields are those of a file, where there is such a
   field. */
#include "server_info.h"

#include <math.h>
#include <stdio.h>

#include "cli/base/interrupt.h"
#include "cli/base/json.h"
#include "cli/base/kinds.h"
#include "cli/base/numbers.h"

#define LABEL "%-17s"

static void print_json(const char *name, const struct shards_facts *facts)
{
    struct json json;
    char seed[20];
    snprintf(seed, sizeof seed, "0x%llx", (unsigned long long)facts->config.seed);
    json_begin(&json);
    json_text(&json, "url", name);
    json_count(&json, "shards", facts->shards);
    json_count(&json, "nodes", facts->nodes);
    json_text(&json, "kind", kind_name(facts->config.kind));
    json_bool(&json, "scalable", facts->config.scalable);
    if (facts->config.kind == ROOST_ORCUCKOO)
        json_text(&json, "semantics", semantics_name(facts->config.semantics));
    json_count(&json, "capacity", facts->capacity);
    json_count(&json, "elements", (uint64_t)llround(facts->elements));
    json_count(&json, "most_elements", (uint64_t)llround(facts->most_elements));
    json_count(&json, "inserted", facts->inserted);
    json_number(&json, "fpr_promised", facts->config.fpr);
    json_number(&json, "fpr_now", facts->fpr_now);
    json_number(&json, "worst_fpr", facts->worst_fpr);
    json_bool(&json, "promise_holds", facts->promise_holds);
    json_count(&json, "bytes_memory", facts->bytes_memory);
    json_text(&json, "seed", seed);
    json_end(&json);
}

static void print_shards(const struct shards_facts *facts)
{
    char nodes[THINGS_ROOM], shards[COUNT_ROOM], most[COUNT_ROOM];
    format_things(nodes, facts->nodes, "node");
    format_count(shards, facts->shards);
    format_count(most, (uint64_t)llround(facts->most_elements));
    printf(LABEL "%s on %s; the fullest holds about %s\n", "shards", shards, nodes, most);
}

static void print_table(const struct shards_facts *facts)
{
    char elements[COUNT_ROOM], capacity[COUNT_ROOM], promised[NUMBER_ROOM], now[NUMBER_ROOM], memory[COUNT_ROOM];
    format_count(elements, (uint64_t)llround(facts->elements));
    format_count(capacity, facts->capacity);
    format_rate(promised, facts->config.fpr);
    format_rate(now, facts->fpr_now);
    format_bytes(memory, facts->bytes_memory);
    printf(facts->config.scalable ? LABEL "about %s\n" : LABEL "about %s of %s\n", "elements", elements, capacity);
    printf(LABEL "%s promised, %s now: the promise %s\n", "false positives", promised, now,
           facts->promise_holds ? "holds" : "NO LONGER HOLDS");
    printf(LABEL "%s%s%s%s%s\n", "kind", facts->config.scalable ? "scalable " : "", kind_name(facts->config.kind),
           facts->config.multiset ? ", a multiset" : "", facts->config.semantics ? ", " : "",
           facts->config.semantics ? semantics_name(facts->config.semantics) : "");
    print_shards(facts);
    printf(LABEL "%s in memory\n", "size", memory);
    printf(LABEL "0x%llx\n", "seed", (unsigned long long)facts->config.seed);
}

bool print_server_info(const char *url, const struct shards_options *options, bool json)
{
    struct shards_facts facts;
    struct shards *shards;
    interrupt_catch();
    bool fine = shards_open(&shards, url, options) && shards_look_at_all(shards, &facts, true);
    if (fine && json)
        print_json(shards_name(shards), &facts);
    else if (fine)
        print_table(&facts);
    shards_close(shards);
    return fine;
}
