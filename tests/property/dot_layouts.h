/*
 * The worlds of exhaust_dots.c: what each replica holds, as small numbers that can be compared and hashed, and how a
 * real filter is given that content and read back.
 *
 *     put_layout     slots, stash, causal context, actors and journal of a replica, into its scratch filter
 *     take_layout    slots, stash and causal context of a filter, as numbers; noted_since has what its journal noted
 *
 * A dot is a bit of a word: the first actor's counters, then the second's. With COUNTERS = 5, dot 7 is counter 3 of
 * actor 1.
 */
#ifndef TESTS_DOT_LAYOUTS_H
#define TESTS_DOT_LAYOUTS_H

#include <stddef.h>
#include <string.h>

#include "exhaustive.h"
#include "base/hash.h"
#include "filter/configuration.h"
#include "filter/journal_policy.h"
#include "observed/orcuckoo.h"

enum {
    MOST_ACTORS_HERE = 6, /* all incarnations of all replicas */
    COUNTERS = 5,         /* additions of one actor */
    MOST_DOTS = MOST_ACTORS_HERE * COUNTERS,
    MOST_CLASSES = 3,
    SLOTS = 4,
    MOST_STASHED = 8,
    JOURNAL = 64,
    NO_MESSAGE = 0,
};

typedef uint32_t dots; /* a set: dot d is bit d, actor d / COUNTERS, counter d % COUNTERS + 1 */

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

/* One replica. Its live dots are those of the slots and of the stash. */
struct layout {
    uint8_t slots[SLOTS];        /* dot + 1; 0 is free */
    uint8_t stash[MOST_STASHED]; /* dot + 1, class by class, in the order of the chains */
    dots seen;                   /* the causal context */
    dots pending[MOST_REPLICAS]; /* what the journal has for each reader */
    dots untold;                 /* those of them that came dead, without their class */
    uint8_t lost;                /* readers whose cursor is worth nothing, as bits */
    uint8_t incarnation;
    uint8_t unused[2];
};

struct world {
    uint64_t classes; /* of the dots that matter, two bits each */
    uint32_t message;
    uint32_t unused;
    struct layout replicas[MOST_REPLICAS];
};

/* A state or a part of one, on its way. */
struct message {
    roost_buffer frame;
    dots seen, live;
    uint64_t classes;
    bool whole;
    uint64_t hash; /* of all of it */
};

struct setting {
    const char *name;
    bool multiset;
    uint32_t entry_bits, bucket_size, classes, replicas, capacity;
    bool deltas, messages, restarts;
    uint32_t depth, deep;
};

/* What a state was found to look like the first time. */
struct known_state {
    uint64_t state, frame;
    uint8_t digest[16];
};

struct universe {
    const struct setting *setting;
    struct cuckoo_geometry geometry;
    roost_config config;
    uint64_t keys[MOST_CLASSES];
    uint32_t incarnations;
    roost_filter *scratch[MOST_REPLICAS];               /* real filters into which layouts are put */
    roost_cursor cursors[MOST_REPLICAS][MOST_REPLICAS]; /* of the journal of the first that the second holds */
    uint64_t journal_start[MOST_REPLICAS];
    uint32_t drawing, draw_incarnation; /* whose actor is drawn next */
    struct message *messages;
    uint32_t *message_index; /* open addressing by hash: their numbers, from 1 on */
    size_t message_count, message_room;
    struct frontier worlds;
    struct hash_set layouts, combinations;
    struct known_state *states; /* open addressing by `state` */
    size_t state_count, state_room;
    uint64_t transitions, merged, delivered, overflowed, refused, removed, restarted, restored, reloaded;
};

static struct orcuckoo *scratch_of(const struct universe *universe, uint32_t replica)
{
    return as_orcuckoo(universe->scratch[replica]);
}

static dots dot_bit(uint32_t dot)
{
    return (dots)1 << dot;
}

static uint32_t class_of(uint64_t classes, uint32_t dot)
{
    return classes >> (2 * dot) & 3;
}

static uint64_t classes_of(uint64_t classes, dots which)
{
    uint64_t result = 0;
    for (dots left = which; left; left &= left - 1)
        result |= classes & (uint64_t)3 << (2 * lowest_bit(left));
    return result;
}

static dots dots_of_class(uint64_t classes, dots among, uint32_t class)
{
    dots result = 0;
    for (dots left = among; left; left &= left - 1)
        if (class_of(classes, lowest_bit(left)) == class)
            result |= left & -left;
    return result;
}

/* How many classes these dots are of. */
static uint32_t class_count(const struct universe *universe, uint64_t classes, dots which)
{
    uint32_t count = 0;
    for (uint32_t class = 0; class < universe->setting->classes; class ++)
        count += dots_of_class(classes, which, class) != 0;
    return count;
}

static dots live_of(const struct layout *layout)
{
    dots live = 0;
    for (int i = 0; i < SLOTS; i++)
        live |= layout->slots[i] ? dot_bit(layout->slots[i] - 1u) : 0;
    for (int i = 0; i < MOST_STASHED; i++)
        live |= layout->stash[i] ? dot_bit(layout->stash[i] - 1u) : 0;
    return live;
}

/* Incarnation i of replica r. */
static uint32_t actor_of(const struct universe *universe, uint32_t replica, uint32_t incarnation)
{
    return replica * universe->incarnations + incarnation;
}

static uint64_t actor_id(uint32_t actor)
{
    return UINT64_C(0x0101010101010101) * (actor + 1);
}

static uint32_t actor_of_id(uint64_t id)
{
    uint32_t actor = (uint32_t)(id & 0xff) - 1;
    must(actor < MOST_ACTORS_HERE && actor_id(actor) == id, "an actor is one that was drawn");
    return actor;
}

static dots dots_of_actor(uint32_t actor)
{
    return (((dots)1 << COUNTERS) - 1) << (actor * COUNTERS);
}

static uint32_t dot_of(uint64_t id, uint32_t counter)
{
    must(counter >= 1 && counter <= COUNTERS, "a counter is one that was made");
    return actor_of_id(id) * COUNTERS + counter - 1;
}

static bool draw_actor(void *context, void *bytes, size_t size)
{
    struct universe *universe = context;
    uint64_t id = actor_id(actor_of(universe, universe->drawing, universe->draw_incarnation));
    memcpy(bytes, &id, size);
    return true;
}

/* ---- layouts into filters, and back ------------------------------------------------------------------------------ */

static uint32_t fingerprint_of(const struct universe *universe, uint32_t class)
{
    return (uint32_t)(universe->keys[class] & ((UINT64_C(1) << universe->geometry.bits) - 1));
}

static void put_causal(struct orcuckoo *filter, dots seen)
{
    struct causal_context *causal = &filter->observed.causal;
    causal->count = 0;
    must(causal_reserve(causal, &filter->observed.base.environment.allocator, MOST_DOTS), "memory");
    causal->dots = count_ones(seen);
    for (uint32_t actor = 0; actor < MOST_ACTORS_HERE; actor++) {
        dots own = (seen & dots_of_actor(actor)) >> (actor * COUNTERS);
        for (uint32_t first = 0; first < COUNTERS; first++) {
            if (!(own >> first & 1))
                continue;
            uint32_t last = first;
            while (last + 1 < COUNTERS && own >> (last + 1) & 1)
                last++;
            must(causal->count < causal->room, "room for the runs");
            causal->runs[causal->count++] = (struct dot_run){actor_id(actor), first + 1, last + 1};
            first = last;
        }
    }
}

static void put_actors(struct universe *universe, uint32_t replica, const struct layout *layout)
{
    struct orcuckoo *filter = scratch_of(universe, replica);
    const roost_allocator *allocator = &filter->observed.base.environment.allocator;
    actors_release(&filter->observed.actors, allocator);
    for (uint32_t actor = MOST_ACTORS_HERE; actor-- > 0;) /* not in the order that a decode gives them */
        if (layout->seen & dots_of_actor(actor))
            must(actors_number(&filter->observed.actors, actor_id(actor), allocator) != NO_ACTOR, "memory");
    uint32_t own = actor_of(universe, replica, layout->incarnation);
    filter->observed.counter = count_ones(layout->seen & dots_of_actor(own));
    filter->observed.actor = filter->observed.counter ? actor_id(own) : 0;
    filter->observed.number =
        filter->observed.actor ? actors_find(&filter->observed.actors, filter->observed.actor) : 0;
    filter->observed.run = 0;
}

static struct entry entry_for(const struct universe *universe, const struct orcuckoo *filter, uint64_t classes,
                              uint32_t dot)
{
    uint32_t number = actors_find(&filter->observed.actors, actor_id(dot / COUNTERS));
    must(number != NO_ACTOR, "an entry of the layout was seen");
    return (struct entry){number, dot % COUNTERS + 1, universe->keys[class_of(classes, dot)]};
}

static void put_slots(struct universe *universe, struct orcuckoo *filter, const struct layout *layout, uint64_t classes)
{
    uint32_t width = slot_width(filter->table.geometry) / 8;
    uint32_t slots = universe->geometry.buckets * universe->geometry.bucket_size;
    memset(filter->table.slots.bytes, 0, filter->table.slots.size);
    filter->table.filled = 0;
    for (uint32_t slot = 0; slot < slots; slot++) {
        if (!layout->slots[slot])
            continue;
        uint32_t dot = layout->slots[slot] - 1u;
        struct entry entry = entry_for(universe, filter, classes, dot);
        uint32_t index =
            actors_index(&filter->observed.actors, entry.number, &filter->observed.base.environment.allocator);
        uint64_t word = slot_tag(filter, index, entry.counter) << universe->geometry.bits |
                        fingerprint_of(universe, class_of(classes, dot));
        uint8_t bytes[8];
        store_word(bytes, word);
        memcpy(filter->table.slots.bytes + (size_t)slot * width, bytes, width);
        actors_entered_slot(&filter->observed.actors, entry.number);
        filter->table.filled++;
        filter->observed.sum += entry_hash(&filter->observed, entry);
    }
}

/* A newcomer comes second in its chain: the first goes in first, then the others from the last on. */
static void put_stash(const struct universe *universe, struct orcuckoo *filter, const struct layout *layout,
                      uint64_t classes)
{
    const roost_allocator *allocator = &filter->observed.base.environment.allocator;
    stash_release(&filter->table.stash, allocator);
    for (int from = 0, to; from < MOST_STASHED && layout->stash[from]; from = to) {
        uint32_t class = class_of(classes, layout->stash[from] - 1u);
        for (to = from + 1; to < MOST_STASHED && layout->stash[to];)
            if (class_of(classes, layout->stash[to] - 1u) == class)
                to++;
            else
                break;
        for (int i = 0; i < to - from; i++) {
            int place = i == 0 ? from : to - i;
            struct entry entry = entry_for(universe, filter, classes, layout->stash[place] - 1u);
            must(stash_insert(&filter->table.stash, allocator, entry.key, dot_number(entry.number, entry.counter)),
                 "memory");
            filter->observed.sum += entry_hash(&filter->observed, entry);
        }
    }
}

/* How many untold dots follow each other from this one on, in the same actor. */
static uint32_t run_length(const struct layout *layout, dots which, uint32_t dot)
{
    uint32_t end = dot + 1;
    while (end % COUNTERS != 0 && which & layout->untold & dot_bit(end))
        end++;
    return end - dot;
}

/* One change that tells of this dot and, where it came dead, of those behind it; returns how many. */
static uint32_t put_change(const struct universe *universe, struct orcuckoo *filter, const struct layout *layout,
                           uint64_t classes, dots which, uint32_t dot)
{
    struct entry entry = entry_for(universe, filter, classes, dot);
    if (layout->untold & dot_bit(dot)) {
        uint32_t length = run_length(layout, which, dot);
        note_change(&filter->observed, CHANGE_RUN, entry.counter + length - 1, entry.number, entry.counter);
        return length;
    }
    bool live = live_of(layout) & dot_bit(dot);
    note_change(&filter->observed, live ? CHANGE_LIVE : CHANGE_DEAD, entry.key, entry.number, entry.counter);
    return 1;
}

static void put_changes(const struct universe *universe, struct orcuckoo *filter, const struct layout *layout,
                        uint64_t classes, dots which)
{
    for (uint32_t dot = 0; dot < MOST_DOTS;)
        dot += which & dot_bit(dot) ? put_change(universe, filter, layout, classes, which, dot) : 1;
}

/* The reader, of those that are not in `done`, for whom most is pending. */
static uint32_t next_reader(const struct universe *universe, const struct layout *layout, uint32_t done)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t reader = 0; reader < universe->setting->replicas; reader++)
        if (!(done >> reader & 1) &&
            (found == UINT32_MAX || count_ones(layout->pending[reader]) > count_ones(layout->pending[found])))
            found = reader;
    return found;
}

/* What is pending for one reader is the end of what is pending for the one before. */
static void put_journal(struct universe *universe, uint32_t replica, const struct layout *layout, uint64_t classes)
{
    struct orcuckoo *filter = scratch_of(universe, replica);
    struct journal *journal = filter->observed.base.journal;
    if (!universe->setting->deltas)
        return;
    journal->incarnation = 100 + actor_of(universe, replica, layout->incarnation);
    journal->oldest = journal->next = 1;
    dots before = 0;
    for (uint32_t done = 0, count = 0; count < universe->setting->replicas; count++) {
        uint32_t reader = next_reader(universe, layout, done);
        dots pending = layout->pending[reader];
        must(count == 0 || (pending & ~before) == 0, "what is pending for readers is nested");
        put_changes(universe, filter, layout, classes, before & ~pending);
        universe->cursors[replica][reader] = (roost_cursor){journal->incarnation, journal->next};
        if (layout->lost >> reader & 1)
            universe->cursors[replica][reader].incarnation--;
        before = pending;
        done |= 1u << reader;
    }
    put_changes(universe, filter, layout, classes, before);
    universe->journal_start[replica] = journal->next;
}

static void put_layout(struct universe *universe, uint32_t replica, const struct world *world)
{
    struct orcuckoo *filter = scratch_of(universe, replica);
    const struct layout *layout = &world->replicas[replica];
    filter->observed.sum = 0;
    filter->own.random.script = NULL;
    put_causal(filter, layout->seen);
    put_actors(universe, replica, layout);
    put_slots(universe, filter, layout, world->classes);
    put_stash(universe, filter, layout, world->classes);
    filter->classes = class_count(universe, world->classes, live_of(layout));
    put_journal(universe, replica, layout, world->classes);
    universe->drawing = replica;
    universe->draw_incarnation = layout->incarnation;
}

static void take_slots(const struct universe *universe, const struct orcuckoo *filter, struct layout *layout,
                       uint64_t classes)
{
    const struct cuckoo_geometry geometry = filter->table.geometry;
    for (uint32_t bucket = 0; bucket < geometry.buckets; bucket++) {
        uint64_t words[8];
        cuckoo_table_words(&filter->table, bucket, words);
        for (uint32_t slot = 0; slot < geometry.bucket_size; slot++) {
            if (!words[slot])
                continue;
            struct entry entry = entry_of_slot(filter, word_tag(words[slot], geometry), 0);
            uint32_t dot = dot_of(filter->observed.actors.list[entry.number].id, entry.counter);
            must(word_fingerprint(words[slot], geometry) == fingerprint_of(universe, class_of(classes, dot)),
                 "a slot has the fingerprint of its dot");
            layout->slots[bucket * geometry.bucket_size + slot] = (uint8_t)(dot + 1);
        }
    }
}

static void take_stash(const struct universe *universe, const struct orcuckoo *filter, struct layout *layout,
                       uint64_t classes)
{
    const struct stash *stash = &filter->table.stash;
    uint32_t count = 0;
    for (uint32_t number = 0; number < universe->setting->classes; number++) {
        uint64_t node = stash_find_class(stash, universe->keys[number]);
        for (uint32_t next = node == NO_NODE ? 0 : (uint32_t)node + 1; next; next = stash->nodes[next - 1].next) {
            struct entry entry = entry_of_node(&stash->nodes[next - 1]);
            uint32_t dot = dot_of(filter->observed.actors.list[entry.number].id, entry.counter);
            must(class_of(classes, dot) == number, "a stashed entry has the class of its dot");
            must(count < MOST_STASHED, "room for the stash");
            layout->stash[count++] = (uint8_t)(dot + 1);
        }
    }
    must(count == stash->count, "all that is in the stash is in the chains");
}

/* The state, without journal and incarnation. `classes` are those that the model says. */
static struct layout take_layout(const struct universe *universe, const roost_filter *base, uint64_t classes)
{
    const struct orcuckoo *filter = as_const_orcuckoo(base);
    struct layout layout = {.lost = 0};
    take_slots(universe, filter, &layout, classes);
    take_stash(universe, filter, &layout, classes);
    for (size_t i = 0; i < filter->observed.causal.count; i++)
        for (uint32_t counter = filter->observed.causal.runs[i].first; counter <= filter->observed.causal.runs[i].last;
             counter++)
            layout.seen |= dot_bit(dot_of(filter->observed.causal.runs[i].actor, counter));
    must(cuckoo_table_entries(&filter->table) == count_ones(live_of(&layout)), "no dot is held twice");
    must(filter->classes == class_count(universe, classes, live_of(&layout)), "classes are counted once");
    return layout;
}

/* What the journal noted since the layout was put; those that it noted without a class. */
static dots noted_since(const struct universe *universe, uint32_t replica, dots *untold)
{
    const struct orcuckoo *filter = scratch_of(universe, replica);
    const struct journal *journal = filter->observed.base.journal;
    dots noted = 0, told = 0;
    for (uint64_t i = universe->journal_start[replica]; i < journal->next; i++) {
        struct change change = *journal_change(journal, i);
        uint64_t id = filter->observed.actors.list[change.tag >> 32].id;
        uint32_t first = (uint32_t)change.tag,
                 last = change_kind_of(change) == CHANGE_RUN ? (uint32_t)change_key(change) : first;
        for (uint32_t counter = first; counter <= last; counter++)
            noted |= dot_bit(dot_of(id, counter));
        if (change_kind_of(change) != CHANGE_RUN)
            told |= dot_bit(dot_of(id, first));
    }
    *untold = noted & ~told;
    return noted;
}

#endif
