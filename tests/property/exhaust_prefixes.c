/*
 * A tiny universe of filters that grow by longer prefixes, exhausted with the real code: two or three replicas with
 * room for one or two prefixes of each length, so that they soon need several lengths; a few elements, of which some
 * share their first bits, so that the prefix of one covers another at one length and not at the next; segments of one
 * entry, so that the table is cut, prefixes become too short for their segments, and some span several of them; every
 * addition, removal, merge and delta, delivered at once, late, twice or never, in every order, to a given depth.
 *
 *     exhaust-prefixes [--deep | --shallow | --all]    without any, half of the walks whose filters are never lists are left out
 *
 * The model beside it is a row of small numbers for each replica, and merge is the larger of each two: for every dot
 * unseen, live or dead; for a filter without removal, for every length and element whether a prefix of at most this
 * length covers the element. What an operation must do follows from the row alone, and from the length that the replica
 * used last: which prefix an addition gets, what it takes the place of, what a removal takes with it. row_walk.h has
 * the walk, and the laws of merges and bytes. Beside them: what changed is held against its row, dot for dot; look-ups
 * and counts of every element; no length has more different prefixes than its writers may add, and nobody more than the
 * budget; no addition hides an element that was there; a frame merges as its filter does.
 *
 * Where removals have entries (remove-wins), the last of the lengths is theirs: a removal is a dot as an addition is,
 * kills what it has seen of its element, and hides what it has not.
 *
 * What is left out: kicks, of which tables so small need none (tests/unit/test_tagged_table.c), restarts.
 */
#include <string.h>

#include "exhaustive.h"
#include "growing/growing_cuckoo.h"
#include "growing/growing_orcuckoo.h"
#include "prefix/directory.h"
#include "prefix/semantics.h"

enum {
    LENGTHS = 4,
    KEYS = 4,
    COUNTERS = 6, /* additions of one replica */
    JOURNAL = 64,
    NONE = LENGTHS,
    REMOVAL = LENGTHS - 1, /* the length of removals, where they have entries */
};
enum standing { UNSEEN, LIVE, DEAD };

/* What a replica has, or a delta says: merge is the larger of each byte. */
struct row {
    uint8_t dots[MOST_REPLICAS][COUNTERS];
    uint8_t covered[LENGTHS][KEYS]; /* without removal: by a prefix of this length or a shorter one */
};

/* All of it tells worlds apart. */
struct facts {
    struct row rows[MOST_REPLICAS];
    struct row sent[MOST_REPLICAS][MOST_REPLICAS]; /* the row of the first when the second got its cursor */
    struct row message;
    uint8_t element[MOST_REPLICAS][COUNTERS]; /* of each dot */
    uint8_t length[MOST_REPLICAS][COUNTERS];  /* the same, which of the lengths */
    uint8_t last[MOST_REPLICAS];              /* length that a replica chose, NONE at first */
};

#include "row_walk.h"

struct setting {
    const char *name;
    roost_kind kind;
    bool multiset, deltas;
    uint32_t replicas, keys, writers;
    uint8_t lengths[LENGTHS], room[LENGTHS]; /* 0: those that the configuration comes to */
    uint32_t target, segments;               /* entries of a segment; how many segments there are at first */
    uint32_t depth, deep;
    bool removals; /* have entries: remove-wins */
};

struct universe {
    struct walk walk;
    const struct setting *setting;
    uint8_t listed; /* with removal: entries that a filter has in a list, before it gets a table; 0: always a table */
    roost_config config;
    unsigned lengths[LENGTHS];
    uint64_t room[LENGTHS];
    roost_hash hashes[KEYS];
};

/* What all walks did. */
static struct {
    uint64_t removed, supersedings, longer, full, cut, reshaped, hidden, readded;
} done;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool removable(const struct universe *universe)
{
    return universe->setting->kind == ROOST_ORCUCKOO;
}

static bool removal_wins(const struct universe *universe)
{
    return universe->setting->removals;
}

/* The lengths of additions come first. */
static uint32_t addition_lengths(const struct universe *universe)
{
    return removal_wins(universe) ? REMOVAL : LENGTHS;
}

/* Whether two elements have one prefix of this length. */
static bool share(const struct universe *universe, uint32_t length, uint32_t key, uint32_t other)
{
    unsigned bits = universe->lengths[length];
    return prefix_of(universe->hashes[key].high, bits) == prefix_of(universe->hashes[other].high, bits);
}

static bool is_first_of_prefix(const struct universe *universe, uint32_t length, uint32_t key)
{
    for (uint32_t other = 0; other < key; other++)
        if (share(universe, length, key, other))
            return false;
    return true;
}

static void cover(const struct universe *universe, struct row *row, uint32_t length, uint32_t key)
{
    for (uint32_t longer = length; longer < LENGTHS; longer++)
        for (uint32_t other = 0; other < universe->setting->keys; other++)
            row->covered[longer][other] |= share(universe, length, key, other);
}

/* Live dots whose prefix has this length and covers the element; without removal, whether there is such a prefix. */
static uint32_t copies_in(const struct universe *universe, const struct facts *facts, const struct row *row,
                          uint32_t length, uint32_t key)
{
    uint32_t copies = row->covered[length][key] && (length == 0 || !row->covered[length - 1][key]);
    for (uint32_t r = 0; r < MOST_REPLICAS; r++)
        for (uint32_t c = 0; c < COUNTERS; c++)
            copies += row->dots[r][c] == LIVE && facts->length[r][c] == length &&
                      share(universe, length, facts->element[r][c], key);
    return copies;
}

/* Additions that are live. */
static uint32_t additions_of(const struct universe *universe, const struct facts *facts, const struct row *row,
                             uint32_t key)
{
    uint32_t copies = 0;
    for (uint32_t length = 0; length < addition_lengths(universe); length++)
        copies += copies_in(universe, facts, row, length, key);
    return copies;
}

static bool is_removed(const struct universe *universe, const struct facts *facts, const struct row *row, uint32_t key)
{
    return removal_wins(universe) && copies_in(universe, facts, row, REMOVAL, key) > 0;
}

static uint32_t copies_of(const struct universe *universe, const struct facts *facts, const struct row *row,
                          uint32_t key)
{
    return is_removed(universe, facts, row, key) ? 0 : additions_of(universe, facts, row, key);
}

/* Different prefixes of a length. */
static uint32_t prefixes_of(const struct universe *universe, const struct facts *facts, const struct row *row,
                            uint32_t length)
{
    uint32_t prefixes = 0;
    for (uint32_t key = 0; key < universe->setting->keys; key++)
        prefixes += is_first_of_prefix(universe, length, key) && copies_in(universe, facts, row, length, key) > 0;
    return prefixes;
}

static uint32_t entries_of(const struct universe *universe, const struct facts *facts, const struct row *row)
{
    uint32_t entries = 0;
    for (uint32_t length = 0; length < LENGTHS && !removable(universe); length++)
        entries += prefixes_of(universe, facts, row, length);
    for (uint32_t r = 0; r < MOST_REPLICAS; r++)
        for (uint32_t c = 0; c < COUNTERS; c++)
            entries += row->dots[r][c] == LIVE;
    return entries;
}

/* Of a set: prefixes that no shorter one covers; removals hide one each, and do not count. */
static uint32_t elements_of(const struct universe *universe, const struct facts *facts, const struct row *row)
{
    uint32_t elements = 0;
    for (uint32_t length = 0; length < LENGTHS; length++)
        for (uint32_t key = 0; key < universe->setting->keys; key++) {
            bool before = !is_first_of_prefix(universe, length, key);
            for (uint32_t shorter = 0; shorter < length; shorter++)
                before |= copies_in(universe, facts, row, shorter, key) > 0;
            elements += !before && copies_in(universe, facts, row, length, key) > 0;
        }
    uint32_t removals = removal_wins(universe) ? prefixes_of(universe, facts, row, REMOVAL) : 0;
    return elements > removals ? elements - removals : 0;
}

static struct row row_since(const struct universe *universe, const struct facts *facts, const struct row *now,
                            const struct row *then)
{
    struct row since = {0};
    for (uint32_t r = 0; r < MOST_REPLICAS; r++)
        for (uint32_t c = 0; c < COUNTERS; c++)
            since.dots[r][c] = now->dots[r][c] != then->dots[r][c] ? now->dots[r][c] : UNSEEN;
    for (uint32_t length = 0; length < LENGTHS && !removable(universe); length++)
        for (uint32_t key = 0; key < universe->setting->keys; key++)
            if (copies_in(universe, facts, now, length, key) && !copies_in(universe, facts, then, length, key))
                cover(universe, &since, length, key);
    return since;
}

/* ---- which prefix an addition gets ------------------------------------------------------------------------------- */

static bool has_room(const struct universe *universe, const struct facts *facts, const struct row *row, uint32_t length)
{
    return prefixes_of(universe, facts, row, length) < universe->room[length];
}

static uint32_t first_with_room(const struct universe *universe, const struct facts *facts, const struct row *row,
                                unsigned bits)
{
    uint32_t length = 0;
    while (length < LENGTHS && (universe->lengths[length] < bits || !has_room(universe, facts, row, length)))
        length++;
    return length;
}

/* The longest that is there and may stay; that of the last addition; the first that is not too short; the first. */
static uint32_t length_for(const struct universe *universe, struct facts *facts, uint32_t replica, uint32_t key)
{
    const struct row *row = &facts->rows[replica];
    uint32_t entries = entries_of(universe, facts, row);
    for (uint32_t length = LENGTHS; length-- > 0 && removable(universe);)
        if (copies_in(universe, facts, row, length, key) > 0 &&
            prefixes_of(universe, facts, row, length) <= universe->room[length])
            return length;
    if (!removable(universe))
        return first_with_room(universe, facts, row, 0);
    uint32_t last = facts->last[replica];
    if (last != NONE && has_room(universe, facts, row, last))
        return last;
    uint32_t length = first_with_room(universe, facts, row, entries ? highest_bit(entries) + 3 : 0);
    length = length < LENGTHS ? length : first_with_room(universe, facts, row, 0);
    if (length < LENGTHS)
        facts->last[replica] = (uint8_t)length;
    return length;
}

/* ---- filters beside rows ----------------------------------------------------------------------------------------- */

static uint64_t actor_id(uint32_t replica)
{
    return replica + 1;
}

/* NULL: there is a list instead. */
static struct prefix_table *table_of(const struct universe *universe, roost_filter *filter)
{
    if (removable(universe)) {
        struct tagged_set *set = &as_growing_orcuckoo(filter)->set;
        if (universe->listed)
            return is_in_table(set) ? set->table : NULL;
        must(tagged_set_use_table(set, filter) == ROOST_OK, "a table instead of a list");
        return set->table;
    }
    struct prefix_set *set = &((struct growing_cuckoo *)filter)->set;
    must(set_use_table(set, filter) == ROOST_OK, "a table instead of a list");
    return set->table;
}

static enum standing standing_in(const struct universe *universe, const struct observed *filter,
                                 const struct facts *facts, uint32_t replica, uint32_t counter)
{
    if (!causal_contains(&filter->causal, actor_id(replica), counter))
        return UNSEEN;
    uint64_t hash = universe->hashes[facts->element[replica][counter - 1]].high;
    uint64_t prefix = prefix_of(hash, universe->lengths[facts->length[replica][counter - 1]]);
    struct entry entry = {actors_find(&filter->actors, actor_id(replica)), counter, prefix_position(prefix)};
    return filter->store->holds(filter, entry) ? LIVE : DEAD;
}

/* One prefix of a filter without removal, which is one that the model knows. */
static void cover_by(const struct universe *universe, struct row *row, uint64_t prefix)
{
    for (uint32_t length = 0; length < LENGTHS; length++)
        for (uint32_t key = 0; key < universe->setting->keys; key++)
            if (prefix == prefix_of(universe->hashes[key].high, universe->lengths[length])) {
                cover(universe, row, length, key);
                return;
            }
    must(false, "no prefix that nobody added");
}

/* What the filter says of all dots and prefixes that the model knows. */
static struct row read_row(const struct universe *universe, const struct facts *facts, const roost_filter *filter)
{
    struct row row = {0};
    for (uint32_t r = 0; r < MOST_REPLICAS && removable(universe); r++)
        for (uint32_t c = 0; c < COUNTERS; c++)
            row.dots[r][c] = (uint8_t)standing_in(universe, as_const_observed(filter), facts, r, c + 1);
    if (removable(universe))
        return row;
    struct set_stream stream;
    set_stream_begin(&stream, &((const struct growing_cuckoo *)filter)->set);
    for (uint64_t prefix; (prefix = next_of_set(&stream)) != 0;)
        cover_by(universe, &row, prefix);
    set_stream_end(&stream);
    return row;
}

static void must_count(const struct universe *universe, const struct facts *facts, const struct row *row,
                       const roost_filter *filter)
{
    uint32_t entries = entries_of(universe, facts, row), dots = 0;
    roost_info info;
    roost_filter_get_info(filter, &info);
    for (size_t i = 0; i < sizeof row->dots; i++)
        dots += ((const uint8_t *)row->dots)[i] != UNSEEN;
    must(info.entries == entries, "no entry that nobody made");
    if (!removable(universe))
        return;
    must(info.dots == dots, "no dot that nobody made");
    must((uint32_t)(info.elements + 0.5) == (universe->setting->multiset ? entries : elements_of(universe, facts, row)),
         "elements are counted once");
}

static void must_agree(const struct universe *universe, const struct facts *facts, const struct row *row,
                       const roost_filter *filter)
{
    struct row real = read_row(universe, facts, filter);
    must(roost_filter_check(filter) == ROOST_OK, "the invariants");
    must(memcmp(&real, row, sizeof real) == 0, "the filter is what the model says");
    for (uint32_t key = 0; key < universe->setting->keys; key++) {
        uint32_t copies = copies_of(universe, facts, row, key);
        must(roost_filter_contains_hash(filter, universe->hashes[key]) == (copies > 0), "contains");
        if (removable(universe))
            must(roost_filter_count_hash(filter, universe->hashes[key]) ==
                     (universe->setting->multiset ? copies : copies > 0),
                 "count");
    }
    must_count(universe, facts, row, filter);
}

/* Budgets that no order of events may overdraw. */
static void must_keep_promise(const struct universe *universe, const struct facts *facts, const struct row *row)
{
    const struct setting *setting = universe->setting;
    for (uint32_t length = 0; length < addition_lengths(universe); length++) {
        /* A delta that skips the one before it may bring an addition without the removals before it. */
        for (uint32_t r = 0; r < MOST_REPLICAS && !setting->deltas; r++) {
            struct row own = {0};
            memcpy(own.dots[r], row->dots[r], sizeof own.dots[r]);
            must(prefixes_of(universe, facts, &own, length) <= universe->room[length],
                 "nobody has more prefixes of a length than the budget");
        }
        if (setting->replicas <= setting->writers && (!setting->deltas || !removable(universe)))
            must(prefixes_of(universe, facts, row, length) <= universe->room[length] * setting->writers,
                 "nor are there more than the writers may add");
    }
}

/* ---- laws of a world --------------------------------------------------------------------------------------------- */

/* A table that is empty gets its segments again. */
static roost_filter *prepared(const struct universe *universe, roost_filter *filter)
{
    struct prefix_table *table = table_of(universe, filter);
    if (universe->listed)
        as_growing_orcuckoo(filter)->set.most = universe->listed;
    if (!table)
        return filter;
    table->target = universe->setting->target;
    if (universe->setting->segments)
        tagged_make_room(table, universe->setting->segments * universe->setting->target);
    return filter;
}

/* Dots of one number may be of other elements in other worlds: those that matter belong to the state. */
static uint64_t row_hash(const struct universe *universe, const struct facts *facts, const struct row *row)
{
    struct {
        uint64_t prefixes[MOST_REPLICAS][COUNTERS];
        struct row row;
    } all;
    memset(&all, 0, sizeof all);
    all.row = *row;
    for (uint32_t r = 0; r < MOST_REPLICAS; r++)
        for (uint32_t c = 0; c < COUNTERS; c++)
            if (row->dots[r][c] == LIVE)
                all.prefixes[r][c] =
                    prefix_of(universe->hashes[facts->element[r][c]].high, universe->lengths[facts->length[r][c]]);
    return checksum_bytes(&all, sizeof all);
}

static void must_merge_bytes(const struct universe *universe, const struct world *world, uint32_t a, uint32_t b,
                             uint64_t expected)
{
    roost_filter *filter = copy_of(&universe->walk, world->filters[a]);
    roost_buffer frame;
    must(roost_filter_encode(world->filters[b], &frame) == ROOST_OK, "encode");
    must(roost_filter_merge_frame(filter, NULL, frame.data, frame.size) == ROOST_OK, "merge of a frame");
    must(frame_hash(filter) == expected, "a frame merges as its filter does");
    roost_buffer_release(&frame);
    roost_filter_free(filter);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Live dots that cover the element die, from this length on; returns how many. */
static uint32_t kill(const struct universe *universe, const struct facts *facts, struct row *row, uint32_t key,
                     uint32_t from)
{
    uint32_t killed = 0;
    for (uint32_t r = 0; r < MOST_REPLICAS; r++)
        for (uint32_t c = 0; c < COUNTERS; c++)
            if (row->dots[r][c] == LIVE && facts->length[r][c] >= from &&
                share(universe, facts->length[r][c], facts->element[r][c], key)) {
                row->dots[r][c] = DEAD;
                killed++;
            }
    return killed;
}

static uint32_t next_counter(const struct row *row, uint32_t replica)
{
    uint32_t counter = 0;
    while (counter < COUNTERS && row->dots[replica][counter] != UNSEEN)
        counter++;
    return counter;
}

static void note_dot(struct facts *facts, uint32_t replica, uint32_t key, uint32_t length)
{
    uint32_t counter = next_counter(&facts->rows[replica], replica);
    facts->rows[replica].dots[replica][counter] = LIVE;
    facts->element[replica][counter] = (uint8_t)key;
    facts->length[replica][counter] = (uint8_t)length;
}

static void add_dot(struct universe *universe, struct world *world, uint32_t replica, uint32_t key, uint32_t length)
{
    struct facts *facts = &world->facts;
    struct row *row = &facts->rows[replica];
    roost_filter *filter = world->filters[replica];
    bool changed, was = copies_of(universe, facts, row, key) > 0;
    roost_dot dot;
    if (removal_wins(universe)) {
        must(roost_filter_add_dot_hash(filter, &dot, universe->hashes[key]) == ROOST_UNSUPPORTED, "no dots");
        must(roost_filter_add_hash(filter, &changed, universe->hashes[key]) == ROOST_OK && changed == !was, "add");
        done.readded += is_removed(universe, facts, row, key);
    } else {
        must(roost_filter_add_dot_hash(filter, &dot, universe->hashes[key]) == ROOST_OK, "add");
        must(dot.actor == actor_id(replica) && dot.counter == next_counter(row, replica) + 1, "the dot of an addition");
    }
    if (!universe->setting->multiset)
        done.supersedings += kill(universe, facts, row, key, length) > 0;
    note_dot(facts, replica, key, length);
    must(copies_of(universe, facts, row, key) > 0, "an addition is seen where it was made");
}

/* Budgets by hand end with the last length; those of a configuration go on where the model ends. */
static bool must_be_full(struct universe *universe, struct world *world, uint32_t replica, uint32_t key)
{
    bool changed;
    if (!universe->setting->lengths[0])
        return false;
    must(roost_filter_add_hash(world->filters[replica], &changed, universe->hashes[key]) == ROOST_FULL,
         "an addition without room is refused");
    done.full++;
    return true;
}

static bool add(struct universe *universe, struct world *world, uint32_t replica, uint32_t key)
{
    struct row *row = &world->facts.rows[replica];
    bool changed, was[KEYS];
    for (uint32_t other = 0; other < universe->setting->keys; other++)
        was[other] = copies_of(universe, &world->facts, row, other) > 0;
    universe->walk.drawn = actor_id(replica);
    if (!removable(universe) && was[key]) {
        must(roost_filter_add_hash(world->filters[replica], &changed, universe->hashes[key]) == ROOST_OK && !changed,
             "what is there is not added again");
        return true;
    }
    if (removable(universe) && next_counter(row, replica) == COUNTERS)
        return false;
    uint32_t length = length_for(universe, &world->facts, replica, key);
    if (length == NONE)
        return must_be_full(universe, world, replica, key);
    done.longer += length > 0;
    if (removable(universe)) {
        add_dot(universe, world, replica, key, length);
    } else {
        must(roost_filter_add_hash(world->filters[replica], &changed, universe->hashes[key]) == ROOST_OK && changed,
             "add");
        cover(universe, row, length, key);
    }
    for (uint32_t other = 0; other < universe->setting->keys; other++)
        must(!was[other] || copies_of(universe, &world->facts, row, other) > 0, "an addition hides nothing");
    return true;
}

/* A removal that has an entry: it supersedes all that it has seen of the element. */
static bool record_removal(struct universe *universe, struct world *world, uint32_t replica, uint32_t key)
{
    struct facts *facts = &world->facts;
    struct row *row = &facts->rows[replica];
    bool changed, was = copies_of(universe, facts, row, key) > 0;
    if (next_counter(row, replica) == COUNTERS)
        return false;
    universe->walk.drawn = actor_id(replica);
    must(roost_filter_remove_hash(world->filters[replica], &changed, universe->hashes[key]) == ROOST_OK, "remove");
    must(changed == was, "remove tells whether the element was there");
    done.removed += kill(universe, facts, row, key, 0) > 0;
    note_dot(facts, replica, key, REMOVAL);
    return true;
}

static bool take(struct universe *universe, struct world *world, uint32_t replica, uint32_t key)
{
    bool changed;
    if (removal_wins(universe))
        return record_removal(universe, world, replica, key);
    must(roost_filter_remove_hash(world->filters[replica], &changed, universe->hashes[key]) == ROOST_OK, "remove");
    uint32_t killed = kill(universe, &world->facts, &world->facts.rows[replica], key, 0);
    must(changed == (killed > 0), "remove tells whether there was anything");
    done.removed += killed > 0;
    return true;
}

/* The longest prefix goes first, then the smallest dot. */
static bool take_one(struct universe *universe, struct world *world, uint32_t replica, uint32_t key)
{
    const struct facts *facts = &world->facts;
    struct row *row = &world->facts.rows[replica];
    uint8_t *chosen = NULL;
    uint32_t longest = 0;
    bool changed;
    for (uint32_t r = 0; r < MOST_REPLICAS; r++)
        for (uint32_t c = 0; c < COUNTERS; c++)
            if (row->dots[r][c] == LIVE && share(universe, facts->length[r][c], facts->element[r][c], key) &&
                (!chosen || facts->length[r][c] > longest)) {
                chosen = &row->dots[r][c];
                longest = facts->length[r][c];
            }
    must(roost_filter_remove_one_hash(world->filters[replica], &changed, universe->hashes[key]) == ROOST_OK, "remove");
    must(changed == (chosen != NULL), "remove_one takes one");
    if (chosen)
        *chosen = DEAD;
    done.removed += changed;
    return true;
}

/* A dot that somebody made, by its own element or by the next one. */
static bool take_dot(struct universe *universe, struct world *world, uint32_t replica, uint32_t choice)
{
    const struct facts *facts = &world->facts;
    uint32_t r = choice / 2 / COUNTERS, c = choice / 2 % COUNTERS;
    uint8_t *standing = &world->facts.rows[replica].dots[r][c];
    uint32_t key = (facts->element[r][c] + choice % 2) % universe->setting->keys;
    bool covers = share(universe, facts->length[r][c], facts->element[r][c], key), changed;
    if (*standing != LIVE)
        return false;
    must(roost_filter_remove_dot_hash(world->filters[replica], &changed, universe->hashes[key],
                                      (roost_dot){actor_id(r), c + 1}) == ROOST_OK,
         "remove");
    must(changed == covers, "remove_dot takes the dot of an element that its prefix covers");
    *standing = covers ? DEAD : LIVE;
    done.removed += changed;
    return true;
}

enum { ADD, REMOVE, REMOVE_ONE, REMOVE_DOT, CHANGES };

static make_change *const changes[CHANGES] = {
    [ADD] = add, [REMOVE] = take, [REMOVE_ONE] = take_one, [REMOVE_DOT] = take_dot};

static uint32_t choices_of(const struct universe *universe, uint32_t change)
{
    switch (change) {
    case ADD:
        return universe->setting->keys;
    case REMOVE:
        return removable(universe) ? universe->setting->keys : 0;
    case REMOVE_ONE:
        return universe->setting->multiset ? universe->setting->keys : 0;
    default:
        return removable(universe) && !removal_wins(universe) ? MOST_REPLICAS * COUNTERS * 2 : 0;
    }
}

static uint64_t directory_size(const struct universe *universe, roost_filter *filter)
{
    const struct prefix_table *table = table_of(universe, filter);
    return table && table->root ? segments_of(table->root) : 0;
}

static void count_hidden(const struct universe *universe, const struct facts *facts, const struct row *row)
{
    for (uint32_t key = 0; key < universe->setting->keys; key++)
        done.hidden += is_removed(universe, facts, row, key) && additions_of(universe, facts, row, key) > 0;
}

static bool perform(struct universe *universe, struct world *world, const struct step *step)
{
    roost_filter *filter = world->filters[step->replica];
    uint64_t segments = directory_size(universe, filter);
    bool had_table = table_of(universe, filter) != NULL;
    bool enter = carry_out(&universe->walk, world, step);
    done.cut += segments && directory_size(universe, filter) > segments;
    done.reshaped += had_table != (table_of(universe, filter) != NULL);
    if (step->operation == MERGE)
        count_hidden(universe, &world->facts, &world->facts.rows[step->replica]);
    return enter;
}

/* ---- the universe ------------------------------------------------------------------------------------------------ */

/* The second is apart; the third is one with the first up to the first length, and the fourth up to the second. */
static void choose_elements(struct universe *universe)
{
    const uint64_t hash = UINT64_C(0x53219876fedcba31), first = UINT64_C(1) << 63;
    const uint64_t apart[KEYS] = {0, first, first >> universe->lengths[0], first >> universe->lengths[1]};
    for (uint32_t key = 0; key < KEYS; key++)
        universe->hashes[key] = (roost_hash){UINT64_C(0x123456789abcdef1) + key, hash ^ apart[key]};
    must(!share(universe, 0, 0, 1) && share(universe, 0, 0, 2) && !share(universe, 1, 0, 2) &&
             share(universe, 1, 0, 3) && !share(universe, 2, 0, 3),
         "elements that only longer prefixes tell apart");
}

static void choose_lengths(struct universe *universe, const roost_filter *filter)
{
    const struct setting *setting = universe->setting;
    struct budget budget;
    uint32_t count = 0;
    if (removable(universe))
        budget = shared_of_filter(filter)->budget;
    else
        budget_of(&budget, roost_filter_get_config(filter));
    for (unsigned bits = 0; bits <= MOST_LENGTH && count < LENGTHS && !setting->lengths[0]; bits++)
        if (budget.capacity[bits]) {
            universe->lengths[count] = bits;
            universe->room[count++] = budget.capacity[bits];
        }
    for (uint32_t i = 0; i < LENGTHS && setting->lengths[0]; i++) {
        universe->lengths[i] = setting->lengths[i];
        universe->room[i] = setting->room[i];
    }
    if (removal_wins(universe)) {
        universe->lengths[REMOVAL] = REMOVAL_LENGTH;
        universe->room[REMOVAL] = 0;
    }
}

static roost_filter *open_filter(struct universe *universe)
{
    /* A budget of its own is not one that other settings find again. */
    roost_environment environment = {.journal = JOURNAL,
                                     .entropy = {&universe->walk.drawn, draw_number},
                                     .memory_limit = universe->setting->lengths[0] ? (uint64_t)1 << 40 : 0};
    roost_filter *filter;
    must(roost_filter_new(&filter, &universe->config, &environment) == ROOST_OK, "new");
    if (universe->setting->lengths[0]) {
        struct budget *budget = (struct budget *)(uintptr_t)&shared_of_filter(filter)->budget;
        *budget = (struct budget){.first = 1};
        for (uint32_t i = 0; i < LENGTHS; i++)
            budget->capacity[universe->setting->lengths[i]] = universe->setting->room[i];
    }
    return prepared(universe, filter);
}

static const struct rules rules = {
    .changes = changes,
    .change_count = CHANGES,
    .choices_of = choices_of,
    .perform = perform,
    .open = open_filter,
    .prepared = prepared,
    .since = row_since,
    .row_hash = row_hash,
    .must_agree = must_agree,
    .must_keep_promise = must_keep_promise,
    .must_merge_too = must_merge_bytes,
};

static void universe_open(struct universe *universe, const struct setting *setting)
{
    *universe = (struct universe){.walk = walk_by(&rules, universe, setting->replicas, setting->deltas)};
    universe->setting = setting;
    universe->config = roost_config_default();
    universe->config.kind = setting->kind;
    universe->config.multiset = setting->multiset;
    universe->config.semantics = setting->removals ? ROOST_REMOVE_WINS : ROOST_ADD_WINS;
    universe->config.scalable = true;
    universe->config.capacity = 1;
    universe->config.writers = setting->writers;
    universe->config.growth = 1;
    universe->config.schedule = ROOST_HALVING;
    universe->config.fpr = 1.0 / 16;
    roost_filter *filter = open_filter(universe);
    choose_lengths(universe, filter);
    roost_filter_free(filter);
    choose_elements(universe);
}

static const struct setting settings[] = {
    /* name, kind, multiset, deltas, replicas, keys, writers, lengths, room, target, segments, depth, deep, removals */
    {"set", ROOST_ORCUCKOO, false, false, 2, 4, 2, {0}, {0}, 2048, 0, 4, 7, false},
    {"set", ROOST_ORCUCKOO, false, false, 3, 3, 2, {0}, {0}, 1, 0, 4, 6, false},
    {"set of short prefixes", ROOST_ORCUCKOO, false, false, 2, 3, 2, {4, 5, 7, 9}, {1, 1, 1, 1}, 1, 0, 5, 7, false},
    {"set that spans", ROOST_ORCUCKOO, false, false, 2, 4, 1, {4, 5, 6, 8}, {1, 1, 2, 1}, 1, 32, 4, 6, false},
    {"set, deltas", ROOST_ORCUCKOO, false, true, 2, 3, 2, {4, 6, 9, 11}, {1, 1, 0, 0}, 1, 0, 4, 6, false},
    {"set, deltas", ROOST_ORCUCKOO, false, true, 3, 3, 1, {0}, {0}, 1, 0, 3, 5, false},
    {"multiset", ROOST_ORCUCKOO, true, false, 2, 3, 1, {0}, {0}, 2, 0, 5, 7, false},
    {"multiset, short", ROOST_ORCUCKOO, true, false, 2, 4, 2, {4, 5, 7, 9}, {1, 1, 0, 0}, 1, 0, 4, 6, false},
    {"multiset that spans", ROOST_ORCUCKOO, true, false, 2, 4, 1, {4, 5, 6, 8}, {1, 1, 1, 1}, 1, 256, 3, 4, false},
    {"multiset, deltas", ROOST_ORCUCKOO, true, true, 2, 3, 1, {4, 6, 9, 11}, {1, 1, 1, 1}, 1, 16, 4, 5, false},
    {"remove-wins", ROOST_ORCUCKOO, false, false, 2, 3, 2, {0}, {0}, 1, 0, 4, 6, true},
    {"remove-wins", ROOST_ORCUCKOO, false, false, 3, 2, 2, {0}, {0}, 2048, 0, 4, 6, true},
    {"remove-wins, short", ROOST_ORCUCKOO, false, false, 2, 4, 2, {4, 5, 7, 60}, {1, 1, 1, 0}, 1, 0, 4, 6, true},
    {"remove-wins, deltas", ROOST_ORCUCKOO, false, true, 2, 3, 1, {4, 6, 9, 60}, {1, 1, 1, 0}, 1, 16, 4, 5, true},
    {"without removal", ROOST_CUCKOO, false, false, 2, 4, 1, {0}, {0}, 1, 0, 7, 9, false},
    {"without removal, deltas", ROOST_CUCKOO, false, true, 3, 4, 3, {0}, {0}, 1, 0, 4, 6, false},
};

static void run_setting(const struct setting *setting, uint8_t listed, const char *form)
{
    static struct universe universe;
    uint32_t depth = depth_of(form, setting->depth, setting->deep);
    struct facts facts = {0};
    memset(facts.last, NONE, sizeof facts.last);
    universe_open(&universe, setting);
    universe.listed = listed;
    walk_from(&universe.walk, &facts, depth);
    printf("ok - prefixes: %s, %u replicas, %u writers, segments of %u, lists of %u, depth %u: %zu states, %llu "
           "transitions\n",
           setting->name, setting->replicas, setting->writers, setting->target, listed, depth, universe.walk.rows.count,
           (unsigned long long)universe.walk.transitions);
    fflush(stdout);
    walk_close(&universe.walk);
}

int main(int argc, char **argv)
{
    const uint8_t listed[] = {MOST_TAGS_LISTED, 1, 2, 4}; /* so that filters are lists always, or at times */
    const char *form = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        bool has_lists = settings[i].kind == ROOST_ORCUCKOO;
        if (!has_lists || i % 2 == 0 || *form) /* the short form leaves half of these out */
            run_setting(&settings[i], 0, form);
        if (has_lists)
            run_setting(&settings[i], listed[i % sizeof listed], form);
    }
    must(exchanged.merged > 1000 && exchanged.delivered > 1000 && done.removed > 1000 && done.supersedings > 1000 &&
             done.longer > 1000 && done.full > 10 && done.cut > 1000 && done.reshaped > 1000 && done.hidden > 1000 &&
             done.readded > 1000,
         "the walk did real work");
    printf("ok - prefixes: %llu merges, %llu deltas, %llu removals, %llu supersedings, %llu longer prefixes, %llu "
           "refusals, %llu segments cut, %llu lists that became tables or tables lists, %llu additions hidden by "
           "removals, %llu elements added again: every law held\n",
           (unsigned long long)exchanged.merged, (unsigned long long)exchanged.delivered,
           (unsigned long long)done.removed, (unsigned long long)done.supersedings, (unsigned long long)done.longer,
           (unsigned long long)done.full, (unsigned long long)done.cut, (unsigned long long)done.reshaped,
           (unsigned long long)done.hidden, (unsigned long long)done.readded);
    return 0;
}
