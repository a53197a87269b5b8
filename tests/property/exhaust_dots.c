/*
 * A tiny universe with removals, exhausted with the real code: two or three replicas of an observed-remove filter, a
 * few classes, a table of two buckets; every addition, removal, merge, delta, loss, late delivery, restart and restored
 * backup, in every order, with every random choice of every insertion, to a given depth.
 *
 *     exhaust-dots [--deep | --shallow]
 *
 * A world is what all replicas hold: for each the slots of its table, its stash, its causal context, what its journal
 * has for each reader, and one message that is on its way. The model beside it is two sets of dots for each replica,
 * those that were seen and those that are live; merge is a formula of three terms. Worlds are deduplicated, so what is
 * explored is the graph of reachable layouts. Each operation runs on the real filter, once for each sequence of choices
 * that it asks for; the result must be the model's, dot for dot, and the journal must note just what changed. Each new
 * layout is checked: invariants, contains and count for every class from both buckets, digest and bytes a function of
 * the model alone and different for different models; each new combination of states: merge is commutative, idempotent
 * and associative, compare is its order.
 *
 * The message stays when it is delivered, so that it may come twice, late, or behind a younger one's content; the next
 * one that is sent takes its place, which loses it. It may also be taken for a backup that a replica is restored from.
 *
 * What is left out: stashes are rebuilt in the order of their chains, not of their nodes; a dot is one of the first few
 * of an actor; a replica has few incarnations.
 */
#include "dot_layouts.h"

/* ---- the laws, for a new layout of one replica ------------------------------------------------------------------- */

static void states_put(struct universe *universe, const struct known_state *state)
{
    size_t at = state->state & (universe->state_room - 1);
    while (universe->states[at].state)
        at = (at + 1) & (universe->state_room - 1);
    universe->states[at] = *state;
}

static struct known_state *states_find(struct universe *universe, uint64_t state)
{
    if (2 * (universe->state_count + 1) > universe->state_room) {
        struct known_state *old = universe->states;
        size_t old_room = universe->state_room;
        universe->state_room = old_room ? 4 * old_room : 1 << 10;
        universe->states = calloc(universe->state_room, sizeof *universe->states);
        must(universe->states != NULL, "memory");
        for (size_t i = 0; i < old_room; i++)
            if (old[i].state)
                states_put(universe, &old[i]);
        free(old);
    }
    size_t at = state & (universe->state_room - 1);
    while (universe->states[at].state && universe->states[at].state != state)
        at = (at + 1) & (universe->state_room - 1);
    return &universe->states[at];
}

static uint64_t state_hash(dots seen, dots live, uint64_t classes)
{
    uint64_t numbers[3] = {seen, live, classes_of(classes, live)};
    uint64_t hash = checksum_bytes(numbers, sizeof numbers);
    return hash ? hash : 1;
}

static void check_decoded(const struct universe *universe, const roost_filter *filter, const roost_buffer *frame)
{
    roost_filter *decoded;
    must(roost_filter_decode(&decoded, frame->data, frame->size, (roost_environment[]){whole_environment(filter)}) ==
             ROOST_OK,
         "decode");
    must(roost_filter_check(decoded) == ROOST_OK, "invariants after decode");
    must(roost_filter_equal(decoded, filter), "decode gives the state back");
    must(roost_filter_get_actor(decoded) == 0, "decode adopts no actor");
    roost_filter_free(decoded);
    (void)universe;
}

/* Equal models have equal bytes and digests; different ones, different digests (the frames contain the states). */
static void check_bytes(struct universe *universe, roost_filter *filter, uint64_t state)
{
    static const uint8_t tag[1] = {'d'};
    roost_buffer frame;
    roost_digest digest = roost_filter_digest(filter);
    must(roost_filter_encode(filter, &frame) == ROOST_OK, "encode");
    uint64_t sum = checksum_bytes(frame.data, frame.size);
    struct known_state *known = states_find(universe, state);
    if (known->state == 0) {
        uint8_t tagged[sizeof digest.bytes + 1];
        *known = (struct known_state){.state = state, .frame = sum};
        memcpy(known->digest, digest.bytes, sizeof known->digest);
        universe->state_count++;
        memcpy(tagged, tag, 1);
        memcpy(tagged + 1, digest.bytes, sizeof digest.bytes);
        must(hash_set_add(&universe->combinations, tagged, sizeof tagged), "different models have different digests");
        tagged[0] = 'f';
        memset(tagged + 1, 0, sizeof digest.bytes);
        memcpy(tagged + 1, &sum, sizeof sum);
        must(hash_set_add(&universe->combinations, tagged, sizeof tagged), "different models have different bytes");
        check_decoded(universe, filter, &frame);
    }
    must(known->frame == sum, "equal models have equal bytes");
    must(memcmp(known->digest, digest.bytes, sizeof known->digest) == 0, "equal models have equal digests");
    roost_buffer_release(&frame);
}

static void check_classes(const struct universe *universe, const roost_filter *filter, dots live, uint64_t classes)
{
    for (uint32_t number = 0; number < universe->setting->classes; number++) {
        struct place place = place_of_class(universe->keys[number], universe->geometry);
        uint64_t copies = count_ones(dots_of_class(classes, live, number));
        for (int side = 0; side < 2; side++, place = other_place(place)) {
            roost_hash hash = hash_into(place, universe->geometry);
            must(roost_filter_contains_hash(filter, hash) == (copies > 0), "contains says what the model holds");
            must(roost_filter_count_hash(filter, hash) == (universe->setting->multiset ? copies : copies > 0), "count");
        }
    }
}

static void check_layout(struct universe *universe, roost_filter *filter, const struct layout *layout, uint64_t classes)
{
    struct {
        uint8_t slots[SLOTS], stash[MOST_STASHED];
        dots seen, live;
        uint64_t classes;
    } shape = {.seen = layout->seen, .live = live_of(layout)};
    memcpy(shape.slots, layout->slots, sizeof shape.slots);
    memcpy(shape.stash, layout->stash, sizeof shape.stash);
    shape.classes = classes_of(classes, shape.live);
    if (!hash_set_add(&universe->layouts, &shape, sizeof shape))
        return;
    must(roost_filter_check(filter) == ROOST_OK, "invariants");
    check_classes(universe, filter, shape.live, classes);
    check_bytes(universe, filter, state_hash(shape.seen, shape.live, classes));
    universe->overflowed += layout->stash[0] != 0;
}

/* ---- the laws, for a new combination of states ------------------------------------------------------------------- */

static dots merged_live(dots seen, dots live, dots other_seen, dots other_live)
{
    return (live & other_live) | (live & ~other_seen) | (other_live & ~seen);
}

static bool model_lacks(dots seen, dots live, dots other_seen, dots other_live)
{
    return (other_seen & ~seen) || (live & other_seen & ~other_live);
}

static void check_order(const struct universe *universe, const struct world *world, uint32_t a, uint32_t b)
{
    roost_order order, expected = ROOST_EQUAL;
    dots seen_a = world->replicas[a].seen, live_a = live_of(&world->replicas[a]);
    dots seen_b = world->replicas[b].seen, live_b = live_of(&world->replicas[b]);
    expected |= model_lacks(seen_a, live_a, seen_b, live_b) ? ROOST_BEFORE : 0;
    expected |= model_lacks(seen_b, live_b, seen_a, live_a) ? ROOST_AFTER : 0;
    must(roost_filter_compare(universe->scratch[a], &order, universe->scratch[b]) == ROOST_OK, "compare");
    must(order == expected, "compare is the order of the models");
}

static roost_filter *joined(const roost_filter *a, const roost_filter *b)
{
    roost_filter *copy;
    bool changed;
    must(roost_filter_clone(a, &copy) == ROOST_OK, "clone");
    must(roost_filter_merge(copy, &changed, b) == ROOST_OK, "merge");
    return copy;
}

static void check_same(roost_filter *a, roost_filter *b, const char *law)
{
    roost_digest x = roost_filter_digest(a), y = roost_filter_digest(b);
    must(roost_filter_equal(a, b) && memcmp(x.bytes, y.bytes, sizeof x.bytes) == 0, law);
}

static void check_pair(roost_filter *a, roost_filter *b)
{
    bool changed;
    roost_filter *ab = joined(a, b), *ba = joined(b, a);
    check_same(ab, ba, "merge is commutative");
    must(roost_filter_merge(ab, &changed, ba) == ROOST_OK && !changed, "merge is idempotent");
    must(roost_filter_merge(ab, &changed, a) == ROOST_OK && !changed, "merge is an upper bound");
    roost_filter_free(ab);
    roost_filter_free(ba);
}

static void check_triple(roost_filter *a, roost_filter *b, roost_filter *c)
{
    roost_filter *ab = joined(a, b), *bc = joined(b, c), *left = joined(ab, c), *right = joined(a, bc);
    check_same(left, right, "merge is associative");
    roost_filter_free(ab);
    roost_filter_free(bc);
    roost_filter_free(left);
    roost_filter_free(right);
}

/* The replicas are in the scratch filters. */
static void check_laws(struct universe *universe)
{
    for (uint32_t a = 0; a < universe->setting->replicas; a++)
        for (uint32_t b = 0; b < a; b++)
            check_pair(universe->scratch[a], universe->scratch[b]);
    if (universe->setting->replicas == 3)
        check_triple(universe->scratch[0], universe->scratch[1], universe->scratch[2]);
}

static void check_world(struct universe *universe, const struct world *world, uint32_t changed)
{
    uint64_t states[MOST_REPLICAS];
    uint32_t count = universe->setting->replicas;
    for (uint32_t i = 0; i < count; i++)
        states[i] = state_hash(world->replicas[i].seen, live_of(&world->replicas[i]), world->classes);
    if (!hash_set_add(&universe->combinations, states, count * sizeof *states))
        return;
    for (uint32_t i = 0; i < count; i++)
        put_layout(universe, i, world);
    for (uint32_t i = 0; i < count; i++)
        if (i != changed) {
            check_order(universe, world, changed, i);
            check_order(universe, world, i, changed);
        }
    check_laws(universe);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static uint64_t content_hash(const struct message *message)
{
    uint64_t numbers[5] = {checksum_bytes(message->frame.data, message->frame.size), message->seen, message->live,
                           message->classes, message->whole};
    return checksum_bytes(numbers, sizeof numbers);
}

static void index_message(struct universe *universe, uint32_t number)
{
    size_t room = 2 * universe->message_room, at = universe->messages[number - 1].hash & (room - 1);
    while (universe->message_index[at])
        at = (at + 1) & (room - 1);
    universe->message_index[at] = number;
}

static void grow_messages(struct universe *universe)
{
    size_t room = universe->message_room ? 2 * universe->message_room : 64;
    universe->messages = realloc(universe->messages, room * sizeof *universe->messages);
    free(universe->message_index);
    universe->message_index = calloc(2 * room, sizeof *universe->message_index);
    must(universe->messages && universe->message_index, "memory");
    universe->message_room = room;
    for (size_t i = 0; i < universe->message_count; i++)
        index_message(universe, (uint32_t)i + 1);
}

/* Alone it is a state as well. */
static void check_message(const struct universe *universe, const struct message *message)
{
    roost_filter *decoded;
    must(roost_filter_decode(&decoded, message->frame.data, message->frame.size,
                             (roost_environment[]){whole_environment(universe->scratch[0])}) == ROOST_OK,
         "decode");
    struct layout layout = take_layout(universe, decoded, message->classes);
    must(layout.seen == message->seen && live_of(&layout) == message->live, "a frame says what the model says");
    roost_filter_free(decoded);
}

/* The number of a message, which takes the frame over. */
static uint32_t intern(struct universe *universe, struct message *message)
{
    if (universe->message_count == universe->message_room)
        grow_messages(universe);
    message->hash = content_hash(message);
    size_t room = 2 * universe->message_room, at = message->hash & (room - 1);
    for (; universe->message_index[at]; at = (at + 1) & (room - 1))
        if (universe->messages[universe->message_index[at] - 1].hash == message->hash) {
            roost_buffer_release(&message->frame);
            return universe->message_index[at];
        }
    check_message(universe, message);
    universe->messages[universe->message_count++] = *message;
    index_message(universe, (uint32_t)universe->message_count);
    return (uint32_t)universe->message_count;
}

static bool is_whole(const roost_buffer *frame)
{
    return frame->data[5] == 1; /* docs/format.md */
}

/* Who asks again at once gets a delta, and nothing in it. */
static void check_cursor(struct universe *universe, uint32_t from, const roost_cursor *cursor)
{
    roost_buffer frame;
    roost_cursor next;
    roost_filter *decoded;
    roost_info info;
    must(roost_filter_encode_delta(universe->scratch[from], &frame, &next, cursor) == ROOST_OK, "delta");
    must(!is_whole(&frame), "a cursor that was just handed out is known");
    must(roost_filter_decode(&decoded, frame.data, frame.size,
                             (roost_environment[]){whole_environment(universe->scratch[from])}) == ROOST_OK,
         "decode");
    roost_filter_get_info(decoded, &info);
    must(info.dots == 0, "nothing has changed since");
    roost_filter_free(decoded);
    roost_buffer_release(&frame);
}

/* What `from` has for `to`: the layout of `from` is in its scratch filter, the cursor beside it. */
static struct message make_delta(struct universe *universe, const struct world *world, uint32_t from, uint32_t to)
{
    const struct layout *layout = &world->replicas[from];
    dots pending = layout->pending[to], live = live_of(layout);
    roost_cursor *cursor = &universe->cursors[from][to];
    struct message message = {.whole = layout->lost >> to & 1};
    must(roost_filter_encode_delta(universe->scratch[from], &message.frame, cursor, cursor) == ROOST_OK, "delta");
    must(is_whole(&message.frame) == message.whole, "a cursor that is known gets a delta, another the state");
    message.seen = message.whole ? layout->seen : pending;
    message.live = message.seen & live;
    message.classes = classes_of(world->classes, message.whole ? live : pending & ~layout->untold);
    return message;
}

static struct message make_state(const struct universe *universe, const struct world *world, uint32_t from)
{
    const struct layout *layout = &world->replicas[from];
    struct message message = {.whole = true, .seen = layout->seen, .live = live_of(layout)};
    message.classes = classes_of(world->classes, message.live);
    must(roost_filter_encode(universe->scratch[from], &message.frame) == ROOST_OK, "encode");
    return message;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

enum verb {
    ADD,
    REMOVE,
    REMOVE_ONE,
    REMOVE_DOT,
    MERGE,
    DELTA,
    DELTA_LOST,
    SEND_DELTA,
    SEND_STATE,
    DELIVER,
    RESTORE,
    RESTART,
    WAKE,
};

struct operation {
    enum verb verb;
    uint32_t replica; /* that changes */
    uint32_t class, side, dot, other;
};

/* What the model says about the replica afterwards. */
struct outcome {
    dots seen, live;
    uint64_t classes;
    bool changed;
};

static struct outcome outcome_of_merge(const struct world *world, uint32_t replica, dots seen, dots live,
                                       uint64_t classes)
{
    const struct layout *layout = &world->replicas[replica];
    dots own = live_of(layout);
    struct outcome outcome = {.seen = layout->seen | seen, .live = merged_live(layout->seen, own, seen, live)};
    outcome.classes = world->classes | classes;
    outcome.changed = outcome.seen != layout->seen || outcome.live != own;
    return outcome;
}

static roost_hash hash_of(const struct universe *universe, uint32_t class, uint32_t side)
{
    struct place place = place_of_class(universe->keys[class], universe->geometry);
    return hash_into(side ? other_place(place) : place, universe->geometry);
}

static struct outcome run_add(struct universe *universe, const struct world *world, const struct operation *operation)
{
    const struct layout *layout = &world->replicas[operation->replica];
    uint32_t actor = actor_of(universe, operation->replica, layout->incarnation);
    uint32_t counter = count_ones(layout->seen & dots_of_actor(actor)) + 1;
    dots live = live_of(layout), own = dots_of_class(world->classes, live, operation->class);
    uint32_t filled = universe->setting->multiset ? count_ones(live) : class_count(universe, world->classes, live);
    struct outcome outcome = {layout->seen, live, world->classes, false};
    roost_dot dot;
    roost_status status = roost_filter_add_dot_hash(universe->scratch[operation->replica], &dot,
                                                    hash_of(universe, operation->class, operation->side));
    if (status != ROOST_OK) {
        must(status == ROOST_FULL && (universe->setting->multiset || own == 0), "only a full table refuses");
        must(filled >= universe->setting->capacity, "not within the capacity");
        universe->refused++;
        return outcome;
    }
    must(dot.actor == actor_id(actor) && dot.counter == counter, "the dot is the next of this actor");
    dots bit = dot_bit(dot_of(dot.actor, (uint32_t)dot.counter));
    must(!(outcome.seen & bit), "a dot is new");
    outcome.seen |= bit;
    outcome.live = (universe->setting->multiset ? live : live & ~own) | bit;
    outcome.classes &= ~((uint64_t)3 << (2 * lowest_bit(bit)));
    outcome.classes |= (uint64_t)operation->class << (2 * lowest_bit(bit));
    outcome.changed = true;
    return outcome;
}

static struct outcome run_remove(struct universe *universe, const struct world *world,
                                 const struct operation *operation)
{
    const struct layout *layout = &world->replicas[operation->replica];
    roost_filter *filter = universe->scratch[operation->replica];
    roost_hash hash = hash_of(universe, operation->class, operation->side);
    dots live = live_of(layout), own = dots_of_class(world->classes, live, operation->class), gone = own;
    bool changed;
    roost_status status;
    if (operation->verb == REMOVE) {
        status = roost_filter_remove_hash(filter, &changed, hash);
    } else if (operation->verb == REMOVE_DOT) {
        roost_dot dot = {actor_id(operation->dot / COUNTERS), operation->dot % COUNTERS + 1};
        gone = own & dot_bit(operation->dot);
        status = roost_filter_remove_dot_hash(filter, &changed, hash, dot);
    } else {
        status = roost_filter_remove_one_hash(filter, &changed, hash);
        struct layout after = take_layout(universe, filter, world->classes);
        gone = live & ~live_of(&after);
        must((gone & ~own) == 0 && count_ones(gone) == (own != 0), "remove_one removes one of the class");
    }
    must(status == ROOST_OK && changed == (gone != 0), "a removal tells whether anything was there");
    universe->removed += changed;
    return (struct outcome){layout->seen, live & ~gone, world->classes, changed};
}

static struct outcome run_merge(struct universe *universe, const struct world *world, const struct operation *operation)
{
    const struct layout *other = &world->replicas[operation->other];
    struct outcome outcome = outcome_of_merge(world, operation->replica, other->seen, live_of(other), 0);
    bool changed;
    must(roost_filter_merge(universe->scratch[operation->replica], &changed, universe->scratch[operation->other]) ==
             ROOST_OK,
         "merge");
    must(changed == outcome.changed, "merge tells whether it changed");
    struct layout source = take_layout(universe, universe->scratch[operation->other], world->classes);
    must(memcmp(&source, other, offsetof(struct layout, pending)) == 0, "merge leaves its source alone");
    universe->merged++;
    return outcome;
}

static struct outcome run_message(struct universe *universe, const struct world *world, uint32_t replica,
                                  const struct message *message)
{
    struct outcome outcome = outcome_of_merge(world, replica, message->seen, message->live, message->classes);
    bool changed;
    must(roost_filter_merge_frame(universe->scratch[replica], &changed, message->frame.data, message->frame.size) ==
             ROOST_OK,
         "merge_frame");
    must(changed == outcome.changed, "merge_frame tells whether it changed");
    universe->delivered++;
    return outcome;
}

/* A dot matters as long as someone holds it or has to tell its class. */
static void forget_classes(const struct universe *universe, struct world *world)
{
    dots matter = 0;
    for (uint32_t i = 0; i < universe->setting->replicas; i++) {
        struct layout *layout = &world->replicas[i];
        dots pending = 0;
        for (uint32_t reader = 0; reader < universe->setting->replicas; reader++)
            pending |= layout->pending[reader];
        layout->untold &= pending;
        matter |= live_of(layout) | (pending & ~layout->untold);
    }
    world->classes = classes_of(world->classes, matter);
}

/* The replica's part of the next world, from the filter that has just changed. */
static void take_replica(struct universe *universe, struct world *next, uint32_t replica, const struct outcome *outcome)
{
    struct layout *layout = &next->replicas[replica], old = *layout;
    dots untold, changed = (outcome->seen ^ old.seen) | (outcome->live ^ live_of(&old));
    *layout = take_layout(universe, universe->scratch[replica], outcome->classes);
    must(layout->seen == outcome->seen, "the history is what the model has seen");
    must(live_of(layout) == outcome->live, "the entries are what the model holds");
    layout->incarnation = old.incarnation;
    layout->lost = old.lost;
    next->classes = outcome->classes;
    if (!universe->setting->deltas)
        return;
    must(noted_since(universe, replica, &untold) == changed, "the journal notes what changed");
    must((untold & (old.seen | outcome->live)) == 0, "only what came dead has no class");
    layout->untold = old.untold | untold;
    for (uint32_t reader = 0; reader < universe->setting->replicas; reader++)
        if (reader != replica && !(old.lost >> reader & 1))
            layout->pending[reader] = old.pending[reader] | changed;
}

/* Another object in the replica's place, made of a state: no actor, no journal, and nobody has a cursor. */
static void take_newcomer(struct universe *universe, struct world *next, uint32_t replica, const roost_filter *filter,
                          const struct outcome *outcome)
{
    struct layout *layout = &next->replicas[replica];
    uint8_t incarnation = layout->incarnation;
    must(roost_filter_get_actor(filter) == 0 && !journal_is_on(filter->journal), "a newcomer is nobody yet");
    *layout = take_layout(universe, filter, outcome->classes);
    must(layout->seen == outcome->seen && live_of(layout) == outcome->live, "the newcomer has the state");
    layout->incarnation = (uint8_t)(incarnation + 1);
    if (universe->setting->deltas)
        layout->lost = (uint8_t)(((1u << universe->setting->replicas) - 1) & ~(1u << replica));
    next->classes = outcome->classes;
}

static void restart(struct universe *universe, struct world *next, const struct world *world, uint32_t replica)
{
    const struct layout *layout = &world->replicas[replica];
    struct outcome outcome = {layout->seen, live_of(layout), world->classes, false};
    roost_filter *clone;
    must(roost_filter_clone(universe->scratch[replica], &clone) == ROOST_OK, "clone");
    must(roost_filter_check(clone) == ROOST_OK, "invariants of a clone");
    take_newcomer(universe, next, replica, clone, &outcome);
    roost_filter_free(clone);
    universe->restarted++;
}

static void check_same_delta(roost_filter *filter, roost_filter *twin, const roost_cursor *cursor)
{
    roost_buffer x, y;
    roost_cursor next, next_of_twin;
    must(roost_filter_encode_delta(filter, &x, &next, cursor) == ROOST_OK, "delta");
    must(roost_filter_encode_delta(twin, &y, &next_of_twin, cursor) == ROOST_OK, "delta");
    must(x.size == y.size && memcmp(x.data, y.data, x.size) == 0, "the journal tells the same after a restore");
    must(memcmp(&next, &next_of_twin, sizeof next) == 0, "and goes on at the same place");
    roost_buffer_release(&x);
    roost_buffer_release(&y);
}

/* It is put to sleep in a file, and goes on: the table is laid out anew, all else is as before. */
static void restore_replica(struct universe *universe, struct world *next, const struct world *world, uint32_t replica)
{
    const struct layout *old = &world->replicas[replica];
    struct layout *layout = &next->replicas[replica];
    roost_filter *filter = universe->scratch[replica], *restored;
    roost_buffer frame, bytes;
    must(roost_filter_encode(filter, &frame) == ROOST_OK && roost_filter_save_replica(filter, &bytes) == ROOST_OK,
         "save");
    must(roost_filter_decode(&restored, frame.data, frame.size, (roost_environment[]){whole_environment(filter)}) ==
             ROOST_OK,
         "decode");
    must(roost_filter_restore_replica(restored, bytes.data, bytes.size) == ROOST_OK, "restore");
    must(roost_filter_check(restored) == ROOST_OK, "invariants of a filter that was restored");
    must(roost_filter_get_actor(restored) == roost_filter_get_actor(filter) &&
             as_observed(restored)->counter == as_observed(filter)->counter,
         "the same replica goes on");
    for (uint32_t reader = 0; reader < universe->setting->replicas && universe->setting->deltas; reader++)
        check_same_delta(filter, restored, &universe->cursors[replica][reader]);
    *layout = take_layout(universe, restored, world->classes);
    must(layout->seen == old->seen && live_of(layout) == live_of(old), "and has its state");
    memcpy((uint8_t *)layout + offsetof(struct layout, pending),
           (const uint8_t *)old + offsetof(struct layout, pending), sizeof *layout - offsetof(struct layout, pending));
    roost_buffer_release(&frame);
    roost_buffer_release(&bytes);
    roost_filter_free(restored);
    universe->reloaded++;
}

static void restore(struct universe *universe, struct world *next, const struct world *world, uint32_t replica)
{
    const struct message *message = &universe->messages[world->message - 1];
    struct outcome outcome = {message->seen, message->live, world->classes | message->classes, false};
    roost_filter *decoded;
    must(roost_filter_decode(&decoded, message->frame.data, message->frame.size,
                             (roost_environment[]){whole_environment(universe->scratch[replica])}) == ROOST_OK,
         "decode");
    must(roost_filter_check(decoded) == ROOST_OK, "invariants of what was decoded");
    take_newcomer(universe, next, replica, decoded, &outcome);
    roost_filter_free(decoded);
    universe->restored++;
}

/* The reader has what was pending, or will never get it. */
static void move_cursor(struct world *next, uint32_t from, uint32_t to)
{
    next->replicas[from].pending[to] = 0;
    next->replicas[from].lost &= (uint8_t) ~(1u << to);
}

static void exchange(struct universe *universe, struct world *next, const struct world *world,
                     const struct operation *operation)
{
    struct message message = make_delta(universe, world, operation->other, operation->replica);
    move_cursor(next, operation->other, operation->replica);
    if (operation->verb == DELTA) {
        struct outcome outcome = run_message(universe, world, operation->replica, &message);
        take_replica(universe, next, operation->replica, &outcome);
    }
    roost_buffer_release(&message.frame);
}

static void post(struct universe *universe, struct world *next, const struct world *world,
                 const struct operation *operation)
{
    struct message message;
    if (operation->verb == SEND_DELTA) {
        message = make_delta(universe, world, operation->other, operation->replica);
        move_cursor(next, operation->other, operation->replica);
    } else {
        message = make_state(universe, world, operation->other);
    }
    if (operation->verb == SEND_DELTA)
        check_cursor(universe, operation->other, &universe->cursors[operation->other][operation->replica]);
    next->message = intern(universe, &message);
}

static void perform(struct universe *universe, struct world *next, const struct world *world,
                    const struct operation *operation)
{
    struct outcome outcome;
    switch (operation->verb) {
    case ADD:
        outcome = run_add(universe, world, operation);
        break;
    case REMOVE:
    case REMOVE_ONE:
    case REMOVE_DOT:
        outcome = run_remove(universe, world, operation);
        break;
    case MERGE:
        outcome = run_merge(universe, world, operation);
        break;
    case DELIVER:
        outcome = run_message(universe, world, operation->replica, &universe->messages[world->message - 1]);
        break;
    case DELTA:
    case DELTA_LOST:
        exchange(universe, next, world, operation);
        return;
    case SEND_DELTA:
    case SEND_STATE:
        post(universe, next, world, operation);
        return;
    case RESTORE:
        restore(universe, next, world, operation->replica);
        return;
    case RESTART:
        restart(universe, next, world, operation->replica);
        return;
    default:
        restore_replica(universe, next, world, operation->replica);
        return;
    }
    take_replica(universe, next, operation->replica, &outcome);
}

static bool uses_other(enum verb verb)
{
    return verb == MERGE || verb == DELTA || verb == DELTA_LOST || verb == SEND_DELTA || verb == SEND_STATE;
}

/* Which entry of the stash gets the next chance to take a slot is a choice as well. */
static void choose_hand(struct orcuckoo *filter, struct script *script, enum verb verb)
{
    uint32_t nodes = (uint32_t)filter->table.stash.used;
    bool removal = verb == REMOVE || verb == REMOVE_ONE || verb == REMOVE_DOT;
    filter->hand = removal && nodes > 1 ? script_answer(script, nodes) : 0;
}

static size_t world_bytes(const struct universe *universe)
{
    return offsetof(struct world, replicas) + universe->setting->replicas * sizeof(struct layout);
}

static void run_operation(struct universe *universe, const struct world *world, const struct operation *operation)
{
    struct script script = {.length = 0};
    uint32_t replica = operation->replica;
    do {
        if (uses_other(operation->verb))
            put_layout(universe, operation->other, world);
        put_layout(universe, replica, world);
        scratch_of(universe, replica)->own.random.script = script_answer;
        scratch_of(universe, replica)->own.random.context = &script;
        choose_hand(scratch_of(universe, replica), &script, operation->verb);
        struct world next = *world;
        perform(universe, &next, world, operation);
        forget_classes(universe, &next);
        universe->transitions++;
        scratch_of(universe, replica)->own.random.script = NULL;
        if (!frontier_visit(&universe->worlds, &next, world_bytes(universe)))
            continue;
        if (operation->verb < RESTORE)
            check_layout(universe, universe->scratch[replica], &next.replicas[replica], next.classes);
        check_world(universe, &next, replica);
    } while (script_advance(&script));
}

static void run_adds_and_removals(struct universe *universe, const struct world *world, uint32_t replica)
{
    const struct layout *layout = &world->replicas[replica];
    struct operation operation = {.replica = replica};
    dots own = dots_of_actor(actor_of(universe, replica, layout->incarnation)), live = live_of(layout);
    for (uint32_t number = 0; number < universe->setting->classes; number++) {
        operation.class = number;
        operation.verb = ADD;
        for (operation.side = 0; operation.side < 2 && count_ones(layout->seen & own) < COUNTERS; operation.side++)
            run_operation(universe, world, &operation);
        operation.side = operation.class & 1;
        operation.verb = REMOVE;
        run_operation(universe, world, &operation);
        operation.verb = REMOVE_ONE;
        if (universe->setting->multiset)
            run_operation(universe, world, &operation);
    }
    /* every live dot; and one that is dead and one that was not seen, which are left alone */
    dots dead = layout->seen & ~live, unseen = ~layout->seen & (dot_bit(MOST_DOTS) - 1);
    operation.verb = REMOVE_DOT;
    for (dots left = live | (dead & -dead) | (unseen & -unseen); left; left &= left - 1) {
        operation.dot = lowest_bit(left);
        operation.class = class_of(world->classes, operation.dot);
        operation.side = operation.dot & 1;
        run_operation(universe, world, &operation);
    }
}

static void run_exchanges(struct universe *universe, const struct world *world, uint32_t replica, uint32_t other)
{
    const struct setting *setting = universe->setting;
    struct operation operation = {.replica = replica, .other = other, .verb = MERGE};
    run_operation(universe, world, &operation);
    for (operation.verb = DELTA; operation.verb <= SEND_STATE; operation.verb++) {
        bool wanted = operation.verb == SEND_STATE   ? setting->messages && replica == (other + 1) % setting->replicas
                      : operation.verb == SEND_DELTA ? setting->deltas && setting->messages
                      : operation.verb == DELTA_LOST ? setting->deltas && !setting->messages
                                                     : setting->deltas;
        if (wanted)
            run_operation(universe, world, &operation);
    }
}

static void run_all(void *context, const void *from)
{
    struct universe *universe = context;
    const struct world *world = from;
    for (uint32_t replica = 0; replica < universe->setting->replicas; replica++) {
        const struct layout *layout = &world->replicas[replica];
        bool again = universe->setting->restarts && layout->incarnation + 1u < universe->incarnations;
        run_adds_and_removals(universe, world, replica);
        for (uint32_t other = 0; other < universe->setting->replicas; other++)
            if (other != replica)
                run_exchanges(universe, world, replica, other);
        if (world->message != NO_MESSAGE)
            run_operation(universe, world, &(struct operation){.verb = DELIVER, .replica = replica});
        if (world->message != NO_MESSAGE && again && universe->messages[world->message - 1].whole)
            run_operation(universe, world, &(struct operation){.verb = RESTORE, .replica = replica});
        if (again)
            run_operation(universe, world, &(struct operation){.verb = RESTART, .replica = replica});
        if (universe->setting->restarts)
            run_operation(universe, world, &(struct operation){.verb = WAKE, .replica = replica});
    }
}

/* ---- a universe -------------------------------------------------------------------------------------------------- */

/* Two classes that share both buckets, and one that has but the first. */
static void find_classes(struct universe *universe)
{
    uint32_t fingerprint = 0;
    for (uint32_t number = 0; number < universe->setting->classes; number++) {
        struct place place;
        do
            place = place_in(0, ++fingerprint, universe->geometry);
        while (place.other != (number < 2));
        universe->keys[number] = class_key(place, universe->geometry);
    }
}

static roost_filter *open_filter(struct universe *universe)
{
    const struct setting *setting = universe->setting;
    roost_filter *filter;
    uint8_t geometry[16];
    struct bit_writer writer = bit_writer_over(geometry, sizeof geometry);
    write_byte(&writer, (uint8_t)setting->entry_bits);
    write_byte(&writer, setting->multiset);
    write_varint(&writer, universe->geometry.buckets);
    struct bit_reader reader = bit_reader_over(geometry, writer.buffer.size);
    const roost_environment given = {
        .kicks = 2, .journal = JOURNAL, .entropy = {.context = universe, .draw = draw_actor}};
    const roost_environment environment = environment_or_default(&given);
    must(orcuckoo_kind.lifecycle.open(&filter, &universe->config, &environment, &reader) == ROOST_OK, "open");
    must(causal_reserve(&as_observed(filter)->causal, &environment.allocator, MOST_DOTS), "memory");
    if (setting->deltas)
        must(begin_journal(filter) == ROOST_OK, "memory");
    return filter;
}

static void universe_open(struct universe *universe, const struct setting *setting)
{
    uint32_t bits = setting->multiset ? 8 : 16;
    *universe = (struct universe){.setting = setting, .incarnations = MOST_ACTORS_HERE / setting->replicas};
    universe->geometry = (struct cuckoo_geometry){2, bits, setting->bucket_size, setting->entry_bits - bits, 0, 0};
    universe->config = (roost_config){.kind = ROOST_ORCUCKOO,
                                      .capacity = setting->capacity,
                                      .fpr = 0x1.fffffffffffffp-1, /* the largest below 1 */
                                      .seed = 1,
                                      .fingerprint_bits = bits,
                                      .bucket_size = setting->bucket_size,
                                      .entry_bits = setting->entry_bits,
                                      .multiset = setting->multiset};
    find_classes(universe);
    for (uint32_t i = 0; i < setting->replicas; i++)
        universe->scratch[i] = open_filter(universe);
}

static void universe_close(struct universe *universe)
{
    for (uint32_t i = 0; i < universe->setting->replicas; i++)
        roost_filter_free(universe->scratch[i]);
    for (size_t i = 0; i < universe->message_count; i++)
        roost_buffer_release(&universe->messages[i].frame);
    free(universe->messages);
    free(universe->message_index);
    frontier_close(&universe->worlds);
    free(universe->layouts.hashes);
    free(universe->combinations.hashes);
    free(universe->states);
}

static void explore(struct universe *universe, uint32_t depth)
{
    struct world empty = {0}; /* all have each other's cursors, and nothing to tell */
    universe->worlds.size = sizeof empty;
    frontier_visit(&universe->worlds, &empty, world_bytes(universe));
    frontier_walk(&universe->worlds, depth, run_all, universe);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static const struct setting settings[] = {
    /* name, multiset, entry, bucket, classes, replicas, capacity, deltas, messages, restarts, depth, deep */
    {"set", false, 64, 1, 2, 2, 1, false, false, false, 8, 11},
    {"set", false, 64, 2, 3, 2, 4, false, false, false, 7, 9},
    {"set", false, 64, 1, 2, 3, 2, false, false, false, 6, 8},
    {"set, restarts and backups", false, 64, 1, 2, 2, 2, false, true, true, 7, 8},
    {"set, deltas", false, 64, 1, 2, 2, 2, true, false, false, 7, 9},
    {"set, deltas that wait, restarts", false, 64, 1, 1, 2, 2, true, true, true, 7, 9},
    {"set, deltas that wait, restarts", false, 64, 1, 2, 3, 2, true, true, true, 5, 6},
    {"multiset", true, 64, 1, 2, 2, 1, false, false, false, 8, 10},
    {"multiset", true, 64, 2, 3, 2, 4, false, false, false, 6, 8},
    {"multiset", true, 32, 1, 2, 3, 2, false, false, false, 6, 7},
    {"multiset, deltas", true, 32, 2, 1, 2, 2, true, false, false, 8, 9},
    {"multiset, deltas that wait, restarts", true, 32, 1, 2, 2, 2, true, true, true, 6, 7},
};

static uint64_t total_refused, total_overflowed, total_merged, total_delivered, total_removed, total_restarts;

static void run_setting(const struct setting *setting, const char *form)
{
    struct universe universe;
    uint32_t depth = depth_of(form, setting->depth, setting->deep);
    universe_open(&universe, setting);
    explore(&universe, depth);
    printf("ok - %s: %u buckets of %u, %u bits, %u classes, %u replicas, capacity %u, depth %u: %zu worlds, %llu "
           "transitions, %zu layouts, %zu states, %zu frames\n",
           setting->name, universe.geometry.buckets, setting->bucket_size, setting->entry_bits, setting->classes,
           setting->replicas, setting->capacity, depth, universe.worlds.seen.count,
           (unsigned long long)universe.transitions, universe.layouts.count, universe.state_count,
           universe.message_count);
    fflush(stdout);
    total_refused += universe.refused;
    total_overflowed += universe.overflowed;
    total_merged += universe.merged;
    total_delivered += universe.delivered;
    total_removed += universe.removed;
    total_restarts += universe.restarted + universe.restored + universe.reloaded;
    universe_close(&universe);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        run_setting(&settings[i], argc > 1 ? argv[1] : "");
    must(total_refused > 1000 && total_overflowed > 1000 && total_merged > 1000 && total_delivered > 1000 &&
             total_removed > 1000 && total_restarts > 1000,
         "the walk did real work");
    printf("ok - %llu merges, %llu frames taken in, %llu removals, %llu restarts, %llu adds refused, %llu layouts with "
           "overflow: every law held\n",
           (unsigned long long)total_merged, (unsigned long long)total_delivered, (unsigned long long)total_removed,
           (unsigned long long)total_restarts, (unsigned long long)total_refused, (unsigned long long)total_overflowed);
    return 0;
}
