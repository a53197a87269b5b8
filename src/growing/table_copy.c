/*
 * Copies of a table, at once or in slices, and moves of its memory. `table.c` has the essay.
 */
#include "table.h"

#include <string.h>

#include "crowd.h"

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static node copy_child(struct prefix_table *copy, node original);

static struct directory *copy_directory(struct prefix_table *copy, const struct directory *directory)
{
    struct directory *twin = new_directory(copy, directory->base, segments_of(directory));
    node last = 0, last_copy = 0;
    if (!twin)
        return NULL;
    twin->count = directory->count;
    for (uint64_t i = 0; i < segments_of(directory); i++) {
        node original = *child_at(directory, i);
        last_copy = original == last ? last_copy : copy_child(copy, original);
        last = original;
        *child_at(twin, i) = last_copy;
        if (last_copy)
            continue;
        free_directory(copy, twin);
        return NULL;
    }
    return twin;
}

static node copy_child(struct prefix_table *copy, node original)
{
    if (is_nested(original)) {
        struct directory *nested = copy_directory(copy, nested_of(original));
        return nested ? (node)nested | 1 : 0;
    }
    struct segment *segment = segment_copy(segment_of(original), &copy->allocator);
    if (segment) {
        copy->bytes += segment_bytes(segment);
        segment->crowd = segment_of(original)->crowd ? copy->crowd : NULL;
    }
    return (node)segment;
}

static void copy_counts(struct prefix_table *copy, const struct prefix_table *table)
{
    copy->count = table->count;
    copy->sum = table->sum;
    copy->longest = table->longest;
    memcpy(copy->counts, table->counts, sizeof copy->counts);
}

roost_status table_copy(struct prefix_table *copy, const struct prefix_table *table)
{
    if (!crowd_copy(&copy->crowd, table->crowd, &copy->allocator))
        return ROOST_NO_MEMORY;
    if (table->root) {
        copy->root = copy_directory(copy, table->root);
        if (!copy->root)
            return ROOST_NO_MEMORY;
    }
    copy_counts(copy, table);
    return ROOST_OK;
}

/* ---- copies in slices --------------------------------------------------------------------------------------------
 *
 * The copy has the same directory, which is cut as that of the original is. A segment that was copied says so, until it
 * changes.
 */

static bool cut_like(struct prefix_table *copy, const struct directory *original)
{
    struct directory *root = copy->root;
    while (segments_of(root) < segments_of(original)) {
        node old = root->upper[root->split];
        if (!root->lower) {
            root->lower = memory_allocate(&copy->allocator, places_bytes(root->depth + 1u));
            if (!root->lower)
                return false;
            copy->bytes += places_bytes(root->depth + 1u);
        }
        if (is_nested(old))
            free_directory(copy, nested_of(old));
        else
            free_segment(copy, segment_of(old));
        root->upper[root->split] = 0;
        advance_split(copy, root);
    }
    return true;
}

static roost_status copy_segment(struct prefix_table *copy, node *place, struct segment *segment)
{
    if (segment->crowd && !crowd_open(&copy->crowd, &copy->allocator))
        return ROOST_NO_MEMORY;
    struct segment *twin = segment_copy(segment, &copy->allocator);
    if (!twin)
        return ROOST_NO_MEMORY;
    twin->crowd = segment->crowd ? copy->crowd : NULL;
    free_segment(copy, segment_of(*place));
    *place = (node)twin;
    copy->bytes += segment_bytes(twin);
    return copy->bytes > copy->most_bytes ? ROOST_TOO_LARGE : ROOST_OK;
}

roost_status table_copy_some(struct prefix_table *table, struct prefix_table *copy, uint64_t *effort, bool *clean)
{
    roost_status status = ROOST_OK;
    *clean = true;
    if (!table->root) {
        table_release(copy);
        return ROOST_OK;
    }
    if (copy->root && segments_of(copy->root) > segments_of(table->root)) { /* it was built anew */
        free_directory(copy, copy->root);
        copy->root = NULL;
    }
    if (!copy->root) {
        copy->root = new_directory(copy, 0, 1);
        copy->copy_job = ++table->copy_job;
    }
    if (!copy->root || !cut_like(copy, table->root))
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < segments_of(table->root) && status == ROOST_OK; i++) {
        node child = *child_at(table->root, i);
        if (is_nested(child) || segment_of(child)->copied_by == copy->copy_job)
            continue;
        uint64_t pages = segment_bytes(segment_of(child)) / 4096 + 1;
        *clean = *effort >= pages;
        if (!*clean)
            break;
        *effort -= pages;
        node *place = child_at(copy->root, i);
        if (is_nested(*place))
            return ROOST_CORRUPT;
        status = copy_segment(copy, place, segment_of(child));
        segment_of(child)->copied_by = copy->copy_job;
    }
    return status;
}

/* What is nested is rare and copied at the end. */
roost_status table_copy_rest(const struct prefix_table *table, struct prefix_table *copy)
{
    if (!table->root)
        return ROOST_OK;
    if (!crowd_copy(&copy->crowd, table->crowd, &copy->allocator))
        return ROOST_NO_MEMORY;
    node last = 0, last_copy = 0;
    for (uint64_t i = 0; i < segments_of(table->root); i++) {
        node child = *child_at(table->root, i), *place = child_at(copy->root, i);
        if (!is_nested(child))
            continue;
        free_segment(copy, segment_of(*place));
        *place = 0;
        last_copy = child == last ? last_copy : copy_child(copy, child);
        last = child;
        if (!last_copy)
            return ROOST_NO_MEMORY;
        *place = last_copy;
    }
    copy->root->count = table->root->count;
    copy_counts(copy, table);
    return ROOST_OK;
}

/* ---- defragmentation --------------------------------------------------------------------------------------------- */

static void move_segment(node *place, const struct memory_mover *mover)
{
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
