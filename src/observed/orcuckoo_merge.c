/*
 * How two observed-remove cuckoo filters merge and compare. For every dot the larger of the two in unseen < live <
 * dead:
 *
 *     mine      theirs    merged
 *     live      dead      dead      an entry of mine whose dot they have seen, and that they do not hold: dropped
 *     unseen    live      live      an entry of theirs whose dot I have not seen: added
 *     unseen    dead      dead      the causal context alone
 *     the rest            as it is
 *
 * First the drops, which make room, then the additions. Neither needs to know where an entry lies: a dropped one is
 * looked up in both of its buckets and in the stash of the other side; whether one is added follows from the causal
 * context alone.
 *
 * Most of the time two replicas hold nearly the same, and mostly in the same buckets, since entries move only when the
 * table is full. So the walk compares words, of many rows at once (cuckoo_many.c), and only entries that are in neither
 * of their buckets over there are looked up. Actors have other indexes on the other side: a table made for the walk
 * translates them, together with how far the other causal context is known without gaps, which nearly always answers
 * whether a dot was seen.
 *
 * A merge that fails half-way must leave nothing behind, so from the first change on it works on a copy of the table.
 */
#include "orcuckoo.h"

#include "../cuckoo/cuckoo_many.h"

#define ROW 32

/* What a walk over the entries of one filter needs to know about the other, for each actor of the first. */
struct actor_map {
    uint32_t number;     /* in the other filter, or NO_ACTOR */
    uint32_t index;      /* there, or NO_INDEX */
    uint32_t contiguous; /* the other has seen its dots 1 to this one, */
    uint32_t largest;    /* and none beyond this one */
};

static bool has_seen(const struct causal_context *causal, const struct actor_map *actor, uint64_t id, uint32_t counter)
{
    if (counter <= actor->contiguous)
        return true;
    return counter <= actor->largest && causal_contains(causal, id, counter);
}

/* Behind the actors there is room for a number for each index that was ever given. NULL when there is no memory. */
static struct actor_map *map_actors(const struct orcuckoo *filter, const struct orcuckoo *other,
                                    const roost_allocator *allocator)
{
    const struct actors *actors = &filter->observed.actors;
    size_t translations = ((size_t)actors->given + 1) * sizeof(uint64_t);
    struct actor_map *known = memory_allocate(allocator, (size_t)actors->count * sizeof *known + translations);
    for (uint32_t i = 0; known && i < actors->count; i++) {
        uint32_t number = actors_find(&other->observed.actors, actors->list[i].id);
        known[i] = (struct actor_map){number, NO_INDEX, 0, 0};
        if (number == NO_ACTOR)
            continue;
        known[i].index = other->observed.actors.list[number].index;
        known[i].contiguous = causal_contiguous(&other->observed.causal, actors->list[i].id);
        known[i].largest = causal_largest(&other->observed.causal, actors->list[i].id);
    }
    return known;
}

/* ---- what was removed over there --------------------------------------------------------------------------------- */

/*
 * A walk over the entries of `filter` that the other one has seen and no longer holds. It goes over the slots first, a
 * few buckets at a time, then over the stash. `filter` may lose the entries that are found, but nothing else.
 */
struct removal_walk {
    const struct orcuckoo *other;
    const struct actor_map *known; /* the actors of the filter */
    uint32_t row, end_row;         /* the next one; where to stop */
    uint64_t node, end_node;       /* the same in the stash */
    struct tag_translation tags;   /* none: entries are compared one by one */
    struct slot_match slots[ENTRIES_ROOM];
    struct place places[ENTRIES_ROOM];
    uint32_t count, next;
};

/*
 * What makes words of this filter words of the other one, behind the actors. An actor without an index over there gets
 * one that was never given; if there is none left, nothing is translated.
 */
static struct tag_translation translate_tags(const struct orcuckoo *filter, const struct orcuckoo *other,
                                             struct actor_map *known)
{
    const struct actors *actors = &filter->observed.actors, *theirs = &other->observed.actors;
    struct tag_translation tags = {NULL, filter->counter_bits + filter->table.shape.bits, true};
    uint64_t *added = (uint64_t *)(known + actors->count);
    if (!cuckoo_tables_are_alike(&filter->table, &other->table))
        return tags;
    for (uint32_t index = 0; index < actors->given; index++) {
        uint32_t there = known[actors->number_of_index[index]].index;
        if (there == NO_INDEX && theirs->given >= theirs->indexes)
            return tags;
        there = there == NO_INDEX ? theirs->given : there;
        added[index] = ((uint64_t)there - index) << tags.shift;
        tags.is_identity &= there == index;
    }
    tags.added = added;
    return tags;
}

static struct removal_walk whole_walk(const struct orcuckoo *filter, const struct orcuckoo *other,
                                      struct actor_map *known)
{
    struct removal_walk walk = {.other = other, .known = known, .end_row = UINT32_MAX, .end_node = UINT64_MAX};
    if (known)
        walk.tags = translate_tags(filter, other, known);
    return walk;
}

struct removal {
    struct slot_match slot; /* valid if `node` is NO_NODE */
    uint64_t key, node;
};

/* The word of the same entry over there; 0, which none is, if its actor has no index there. */
static inline uint64_t translate(const struct orcuckoo *filter, const struct removal_walk *walk, uint64_t word)
{
    const struct cuckoo_geometry shape = filter->table.shape;
    uint64_t tag = word_tag(word, shape);
    uint32_t index = walk->known[filter->observed.actors.number_of_index[slot_tag_index(filter, tag)]].index;
    uint64_t there = index != NO_INDEX ? slot_tag(filter, index, slot_tag_counter(filter, tag)) : 0;
    if (index == NO_INDEX || !cuckoo_table_tag_fits(&filter->table, there))
        return 0;
    return there << shape.bits | word_fingerprint(word, shape);
}

static bool is_among(uint64_t word, const uint64_t words[8], uint32_t size)
{
    bool found = false;
    for (uint32_t slot = 0; slot < size; slot++)
        found |= words[slot] == word;
    return found;
}

static bool seen_over_there(const struct orcuckoo *filter, const struct removal_walk *walk, struct entry entry)
{
    const struct actor_map *actor = &walk->known[entry.number];
    return has_seen(&walk->other->observed.causal, actor, filter->observed.actors.list[entry.number].id, entry.counter);
}

/* Entries of one row that the other side has seen and does not hold in the same row, if both have the same shape. */
static void gather_row(const struct orcuckoo *filter, struct removal_walk *walk, uint32_t row)
{
    const struct cuckoo_geometry shape = filter->table.shape;
    uint64_t mine[8], theirs[8] = {0};
    cuckoo_table_words(&filter->table, row, mine);
    if (cuckoo_table_rows(&filter->table) == cuckoo_table_rows(&walk->other->table))
        cuckoo_table_words(&walk->other->table, row, theirs);
    for (uint32_t slot = 0; slot < shape.bucket_size; slot++) {
        if (!mine[slot])
            continue;
        uint64_t word = translate(filter, walk, mine[slot]);
        if (word && is_among(word, theirs, shape.bucket_size))
            continue;
        uint64_t tag = word_tag(mine[slot], shape);
        if (!seen_over_there(filter, walk, entry_of_slot(filter, tag, 0)))
            continue;
        walk->slots[walk->count] = (struct slot_match){row, slot * slot_width(shape), tag};
        walk->places[walk->count] = cuckoo_table_place(&filter->table, row, word_fingerprint(mine[slot], shape));
        walk->count++;
    }
}

/* The same for many rows at once, and for both rows of each entry. */
static void gather_rows(const struct orcuckoo *filter, struct removal_walk *walk)
{
    const struct cuckoo_table *table = &filter->table;
    while (walk->count == 0 && walk->row < cuckoo_table_rows(table) && walk->row < walk->end_row) {
        uint32_t found =
            cuckoo_table_differing(table, &walk->other->table, &walk->row, walk->end_row, &walk->tags, walk->slots);
        for (uint32_t i = 0; i < found; i++) {
            struct slot_match slot = walk->slots[i];
            if (!seen_over_there(filter, walk, entry_of_slot(filter, slot.tag, 0)))
                continue;
            uint64_t words[8];
            cuckoo_table_words(table, slot.bucket, words);
            uint32_t fingerprint = word_fingerprint(words[slot.offset / slot_width(table->shape)], table->shape);
            walk->slots[walk->count] = slot;
            walk->places[walk->count++] = cuckoo_table_place(table, slot.bucket, fingerprint);
        }
    }
}

static bool refill(const struct orcuckoo *filter, struct removal_walk *walk)
{
    walk->next = walk->count = 0;
    if (walk->tags.added)
        gather_rows(filter, walk);
    else
        while ((walk->row = cuckoo_table_next_row(&filter->table, walk->row)) < cuckoo_table_rows(&filter->table) &&
               walk->row < walk->end_row && walk->count < ROW)
            gather_row(filter, walk, walk->row++);
    cuckoo_table_prefetch(&walk->other->table, walk->places, walk->count);
    return walk->count > 0;
}

static bool held_over_there(const struct removal_walk *walk, const struct place *place, struct entry entry)
{
    const struct actor_map *actor = &walk->known[entry.number];
    return actor->number != NO_ACTOR && holds_entry(walk->other, place, actor->number, entry.counter);
}

static bool next_removed_slot(const struct orcuckoo *filter, struct removal_walk *walk, struct removal *removal)
{
    do
        while (walk->next < walk->count) {
            uint32_t i = walk->next++;
            struct entry entry = entry_of_slot(filter, walk->slots[i].tag, 0);
            if (held_over_there(walk, &walk->places[i], entry))
                continue;
            *removal = (struct removal){walk->slots[i], class_key(walk->places[i], filter->table.geometry), NO_NODE};
            return true;
        }
    while (refill(filter, walk));
    return false;
}

static bool next_removed_node(const struct orcuckoo *filter, struct removal_walk *walk, struct removal *removal)
{
    const struct stash *stash = &filter->table.stash;
    while (walk->node < stash->used && walk->node < walk->end_node) {
        uint64_t node = walk->node++;
        if (!stash->nodes[node].key)
            continue;
        struct entry entry = entry_of_node(&stash->nodes[node]);
        struct place place = place_of_class(entry.key, filter->table.geometry);
        if (!seen_over_there(filter, walk, entry) || held_over_there(walk, &place, entry))
            continue;
        *removal = (struct removal){.key = entry.key, .node = node};
        return true;
    }
    return false;
}

static bool next_removal(const struct orcuckoo *filter, struct removal_walk *walk, struct removal *removal)
{
    return next_removed_slot(filter, walk, removal) || next_removed_node(filter, walk, removal);
}

/* ---- what is new over there -------------------------------------------------------------------------------------- */

/* A walk over the entries of `other` whose dots are unseen here, in rows of slots, then of the stash. */
struct unseen_walk {
    const struct orcuckoo *other;
    const struct actor_map *known; /* the actors of the other */
    uint32_t row;
    uint64_t node;
    struct entry entries[ROW + 8]; /* numbers are the other's */
    struct place places[ROW + 8];
    uint32_t count;
};

static bool is_unseen(const struct orcuckoo *filter, const struct unseen_walk *walk, struct entry entry)
{
    const struct actor_map *actor = &walk->known[entry.number];
    return !has_seen(&filter->observed.causal, actor, walk->other->observed.actors.list[entry.number].id,
                     entry.counter);
}

static void gather_unseen(const struct orcuckoo *filter, struct unseen_walk *walk, uint32_t row)
{
    const struct cuckoo_table *table = &walk->other->table;
    uint64_t words[8];
    cuckoo_table_words(table, row, words);
    for (uint32_t slot = 0; slot < table->shape.bucket_size; slot++) {
        if (!words[slot])
            continue;
        struct entry entry = entry_of_slot(walk->other, word_tag(words[slot], table->shape), 0);
        if (!is_unseen(filter, walk, entry))
            continue;
        struct place place = cuckoo_table_place(table, row, word_fingerprint(words[slot], table->shape));
        entry.key = class_key(place, table->geometry);
        walk->places[walk->count] = place;
        walk->entries[walk->count++] = entry;
    }
}

/* The next row, its memory asked for; false at the end. The causal context of `filter` must still be the one before. */
static bool next_unseen(const struct orcuckoo *filter, struct unseen_walk *walk)
{
    const struct stash *stash = &walk->other->table.stash;
    walk->count = 0;
    while ((walk->row = cuckoo_table_next_row(&walk->other->table, walk->row)) <
               cuckoo_table_rows(&walk->other->table) &&
           walk->count < ROW)
        gather_unseen(filter, walk, walk->row++);
    for (; walk->node < stash->used && walk->count < ROW; walk->node++) {
        struct entry entry = entry_of_node(&stash->nodes[walk->node]);
        if (!entry.key || !is_unseen(filter, walk, entry))
            continue;
        walk->places[walk->count] = place_of_class(entry.key, filter->table.geometry);
        walk->entries[walk->count++] = entry;
    }
    cuckoo_table_prefetch(&filter->table, walk->places, walk->count);
    return walk->count > 0;
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

static void drop(struct orcuckoo *filter, const struct removal *removal)
{
    if (removal->node == NO_NODE)
        drop_slot(filter, &removal->slot, removal->key);
    else
        drop_node(filter, removal->node);
}

static roost_status take_row(struct orcuckoo *filter, const struct unseen_walk *walk, uint32_t *kicks)
{
    for (uint32_t i = 0; i < walk->count; i++) {
        struct entry entry = walk->entries[i];
        entry.number = walk->known[entry.number].number;
        roost_status status = take_entry(filter, &walk->places[i], entry, kicks);
        if (status != ROOST_OK)
            return status;
        note_change(&filter->observed, CHANGE_LIVE, entry.key, entry.number, entry.counter);
    }
    relieve_if_overfull(filter);
    return ROOST_OK;
}

/* Fills in the numbers of actors that the filter has just got. */
static void fill_in_numbers(const struct orcuckoo *filter, struct actor_map *known, const struct orcuckoo *other)
{
    for (uint32_t i = 0; i < other->observed.actors.count; i++)
        if (known[i].number == NO_ACTOR)
            known[i].number = actors_find(&filter->observed.actors, other->observed.actors.list[i].id);
}

/* What a merge in progress may have to undo. */
struct merge {
    uint64_t next_change;         /* of the journal, before anything was noted */
    struct orcuckoo before;       /* table and actors as they were */
    struct causal_context causal; /* the union, to be put in place at the end */
    struct causal_context unseen; /* what of it is new */
    struct actor_map *mine, *theirs;
};

static void end_merge(struct orcuckoo *filter, struct merge *merge)
{
    const roost_allocator *allocator = &filter->observed.base.environment.allocator;
    causal_release(&merge->causal, allocator);
    causal_release(&merge->unseen, allocator);
    memory_release(allocator, merge->mine);
    memory_release(allocator, merge->theirs);
}

static roost_status begin_merge(struct orcuckoo *filter, struct merge *merge, const struct orcuckoo *other)
{
    const roost_allocator *allocator = &filter->observed.base.environment.allocator;
    *merge =
        (struct merge){.mine = map_actors(filter, other, allocator), .theirs = map_actors(other, filter, allocator)};
    if (!merge->mine || !merge->theirs ||
        !causal_difference(&merge->unseen, &other->observed.causal, &filter->observed.causal, allocator) ||
        !causal_union(&merge->causal, &filter->observed.causal, &other->observed.causal, allocator)) {
        end_merge(filter, merge);
        return ROOST_NO_MEMORY;
    }
    return ROOST_OK;
}

/* From here on the filter has a table and actors of its own, and `before` keeps the old ones. */
static roost_status work_on_copy(struct orcuckoo *filter, struct merge *merge)
{
    const roost_allocator *allocator = &filter->observed.base.environment.allocator;
    merge->before = *filter;
    merge->next_change = filter->observed.base.journal->next;
    if (cuckoo_table_copy(&filter->table, &merge->before.table, allocator)) {
        if (actors_copy(&filter->observed.actors, &merge->before.observed.actors, allocator))
            return ROOST_OK;
        cuckoo_table_release(&filter->table, allocator);
    }
    filter->table = merge->before.table;
    filter->observed.actors = merge->before.observed.actors;
    return ROOST_NO_MEMORY;
}

static roost_status change_copy(struct orcuckoo *filter, struct merge *merge, struct removal_walk *removals,
                                struct removal *first, const struct orcuckoo *other)
{
    struct unseen_walk unseen = {.other = other, .known = merge->theirs};
    uint32_t kicks = filter->table.most_kicks;
    roost_status status = number_actors(&filter->observed, &merge->unseen);
    fill_in_numbers(filter, merge->theirs, other);
    if (status == ROOST_OK) /* before those that are live: the records from any cursor on are then correct */
        note_runs(&filter->observed, &merge->unseen);
    if (first && status == ROOST_OK)
        do
            drop(filter, first);
        while (next_removal(filter, removals, first));
    if (merge->unseen.dots > 0)
        make_room(filter, cuckoo_table_entries(&other->table));
    while (status == ROOST_OK && merge->unseen.dots > 0 && next_unseen(filter, &unseen))
        status = take_row(filter, &unseen, &kicks);
    return status;
}

/* Entries were weighed as they came; actors and causal context are now. What does not grow is never too large. */
static bool is_too_large(const struct orcuckoo *filter, const struct merge *merge)
{
    uint64_t causal = merge->causal.room * sizeof *merge->causal.runs;
    uint64_t old_causal = filter->observed.causal.room * sizeof *filter->observed.causal.runs;
    uint64_t bytes = observed_bytes(&filter->observed) - old_causal + causal;
    return bytes > filter->observed.base.environment.common->memory_limit &&
           bytes > observed_bytes(&merge->before.observed);
}

static void keep(struct orcuckoo *filter, struct merge *merge)
{
    const roost_allocator *allocator = &filter->observed.base.environment.allocator;
    struct causal_context old = filter->observed.causal;
    cuckoo_table_release(&merge->before.table, allocator);
    actors_release(&merge->before.observed.actors, allocator);
    filter->observed.causal = merge->causal;
    filter->observed.run = 0;
    merge->causal = old;
    leave_shared_actor(&filter->observed);
}

/* The journal may have overwritten old changes with ones that are now void. */
static void take_back(struct orcuckoo *filter, struct merge *merge)
{
    const roost_allocator *allocator = &filter->observed.base.environment.allocator;
    struct journal journal = filter->own.journal;
    bool noted = filter->observed.base.journal->next != merge->next_change;
    cuckoo_table_release(&filter->table, allocator);
    actors_release(&filter->observed.actors, allocator);
    *filter = merge->before;
    filter->own.journal = journal;
    if (noted)
        journal_forget(filter->observed.base.journal);
}

roost_status orcuckoo_merge(roost_filter *base, bool *changed, const roost_filter *other_base)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    const struct orcuckoo *other = as_const_orcuckoo(other_base);
    struct merge merge;
    struct removal removal;
    *changed = false;
    roost_status status = begin_merge(filter, &merge, other);
    if (status != ROOST_OK)
        return status;
    struct removal_walk removals = whole_walk(filter, other, merge.mine);
    bool any_removal = next_removal(filter, &removals, &removal);
    if (any_removal || merge.unseen.dots > 0) {
        status = work_on_copy(filter, &merge);
        if (status == ROOST_OK) {
            status = change_copy(filter, &merge, &removals, any_removal ? &removal : NULL, other);
            if (status == ROOST_OK && is_too_large(filter, &merge))
                status = ROOST_TOO_LARGE;
            if (status == ROOST_OK)
                keep(filter, &merge);
            else
                take_back(filter, &merge);
        }
        *changed = status == ROOST_OK;
    }
    end_merge(filter, &merge);
    return status;
}

/* ---- incremental removals -----------------------------------------------------------------------------------------
 *
 * The receiver has merged all that was new to it; from now on no dot that the sender has seen can enter any more, and
 * what is left to do is to drop the entries that the sender has seen removed. The table is walked a few rows at a time,
 * and changes in between: entries may come, which are none of these, or go, or be kicked from a row that was not
 * visited yet into one that was. The table counts such moves. A walk that was disturbed by moves is repeated; the third
 * walk visits all rows at once.
 */

#define MOST_PASSES 3

static void drop_some(struct orcuckoo *filter, struct sweep *sweep, struct removal_walk *walk, uint32_t effort)
{
    struct removal removal;
    walk->row = sweep->row;
    walk->node = sweep->node;
    if (effort && sweep->row < cuckoo_table_rows(&filter->table)) {
        walk->end_row = effort < UINT32_MAX - sweep->row ? sweep->row + effort : UINT32_MAX;
        walk->end_node = sweep->node;
    } else if (effort) {
        walk->end_node = sweep->node + effort;
    }
    while (next_removal(filter, walk, &removal))
        drop(filter, &removal);
    sweep->row = walk->row;
    sweep->node = walk->node;
}

static bool is_at_end(const struct orcuckoo *filter, const struct sweep *sweep)
{
    return sweep->row >= cuckoo_table_rows(&filter->table) && sweep->node >= filter->table.stash.used;
}

/* Back to the first row. */
static void begin_pass(const struct orcuckoo *filter, struct sweep *sweep)
{
    sweep->row = 0;
    sweep->node = 0;
    sweep->moves = filter->table.moves;
    sweep->disturbed = false;
    sweep->passes++;
}

roost_status orcuckoo_sweep(roost_filter *base, struct sweep *sweep, const roost_filter *other_base, uint32_t effort)
{
    struct orcuckoo *filter = as_orcuckoo(base);
    const struct orcuckoo *other = as_const_orcuckoo(other_base);
    struct actor_map *known = map_actors(filter, other, &base->environment.allocator);
    if (!known)
        return ROOST_NO_MEMORY;
    if (sweep->passes == 0)
        begin_pass(filter, sweep);
    sweep->disturbed |= sweep->moves != filter->table.moves;
    struct removal_walk walk = whole_walk(filter, other, known);
    drop_some(filter, sweep, &walk, effort);
    if (is_at_end(filter, sweep)) {
        sweep->done = !sweep->disturbed;
        begin_pass(filter, sweep);
    }
    if (!sweep->done && sweep->passes > MOST_PASSES) {
        walk = whole_walk(filter, other, known);
        drop_some(filter, sweep, &walk, 0);
        sweep->done = true;
    }
    memory_release(&base->environment.allocator, known);
    return ROOST_OK;
}

/* ---- compare ----------------------------------------------------------------------------------------------------- */

/* The same walk without memory for a table of actors: each actor is looked up again. */
struct slow_walk {
    const struct orcuckoo *filter, *other;
    bool found;
};

static void find_removal(void *context, struct entry entry)
{
    struct slow_walk *walk = context;
    uint64_t actor = walk->filter->observed.actors.list[entry.number].id;
    uint32_t number = actors_find(&walk->other->observed.actors, actor);
    if (walk->found || number == NO_ACTOR || !causal_contains(&walk->other->observed.causal, actor, entry.counter))
        return;
    struct place place = place_of_class(entry.key, walk->filter->table.geometry);
    walk->found = !holds_entry(walk->other, &place, number, entry.counter);
}

static bool any_removal_slowly(const struct orcuckoo *filter, const struct orcuckoo *other)
{
    struct slow_walk walk = {filter, other, false};
    visit_entries(&filter->observed, find_removal, &walk);
    return walk.found;
}

/* Whether `other` has seen a dot, or its removal, that `filter` has not. */
static bool lacks_any(const struct orcuckoo *filter, const struct orcuckoo *other)
{
    struct removal removal;
    if (!causal_includes(&filter->observed.causal, &other->observed.causal))
        return true;
    struct actor_map *known = map_actors(filter, other, &filter->observed.base.environment.allocator);
    struct removal_walk removals = whole_walk(filter, other, known);
    bool lacks = known ? next_removal(filter, &removals, &removal) : any_removal_slowly(filter, other);
    memory_release(&filter->observed.base.environment.allocator, known);
    return lacks;
}

roost_order orcuckoo_compare(const roost_filter *base, const roost_filter *other_base)
{
    const struct orcuckoo *filter = as_const_orcuckoo(base), *other = as_const_orcuckoo(other_base);
    return (lacks_any(filter, other) ? ROOST_BEFORE : 0) | (lacks_any(other, filter) ? ROOST_AFTER : 0);
}
