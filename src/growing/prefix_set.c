/*
 * Few prefixes in little memory.
 *
 *     none        | 0 |                                16 bytes, which are part of the filter
 *     one         | prefix |
 *     2 to 128    | list |  ->  | p0 | p1 | p2 | p3 |  8 bytes each, room for 4, 8, 16, ... 128
 *     more        | table | ->  struct prefix_table    (table.c) a kilobyte at least, then two or three bytes each
 *
 * A server may have millions of filters of a few elements each. In a list look-ups are binary searches: prefixes that
 * do not cover each other are in the order of all hashes that they cover, so the only one that may cover a hash is the
 * first one that ends at or after it.
 *
 * A set that has become a table stays one. All of this is layout: frames and digests are the same.
 */
#include "prefix_set.h"

#include <string.h>

#include "few.h"
#include "prefix_bytes.h"
#include "../base/hash.h"

#define FEWEST_ROOM 4

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static const uint64_t *list_of(const struct prefix_set *set)
{
    return set->listed == 1 ? &set->only : set->list;
}

static uint64_t room_for(uint64_t count)
{
    return room_of_list(count, FEWEST_ROOM);
}

/* The first that ends at or after this hash. */
static unsigned find_end(const struct prefix_set *set, uint64_t hash)
{
    const uint64_t *list = list_of(set);
    unsigned from = 0, to = set->listed;
    while (from < to) {
        unsigned middle = (from + to) / 2;
        if (last_covered(list[middle]) < hash)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool set_list_contains(const struct prefix_set *set, uint64_t hash)
{
    unsigned place = find_end(set, hash);
    return place < set->listed && covers_hash(list_of(set)[place], hash);
}

static bool list_covers(const struct prefix_set *set, uint64_t prefix)
{
    unsigned place = find_end(set, first_covered(prefix));
    return place < set->listed && covers_prefix(list_of(set)[place], prefix);
}

/* Another list takes the place of this one. */
static roost_status put_list(struct prefix_set *set, const roost_filter *owner, const uint64_t *prefixes,
                             uint64_t count)
{
    const roost_allocator *allocator = &owner->environment.allocator;
    uint64_t room = room_for(count), *list = NULL;
    if (room * sizeof *list > owner->environment.common->memory_limit)
        return ROOST_TOO_LARGE;
    if (room) {
        list = memory_allocate(allocator, room * sizeof *list);
        if (!list)
            return ROOST_NO_MEMORY;
        memcpy(list, prefixes, count * sizeof *list);
    }
    uint64_t only = count == 1 ? *prefixes : 0;
    set_release(set, owner);
    if (room)
        set->list = list;
    else
        set->only = only;
    set->listed = (uint8_t)count;
    return ROOST_OK;
}

/* The union of two sorted lists, without what is covered. Returns how many there are. */
static uint64_t unite(uint64_t *all, const struct prefix_set *set, const uint64_t *prefixes, uint64_t count)
{
    const uint64_t *list = list_of(set);
    uint64_t total = 0;
    unsigned i = 0;
    for (uint64_t j = 0; j < count; j++) {
        while (i < set->listed && last_covered(list[i]) < first_covered(prefixes[j]))
            all[total++] = list[i++];
        while (i < set->listed && covers_prefix(prefixes[j], list[i]))
            i++;
        all[total++] = prefixes[j];
    }
    while (i < set->listed)
        all[total++] = list[i++];
    return total;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static struct prefix_table *new_table(const roost_filter *owner)
{
    return new_table_of(owner, table_init);
}

static void put_table(struct prefix_set *set, const roost_filter *owner, struct prefix_table *table)
{
    set_release(set, owner);
    set->table = table;
    set->in_table = true;
}

/* A table that was filled takes the place of what the set has; otherwise it is freed. */
static roost_status put_filled_table(struct prefix_set *set, const roost_filter *owner, struct prefix_table *table,
                                     roost_status status)
{
    if (status == ROOST_OK)
        put_table(set, owner, table);
    else
        free_table_of(owner, table);
    return status;
}

static roost_status build_table(struct prefix_set *set, const roost_filter *owner, uint64_t count, next_prefix *next,
                                void *context)
{
    struct prefix_table *table = new_table(owner);
    if (!table)
        return ROOST_NO_MEMORY;
    return put_filled_table(set, owner, table, table_build(table, count, next, context));
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

void set_release(struct prefix_set *set, const roost_filter *owner)
{
    if (set->in_table)
        free_table_of(owner, set->table);
    else if (set->listed > 1)
        memory_release(&owner->environment.allocator, set->list);
    *set = (struct prefix_set){.only = 0};
}

void set_contains_many(const struct prefix_set *set, bool *found, const roost_hash *hashes, size_t count)
{
    if (count == 1)
        *found = set_contains(set, hashes->high);
    else if (set->in_table)
        table_contains_many(set->table, found, hashes, count);
    else
        for (size_t i = 0; i < count; i++)
            found[i] = set_list_contains(set, hashes[i].high);
}

bool set_covers(const struct prefix_set *set, uint64_t prefix)
{
    return set->in_table ? table_covers(set->table, prefix) : list_covers(set, prefix);
}

static bool is_covered(const void *set, uint64_t prefix)
{
    return set_covers(set, prefix);
}

bool set_covers_all(const struct prefix_set *set, const struct prefix_set *other)
{
    if (other->in_table)
        return table_every(other->table, is_covered, set);
    for (unsigned i = 0; i < other->listed; i++)
        if (!set_covers(set, list_of(other)[i]))
            return false;
    return true;
}

roost_status set_add_all(struct prefix_set *set, const roost_filter *owner, const uint64_t *prefixes, uint64_t count)
{
    if (count == 0)
        return ROOST_OK;
    if (set->in_table)
        return table_add_all(set->table, prefixes, count);
    const roost_allocator *allocator = &owner->environment.allocator;
    uint64_t few[MOST_LISTED + 1], *all = few;
    if (set->listed + count > MOST_LISTED + 1)
        all = memory_allocate(allocator, (set->listed + count) * sizeof *all);
    if (!all)
        return ROOST_NO_MEMORY;
    uint64_t total = unite(all, set, prefixes, count);
    struct prefix_list list = {all, total};
    roost_status status =
        total <= MOST_LISTED ? put_list(set, owner, all, total) : build_table(set, owner, total, next_of_list, &list);
    memory_release(allocator, all != few ? all : NULL);
    return status;
}

/* What a list has and the set does not cover. */
static uint64_t unseen_of_list(uint64_t unseen[MOST_LISTED], const struct prefix_set *set, const uint64_t *list,
                               uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++)
        if (!set_covers(set, list[i]))
            unseen[kept++] = list[i];
    return kept;
}

static roost_status merge_list(struct prefix_set *set, const roost_filter *owner, const uint64_t *list, uint64_t count,
                               struct merge_result *result)
{
    uint64_t unseen[MOST_LISTED];
    result->unseen = unseen_of_list(unseen, set, list, count);
    if (result->lists && !prefixes_append(&result->added, unseen, result->unseen, &owner->environment.allocator))
        return ROOST_NO_MEMORY;
    return set_add_all(set, owner, unseen, result->unseen);
}

/* A table of both takes the place of the list. */
static roost_status merge_into_list(struct prefix_set *set, const roost_filter *owner, const struct prefix_set *other,
                                    struct merge_result *result)
{
    struct prefix_list list = {list_of(set), set->listed};
    struct prefix_table *table = new_table(owner);
    if (!table)
        return ROOST_NO_MEMORY;
    roost_status status = set->listed ? table_build(table, set->listed, next_of_list, &list) : ROOST_OK;
    if (status == ROOST_OK)
        status = table_merge(table, other->table, result);
    return put_filled_table(set, owner, table, status);
}

/* The few prefixes of a table. */
static roost_status merge_few_of_table(struct prefix_set *set, const roost_filter *owner,
                                       const struct prefix_table *table, struct merge_result *result)
{
    uint64_t few[MOST_LISTED], count = 0;
    struct table_stream stream = {.at = 0};
    walk_begin(&stream.walk, table, 0);
    for (uint64_t prefix; (prefix = next_of_table(&stream)) != 0;)
        few[count++] = prefix;
    walk_end(&stream.walk);
    return stream.status == ROOST_OK ? merge_list(set, owner, few, count, result) : stream.status;
}

roost_status set_merge(struct prefix_set *set, const roost_filter *owner, const struct prefix_set *other,
                       struct merge_result *result)
{
    if (!other->in_table)
        return merge_list(set, owner, list_of(other), other->listed, result);
    if (set->in_table && other->table->root)
        return table_merge(set->table, other->table, result);
    if (set->listed + other->table->count <= MOST_LISTED)
        return merge_few_of_table(set, owner, other->table, result);
    return merge_into_list(set, owner, other, result);
}

/* Where the list has room, and nothing is covered. */
static void insert(struct prefix_set *set, unsigned place, uint64_t prefix)
{
    memmove(set->list + place + 1, set->list + place, (set->listed - place) * sizeof *set->list);
    set->list[place] = prefix;
    set->listed++;
}

roost_status set_add(struct prefix_set *set, const roost_filter *owner, uint64_t prefix)
{
    if (set->in_table)
        return table_add(set->table, prefix);
    if (set->listed == 0) {
        set->only = prefix;
        set->listed = 1;
        return ROOST_OK;
    }
    unsigned place = find_end(set, first_covered(prefix));
    bool covers = place < set->listed && covers_prefix(prefix, list_of(set)[place]);
    if (covers || room_for(set->listed) != room_for(set->listed + 1u))
        return set_add_all(set, owner, &prefix, 1);
    insert(set, place, prefix);
    return ROOST_OK;
}

roost_status set_build(struct prefix_set *set, const roost_filter *owner, uint64_t count, next_prefix *next,
                       void *context)
{
    uint64_t list[MOST_LISTED], listed = 0;
    if (count > MOST_LISTED)
        return build_table(set, owner, count, next, context);
    for (uint64_t prefix; (prefix = next(context)) != 0;) {
        if (listed == MOST_LISTED)
            return ROOST_CORRUPT;
        list[listed++] = prefix;
    }
    return put_list(set, owner, list, listed);
}

roost_status set_read(struct prefix_set *set, const roost_filter *owner, struct prefix_reader *reader)
{
    if (reader->census.count <= MOST_LISTED) {
        roost_status status = set_build(set, owner, reader->census.count, next_of_reader, reader);
        return status == ROOST_OK ? reader->status : status;
    }
    struct prefix_table *table = new_table(owner);
    if (!table)
        return ROOST_NO_MEMORY;
    return put_filled_table(set, owner, table, read_table(table, reader));
}

roost_status set_use_table(struct prefix_set *set, const roost_filter *owner)
{
    struct prefix_list list = {list_of(set), set->listed};
    return set->in_table ? ROOST_OK : build_table(set, owner, set->listed, next_of_list, &list);
}

uint64_t set_count_of(const struct prefix_set *set, unsigned length)
{
    uint64_t count = 0;
    if (set->in_table)
        return set->table->counts[length];
    for (unsigned i = 0; i < set->listed; i++)
        count += prefix_length(list_of(set)[i]) == length;
    return count;
}

void set_counts(const struct prefix_set *set, uint64_t counts[MOST_LENGTH + 1])
{
    if (set->in_table) {
        memcpy(counts, set->table->counts, sizeof set->table->counts);
        return;
    }
    memset(counts, 0, (MOST_LENGTH + 1) * sizeof *counts);
    for (unsigned i = 0; i < set->listed; i++)
        counts[prefix_length(list_of(set)[i])]++;
}

uint128 set_sum(const struct prefix_set *set, uint64_t seed)
{
    uint128 sum = 0;
    if (set->in_table)
        return set->table->sum;
    for (unsigned i = 0; i < set->listed; i++)
        sum += hash_number(seed, list_of(set)[i]);
    return sum;
}

bool set_equals(const struct prefix_set *set, const struct prefix_set *other, uint64_t seed)
{
    return set_count(set) == set_count(other) && set_sum(set, seed) == set_sum(other, seed);
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

void set_stream_begin(struct set_stream *stream, const struct prefix_set *set)
{
    *stream = (struct set_stream){.in_table = set->in_table};
    if (set->in_table)
        walk_begin(&stream->table.walk, set->table, 0);
    else
        stream->list = (struct prefix_list){list_of(set), set->listed};
}

void set_stream_skip(struct set_stream *stream, const struct prefix_set *known)
{
    if (stream->in_table && known->in_table)
        stream->table.walk.known = known->table;
}

uint64_t next_of_set(void *context)
{
    struct set_stream *stream = context;
    return stream->in_table ? next_of_table(&stream->table) : next_of_list(&stream->list);
}

void set_stream_end(struct set_stream *stream)
{
    if (stream->in_table)
        walk_end(&stream->table.walk);
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* Which lengths of prefixes that begin in a segment are wanted, as the ends of these. Those of one length are positions
   in a row. */
static uint64_t wanted_ends(const struct prefix_table *table, const struct segment *segment,
                            const struct position_visitor *visitor)
{
    uint64_t ends = 0;
    if (!visitor->wants)
        return UINT64_MAX;
    for (unsigned length = 0; length <= MOST_LENGTH; length++) {
        if (table->counts[length] == 0)
            continue;
        uint64_t from = prefix_position(prefix_of(segment->start, length));
        uint64_t count = length > segment->depth ? UINT64_C(1) << (length - segment->depth) : 1;
        if (visitor->wants(visitor->context, from, from + count))
            ends |= UINT64_C(1) << (63 - length);
    }
    return ends;
}

static roost_status visit_table(const struct prefix_table *table, const struct position_visitor *visitor)
{
    struct table_walk walk;
    roost_status status = ROOST_OK;
    walk_begin(&walk, table, 0);
    for (const struct segment *segment; status == ROOST_OK && (segment = walk_segment(&walk)) != NULL;) {
        uint64_t ends = wanted_ends(table, segment, visitor);
        if (ends == 0) {
            walk_pass(&walk);
            continue;
        }
        status = walk_positions(&walk, ends);
        if (status == ROOST_OK)
            visitor->visit(visitor->context, walk.prefixes, walk.count);
    }
    walk_end(&walk);
    return status;
}

roost_status set_visit_positions(const struct prefix_set *set, const struct position_visitor *visitor)
{
    uint64_t listed[MOST_LISTED];
    if (set->in_table)
        return visit_table(set->table, visitor);
    if (set->listed > 0) /* else there may be no list */
        memcpy(listed, list_of(set), set->listed * sizeof *listed);
    visitor->visit(visitor->context, listed, keep_positions(listed, set->listed, UINT64_MAX));
    return ROOST_OK;
}

/* ---- copies and moves -------------------------------------------------------------------------------------------- */

roost_status set_copy(struct prefix_set *copy, const roost_filter *owner, const struct prefix_set *set)
{
    if (!set->in_table)
        return put_list(copy, owner, list_of(set), set->listed);
    struct prefix_table *table = new_table(owner);
    if (!table)
        return ROOST_NO_MEMORY;
    roost_status status = table_copy(table, set->table);
    if (status == ROOST_OK)
        put_table(copy, owner, table);
    else
        free_table_of(owner, table);
    return status;
}

bool set_move(struct prefix_set *set, const struct memory_mover *mover, uint64_t place)
{
    if (!set->in_table) {
        if (set->listed > 1)
            set->list = memory_moved(mover, set->list);
        return false;
    }
    if (place == 0)
        set->table = memory_moved(mover, set->table);
    return table_move(set->table, mover, place);
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

uint64_t set_bytes(const struct prefix_set *set)
{
    return set->in_table ? sizeof *set->table + set->table->bytes : room_for(set->listed) * sizeof *set->list;
}

double set_load(const struct prefix_set *set)
{
    uint64_t room = room_for(set->listed);
    if (set->in_table)
        return table_load(set->table);
    return set->listed ? (double)set->listed / (double)(room ? room : 1) : 0;
}

bool set_check(const struct prefix_set *set)
{
    if (set->in_table)
        return table_check(set->table);
    for (unsigned i = 1; i < set->listed; i++)
        if (last_covered(list_of(set)[i - 1]) >= first_covered(list_of(set)[i]))
            return false;
    return set->listed <= MOST_LISTED;
}
