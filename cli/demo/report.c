/* The end of the demo: every element is looked up at every replica. */
#include "report.h"

#include <math.h>
#include <stdio.h>

#include "cli/base/json.h"
#include "cli/base/kinds.h"
#include "cli/base/numbers.h"

#define FRESH_KEYS 1000000
#define LABEL      "%-17s"

void demo_measure(struct demo_figures *figures, const struct demo *demo)
{
    const struct elements *elements = &demo->elements;
    *figures = (struct demo_figures){.fresh_keys = FRESH_KEYS};
    for (uint32_t i = 0; i < demo->replicas.count; i++) {
        const roost_filter *filter = demo->replicas.all[i].filter;
        uint64_t again = elements->counts[ADDED_AGAIN] - elements_found(elements, filter, ADDED_AGAIN);
        figures->re_adds_lost += again;
        figures->lost += again + elements->counts[ADDED] - elements_found(elements, filter, ADDED);
        figures->came_back += elements_found(elements, filter, REMOVED);
    }
    figures->false_positives = elements_found_false(elements, demo->replicas.all[0].filter, FRESH_KEYS);
    figures->groups = demo_compare_states(demo, figures->states);
}

bool demo_is_sound(const struct demo_figures *figures)
{
    return figures->groups == 1 && figures->lost == 0 && figures->came_back == 0;
}

static double measured_rate(const struct demo_figures *figures)
{
    return (double)figures->false_positives / (double)figures->fresh_keys;
}

static void print_digests(const struct demo_figures *figures, const struct demo *demo)
{
    if (figures->groups == 1)
        printf(LABEL "%s at all %u replicas\n", "digest", figures->states[0].digest, demo->replicas.count);
    else
        printf(LABEL "replicas DO NOT AGREE: %u different ones\n", "digest", figures->groups);
}

static void print_losses(const struct demo_figures *figures, const struct demo *demo)
{
    char lost[COUNT_ROOM], elements[THINGS_ROOM];
    format_count(lost, figures->lost);
    format_things(elements, elements_alive(&demo->elements), "element");
    printf(LABEL "%s (%s looked up at each of %u replicas)\n", "lost", lost, elements, demo->replicas.count);
}

static void print_removals(const struct demo_figures *figures, const struct demo *demo)
{
    char back[COUNT_ROOM], removed[THINGS_ROOM], lost[COUNT_ROOM], again[COUNT_ROOM];
    format_count(back, figures->came_back);
    format_things(removed, demo->elements.counts[REMOVED], "removed element");
    format_count(lost, figures->re_adds_lost);
    format_count(again, demo->elements.counts[ADDED_AGAIN]);
    printf(LABEL "%s (%s looked up at each)\n", "came back", back, removed);
    printf(LABEL "%s (%s removed on one side, re-added on the other)\n", "re-adds lost", lost, again);
}

/* The margin is three standard errors of the count. */
static void print_rate(const struct demo_figures *figures, const struct demo *demo)
{
    char measured[NUMBER_ROOM], margin[NUMBER_ROOM], promised[NUMBER_ROOM], keys[COUNT_ROOM];
    double rate = measured_rate(figures);
    format_percent(measured, rate, 3);
    format_percent(margin, 3 * sqrt(rate * (1 - rate) / (double)figures->fresh_keys), 1);
    format_percent(promised, demo->config.fpr, 3);
    format_count(keys, figures->fresh_keys);
    if (figures->false_positives == 0)
        printf(LABEL "none in %s fresh keys, %s promised\n", "false positives", keys, promised);
    else
        printf(LABEL "%s of %s fresh keys (+- %s), %s promised\n", "false positives", measured, keys, margin, promised);
}

static void print_messages(const struct network_counts *counts)
{
    printf(LABEL "%llu sent, %llu lost, %llu cut off, %llu doubled, %llu overtaken\n", "messages",
           (unsigned long long)counts->sent, (unsigned long long)counts->lost, (unsigned long long)counts->cut,
           (unsigned long long)counts->doubled, (unsigned long long)counts->overtaken);
}

static void print_bytes(const struct demo *demo)
{
    char sent[COUNT_ROOM], full[COUNT_ROOM];
    uint64_t bytes = demo->network.counts.bytes;
    format_bytes(sent, bytes);
    format_bytes(full, demo->replicas.bytes_as_full_states);
    printf(LABEL "%s sent, %s as full states (%.1f times)\n", "bytes", sent, full,
           bytes ? (double)demo->replicas.bytes_as_full_states / (double)bytes : 1.0);
}

void demo_print_figures(const struct demo_figures *figures, const struct demo *demo)
{
    print_digests(figures, demo);
    print_losses(figures, demo);
    if (demo->config.kind == ROOST_ORCUCKOO)
        print_removals(figures, demo);
    print_rate(figures, demo);
    print_messages(&demo->network.counts);
    print_bytes(demo);
}

void demo_print_seed(uint64_t seed)
{
    printf(LABEL "--seed 0x%llx repeats these figures\n", "seed", (unsigned long long)seed);
}

static void print_network_json(struct json *json, const struct demo *demo)
{
    const struct network_counts *counts = &demo->network.counts;
    json_count(json, "messages_sent", counts->sent);
    json_count(json, "messages_lost", counts->lost);
    json_count(json, "messages_cut", counts->cut);
    json_count(json, "messages_doubled", counts->doubled);
    json_count(json, "messages_overtaken", counts->overtaken);
    json_count(json, "bytes_sent", counts->bytes);
    json_count(json, "bytes_as_full_states", demo->replicas.bytes_as_full_states);
}

void demo_print_json(const struct demo_figures *figures, const struct demo *demo)
{
    struct json json;
    char seed[20];
    snprintf(seed, sizeof seed, "0x%llx", (unsigned long long)demo->seed);
    json_begin(&json);
    json_text(&json, "kind", kind_name(demo->config.kind));
    json_count(&json, "replicas", demo->replicas.count);
    json_count(&json, "elements", demo->elements.added);
    json_count(&json, "elements_removed", demo->elements.counts[REMOVED]);
    json_count(&json, "elements_added_again", demo->elements.counts[ADDED_AGAIN]);
    json_number(&json, "loss", demo->network.loss);
    json_text(&json, "seed", seed);
    json_count(&json, "ticks", demo->network.now);
    json_bool(&json, "equal", figures->groups == 1);
    json_text(&json, "digest", figures->groups == 1 ? figures->states[0].digest : NULL);
    json_count(&json, "elements_lost", figures->lost);
    json_count(&json, "elements_came_back", figures->came_back);
    json_number(&json, "fpr_promised", demo->config.fpr);
    json_number(&json, "fpr_measured", measured_rate(figures));
    print_network_json(&json, demo);
    json_end(&json);
}
