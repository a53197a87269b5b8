/*
 * Several tasks build one table.
 *
 * Segments are in the order of hashes, and what is in one range of hashes depends on nothing in another, as long as no
 * prefix spans both. So a table is cut by the first bits of hashes, into more parts than there are threads, and each
 * part is built by the functions that build a whole table, given a view of it:
 *
 *     table    root, counts, sum, allocator                       | child | child | child | child | ...   the places
 *     view     the same root with a count of its own, counts and                  ^       ^
 *              sum from 0, the memory of the task                                 this part's
 *
 * The calling thread then copies each segment to memory of the table's allocator, which takes a few per cent of the
 * time that building it took, and adds up what the parts counted. Numbers may wrap on the way: a merge counts what it drops.
 *
 * A part that fails, for lack of task memory, or whose hashes are so many that it made a nested directory, is
 * forgotten, and the calling thread builds it in the table itself.
 */
#include "table_parts.h"

unsigned shortest_length(const struct prefix_table *table)
{
    unsigned length = 0;
    while (length < MOST_LENGTH && table->counts[length] == 0)
        length++;
    return length;
}

bool table_nests_in(const struct prefix_table *table, unsigned bits)
{
    return !table->root || (table->root->depth >= bits && shortest_length(table) >= bits);
}

static uint64_t first_child(const struct directory *root, uint64_t range, unsigned bits)
{
    uint64_t index = range << (root->depth - bits);
    return index < root->split ? 2 * index : index + root->split;
}

struct child_span children_in(const struct directory *root, uint64_t from, uint64_t to, unsigned bits)
{
    return (struct child_span){start_of_range(from, bits), first_child(root, from, bits), first_child(root, to, bits)};
}

void part_begin(struct table_part *part, const struct prefix_table *table, struct child_span children)
{
    task_memory_reset(&part->memory);
    part->root = *table->root;
    part->root.count = 0;
    part->built = (struct prefix_table){.root = &part->root,
                                        .seed = table->seed,
                                        .most_bytes = UINT64_MAX,
                                        .target = table->target,
                                        .coming = table->coming,
                                        .dense = table->dense,
                                        .allocator = task_allocator(&part->memory)};
    part->children = children;
    part->status = ROOST_OK;
}

static bool is_adoptable(const struct table_part *part)
{
    bool whole = part->status == ROOST_OK;
    for (uint64_t i = part->children.first; i < part->children.end && whole; i++) {
        node child = *child_at(&part->root, i);
        whole = child && !is_nested(child);
    }
    return whole;
}

void part_forget(const struct table_part *part)
{
    for (uint64_t i = part->children.first; i < part->children.end; i++)
        *child_at(&part->root, i) = 0;
}

static void count_part(struct prefix_table *table, const struct table_part *part)
{
    table->root->count += part->root.count;
    table->count += part->built.count;
    table->sum += part->built.sum;
    for (unsigned length = 0; length <= MOST_LENGTH; length++)
        table->counts[length] += part->built.counts[length];
    table->longest = part->built.longest > table->longest ? part->built.longest : table->longest;
}

bool part_adopt(struct table_part *part, struct prefix_table *table, roost_status *status)
{
    *status = ROOST_OK;
    if (!is_adoptable(part)) {
        part_forget(part);
        return false;
    }
    for (uint64_t i = part->children.first; i < part->children.end; i++) {
        node *place = child_at(table->root, i);
        struct segment *segment = *status == ROOST_OK ? segment_copy(segment_of(*place), &table->allocator) : NULL;
        *place = (node)segment;
        if (!segment) {
            *status = ROOST_NO_MEMORY;
            continue;
        }
        table->bytes += segment_bytes(segment);
    }
    count_part(table, part);
    if (*status == ROOST_OK && table->bytes > table->most_bytes)
        *status = ROOST_TOO_LARGE;
    return true;
}
