/*
 * Walks over the prefixes of a table in the order of hashes: segment by segment, or one by one as a source. `table.c`
 * has the essay.
 */
#include "table.h"

/* ---- walking ----------------------------------------------------------------------------------------------------- */

void walk_begin(struct table_walk *walk, const struct prefix_table *table, uint64_t from)
{
    *walk = (struct table_walk){.table = table, .next = from, .last = UINT64_MAX, .ended = !table->root};
}

void walk_end(struct table_walk *walk)
{
    memory_release(&walk->table->allocator, walk->memory);
    walk->memory = walk->prefixes = NULL;
}

void walk_use(struct table_walk *walk, uint64_t *array, uint64_t room)
{
    walk->prefixes = array;
    walk->scratch = array + room;
    walk->room = room;
}

static bool make_room(struct table_walk *walk, uint64_t room)
{
    if (walk->prefixes && room <= walk->room)
        return true;
    walk_end(walk);
    room += room / 4 + 1;
    walk->memory = walk->prefixes = memory_allocate(&walk->table->allocator, 3 * room * sizeof *walk->prefixes);
    walk->room = walk->prefixes ? room : 0;
    walk->scratch = walk->prefixes + walk->room;
    return walk->prefixes != NULL;
}

/* Whether another table has the same prefixes in the range of a segment: in one segment, or in several. */
static bool is_known(const struct prefix_table *known, const struct segment *segment)
{
    const uint64_t end = range_end(segment->start, segment->depth);
    uint128 sum = 0;
    for (uint64_t next = segment->start;;) {
        const struct segment *part = find_segment(known->root, next);
        if (part->depth < segment->depth)
            return false;
        sum += part->sum;
        next = range_end(part->start, part->depth) + 1;
        if (next == end + 1)
            return sum == segment->sum;
    }
}

const struct segment *walk_segment(const struct table_walk *walk)
{
    return walk->ended ? NULL : find_segment(walk->table->root, walk->next);
}

void walk_pass(struct table_walk *walk)
{
    const struct segment *segment = walk_segment(walk);
    uint64_t end = range_end(segment->start, segment->depth);
    walk->ended = end >= walk->last;
    walk->next = end + 1;
}

roost_status walk_next(struct table_walk *walk, bool *more)
{
    *more = !walk->ended;
    walk->count = 0;
    if (walk->ended)
        return ROOST_OK;
    const struct segment *segment = walk_segment(walk);
    if (!segment_is_continued(segment) && (!walk->known || !walk->known->root || !is_known(walk->known, segment))) {
        if (!make_room(walk, segment_room(segment)))
            return ROOST_NO_MEMORY;
        walk->count = segment_list(segment, walk->prefixes, walk->scratch);
    }
    walk_pass(walk);
    return ROOST_OK;
}

roost_status walk_positions(struct table_walk *walk, uint64_t ends)
{
    const struct segment *segment = walk_segment(walk);
    if (!make_room(walk, segment_room(segment)))
        return ROOST_NO_MEMORY;
    walk->count = segment_positions(segment, walk->prefixes, ends);
    walk_pass(walk);
    return ROOST_OK;
}

bool table_every(const struct prefix_table *table, prefix_test *test, const void *context)
{
    struct table_walk walk;
    bool holds = true;
    for (walk_begin(&walk, table, 0); holds && !walk.ended; walk_pass(&walk)) {
        const struct segment *segment = walk_segment(&walk);
        holds = segment_is_continued(segment) || segment_every(segment, test, context);
    }
    return holds;
}

void cover_begin(struct cover_cursor *cursor, const struct prefix_table *table)
{
    *cursor = (struct cover_cursor){.at = 0};
    walk_begin(&cursor->walk, table, 0);
}

void cover_end(struct cover_cursor *cursor)
{
    walk_end(&cursor->walk);
}

static roost_status cover_segment(struct cover_cursor *cursor, uint64_t hash)
{
    const struct segment *segment = find_segment(cursor->walk.table->root, hash);
    if (!make_room(&cursor->walk, segment_room(segment)))
        return ROOST_NO_MEMORY;
    cursor->walk.count = segment_list(segment, cursor->walk.prefixes, cursor->walk.scratch);
    cursor->end = range_end(segment->start, segment->depth);
    cursor->at = 0;
    return ROOST_OK;
}

/* Entries are disjoint, so only the first that does not end before the prefix can cover it. */
roost_status cover_next(struct cover_cursor *cursor, uint64_t prefix, bool *covered)
{
    const uint64_t hash = first_covered(prefix);
    *covered = false;
    if (!cursor->walk.table->root)
        return ROOST_OK;
    if (!cursor->walk.prefixes || hash > cursor->end) {
        roost_status status = cover_segment(cursor, hash);
        if (status != ROOST_OK)
            return status;
    }
    const uint64_t *held = cursor->walk.prefixes;
    while (cursor->at < cursor->walk.count && last_covered(held[cursor->at]) < hash)
        cursor->at++;
    *covered = cursor->at < cursor->walk.count && covers_prefix(held[cursor->at], prefix);
    return ROOST_OK;
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

uint64_t next_of_list(void *context)
{
    struct prefix_list *list = context;
    return list->left ? list->left--, *list->prefixes++ : 0;
}

static bool next_segment(struct table_stream *stream)
{
    bool more = true;
    while (stream->at == stream->walk.count && more && stream->status == ROOST_OK) {
        stream->status = walk_next(&stream->walk, &more);
        stream->at = 0;
    }
    return stream->at < stream->walk.count;
}

uint64_t next_of_table(void *context)
{
    struct table_stream *stream = context;
    if (__builtin_expect(stream->at == stream->walk.count, 0) && !next_segment(stream))
        return 0;
    return stream->walk.prefixes[stream->at++];
}
