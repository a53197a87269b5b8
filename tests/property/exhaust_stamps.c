/*
 * A tiny universe of last-writer-wins sets, exhausted with the real code: two or three replicas with clocks that differ,
 * a few elements, of which some share their first bits, so that segments of one entry are cut; every addition, removal,
 * merge and delta, delivered at once, late, twice or never, in every order, to a given depth.
 *
 *     exhaust-stamps [--deep | --shallow]
 *
 * The model beside it is a row for each replica: the stamp of each element, 0 for none, and merge is the larger of each
 * two. A clock shows one of a few times, each time a change is made: it may stand still, go back, or be far ahead.
 * row_walk.h has the walk, and the laws of merges and bytes. Beside them, for each world: every look-up and the stamps
 * themselves. For each change: it is seen where it was made, and of two replicas that made concurrent changes the later
 * one holds, since rows say so.
 */
#include <string.h>

#include "exhaustive.h"
#include "prefix/directory.h"
#include "growing/last_writer.h"
#include "prefix/semantics.h"

enum { KEYS = 3, CLOCKS = 3, JOURNAL = 64 };
static const uint64_t clocks[CLOCKS] = {0, 3, 7};

struct row {
    uint8_t stamps[KEYS]; /* the clocks are early, and a walk is short */
};

/* All of it tells worlds apart. */
struct facts {
    struct row rows[MOST_REPLICAS];
    struct row sent[MOST_REPLICAS][MOST_REPLICAS]; /* the row of the first when the second got its cursor */
    struct row message;
};

#include "row_walk.h"

struct setting {
    const char *name;
    bool deltas;
    uint8_t listed; /* entries that a filter has in a list, before it gets a table; 0: always a table */
    uint32_t replicas, keys;
    uint32_t depth, deep;
};

struct universe {
    struct walk walk;
    const struct setting *setting;
    roost_hash hashes[KEYS];
};

/* What all walks did. */
static struct {
    uint64_t removed, overruled, behind;
} done;

/* The clock, or one after what was seen of the element. */
static uint8_t next_stamp(const struct row *row, uint32_t key, uint64_t clock, bool adds)
{
    uint64_t next = row->stamps[key] / 2 + UINT64_C(1), time = next > clock ? next : clock;
    must(2 * time + adds <= UINT8_MAX, "room for the stamp in a row");
    return (uint8_t)(2 * time + adds);
}

/* ---- filters beside rows ----------------------------------------------------------------------------------------- */

/* Segments of one entry. */
static roost_filter *prepared(const struct universe *universe, roost_filter *filter)
{
    struct tagged_set *set = &as_last_writer(filter)->set;
    if (universe->setting->listed)
        set->most = universe->setting->listed;
    else
        must(tagged_set_use_table(set, filter) == ROOST_OK, "a table instead of a list");
    if (is_in_table(set))
        set->table->target = 1;
    return filter;
}

static roost_filter *open_filter(struct universe *universe)
{
    const roost_environment environment = {.journal = JOURNAL, .entropy = {&universe->walk.drawn, draw_number}};
    roost_config config = roost_config_default();
    roost_filter *filter;
    config.kind = ROOST_ORCUCKOO;
    config.scalable = true;
    config.semantics = ROOST_LAST_WRITER_WINS;
    must(roost_filter_new(&filter, &config, &environment) == ROOST_OK, "new");
    return prepared(universe, filter);
}

/* ---- laws of a world --------------------------------------------------------------------------------------------- */

static void must_agree(const struct universe *universe, const struct facts *facts, const struct row *row,
                       const roost_filter *filter)
{
    uint64_t members = 0, entries = 0;
    roost_info info;
    (void)facts;
    must(roost_filter_check(filter) == ROOST_OK, "the invariants");
    for (uint32_t key = 0; key < universe->setting->keys; key++) {
        const uint64_t prefix = prefix_of(universe->hashes[key].high, STAMPED_LENGTH);
        must(find_stamp(&as_const_last_writer(filter)->set, prefix) == row->stamps[key], "the stamp of an element");
        must(roost_filter_contains_hash(filter, universe->hashes[key]) == (row->stamps[key] & 1), "contains");
        members += row->stamps[key] & 1;
        entries += row->stamps[key] != 0;
    }
    roost_filter_get_info(filter, &info);
    must(info.entries == entries && (uint64_t)info.elements == members, "nothing that nobody wrote");
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* One kind of change: any element, at any clock, added or removed. */
static uint32_t choices_of(const struct universe *universe, uint32_t change)
{
    (void)change;
    return universe->setting->keys * CLOCKS * 2;
}

static bool change(struct universe *universe, struct world *world, uint32_t replica, uint32_t choice)
{
    const uint32_t key = choice / 2 / CLOCKS;
    const uint64_t clock = clocks[choice / 2 % CLOCKS];
    const bool adds = choice % 2;
    struct row *row = &world->facts.rows[replica];
    roost_filter *filter = world->filters[replica];
    bool changed, was = row->stamps[key] & 1;
    roost_filter_set_time(filter, clock);
    must((adds ? roost_filter_add_hash : roost_filter_remove_hash)(filter, &changed, universe->hashes[key]) == ROOST_OK,
         "a change");
    must(changed == (adds ? !was : was), "which tells whether the element was there");
    row->stamps[key] = next_stamp(row, key, clock, adds);
    done.removed += was && !adds;
    done.behind += row->stamps[key] / 2 > clock;
    must(roost_filter_contains_hash(filter, universe->hashes[key]) == adds, "it is seen where it was made");
    return true;
}

static bool perform(struct universe *universe, struct world *world, const struct step *step)
{
    const struct row *row = &world->facts.rows[step->replica], before = *row;
    bool enter = carry_out(&universe->walk, world, step);
    for (uint32_t key = 0; key < KEYS && step->operation == MERGE; key++)
        done.overruled += before.stamps[key] && (before.stamps[key] & 1) != (row->stamps[key] & 1);
    return enter;
}

/* ---- the universe ------------------------------------------------------------------------------------------------ */

static const struct setting settings[] = {
    /* name, deltas, listed, replicas, keys, depth, deep */
    {"table", false, 0, 2, 2, 4, 6},           {"lists that become tables", false, 1, 2, 3, 3, 5},
    {"three replicas", false, 64, 3, 1, 4, 8}, {"deltas", true, 0, 2, 2, 3, 5},
    {"deltas, lists", true, 1, 3, 2, 3, 4},
};

static const struct rules rules = {
    .changes = (make_change *const[]){change},
    .change_count = 1,
    .choices_of = choices_of,
    .perform = perform,
    .open = open_filter,
    .prepared = prepared,
    .must_agree = must_agree,
};

/* The last two agree up to the last bits that count. */
static void universe_open(struct universe *universe, const struct setting *setting)
{
    const uint64_t hash = UINT64_C(0x53219876fedcba30);
    *universe = (struct universe){.walk = walk_by(&rules, universe, setting->replicas, setting->deltas)};
    universe->setting = setting;
    universe->hashes[0] = (roost_hash){1, ~hash};
    universe->hashes[1] = (roost_hash){2, hash};
    universe->hashes[2] = (roost_hash){3, hash ^ 0x10};
}

static void run_setting(const struct setting *setting, const char *form)
{
    static struct universe universe;
    uint32_t depth = depth_of(form, setting->depth, setting->deep);
    universe_open(&universe, setting);
    walk_from(&universe.walk, &(struct facts){0}, depth);
    printf("ok - stamps: %s, %u replicas, %u elements, depth %u: %zu states, %llu transitions\n", setting->name,
           setting->replicas, setting->keys, depth, universe.walk.rows.count,
           (unsigned long long)universe.walk.transitions);
    fflush(stdout);
    walk_close(&universe.walk);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        run_setting(&settings[i], argc > 1 ? argv[1] : "");
    must(exchanged.merged > 1000 && exchanged.delivered > 1000 && done.removed > 1000 && done.overruled > 1000 &&
             done.behind > 1000,
         "the walk did real work");
    printf(
        "ok - stamps: %llu merges, %llu deltas, %llu removals, %llu changes overruled by later ones, %llu with a clock "
        "that was behind: every law held\n",
        (unsigned long long)exchanged.merged, (unsigned long long)exchanged.delivered, (unsigned long long)done.removed,
        (unsigned long long)done.overruled, (unsigned long long)done.behind);
    return 0;
}
