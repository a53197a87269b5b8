/*
 * roost demo: a few replicas of one filter, in this process, over a simulated network that loses, duplicates, delays
 * and reorders their messages and is partitioned for a while. In act one replicas of a Bloom filter add elements; in
 * act two replicas of an observed-remove filter also remove elements, and the two sides of the partition contend for
 * some of them. All figures are measured on the filters and the network, and none depends on the clock: the same seed
 * gives the same figures.
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
#define WORKING_TICKS    4      /* at the beginning of a round */
#define MOST_TICKS       100000 /* far more than the highest loss rate needs */

/* A filter at exactly its capacity exceeds the promised rate slightly in half of all runs, so it gets 5 % more. */
#define HEADROOM 20

/*
 * Of every 8 elements of an owner in act two, 4 stay; 2 are removed while all replicas are connected; 1 is removed on
 * one side of the partition; 1 is removed on one side and added again on the other.
 */
#define PATTERN         8
#define REMOVED_EARLY   4
#define REMOVED_CUT_OFF 6
#define CONTENDED       7

/* A removed element that the filter still reports would count as having come back, so fingerprints are the longest. */
#define REMOVABLE_BITS 28

static struct {
    unsigned kind; /* 0: one act after the other */
    uint64_t replicas, elements;
    double loss;
    struct seed_option seed;
    bool fast, json;
} settings = {.replicas = DEFAULT_REPLICAS, .elements = DEFAULT_ELEMENTS, .loss = DEFAULT_LOSS};

static const struct option options[] = {
    {.name = "kind",
     .type = OPTION_CHOICE,
     .place = &settings.kind,
     .value = "KIND",
     .help = "bloom, cuckoo or orcuckoo alone (default: bloom, then orcuckoo)",
     .choices = kind_names},
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
     .help = "print only the figures at the end, a JSON object for each filter"},
    {0},
};

static const struct demo_round adding_rounds[] = {
    {"all add", ADD, false, false}, {"all add", ADD, false, false},
    {"all add", ADD, false, false}, {"partitioned, all add", ADD, true, false},
    {"healed", IDLE, false, false}, {"all add", ADD, false, true},
};
static const struct demo_round removing_rounds[] = {
    {"all add", ADD, false, true},
    {"all remove", REMOVE, false, true},
    {"partitioned: remove | re-add", CONTEND, true, false},
    {"healed", IDLE, false, true},
};
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
static const struct demo_act acts[] = {
    {"Bloom filter", adding_rounds, COUNT_OF(adding_rounds)},
    {"Cuckoo filter", adding_rounds, COUNT_OF(adding_rounds)},
    {"Observed-remove filter", removing_rounds, COUNT_OF(removing_rounds)},
};

/* ---- plan ------------------------------------------------------------------------------------------------------ */

/* How many ticks of the rounds before this one add elements. */
static uint64_t adding_ticks_before(const struct demo_act *act, uint32_t round)
{
    uint64_t ticks = 0;
    for (uint32_t i = 0; i < round; i++)
        ticks += act->rounds[i].work == ADD ? WORKING_TICKS : 0;
    return ticks;
}

/* Where the work of a tick begins or ends: `done` of `all` ticks have done their part of `count` elements. */
static uint64_t part_of(uint64_t count, uint64_t done, uint64_t all)
{
    return all ? count * done / all : 0;
}

static roost_status add_elements(struct demo *demo, uint64_t tick)
{
    uint64_t all = adding_ticks_before(demo->act, demo->act->round_count);
    uint64_t done = adding_ticks_before(demo->act, demo->round) + tick;
    roost_status status = ROOST_OK;
    for (uint32_t i = 0; status == ROOST_OK && i < demo->replicas.count; i++) {
        uint64_t count = elements_of(&demo->elements, i);
        status = elements_add(&demo->elements, demo->replicas.all[i].filter, i, part_of(count, done, all),
                              part_of(count, done + 1, all));
        if (status == ROOST_OK)
            status = replica_has_changed(&demo->replicas, i);
    }
    return status;
}

static roost_status remove_at(struct demo *demo, uint32_t index, struct element element)
{
    roost_status status = element_remove(&demo->elements, demo->replicas.all[index].filter, element);
    return status == ROOST_OK ? replica_has_changed(&demo->replicas, index) : status;
}

static roost_status add_again_at(struct demo *demo, uint32_t index, struct element element)
{
    roost_status status = element_add_again(&demo->elements, demo->replicas.all[index].filter, element);
    return status == ROOST_OK ? replica_has_changed(&demo->replicas, index) : status;
}

static roost_status remove_early(struct demo *demo, struct element element)
{
    uint64_t place = element.index % PATTERN;
    uint32_t index = (element.owner + 1) % demo->replicas.count;
    return place >= REMOVED_EARLY && place < REMOVED_CUT_OFF ? remove_at(demo, index, element) : ROOST_OK;
}

/* The first side removes. The second side, which cannot know that, adds some of the same elements again. */
static roost_status contend(struct demo *demo, struct element element)
{
    uint32_t cut = demo_first_beyond_cut(demo), others = demo->replicas.count - cut;
    if (element.index % PATTERN < REMOVED_CUT_OFF)
        return ROOST_OK;
    roost_status status = remove_at(demo, element.owner % cut, element);
    if (status == ROOST_OK && element.index % PATTERN == CONTENDED)
        status = add_again_at(demo, cut + element.owner % others, element);
    return status;
}

static roost_status change_elements(struct demo *demo, uint64_t tick,
                                    roost_status (*change)(struct demo *, struct element))
{
    roost_status status = ROOST_OK;
    for (uint32_t owner = 0; owner < demo->elements.owners; owner++) {
        uint64_t count = elements_of(&demo->elements, owner), end = part_of(count, tick + 1, WORKING_TICKS);
        for (uint64_t i = part_of(count, tick, WORKING_TICKS); status == ROOST_OK && i < end; i++)
            status = change(demo, (struct element){owner, i});
    }
    return status;
}

static roost_status work_as_planned(struct demo *demo)
{
    uint64_t tick = demo->network.now - demo->round_began - 1;
    enum round_work work = demo->act->rounds[demo->round].work;
    if (tick >= WORKING_TICKS || work == IDLE)
        return ROOST_OK;
    if (work == ADD)
        return add_elements(demo, tick);
    return change_elements(demo, tick, work == REMOVE ? remove_early : contend);
}

/* ---- run ------------------------------------------------------------------------------------------------------- */

static uint64_t random_seed(void)
{
    uint32_t seed = 1;
    if (getrandom(&seed, sizeof seed, 0) < 0)
        seed = 1;
    return seed; /* short enough to type */
}

static roost_config config_of(roost_kind kind)
{
    roost_config config = roost_config_default();
    config.kind = kind;
    config.capacity = settings.elements + settings.elements / HEADROOM;
    config.fingerprint_bits = kind == ROOST_ORCUCKOO ? REMOVABLE_BITS : 0;
    return config;
}

static roost_status open_demo(struct demo *demo, roost_kind kind, uint64_t seed)
{
    uint32_t replicas = (uint32_t)settings.replicas;
    *demo = (struct demo){.act = &acts[kind - 1], .seed = seed, .config = config_of(kind)};
    if (!network_open(&demo->network, replicas, settings.loss, seed) ||
        !elements_open(&demo->elements, settings.elements, replicas, seed))
        return ROOST_NO_MEMORY;
    return replicas_open(&demo->replicas, replicas, &demo->config, seed, &demo->network);
}

static void close_demo(struct demo *demo)
{
    replicas_close(&demo->replicas);
    elements_close(&demo->elements);
    network_close(&demo->network);
}

static bool round_is_over(const struct demo *demo)
{
    return demo->network.now >= MOST_TICKS ||
           (demo->network.now - demo->round_began >= ROUND_TICKS &&
            (!demo->act->rounds[demo->round].waits || replicas_are_done(&demo->replicas)));
}

static bool is_over(const struct demo *demo)
{
    return demo->round + 1 == demo->act->round_count && round_is_over(demo);
}

static roost_status step(struct demo *demo)
{
    demo->network.now++;
    demo->network.cut_before = demo->act->rounds[demo->round].cut ? demo_first_beyond_cut(demo) : 0;
    roost_status status = work_as_planned(demo);
    return status == ROOST_OK ? replicas_exchange(&demo->replicas) : status;
}

static roost_status run_round(struct demo *demo, struct demo_view *view)
{
    roost_status status = ROOST_OK;
    demo->round_began = demo->network.now;
    do {
        status = step(demo);
        demo_view_tick(view, demo, is_over(demo));
    } while (status == ROOST_OK && !round_is_over(demo) && !interrupted());
    return status;
}

static roost_status run_rounds(struct demo *demo, struct demo_view *view)
{
    roost_status status = ROOST_OK;
    for (uint32_t round = 0; status == ROOST_OK && !interrupted() && round < demo->act->round_count; round++) {
        demo->round = round;
        status = run_round(demo, view);
        if (status == ROOST_OK && !interrupted())
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
    return demo_is_sound(&figures) ? EXIT_FINE : EXIT_NONE;
}

static int run_act(roost_kind kind, uint64_t seed)
{
    struct demo demo;
    struct demo_view view;
    int exit_status = EXIT_ERROR;
    roost_status status = open_demo(&demo, kind, seed);
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

/* Act two begins even if act one found something wrong. */
static int run_both(uint64_t seed)
{
    int first = run_act(ROOST_BLOOM, seed);
    if (first == EXIT_ERROR)
        return first;
    if (!settings.json)
        putchar('\n');
    int second = run_act(ROOST_ORCUCKOO, seed);
    return second == EXIT_FINE ? first : second;
}

static int run(const struct arguments *arguments)
{
    (void)arguments;
    uint64_t seed = settings.seed.given ? settings.seed.seed : random_seed();
    interrupt_catch();
    int exit_status = settings.kind ? run_act(settings.kind, seed) : run_both(seed);
    if (exit_status != EXIT_ERROR && !settings.json)
        demo_print_seed(seed);
    return exit_status;
}

static const char *const operands[] = {NULL};

const struct verb verb_demo = {
    .name = "demo",
    .synopsis = "[OPTION...]",
    .summary = "watch replicas converge over an unreliable simulated network",
    .details = "Replicas of a filter change it and exchange deltas over a simulated network that loses, duplicates, "
               "delays and reorders messages and is partitioned for a while. Act one: a Bloom filter. Act two: an "
               "observed-remove filter, where elements are removed, and added again on the other side of the "
               "partition. At the end of each: whether all agree, elements lost or come back, false positives, bytes "
               "sent.\n\n"
               "Exit status: 0 all agree, nothing was lost or came back; 1 otherwise.",
    .options = options,
    .operands = operands,
    .run = run,
};
