/*
 * How two tables without tags merge: the union of their prefixes, without what a shorter one covers.
 *
 * Both are walked together, range by range (joint_walk.c). Ranges in which both have the same, by the sums of the
 * hashes of their prefixes, are passed over. In the others, what the other table has is gathered from its slots and
 * looked up here in vectors; what nothing covers is new. Replicas that were copied from each other, or made from the
 * same bytes, have most slots at the same places: those that are equal there are not even decoded.
 *
 *     few are new     they are listed, and the segments that get some are copied and take them (table_add_all)
 *     many are new    the list is given up as soon as this shows, and another table is built of both: of each range
 *                     what both have is sorted together, loses what is covered, and is cut into segments
 *
 * With an executor (table_parts.c), both are done by tasks: each walks some ranges, and the calling thread joins the
 * lists, or adopts the segments.
 *
 * Nothing changes before all that can fail is done. Counts and sums of the union are those of both tables, less what
 * was found to be covered, so that of those that stay nothing is hashed or counted unless their range is cut.
 */
#include "joint_walk.h"

#include <string.h>

#include "table_parts.h"
#include "../base/hash.h"
#include "../base/sort.h"

/* Of what the table holds, this part is many; it is seen after so many segments at the earliest. */
#define MANY_OF        2
#define FIRST_SEGMENTS 2
/* So many segments of a range are looked at one after the other; for more it is sorted. */
#define FEW_SEGMENTS 6

bool prefixes_append(struct longer_list *list, const uint64_t *prefixes, uint64_t count,
                     const roost_allocator *allocator)
{
    if (count == 0)
        return true;
    if (list->count + count > list->room) {
        uint64_t room = list->room ? 2 * list->room : 1024;
        room = room > list->count + count ? room : list->count + count;
        uint64_t *longer = memory_allocate(allocator, room * sizeof *longer);
        if (!longer)
            return false;
        if (list->count)
            memcpy(longer, list->prefixes, list->count * sizeof *longer);
        memory_release(allocator, list->prefixes);
        list->prefixes = longer;
        list->room = room;
    }
    memcpy(list->prefixes + list->count, prefixes, count * sizeof *prefixes);
    list->count += count;
    return true;
}

/* ---- few --------------------------------------------------------------------------------------------------------- */

/* What is looked at so far. */
struct progress {
    uint64_t held, seen; /* prefixes of the table, and of the other */
    uint64_t unseen;     /* of which so many are new */
    bool many;
};

/* How many of the prefixes, in order from the first on, begin at this hash or before. */
static uint64_t count_until(const uint64_t *prefixes, uint64_t count, uint64_t end)
{
    uint64_t from = 0, to = count;
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        if (first_covered(prefixes[middle]) <= end)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Prefixes that have something in a segment come to the front, of which there are `count` so far. Returns how many. */
static uint64_t select_in_segment(uint64_t *selected, const uint64_t *prefixes, uint64_t count,
                                  const struct segment *segment)
{
    const uint64_t width = range_end(segment->start, segment->depth) - segment->start;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        selected[kept] = prefixes[i];
        kept += first_covered(prefixes[i]) - segment->start <= width;
    }
    return kept;
}

/* Of what was gathered from the other, what the segments of the range do not cover, in order. Returns how many. */
static uint64_t list_in_segments(struct joint_walk *walk)
{
    const struct search_kernel *kernel = search_kernel_in_use();
    uint64_t *unseen = walk->scratch, kept = 0;
    const struct segment *segment = joint_segment(walk, 0, walk->start);
    while (segment) {
        uint64_t end = range_end(segment->start, segment->depth);
        kept += kernel->uncovered(segment, unseen + kept,
                                  select_in_segment(unseen + kept, walk->prefixes, walk->count, segment));
        segment = end < walk->end ? joint_segment(walk, 0, end + 1) : NULL;
    }
    memcpy(walk->prefixes, unseen, kept * sizeof *unseen);
    return kept;
}

/* The same where there are many segments. */
static uint64_t list_in_many_segments(struct joint_walk *walk)
{
    const struct search_kernel *kernel = search_kernel_in_use();
    uint64_t kept = 0;
    joint_sort(walk);
    for (uint64_t done = 0; done < walk->count;) {
        const struct segment *segment = joint_segment(walk, 0, first_covered(walk->prefixes[done]));
        uint64_t end = range_end(segment->start, segment->depth);
        uint64_t some = count_until(walk->prefixes + done, walk->count - done, end);
        uint64_t unseen = kernel->uncovered(segment, walk->prefixes + done, some);
        memmove(walk->prefixes + kept, walk->prefixes + done, unseen * sizeof *walk->prefixes);
        kept += unseen;
        done += some;
    }
    return kept;
}

static roost_status list_range(struct joint_walk *walk, struct longer_list *list)
{
    if (!joint_gather_unlike(walk, 1) || !joint_reserve(walk, 1))
        return ROOST_NO_MEMORY;
    bool few = joint_census(walk, 0).segments <= FEW_SEGMENTS;
    uint64_t count = few ? list_in_segments(walk) : list_in_many_segments(walk);
    sort_numbers(walk->prefixes, walk->scratch, count, 64);
    return prefixes_append(list, walk->prefixes, count, walk->allocator) ? ROOST_OK : ROOST_NO_MEMORY;
}

/* Of what the other has in the ranges of a walk and the table does not cover a list, in order, until it shows that this
   is much. */
static roost_status list_walked(struct joint_walk *walk, struct longer_list *list, struct progress *progress)
{
    roost_status status = ROOST_OK;
    const uint64_t first = FIRST_SEGMENTS * (uint64_t)walk->tables[0]->target;
    while (status == ROOST_OK && !progress->many && joint_next(walk)) {
        struct joint_census here = joint_census(walk, 0), there = joint_census(walk, 1);
        progress->held += here.count;
        progress->seen += there.count;
        if (here.sum == there.sum && here.count == there.count)
            continue;
        status = list_range(walk, list);
        progress->unseen = list->count;
        progress->many = progress->unseen > first && progress->unseen > progress->held / MANY_OF;
    }
    return status;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* What one task does of a merge. */
struct merge_part {
    struct table_part part; /* of the table that is built */
    const struct prefix_table *built;
    uint64_t first, last; /* hashes */
    struct longer_list list;
    struct progress progress;
    struct merge_result result;
};

/* Both tables in parts of some of 2^bits ranges. */
struct parted_merge {
    const struct prefix_table *table, *other;
    unsigned bits;
    uint64_t ranges_of_part; /* a power of two */
    size_t count;            /* of parts at once */
    struct merge_part *parts;
    void *memory;
    bool lists;
};

/* The finest ranges in which both tables are whole, and the one that is built of them. */
static unsigned bits_of_parts(const struct prefix_table *table, const struct prefix_table *other,
                              const struct prefix_table *built)
{
    unsigned bits = other->root->depth;
    bits = table->root && table->root->depth < bits ? table->root->depth : bits;
    bits = built && built->root->depth < bits ? built->root->depth : bits;
    return table_nests_in(table, bits) && table_nests_in(other, bits) ? bits : 0;
}

/* Entries that both have in one range, with some to spare. */
static uint64_t entries_of_range(const struct parted_merge *merge)
{
    return ((merge->table->count + merge->other->count) >> merge->bits) * 5 / 4 + 512;
}

/* What a task gathers and sorts of one range, two words an entry, and the lists or segments of all of its ranges. */
static size_t memory_of_part(const struct parted_merge *merge)
{
    return task_memory_size(entries_of_range(merge) * (20 + 12 * merge->ranges_of_part));
}

/* False where the work is not cut, or there is no memory for tasks. */
static bool parts_open(struct parted_merge *merge, const struct prefix_table *built)
{
    const roost_allocator *allocator = &merge->table->allocator;
    if (!is_parallel(&merge->table->executor))
        return false;
    merge->bits = bits_of_parts(merge->table, merge->other, built);
    merge->ranges_of_part = RANGES_OF_PART / 2; /* of two tables */
    if (UINT64_C(1) << merge->bits < FEWEST_PARTS * RANGES_OF_PART)
        return false;
    merge->count = tasks_at_once(&merge->table->executor);
    merge->parts = memory_allocate(allocator, merge->count * sizeof *merge->parts);
    merge->memory = memory_allocate(allocator, merge->count * memory_of_part(merge));
    for (size_t i = 0; merge->parts && merge->memory && i < merge->count; i++) {
        merge->parts[i].part.memory = task_memory_in(merge->memory, i, memory_of_part(merge));
        merge->parts[i].built = built;
    }
    return merge->parts && merge->memory;
}

static void parts_close(struct parted_merge *merge)
{
    memory_release(&merge->table->allocator, merge->parts);
    memory_release(&merge->table->allocator, merge->memory);
}

/* The next parts from a range on, which moves. Returns how many. */
static size_t next_parts(struct parted_merge *merge, uint64_t *range)
{
    const uint64_t end = UINT64_C(1) << merge->bits;
    size_t count = 0;
    for (; count < merge->count && *range < end; count++, *range += merge->ranges_of_part) {
        struct merge_part *part = &merge->parts[count];
        part->first = start_of_range(*range, merge->bits);
        part->last = part->first + (merge->ranges_of_part << (64 - merge->bits)) - 1;
        part->list = (struct longer_list){0};
        part->progress = (struct progress){0};
        part->result = (struct merge_result){.lists = merge->lists};
        if (part->built)
            part_begin(&part->part, part->built,
                       children_in(part->built->root, *range, *range + merge->ranges_of_part, merge->bits));
        else
            task_memory_reset(&part->part.memory);
    }
    return count;
}

/* The walk over a part; the array is for what is gathered, or NULL. */
static void part_walk(struct joint_walk *walk, const struct parted_merge *merge, const struct merge_part *part,
                      const struct prefix_table *built, const roost_allocator *allocator, uint64_t *array)
{
    joint_begin(walk, merge->table, merge->other, built);
    joint_limit(walk, part->first, part->last);
    walk->allocator = allocator;
    if (array)
        joint_use(walk, array, entries_of_range(merge));
}

static uint64_t *array_of_part(const struct parted_merge *merge, struct merge_part *part)
{
    return task_memory_take(&part->part.memory, 2 * entries_of_range(merge) * sizeof(uint64_t));
}

static roost_status list_part(const struct parted_merge *merge, const struct merge_part *part,
                              const roost_allocator *allocator, uint64_t *array, struct longer_list *list,
                              struct progress *progress)
{
    struct joint_walk walk;
    part_walk(&walk, merge, part, NULL, allocator, array);
    roost_status status = list_walked(&walk, list, progress);
    joint_end(&walk);
    return status;
}

static void list_part_in_task(void *argument, size_t index)
{
    struct parted_merge *merge = argument;
    struct merge_part *part = &merge->parts[index];
    const roost_allocator allocator = task_allocator(&part->part.memory);
    part->part.status = list_part(merge, part, &allocator, array_of_part(merge, part), &part->list, &part->progress);
}

static roost_status join_list(const struct parted_merge *merge, const struct merge_part *part, struct longer_list *list,
                              struct progress *progress)
{
    const roost_allocator *allocator = &merge->table->allocator;
    if (part->part.status != ROOST_OK)
        return list_part(merge, part, allocator, NULL, list, progress);
    progress->held += part->progress.held;
    progress->seen += part->progress.seen;
    progress->many |= part->progress.many;
    bool enough = prefixes_append(list, part->list.prefixes, part->list.count, allocator);
    progress->unseen = list->count;
    return enough ? ROOST_OK : ROOST_NO_MEMORY;
}

/* The calling thread does the first part, which tells most often whether it is much. */
static roost_status list_by_tasks(struct parted_merge *merge, struct longer_list *list, struct progress *progress)
{
    const roost_executor *executor = &merge->table->executor;
    const struct merge_part first = {.last = (merge->ranges_of_part << (64 - merge->bits)) - 1};
    uint64_t range = merge->ranges_of_part;
    roost_status status = list_part(merge, &first, &merge->table->allocator, NULL, list, progress);
    while (status == ROOST_OK && !progress->many && range < UINT64_C(1) << merge->bits) {
        size_t count = next_parts(merge, &range);
        executor->run(executor->context, list_part_in_task, merge, count);
        for (size_t i = 0; i < count && status == ROOST_OK; i++)
            status = join_list(merge, &merge->parts[i], list, progress);
    }
    return status;
}

/* All of it, or until it shows that it is much. */
static roost_status list_unseen(const struct prefix_table *table, const struct prefix_table *other,
                                struct longer_list *list, struct progress *progress)
{
    struct parted_merge merge = {.table = table, .other = other};
    struct joint_walk walk;
    roost_status status;
    if (parts_open(&merge, NULL))
        status = list_by_tasks(&merge, list, progress);
    else {
        joint_begin(&walk, table, other, NULL);
        status = list_walked(&walk, list, progress);
        joint_end(&walk);
    }
    parts_close(&merge);
    progress->many |= progress->unseen > table->count / MANY_OF;
    return status;
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

/* A table that is built of two. */
struct merger {
    struct prefix_table *built;
    struct joint_walk walk;
    uint64_t child; /* of the root: the next to be made */
    uint128 sum;    /* of the hashes of what stays of the present range */
    struct merge_result *result;
};

static void count_covered(struct merger *merger, uint64_t prefix)
{
    struct prefix_table *built = merger->built;
    uint128 hash = hash_number(built->seed, prefix);
    built->count--;
    built->counts[prefix_length(prefix)]--;
    built->sum -= hash;
    merger->sum -= hash;
}

/* Keeps what nothing else covers, of a list in order that says whose each is. Of two that are equal the table's own
   comes first and stays. */
static void drop_covered(struct merger *merger)
{
    uint64_t *prefixes = merger->walk.prefixes, kept = 0, last = 0;
    for (uint64_t i = 0; i < merger->walk.count; i++) {
        uint64_t marked = prefixes[i], prefix = marked & ~OF_OTHER;
        if (__builtin_expect(first_covered(prefix) <= last, 0)) { /* or it is the first of all hashes */
            if (kept > 0 && covers_prefix(prefixes[kept - 1] & ~OF_OTHER, prefix)) {
                count_covered(merger, prefix);
                continue;
            }
            for (; kept > 0 && covers_prefix(prefix, prefixes[kept - 1] & ~OF_OTHER); kept--)
                count_covered(merger, prefixes[kept - 1] & ~OF_OTHER);
        }
        prefixes[kept++] = marked;
        last = last_covered(prefix);
    }
    merger->walk.count = kept;
}

/* All of the range is covered by one that began before it. */
static void keep_one(struct merger *merger, uint64_t prefix)
{
    for (uint64_t i = 0; i < merger->walk.count; i++)
        count_covered(merger, merger->walk.prefixes[i] & ~OF_OTHER);
    merger->walk.prefixes[0] = prefix;
    merger->walk.count = 1;
}

/* Both have something that began before the range, or one of them: the shorter one. */
static uint64_t earlier_of(const struct joint_walk *walk)
{
    uint64_t first = joint_earlier(walk, 0), second = joint_earlier(walk, 1);
    return end_mark(second) > end_mark(first) ? second : first;
}

/* Lists what is new of the range, if that is wanted. */
static bool list_added(struct merger *merger)
{
    struct joint_walk *walk = &merger->walk;
    uint64_t count = 0;
    if (!merger->result->lists)
        return true;
    for (uint64_t i = 0; i < walk->count; i++) {
        walk->scratch[count] = walk->prefixes[i] & ~OF_OTHER;
        count += walk->prefixes[i] & OF_OTHER;
    }
    return prefixes_append(&merger->result->added, walk->scratch, count, walk->allocator);
}

/* Counts what is new of the range, and unmarks it. */
static void count_added(struct merger *merger)
{
    struct joint_walk *walk = &merger->walk;
    uint64_t count = 0;
    for (uint64_t i = 0; i < walk->count; i++) {
        count += walk->prefixes[i] & OF_OTHER;
        walk->prefixes[i] &= ~OF_OTHER;
    }
    merger->result->unseen += count;
}

static bool unite_range(struct merger *merger)
{
    struct joint_walk *walk = &merger->walk;
    merger->sum = joint_census(walk, 0).sum + joint_census(walk, 1).sum;
    if (!joint_gather(walk, 0))
        return false;
    uint64_t own = walk->count;
    if (!joint_gather(walk, 1) || !joint_reserve(walk, 1))
        return false;
    for (uint64_t i = own; i < walk->count; i++)
        walk->prefixes[i] |= OF_OTHER;
    uint64_t earlier = earlier_of(walk);
    if (earlier)
        keep_one(merger, earlier);
    else {
        joint_sort(walk);
        drop_covered(merger);
    }
    if (!list_added(merger))
        return false;
    count_added(merger);
    return true;
}

/* The next child of the root, of what stays of the range from some prefix on. */
static roost_status make_child(struct merger *merger, uint64_t start, uint64_t *first)
{
    struct prefix_table *built = merger->built;
    uint64_t *prefixes = merger->walk.prefixes + *first;
    unsigned depth = depth_of_child(built->root, merger->child);
    uint64_t end = range_end(start, depth), count = count_until(prefixes, merger->walk.count - *first, end);
    uint64_t last = count ? prefixes[count - 1] : 0;
    uint128 sum = end == merger->walk.end ? merger->sum : sum_of(built, start, prefixes, count);
    node child = new_sorted_child(built, start, depth, prefixes, count, sum);
    *child_at(built->root, merger->child++) = child;
    if (!child)
        return ROOST_NO_MEMORY;
    merger->sum -= sum;
    built->root->count += is_nested(child) ? 0 : count;
    *first += count;
    if (last && last_covered(last) > end)
        merger->walk.prefixes[--*first] = last; /* it goes on in the next */
    return built->bytes > built->most_bytes ? ROOST_TOO_LARGE : ROOST_OK;
}

static roost_status build_range(struct merger *merger)
{
    roost_status status = unite_range(merger) ? ROOST_OK : ROOST_NO_MEMORY;
    uint64_t first = 0, start = merger->walk.start;
    while (status == ROOST_OK) {
        uint64_t end = range_end(start, depth_of_child(merger->built->root, merger->child));
        status = make_child(merger, start, &first);
        if (end == merger->walk.end)
            break;
        start = end + 1;
    }
    return status;
}

/* The counts of both: what is covered is taken off as it is found. */
static void count_both(struct prefix_table *built, const struct prefix_table *table, const struct prefix_table *other)
{
    built->count = table->count + other->count;
    built->sum = table->sum + other->sum;
    built->longest = table->longest > other->longest ? table->longest : other->longest;
    for (unsigned length = 0; length <= MOST_LENGTH; length++)
        built->counts[length] = table->counts[length] + other->counts[length];
}

static roost_status build_walked(struct merger *merger)
{
    roost_status status = ROOST_OK;
    while (status == ROOST_OK && joint_next(&merger->walk))
        status = build_range(merger);
    return status;
}

/* The children of a table that are in one part: of the table that is built, or of a view. */
static roost_status build_part(const struct parted_merge *merge, const struct merge_part *part, uint64_t *array,
                               struct prefix_table *built, struct merge_result *result)
{
    struct merger merger = {.built = built, .result = result, .child = part->part.children.first};
    part_walk(&merger.walk, merge, part, built, &built->allocator, array);
    roost_status status = build_walked(&merger);
    joint_end(&merger.walk);
    return status;
}

static void build_part_in_task(void *argument, size_t index)
{
    struct parted_merge *merge = argument;
    struct merge_part *part = &merge->parts[index];
    part->part.status = build_part(merge, part, array_of_part(merge, part), &part->part.built, &part->result);
}

static roost_status adopt_part(const struct parted_merge *merge, struct merge_part *part, struct prefix_table *built,
                               struct merge_result *result)
{
    roost_status status;
    if (!part_adopt(&part->part, built, &status))
        return build_part(merge, part, NULL, built, result);
    result->unseen += part->result.unseen;
    const struct longer_list *added = &part->result.added;
    if (status == ROOST_OK && !prefixes_append(&result->added, added->prefixes, added->count, &built->allocator))
        status = ROOST_NO_MEMORY;
    return status;
}

static roost_status build_by_tasks(struct parted_merge *merge, struct prefix_table *built, struct merge_result *result)
{
    const roost_executor *executor = &merge->table->executor;
    roost_status status = ROOST_OK;
    for (uint64_t range = 0; status == ROOST_OK && range < UINT64_C(1) << merge->bits;) {
        size_t count = next_parts(merge, &range);
        executor->run(executor->context, build_part_in_task, merge, count);
        for (size_t i = 0; i < count; i++)
            if (status == ROOST_OK)
                status = adopt_part(merge, &merge->parts[i], built, result);
            else
                part_forget(&merge->parts[i].part);
    }
    return status;
}

/* `about`: so many there will be. */
static roost_status build_union(struct merger *merger, const struct prefix_table *table,
                                const struct prefix_table *other, uint64_t about)
{
    struct prefix_table *built = merger->built;
    struct parted_merge merge = {.table = table, .other = other, .lists = merger->result->lists};
    roost_status status;
    built->root = new_directory(built, 0, about / built->target);
    if (!built->root)
        return ROOST_NO_MEMORY;
    count_both(built, table, other);
    built->dense = true;
    if (parts_open(&merge, built))
        status = build_by_tasks(&merge, built, merger->result);
    else {
        joint_begin(&merger->walk, table, other, built);
        status = build_walked(merger);
        joint_end(&merger->walk);
    }
    parts_close(&merge);
    built->dense = false;
    if (status != ROOST_OK)
        table_release(built);
    return status;
}

/* The same prefixes in as many segments as another table has. */
static roost_status copy_finely(struct prefix_table *copy, const struct prefix_table *table,
                                const struct prefix_table *other)
{
    struct table_stream stream = {.at = 0};
    walk_begin(&stream.walk, table, 0);
    roost_status status = table_build(copy, segments_of(other->root) * copy->target, next_of_table, &stream);
    walk_end(&stream.walk);
    if (status == ROOST_OK && stream.status != ROOST_OK) {
        table_release(copy);
        status = stream.status;
    }
    return status;
}

/* An empty table with the same properties. */
static struct prefix_table empty_like(const struct prefix_table *table)
{
    struct prefix_table empty = *table;
    empty.root = NULL;
    table_release(&empty);
    return empty;
}

/* What the other has comes into the table, of which `finer` is a copy, or which it is. */
static roost_status merge_walking(struct prefix_table *table, const struct prefix_table *finer,
                                  const struct prefix_table *other, struct merge_result *result)
{
    struct longer_list *list = &result->added;
    struct progress progress = {.many = !table->root};
    roost_status status = table->root ? list_unseen(finer, other, list, &progress) : ROOST_OK;
    if (status != ROOST_OK)
        return status;
    result->unseen = list->count;
    if (!progress.many)
        return table_add_all(table, list->prefixes, list->count);
    double part = progress.seen ? (double)progress.unseen / (double)progress.seen : 1;
    memory_release(&table->allocator, list->prefixes);
    result->added = (struct longer_list){0};
    result->unseen = 0;
    struct prefix_table built = empty_like(table);
    struct merger merger = {.built = &built, .result = result};
    status = build_union(&merger, finer, other, table->count + (uint64_t)(part * (double)other->count));
    if (status != ROOST_OK)
        return status;
    table_release(table); /* the one that was built takes its place */
    *table = built;
    return ROOST_OK;
}

roost_status table_merge(struct prefix_table *table, const struct prefix_table *other, struct merge_result *result)
{
    if (!is_much_coarser(table, other))
        return merge_walking(table, table, other, result);
    struct prefix_table finer = empty_like(table);
    finer.most_bytes = UINT64_MAX; /* it is gone soon */
    roost_status status = copy_finely(&finer, table, other);
    if (status != ROOST_OK)
        return status;
    status = merge_walking(table, &finer, other, result);
    table_release(&finer);
    return status;
}
