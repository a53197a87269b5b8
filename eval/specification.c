/*
 * A verification that asks only whether merge is idempotent, commutative and associative lets wrong specifications
 * pass: Table 4.1 of the thesis has five. Here each of them is a mutant of a real filter, walked over every state of a
 * small world, beside the filter as it is. proofs/weak_verification.smt2 proves the same for all integers and sets.
 *
 *     chain     an observed-remove filter to which one actor has added 0, 1, 2 ... elements: the integers of the table
 *     subsets   a Bloom or cuckoo filter with each subset of four elements
 *     dots      an observed-remove filter with three elements, each unseen, live or removed
 *
 * The laws are checked for every pair and triple of states. `x ~ y` is the equivalence that compare gives.
 *
 *     weak        x + x ~ x,  x + y ~ y + x,  (x + y) + z ~ x + (y + z)          what lets them pass
 *     order       x <= y  if, and only if,  x + y ~ y                            Equation 4.8
 *     bound       x + y is an upper bound of both, and at most any other         Equation 4.4
 *     inflation   x <= x after an update
 *
 * Merge and compare are calls of the library, with what a mutant does to them: compare with its sides exchanged, the
 * smaller of two states, what two filters have in common, or an empty filter where two differ.
 */
#include "specification.h"

#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "environment.h"
#include "fatal.h"

enum { CHAIN = 7, ELEMENTS = 4, DOTTED = 3, NONE = MOST_SPECIFIED };

struct world {
    roost_filter *states[MOST_SPECIFIED];
    char names[MOST_SPECIFIED][MOST_STATE_NAME];
    unsigned count;
    unsigned updated[MOST_SPECIFIED][ELEMENTS], updates; /* the state after each update */
    uint64_t entropy[DOTTED];
};

typedef unsigned operation(const struct world *world, unsigned x, unsigned y);
typedef bool comparison(const struct world *world, unsigned x, unsigned y);

struct mutant {
    const char *row, *payload, *merge_name, *compare_name;
    operation *merge;
    comparison *at_most;
};

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

static roost_filter *open_filter(roost_kind kind, uint64_t *entropy, uint64_t seed)
{
    roost_filter *filter;
    roost_config config = roost_config_default();
    roost_environment environment = seeded_environment(entropy, seed);
    config.kind = kind;
    config.capacity = 100;
    must(roost_filter_new(&filter, &config, &environment), "filter");
    return filter;
}

static roost_filter *copy_of(const roost_filter *filter)
{
    roost_filter *copy;
    must(roost_filter_clone(filter, &copy), "copy");
    return copy;
}

static void add_element(roost_filter *filter, unsigned element)
{
    must(roost_filter_add(filter, NULL, &element, sizeof element), "add");
}

/* NONE if no state is equal. */
static unsigned state_of(const struct world *world, const roost_filter *filter)
{
    for (unsigned i = 0; i < world->count; i++)
        if (roost_filter_equal(world->states[i], filter))
            return i;
    return NONE;
}

static unsigned known_state(const struct world *world, const roost_filter *filter)
{
    unsigned state = state_of(world, filter);
    if (state == NONE)
        fatal("specification", "a state of no world");
    return state;
}

/* Two states that are equal would make the walk a smaller one. */
static void add_state(struct world *world, roost_filter *filter, const char *name)
{
    if (world->count == MOST_SPECIFIED || state_of(world, filter) != NONE)
        fatal("specification", "a state twice, or too many");
    snprintf(world->names[world->count], MOST_STATE_NAME, "%s", name);
    world->states[world->count++] = filter;
}

static void chain_open(struct world *world)
{
    *world = (struct world){.updates = 1};
    roost_filter *filter = open_filter(ROOST_ORCUCKOO, &world->entropy[0], 1);
    for (unsigned i = 0; i < CHAIN; i++) {
        char name[MOST_STATE_NAME];
        snprintf(name, sizeof name, "%u", i);
        add_state(world, copy_of(filter), name);
        world->updated[i][0] = i + 1 < CHAIN ? i + 1 : i;
        add_element(filter, i);
    }
    roost_filter_free(filter);
}

static void name_subset(char *name, unsigned members)
{
    unsigned used = 0;
    name[used++] = '{';
    for (unsigned i = 0; i < ELEMENTS; i++)
        if (members >> i & 1)
            used += (unsigned)snprintf(name + used, MOST_STATE_NAME - used, used > 1 ? " %u" : "%u", i + 1);
    snprintf(name + used, MOST_STATE_NAME - used, "}");
}

static void subsets_open(struct world *world, roost_kind kind)
{
    *world = (struct world){.updates = ELEMENTS};
    for (unsigned members = 0; members < 1u << ELEMENTS; members++) {
        char name[MOST_STATE_NAME];
        roost_filter *filter = open_filter(kind, &world->entropy[0], 1);
        for (unsigned i = 0; i < ELEMENTS; i++) {
            world->updated[members][i] = members | 1u << i;
            if (members >> i & 1)
                add_element(filter, i);
        }
        name_subset(name, members);
        add_state(world, filter, name);
    }
}

/* Each element is added by a replica of its own. An update of an unseen dot is its addition, of a live one its
   removal. */
static void dots_open(struct world *world)
{
    static const char *const heights[] = {"unseen", "live", "dead"};
    roost_filter *parts[DOTTED][3];
    *world = (struct world){.updates = DOTTED};
    for (unsigned i = 0; i < DOTTED; i++) {
        parts[i][0] = open_filter(ROOST_ORCUCKOO, &world->entropy[i], i + 1);
        parts[i][1] = copy_of(parts[i][0]);
        add_element(parts[i][1], i);
        parts[i][2] = copy_of(parts[i][1]);
        must(roost_filter_remove(parts[i][2], NULL, &i, sizeof i), "remove");
    }
    for (unsigned state = 0; state < 27; state++) {
        char name[MOST_STATE_NAME];
        unsigned height[DOTTED] = {state % 3, state / 3 % 3, state / 9}, power = 1;
        roost_filter *filter = copy_of(parts[0][height[0]]);
        must(roost_filter_merge(filter, NULL, parts[1][height[1]]), "merge");
        must(roost_filter_merge(filter, NULL, parts[2][height[2]]), "merge");
        snprintf(name, sizeof name, "%s %s %s", heights[height[0]], heights[height[1]], heights[height[2]]);
        add_state(world, filter, name);
        for (unsigned i = 0; i < DOTTED; i++, power *= 3)
            world->updated[state][i] = height[i] < 2 ? state + power : state;
    }
    for (unsigned i = 0; i < DOTTED * 3; i++)
        roost_filter_free(parts[i / 3][i % 3]);
}

static void world_close(struct world *world)
{
    for (unsigned i = 0; i < world->count; i++)
        roost_filter_free(world->states[i]);
}

/* ---- what the library does, and what mutants make of it ---------------------------------------------------------- */

static bool at_most(const struct world *world, unsigned x, unsigned y)
{
    roost_order order;
    must(roost_filter_compare(world->states[x], &order, world->states[y]), "compare");
    return order == ROOST_EQUAL || order == ROOST_BEFORE;
}

static bool at_least(const struct world *world, unsigned x, unsigned y)
{
    return at_most(world, y, x);
}

static unsigned merged(const struct world *world, unsigned x, unsigned y)
{
    roost_filter *filter = copy_of(world->states[x]);
    must(roost_filter_merge(filter, NULL, world->states[y]), "merge");
    unsigned state = known_state(world, filter);
    roost_filter_free(filter);
    return state;
}

static unsigned smaller(const struct world *world, unsigned x, unsigned y)
{
    return at_most(world, x, y) ? x : y;
}

/* The subset that a filter reports; the states are in this order. */
static unsigned members_of(const roost_filter *filter)
{
    unsigned members = 0;
    for (unsigned i = 0; i < ELEMENTS; i++)
        members |= (unsigned)roost_filter_contains(filter, &i, sizeof i) << i;
    return members;
}

static unsigned common(const struct world *world, unsigned x, unsigned y)
{
    return members_of(world->states[x]) & members_of(world->states[y]);
}

static unsigned nothing_if_different(const struct world *world, unsigned x, unsigned y)
{
    return roost_filter_equal(world->states[x], world->states[y]) ? y : 0;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* Merge and compare of all pairs, made once by the real calls. */
struct tables {
    unsigned count;
    unsigned merge[MOST_SPECIFIED][MOST_SPECIFIED];
    bool at_most[MOST_SPECIFIED][MOST_SPECIFIED];
};

static bool same(const struct tables *tables, unsigned x, unsigned y)
{
    return tables->at_most[x][y] && tables->at_most[y][x];
}

static bool order_holds(const struct tables *tables, unsigned x, unsigned y)
{
    return tables->at_most[x][y] == same(tables, tables->merge[x][y], y);
}

static bool bound_holds(const struct tables *tables, unsigned x, unsigned y)
{
    unsigned both = tables->merge[x][y];
    bool holds = tables->at_most[x][both] && tables->at_most[y][both];
    for (unsigned z = 0; z < tables->count; z++)
        holds &= !(tables->at_most[x][z] && tables->at_most[y][z]) || tables->at_most[both][z];
    return holds;
}

static unsigned weak_violations(const struct tables *tables, unsigned x, unsigned y)
{
    unsigned wrong = !same(tables, tables->merge[x][y], tables->merge[y][x]);
    wrong += x == y && !same(tables, tables->merge[x][x], x);
    for (unsigned z = 0; z < tables->count; z++)
        wrong += !same(tables, tables->merge[tables->merge[x][y]][z], tables->merge[x][tables->merge[y][z]]);
    return wrong;
}

static void check_pair(struct specification_result *result, const struct tables *tables, const struct world *world,
                       unsigned x, unsigned y)
{
    result->weak += weak_violations(tables, x, y);
    result->bound += !bound_holds(tables, x, y);
    if (order_holds(tables, x, y))
        return;
    if (result->order++ == 0) {
        memcpy(result->counterexample[0], world->names[x], MOST_STATE_NAME);
        memcpy(result->counterexample[1], world->names[y], MOST_STATE_NAME);
    }
}

static void walk(struct specification *experiment, const struct world *world, const char *run_on,
                 const struct mutant *mutant)
{
    static struct tables tables;
    struct specification_result *result = &experiment->results[experiment->count++];
    *result = (struct specification_result){.row = mutant->row,
                                            .payload = mutant->payload,
                                            .merge = mutant->merge_name,
                                            .compare = mutant->compare_name,
                                            .run_on = run_on,
                                            .states = world->count};
    tables.count = world->count;
    for (unsigned x = 0; x < world->count; x++)
        for (unsigned y = 0; y < world->count; y++) {
            tables.merge[x][y] = mutant->merge(world, x, y);
            tables.at_most[x][y] = mutant->at_most(world, x, y);
        }
    for (unsigned x = 0; x < world->count; x++) {
        for (unsigned y = 0; y < world->count; y++)
            check_pair(result, &tables, world, x, y);
        for (unsigned i = 0; i < world->updates; i++)
            result->inflation += !tables.at_most[x][world->updated[x][i]];
    }
}

void specification_run(struct specification *experiment)
{
    static const struct mutant ours = {"Roost", "", "merge", "compare", merged, at_most};
    static const struct mutant numbers[] = {
        {"1", "integers", "max(x, y)", "y <= x", merged, at_least},
        {"2", "integers", "min(x, y)", "y >= x", smaller, at_most},
    };
    static const struct mutant sets[] = {
        {"3", "sets", "union", "y subset of x", merged, at_least},
        {"4", "sets", "intersection", "y superset of x", common, at_most},
        {"5", "sets", "y if x = y, else empty", "y superset of x", nothing_if_different, at_most},
    };
    static const struct mutant dots = {"as 1", "dots", "merge", "compare, sides exchanged", merged, at_least};
    struct world chain, bloom, cuckoo, dotted;
    *experiment = (struct specification){0};
    chain_open(&chain);
    subsets_open(&bloom, ROOST_BLOOM);
    subsets_open(&cuckoo, ROOST_CUCKOO);
    dots_open(&dotted);
    for (unsigned i = 0; i < 2; i++)
        walk(experiment, &chain, "additions of one actor", &numbers[i]);
    for (unsigned i = 0; i < 3; i++)
        walk(experiment, &bloom, "Bloom filter", &sets[i]);
    walk(experiment, &cuckoo, "cuckoo filter", &sets[0]);
    walk(experiment, &dotted, "observed-remove filter", &dots);
    walk(experiment, &chain, "additions of one actor", &ours);
    walk(experiment, &bloom, "Bloom filter", &ours);
    walk(experiment, &cuckoo, "cuckoo filter", &ours);
    walk(experiment, &dotted, "observed-remove filter", &ours);
    world_close(&chain);
    world_close(&bloom);
    world_close(&cuckoo);
    world_close(&dotted);
}

/* ---- claims and table -------------------------------------------------------------------------------------------- */

static bool is_ours(const struct specification_result *result)
{
    return strcmp(result->row, "Roost") == 0;
}

void specification_claims(const struct specification *experiment)
{
    for (unsigned i = 0; i < experiment->count; i++) {
        const struct specification_result *result = &experiment->results[i];
        char name[128];
        unsigned strong = result->order + result->bound + result->inflation;
        if (is_ours(result))
            snprintf(name, sizeof name, "Table 4.1: the laws hold for merge and compare, %s", result->run_on);
        else
            snprintf(name, sizeof name, "Table 4.1, row %s: passes the weak laws and is refuted by the order, %s",
                     result->row, result->run_on);
        claim(name, result->weak == 0 && (is_ours(result) ? strong == 0 : result->order > 0 && result->bound > 0),
              "%u states; violations: weak laws %u, order %u, least upper bound %u, inflation %u", result->states,
              result->weak, result->order, result->bound, result->inflation);
    }
}

void specification_write_table(const struct specification *experiment, FILE *csv)
{
    fprintf(csv, "row,payload,merge,compare,run_on,states,weak_laws_violated,order_violated,bound_violated,"
                 "inflation_violated,counterexample_x,counterexample_y\n");
    for (unsigned i = 0; i < experiment->count; i++) {
        const struct specification_result *result = &experiment->results[i];
        fprintf(csv, "%s,%s,\"%s\",\"%s\",%s,%u,%u,%u,%u,%u,%s,%s\n", result->row, result->payload, result->merge,
                result->compare, result->run_on, result->states, result->weak, result->order, result->bound,
                result->inflation, result->counterexample[0], result->counterexample[1]);
    }
}
