/*
 * roost demo: a few replicas of one filter, in this process, over a simulated network that loses, duplicates, delays
 * and reorders their messages and is partitioned for a while. All figures are measured on the filters and the network,
 * and none depends on the clock: the same seed gives the same figures.
 */
#include <stdio.h>
#include <sys/random.h>

#include "report.h"
#include "state.h"
#include "view.h"
#include "cli/file/filter_file.h"
#include "cli/base/interrupt.h"
#include "cli/base/kinds.h"
#include "cli/base/messages.h"
#include "cli/verb.h"

#define DEFAULT_REPLICAS 5
#define DEFAULT_ELEMENTS 100000
#define DEFAULT_LOSS     0.2
#define ROUND_TICKS      24
#define ADDING_TICKS     4      /* at the beginning of a round that adds */
#define MOST_TICKS       100000 /* far more than the highest loss rate needs */

/* A filter at exactly its capacity exceeds the promised rate slightly in half of all runs, so it gets 5 % more. */
#define HEADROOM 20

static struct {
    unsigned kind;
    uint64_t replicas, elements;
    double loss;
    struct seed_option seed;
    bool fast, json;
} settings = {.kind = ROOST_BLOOM, .replicas = DEFAULT_REPLICAS, .elements = DEFAULT_ELEMENTS, .loss = DEFAULT_LOSS};

static const struct option options[] = {
    {.name = "kind",
     .type = OPTION_CHOICE,
     .place = &settings.kind,
     .value = "KIND",
     .help = "bloom (default) or cuckoo",
     .choices = grow_only_kind_names,
     .later_choices = other_kind_names},
    {.name = "replicas",
     .type = OPTION_COUNT,
     .place = &settings.replicas,
     .value = "N",
     .help = "number of replicas (default 5)",
     .least = 2,
     .most = MOST_REPLICAS},
    {.name = "elements",
     .type = OPTION_COUNT,
     .place = &settings.elements,
     .value = "N",
     .help = "elements over all replicas (default 100k)",
     .least = 1,
     .most = 10000000},
    {.name = "loss",
     .type = OPTION_SHARE,
     .place = &settings.loss,
     .value = "P",
     .help = "part of the messages that is lost, up to 90% (default 20%)",
     .most = 90},
    {.name = "seed",
     .type = OPTION_SEED,
     .place = &settings.seed,
     .value = "S",
     .help = "repeat the run of that seed (default: a random one)"},
    {.name = "fast",
     .type = OPTION_BOOLEAN,
     .place = &settings.fast,
     .help = "no live view: plain lines, as fast as it goes"},
    {.name = "json",
     .type = OPTION_BOOLEAN,
     .place = &settings.json,
     .help = "print only the figures at the end, as a JSON object"},
    {0},
};

static const struct demo_round rounds[] = {
    {"all replicas add", true, false},          {"all replicas add", true, false},
    {"all replicas add", true, false},          {"all replicas add, the network is partitioned", true, true},
    {"the partition has healed", false, false}, {"all replicas add", true, false},
    {"all replicas add", true, false},
};
#define ROUNDS (sizeof rounds / sizeof *rounds)

/* ---- plan ------------------------------------------------------------------------------------------------------ */

static uint32_t round_at(uint64_t tick)
{
    uint64_t round = (tick - 1) / ROUND_TICKS;
    return round < ROUNDS ? (uint32_t)round : ROUNDS - 1;
}

/* How many ticks up to this one add elements. */
static uint64_t adding_ticks_until(uint64_t tick)
{
    uint64_t ticks = 0;
    for (uint64_t t = 1; t <= tick && t <= ROUNDS * ROUND_TICKS; t++)
        ticks += rounds[round_at(t)].adds && (t - 1) % ROUND_TICKS < ADDING_TICKS;
    return ticks;
}

static uint64_t share_of(const struct demo *demo, uint32_t index)
{
    uint64_t rest = demo->elements % demo->replicas.count;
    return demo->elements / demo->replicas.count + (index < rest);
}

static roost_status add_as_planned(struct demo *demo)
{
    uint64_t tick = demo->network.now, all = adding_ticks_until(ROUNDS * ROUND_TICKS);
    roost_status status = ROOST_OK;
    for (uint32_t i = 0; status == ROOST_OK && i < demo->replicas.count; i++) {
        uint64_t target = share_of(demo, i) * adding_ticks_until(tick) / all;
        status = replica_add(&demo->replicas, i, target - demo->replicas.all[i].own);
    }
    return status;
}

/* ---- run ------------------------------------------------------------------------------------------------------- */

static uint64_t random_seed(void)
{
    uint32_t seed = 1;
    if (getrandom(&seed, sizeof seed, 0) < 0)
        seed = 1;
    return seed; /* short enough to type */
}

static roost_status open_demo(struct demo *demo)
{
    *demo = (struct demo){.elements = settings.elements,
                          .seed = settings.seed.given ? settings.seed.seed : random_seed(),
                          .config = roost_config_default(),
                          .rounds = rounds,
                          .round_count = ROUNDS};
    demo->config.kind = settings.kind;
    demo->config.capacity = settings.elements + settings.elements / HEADROOM;
    if (!network_open(&demo->network, (uint32_t)settings.replicas, settings.loss, demo->seed))
        return ROOST_NO_MEMORY;
    return replicas_open(&demo->replicas, (uint32_t)settings.replicas, &demo->config, demo->seed, &demo->network);
}

static void close_demo(struct demo *demo)
{
    replicas_close(&demo->replicas);
    network_close(&demo->network);
}

static bool is_over(const struct demo *demo)
{
    uint64_t tick = demo->network.now;
    return tick >= MOST_TICKS || (tick >= ROUNDS * ROUND_TICKS && replicas_are_done(&demo->replicas));
}

static roost_status step(struct demo *demo)
{
    demo->network.now++;
    demo->round = round_at(demo->network.now);
    demo->network.cut_before = rounds[demo->round].cut ? demo_first_beyond_cut(demo) : 0;
    roost_status status = add_as_planned(demo);
    return status == ROOST_OK ? replicas_exchange(&demo->replicas) : status;
}

static roost_status run_rounds(struct demo *demo, struct demo_view *view)
{
    roost_status status = ROOST_OK;
    while (status == ROOST_OK && !is_over(demo) && !interrupted()) {
        status = step(demo);
        demo_view_tick(view, demo, is_over(demo));
        bool ends_round = demo->network.now % ROUND_TICKS == 0 && demo->network.now < ROUNDS * ROUND_TICKS;
        if (status == ROOST_OK && (ends_round || is_over(demo)))
            demo_view_round(view, demo);
    }
    return status;
}

static int conclude(const struct demo *demo)
{
    struct demo_figures figures;
    demo_measure(&figures, demo);
    if (settings.json)
        demo_print_json(&figures, demo);
    else
        demo_print_figures(&figures, demo);
    return figures.missing == 0 && figures.groups == 1 ? EXIT_FINE : EXIT_NONE;
}

static int run(const struct arguments *arguments)
{
    (void)arguments;
    struct demo demo;
    struct demo_view view;
    int exit_status = EXIT_ERROR;
    roost_status status = open_demo(&demo);
    interrupt_catch();
    if (status == ROOST_OK) {
        demo_view_open(&view, &demo, settings.json, settings.fast);
        status = run_rounds(&demo, &view);
        demo_view_close(&view);
    }
    if (status != ROOST_OK)
        complain_of_status("demo", status);
    else if (!interrupted())
        exit_status = conclude(&demo);
    close_demo(&demo);
    return exit_status;
}

static const char *const operands[] = {NULL};

const struct verb verb_demo = {
    .name = "demo",
    .synopsis = "[OPTION...]",
    .summary = "watch replicas converge over an unreliable simulated network",
    .details = "Replicas of one filter add elements and exchange deltas over a simulated network that\n"
               "loses, duplicates, delays and reorders messages and is partitioned for a while. At the\n"
               "end: whether they agree, elements lost, measured false positives, and bytes sent.\n"
               "Exit status: 0 all agree and nothing was lost, 1 otherwise.\n",
    .options = options,
    .operands = operands,
    .run = run,
};
