/*
 * The world of simulate.c: replicas with their models, messages and backups, and what must hold of a replica at any
 * moment. What happens to them is in simulate.c.
 */
#ifndef TESTS_SIMULATED_REPLICAS_H
#define TESTS_SIMULATED_REPLICAS_H

#include <stdio.h>

#include "check.h"
#include "orset.h"
#include "roost/sync.h"
#include "observed/orcuckoo.h"

enum {
    MOST_REPLICAS = 5,
    MOST_MESSAGES = 10,
    MOST_BACKUPS = 3,
    MOST_ELEMENTS = 1200,
    MOST_STEPS = 12000, /* of an episode */
    MOST_BATCH = 40,
    MOST_DOTS = MOST_STEPS,
    NAMES_ROOM = 1 << 16,
};

enum level { CLASSES, ELEMENTS, LEVELS };

/* ---- what is simulated ------------------------------------------------------------------------------------------- */

/* A kind of world; each episode draws its own sizes. */
struct plan {
    const char *name;
    bool multiset;
    uint32_t entry_bits, fingerprint_bits;
    uint32_t fewest_elements, most_elements;
    uint32_t messages, events; /* in a thousand steps */
    uint32_t share;            /* of the steps, in a hundred */
};

static const struct plan plans[] = {
    {"set, hot elements", false, 64, 24, 2, 10, 150, 4, 20},
    {"set, many elements", false, 64, 24, 60, MOST_ELEMENTS, 60, 3, 20},
    {"set, elements that collide", false, 64, 16, 600, MOST_ELEMENTS, 40, 2, 14},
    {"set, restarts all the time", false, 64, 24, 4, 100, 100, 30, 8},
    {"multiset, hot elements", true, 64, 24, 2, 10, 150, 4, 12},
    {"multiset, many that collide", true, 64, 8, 60, 600, 60, 3, 10},
    {"multiset of 32 bits, hot elements, many actors", true, 32, 8, 2, 10, 150, 20, 8},
    {"multiset of 32 bits, many elements", true, 32, 8, 60, 600, 60, 5, 8},
};

struct tally {
    uint64_t steps, episodes, adds, refused, removes, removes_that_hit, removed_dots, removed_ones;
    uint64_t messages, deltas, states, merges, lost, doubled, late, cut_off, damaged;
    uint64_t cursors_lost, gaps, gaps_healed, partitions;
    uint64_t syncs, sync_rounds, broken_off, disturbed;
    uint64_t saves, restarts, crashes, restores, clones, actors;
    uint64_t conflicts, won_by_add, overflowed, heals, checks;
    uint64_t misses, wrong_victims; /* of the element model, all by collision */
    uint64_t hidden, legitimate;    /* other elements that a remove of a present one took with it; such removes */
    double expected_hidden;
};

/* A place in a replica's list of changes, and what the filter calls it. */
struct model_cursor {
    roost_cursor real;
    uint64_t list;
    uint32_t position;
};

/* All dots of both levels at one moment. */
struct snapshot {
    uint8_t *states[LEVELS];
    uint32_t dots;
};

struct saved {
    roost_buffer frame, replica;
    struct snapshot model;
    struct model_cursor pulled[MOST_REPLICAS], pushed[MOST_REPLICAS];
    uint64_t list;
    uint32_t changes;
};

struct replica {
    roost_filter *filter;
    struct orset sets[LEVELS];
    uint32_t changes[LEVELS * 4 * MOST_DOTS]; /* dot and level of each change, in order */
    uint32_t change_count;
    uint64_t list; /* names the list: another for each incarnation */
    uint64_t actor;
    uint32_t counter;
    struct model_cursor pulled[MOST_REPLICAS]; /* what this one has of others: moves when a delta arrives */
    struct model_cursor pushed[MOST_REPLICAS]; /* what this one sent to others: moves when a delta leaves */
    roost_buffer memories[MOST_REPLICAS];      /* of syncs with others */
    struct saved saved;
};

struct message {
    roost_buffer frame;
    uint32_t from, to;
    bool pulled, whole;
    struct model_cursor since, next;
    struct snapshot model; /* if whole */
    uint32_t *changes;     /* else dots and levels, and their states */
    uint8_t *states;
    uint32_t change_count;
};

struct backup {
    roost_buffer frame;
    struct snapshot model;
};

struct name {
    uint64_t actor;
    uint32_t counter, dot_and_one; /* counter 0: an actor */
};

struct world {
    const struct plan *plan;
    struct random_source random;
    roost_config config;
    struct cuckoo_geometry geometry;
    uint32_t replica_count, elements, classes, step, adding; /* adding: in a hundred operations */
    roost_hash hashes[MOST_ELEMENTS];
    uint64_t keys[MOST_ELEMENTS]; /* of classes */
    uint32_t class_of[MOST_ELEMENTS];
    uint32_t sharers[MOST_ELEMENTS]; /* elements in a class */
    struct replica replicas[MOST_REPLICAS];
    uint32_t side[MOST_REPLICAS]; /* of the cut */
    struct message messages[MOST_MESSAGES];
    uint32_t message_count;
    struct backup backups[MOST_BACKUPS];
    uint32_t journal, kicks;
    /* dots */
    uint32_t dots;
    uint64_t actor[MOST_DOTS];
    uint32_t counter[MOST_DOTS];
    uint32_t groups[LEVELS][MOST_DOTS];
    uint32_t last_dot[MOST_ELEMENTS]; /* of a class, and one */
    uint8_t concurrent[MOST_DOTS];    /* replicas that removed the class without having seen the dot */
    uint32_t mark[MOST_DOTS], marks;  /* who was met in the walk under way */
    struct name names[NAMES_ROOM];
    struct tally *tally;
};

static uint64_t seed, lists;
static struct random_source entropy;

static _Noreturn void broken(const struct world *world, const char *law, int line)
{
    printf("not ok - %s: broken: %s (line %d, seed %llu, episode %llu, step %u)\n", world->plan->name, law, line,
           (unsigned long long)seed, (unsigned long long)world->tally->episodes, world->step);
    fflush(stdout);
    abort();
}

#define must(world, holds, law)                                                                                        \
    do                                                                                                                 \
        if (!(holds))                                                                                                  \
            broken(world, law, __LINE__);                                                                              \
    while (0)

static uint32_t choose(struct world *world, uint32_t choices)
{
    return random_choice(&world->random, choices);
}

static uint32_t between(struct world *world, uint32_t fewest, uint32_t most)
{
    return fewest + choose(world, most - fewest + 1);
}

static bool one_in(struct world *world, uint32_t choices)
{
    return choose(world, choices) == 0;
}

/* Every number once, whichever replica asks. */
static bool draw(void *context, void *bytes, size_t size)
{
    (void)context;
    uint64_t number = random_next(&entropy);
    memcpy(bytes, &number, size < sizeof number ? size : sizeof number);
    return true;
}

static roost_environment environment_of(struct world *world)
{
    return (roost_environment){.random_seed = random_next(&world->random),
                               .kicks = world->kicks,
                               .journal = world->journal,
                               .entropy = {.draw = draw}};
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static struct snapshot snapshot_of(const struct world *world, const struct replica *replica)
{
    struct snapshot snapshot = {.dots = world->dots};
    for (int level = 0; level < LEVELS; level++) {
        snapshot.states[level] = malloc(world->dots + 8);
        memcpy(snapshot.states[level], replica->sets[level].state, (world->dots + 7) / 8 * 8);
    }
    return snapshot;
}

static void snapshot_release(struct snapshot *snapshot)
{
    for (int level = 0; level < LEVELS; level++)
        free(snapshot->states[level]);
    *snapshot = (struct snapshot){0};
}

static void saved_release(struct saved *saved)
{
    roost_buffer_release(&saved->frame);
    roost_buffer_release(&saved->replica);
    snapshot_release(&saved->model);
    *saved = (struct saved){0};
}

static void message_release(struct message *message)
{
    roost_buffer_release(&message->frame);
    snapshot_release(&message->model);
    free(message->changes);
    free(message->states);
    *message = (struct message){0};
}

static void message_drop(struct world *world, uint32_t number)
{
    message_release(&world->messages[number]);
    world->messages[number] = world->messages[--world->message_count];
    world->messages[world->message_count] = (struct message){0};
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static struct name *find_name(struct world *world, uint64_t actor, uint32_t counter)
{
    uint64_t at = multiply_and_fold(actor + counter, UINT64_C(0x9e3779b97f4a7c15));
    struct name *name;
    do
        name = &world->names[at++ % NAMES_ROOM];
    while (name->actor && (name->actor != actor || name->counter != counter));
    return name;
}

static void give_name(struct world *world, uint64_t actor, uint32_t counter, uint32_t dot_and_one)
{
    struct name *name = find_name(world, actor, counter);
    must(world, name->actor == 0, "a dot has one name, a replica an actor of its own");
    *name = (struct name){actor, counter, dot_and_one};
}

/* An add was tried: the filter may have taken an actor, and then one that nobody ever was. */
static void follow_actor(struct world *world, struct replica *replica)
{
    uint64_t actor = roost_filter_get_actor(replica->filter);
    if (actor == replica->actor)
        return;
    must(world, replica->actor == 0, "an actor stays while its object lives");
    give_name(world, actor, 0, 0);
    replica->actor = actor;
    replica->counter = 0;
    world->tally->actors++;
}

/* ---- the model of one replica ------------------------------------------------------------------------------------ */

static bool raise_dot(struct world *world, struct replica *replica, enum level level, uint32_t dot, uint8_t state)
{
    bool arrived = replica->sets[level].state[dot] == UNSEEN;
    if (!orset_raise(&replica->sets[level], dot, state))
        return false;
    must(world, replica->change_count < sizeof replica->changes / sizeof *replica->changes, "room in the simulation");
    replica->changes[replica->change_count++] = dot * LEVELS + level;
    if (level == CLASSES && arrived && state == LIVE && world->concurrent[dot] >> (replica - world->replicas) & 1)
        world->tally->won_by_add++;
    return true;
}

static void kill_group(struct world *world, struct replica *replica, enum level level, uint32_t group)
{
    while (replica->sets[level].first[group])
        raise_dot(world, replica, level, replica->sets[level].first[group] - 1, DEAD);
}

static uint32_t group_of(const struct world *world, enum level level, uint32_t element)
{
    return level == CLASSES ? world->class_of[element] : element;
}

/* A new dot at this replica, made by its actor. */
static uint32_t model_add(struct world *world, struct replica *replica, uint32_t element)
{
    uint32_t dot = world->dots++;
    follow_actor(world, replica);
    world->actor[dot] = replica->actor;
    world->counter[dot] = ++replica->counter;
    give_name(world, replica->actor, replica->counter, dot + 1);
    for (int level = 0; level < LEVELS; level++) {
        world->groups[level][dot] = group_of(world, level, element);
        if (!world->plan->multiset)
            kill_group(world, replica, level, group_of(world, level, element));
        raise_dot(world, replica, level, dot, LIVE);
    }
    world->last_dot[world->class_of[element]] = dot + 1;
    return dot;
}

static bool model_take_whole(struct world *world, struct replica *replica, uint8_t *const states[LEVELS], uint32_t dots)
{
    bool changed = false;
    for (int level = 0; level < LEVELS; level++)
        for (uint32_t word = 0; word < dots; word += 8) {
            if (memcmp(replica->sets[level].state + word, states[level] + word, 8) == 0)
                continue;
            for (uint32_t dot = word; dot < word + 8 && dot < dots; dot++)
                changed |= raise_dot(world, replica, level, dot, states[level][dot]) && level == CLASSES;
        }
    return changed;
}

static bool model_take_part(struct world *world, struct replica *replica, const struct message *message)
{
    bool changed = false;
    for (uint32_t i = 0; i < message->change_count; i++) {
        enum level level = message->changes[i] % LEVELS;
        changed |=
            raise_dot(world, replica, level, message->changes[i] / LEVELS, message->states[i]) && level == CLASSES;
    }
    return changed;
}

static void model_become(struct world *world, struct replica *replica, const struct snapshot *snapshot)
{
    for (int level = 0; level < LEVELS; level++)
        orset_become(&replica->sets[level], snapshot->states[level], snapshot->dots);
    (void)world;
}

/* ---- the filter is the model ------------------------------------------------------------------------------------- */

static void check_element(struct world *world, const struct replica *replica, uint32_t element)
{
    const struct orset *classes = &replica->sets[CLASSES];
    uint32_t copies = classes->count[world->class_of[element]];
    bool found = roost_filter_contains_hash(replica->filter, world->hashes[element]);
    must(world, found == (copies > 0), "contains says what the model of classes holds");
    if (world->plan->multiset)
        must(world, roost_filter_count_hash(replica->filter, world->hashes[element]) == copies, "count");
    if (found || replica->sets[ELEMENTS].count[element] == 0)
        return;
    must(world, world->sharers[world->class_of[element]] > 1,
         "an element is missing that shares its class with nobody");
    world->tally->misses++;
}

struct walk {
    struct world *world;
    const struct replica *replica;
    uint32_t entries;
};

static void check_entry(void *context, struct entry entry)
{
    struct walk *walk = context;
    struct world *world = walk->world;
    const struct orcuckoo *filter = as_const_orcuckoo(walk->replica->filter);
    uint32_t dot = find_name(world, filter->observed.actors.list[entry.number].id, entry.counter)->dot_and_one - 1;
    must(world, dot != UINT32_MAX, "an entry has a dot that was made");
    must(world, world->keys[world->groups[CLASSES][dot]] == entry.key, "an entry keeps its class");
    must(world, walk->replica->sets[CLASSES].state[dot] == LIVE, "an entry is live in the model");
    must(world, world->mark[dot] != world->marks, "an entry is there once");
    world->mark[dot] = world->marks;
    walk->entries++;
}

static void check_causal(struct world *world, const struct replica *replica)
{
    const struct causal_context *causal = &as_const_observed(replica->filter)->causal;
    for (size_t i = 0; i < causal->count; i++)
        for (uint32_t counter = causal->runs[i].first; counter <= causal->runs[i].last; counter++) {
            uint32_t dot = find_name(world, causal->runs[i].actor, counter)->dot_and_one - 1;
            must(world, dot != UINT32_MAX && replica->sets[CLASSES].state[dot] != UNSEEN,
                 "the history is what was seen");
        }
}

/* Dot for dot; `thorough` looks at the dead ones as well. */
static void check_replica(struct world *world, const struct replica *replica, bool thorough)
{
    struct walk walk = {world, replica, 0};
    const struct orcuckoo *filter = as_const_orcuckoo(replica->filter);
    world->marks++;
    visit_entries(&filter->observed, check_entry, &walk);
    must(world, walk.entries == replica->sets[CLASSES].live, "every live dot has an entry");
    must(world, filter->classes == replica->sets[CLASSES].present, "classes are counted once");
    must(world, filter->observed.causal.dots == orset_seen(&replica->sets[CLASSES], world->dots), "as many dots seen");
    world->tally->overflowed += filter->table.stash.count > 0;
    world->tally->checks++;
    if (!thorough)
        return;
    check_causal(world, replica);
    must(world, roost_filter_check(replica->filter) == ROOST_OK, "invariants");
    for (uint32_t element = 0; element < world->elements; element++)
        check_element(world, replica, element);
}

static void check_order(struct world *world, const struct replica *first, const struct replica *second)
{
    roost_order order, expected = ROOST_EQUAL;
    if (orset_lacks(&first->sets[CLASSES], &second->sets[CLASSES], world->dots))
        expected |= ROOST_BEFORE;
    if (orset_lacks(&second->sets[CLASSES], &first->sets[CLASSES], world->dots))
        expected |= ROOST_AFTER;
    must(world, roost_filter_compare(first->filter, &order, second->filter) == ROOST_OK, "compare");
    must(world, order == expected, "compare is the order of the models");
    roost_digest x = roost_filter_digest(first->filter), y = roost_filter_digest(second->filter);
    must(world, (memcmp(x.bytes, y.bytes, sizeof x.bytes) == 0) == (order == ROOST_EQUAL), "digests tell equal states");
}

static void check_same_bytes(struct world *world, const roost_filter *first, const roost_filter *second)
{
    roost_buffer x, y;
    must(world, roost_filter_encode(first, &x) == ROOST_OK && roost_filter_encode(second, &y) == ROOST_OK, "encode");
    must(world, x.size == y.size && memcmp(x.data, y.data, x.size) == 0, "equal states have equal bytes");
    roost_buffer_release(&x);
    roost_buffer_release(&y);
}

#endif
