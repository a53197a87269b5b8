/*
 * A table that is built at once of prefixes in order, range by range. `table.c` has the essay.
 */
#include "table.h"

#include <string.h>

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* What comes next, for ranges one after the other. */
struct supply {
    next_prefix *next;
    void *context;
    uint64_t ahead; /* the next prefix, which is not of the present range; 0: there is none */
    struct prefix_run run;
    uint64_t room;
};

static bool supply_room(struct prefix_table *table, struct supply *supply)
{
    uint64_t room = supply->room ? 2 * supply->room : 256;
    uint64_t *prefixes = memory_allocate(&table->allocator, room * sizeof *prefixes);
    if (!prefixes)
        return false;
    if (supply->run.count)
        memcpy(prefixes, supply->run.prefixes, supply->run.count * sizeof *prefixes);
    memory_release(&table->allocator, supply->run.prefixes);
    supply->run.prefixes = prefixes;
    supply->room = room;
    return true;
}

static inline bool supply_add(struct prefix_table *table, struct supply *supply, uint64_t prefix)
{
    if (supply->run.count == supply->room && !supply_room(table, supply))
        return false;
    supply->run.prefixes[supply->run.count++] = prefix;
    return true;
}

/* The prefixes of the next range: those of the last one that go on, and what is new. */
static bool supply_range(struct prefix_table *table, struct supply *supply, uint64_t start, uint64_t end)
{
    uint64_t last = supply->run.count ? supply->run.prefixes[supply->run.count - 1] : 0;
    supply->run.count = 0;
    if (last && last_covered(last) >= start && !supply_add(table, supply, last))
        return false;
    for (; supply->ahead && first_covered(supply->ahead) <= end; supply->ahead = supply->next(supply->context)) {
        if (!supply_add(table, supply, supply->ahead))
            return false;
        table_count_in(table, supply->ahead, 0); /* the sum comes with that of the segment */
    }
    return true;
}

static roost_status build_child(struct prefix_table *table, struct supply *supply, uint64_t i, uint64_t start)
{
    struct directory *root = table->root;
    unsigned depth = depth_of_child(root, i);
    if (!supply_range(table, supply, start, range_end(start, depth)))
        return ROOST_NO_MEMORY;
    const struct prefix_run *run = &supply->run;
    uint64_t last = run->count ? run->prefixes[run->count - 1] : 0;
    uint128 sum = sum_of(table, start, run->prefixes, run->count);
    node child = new_sorted_child(table, start, depth, run->prefixes, run->count, sum);
    *child_at(root, i) = child;
    if (!child)
        return ROOST_NO_MEMORY;
    if (last)
        run->prefixes[run->count - 1] = last; /* which the next range may begin with */
    table->sum += sum;
    if (!is_nested(child))
        root->count += run->count;
    return table->bytes > table->most_bytes ? ROOST_TOO_LARGE : ROOST_OK;
}

roost_status table_build_children(struct prefix_table *table, struct child_span span, next_prefix *next, void *context)
{
    struct supply supply = {.next = next, .context = context};
    uint64_t start = span.start;
    roost_status status = ROOST_OK;
    supply.ahead = next(context);
    for (uint64_t i = span.first; i < span.end && status == ROOST_OK; i++) {
        status = build_child(table, &supply, i, start);
        start = range_end(start, depth_of_child(table->root, i)) + 1;
    }
    memory_release(&table->allocator, supply.run.prefixes);
    return status;
}

roost_status table_build_begin(struct prefix_table *table, uint64_t count)
{
    table->root = new_directory(table, 0, count / table->target);
    table->dense = table->root != NULL;
    return table->root ? ROOST_OK : ROOST_NO_MEMORY;
}

roost_status table_build_end(struct prefix_table *table, roost_status status)
{
    table->dense = false;
    if (status != ROOST_OK)
        table_release(table);
    return status;
}

roost_status table_build(struct prefix_table *table, uint64_t count, next_prefix *next, void *context)
{
    roost_status status = table_build_begin(table, count);
    if (status != ROOST_OK)
        return status;
    struct child_span all = {0, 0, segments_of(table->root)};
    return table_build_end(table, table_build_children(table, all, next, context));
}

/* ---- many at once ------------------------------------------------------------------------------------------------ */

/* Two sources, both in order, as one: without what the other covers. */
struct merged_sources {
    next_prefix *next[2];
    void *context[2];
    uint64_t ahead[2];
};

static uint64_t next_merged(void *context)
{
    struct merged_sources *sources = context;
    for (;;) {
        uint64_t a = sources->ahead[0], b = sources->ahead[1];
        if (a && b && (covers_prefix(a, b) || covers_prefix(b, a))) {
            unsigned covered = covers_prefix(a, b);
            sources->ahead[covered] = sources->next[covered](sources->context[covered]);
            continue;
        }
        unsigned first = !a || (b && b < a);
        uint64_t prefix = sources->ahead[first];
        if (prefix)
            sources->ahead[first] = sources->next[first](sources->context[first]);
        return prefix;
    }
}

roost_status table_rebuild_with(struct prefix_table *table, const uint64_t *prefixes, uint64_t count)
{
    struct prefix_table built = *table;
    struct table_stream stream = {.at = 0};
    struct prefix_list list = {prefixes, count};
    struct merged_sources sources = {{next_of_table, next_of_list}, {&stream, &list}, {0}};
    built.root = NULL;
    table_release(&built);
    walk_begin(&stream.walk, table, 0);
    sources.ahead[0] = next_of_table(&stream);
    sources.ahead[1] = next_of_list(&list);
    roost_status status = table_build(&built, table->count + count, next_merged, &sources);
    walk_end(&stream.walk);
    if (status == ROOST_OK && stream.status != ROOST_OK) {
        table_release(&built);
        status = stream.status;
    }
    if (status == ROOST_OK) {
        table_release(table);
        *table = built;
    }
    return status;
}
