/*
 * Copies of a table, and moves of its memory. `table.c` has the essay.
 *
 * A copy has a directory of its own, and shares all segments with the original until either changes (segment.c). That
 * takes a few nanoseconds for each, once they are on their way from memory together. Not shared are segments whose
 * crowd is that of their table, and those of a table whose allocator cannot release them.
 */
#include "table.h"

#include <string.h>

#include "crowd.h"

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* Segments of a directory that are on their way from memory. */
#define ON_THEIR_WAY 8

static node copy_child(struct prefix_table *copy, node original, bool shares);

static void fetch_ahead(const struct directory *directory, uint64_t i)
{
    if (i + ON_THEIR_WAY < segments_of(directory))
        __builtin_prefetch((void *)(uintptr_t)*child_at(directory, i + ON_THEIR_WAY), 1);
}

static struct directory *copy_directory(struct prefix_table *copy, const struct directory *directory, bool shares)
{
    struct directory *twin = new_directory(copy, directory->base, segments_of(directory));
    node last = 0, last_copy = 0;
    if (!twin)
        return NULL;
    twin->count = directory->count;
    for (uint64_t i = 0; i < segments_of(directory); i++) {
        node original = *child_at(directory, i);
        fetch_ahead(directory, i);
        last_copy = original == last ? last_copy : copy_child(copy, original, shares);
        last = original;
        *child_at(twin, i) = last_copy;
        if (last_copy)
            continue;
        free_directory(copy, twin);
        return NULL;
    }
    return twin;
}

static struct segment *copy_or_share(struct prefix_table *copy, struct segment *segment, bool shares)
{
    if (shares && !segment->crowd) {
        segment_share(segment, &copy->allocator, copy->count_shared);
        return segment;
    }
    struct segment *twin = segment_copy(segment, &copy->allocator);
    if (twin)
        twin->crowd = segment->crowd ? copy->crowd : NULL;
    return twin;
}

static node copy_child(struct prefix_table *copy, node original, bool shares)
{
    if (is_nested(original)) {
        struct directory *nested = copy_directory(copy, nested_of(original), shares);
        return nested ? (node)nested | 1 : 0;
    }
    struct segment *segment = copy_or_share(copy, segment_of(original), shares);
    copy->bytes += segment ? segment_bytes(segment) : 0;
    return (node)segment;
}

static void copy_counts(struct prefix_table *copy, const struct prefix_table *table)
{
    copy->count = table->count;
    copy->sum = table->sum;
    copy->longest = table->longest;
    memcpy(copy->counts, table->counts, sizeof copy->counts);
}

static bool can_share(const struct prefix_table *copy, const struct prefix_table *table)
{
    const struct memory_account mine = {copy->allocator, copy->count_shared};
    const struct memory_account theirs = {table->allocator, table->count_shared};
    return may_share(&mine, &theirs);
}

roost_status table_copy(struct prefix_table *copy, const struct prefix_table *table)
{
    if (!crowd_copy(&copy->crowd, table->crowd, &copy->allocator))
        return ROOST_NO_MEMORY;
    if (table->root) {
        copy->root = copy_directory(copy, table->root, can_share(copy, table));
        if (!copy->root)
            return ROOST_NO_MEMORY;
    }
    copy_counts(copy, table);
    return ROOST_OK;
}

/* ---- defragmentation --------------------------------------------------------------------------------------------- */

static void move_segment(node *place, const struct memory_mover *mover)
{
    if (segment_is_shared(segment_of(*place)))
        return;
    struct segment *segment = memory_moved(mover, segment_of(*place));
    for (unsigned i = 0; i < segment->block_count; i++)
        segment->blocks[i] = memory_moved(mover, segment->blocks[i]);
    segment->shorts = memory_moved(mover, segment->shorts);
    segment->spill = memory_moved(mover, segment->spill);
    *place = (node)segment;
}

bool table_move(struct prefix_table *table, const struct memory_mover *mover, uint64_t place)
{
    struct directory *root = table->root;
    if (!root)
        return false;
    if (place == 0) {
        crowd_move(table->crowd, mover);
        root = table->root = memory_moved(mover, root);
        root->upper = memory_moved(mover, root->upper);
        root->lower = memory_moved(mover, root->lower);
        return true;
    }
    if (place <= segments_of(root) && !is_nested(*child_at(root, place - 1)))
        move_segment(child_at(root, place - 1), mover);
    return place < segments_of(root);
}
