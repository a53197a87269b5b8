/*
 * How two observed-remove filters of prefixes merge and compare: for every dot the larger of unseen < live < removed.
 * ../filter/orcuckoo_merge.c has the cases.
 *
 * What is to be dropped, entries of mine whose dots the other has seen and does not hold, and what is to be added,
 * entries of the other whose dots are unseen here, is listed first, and nothing changes meanwhile. Then few changes are
 * made in place, with room in the crowd that was reserved for them, which cannot fail; many are made to a copy of the
 * table, which takes its place when all of them are made.
 */
#include "growing_orcuckoo.h"

#include <string.h>

/* Changes in place are at most so many, and a part of what the filter holds. */
#define FEW_CHANGES 1024
#define FEW_OF      16

/* What one filter knows of another one's actors: an answer at a time, since entries of one actor mostly come in a row. */
struct peer_view {
    const struct observed *filter, *other;
    uint32_t number;              /* of the actor in the filter that the rest is about; NO_ACTOR at first */
    uint32_t number_there;        /* or NO_ACTOR */
    uint32_t contiguous, largest; /* the other has seen its dots from 1 to the first, and none beyond the second */
};

static struct peer_view peer_view_of(const struct observed *filter, const struct observed *other)
{
    return (struct peer_view){.filter = filter, .other = other, .number = NO_ACTOR};
}

static void look_up_actor(struct peer_view *view, uint32_t number)
{
    if (view->number == number)
        return;
    uint64_t actor = view->filter->actors.list[number].id;
    view->number = number;
    view->number_there = actors_find(&view->other->actors, actor);
    view->contiguous = causal_contiguous(&view->other->causal, actor);
    view->largest = causal_largest(&view->other->causal, actor);
}

/* Whether the other has seen the dot of an entry of the filter. */
static bool has_seen(struct peer_view *view, struct entry entry)
{
    look_up_actor(view, entry.number);
    return entry.counter <= view->contiguous ||
           (entry.counter <= view->largest &&
            causal_contains(&view->other->causal, view->filter->actors.list[entry.number].id, entry.counter));
}

/* Whether the other has seen the removal of an entry of the filter. */
static bool has_seen_removed(struct peer_view *view, struct entry entry)
{
    if (!has_seen(view, entry))
        return false;
    entry.number = view->number_there;
    return entry.number == NO_ACTOR || !view->other->store->holds(view->other, entry);
}

/* ---- lists of changes -------------------------------------------------------------------------------------------- */

struct entry_list {
    struct entry *entries;
    uint64_t count, room;
};

static bool list_entry(struct entry_list *list, struct entry entry, const roost_allocator *allocator)
{
    if (list->count == list->room) {
        uint64_t room = list->room ? 2 * list->room : 64;
        struct entry *entries = memory_allocate(allocator, room * sizeof *entries);
        if (!entries)
            return false;
        if (list->count)
            memcpy(entries, list->entries, list->count * sizeof *entries);
        memory_release(allocator, list->entries);
        list->entries = entries;
        list->room = room;
    }
    list->entries[list->count++] = entry;
    return true;
}

typedef bool entry_test(struct peer_view *view, struct entry entry);

static bool is_unseen(struct peer_view *view, struct entry entry)
{
    return !has_seen(view, entry);
}

/* The entries of the view's filter for which the test holds. False without memory. */
static bool list_entries(struct entry_list *list, struct peer_view view, entry_test *test,
                         const roost_allocator *allocator)
{
    struct entry entries[ENTRIES_AT_ONCE];
    struct entry_walk walk = {0};
    for (size_t count; (count = view.filter->store->next(view.filter, &walk, entries)) > 0;)
        for (size_t i = 0; i < count; i++)
            if (test(&view, entries[i]) && !list_entry(list, entries[i], allocator))
                return false;
    return true;
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

struct merge {
    struct growing_orcuckoo *filter;
    const struct observed *other;
    struct causal_context unseen, joined;
    struct entry_list removed, added; /* the numbers of those added are the other's, until they are translated */
    struct actors actors;             /* as they were before, */
    bool numbered;                    /* if there may be more of them now */
    struct prefix_table copy;         /* that takes the changes; without a root: none */
};

static void merge_end(struct merge *merge)
{
    const roost_allocator *allocator = &merge->filter->observed.base.environment.allocator;
    causal_release(&merge->unseen, allocator);
    causal_release(&merge->joined, allocator);
    memory_release(allocator, merge->removed.entries);
    memory_release(allocator, merge->added.entries);
    actors_release(&merge->actors, allocator);
}

static roost_status list_changes(struct merge *merge)
{
    struct observed *filter = &merge->filter->observed;
    const roost_allocator *allocator = &filter->base.environment.allocator;
    bool listed = causal_difference(&merge->unseen, &merge->other->causal, &filter->causal, allocator) &&
                  list_entries(&merge->removed, peer_view_of(filter, merge->other), has_seen_removed, allocator) &&
                  (merge->unseen.dots == 0 ||
                   (causal_union(&merge->joined, &filter->causal, &merge->other->causal, allocator) &&
                    list_entries(&merge->added, peer_view_of(merge->other, filter), is_unseen, allocator)));
    return listed ? ROOST_OK : ROOST_NO_MEMORY;
}

/* New actors stay only if all goes well: otherwise refused merges could use up the numbers. */
static roost_status number_new_actors(struct merge *merge)
{
    struct observed *filter = &merge->filter->observed;
    const roost_allocator *allocator = &filter->base.environment.allocator;
    merge->numbered = actors_copy(&merge->actors, &filter->actors, allocator);
    if (!merge->numbered)
        return ROOST_NO_MEMORY;
    return number_actors(filter, &merge->unseen);
}

static void take_back_actors(struct merge *merge)
{
    struct observed *filter = &merge->filter->observed;
    struct actors changed = filter->actors;
    filter->actors = merge->actors;
    merge->actors = changed;
}

static void translate_added(struct merge *merge)
{
    const struct actors *actors = &merge->filter->observed.actors, *others = &merge->other->actors;
    uint32_t last = NO_ACTOR, number = NO_ACTOR;
    for (uint64_t i = 0; i < merge->added.count; i++) {
        struct entry *entry = &merge->added.entries[i];
        if (entry->number != last) {
            last = entry->number;
            number = actors_find(actors, others->list[last].id);
        }
        entry->number = number;
    }
}

static bool are_few(const struct merge *merge)
{
    return merge->added.count <= FEW_CHANGES + merge->filter->table.count / FEW_OF;
}

static roost_status change_copy(struct merge *merge)
{
    const roost_environment *environment = &merge->filter->observed.own.environment;
    tagged_init(&merge->copy, merge->filter->observed.base.config->seed, environment);
    merge->copy.target = merge->filter->table.target;
    merge->copy.copy_job = merge->filter->table.copy_job;
    roost_status status = table_copy(&merge->copy, &merge->filter->table);
    for (uint64_t i = 0; i < merge->removed.count && status == ROOST_OK; i++)
        tagged_drop(&merge->copy, prefix_entry_of(merge->removed.entries[i]));
    if (status == ROOST_OK)
        tagged_make_room(&merge->copy, merge->added.count);
    for (uint64_t i = 0; i < merge->added.count && status == ROOST_OK; i++)
        status = tagged_put(&merge->copy, prefix_entry_of(merge->added.entries[i]));
    if (status != ROOST_OK)
        table_release(&merge->copy);
    return status;
}

/* All that can fail. */
static roost_status prepare(struct merge *merge)
{
    struct observed *filter = &merge->filter->observed;
    uint64_t before = observed_bytes(filter);
    roost_status status = number_new_actors(merge);
    if (status != ROOST_OK)
        return status;
    translate_added(merge);
    status = are_few(merge) ? tagged_reserve(&merge->filter->table, merge->added.count) : change_copy(merge);
    if (status != ROOST_OK)
        return status;
    uint64_t grown = merge->joined.room > filter->causal.room ? merge->joined.room - filter->causal.room : 0;
    uint64_t bytes = observed_bytes(filter) + grown * sizeof *merge->joined.runs;
    if (merge->copy.root)
        bytes += tagged_bytes(&merge->copy) - tagged_bytes(&merge->filter->table);
    if (bytes <= filter->base.environment.common->memory_limit || bytes <= before)
        return ROOST_OK;
    if (merge->copy.root)
        table_release(&merge->copy);
    return ROOST_TOO_LARGE;
}

static void note_changes(struct merge *merge)
{
    struct observed *filter = &merge->filter->observed;
    for (uint64_t i = 0; i < merge->removed.count; i++) {
        struct entry entry = merge->removed.entries[i];
        filter->sum -= entry_hash(filter, entry);
        note_change(filter, CHANGE_DEAD, entry.key, entry.number, entry.counter);
    }
    for (uint64_t i = 0; i < merge->added.count; i++) {
        struct entry entry = merge->added.entries[i];
        filter->sum += entry_hash(filter, entry);
        note_change(filter, CHANGE_LIVE, entry.key, entry.number, entry.counter);
    }
}

/* None of it fails. */
static void commit(struct merge *merge)
{
    struct growing_orcuckoo *filter = merge->filter;
    struct causal_context old = filter->observed.causal;
    note_runs(&filter->observed, &merge->unseen); /* before those that are live: see orcuckoo_merge.c */
    note_changes(merge);
    if (merge->copy.root) {
        table_release(&filter->table);
        filter->table = merge->copy;
    } else {
        for (uint64_t i = 0; i < merge->removed.count; i++)
            tagged_drop(&filter->table, prefix_entry_of(merge->removed.entries[i]));
        for (uint64_t i = 0; i < merge->added.count; i++)
            (void)!tagged_put(&filter->table, prefix_entry_of(merge->added.entries[i])); /* reserved */
    }
    for (uint64_t i = 0; i < merge->removed.count; i++)
        tagged_shrink(&filter->table, prefix_at(merge->removed.entries[i].key));
    if (merge->unseen.dots > 0) {
        filter->observed.causal = merge->joined;
        filter->observed.run = 0;
        merge->joined = old;
        leave_shared_actor(&filter->observed);
    }
}

/* By the sums of the hashes of their entries, as their digests are compared. */
static bool are_equal(const struct observed *filter, const struct observed *other)
{
    return filter->sum == other->sum && filter->store->count(filter) == other->store->count(other) &&
           causal_equal(&filter->causal, &other->causal);
}

roost_status growing_orcuckoo_merge(roost_filter *base, bool *changed, const roost_filter *other)
{
    struct merge merge = {.filter = as_growing_orcuckoo(base), .other = as_const_observed(other)};
    *changed = false;
    if (are_equal(&merge.filter->observed, merge.other))
        return ROOST_OK;
    roost_status status = list_changes(&merge);
    if (status == ROOST_OK && (merge.removed.count > 0 || merge.unseen.dots > 0)) {
        status = prepare(&merge);
        if (status == ROOST_OK)
            commit(&merge);
        else if (merge.numbered)
            take_back_actors(&merge);
        tagged_release_reserve(&merge.filter->table);
        *changed = status == ROOST_OK;
    }
    merge_end(&merge);
    return status;
}

/* ---- incremental removals -----------------------------------------------------------------------------------------
 *
 * The receiver has merged all that was new to it; what is left is to drop the entries that the sender has seen removed.
 * The table is walked in the order of hashes, whole segments at a time. It may change in between: what comes is none of
 * these entries, and an entry leaves its segment only for the crowd, which is walked last, and whose nodes stay where
 * they are.
 */

roost_status growing_orcuckoo_sweep(roost_filter *base, struct sweep *sweep, const roost_filter *other, uint32_t effort)
{
    struct growing_orcuckoo *filter = as_growing_orcuckoo(base);
    struct peer_view view = peer_view_of(&filter->observed, as_const_observed(other));
    struct prefix_entry entries[TAGGED_AT_ONCE];
    struct tagged_walk walk = {sweep->node, sweep->row ? TAGGED_IN_CROWD | (sweep->row - 1) : 0};
    uint64_t seen = 0, most = effort ? (uint64_t)effort * SLOTS : UINT64_MAX;
    for (uint32_t count; (count = tagged_next(&filter->table, &walk, entries)) > 0; seen += count) {
        bool is_next = walk.hash != sweep->node && walk.hash != 0; /* the first entries of another segment */
        sweep->node = walk.hash;
        if (is_next && seen >= most)
            return ROOST_OK; /* which is visited the next time */
        for (uint32_t i = 0; i < count; i++)
            if (has_seen_removed(&view, entry_of_prefix(entries[i])))
                filter->observed.store->drop(&filter->observed, entry_of_prefix(entries[i]));
        if (walk.position & TAGGED_IN_CROWD && seen + count >= most) {
            sweep->row = (uint32_t)walk.position + 1; /* one more, as 0 is none */
            return ROOST_OK;
        }
    }
    sweep->done = true;
    return ROOST_OK;
}

/* ---- compare ----------------------------------------------------------------------------------------------------- */

/* Whether `other` has seen a dot, or its removal, that `filter` has not. */
static bool lacks_any(const struct observed *filter, const struct observed *other)
{
    struct peer_view view = peer_view_of(filter, other);
    struct entry entries[ENTRIES_AT_ONCE];
    struct entry_walk walk = {0};
    if (!causal_includes(&filter->causal, &other->causal))
        return true;
    for (size_t count; (count = filter->store->next(filter, &walk, entries)) > 0;)
        for (size_t i = 0; i < count; i++)
            if (has_seen_removed(&view, entries[i]))
                return true;
    return false;
}

roost_order growing_orcuckoo_compare(const roost_filter *base, const roost_filter *other_base)
{
    const struct observed *filter = as_const_observed(base), *other = as_const_observed(other_base);
    return (lacks_any(filter, other) ? ROOST_BEFORE : 0) | (lacks_any(other, filter) ? ROOST_AFTER : 0);
}
