/*
 * A walk through a tiny universe whose model is rows: two or three replicas that change, merge, and send each other
 * deltas, which arrive at once, late, twice or never, in every order, to a given depth.
 *
 * A row is what one replica has, as small numbers of a byte each, and merge is the larger of each two. A delta is what
 * changed in the row since the last one. A world is the rows of all replicas, of the cursors and of the message that is
 * on its way, with the real filters beside them:
 *
 *     rows       [ A ][ B ][ C ]            what each replica has
 *     sent       [A->B][A->C][B->A] ...     the row of the first when the second got its cursor
 *     message    [ A at some time ]         stays when it is delivered, so that it may come twice; the next one that is
 *                                           sent takes its place, which loses it
 *
 * The walk goes depth first, on copies of the filters, and turns back where it meets a world that it has seen with as
 * much depth left. What changed is held against its row each time; in each new world, bytes and digest are a function
 * of the row, and different for different rows; each two replicas merged, both ways and through bytes, are the larger
 * row; compare is the order of the rows.
 *
 * Each program has rows of its own. It defines these two before it includes this file, and `rules` behind it:
 *
 *     struct row      nothing but bytes
 *     struct facts    all that tells worlds apart: `rows`, `sent` and `message` as above, and what else it needs
 */
#ifndef TESTS_ROW_WALK_H
#define TESTS_ROW_WALK_H

#include "exhaustive.h"

struct universe; /* each program has its own */

struct message {
    roost_buffer frame;
    struct row row;
};

struct world {
    struct facts facts;
    roost_filter *filters[MOST_REPLICAS];
    roost_cursor cursors[MOST_REPLICAS][MOST_REPLICAS];
    const struct message *message;
};

/* SEND_DELTA leaves the delta on its way; DELTA delivers it at once. */
enum operation { CHANGE, MERGE, DELIVER, DELTA, SEND_DELTA };

struct step {
    enum operation operation;
    uint32_t replica; /* that changes, or whose delta it is */
    uint32_t change;  /* which of `rules.changes` */
    uint32_t choice;  /* of those that a change has; else the other replica */
};

/* A kind of change that a replica makes itself. False where the world is not to be entered. */
typedef bool make_change(struct universe *universe, struct world *world, uint32_t replica, uint32_t choice);

/* What one universe does otherwise than another. Those that may be NULL say what happens then. */
struct rules {
    make_change *const *changes;
    uint32_t change_count;
    uint32_t (*choices_of)(const struct universe *universe, uint32_t change);
    /* Around carry_out, for those who count what a step does. NULL: carry_out alone. */
    bool (*perform)(struct universe *universe, struct world *world, const struct step *step);

    roost_filter *(*open)(struct universe *universe);
    /* Gives a clone what is not state, and returns it. NULL: a clone is used as it is. */
    roost_filter *(*prepared)(const struct universe *universe, roost_filter *clone);

    /* What a delta says. NULL: the numbers that differ. */
    struct row (*since)(const struct universe *universe, const struct facts *facts, const struct row *now,
                        const struct row *then);
    /* Rows of one hash are one state. NULL: the row alone says it. */
    uint64_t (*row_hash)(const struct universe *universe, const struct facts *facts, const struct row *row);

    void (*must_agree)(const struct universe *universe, const struct facts *facts, const struct row *row,
                       const roost_filter *filter);
    /* Of a row, and of each two rows merged. NULL: nothing. */
    void (*must_keep_promise)(const struct universe *universe, const struct facts *facts, const struct row *row);
    /* Of two replicas and the frame of their merge. NULL: nothing but the laws below. */
    void (*must_merge_too)(const struct universe *universe, const struct world *world, uint32_t a, uint32_t b,
                           uint64_t frame);
};

struct walk {
    const struct rules *rules;
    struct universe *universe; /* that the rules are given */
    uint32_t replicas;
    bool deltas;
    uint64_t drawn; /* what draw_number gives out next */
    struct hash_set worlds, rows, frames, pairs;
    uint64_t transitions;
};

static inline struct walk walk_by(const struct rules *rules, struct universe *universe, uint32_t replicas, bool deltas)
{
    return (struct walk){.rules = rules, .universe = universe, .replicas = replicas, .deltas = deltas, .drawn = 1};
}

/* Of all walks of a program. */
static struct {
    uint64_t merged, delivered;
} exchanged;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static inline void row_merge(struct row *row, const struct row *other)
{
    uint8_t *bytes = (uint8_t *)row;
    const uint8_t *others = (const uint8_t *)other;
    for (size_t i = 0; i < sizeof *row; i++)
        bytes[i] = bytes[i] > others[i] ? bytes[i] : others[i];
}

static inline bool row_lacks(const struct row *row, const struct row *other)
{
    bool lacks = false;
    for (size_t i = 0; i < sizeof *row; i++)
        lacks |= ((const uint8_t *)row)[i] < ((const uint8_t *)other)[i];
    return lacks;
}

static inline struct row row_difference(const struct row *now, const struct row *then)
{
    struct row since = *now;
    for (size_t i = 0; i < sizeof since; i++)
        if (((const uint8_t *)now)[i] == ((const uint8_t *)then)[i])
            ((uint8_t *)&since)[i] = 0;
    return since;
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

/* For roost_environment.entropy, with `drawn` as its context. */
static inline bool draw_number(void *context, void *bytes, size_t size)
{
    memcpy(bytes, context, size);
    return true;
}

static inline roost_filter *copy_of(const struct walk *walk, const roost_filter *filter)
{
    roost_filter *copy;
    must(roost_filter_clone(filter, &copy) == ROOST_OK, "clone");
    return walk->rules->prepared ? walk->rules->prepared(walk->universe, copy) : copy;
}

/* The very same replica, once more. */
static inline roost_filter *twin_of(const struct walk *walk, const roost_filter *filter)
{
    roost_filter *twin = copy_of(walk, filter);
    roost_buffer replica;
    must(roost_filter_save_replica(filter, &replica) == ROOST_OK, "save");
    must(roost_filter_restore_replica(twin, replica.data, replica.size) == ROOST_OK, "restore");
    roost_buffer_release(&replica);
    return twin;
}

/* ---- laws of a world --------------------------------------------------------------------------------------------- */

static inline void must_have_one_form(struct walk *walk, const struct facts *facts, const struct row *row,
                                      roost_filter *filter)
{
    const struct rules *rules = walk->rules;
    roost_filter *decoded = through_bytes(filter);
    roost_digest digest = roost_filter_digest(filter), again = roost_filter_digest(decoded);
    struct {
        uint64_t row, frame;
        roost_digest digest;
    } pair = {rules->row_hash ? rules->row_hash(walk->universe, facts, row) : checksum_bytes(row, sizeof *row),
              frame_hash(filter), digest};
    must(pair.frame == frame_hash(decoded) && memcmp(&digest, &again, sizeof digest) == 0, "bytes there and back");
    rules->must_agree(walk->universe, facts, row, decoded);
    hash_set_add(&walk->rows, &pair.row, sizeof pair.row);
    hash_set_add(&walk->frames, &pair.frame, sizeof pair.frame);
    hash_set_add(&walk->pairs, &pair, sizeof pair);
    roost_filter_free(decoded);
}

static inline void check_promise(const struct walk *walk, const struct facts *facts, const struct row *row)
{
    if (walk->rules->must_keep_promise)
        walk->rules->must_keep_promise(walk->universe, facts, row);
}

static inline void must_merge(const struct walk *walk, const struct world *world, uint32_t a, uint32_t b)
{
    const struct row *rows = world->facts.rows;
    struct row both = rows[a];
    row_merge(&both, &rows[b]);
    roost_filter *ab = copy_of(walk, world->filters[a]), *ba = through_bytes(world->filters[b]);
    roost_order order, expected = (row_lacks(&rows[a], &rows[b]) ? ROOST_BEFORE : 0) |
                                  (row_lacks(&rows[b], &rows[a]) ? ROOST_AFTER : 0);
    bool changed;
    must(roost_filter_compare(world->filters[a], &order, world->filters[b]) == ROOST_OK && order == expected,
         "compare is the order of the rows");
    must(roost_filter_merge(ab, &changed, world->filters[b]) == ROOST_OK, "merge");
    must(changed == row_lacks(&rows[a], &rows[b]), "merge tells what is new");
    must(roost_filter_merge(ba, NULL, world->filters[a]) == ROOST_OK, "merge");
    walk->rules->must_agree(walk->universe, &world->facts, &both, ab);
    check_promise(walk, &world->facts, &both);
    uint64_t frame = frame_hash(ab);
    must(frame == frame_hash(ba), "merge is commutative");
    if (walk->rules->must_merge_too)
        walk->rules->must_merge_too(walk->universe, world, a, b, frame);
    must(roost_filter_merge(ab, &changed, ba) == ROOST_OK && !changed, "merge is idempotent");
    roost_filter_free(ab);
    roost_filter_free(ba);
}

static inline void must_hold(struct walk *walk, const struct world *world, uint32_t changed)
{
    must_have_one_form(walk, &world->facts, &world->facts.rows[changed], world->filters[changed]);
    check_promise(walk, &world->facts, &world->facts.rows[changed]);
    for (uint32_t other = 0; other < walk->replicas; other++)
        if (other != changed)
            must_merge(walk, world, changed, other);
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

static inline void merge(struct world *world, uint32_t replica, uint32_t from)
{
    must(roost_filter_merge(world->filters[replica], NULL, world->filters[from]) == ROOST_OK, "merge");
    row_merge(&world->facts.rows[replica], &world->facts.rows[from]);
    exchanged.merged++;
}

static inline void take_message(struct world *world, uint32_t replica, const struct message *message)
{
    struct row *row = &world->facts.rows[replica];
    bool changed;
    must(roost_filter_merge_frame(world->filters[replica], &changed, message->frame.data, message->frame.size) ==
             ROOST_OK,
         "a delta is taken in");
    must(changed == row_lacks(row, &message->row), "and tells what is new");
    row_merge(row, &message->row);
    exchanged.delivered++;
}

static inline struct message delta_for(const struct walk *walk, struct world *world, uint32_t from, uint32_t to)
{
    const struct row *now = &world->facts.rows[from];
    struct row *sent = &world->facts.sent[from][to];
    roost_cursor *cursor = &world->cursors[from][to];
    struct message message = {.row = walk->rules->since ? walk->rules->since(walk->universe, &world->facts, now, sent)
                                                        : row_difference(now, sent)};
    must(roost_filter_encode_delta(world->filters[from], &message.frame, cursor, cursor) == ROOST_OK, "delta");
    *sent = *now;
    return message;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static inline void explore(struct walk *walk, const struct world *world, uint32_t depth);

/* The filters of the world that are not the parent's are for the caller to free. */
static inline void visit(struct walk *walk, const struct world *world, uint32_t changed, uint32_t depth)
{
    bool met = hash_set_meet(&walk->worlds, &world->facts, sizeof world->facts);
    walk->transitions++;
    walk->rules->must_agree(walk->universe, &world->facts, &world->facts.rows[changed], world->filters[changed]);
    if (!met)
        must_hold(walk, world, changed);
    if (!hash_set_meet_with(&walk->worlds, &world->facts, sizeof world->facts, depth) && depth > 0)
        explore(walk, world, depth);
}

/* A delta of one replica, which arrives at once or stays on its way. */
static inline void send(struct walk *walk, const struct world *parent, const struct step *step, uint32_t depth)
{
    const uint32_t from = step->replica, to = step->choice;
    const bool at_once = step->operation == DELTA;
    struct world world = *parent;
    world.filters[from] = twin_of(walk, parent->filters[from]);
    struct message message = delta_for(walk, &world, from, to);
    if (at_once) {
        world.filters[to] = twin_of(walk, parent->filters[to]);
        take_message(&world, to, &message);
    } else {
        world.message = &message;
        world.facts.message = message.row;
    }
    visit(walk, &world, at_once ? to : from, depth);
    roost_filter_free(world.filters[from]);
    if (at_once)
        roost_filter_free(world.filters[to]);
    roost_buffer_release(&message.frame);
}

/* At one replica. False where the world is not to be entered. */
static inline bool carry_out(struct walk *walk, struct world *world, const struct step *step)
{
    if (step->operation == CHANGE)
        return walk->rules->changes[step->change](walk->universe, world, step->replica, step->choice);
    if (step->operation == MERGE)
        merge(world, step->replica, step->choice);
    else
        take_message(world, step->replica, world->message);
    return true;
}

static inline void operate(struct walk *walk, const struct world *parent, const struct step *step, uint32_t depth)
{
    struct world world = *parent;
    world.filters[step->replica] = twin_of(walk, parent->filters[step->replica]);
    if (walk->rules->perform ? walk->rules->perform(walk->universe, &world, step) : carry_out(walk, &world, step))
        visit(walk, &world, step->replica, depth);
    roost_filter_free(world.filters[step->replica]);
}

static inline void explore_exchanges(struct walk *walk, const struct world *world, uint32_t replica, uint32_t depth)
{
    struct step step = {.operation = MERGE, .replica = replica};
    for (step.choice = 0; step.choice < walk->replicas; step.choice++)
        if (step.choice != replica)
            operate(walk, world, &step, depth);
    step.operation = DELIVER;
    if (world->message)
        operate(walk, world, &step, depth);
    for (step.operation = DELTA; step.operation <= SEND_DELTA && walk->deltas; step.operation++)
        for (step.choice = 0; step.choice < walk->replicas; step.choice++)
            if (step.choice != replica)
                send(walk, world, &step, depth);
}

static inline void explore(struct walk *walk, const struct world *world, uint32_t depth)
{
    for (uint32_t replica = 0; replica < walk->replicas; replica++) {
        struct step step = {.operation = CHANGE, .replica = replica};
        for (step.change = 0; step.change < walk->rules->change_count; step.change++)
            for (step.choice = 0; step.choice < walk->rules->choices_of(walk->universe, step.change); step.choice++)
                operate(walk, world, &step, depth - 1);
        explore_exchanges(walk, world, replica, depth - 1);
    }
}

/* All are empty, and have each other's cursors. */
static inline struct world first_world(struct walk *walk, const struct facts *facts)
{
    struct world world = {.facts = *facts};
    for (uint32_t r = 0; r < walk->replicas; r++) {
        world.filters[r] = walk->rules->open(walk->universe);
        walk->drawn = 100 + r; /* of the journal */
        for (uint32_t to = 0; to < walk->replicas && walk->deltas; to++) {
            struct message nothing = delta_for(walk, &world, r, to);
            roost_buffer_release(&nothing.frame);
        }
    }
    return world;
}

static inline void walk_from(struct walk *walk, const struct facts *facts, uint32_t depth)
{
    struct world first = first_world(walk, facts);
    explore(walk, &first, depth);
    must(walk->rows.count == walk->pairs.count && walk->frames.count == walk->pairs.count,
         "one state, one frame, one digest");
    for (uint32_t r = 0; r < walk->replicas; r++)
        roost_filter_free(first.filters[r]);
}

static inline void walk_close(struct walk *walk)
{
    free(walk->worlds.hashes);
    free(walk->rows.hashes);
    free(walk->frames.hashes);
    free(walk->pairs.hashes);
}

#endif
