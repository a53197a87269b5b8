/*
 * A tiny universe of filters that grow, exhausted with the real code: two or three replicas of a series whose tables
 * hold one or two elements, so that it grows to three tables and shrinks again; a few elements, two of which are one
 * class in the first table and two in the next; every addition, removal, loan, merge and delta, delivered at once,
 * late, twice or never, in every order, to a given depth.
 *
 *     exhaust-series [--deep | --shallow]
 *
 * The model beside it is a row of small numbers for each replica, and merge is the larger of each two: for every dot
 * unseen, live or dead; for every table and class whether it is there; for every entry of the quota its amount. What
 * an operation must do follows from the row alone (which table takes an addition, what it supersedes, what a removal
 * takes with it). row_walk.h has the walk, and the laws of merges and bytes. Beside them: what changed is held against
 * its row, dot for dot; look-ups and counts of every element; no table has more than its writers may put there, and
 * nobody more than its capacity; no addition hides an element that was there.
 *
 * What is left out: the random choices of insertions (exhaust_dots.c has them for single tables), restarts.
 */
#include <string.h>

#include "exhaustive.h"
#include "old_series.h"
#include "cuckoo/gcuckoo.h"
#include "observed/orcuckoo.h"
#include "series/series.h"

enum {
    TABLES = 3,   /* worlds with more are not entered */
    KEYS = 3,     /* the first two are one class in the first table */
    COUNTERS = 4, /* additions of one replica to one table */
    JOURNAL = 64,
};
enum standing { UNSEEN, LIVE, DEAD };

/* What a replica has, or a delta says: merge is the larger of each byte. */
struct row {
    uint8_t dots[MOST_REPLICAS][TABLES][COUNTERS];
    uint8_t present[TABLES][KEYS];
    uint8_t quota[TABLES][MOST_REPLICAS][MOST_REPLICAS];
};

/* All of it tells worlds apart. */
struct facts {
    struct row rows[MOST_REPLICAS];
    struct row sent[MOST_REPLICAS][MOST_REPLICAS]; /* the row of the first when the second got its cursor */
    struct row message;
    uint8_t element[MOST_REPLICAS][TABLES][COUNTERS]; /* of each dot */
};

#include "row_walk.h"

struct setting {
    const char *name;
    roost_kind kind;
    bool multiset, deltas;
    uint32_t replicas, capacity, writers, growth;
    uint32_t depth, deep;
};

struct universe {
    struct walk walk;
    const struct setting *setting;
    roost_config config;
    struct table_plan plans[TABLES];
    roost_hash hashes[KEYS];
    uint64_t classes[TABLES][KEYS];
};

/* What all walks did. */
static struct {
    uint64_t removed, supersedings, grown, shrunk, lent;
} done;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool removable(const struct universe *universe)
{
    return universe->setting->kind == ROOST_ORCUCKOO;
}

/* Elements that a table cannot tell apart go by the name of the first. */
static uint32_t first_of_class(const struct universe *universe, uint32_t table, uint32_t key)
{
    uint32_t first = 0;
    while (universe->classes[table][first] != universe->classes[table][key])
        first++;
    return first;
}

/* How many live dots of the class of an element a table has. */
static uint32_t copies_in(const struct universe *universe, const struct facts *facts, const struct row *row,
                          uint32_t table, uint32_t key)
{
    uint32_t copies = 0;
    for (uint32_t r = 0; r < MOST_REPLICAS; r++)
        for (uint32_t c = 0; c < COUNTERS; c++)
            copies += row->dots[r][table][c] == LIVE &&
                      universe->classes[table][facts->element[r][table][c]] == universe->classes[table][key];
    return copies + row->present[table][first_of_class(universe, table, key)];
}

static uint32_t copies_of(const struct universe *universe, const struct facts *facts, const struct row *row,
                          uint32_t key)
{
    uint32_t copies = 0;
    for (uint32_t table = 0; table < TABLES; table++)
        copies += copies_in(universe, facts, row, table, key);
    return copies;
}

static uint32_t entries_in(const struct row *row, uint32_t table)
{
    uint32_t entries = 0;
    for (uint32_t r = 0; r < MOST_REPLICAS; r++)
        for (uint32_t c = 0; c < COUNTERS; c++)
            entries += row->dots[r][table][c] == LIVE;
    for (uint32_t key = 0; key < KEYS; key++)
        entries += row->present[table][key];
    return entries;
}

/* What counts against the capacity of a table: of a set its classes. */
static uint32_t elements_in(const struct universe *universe, const struct facts *facts, const struct row *row,
                            uint32_t table)
{
    uint32_t classes = 0;
    for (uint32_t key = 0; key < KEYS; key++)
        classes += first_of_class(universe, table, key) == key && copies_in(universe, facts, row, table, key) > 0;
    return removable(universe) && !universe->setting->multiset ? classes : entries_in(row, table);
}

/* What a replica may still add to a table. */
static uint32_t room_in(const struct universe *universe, const struct facts *facts, const struct row *row,
                        uint32_t replica, uint32_t table)
{
    uint32_t has = (uint32_t)universe->plans[table].capacity, gone = elements_in(universe, facts, row, table);
    if (universe->setting->kind == ROOST_BLOOM) {
        has = (uint32_t)universe->plans[table].share;
        gone = 0;
        for (uint32_t other = 0; other < MOST_REPLICAS; other++) {
            gone += row->quota[table][replica][other];
            has += other != replica ? row->quota[table][other][replica] : 0;
        }
    }
    return has > gone ? has - gone : 0;
}

/* The table that an addition goes to, or TABLES: the first with room, the element's own place in a set not counted. */
static uint32_t table_for(const struct universe *universe, const struct facts *facts, uint32_t replica, uint32_t key)
{
    const struct row *row = &facts->rows[replica];
    for (uint32_t table = 0; table < TABLES; table++) {
        bool is_in = removable(universe) && !universe->setting->multiset &&
                     copies_in(universe, facts, row, table, key) > 0 &&
                     elements_in(universe, facts, row, table) == universe->plans[table].capacity;
        if (is_in || room_in(universe, facts, row, replica, table) > 0)
            return table;
    }
    return TABLES;
}

/* Elements of a set: a class that a coarser table holds too counts once. */
static uint32_t elements_of(const struct universe *universe, const struct facts *facts, const struct row *row)
{
    uint32_t elements = 0;
    for (uint32_t table = 0; table < TABLES; table++)
        for (uint32_t key = 0; key < KEYS; key++) {
            bool before = false;
            for (uint32_t coarser = 0; coarser < table; coarser++)
                before |= copies_in(universe, facts, row, coarser, key) > 0;
            elements += !before && first_of_class(universe, table, key) == key &&
                        copies_in(universe, facts, row, table, key) > 0;
        }
    return elements;
}

/* ---- filters beside rows ----------------------------------------------------------------------------------------- */

static uint64_t actor_id(const struct universe *universe, uint32_t replica, uint32_t table)
{
    return removable(universe) ? (uint64_t)(replica + 1) << TABLE_BITS | table : replica + 1;
}

static enum standing standing_in(const struct universe *universe, const struct series *series,
                                 const struct facts *facts, uint32_t replica, uint32_t table, uint32_t counter)
{
    if (!series->tables[table])
        return UNSEEN;
    const struct orcuckoo *filter = as_const_orcuckoo(series->tables[table]);
    uint64_t actor = actor_id(universe, replica, table);
    if (!causal_contains(&filter->observed.causal, actor, counter))
        return UNSEEN;
    struct place place =
        place_of_hash(universe->hashes[facts->element[replica][table][counter - 1]], filter->table.geometry);
    return holds_entry(filter, &place, actors_find(&filter->observed.actors, actor), counter) ? LIVE : DEAD;
}

/* What the filter says of all dots, classes and amounts that the model knows. */
static struct row read_row(const struct universe *universe, const struct facts *facts, const roost_filter *filter)
{
    const struct series *series = as_const_series(filter);
    struct row row = {0};
    for (uint32_t table = 0; table < TABLES; table++) {
        for (uint32_t r = 0; r < MOST_REPLICAS && removable(universe); r++)
            for (uint32_t c = 0; c < COUNTERS; c++)
                row.dots[r][table][c] = (uint8_t)standing_in(universe, series, facts, r, table, c + 1);
        for (uint32_t from = 0; from < MOST_REPLICAS; from++)
            for (uint32_t i = 0; i < series->quota.count; i++) {
                const struct quota_entry *entry = &series->quota.entries[i];
                if (entry->table == table && entry->from == from + 1)
                    row.quota[table][from][entry->to - 1] = (uint8_t)entry->amount;
            }
        for (uint32_t key = 0; key < KEYS && !removable(universe) && series->tables[table]; key++)
            row.present[table][key] = first_of_class(universe, table, key) == key &&
                                      roost_filter_contains_hash(series->tables[table], universe->hashes[key]);
    }
    return row;
}

static void must_agree(const struct universe *universe, const struct facts *facts, const struct row *row,
                       const roost_filter *filter)
{
    struct row real = read_row(universe, facts, filter);
    uint32_t entries = 0, dots = 0;
    must(roost_filter_check(filter) == ROOST_OK, "the invariants");
    must(memcmp(&real, row, sizeof real) == 0, "the filter is what the model says");
    for (uint32_t key = 0; key < KEYS; key++) {
        uint32_t copies = copies_of(universe, facts, row, key);
        must(roost_filter_contains_hash(filter, universe->hashes[key]) == (copies > 0), "contains");
        if (removable(universe))
            must(roost_filter_count_hash(filter, universe->hashes[key]) ==
                     (universe->setting->multiset ? copies : copies > 0),
                 "count");
    }
    for (uint32_t table = 0; table < TABLES; table++)
        entries += entries_in(row, table);
    for (size_t i = 0; i < sizeof row->dots; i++)
        dots += ((const uint8_t *)row->dots)[i] != UNSEEN;
    roost_info info;
    roost_filter_get_info(filter, &info);
    must(!removable(universe) || (info.entries == entries && info.dots == dots), "no dot that nobody made");
    must(universe->setting->kind == ROOST_BLOOM ||
             (uint32_t)(info.elements + 0.5) ==
                 (universe->setting->multiset ? entries : elements_of(universe, facts, row)),
         "elements are counted once");
}

/* Live dots of one replica in one table: of a set, their classes. */
static uint32_t share_of(const struct universe *universe, const struct facts *facts, const struct row *row,
                         uint32_t replica, uint32_t table)
{
    struct row own = {0};
    memcpy(own.dots[replica][table], row->dots[replica][table], sizeof own.dots[replica][table]);
    return elements_in(universe, facts, &own, table);
}

/* Capacities that no order of events may overdraw. */
static void must_keep_promise(const struct universe *universe, const struct facts *facts, const struct row *row)
{
    for (uint32_t table = 0; table < TABLES; table++) {
        /* A delta that skips the one before it may bring an addition without the removals before it. */
        for (uint32_t r = 0; r < MOST_REPLICAS && !universe->setting->deltas; r++)
            must(share_of(universe, facts, row, r, table) <= universe->plans[table].capacity,
                 "nobody has more than the capacity in a table");
        uint64_t capacity = universe->plans[table].capacity, spent = 0;
        for (uint32_t r = 0; r < MOST_REPLICAS; r++)
            spent += row->quota[table][r][r];
        if (universe->setting->kind == ROOST_BLOOM)
            must(spent <= capacity, "no table takes in more than its capacity");
        else if (universe->setting->writers >= universe->setting->replicas)
            must(elements_in(universe, facts, row, table) <= capacity * universe->setting->writers,
                 "nor than its writers may add");
    }
}

/* Dots of one number may be of other elements in other worlds: those that matter belong to the state. */
static uint64_t row_hash(const struct universe *universe, const struct facts *facts, const struct row *row)
{
    struct {
        struct row row;
        uint64_t classes[MOST_REPLICAS][TABLES][COUNTERS];
    } all = {.row = *row};
    for (uint32_t r = 0; r < MOST_REPLICAS; r++)
        for (uint32_t table = 0; table < TABLES; table++)
            for (uint32_t c = 0; c < COUNTERS; c++)
                if (row->dots[r][table][c] == LIVE)
                    all.classes[r][table][c] = universe->classes[table][facts->element[r][table][c]] + 1;
    return checksum_bytes(&all, sizeof all);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static uint32_t next_counter(const struct row *row, uint32_t replica, uint32_t table)
{
    uint32_t counter = 0;
    while (counter < COUNTERS && row->dots[replica][table][counter] != UNSEEN)
        counter++;
    return counter;
}

/* Live dots of the class die, from this table on; returns how many. */
static uint32_t kill(const struct universe *universe, const struct facts *facts, struct row *row, uint32_t key,
                     uint32_t from)
{
    uint32_t killed = 0;
    for (uint32_t r = 0; r < MOST_REPLICAS; r++)
        for (uint32_t table = from; table < TABLES; table++)
            for (uint32_t c = 0; c < COUNTERS; c++)
                if (row->dots[r][table][c] == LIVE &&
                    universe->classes[table][facts->element[r][table][c]] == universe->classes[table][key]) {
                    row->dots[r][table][c] = DEAD;
                    killed++;
                }
    return killed;
}

static bool add_dot(struct universe *universe, struct world *world, uint32_t replica, uint32_t key, uint32_t table)
{
    struct facts *facts = &world->facts;
    struct row *row = &facts->rows[replica];
    roost_dot dot;
    bool was[KEYS];
    uint32_t counter = next_counter(row, replica, table);
    if (counter == COUNTERS)
        return false;
    for (uint32_t other = 0; other < KEYS; other++)
        was[other] = copies_of(universe, facts, row, other) > 0;
    must(roost_filter_add_dot_hash(world->filters[replica], &dot, universe->hashes[key]) == ROOST_OK, "add");
    must(dot.actor == actor_id(universe, replica, table) && dot.counter == counter + 1, "the dot of an addition");
    if (!universe->setting->multiset)
        done.supersedings += kill(universe, facts, row, key, table) > 0;
    row->dots[replica][table][counter] = LIVE;
    facts->element[replica][table][counter] = (uint8_t)key;
    for (uint32_t other = 0; other < KEYS; other++)
        must(!was[other] || copies_of(universe, facts, row, other) > 0, "an addition hides nothing");
    return true;
}

static bool add(struct universe *universe, struct world *world, uint32_t replica, uint32_t key)
{
    struct row *row = &world->facts.rows[replica];
    bool changed, was = copies_of(universe, &world->facts, row, key) > 0;
    uint32_t table = table_for(universe, &world->facts, replica, key);
    universe->walk.drawn = replica + 1;
    if (!removable(universe) && was) {
        must(roost_filter_add_hash(world->filters[replica], &changed, universe->hashes[key]) == ROOST_OK && !changed,
             "what is there is not added again");
        return true;
    }
    if (table == TABLES)
        return false;
    done.grown += table > 0 && entries_in(row, table) == 0;
    if (removable(universe))
        return add_dot(universe, world, replica, key, table);
    must(roost_filter_add_hash(world->filters[replica], &changed, universe->hashes[key]) == ROOST_OK && changed, "add");
    row->present[table][first_of_class(universe, table, key)] = 1;
    if (universe->setting->kind == ROOST_BLOOM)
        row->quota[table][replica][replica]++;
    return true;
}

static bool has_slots(const roost_filter *filter, uint32_t table)
{
    const struct series *series = as_const_series(filter);
    return series->tables[table] && !cuckoo_table_is_freed(&as_const_orcuckoo(series->tables[table])->table);
}

static bool take(struct universe *universe, struct world *world, uint32_t replica, uint32_t key)
{
    struct row *row = &world->facts.rows[replica];
    bool changed, had_slots = has_slots(world->filters[replica], TABLES - 1) || has_slots(world->filters[replica], 1);
    must(roost_filter_remove_hash(world->filters[replica], &changed, universe->hashes[key]) == ROOST_OK, "remove");
    uint32_t killed = kill(universe, &world->facts, row, key, 0);
    must(changed == (killed > 0), "remove tells whether there was anything");
    done.removed += killed > 0;
    for (uint32_t table = TABLES - 1; table > 0 && entries_in(row, table) == 0; table--)
        must(!has_slots(world->filters[replica], table), "empty tables at the end give their memory back");
    done.shrunk += had_slots && !has_slots(world->filters[replica], 1);
    return true;
}

/* One of those in the finest table that has any; which one is chance. */
static bool take_one(struct universe *universe, struct world *world, uint32_t replica, uint32_t key)
{
    struct row *row = &world->facts.rows[replica], before = *row;
    uint32_t finest = TABLES, died = 0, here = 0;
    bool changed;
    for (uint32_t table = 0; table < TABLES; table++)
        finest = copies_in(universe, &world->facts, row, table, key) ? table : finest;
    must(roost_filter_remove_one_hash(world->filters[replica], &changed, universe->hashes[key]) == ROOST_OK, "remove");
    *row = read_row(universe, &world->facts, world->filters[replica]);
    for (size_t i = 0; i < sizeof row->dots; i++)
        died += ((uint8_t *)row->dots)[i] != ((uint8_t *)before.dots)[i];
    must(changed == (finest < TABLES) && died == changed, "remove_one takes one");
    if (finest < TABLES)
        here = copies_in(universe, &world->facts, &before, finest, key) -
               copies_in(universe, &world->facts, row, finest, key);
    must(here == changed, "and takes it from the finest table");
    done.removed += changed;
    return true;
}

/* What is given is the filter's choice; that no share is overdrawn by it is the law. */
static bool transfer_shares(struct universe *universe, struct world *world, uint32_t replica, uint32_t choice)
{
    (void)choice;
    struct row *row = &world->facts.rows[replica], before = *row;
    bool gave;
    must(roost_filter_transfer_shares(world->filters[replica], &gave) == ROOST_OK, "lend");
    struct row now = read_row(universe, &world->facts, world->filters[replica]);
    memcpy(row->quota, now.quota, sizeof row->quota);
    for (uint32_t table = 0; table < TABLES; table++) {
        uint32_t gone = 0, has = (uint32_t)universe->plans[table].share;
        for (uint32_t other = 0; other < MOST_REPLICAS; other++) {
            gone += row->quota[table][replica][other];
            has += other != replica ? row->quota[table][other][replica] : 0;
            for (uint32_t to = 0; to < MOST_REPLICAS; to++)
                must(other == replica || row->quota[table][other][to] == before.quota[table][other][to],
                     "only its own entries");
        }
        must(gone <= has, "who lends keeps what was spent");
    }
    must(gave == (memcmp(row, &before, sizeof before) != 0), "lend tells whether anything was given");
    done.lent += gave;
    return gave;
}

enum { ADD, REMOVE, REMOVE_ONE, LEND, CHANGES };

static make_change *const changes[CHANGES] = {
    [ADD] = add, [REMOVE] = take, [REMOVE_ONE] = take_one, [LEND] = transfer_shares};

static uint32_t choices_of(const struct universe *universe, uint32_t change)
{
    switch (change) {
    case ADD:
        return KEYS;
    case REMOVE:
        return removable(universe) ? KEYS : 0;
    case REMOVE_ONE:
        return universe->setting->multiset ? KEYS : 0;
    default:
        return universe->setting->kind == ROOST_BLOOM;
    }
}

/* ---- the universe ------------------------------------------------------------------------------------------------ */

static uint64_t class_in(const struct universe *universe, uint32_t table, roost_hash hash)
{
    struct cuckoo_geometry geometry = universe->plans[table].geometry;
    return class_key(place_of_hash(hash, geometry), geometry);
}

/* A hash that the first table cannot tell from the first element's, and the second can. */
static roost_hash near_twin(const struct universe *universe)
{
    roost_hash hash = universe->hashes[0];
    for (uint32_t bit = 63; bit > 0; bit--) {
        roost_hash twin = {hash.low, hash.high ^ UINT64_C(1) << bit};
        if (class_in(universe, 0, twin) == class_in(universe, 0, hash) &&
            class_in(universe, 1, twin) != class_in(universe, 1, hash))
            return twin;
    }
    must(false, "there are elements that only the second table tells apart");
    return hash;
}

static void choose_elements(struct universe *universe)
{
    bool bloom = universe->setting->kind == ROOST_BLOOM;
    universe->hashes[0] = (roost_hash){UINT64_C(0x123456789abcdef1), UINT64_C(0x53219876fedcba31)};
    universe->hashes[1] =
        bloom ? (roost_hash){UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9)} : near_twin(universe);
    universe->hashes[2] = (roost_hash){UINT64_C(0xfedcba9876543211), UINT64_C(0x94d049bb133111eb)};
    for (uint32_t table = 0; table < TABLES; table++)
        for (uint32_t key = 0; key < KEYS; key++)
            universe->classes[table][key] = bloom ? key : class_in(universe, table, universe->hashes[key]);
}

static roost_filter *open_filter(struct universe *universe)
{
    roost_environment environment = {.kicks = 2, .journal = JOURNAL, .entropy = {&universe->walk.drawn, draw_number}};
    roost_filter *filter;
    must(old_series_new(&filter, &universe->config, &environment) == ROOST_OK, "new");
    return filter;
}

static const struct rules rules = {
    .changes = changes,
    .change_count = CHANGES,
    .choices_of = choices_of,
    .open = open_filter,
    .row_hash = row_hash,
    .must_agree = must_agree,
    .must_keep_promise = must_keep_promise,
};

static void universe_open(struct universe *universe, const struct setting *setting)
{
    *universe = (struct universe){.walk = walk_by(&rules, universe, setting->replicas, setting->deltas)};
    universe->setting = setting;
    universe->config = roost_config_default();
    universe->config.kind = setting->kind;
    universe->config.multiset = setting->multiset;
    universe->config.scalable = true;
    universe->config.capacity = setting->capacity;
    universe->config.writers = setting->writers;
    universe->config.growth = setting->growth;
    universe->config.fpr = 0.05;
    universe->config.fingerprint_bits = setting->kind == ROOST_ORCUCKOO ? setting->multiset ? 12 : 16 : 0;
    roost_filter *filter = open_filter(universe);
    for (uint32_t table = 0; table < TABLES; table++)
        must(series_plan_table(&universe->plans[table], roost_filter_get_config(filter),
                               as_const_series(filter)->buckets, table),
             "there are three tables");
    roost_filter_free(filter);
    choose_elements(universe);
}

static const struct setting settings[] = {
    /* name, kind, multiset, deltas, replicas, capacity, writers, growth, depth, deep */
    {"set", ROOST_ORCUCKOO, false, false, 2, 1, 1, 1, 5, 8},
    {"set that doubles", ROOST_ORCUCKOO, false, false, 2, 2, 2, 2, 4, 8},
    {"set, deltas", ROOST_ORCUCKOO, false, true, 2, 1, 1, 1, 4, 6},
    {"set, deltas", ROOST_ORCUCKOO, false, true, 3, 1, 1, 1, 4, 5},
    {"multiset", ROOST_ORCUCKOO, true, false, 2, 1, 1, 1, 5, 7},
    {"multiset, deltas", ROOST_ORCUCKOO, true, true, 2, 1, 1, 2, 5, 6},
    {"bloom", ROOST_BLOOM, false, false, 3, 3, 3, 1, 5, 7},
    {"bloom, deltas", ROOST_BLOOM, false, true, 2, 2, 2, 1, 5, 7},
};

static void run_setting(const struct setting *setting, const char *form)
{
    static struct universe universe;
    uint32_t depth = depth_of(form, setting->depth, setting->deep);
    universe_open(&universe, setting);
    walk_from(&universe.walk, &(struct facts){0}, depth);
    printf("ok - series: %s, %u replicas, capacity %u, %u writers, growth %u, depth %u: %zu states, %llu transitions\n",
           setting->name, setting->replicas, setting->capacity, setting->writers, setting->growth, depth,
           universe.walk.rows.count, (unsigned long long)universe.walk.transitions);
    fflush(stdout);
    walk_close(&universe.walk);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        run_setting(&settings[i], argc > 1 ? argv[1] : "");
    must(exchanged.merged > 1000 && exchanged.delivered > 1000 && done.removed > 1000 && done.supersedings > 1000 &&
             done.grown > 1000 && done.shrunk > 100 && done.lent > 50,
         "the walk did real work");
    printf(
        "ok - series: %llu merges, %llu deltas, %llu removals, %llu supersedings, %llu tables made, %llu given back, "
        "%llu loans: every law held\n",
        (unsigned long long)exchanged.merged, (unsigned long long)exchanged.delivered, (unsigned long long)done.removed,
        (unsigned long long)done.supersedings, (unsigned long long)done.grown, (unsigned long long)done.shrunk,
        (unsigned long long)done.lent);
    return 0;
}
