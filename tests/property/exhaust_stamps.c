/*
 * A tiny universe of last-writer-wins sets, exhausted with the real code: two or three replicas with clocks that differ,
 * a few elements, of which some share their first bits, so that segments of one entry are cut; every addition, removal,
 * merge and delta, delivered at once, late, twice or never, in every order, to a given depth.
 *
 *     exhaust-stamps [--deep | --shallow]
 *
 * The model beside it is a row for each replica: the stamp of each element, 0 for none, and merge is the larger of each
 * two. A delta is what differs from the row at the last one. A clock shows one of a few times, each time a change is
 * made: it may stand still, go back, or be far ahead. A world is the rows of all replicas, of the cursors and of the
 * message that is on its way; the walk goes depth first, on real filters, and turns back where it meets a world that it
 * has seen with as much depth left.
 *
 * For each new world: every look-up and the stamps themselves; bytes and digest are a function of the row, and different
 * for different rows; each two replicas merged, both ways and through bytes, are the larger row; compare is the order of
 * the rows. For each change: it is seen where it was made, and of two replicas that made concurrent changes the later
 * one holds, since rows say so.
 */
#include <string.h>

#include "exhaustive.h"
#include "growing/directory.h"
#include "growing/last_writer.h"
#include "growing/semantics.h"

enum { KEYS = 3, CLOCKS = 3, JOURNAL = 64 };
static const uint64_t clocks[CLOCKS] = {0, 3, 7};

struct row {
    uint64_t stamps[KEYS];
};

struct message {
    roost_buffer frame;
    struct row row;
};

/* All of it tells worlds apart. */
struct facts {
    struct row rows[MOST_REPLICAS];
    struct row told[MOST_REPLICAS][MOST_REPLICAS]; /* the row of the first when the second got its cursor */
    struct row message;
};

struct world {
    struct facts facts;
    roost_filter *filters[MOST_REPLICAS];
    roost_cursor cursors[MOST_REPLICAS][MOST_REPLICAS];
    const struct message *message;
};

struct setting {
    const char *name;
    bool deltas;
    uint8_t listed; /* entries that a filter has in a list, before it gets a table; 0: always a table */
    uint32_t replicas, keys;
    uint32_t depth, deep;
};

struct universe {
    const struct setting *setting;
    roost_hash hashes[KEYS];
    struct hash_set worlds, rows, frames, pairs;
    uint64_t transitions, merged, delivered, removed, overruled, behind;
    uint64_t drawn;
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void row_merge(struct row *row, const struct row *other)
{
    for (uint32_t key = 0; key < KEYS; key++)
        row->stamps[key] = row->stamps[key] > other->stamps[key] ? row->stamps[key] : other->stamps[key];
}

static bool row_lacks(const struct row *row, const struct row *other)
{
    bool lacks = false;
    for (uint32_t key = 0; key < KEYS; key++)
        lacks |= row->stamps[key] < other->stamps[key];
    return lacks;
}

/* The clock, or one after what was seen of the element. */
static uint64_t next_stamp(const struct row *row, uint32_t key, uint64_t clock, bool adds)
{
    uint64_t time = row->stamps[key] / 2 + 1 > clock ? row->stamps[key] / 2 + 1 : clock;
    return 2 * time + adds;
}

/* ---- filters beside rows ----------------------------------------------------------------------------------------- */

static bool draw_number(void *context, void *bytes, size_t size)
{
    memcpy(bytes, &((struct universe *)context)->drawn, size);
    return true;
}

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
    const roost_environment environment = {.journal = JOURNAL, .entropy = {universe, draw_number}};
    roost_config config = roost_config_default();
    roost_filter *filter;
    config.kind = ROOST_ORCUCKOO;
    config.scalable = true;
    config.semantics = ROOST_LAST_WRITER_WINS;
    must(roost_filter_new(&filter, &config, &environment) == ROOST_OK, "new");
    return prepared(universe, filter);
}

static roost_filter *copy_of(const struct universe *universe, const roost_filter *filter)
{
    roost_filter *copy;
    must(roost_filter_clone(filter, &copy) == ROOST_OK, "clone");
    return prepared(universe, copy);
}

/* The very same replica, once more. */
static roost_filter *twin_of(const struct universe *universe, const roost_filter *filter)
{
    roost_filter *twin = copy_of(universe, filter);
    roost_buffer replica;
    must(roost_filter_save_replica(filter, &replica) == ROOST_OK, "save");
    must(roost_filter_restore_replica(twin, replica.data, replica.size) == ROOST_OK, "restore");
    roost_buffer_release(&replica);
    return twin;
}

/* ---- laws of a world --------------------------------------------------------------------------------------------- */

static void must_agree(const struct universe *universe, const struct row *row, const roost_filter *filter)
{
    uint64_t members = 0, entries = 0;
    roost_info info;
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

static void must_have_one_form(struct universe *universe, const struct row *row, roost_filter *filter)
{
    roost_filter *decoded = through_bytes(filter);
    roost_digest digest = roost_filter_digest(filter), again = roost_filter_digest(decoded);
    struct {
        uint64_t row, frame;
        roost_digest digest;
    } pair = {checksum_bytes(row, sizeof *row), frame_hash(filter), digest};
    must(pair.frame == frame_hash(decoded) && memcmp(&digest, &again, sizeof digest) == 0, "bytes there and back");
    must_agree(universe, row, decoded);
    hash_set_add(&universe->rows, &pair.row, sizeof pair.row);
    hash_set_add(&universe->frames, &pair.frame, sizeof pair.frame);
    hash_set_add(&universe->pairs, &pair, sizeof pair);
    roost_filter_free(decoded);
}

static void must_merge(const struct universe *universe, const struct world *world, uint32_t a, uint32_t b)
{
    const struct row *rows = world->facts.rows;
    struct row both = rows[a];
    roost_filter *ab = copy_of(universe, world->filters[a]), *ba = through_bytes(world->filters[b]);
    roost_order order, expected = (row_lacks(&rows[a], &rows[b]) ? ROOST_BEFORE : 0) |
                                  (row_lacks(&rows[b], &rows[a]) ? ROOST_AFTER : 0);
    bool changed;
    row_merge(&both, &rows[b]);
    must(roost_filter_compare(world->filters[a], &order, world->filters[b]) == ROOST_OK && order == expected,
         "compare is the order of the rows");
    must(roost_filter_merge(ab, &changed, world->filters[b]) == ROOST_OK, "merge");
    must(changed == row_lacks(&rows[a], &rows[b]), "merge tells what is new");
    must(roost_filter_merge(ba, NULL, world->filters[a]) == ROOST_OK, "merge");
    must_agree(universe, &both, ab);
    must(frame_hash(ab) == frame_hash(ba), "merge is commutative");
    must(roost_filter_merge(ab, &changed, ba) == ROOST_OK && !changed, "merge is idempotent");
    roost_filter_free(ab);
    roost_filter_free(ba);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void change(struct universe *universe, struct world *world, uint32_t replica, uint32_t choice)
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
    universe->removed += was && !adds;
    universe->behind += row->stamps[key] / 2 > clock;
    must(roost_filter_contains_hash(filter, universe->hashes[key]) == adds, "it is seen where it was made");
}

static void merge(struct universe *universe, struct world *world, uint32_t replica, uint32_t from)
{
    struct row *row = &world->facts.rows[replica], before = *row;
    must(roost_filter_merge(world->filters[replica], NULL, world->filters[from]) == ROOST_OK, "merge");
    row_merge(row, &world->facts.rows[from]);
    for (uint32_t key = 0; key < KEYS; key++)
        universe->overruled += before.stamps[key] && (before.stamps[key] & 1) != (row->stamps[key] & 1);
    universe->merged++;
}

static void take_message(struct universe *universe, struct world *world, uint32_t replica,
                         const struct message *message)
{
    struct row *row = &world->facts.rows[replica];
    bool changed;
    must(roost_filter_merge_frame(world->filters[replica], &changed, message->frame.data, message->frame.size) ==
             ROOST_OK,
         "a delta is taken in");
    must(changed == row_lacks(row, &message->row), "and tells what is new");
    row_merge(row, &message->row);
    universe->delivered++;
}

static struct message delta_for(struct world *world, uint32_t from, uint32_t to)
{
    struct row *told = &world->facts.told[from][to];
    const struct row *now = &world->facts.rows[from];
    struct message message = {.row = {{0}}};
    for (uint32_t key = 0; key < KEYS; key++)
        message.row.stamps[key] = now->stamps[key] != told->stamps[key] ? now->stamps[key] : 0;
    roost_cursor *cursor = &world->cursors[from][to];
    must(roost_filter_encode_delta(world->filters[from], &message.frame, cursor, cursor) == ROOST_OK, "delta");
    *told = *now;
    return message;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

enum operation { CHANGE, MERGE, DELIVER, TELL, SEND, OPERATIONS };

static uint32_t choices_of(const struct universe *universe, const struct world *world, enum operation operation)
{
    if (operation == CHANGE)
        return universe->setting->keys * CLOCKS * 2;
    if (operation == DELIVER)
        return world->message != NULL;
    return operation == MERGE || universe->setting->deltas ? universe->setting->replicas : 0;
}

static void explore(struct universe *universe, const struct world *world, uint32_t depth);

/* The filters of the world that are not the parent's are ours to free. */
static void visit(struct universe *universe, const struct world *world, uint32_t changed, uint32_t depth)
{
    bool met = hash_set_meet(&universe->worlds, &world->facts, sizeof world->facts);
    universe->transitions++;
    must_agree(universe, &world->facts.rows[changed], world->filters[changed]);
    if (!met) {
        must_have_one_form(universe, &world->facts.rows[changed], world->filters[changed]);
        for (uint32_t other = 0; other < universe->setting->replicas; other++)
            if (other != changed)
                must_merge(universe, world, changed, other);
    }
    if (!hash_set_meet_with(&universe->worlds, &world->facts, sizeof world->facts, depth) && depth > 0)
        explore(universe, world, depth);
}

/* A delta of one replica, which arrives at once or stays on its way. */
static void send(struct universe *universe, const struct world *parent, uint32_t from, uint32_t to, bool at_once,
                 uint32_t depth)
{
    struct world world = *parent;
    world.filters[from] = twin_of(universe, parent->filters[from]);
    struct message message = delta_for(&world, from, to);
    if (at_once) {
        world.filters[to] = twin_of(universe, parent->filters[to]);
        take_message(universe, &world, to, &message);
    } else {
        world.message = &message;
        world.facts.message = message.row;
    }
    visit(universe, &world, at_once ? to : from, depth);
    roost_filter_free(world.filters[from]);
    if (at_once)
        roost_filter_free(world.filters[to]);
    roost_buffer_release(&message.frame);
}

static void operate(struct universe *universe, const struct world *parent, enum operation operation, uint32_t replica,
                    uint32_t choice, uint32_t depth)
{
    struct world world = *parent;
    if ((operation == MERGE || operation == TELL || operation == SEND) && choice == replica)
        return;
    if (operation == TELL || operation == SEND) {
        send(universe, parent, replica, choice, operation == TELL, depth);
        return;
    }
    world.filters[replica] = twin_of(universe, parent->filters[replica]);
    if (operation == CHANGE)
        change(universe, &world, replica, choice);
    else if (operation == MERGE)
        merge(universe, &world, replica, choice);
    else
        take_message(universe, &world, replica, world.message);
    visit(universe, &world, replica, depth);
    roost_filter_free(world.filters[replica]);
}

static void explore(struct universe *universe, const struct world *world, uint32_t depth)
{
    for (uint32_t replica = 0; replica < universe->setting->replicas; replica++)
        for (uint32_t operation = 0; operation < OPERATIONS; operation++)
            for (uint32_t choice = 0; choice < choices_of(universe, world, operation); choice++)
                operate(universe, world, operation, replica, choice, depth - 1);
}

/* ---- the universe ------------------------------------------------------------------------------------------------ */

static const struct setting settings[] = {
    /* name, deltas, listed, replicas, keys, depth, deep */
    {"table", false, 0, 2, 2, 4, 6},           {"lists that become tables", false, 1, 2, 3, 3, 5},
    {"three replicas", false, 64, 3, 1, 4, 8}, {"deltas", true, 0, 2, 2, 3, 5},
    {"deltas, lists", true, 1, 3, 2, 3, 4},
};

/* The last two agree up to the last bits that count. */
static void universe_open(struct universe *universe, const struct setting *setting)
{
    const uint64_t hash = UINT64_C(0x53219876fedcba30);
    *universe = (struct universe){.setting = setting, .drawn = 1};
    universe->hashes[0] = (roost_hash){1, ~hash};
    universe->hashes[1] = (roost_hash){2, hash};
    universe->hashes[2] = (roost_hash){3, hash ^ 0x10};
}

static struct world first_world(struct universe *universe)
{
    struct world world = {0};
    for (uint32_t r = 0; r < universe->setting->replicas; r++) {
        world.filters[r] = open_filter(universe);
        universe->drawn = 100 + r; /* of the journal */
        for (uint32_t to = 0; to < universe->setting->replicas && universe->setting->deltas; to++) {
            struct message nothing = delta_for(&world, r, to);
            roost_buffer_release(&nothing.frame);
        }
    }
    return world;
}

static uint64_t total_merged, total_delivered, total_removed, total_overruled, total_behind;

static void run_setting(const struct setting *setting, const char *form)
{
    static struct universe universe;
    uint32_t depth = depth_of(form, setting->depth, setting->deep);
    universe_open(&universe, setting);
    struct world world = first_world(&universe);
    explore(&universe, &world, depth);
    must(universe.rows.count == universe.pairs.count && universe.frames.count == universe.pairs.count,
         "one state, one frame, one digest");
    printf("ok - stamps: %s, %u replicas, %u elements, depth %u: %zu states, %llu transitions\n", setting->name,
           setting->replicas, setting->keys, depth, universe.rows.count, (unsigned long long)universe.transitions);
    fflush(stdout);
    total_merged += universe.merged;
    total_delivered += universe.delivered;
    total_removed += universe.removed;
    total_overruled += universe.overruled;
    total_behind += universe.behind;
    for (uint32_t r = 0; r < setting->replicas; r++)
        roost_filter_free(world.filters[r]);
    free(universe.worlds.hashes);
    free(universe.rows.hashes);
    free(universe.frames.hashes);
    free(universe.pairs.hashes);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        run_setting(&settings[i], argc > 1 ? argv[1] : "");
    must(total_merged > 1000 && total_delivered > 1000 && total_removed > 1000 && total_overruled > 1000 &&
             total_behind > 1000,
         "the walk did real work");
    printf(
        "ok - stamps: %llu merges, %llu deltas, %llu removals, %llu changes overruled by later ones, %llu with a clock "
        "that was behind: every law held\n",
        (unsigned long long)total_merged, (unsigned long long)total_delivered, (unsigned long long)total_removed,
        (unsigned long long)total_overruled, (unsigned long long)total_behind);
    return 0;
}
