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
    *figures = (struct demo_figures){.fresh_keys = FRESH_KEYS};
    for (uint32_t i = 0; i < demo->replicas.count; i++) {
        figures->missing += replica_count_missing(&demo->replicas, i);
        figures->look_ups += demo_elements_so_far(demo);
    }
    figures->false_positives = replica_count_false(&demo->replicas, 0, FRESH_KEYS);
    figures->groups = demo_compare_states(demo, figures->states);
}

static double measured_rate(const struct demo_figures *figures)
{
    return (double)figures->false_positives / (double)figures->fresh_keys;
}

static void print_replicas(const struct demo_figures *figures, const struct demo *demo)
{
    for (uint32_t i = 0; i < demo->replicas.count; i++) {
        roost_info info;
        char elements[COUNT_ROOM], label[32];
        roost_filter_get_info(demo->replicas.all[i].filter, &info);
        format_count(elements, (uint64_t)llround(info.elements));
        snprintf(label, sizeof label, "replica %u", i + 1);
        printf(LABEL "about %s elements, digest %s\n", label, elements, figures->states[i].digest);
    }
}

static void print_digests(const struct demo_figures *figures, const struct demo *demo)
{
    if (figures->groups == 1)
        printf(LABEL "all %u agree\n", "digests", demo->replicas.count);
    else
        printf(LABEL "DO NOT AGREE: %u different ones\n", "digests", figures->groups);
}

static void print_losses(const struct demo_figures *figures, const struct demo *demo)
{
    char missing[COUNT_ROOM], elements[COUNT_ROOM];
    format_count(missing, figures->missing);
    format_count(elements, demo_elements_so_far(demo));
    printf(LABEL "%s (each of %s asked for at each of %u replicas)\n", "elements lost", missing, elements,
           demo->replicas.count);
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
    printf(LABEL "%s sent, %s had deltas been full states (%.1f times)\n", "bytes", sent, full,
           bytes ? (double)demo->replicas.bytes_as_full_states / (double)bytes : 1.0);
}

void demo_print_figures(const struct demo_figures *figures, const struct demo *demo)
{
    putchar('\n');
    print_replicas(figures, demo);
    print_digests(figures, demo);
    print_losses(figures, demo);
    print_rate(figures, demo);
    print_messages(&demo->network.counts);
    print_bytes(demo);
    printf(LABEL "--seed 0x%llx repeats these figures\n", "seed", (unsigned long long)demo->seed);
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
    json_count(&json, "elements", demo_elements_so_far(demo));
    json_number(&json, "loss", demo->network.loss);
    json_text(&json, "seed", seed);
    json_count(&json, "ticks", demo->network.now);
    json_bool(&json, "equal", figures->groups == 1);
    json_text(&json, "digest", figures->groups == 1 ? figures->states[0].digest : NULL);
    json_count(&json, "elements_lost", figures->missing);
    json_number(&json, "fpr_promised", demo->config.fpr);
    json_number(&json, "fpr_measured", measured_rate(figures));
    print_network_json(&json, demo);
    json_end(&json);
}
