/*
 * A deterministic simulation: two to five replicas of an observed-remove filter over a bad network, beside an exact
 * model.
 *
 *     simulate [STEPS]        ten million by default; ROOST_TEST_SEED=N repeats a run
 *
 * A step adds or removes an element at some replica, or sends, delivers, loses, doubles, reorders or damages a message,
 * cuts the network in two, saves a replica as a file would, crashes one, restores one from an old backup, clones one.
 * Steps come in *episodes*, each a world of its own with other sizes, so that worlds stay small and many.
 *
 * The model is two observed-remove sets (orset.h) for each replica, which hear of the same operations and messages:
 *
 *     classes     the elements of a class are one. The filter must equal this one dot for dot, whatever happened; so no
 *                 element is missing that it holds, and no removed one comes back.
 *     elements    what the user means. The filter may lack an element of it only where two elements share a class, and
 *                 how often that happens is compared with the chance that is documented.
 *
 * What a message carries is modelled as well: a state is every dot; a delta is what the replica's own list of changes
 * says since the cursor, computed without a look at the frame. A dot is named by the number of its operation; the names
 * that the filter gives are only checked: predicted, and never used twice.
 */
#include "simulated_replicas.h"

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* A full table refuses, but only beyond the capacity, and only what needs a new place. */
static void check_refusal(struct world *world, struct replica *replica, uint32_t element, roost_status status)
{
    const struct orset *classes = &replica->sets[CLASSES];
    must(world, status == ROOST_FULL, "only a full table refuses");
    must(world, (world->plan->multiset ? classes->live : classes->present) >= world->config.capacity,
         "not within the capacity");
    must(world, world->plan->multiset || classes->count[world->class_of[element]] == 0, "what is there takes no room");
    follow_actor(world, replica);
    world->tally->refused++;
}

static void add(struct world *world, struct replica *replica, uint32_t element)
{
    roost_dot dot = {0, 0};
    bool fresh, new = world->plan->multiset || replica->sets[CLASSES].count[world->class_of[element]] == 0;
    bool ask_for_dot = !one_in(world, 4);
    roost_status status = ask_for_dot ? roost_filter_add_dot_hash(replica->filter, &dot, world->hashes[element])
                                      : roost_filter_add_hash(replica->filter, &fresh, world->hashes[element]);
    if (status != ROOST_OK) {
        check_refusal(world, replica, element, status);
        return;
    }
    model_add(world, replica, element);
    if (ask_for_dot)
        must(world, dot.actor == replica->actor && dot.counter == replica->counter,
             "the dot is the next of this actor");
    else
        must(world, fresh == new, "add tells whether it changed");
    world->tally->adds++;
}

static uint32_t some_element(struct world *world)
{
    uint32_t element = choose(world, world->elements), other = choose(world, world->elements);
    return other < element && !one_in(world, 3) ? other : element;
}

static void add_many(struct world *world, struct replica *replica)
{
    roost_hash hashes[MOST_BATCH];
    uint32_t elements[MOST_BATCH], count = between(world, 2, MOST_BATCH);
    bool fresh[MOST_BATCH];
    size_t done;
    for (uint32_t i = 0; i < count; i++) {
        elements[i] = some_element(world);
        hashes[i] = world->hashes[elements[i]];
    }
    roost_status status = roost_filter_add_many_hash(replica->filter, fresh, &done, hashes, count);
    must(world, (status == ROOST_OK) == (done == count), "all are taken, or it says why not");
    for (uint32_t i = 0; i < done; i++) {
        bool new = world->plan->multiset || replica->sets[CLASSES].count[world->class_of[elements[i]]] == 0;
        must(world, fresh[i] == new, "add_many tells which are new");
        model_add(world, replica, elements[i]);
    }
    if (status != ROOST_OK)
        check_refusal(world, replica, elements[done], status);
    world->tally->adds += done;
}

/* Before a remove that finds something: did someone add the class meanwhile, unseen by this replica? */
static void count_conflict(struct world *world, const struct replica *replica, uint32_t class)
{
    uint32_t dot = world->last_dot[class] - 1;
    if (replica->sets[CLASSES].state[dot] != UNSEEN)
        return;
    for (uint32_t i = 0; i < world->replica_count; i++)
        if (world->replicas[i].sets[CLASSES].state[dot] == LIVE) {
            world->concurrent[dot] |= (uint8_t)(1 << (replica - world->replicas));
            world->tally->conflicts++;
            return;
        }
}

/* The documented chance that a remove takes another element with it is that of a false positive: entries times the
   chance of one class. Elements present, not entries, make it exact. */
static void count_hidden(struct world *world, const struct replica *replica, uint32_t element)
{
    const struct orset *elements = &replica->sets[ELEMENTS];
    world->tally->legitimate++;
    world->tally->expected_hidden += (elements->present - 1) * class_probability(world->geometry);
    if (world->sharers[world->class_of[element]] == 1)
        return;
    for (uint32_t other = 0; other < world->elements; other++)
        world->tally->hidden +=
            other != element && elements->count[other] > 0 && world->class_of[other] == world->class_of[element];
}

static void remove_all(struct world *world, struct replica *replica, uint32_t element)
{
    uint32_t class = world->class_of[element];
    bool changed, present = replica->sets[CLASSES].count[class] > 0;
    must(world, roost_filter_remove_hash(replica->filter, &changed, world->hashes[element]) == ROOST_OK, "remove");
    must(world, changed == present, "remove tells whether anything was there");
    world->tally->removes++;
    world->tally->removes_that_hit += present;
    if (present)
        count_conflict(world, replica, class);
    if (replica->sets[ELEMENTS].count[element] > 0)
        count_hidden(world, replica, element);
    kill_group(world, replica, CLASSES, class);
    kill_group(world, replica, ELEMENTS, element);
}

static bool holds_dot(const struct world *world, const struct replica *replica, uint32_t dot)
{
    const struct orcuckoo *filter = as_const_orcuckoo(replica->filter);
    struct place place = place_of_class(world->keys[world->groups[CLASSES][dot]], world->geometry);
    uint32_t number = actors_find(&filter->observed.actors, world->actor[dot]);
    return number != NO_ACTOR && holds_entry(filter, &place, number, world->counter[dot]);
}

/* The one live dot of the class that the filter no longer holds. */
static uint32_t victim_of(struct world *world, const struct replica *replica, uint32_t class)
{
    const struct orset *classes = &replica->sets[CLASSES];
    uint32_t victim = UINT32_MAX, gone = 0;
    for (uint32_t next = classes->first[class]; next; next = classes->next[next - 1])
        if (!holds_dot(world, replica, next - 1)) {
            victim = next - 1;
            gone++;
        }
    must(world, gone == 1, "remove_one removes one");
    return victim;
}

static void remove_one(struct world *world, struct replica *replica, uint32_t element)
{
    struct orset *elements = &replica->sets[ELEMENTS];
    uint32_t class = world->class_of[element];
    bool changed, present = replica->sets[CLASSES].count[class] > 0;
    roost_status status = roost_filter_remove_one_hash(replica->filter, &changed, world->hashes[element]);
    if (!world->plan->multiset) {
        must(world, status == ROOST_UNSUPPORTED && !changed, "a set has no copies");
        return;
    }
    must(world, status == ROOST_OK && changed == present, "remove_one tells whether one was there");
    world->tally->removed_ones += present;
    if (!present)
        return;
    count_conflict(world, replica, class);
    uint32_t victim = victim_of(world, replica, class);
    raise_dot(world, replica, CLASSES, victim, DEAD);
    if (world->groups[ELEMENTS][victim] == element && elements->state[victim] == LIVE) {
        raise_dot(world, replica, ELEMENTS, victim, DEAD);
    } else {
        must(world, world->sharers[class] > 1, "a wrong victim where no element shares the class");
        world->tally->wrong_victims++;
        if (elements->first[element])
            raise_dot(world, replica, ELEMENTS, elements->first[element] - 1, DEAD);
    }
}

/* Any dot of the element will do: live ones, dead ones, and such as this replica has not seen. */
static void remove_dot(struct world *world, struct replica *replica, uint32_t element)
{
    const struct orset *classes = &replica->sets[CLASSES];
    uint32_t first = classes->first[world->class_of[element]];
    uint32_t dot = first && !one_in(world, 4) ? first - 1 : world->dots ? choose(world, world->dots) : UINT32_MAX;
    if (dot == UINT32_MAX)
        return;
    bool changed, present = classes->state[dot] == LIVE;
    roost_dot name = {world->actor[dot], world->counter[dot]};
    uint32_t owner = world->groups[ELEMENTS][dot], stranger = choose(world, world->elements);
    if (world->class_of[stranger] != world->class_of[owner]) {
        roost_filter_remove_dot_hash(replica->filter, &changed, world->hashes[stranger], name);
        must(world, !changed, "remove_dot wants the element as well");
    }
    must(world, roost_filter_remove_dot_hash(replica->filter, &changed, world->hashes[owner], name) == ROOST_OK,
         "remove_dot");
    must(world, changed == present, "remove_dot tells whether it was there");
    world->tally->removed_dots += present;
    for (int level = 0; level < LEVELS; level++)
        if (replica->sets[level].state[dot] == LIVE)
            raise_dot(world, replica, level, dot, DEAD);
}

static void operate_at(struct world *world, struct replica *replica)
{
    uint32_t element = some_element(world), verb = choose(world, 100);
    if (choose(world, 100) < world->adding)
        if (one_in(world, 200) && world->dots + MOST_BATCH < MOST_DOTS)
            add_many(world, replica);
        else
            add(world, replica, element);
    else if (verb < 15)
        remove_dot(world, replica, element);
    else if (verb < (world->plan->multiset ? 65 : 16))
        remove_one(world, replica, element);
    else
        remove_all(world, replica, element);
    check_element(world, replica, element);
    check_element(world, replica, choose(world, world->elements));
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static bool cut_between(const struct world *world, uint32_t a, uint32_t b)
{
    return world->side[a] != world->side[b];
}

static bool same_cursor(const struct model_cursor *a, const struct model_cursor *b)
{
    return a->list == b->list && a->position == b->position;
}

#define FRAME_TYPE_AT 5 /* docs/format.md: 1 a state, 2 a delta */

/*
 * What the sender's list of changes has since the cursor. Whether the filter still knew is its own affair, within
 * limits: it must not know a cursor of another incarnation, and must know one that is recent. A change takes at most
 * two records.
 */
static void model_delta(struct world *world, struct message *message, const struct replica *from)
{
    bool known = message->since.list == from->list;
    uint32_t changes = known ? from->change_count - message->since.position : 0;
    message->whole = message->frame.data[FRAME_TYPE_AT] == 1;
    must(world, known || message->whole, "a cursor of another journal gets the whole state");
    must(world, !known || !message->whole || 2 * changes > world->journal, "a recent cursor gets a delta");
    world->tally->states += message->whole;
    world->tally->deltas += !message->whole;
    world->tally->cursors_lost += message->whole && message->since.list;
    if (message->whole) {
        message->model = snapshot_of(world, from);
        return;
    }
    message->changes = malloc((changes + 1) * sizeof *message->changes);
    message->states = malloc(changes + 1);
    message->change_count = changes;
    for (uint32_t i = 0; i < changes; i++) {
        uint32_t change = from->changes[message->since.position + i];
        message->changes[i] = change;
        message->states[i] = from->sets[change % LEVELS].state[change / LEVELS];
    }
}

static void make_delta(struct world *world, struct message *message, uint32_t from, uint32_t to, bool pulled)
{
    struct replica *sender = &world->replicas[from];
    struct model_cursor *cursor = pulled ? &world->replicas[to].pulled[from] : &sender->pushed[to];
    *message = (struct message){.from = from, .to = to, .pulled = pulled, .since = *cursor};
    must(world,
         roost_filter_encode_delta(sender->filter, &message->frame, &message->next.real, &cursor->real) == ROOST_OK,
         "delta");
    message->next.list = sender->list;
    message->next.position = sender->change_count;
    model_delta(world, message, sender);
    if (!pulled)
        *cursor = message->next;
}

static void make_state(struct world *world, struct message *message, uint32_t from, uint32_t to)
{
    *message = (struct message){.from = from, .to = to, .whole = true};
    must(world, roost_filter_encode(world->replicas[from].filter, &message->frame) == ROOST_OK, "encode");
    message->model = snapshot_of(world, &world->replicas[from]);
    world->tally->states++;
}

/* A damaged frame is refused whole. */
static void damage(struct world *world, struct replica *replica, const struct message *message)
{
    size_t size = message->frame.size;
    uint8_t *bytes = malloc(size);
    bool changed, cut = one_in(world, 3);
    memcpy(bytes, message->frame.data, size);
    if (cut)
        size = choose(world, (uint32_t)size);
    else
        bytes[choose(world, (uint32_t)size)] ^= (uint8_t)(1 << choose(world, 8));
    must(world, roost_filter_merge_frame(replica->filter, &changed, bytes, size) != ROOST_OK && !changed,
         "a damaged frame is refused");
    free(bytes);
    world->tally->damaged++;
}

static bool take_frame(struct world *world, struct replica *replica, const roost_buffer *frame)
{
    bool changed;
    roost_filter *decoded;
    if (!one_in(world, 5)) {
        must(world, roost_filter_merge_frame(replica->filter, &changed, frame->data, frame->size) == ROOST_OK,
             "merge_frame");
        return changed;
    }
    roost_environment environment = environment_of(world);
    must(world, roost_filter_decode(&decoded, frame->data, frame->size, &environment) == ROOST_OK, "decode");
    must(world, roost_filter_merge(replica->filter, &changed, decoded) == ROOST_OK, "merge");
    roost_filter_free(decoded);
    return changed;
}

static void take_message(struct world *world, const struct message *message)
{
    struct replica *replica = &world->replicas[message->to];
    if (one_in(world, 60))
        damage(world, replica, message);
    bool changed = take_frame(world, replica, &message->frame);
    bool expected = message->whole ? model_take_whole(world, replica, message->model.states, message->model.dots)
                                   : model_take_part(world, replica, message);
    must(world, changed == expected, "a merge tells whether there was anything new");
    struct model_cursor *cursor = &replica->pulled[message->from];
    if (message->pulled && (message->whole || same_cursor(cursor, &message->since)))
        *cursor = message->next;
    world->tally->messages++;
    if (one_in(world, 8)) {
        world->tally->gaps += causal_gaps(&as_const_observed(replica->filter)->causal) > 0;
        check_replica(world, replica, one_in(world, 8));
    }
}

static void send(struct world *world)
{
    uint32_t from = choose(world, world->replica_count), to = (from + 1) % world->replica_count;
    struct message message;
    if (one_in(world, 3)) /* mostly to the same one, so that cursors are of use */
        to = (from + 1 + choose(world, world->replica_count - 1)) % world->replica_count;
    if (one_in(world, 6))
        make_state(world, &message, from, to);
    else
        make_delta(world, &message, from, to, one_in(world, 2));
    if (cut_between(world, from, to) || one_in(world, 12)) {
        message_release(&message);
        world->tally->lost++;
        return;
    }
    if (world->message_count == MOST_MESSAGES) {
        message_drop(world, choose(world, MOST_MESSAGES));
        world->tally->lost++;
    }
    world->messages[world->message_count++] = message;
}

/* Any of those on their way, not the oldest one; now and then it stays, and comes again. */
static void deliver(struct world *world)
{
    if (world->message_count == 0)
        return;
    uint32_t number = choose(world, world->message_count);
    struct message *message = &world->messages[number];
    if (cut_between(world, message->from, message->to)) {
        world->tally->cut_off++;
        return;
    }
    world->tally->late += number + 1 < world->message_count;
    take_message(world, message);
    if (one_in(world, 6))
        world->tally->doubled++;
    else
        message_drop(world, number);
}

static void merge_objects(struct world *world, uint32_t to, uint32_t from)
{
    struct replica *replica = &world->replicas[to], *other = &world->replicas[from];
    bool changed, expected = false;
    must(world, roost_filter_merge(replica->filter, &changed, other->filter) == ROOST_OK, "merge");
    if (to != from) {
        uint8_t *const states[LEVELS] = {other->sets[CLASSES].state, other->sets[ELEMENTS].state};
        expected = model_take_whole(world, replica, states, world->dots);
    }
    must(world, changed == expected, "a merge tells whether there was anything new");
    world->tally->merges++;
    if (one_in(world, 8))
        check_replica(world, replica, one_in(world, 8));
    if (one_in(world, 8))
        check_order(world, replica, other);
}

/* ---- syncs ------------------------------------------------------------------------------------------------------- */

static void note_entry(void *context, struct entry entry)
{
    struct walk *walk = context;
    const struct orcuckoo *filter = as_const_orcuckoo(walk->replica->filter);
    uint32_t dot =
        find_name(walk->world, filter->observed.actors.list[entry.number].id, entry.counter)->dot_and_one - 1;
    must(walk->world, dot != UINT32_MAX, "an entry has a dot that was made");
    walk->world->mark[dot] = walk->world->marks;
}

/*
 * What one message of a sync tells is the library's own affair, but every dot must then be where it was or where the
 * other has it. The model goes along.
 */
static void follow_sync(struct world *world, struct replica *replica, const struct replica *other)
{
    struct walk walk = {world, replica, 0};
    const struct causal_context *causal = &as_const_observed(replica->filter)->causal;
    world->marks++;
    visit_entries(as_const_observed(replica->filter), note_entry, &walk);
    for (size_t i = 0; i < causal->count; i++)
        for (uint32_t counter = causal->runs[i].first; counter <= causal->runs[i].last; counter++) {
            uint32_t dot = find_name(world, causal->runs[i].actor, counter)->dot_and_one - 1;
            must(world, dot != UINT32_MAX, "a dot that was seen was made");
            uint8_t state = world->mark[dot] == world->marks ? LIVE : DEAD;
            uint8_t before = replica->sets[CLASSES].state[dot];
            must(world, state >= before, "a sync takes nothing back");
            if (state == before)
                continue;
            must(world, state == other->sets[CLASSES].state[dot], "a sync tells what the other has");
            raise_dot(world, replica, CLASSES, dot, state);
            raise_dot(world, replica, ELEMENTS, dot, other->sets[ELEMENTS].state[dot]);
        }
    check_replica(world, replica, one_in(world, 16));
}

static void remember_sync(struct world *world, struct replica *initiator, uint32_t peer, const roost_sync *sync)
{
    roost_buffer_release(&initiator->memories[peer]);
    must(world, roost_sync_save_memory(sync, &initiator->memories[peer]) == ROOST_OK, "memory of a sync");
}

/* Requests and replies until it is over, or the connection breaks before either arrives. Tells whether it was over, and
   nobody disturbed it by a change at either of them; neither happens when it is calm. */
static bool converse(struct world *world, struct replica *initiator, struct replica *responder, roost_sync *sync,
                     bool calm)
{
    roost_buffer request, reply = {0};
    bool changed, undisturbed = true, breaks = !calm && one_in(world, 4);
    for (;;) {
        must(world, roost_sync_next(sync, &request, reply.data, reply.size) == ROOST_OK, "next of a sync");
        roost_buffer_release(&reply);
        follow_sync(world, initiator, responder);
        bool over = request.size == 0;
        if (over || (breaks && one_in(world, 4))) {
            roost_buffer_release(&request);
            world->tally->broken_off += !over;
            return over && undisturbed;
        }
        if (!calm && one_in(world, 10)) {
            operate_at(world, responder);
            undisturbed = false;
            world->tally->disturbed++;
        }
        must(world, roost_sync_reply(responder->filter, &reply, &changed, request.data, request.size) == ROOST_OK,
             "answer of a sync");
        roost_buffer_release(&request);
        follow_sync(world, responder, initiator);
        world->tally->sync_rounds++;
        if (!calm && one_in(world, 10)) {
            operate_at(world, initiator);
            undisturbed = false;
            world->tally->disturbed++;
        }
        if (breaks && one_in(world, 4)) {
            roost_buffer_release(&reply);
            world->tally->broken_off++;
            return false;
        }
    }
}

static void take_all_of(struct world *world, struct replica *replica, const struct replica *other)
{
    uint8_t *const states[LEVELS] = {other->sets[CLASSES].state, other->sets[ELEMENTS].state};
    must(world, !model_take_whole(world, replica, states, world->dots), "after a sync both have the same");
}

static void synchronise(struct world *world, uint32_t to, uint32_t from, bool calm)
{
    struct replica *initiator = &world->replicas[to], *responder = &world->replicas[from];
    const roost_buffer *memory = &initiator->memories[from];
    roost_sync *sync;
    must(world, roost_sync_new(&sync, initiator->filter, memory->data, memory->size) == ROOST_OK, "begin of a sync");
    if (converse(world, initiator, responder, sync, calm)) {
        must(world, roost_sync_get_result(sync).equal, "a sync ends with equal replicas");
        remember_sync(world, initiator, from, sync);
        take_all_of(world, initiator, responder);
        take_all_of(world, responder, initiator);
    }
    roost_sync_free(sync);
    world->tally->syncs++;
}

static void communicate(struct world *world)
{
    uint32_t what = choose(world, 100), to = choose(world, world->replica_count),
             from = choose(world, world->replica_count);
    if (what < 43)
        send(world);
    else if (what < 86)
        deliver(world);
    else if (cut_between(world, to, from))
        world->tally->cut_off++;
    else if (what < 95 || to == from)
        merge_objects(world, to, from);
    else
        synchronise(world, to, from, false);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void save(struct world *world, struct replica *replica)
{
    struct saved *saved = &replica->saved;
    saved_release(saved);
    must(world, roost_filter_encode(replica->filter, &saved->frame) == ROOST_OK, "encode");
    must(world, roost_filter_save_replica(replica->filter, &saved->replica) == ROOST_OK, "save");
    saved->model = snapshot_of(world, replica);
    memcpy(saved->pulled, replica->pulled, sizeof saved->pulled);
    memcpy(saved->pushed, replica->pushed, sizeof saved->pushed);
    saved->list = replica->list;
    saved->changes = replica->change_count;
    world->tally->saves++;
}

static void forget_peers(struct replica *replica)
{
    memset(replica->pulled, 0, sizeof replica->pulled);
    memset(replica->pushed, 0, sizeof replica->pushed);
    for (int i = 0; i < MOST_REPLICAS; i++)
        roost_buffer_release(&replica->memories[i]);
}

/* Another object takes the place of the replica: without actor, journal, cursors. */
static void replace(struct replica *replica, roost_filter *filter)
{
    roost_filter_free(replica->filter);
    replica->filter = filter;
    replica->actor = 0;
    replica->counter = 0;
    replica->list = ++lists;
    replica->change_count = 0;
    forget_peers(replica);
}

static roost_filter *decode(struct world *world, const roost_buffer *frame)
{
    roost_filter *filter;
    roost_environment environment = environment_of(world);
    must(world, roost_filter_decode(&filter, frame->data, frame->size, &environment) == ROOST_OK, "decode");
    must(world, roost_filter_get_actor(filter) == 0, "decoding adopts nobody's actor");
    return filter;
}

/* The very state that was saved: it goes on as if nothing had happened, cursors and all. */
static void restart(struct world *world, struct replica *replica)
{
    roost_filter *filter = decode(world, &replica->saved.frame);
    must(world,
         roost_filter_restore_replica(filter, replica->saved.replica.data, replica->saved.replica.size) == ROOST_OK,
         "restore");
    if (filter->journal->incarnation != replica->filter->journal->incarnation) {
        replica->list = ++lists; /* the journal began after it was saved: that one is lost, and its cursors */
        replica->change_count = 0;
    }
    roost_filter_free(replica->filter);
    replica->filter = filter;
    if (replica->counter == 0)
        replica->actor = 0; /* it was nobody's name yet */
    must(world, roost_filter_get_actor(filter) == replica->actor, "the same replica goes on");
    memcpy(replica->pulled, replica->saved.pulled, sizeof replica->pulled);
    memcpy(replica->pushed, replica->saved.pushed, sizeof replica->pushed);
    world->tally->restarts++;
}

/* Back to what was saved. Where something is lost it must become another replica; its cursors into other journals are
   as old as the state, so they may stay. */
static void crash(struct world *world, struct replica *replica)
{
    struct saved *saved = &replica->saved;
    if (!saved->frame.data)
        return;
    if (saved->list == replica->list && saved->changes == replica->change_count) {
        restart(world, replica);
    } else {
        replace(replica, decode(world, &saved->frame));
        model_become(world, replica, &saved->model);
        if (one_in(world, 2))
            memcpy(replica->pulled, saved->pulled, sizeof replica->pulled);
        world->tally->crashes++;
    }
    check_replica(world, replica, true);
}

static void backup_or_restore(struct world *world, struct replica *replica)
{
    struct backup *backup = &world->backups[choose(world, MOST_BACKUPS)];
    if (backup->frame.data && one_in(world, 2)) {
        replace(replica, decode(world, &backup->frame));
        model_become(world, replica, &backup->model);
        check_replica(world, replica, true);
        world->tally->restores++;
    } else if (!backup->frame.data || one_in(world, 3)) {
        roost_buffer_release(&backup->frame);
        snapshot_release(&backup->model);
        must(world, roost_filter_encode(replica->filter, &backup->frame) == ROOST_OK, "encode");
        backup->model = snapshot_of(world, replica);
    }
}

static void clone(struct world *world, struct replica *replica)
{
    const struct replica *other = &world->replicas[choose(world, world->replica_count)];
    struct snapshot snapshot = snapshot_of(world, other);
    roost_filter *filter;
    must(world, roost_filter_clone(other->filter, &filter) == ROOST_OK, "clone");
    must(world, roost_filter_get_actor(filter) == 0, "a clone is nobody yet");
    replace(replica, filter);
    model_become(world, replica, &snapshot);
    snapshot_release(&snapshot);
    world->tally->clones++;
}

static void cut_or_mend(struct world *world)
{
    bool whole = one_in(world, 2);
    for (uint32_t i = 0; i < world->replica_count; i++)
        world->side[i] = whole ? 0 : choose(world, 2);
    world->tally->partitions += !whole;
}

static void happen(struct world *world)
{
    struct replica *replica = &world->replicas[choose(world, world->replica_count)];
    uint32_t what = choose(world, 100);
    if (what < 25)
        save(world, replica);
    else if (what < 35) {
        save(world, replica);
        crash(world, replica);
    } else if (what < 55)
        crash(world, replica);
    else if (what < 75)
        backup_or_restore(world, replica);
    else if (what < 82)
        clone(world, replica);
    else if (what < 95)
        cut_or_mend(world);
    else
        forget_peers(replica);
}

/* ---- healing ----------------------------------------------------------------------------------------------------- */

enum heal_by { BY_OBJECTS, BY_STATES, BY_DELTAS, BY_SYNCS, WAYS_TO_HEAL };

static bool exchange(struct world *world, uint32_t to, uint32_t from, enum heal_by way)
{
    struct message message;
    uint32_t before = world->replicas[to].change_count;
    if (way == BY_OBJECTS) {
        merge_objects(world, to, from);
    } else if (way == BY_SYNCS) {
        synchronise(world, to, from, true);
    } else {
        if (way == BY_STATES)
            make_state(world, &message, from, to);
        else
            make_delta(world, &message, from, to, true);
        take_message(world, &message);
        message_release(&message);
    }
    return world->replicas[to].change_count != before;
}

/* Who asks with the cursor that moves when a delta arrives misses nothing, whatever else was lost. */
static void exchange_all(struct world *world, enum heal_by way)
{
    for (bool anything = true; anything;) {
        anything = false;
        for (uint32_t to = 0; to < world->replica_count; to++)
            for (uint32_t from = 0; from < world->replica_count; from++)
                if (to != from)
                    anything |= exchange(world, to, from, way);
    }
}

static uint64_t count_gaps(const struct world *world)
{
    uint64_t gaps = 0;
    for (uint32_t i = 0; i < world->replica_count; i++)
        gaps += causal_gaps(&as_const_observed(world->replicas[i].filter)->causal);
    return gaps;
}

static void heal(struct world *world)
{
    struct replica *first = &world->replicas[0];
    uint64_t gaps = count_gaps(world);
    memset(world->side, 0, sizeof world->side);
    while (world->message_count > 0 && !one_in(world, 4))
        deliver(world);
    exchange_all(world, choose(world, WAYS_TO_HEAL));
    for (uint32_t i = 0; i < world->replica_count; i++) {
        struct replica *replica = &world->replicas[i];
        for (int level = 0; level < LEVELS; level++)
            must(world, memcmp(replica->sets[level].state, first->sets[level].state, world->dots) == 0,
                 "the models have converged");
        check_replica(world, replica, true);
        check_order(world, first, replica);
        check_same_bytes(world, first->filter, replica->filter);
    }
    uint64_t left = count_gaps(world);
    world->tally->gaps_healed += gaps > left ? gaps - left : 0;
    world->tally->heals++;
}

/* ---- episodes ---------------------------------------------------------------------------------------------------- */

static roost_config draw_config(struct world *world)
{
    const struct plan *plan = world->plan;
    roost_config config = roost_config_default();
    bool hot = world->elements <= 16;
    config.kind = ROOST_ORCUCKOO;
    config.fpr = 0;
    config.multiset = plan->multiset;
    config.entry_bits = plan->entry_bits;
    config.fingerprint_bits = plan->fingerprint_bits;
    config.bucket_size = plan->fingerprint_bits == 16 ? 8 : 1u << choose(world, 4); /* more in a class, or any */
    config.capacity =
        hot ? between(world, 1, 2 * world->elements) : between(world, 1 + world->elements / 4, world->elements);
    config.seed = random_next(&world->random);
    return config;
}

/* Elements get their class from the public hash and the geometry of the table. */
static void draw_elements(struct world *world)
{
    roost_info info;
    roost_filter_get_info(world->replicas[0].filter, &info);
    world->geometry = (struct cuckoo_geometry){
        .buckets = info.buckets, .bits = world->config.fingerprint_bits, .bucket_size = world->config.bucket_size};
    world->classes = 0;
    memset(world->sharers, 0, sizeof world->sharers);
    for (uint32_t element = 0; element < world->elements; element++) {
        uint32_t class = 0;
        world->hashes[element] = roost_filter_hash(world->replicas[0].filter, &element, sizeof element);
        uint64_t key = class_key(place_of_hash(world->hashes[element], world->geometry), world->geometry);
        while (class < world->classes && world->keys[class] != key)
            class += 1;
        world->classes += class == world->classes;
        world->keys[class] = key;
        world->class_of[element] = class;
        world->sharers[class]++;
    }
}

static void open_episode(struct world *world)
{
    const struct plan *plan = world->plan;
    world->replica_count = between(world, 2, MOST_REPLICAS);
    world->elements = between(world, plan->fewest_elements, plan->most_elements);
    world->journal = one_in(world, 3) ? between(world, 1, 40) : between(world, 40, 4000);
    world->kicks = one_in(world, 20) ? ROOST_DEFAULT_KICKS : between(world, 1, 30);
    world->config = draw_config(world);
    for (uint32_t i = 0; i < world->replica_count; i++) {
        roost_environment environment = environment_of(world);
        struct replica *replica = &world->replicas[i];
        must(world, roost_filter_new(&replica->filter, &world->config, &environment) == ROOST_OK, "new");
        replica->list = ++lists;
    }
    draw_elements(world);
    for (uint32_t i = 0; i < world->replica_count; i++)
        for (int level = 0; level < LEVELS; level++)
            orset_open(&world->replicas[i].sets[level], world->groups[level], MOST_DOTS, world->elements);
    world->tally->episodes++;
}

static void close_episode(struct world *world)
{
    while (world->message_count > 0)
        message_drop(world, 0);
    for (uint32_t i = 0; i < world->replica_count; i++) {
        struct replica *replica = &world->replicas[i];
        roost_filter_free(replica->filter);
        forget_peers(replica);
        saved_release(&replica->saved);
        for (int level = 0; level < LEVELS; level++)
            orset_close(&replica->sets[level]);
    }
    for (int i = 0; i < MOST_BACKUPS; i++) {
        roost_buffer_release(&world->backups[i].frame);
        snapshot_release(&world->backups[i].model);
    }
}

static void run_step(struct world *world)
{
    static const uint32_t shares[] = {20, 45, 50, 55, 80};
    uint32_t what = choose(world, 1000);
    if (world->step % 300 == 0)
        world->adding = shares[choose(world, COUNT_OF(shares))];
    if (what < world->plan->messages)
        communicate(world);
    else if (what < world->plan->messages + world->plan->events)
        happen(world);
    else
        operate_at(world, &world->replicas[choose(world, world->replica_count)]);
    if (one_in(world, 3000))
        heal(world);
}

/* An operation is one step, an add of many as many as it adds. */
static void run_episode(const struct plan *plan, struct tally *tally, uint64_t number)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    world.plan = plan;
    world.tally = tally;
    world.random = random_from_seed(seed + number * UINT64_C(0x9e3779b97f4a7c15));
    open_episode(&world);
    uint32_t steps = between(&world, 500, one_in(&world, 3) ? MOST_STEPS - MOST_BATCH : 4000);
    while (world.step < steps && world.dots + MOST_BATCH < MOST_DOTS) {
        uint32_t dots = world.dots;
        run_step(&world);
        world.step += world.dots > dots ? world.dots - dots : 1;
    }
    heal(&world);
    tally->steps += world.step;
    close_episode(&world);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void report(const struct plan *plan, const struct tally *tally)
{
    printf("ok - %s: %llu steps in %llu episodes, %llu adds (%llu refused), %llu removals that hit, %llu messages "
           "(%llu states, %llu deltas), %llu merges; at every moment the filter was the model\n",
           plan->name, (unsigned long long)tally->steps, (unsigned long long)tally->episodes,
           (unsigned long long)tally->adds, (unsigned long long)tally->refused,
           (unsigned long long)(tally->removes_that_hit + tally->removed_dots + tally->removed_ones),
           (unsigned long long)tally->messages, (unsigned long long)tally->states, (unsigned long long)tally->deltas,
           (unsigned long long)tally->merges);
    fflush(stdout);
}

static bool worked = true;

static void expect(bool holds, const char *what)
{
    printf("%s - %s\n", holds ? "ok" : "not ok", what);
    worked &= holds;
}

/* Clusters of removals of the same pair make the count rough, so the limits are wide. */
static void compare_hidden(const struct plan *plan, const struct tally *tally)
{
    double expected = tally->expected_hidden;
    printf(
        "# %s: %llu removals of a present element took %llu others with them, %.1f expected; %llu look-ups missed an "
        "element that shares its class, %llu wrong victims\n",
        plan->name, (unsigned long long)tally->legitimate, (unsigned long long)tally->hidden, expected,
        (unsigned long long)tally->misses, (unsigned long long)tally->wrong_victims);
    if (plan->most_elements <= 16)
        return; /* too few pairs that could collide */
    if (expected > 50)
        expect((double)tally->hidden > expected / 4 - 20 && (double)tally->hidden < expected * 2 + 20,
               "removals hide others as often as documented");
    else
        expect((double)tally->hidden < expected * 20 + 100, "removals hide hardly anyone");
}

/* A tally is nothing but counts, all of 64 bits but the last. */
static void add_tally(struct tally *sum, const struct tally *tally)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)tally;
    for (size_t i = 0; i < offsetof(struct tally, expected_hidden) / sizeof *to; i++)
        to[i] += from[i];
}

static void expect_work(const struct tally *all, uint64_t steps)
{
    uint64_t part = steps / 1000000;
    printf("# lost %llu, doubled %llu, late %llu, cut off %llu, damaged %llu; cursors lost %llu; with gaps %llu, gaps "
           "healed %llu; partitions %llu\n",
           (unsigned long long)all->lost, (unsigned long long)all->doubled, (unsigned long long)all->late,
           (unsigned long long)all->cut_off, (unsigned long long)all->damaged, (unsigned long long)all->cursors_lost,
           (unsigned long long)all->gaps, (unsigned long long)all->gaps_healed, (unsigned long long)all->partitions);
    printf("# syncs %llu in %llu rounds, %llu broken off, %llu disturbed\n", (unsigned long long)all->syncs,
           (unsigned long long)all->sync_rounds, (unsigned long long)all->broken_off,
           (unsigned long long)all->disturbed);
    printf("# saves %llu, restarts %llu, crashes %llu, restores %llu, clones %llu, actors %llu; conflicts %llu, won by "
           "add "
           "%llu; overflow in %llu of %llu checks; heals %llu\n",
           (unsigned long long)all->saves, (unsigned long long)all->restarts, (unsigned long long)all->crashes,
           (unsigned long long)all->restores, (unsigned long long)all->clones, (unsigned long long)all->actors,
           (unsigned long long)all->conflicts, (unsigned long long)all->won_by_add, (unsigned long long)all->overflowed,
           (unsigned long long)all->checks, (unsigned long long)all->heals);
    expect(all->removes_that_hit > 20000 * part && all->removed_dots > 2000 * part && all->removed_ones > 2000 * part,
           "many removals hit");
    expect(all->conflicts > 1000 * part && all->won_by_add > 200 * part, "adds won over concurrent removals");
    expect(all->lost > 500 * part && all->doubled > 500 * part && all->late > 500 * part && all->cut_off > 200 * part &&
               all->damaged > 50 * part,
           "messages were lost, doubled, reordered, cut off and damaged");
    expect(all->deltas > 1000 * part && all->states > 1000 * part && all->merges > 500 * part,
           "deltas, states and merges");
    expect(all->syncs > 500 * part && all->sync_rounds > 500 * part && all->broken_off > 50 * part &&
               all->disturbed > 50 * part,
           "replicas synced, some undisturbed and to the end");
    expect(all->cursors_lost > 500 * part && all->gaps > 100 * part && all->gaps_healed > 100 * part,
           "cursors were lost, gaps were healed");
    expect(all->restarts > 50 * part && all->crashes > 50 * part && all->restores > 50 * part &&
               all->clones > 50 * part,
           "replicas restarted, crashed, came back from backups and clones");
    expect(all->overflowed > 500 * part && all->refused > 500 * part, "tables overflowed and were full");
}

int main(int argc, char **argv)
{
    uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000000, number = 0;
    struct tally all = {0};
    seed = test_seed(3);
    entropy = random_from_seed(~seed);
    for (size_t i = 0; i < COUNT_OF(plans); i++) {
        struct tally tally = {0};
        while (tally.steps < steps * plans[i].share / 100)
            run_episode(&plans[i], &tally, ++number);
        report(&plans[i], &tally);
        compare_hidden(&plans[i], &tally);
        add_tally(&all, &tally);
    }
    expect(all.steps >= steps, "as many steps as were asked for");
    expect_work(&all, steps);
    return worked ? 0 : 1;
}
