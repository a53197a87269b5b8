/*
 * How two observed-remove filters of prefixes merge and compare: for every dot the larger of unseen < live < removed.
 * ../observed/orcuckoo_merge.c has the cases.
 *
 * Both tables are walked together, range by range (joint_walk.c). What both have in slots is gathered with its tags,
 * those of the other with the numbers that actors have here, and sorted together. Then an entry of both is next to
 * itself and stays; one of this filter alone goes if the other has seen its dot, and one of the other alone comes if
 * its dot is unseen here:
 *
 *     prefix 0110..  tag 3:120  here    } of both: stays
 *     prefix 0110..  tag 3:120  there   }
 *     prefix 0111..  tag 3:121  here      the other has seen 121 of this actor: it was removed there
 *     prefix 1001..  tag 5:7    there     7 of this actor is unseen here: it comes
 *
 * Replicas that were copied from each other have most slots at the same places, and then only the buckets that differ
 * are gathered. What is in a crowd (crowd.h) is looked up entry by entry, and so is what is on the list of a filter
 * that has few entries and no table (tagged_set.c).
 *
 *     few come      what is to be dropped and added is listed, and nothing changes meanwhile; then it is done in place,
 *                   with room in the crowd that was reserved before, so that it cannot fail
 *     many come     the lists are given up as soon as this shows, and a table is built of what stays and what comes,
 *                   which takes the place of the old one at the end
 */
#include "growing_orcuckoo.h"

#include <string.h>

#include "../prefix/crowd.h"
#include "../prefix/joint_walk.h"

/* Changes in place are at most so many, and a part of what the filter holds. */
#define FEW_CHANGES 1024
#define FEW_OF      16

/* What one filter knows of another one's actors: an answer at a time, since entries of one actor mostly come in a
   row. */
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
    struct prefix_entry *entries;
    uint64_t count, room;
};

static bool list_entry(struct entry_list *list, struct prefix_entry entry, const roost_allocator *allocator)
{
    if (list->count == list->room) {
        uint64_t room = list->room ? 2 * list->room : 64;
        struct prefix_entry *entries = memory_allocate(allocator, room * sizeof *entries);
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

static void release_list(struct entry_list *list, const roost_allocator *allocator)
{
    memory_release(allocator, list->entries);
    *list = (struct entry_list){0};
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

/* Of an actor: what the other side has seen, for entries that are here, and for entries that are there. */
struct actor_view {
    uint64_t actor;
    uint32_t contiguous[2]; /* its dots from 1 to this one, */
    uint32_t largest[2];    /* and none beyond this one */
};

struct merge {
    struct growing_orcuckoo *filter;
    const struct growing_orcuckoo *other;
    const struct prefix_table *tables[2]; /* that are walked: those of both filters, or a copy of one of them, */
    struct prefix_table finer;            /* which is this one; without a root it stands for that of a list */
    const roost_allocator *allocator;
    struct causal_context unseen, joined;
    struct actors actors;     /* as they were before, */
    bool numbered;            /* if there may be more of them now */
    struct actor_view *views; /* by number here */
    uint32_t *numbers;        /* here, by number there; NULL: they are the same */
    struct entry_list removed, added;
    uint64_t seen;  /* entries of the other that were looked at */
    uint64_t come;  /* how many of these are unseen here */
    uint128 sum;    /* of the hashes of those that come, less those that go */
    bool subtracts; /* what comes is all that the other has, less what is seen here: quicker where that is little */
    struct prefix_table *built; /* that is to take the place of the set's table or list; NULL: none */
};

static void merge_end(struct merge *merge)
{
    causal_release(&merge->unseen, merge->allocator);
    causal_release(&merge->joined, merge->allocator);
    actors_release(&merge->actors, merge->allocator);
    memory_release(merge->allocator, merge->views);
    memory_release(merge->allocator, merge->numbers);
    release_list(&merge->removed, merge->allocator);
    release_list(&merge->added, merge->allocator);
    if (merge->finer.root)
        table_release(&merge->finer);
    if (merge->built)
        free_table_of(&merge->filter->observed.base, merge->built);
}

/* New actors stay only if all goes well: otherwise refused merges could use up the numbers. */
static roost_status number_new_actors(struct merge *merge)
{
    struct observed *filter = &merge->filter->observed;
    merge->numbered = actors_copy(&merge->actors, &filter->actors, merge->allocator);
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

/* What entries of which dots are seen on the other side. */
static bool view_actors(struct merge *merge)
{
    const struct observed *sides[2] = {&merge->other->observed, &merge->filter->observed};
    const struct actors *actors = &merge->filter->observed.actors;
    merge->views = memory_allocate(merge->allocator, (actors->count + 1) * sizeof *merge->views);
    for (uint32_t i = 0; merge->views && i < actors->count; i++) {
        struct actor_view *view = &merge->views[i];
        view->actor = actors->list[i].id;
        for (unsigned side = 0; side < 2; side++) {
            view->contiguous[side] = causal_contiguous(&sides[side]->causal, view->actor);
            view->largest[side] = causal_largest(&sides[side]->causal, view->actor);
        }
    }
    return merge->views != NULL;
}

static bool have_same_numbers(const struct actors *actors, const struct actors *others)
{
    for (uint32_t i = 0; i < others->count; i++)
        if (i >= actors->count || actors->list[i].id != others->list[i].id)
            return false;
    return true;
}

static bool translate_numbers(struct merge *merge)
{
    const struct actors *actors = &merge->filter->observed.actors, *others = &merge->other->observed.actors;
    if (have_same_numbers(actors, others))
        return true;
    merge->numbers = memory_allocate(merge->allocator, (others->count + 1) * sizeof *merge->numbers);
    for (uint32_t i = 0; merge->numbers && i < others->count; i++)
        merge->numbers[i] = actors_find(actors, others->list[i].id);
    return merge->numbers != NULL;
}

/* The entries of a table in so many segments. */
static roost_status copy_finely(struct merge *merge, const struct prefix_table *table, uint64_t segments)
{
    struct prefix_table *finer = &merge->finer;
    struct prefix_entry entries[TAGGED_AT_ONCE];
    struct tagged_walk walk = {0};
    finer->target = table->target;
    finer->most_bytes = UINT64_MAX; /* it is gone soon */
    roost_status status = table_begin(finer, segments);
    for (uint32_t count; status == ROOST_OK && (count = tagged_next(table, &walk, entries)) > 0;)
        for (uint32_t done = 0, some; status == ROOST_OK && done < count; done += some) {
            some = (uint32_t)tagged_put_entries(finer, entries + done, count - done);
            status = some ? ROOST_OK : tagged_put(finer, entries[done]);
            some += !some;
        }
    return status;
}

/* The tables that are walked. */
static roost_status choose_tables(struct merge *merge)
{
    const struct tagged_set *sets[2] = {&merge->filter->set, &merge->other->set};
    const roost_environment environment = whole_environment(&merge->filter->observed.base);
    tagged_init(&merge->finer, merge->filter->observed.base.config->seed, &environment);
    for (unsigned side = 0; side < 2; side++)
        merge->tables[side] = is_in_table(sets[side]) ? sets[side]->table : &merge->finer;
    for (unsigned side = 0; side < 2; side++) {
        const struct prefix_table *table = merge->tables[side], *other = merge->tables[!side];
        if (!is_much_coarser(table, other))
            continue;
        merge->tables[side] = &merge->finer;
        return copy_finely(merge, table, segments_of(other->root));
    }
    return ROOST_OK;
}

/* All that is known before entries are looked at. */
static roost_status begin(struct merge *merge)
{
    const struct causal_context *here = &merge->filter->observed.causal, *there = &merge->other->observed.causal;
    if (!causal_difference(&merge->unseen, there, here, merge->allocator) ||
        (merge->unseen.dots > 0 && !causal_union(&merge->joined, here, there, merge->allocator)))
        return ROOST_NO_MEMORY;
    roost_status status = merge->unseen.dots > 0 ? number_new_actors(merge) : ROOST_OK;
    if (status != ROOST_OK)
        return status;
    return view_actors(merge) && translate_numbers(merge) ? choose_tables(merge) : ROOST_NO_MEMORY;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------
 *
 * While they are sorted, tags have a lowest bit more, which says whose they are: 1 for those of the other.
 */

static inline uint64_t tag_here(const struct merge *merge, uint64_t tag)
{
    return merge->numbers ? (uint64_t)merge->numbers[tag >> 32] << 32 | (uint32_t)tag : tag;
}

/* What this filter has, and from *own on what the other has. */
static bool gather_sides(struct merge *merge, struct joint_walk *walk, bool all, uint64_t *own)
{
    bool may_skip = !all && !merge->numbers;
    if (!(may_skip ? joint_gather_unlike(walk, 0) : joint_gather(walk, 0)))
        return false;
    *own = walk->count;
    if (!(may_skip ? joint_gather_unlike(walk, 1) : joint_gather(walk, 1)))
        return false;
    for (uint64_t i = *own; merge->numbers && i < walk->count; i++)
        walk->tags[i] = tag_here(merge, walk->tags[i]);
    return true;
}

static void sort_sides(struct joint_walk *walk, uint64_t own)
{
    for (uint64_t i = 0; i < own; i++)
        walk->tags[i] = walk->tags[i] << 1;
    for (uint64_t i = own; i < walk->count; i++)
        walk->tags[i] = walk->tags[i] << 1 | OF_OTHER;
    joint_sort(walk);
}

/* Whether the other side has seen the dot of an entry. */
static ALWAYS_INLINE bool is_seen(const struct merge *merge, uint64_t tag, unsigned side)
{
    const struct actor_view *view = &merge->views[tag >> 32];
    uint32_t counter = (uint32_t)tag;
    return counter <= view->contiguous[side] ||
           (counter <= view->largest[side] &&
            causal_contains(side ? &merge->filter->observed.causal : &merge->other->observed.causal, view->actor,
                            counter));
}

/* An entry with the number that its actor has there. */
static struct prefix_entry entry_there(const struct merge *merge, struct prefix_entry entry)
{
    uint64_t number = actors_find(&merge->other->observed.actors, merge->views[entry.tag >> 32].actor);
    return (struct prefix_entry){entry.prefix, number << 32 | (uint32_t)entry.tag};
}

/* Whether the other has an entry that is not in its slots, or there at all. */
static bool other_holds_apart(const struct merge *merge, struct prefix_entry entry)
{
    const struct crowd *crowd = merge->tables[1]->crowd;
    if (!is_in_table(&merge->other->set))
        return tagged_set_holds(&merge->other->set, entry_there(merge, entry));
    if (!crowd)
        return false;
    entry = entry_there(merge, entry);
    return stash_find_entry(&crowd->stash, entry.prefix, entry.tag) != NO_NODE;
}

static uint128 hash_of(const struct merge *merge, struct prefix_entry entry)
{
    return entry_hash(&merge->filter->observed, entry_of_prefix(entry));
}

static bool goes(struct merge *merge, struct prefix_entry entry)
{
    merge->sum -= hash_of(merge, entry);
    return list_entry(&merge->removed, entry, merge->allocator);
}

/* An entry that one side has and of which the other has seen the dot. False without memory. */
static bool take_seen(struct merge *merge, struct prefix_entry entry, unsigned side, bool *stays)
{
    *stays = !side && other_holds_apart(merge, entry);
    if (side && merge->subtracts)
        merge->sum -= hash_of(merge, entry);
    return side || *stays || goes(merge, entry);
}

/* Keeps what stays and what comes, of what was gathered and sorted. What goes is listed. No branch depends on whose an
   entry is, which is random. */
static bool compare_range(struct merge *merge, struct joint_walk *walk)
{
    uint64_t *prefixes = walk->prefixes, *tags = walk->tags, kept = 0;
    for (uint64_t i = 0; i < walk->count; i++) {
        const struct prefix_entry entry = {prefixes[i], tags[i] >> 1};
        const unsigned side = tags[i] & OF_OTHER;
        bool in_both = i + 1 < walk->count && prefixes[i + 1] == prefixes[i] && (tags[i + 1] ^ tags[i]) == OF_OTHER;
        bool stays = true;
        prefixes[kept] = prefixes[i];
        tags[kept] = tags[i];
        if (in_both) {
            merge->sum -= merge->subtracts ? hash_of(merge, entry) : 0;
            i++;
        } else if (is_seen(merge, entry.tag, side) && !take_seen(merge, entry, side, &stays))
            return false;
        kept += stays;
    }
    walk->count = kept;
    return true;
}

/* An entry comes: it is listed if that is wanted. */
static bool comes(struct merge *merge, struct prefix_entry entry, bool lists)
{
    if (!merge->subtracts)
        merge->sum += hash_of(merge, entry);
    return !lists || list_entry(&merge->added, entry, merge->allocator);
}

/* What stays of a range, and comes: it is counted, and the tags of all are as they were. */
static bool take_range(struct merge *merge, struct joint_walk *walk, bool lists)
{
    for (uint64_t i = 0; i < walk->count && (lists || !merge->subtracts); i++)
        if (walk->tags[i] & OF_OTHER &&
            !comes(merge, (struct prefix_entry){walk->prefixes[i], walk->tags[i] >> 1}, lists))
            return false;
    for (uint64_t i = 0; i < walk->count; i++) {
        merge->come += walk->tags[i] & OF_OTHER;
        walk->tags[i] >>= 1;
    }
    return true;
}

static bool merge_range(struct merge *merge, struct joint_walk *walk, bool all, bool lists)
{
    uint64_t own;
    if (!gather_sides(merge, walk, all, &own))
        return false;
    sort_sides(walk, own);
    return compare_range(merge, walk) && take_range(merge, walk, lists);
}

/* ---- crowds and lists -------------------------------------------------------------------------------------------- */

/* What is in the crowd or on the list of one side, from a position on, which moves; false at the end. */
static bool next_apart(const struct merge *merge, unsigned side, uint64_t *position, struct prefix_entry *entry)
{
    const struct tagged_set *set = side ? &merge->other->set : &merge->filter->set;
    const struct crowd *crowd = merge->tables[side]->crowd;
    const struct stash *stash = crowd ? &crowd->stash : NULL;
    if (!is_in_table(set) && *position < set->listed) {
        *entry = entries_listed(set)[(*position)++];
        return true;
    }
    while (stash && *position < stash->used) {
        const struct stash_node *held = &stash->nodes[(*position)++];
        *entry = (struct prefix_entry){held->key, held->tag};
        if (held->key)
            return true;
    }
    return false;
}

static bool is_removed(const struct merge *merge, struct prefix_entry entry)
{
    if (!is_seen(merge, entry.tag, 0))
        return false;
    return !tagged_set_holds(&merge->other->set, entry_there(merge, entry));
}

/* The same for what has no slot. What stays or comes is put into a table that is built; without one, what comes is
   listed. */
static roost_status merge_apart(struct merge *merge, bool lists)
{
    struct prefix_table *built = merge->built;
    struct prefix_entry entry;
    roost_status status = ROOST_OK;
    for (uint64_t at = 0; status == ROOST_OK && next_apart(merge, 0, &at, &entry);)
        if (!is_removed(merge, entry))
            status = built ? tagged_put(built, entry) : ROOST_OK;
        else if (!goes(merge, entry))
            status = ROOST_NO_MEMORY;
    for (uint64_t at = 0; status == ROOST_OK && next_apart(merge, 1, &at, &entry);) {
        entry.tag = tag_here(merge, entry.tag);
        bool seen = is_seen(merge, entry.tag, 1);
        merge->seen++;
        merge->come += !seen;
        if (seen)
            merge->sum -= merge->subtracts ? hash_of(merge, entry) : 0;
        else if (!comes(merge, entry, lists))
            status = ROOST_NO_MEMORY;
        else if (built)
            status = tagged_put(built, entry);
    }
    return status;
}

/* ---- few --------------------------------------------------------------------------------------------------------- */

static bool are_few(const struct merge *merge)
{
    return merge->come <= FEW_CHANGES + tagged_set_count(&merge->filter->set) / FEW_OF;
}

static bool is_indexed(struct joint_index *index, const struct joint_walk *walk, struct prefix_entry entry)
{
    uint64_t item = *joint_chain(index, entry.prefix);
    while (item && (walk->prefixes[item - 1] != entry.prefix || walk->tags[item - 1] != entry.tag))
        item = walk->scratch[item - 1];
    return item != 0;
}

/* Lists the changes of a range without sorting it: what the other has and is seen here is indexed, and what this filter
   has and is seen there is looked up. Chains are short, since few slots may have a prefix with given first bits. */
static bool list_by_index(struct merge *merge, struct joint_walk *walk, uint64_t own, struct joint_index *index)
{
    for (uint64_t i = own; i < walk->count; i++) {
        const struct prefix_entry entry = {walk->prefixes[i], walk->tags[i]};
        if (is_seen(merge, entry.tag, 1)) {
            joint_index_add(index, walk, i);
            continue;
        }
        merge->come++;
        if (!comes(merge, entry, true))
            return false;
    }
    for (uint64_t i = 0; i < own; i++) {
        const struct prefix_entry entry = {walk->prefixes[i], walk->tags[i]};
        if (is_seen(merge, entry.tag, 0) && !is_indexed(index, walk, entry) && !other_holds_apart(merge, entry) &&
            !goes(merge, entry))
            return false;
    }
    return true;
}

static bool list_range(struct merge *merge, struct joint_walk *walk)
{
    struct joint_index index;
    uint64_t own;
    if (!gather_sides(merge, walk, false, &own))
        return false;
    if (joint_index_begin(&index, walk))
        return list_by_index(merge, walk, own, &index);
    sort_sides(walk, own);
    return compare_range(merge, walk) && take_range(merge, walk, true);
}

/* Those of what is in slots. */
static roost_status list_ranges(struct merge *merge)
{
    struct joint_walk walk;
    roost_status status = ROOST_OK;
    joint_begin(&walk, merge->tables[0], merge->tables[1], NULL);
    while (status == ROOST_OK && are_few(merge) && joint_next(&walk)) {
        merge->seen += joint_census(&walk, 1).count;
        status = list_range(merge, &walk) ? ROOST_OK : ROOST_NO_MEMORY;
    }
    joint_end(&walk);
    return status;
}

/* Lists what goes and what comes, as long as few come. */
static roost_status list_changes(struct merge *merge)
{
    bool have_slots = merge->tables[0]->root || merge->tables[1]->root;
    roost_status status = have_slots ? list_ranges(merge) : ROOST_OK;
    return status == ROOST_OK && are_few(merge) ? merge_apart(merge, true) : status;
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

/* Shorter entries than this may span children of the root. */
static unsigned shortest_in_child(const struct prefix_table *table)
{
    return table->root->depth + 1u;
}

/* What spans children is put later, one by one. */
static bool part_late(struct merge *merge, struct joint_walk *walk, struct entry_list *late)
{
    const unsigned shortest = shortest_in_child(merge->built);
    const uint64_t mark = UINT64_C(1) << (63 - shortest);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < walk->count; i++) {
        const struct prefix_entry entry = {walk->prefixes[i], walk->tags[i]};
        walk->prefixes[kept] = entry.prefix;
        walk->tags[kept] = entry.tag;
        bool is_late = end_mark(entry.prefix) > mark;
        kept += !is_late;
        if (__builtin_expect(is_late, 0) && !list_entry(late, entry, merge->allocator))
            return false;
    }
    walk->count = kept;
    return true;
}

/* How many of the prefixes, from the first on, are at this hash or before. */
static uint64_t count_until(const uint64_t *prefixes, uint64_t count, uint64_t end)
{
    uint64_t from = 0, to = count;
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        if (prefixes[middle] <= end)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* The children of the root that are the present range. */
static roost_status build_children(struct merge *merge, const struct joint_walk *walk, uint64_t *child,
                                   struct entry_list *late)
{
    roost_status status = ROOST_OK;
    uint64_t done = 0;
    for (uint64_t start = walk->start, end = 0; status == ROOST_OK && end != walk->end; start = end + 1, ++*child) {
        end = range_end(start, depth_of_child(merge->built->root, *child));
        uint64_t some = count_until(walk->prefixes + done, walk->count - done, end);
        struct prefix_run run = {walk->prefixes + done, walk->tags + done, some, 0};
        status = tagged_build_child(merge->built, *child, start, &run);
        for (uint64_t i = run.count; i < some && status == ROOST_OK; i++)
            if (!list_entry(late, (struct prefix_entry){run.prefixes[i], run.tags[i]}, merge->allocator))
                status = ROOST_NO_MEMORY;
        done += some;
    }
    return status;
}

static roost_status build_ranges(struct merge *merge, struct entry_list *late, bool lists)
{
    struct joint_walk walk;
    roost_status status = ROOST_OK;
    uint64_t child = 0;
    joint_begin(&walk, merge->tables[0], merge->tables[1], merge->built);
    while (status == ROOST_OK && joint_next(&walk))
        status = merge_range(merge, &walk, true, lists) && part_late(merge, &walk, late)
                     ? build_children(merge, &walk, &child, late)
                     : ROOST_NO_MEMORY;
    joint_end(&walk);
    return status;
}

/* Another table, and lists of what changed where the journal wants them. */
static roost_status build_table(struct merge *merge, uint64_t about)
{
    const bool lists = journal_is_on(merge->filter->observed.base.journal);
    struct prefix_table *built = tagged_set_new_table(&merge->filter->set, &merge->filter->observed.base);
    struct entry_list late = {0};
    merge->built = built;
    if (built)
        built->root = new_directory(built, 0, about / built->target);
    if (!built || !built->root)
        return ROOST_NO_MEMORY;
    built->dense = true;
    roost_status status = build_ranges(merge, &late, lists);
    built->dense = false;
    for (uint64_t i = 0; i < late.count && status == ROOST_OK; i++)
        status = tagged_put(built, late.entries[i]);
    release_list(&late, merge->allocator);
    return status == ROOST_OK ? merge_apart(merge, lists) : status;
}

/* From the beginning. */
static roost_status build_changes(struct merge *merge)
{
    double part = merge->seen ? (double)merge->come / (double)merge->seen : 1;
    uint64_t about =
        tagged_set_count(&merge->filter->set) + (uint64_t)(part * (double)tagged_set_count(&merge->other->set));
    release_list(&merge->removed, merge->allocator);
    release_list(&merge->added, merge->allocator);
    merge->come = merge->seen = 0;
    merge->subtracts = part > 0.5;
    merge->sum = merge->subtracts ? merge->other->observed.sum : 0;
    return build_table(merge, about);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static bool own_entries(struct tagged_set *set, const struct entry_list *list)
{
    for (uint64_t i = 0; i < list->count; i++)
        if (!tagged_set_own(set, list->entries[i].prefix))
            return false;
    return true;
}

/* So that it cannot fail. */
static roost_status prepare_in_place(struct merge *merge)
{
    struct tagged_set *set = &merge->filter->set;
    roost_status status =
        tagged_set_reserve(set, &merge->filter->observed.base, merge->added.count, bytes_for_set(merge->filter));
    bool fails = status == ROOST_OK && !(own_entries(set, &merge->removed) && own_entries(set, &merge->added));
    return fails ? ROOST_NO_MEMORY : status;
}

/* All that can fail. */
static roost_status prepare(struct merge *merge)
{
    struct observed *filter = &merge->filter->observed;
    struct tagged_set *set = &merge->filter->set;
    uint64_t before = observed_bytes(filter);
    roost_status status = are_few(merge) ? prepare_in_place(merge) : build_changes(merge);
    if (status != ROOST_OK)
        return status;
    uint64_t grown = merge->joined.room > filter->causal.room ? merge->joined.room - filter->causal.room : 0;
    uint64_t bytes = observed_bytes(filter) + grown * sizeof *merge->joined.runs;
    if (merge->built)
        bytes += sizeof *merge->built + tagged_bytes(merge->built) - tagged_set_bytes(set);
    return bytes <= filter->base.environment.common->memory_limit || bytes <= before ? ROOST_OK : ROOST_TOO_LARGE;
}

static void note_changes(struct merge *merge)
{
    struct observed *filter = &merge->filter->observed;
    note_runs(filter, &merge->unseen); /* before those that are live: see ../observed/orcuckoo_merge.c */
    if (!journal_is_on(filter->base.journal))
        return;
    for (uint64_t i = 0; i < merge->removed.count; i++) {
        struct entry entry = entry_of_prefix(merge->removed.entries[i]);
        note_change(filter, CHANGE_DEAD, entry.key, entry.number, entry.counter);
    }
    for (uint64_t i = 0; i < merge->added.count; i++) {
        struct entry entry = entry_of_prefix(merge->added.entries[i]);
        note_change(filter, CHANGE_LIVE, entry.key, entry.number, entry.counter);
    }
}

/* Room for all that comes was reserved. */
static void change_in_place(struct merge *merge)
{
    struct tagged_set *set = &merge->filter->set;
    const roost_filter *owner = &merge->filter->observed.base;
    for (uint64_t i = 0; i < merge->removed.count; i++)
        tagged_set_drop(set, merge->removed.entries[i]);
    for (uint64_t done = 0, left; (left = merge->added.count - done) > 0;) {
        const struct prefix_entry *entries = merge->added.entries + done;
        size_t some = tagged_set_put_entries(set, entries, left < TAGGED_AT_ONCE ? left : TAGGED_AT_ONCE);
        if (some == 0)
            (void)!tagged_set_put(set, owner, *entries, bytes_for_set(merge->filter));
        done += some ? some : 1;
    }
    for (uint64_t i = 0; i < merge->removed.count; i++)
        tagged_set_shrink(set, owner, merge->removed.entries[i].prefix);
}

/* None of it fails. */
static void commit(struct merge *merge)
{
    struct growing_orcuckoo *filter = merge->filter;
    struct causal_context old = filter->observed.causal;
    note_changes(merge);
    filter->observed.sum += merge->sum;
    if (merge->built) {
        tagged_set_put_table(&filter->set, &filter->observed.base, merge->built);
        merge->built = NULL;
    } else
        change_in_place(merge);
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
    struct merge merge = {.filter = as_growing_orcuckoo(base),
                          .other = as_const_growing_orcuckoo(other),
                          .allocator = &base->environment.allocator};
    *changed = false;
    if (are_equal(&merge.filter->observed, &merge.other->observed))
        return ROOST_OK;
    roost_status status = begin(&merge);
    if (status == ROOST_OK)
        status = list_changes(&merge);
    if (status == ROOST_OK && (merge.removed.count > 0 || merge.unseen.dots > 0)) {
        status = prepare(&merge);
        if (status == ROOST_OK)
            commit(&merge);
        tagged_set_release_reserve(&merge.filter->set, base);
        *changed = status == ROOST_OK;
    }
    if (!*changed && merge.numbered)
        take_back_actors(&merge);
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
    for (uint32_t count; (count = tagged_set_next(&filter->set, &walk, entries)) > 0; seen += count) {
        bool is_next = walk.hash != sweep->node && walk.hash != 0; /* the first entries of another segment */
        sweep->node = walk.hash;
        if (is_next && seen >= most)
            return ROOST_OK; /* which is visited the next time */
        for (uint32_t i = 0; i < count; i++) {
            if (!has_seen_removed(&view, entry_of_prefix(entries[i])))
                continue;
            if (!tagged_set_own(&filter->set, entries[i].prefix))
                return ROOST_NO_MEMORY;
            filter->observed.store->drop(&filter->observed, entry_of_prefix(entries[i]));
        }
        if (walk.position & TAGGED_IN_CROWD && seen + count >= most) {
            sweep->row = (uint32_t)walk.position + 1; /* one more, as 0 is none */
            return ROOST_OK;
        }
    }
    tagged_set_settle(&filter->set, base);
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
