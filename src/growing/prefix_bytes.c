/*
 * The bits of a set of prefixes, for states and deltas.
 *
 *     count (varint), and unless it is 0: shortest and longest length (a byte each), then the ranges
 *
 *     range 0     shortest: how many (gamma, plus one), gaps    next length: how many, gaps    ...    longest
 *     range 1     ...
 *
 * The hashes are cut into 2^c ranges of equal size, such that a range has about two thousand prefixes; c follows from
 * the count, so one set has one form. Inside a range the prefixes of one length are a sorted list of numbers of L - c
 * bits, as Rice-coded gaps: 1.5 bits more than the logarithm of the mean gap, which is within 0.1 bit of what such a
 * set takes at least. (One list for each length, and not one for all: a list of several lengths would have to name the
 * length of each.) A prefix that spans several ranges is in the first, and has no bits there.
 *
 * So a state is written and read range by range, in the order of its table, with memory for one range; and no count of
 * a hostile frame is believed before its bits are there.
 *
 * With an executor (../base/tasks.h), ranges of a large table are written by several tasks, and their bits are joined.
 * Where a range begins is known only after the one before it was read. So one task reads numbers, some ranges ahead,
 * while others sort what was read before, check it, and build segments of it (../prefix/table_parts.c):
 *
 *     run 1    read 64..127    build 0..3    build 4..7    ...    build 60..63
 *     run 2    read 128..191   build 64..67  ...
 */
#include "prefix_bytes.h"

#include <string.h>

#include "../prefix/table_parts.h"
#include "../base/sort.h"

#define RANGE_PREFIXES 2048

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static unsigned range_bits_of(uint64_t count)
{
    return count < 2 * RANGE_PREFIXES ? 0 : highest_bit(count / RANGE_PREFIXES);
}

/* The numbers of this length in a range are below this. */
static uint64_t universe_of(unsigned length, unsigned range_bits)
{
    return length > range_bits ? UINT64_C(1) << (length - range_bits) : 1;
}

static uint64_t number_in_range(uint64_t prefix, unsigned length, unsigned range_bits)
{
    return length > range_bits ? prefix << range_bits >> 1 >> (63 - (length - range_bits)) : 0;
}

/* The inverse; false where a range does not begin with such a prefix. */
static bool prefix_in_range(uint64_t *prefix, uint64_t range, uint64_t number, unsigned length, unsigned range_bits)
{
    uint64_t start = start_of_range(range, range_bits);
    if (length > range_bits)
        start |= number << (64 - length);
    *prefix = prefix_of(start, length);
    return first_covered(*prefix) == start;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Changes the prefixes to what is written. */
static void write_list(struct bit_writer *writer, uint64_t *prefixes, uint64_t count, unsigned length,
                       unsigned range_bits)
{
    const uint64_t universe = universe_of(length, range_bits);
    write_gamma(writer, count + 1);
    for (uint64_t i = 0; i < count; i++)
        prefixes[i] = number_in_range(prefixes[i], length, range_bits);
    for (uint64_t i = count; i-- > 1;)
        prefixes[i] -= prefixes[i - 1] + 1;
    write_rice_list(writer, prefixes, count, rice_parameter(universe, count));
}

/* The prefixes of one range, in order. */
static void write_range(struct bit_writer *writer, struct prefix_census census, const uint64_t *prefixes,
                        uint64_t *scratch, uint64_t count, unsigned range_bits)
{
    uint64_t ends[MOST_LENGTH + 1] = {0}, from = 0;
    for (uint64_t i = 0; i < count; i++)
        ends[prefix_length(prefixes[i])]++;
    for (unsigned length = census.shortest; length <= census.longest; length++)
        ends[length] = from += ends[length];
    for (uint64_t i = count; i-- > 0;)
        scratch[--ends[prefix_length(prefixes[i])]] = prefixes[i];
    for (unsigned length = census.shortest; length <= census.longest; length++) {
        uint64_t end = length < census.longest ? ends[length + 1] : count;
        write_list(writer, scratch + ends[length], end - ends[length], length, range_bits);
    }
}

static bool make_more_room(uint64_t **prefixes, uint64_t *room, uint64_t count, const roost_allocator *allocator)
{
    uint64_t more = *room ? 2 * *room : RANGE_PREFIXES / 4;
    uint64_t *longer = memory_allocate(allocator, 2 * more * sizeof *longer);
    if (!longer)
        return false;
    if (count)
        memcpy(longer, *prefixes, count * sizeof *longer);
    memory_release(allocator, *prefixes);
    *prefixes = longer;
    *room = more;
    return true;
}

/* Room for the prefixes of a range, twice. */
struct range_room {
    uint64_t *prefixes, room;
    uint64_t *memory; /* of it, unless the caller has it */
    const roost_allocator *allocator;
};

static bool add_to_range(struct range_room *range, uint64_t count, uint64_t prefix)
{
    if (count == range->room) {
        uint64_t room = 2 * range->room, *longer = memory_allocate(range->allocator, 2 * room * sizeof *longer);
        if (!longer)
            return false;
        memcpy(longer, range->prefixes, count * sizeof *longer);
        memory_release(range->allocator, range->memory);
        range->memory = range->prefixes = longer;
        range->room = room;
    }
    range->prefixes[count] = prefix;
    return true;
}

/* Those from one on and before another; the source begins and ends with them. False without memory. */
static bool write_ranges(struct bit_writer *writer, struct prefix_census census, uint64_t from, uint64_t to,
                         next_prefix *next, void *context, struct range_room *room)
{
    const unsigned range_bits = range_bits_of(census.count);
    uint64_t ahead = next(context);
    bool enough = true;
    for (uint64_t range = from; range < to && enough; range++) {
        uint64_t count = 0,
                 last = start_of_range(range, range_bits) | (range_bits ? UINT64_MAX >> range_bits : UINT64_MAX);
        for (; ahead && first_covered(ahead) <= last && enough; ahead = next(context))
            enough = add_to_range(room, count++, ahead);
        if (enough)
            write_range(writer, census, room->prefixes, room->prefixes + room->room, count, range_bits);
    }
    return enough && !writer->failed;
}

/* A range has up to twice RANGE_PREFIXES on average, and hardly ever more than this. */
static uint64_t room_of_range(struct prefix_census census)
{
    return census.count < 9 * RANGE_PREFIXES / 4 ? census.count + 1 : 9 * RANGE_PREFIXES / 4;
}

/* The same with memory of its own. */
static bool write_ranges_alone(struct bit_writer *writer, struct prefix_census census, uint64_t from, uint64_t to,
                               next_prefix *next, void *context, const roost_allocator *allocator)
{
    struct range_room room = {.room = room_of_range(census), .allocator = allocator};
    room.memory = room.prefixes = memory_allocate(allocator, 2 * room.room * sizeof *room.prefixes);
    bool enough = room.memory && write_ranges(writer, census, from, to, next, context, &room);
    memory_release(allocator, room.memory);
    return enough;
}

static void write_census(struct bit_writer *writer, struct prefix_census census)
{
    write_varint(writer, census.count);
    if (census.count > 0) {
        write_byte(writer, census.shortest);
        write_byte(writer, census.longest);
    }
}

roost_status write_prefixes(struct bit_writer *writer, struct prefix_census census, next_prefix *next, void *context,
                            const roost_allocator *allocator)
{
    uint64_t ranges = census.count ? UINT64_C(1) << range_bits_of(census.count) : 0;
    write_census(writer, census);
    bool enough = write_ranges_alone(writer, census, 0, ranges, next, context, allocator);
    write_alignment(writer);
    return enough && !writer->failed ? ROOST_OK : ROOST_NO_MEMORY;
}

/* ---- writing by several tasks ------------------------------------------------------------------------------------ */

/* What a task has to write: the walk, one range twice, and the bits of all, of which a prefix seldom has more than so
   many bytes. */
#define BYTES_OF_PREFIX 3
#define WRITING_MEMORY  ((size_t)320 << 10)

struct written_part {
    struct task_memory memory;
    struct bit_writer writer;
    uint64_t from, to; /* ranges */
    bool enough;
};

struct writing {
    const struct prefix_table *table;
    struct prefix_census census;
    struct written_part *parts;
};

/* The next prefix is the first one that begins at this hash or after it. */
static void begin_at_range(struct table_stream *stream, uint64_t start)
{
    uint64_t first = next_of_table(stream);
    while (first && first_covered(first) < start)
        first = next_of_table(stream);
    stream->at -= first != 0;
}

static uint64_t start_of_part(const struct writing *writing, const struct written_part *part)
{
    return start_of_range(part->from, range_bits_of(writing->census.count));
}

/* By the calling thread. False without memory. */
static bool write_part_alone(const struct writing *writing, const struct written_part *part, struct bit_writer *writer)
{
    struct table_stream stream = {.at = 0};
    walk_begin(&stream.walk, writing->table, start_of_part(writing, part));
    begin_at_range(&stream, start_of_part(writing, part));
    bool enough = write_ranges_alone(writer, writing->census, part->from, part->to, next_of_table, &stream,
                                     &writing->table->allocator);
    walk_end(&stream.walk);
    return enough && stream.status == ROOST_OK;
}

/* Segments seldom have more: they are cut at twice the target. */
static uint64_t room_of_walk(const struct prefix_table *table)
{
    return 9 * (uint64_t)table->target / 4 + DECODED_AT_ONCE;
}

/* A writer whose memory is not zeroed at first. */
static struct bit_writer writer_of_task(struct task_memory *memory, size_t room)
{
    struct bit_writer writer;
    bit_writer_init(&writer, task_allocator(memory));
    writer.buffer.data = task_memory_take(memory, room);
    writer.room = writer.buffer.data ? room : 0;
    return writer;
}

static void write_part(void *argument, size_t index)
{
    const struct writing *writing = argument;
    struct written_part *part = &writing->parts[index];
    struct task_memory *memory = &part->memory;
    const roost_allocator allocator = task_allocator(memory);
    struct prefix_table view = *writing->table;
    struct table_stream stream = {.at = 0};
    struct range_room room = {.room = room_of_range(writing->census), .allocator = &allocator};
    task_memory_reset(memory);
    view.allocator = allocator;
    room.prefixes = task_memory_take(memory, 2 * room.room * sizeof *room.prefixes);
    uint64_t *array = task_memory_take(memory, 3 * room_of_walk(&view) * sizeof *array);
    part->writer = writer_of_task(memory, room.room * RANGES_OF_PART * BYTES_OF_PREFIX);
    part->enough = room.prefixes && array;
    if (!part->enough)
        return;
    walk_begin(&stream.walk, &view, start_of_part(writing, part));
    walk_use(&stream.walk, array, room_of_walk(&view));
    stream.walk.last = start_of_range(part->to, range_bits_of(writing->census.count)) - 1; /* wraps at the end of all */
    begin_at_range(&stream, start_of_part(writing, part));
    part->enough = write_ranges(&part->writer, writing->census, part->from, part->to, next_of_table, &stream, &room) &&
                   stream.status == ROOST_OK;
}

/* The bits of a part behind those of the parts before. */
static bool join_part(const struct writing *writing, const struct written_part *part, struct bit_writer *writer)
{
    if (!part->enough) /* for a task */
        return write_part_alone(writing, part, writer);
    write_written(writer, &part->writer);
    return !writer->failed;
}

static bool write_by_tasks(const struct writing *writing, size_t parts, struct bit_writer *writer)
{
    const roost_executor *executor = &writing->table->executor;
    const uint64_t ranges = UINT64_C(1) << range_bits_of(writing->census.count);
    bool enough = true;
    for (uint64_t next = 0; next < ranges && enough;) {
        size_t count = 0;
        for (; count < parts && next < ranges; count++, next += RANGES_OF_PART)
            writing->parts[count].from = next, writing->parts[count].to = next + RANGES_OF_PART;
        executor->run(executor->context, write_part, (void *)(uintptr_t)writing, count);
        for (size_t i = 0; i < count && enough; i++)
            enough = join_part(writing, &writing->parts[i], writer);
    }
    return enough;
}

bool is_cut_for_tasks(const roost_executor *executor, uint64_t count)
{
    return is_parallel(executor) && UINT64_C(1) << range_bits_of(count) >= FEWEST_PARTS * RANGES_OF_PART;
}

roost_status write_table(struct bit_writer *writer, struct prefix_census census, const struct prefix_table *table)
{
    const size_t parts = tasks_at_once(&table->executor);
    const struct written_part whole = {.to = UINT64_C(1) << range_bits_of(census.count)};
    void *memory = memory_allocate(&table->allocator, parts * WRITING_MEMORY);
    struct writing writing = {table, census, memory_allocate(&table->allocator, parts * sizeof *writing.parts)};
    for (size_t i = 0; memory && writing.parts && i < parts; i++)
        writing.parts[i].memory = task_memory_in(memory, i, WRITING_MEMORY);
    write_census(writer, census);
    bool enough =
        memory && writing.parts ? write_by_tasks(&writing, parts, writer) : write_part_alone(&writing, &whole, writer);
    write_alignment(writer);
    memory_release(&table->allocator, writing.parts);
    memory_release(&table->allocator, memory);
    return enough && !writer->failed ? ROOST_OK : ROOST_NO_MEMORY;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

void prefix_reader_begin(struct prefix_reader *prefixes, struct bit_reader *reader, const roost_allocator *allocator)
{
    *prefixes = (struct prefix_reader){.reader = reader, .allocator = allocator};
    struct prefix_census *census = &prefixes->census;
    census->count = prefixes->left = read_varint(reader);
    if (census->count > 0) {
        census->shortest = read_byte(reader);
        census->longest = read_byte(reader);
        prefixes->range_bits = range_bits_of(census->count);
        prefixes->ranges = UINT64_C(1) << prefixes->range_bits;
    }
    if (reader->failed || census->count > reader_bits_left(reader) || census->longest > MOST_LENGTH ||
        census->shortest > census->longest)
        prefixes->status = ROOST_CORRUPT;
}

void prefix_reader_end(struct prefix_reader *prefixes)
{
    memory_release(prefixes->allocator, prefixes->prefixes);
    prefixes->prefixes = NULL;
}

#define GAPS_AT_ONCE 128

/* The next prefixes of a list, behind what the range has so far; *next is the first number that can come. ROOST_FULL:
   the memory of the reader is not to grow. */
static roost_status read_some(struct prefix_reader *prefixes, uint64_t first, unsigned shift, unsigned parameter,
                              uint64_t *next, uint64_t universe, uint64_t count)
{
    uint64_t gaps[GAPS_AT_ONCE];
    while (prefixes->room < prefixes->count + count)
        if (prefixes->is_batch)
            return ROOST_FULL;
        else if (!make_more_room(&prefixes->prefixes, &prefixes->room, prefixes->count, prefixes->allocator))
            return ROOST_NO_MEMORY;
    read_rice_list(prefixes->reader, gaps, count, parameter);
    if (prefixes->reader->failed)
        return ROOST_CORRUPT;
    uint64_t *read = prefixes->prefixes + prefixes->count, number = *next;
    for (uint64_t i = 0; i < count; i++) {
        if (number >= universe || gaps[i] >= universe - number)
            return ROOST_CORRUPT;
        number += gaps[i];
        read[i] = first | number++ << shift;
    }
    prefixes->count += count;
    *next = number;
    return ROOST_OK;
}

/* One list, behind what the range has so far. */
static roost_status read_list(struct prefix_reader *prefixes, unsigned length)
{
    const unsigned range_bits = prefixes->range_bits;
    uint64_t universe = universe_of(length, range_bits), count = read_gamma(prefixes->reader) - 1, next = 0, first = 0;
    if (prefixes->reader->failed || count > prefixes->left || count > reader_bits_left(prefixes->reader))
        return ROOST_CORRUPT;
    if (count > 0 && !prefix_in_range(&first, prefixes->range, 0, length, range_bits))
        return ROOST_CORRUPT;
    const unsigned parameter = rice_parameter(universe, count), shift = length > range_bits ? 64 - length : 0;
    prefixes->left -= count;
    for (uint64_t some; count > 0; count -= some) {
        some = count < GAPS_AT_ONCE ? count : GAPS_AT_ONCE;
        roost_status status = read_some(prefixes, first, shift, parameter, &next, universe, some);
        if (status != ROOST_OK)
            return status;
    }
    return ROOST_OK;
}

/* The lists of a range as they were read: one for each length, in order, behind each other. */
struct range_lists {
    uint64_t *prefixes;
    uint64_t ends[MOST_LENGTH + 1]; /* of the list of each length */
};

static uint64_t count_of(const struct range_lists *lists, struct prefix_census census)
{
    return lists->ends[census.longest];
}

/* The lists of the next range, behind what the reader has. */
static roost_status read_lists(struct prefix_reader *prefixes, struct range_lists *lists)
{
    const uint64_t begin = prefixes->count;
    for (unsigned length = prefixes->census.shortest; length <= prefixes->census.longest; length++) {
        roost_status status = read_list(prefixes, length);
        if (status != ROOST_OK)
            return status;
        lists->ends[length] = prefixes->count - begin;
    }
    lists->prefixes = begin ? prefixes->prefixes + begin : prefixes->prefixes; /* which is NULL before there is one */
    prefixes->range++;
    return ROOST_OK;
}

/* After each range; and what comes after the last one. */
static roost_status end_range(struct prefix_reader *prefixes)
{
    reader_forget(prefixes->reader);
    if (prefixes->range < prefixes->ranges)
        return ROOST_OK;
    read_alignment(prefixes->reader);
    return prefixes->left > 0 || prefixes->reader->failed ? ROOST_CORRUPT : ROOST_OK;
}

/* The runs up to `middle` and from there to `count`, both in order, become one. */
static void merge_runs(uint64_t *prefixes, uint64_t *scratch, uint64_t middle, uint64_t count)
{
    if (middle == 0 || middle == count || prefixes[middle - 1] < prefixes[middle])
        return;
    memcpy(scratch, prefixes, middle * sizeof *scratch);
    for (uint64_t i = 0, j = middle, to = 0; i < middle; to++)
        prefixes[to] = j == count || scratch[i] < prefixes[j] ? scratch[i++] : prefixes[j++];
}

/* The lists of a range as one, in order, in `to`. Hashes are evenly spread; where they are not, each list is merged
   with what is there so far, and the lists are lost. */
static void sort_lists(uint64_t *to, const struct range_lists *lists, struct prefix_census census)
{
    const uint64_t count = count_of(lists, census);
    const bool spread = count > 1 && census.shortest < census.longest &&
                        sort_spread_numbers(to, lists->prefixes, count, 64 - range_bits_of(census.count));
    for (unsigned length = census.shortest; !spread && length < census.longest; length++)
        merge_runs(lists->prefixes, to, lists->ends[length], lists->ends[length + 1]);
    if (!spread && count > 0)
        memcpy(to, lists->prefixes, count * sizeof *to);
}

/* Whether none covers another, in the range and since the last one. */
static bool is_disjoint(struct prefix_reader *prefixes)
{
    uint64_t last = prefixes->last, i = 0;
    if (prefixes->count > 0 && !prefixes->begun) {
        last = last_covered(prefixes->sorted[i++]);
        prefixes->begun = true;
    }
    for (; i < prefixes->count; i++) {
        if (first_covered(prefixes->sorted[i]) <= last)
            return false;
        last = last_covered(prefixes->sorted[i]);
    }
    prefixes->last = last;
    return true;
}

static roost_status read_next_range(struct prefix_reader *prefixes)
{
    struct range_lists lists;
    prefixes->count = prefixes->at = 0;
    roost_status status = read_lists(prefixes, &lists);
    if (status != ROOST_OK)
        return status;
    const bool one_list = prefixes->census.shortest == prefixes->census.longest;
    prefixes->sorted = one_list || !prefixes->prefixes ? prefixes->prefixes : prefixes->prefixes + prefixes->room;
    if (!one_list)
        sort_lists(prefixes->sorted, &lists, prefixes->census);
    return is_disjoint(prefixes) ? end_range(prefixes) : ROOST_CORRUPT;
}

uint64_t next_of_reader(void *context)
{
    struct prefix_reader *prefixes = context;
    while (prefixes->at == prefixes->count && prefixes->status == ROOST_OK && prefixes->range < prefixes->ranges)
        prefixes->status = read_next_range(prefixes);
    return prefixes->status == ROOST_OK && prefixes->at < prefixes->count ? prefixes->sorted[prefixes->at++] : 0;
}

/* ---- reading by several tasks ------------------------------------------------------------------------------------ */

/* What was read ahead. */
struct range_batch {
    struct range_lists *lists;
    uint64_t *prefixes, room; /* of all */
    uint64_t first, count;    /* ranges */
    roost_status status;      /* ROOST_FULL: the next range needs more room */
};

struct reading {
    struct prefix_reader *reader;
    struct prefix_table *table;
    struct range_batch batches[2], *ahead, *present;
    struct table_part *parts;
    void *memory;  /* of the tasks */
    uint64_t most; /* ranges of a batch */
};

/* A range that fits no more is read again when the next batch begins with it. */
static void read_batch(struct reading *reading, struct range_batch *batch)
{
    struct prefix_reader *prefixes = reading->reader;
    batch->status = ROOST_OK;
    batch->first = prefixes->range;
    batch->count = prefixes->count = 0;
    prefixes->prefixes = batch->prefixes;
    prefixes->room = batch->room;
    while (batch->status == ROOST_OK && batch->count < reading->most && prefixes->range < prefixes->ranges) {
        const uint64_t left = prefixes->left, position = prefixes->reader->position;
        batch->status = read_lists(prefixes, &batch->lists[batch->count]);
        if (batch->status == ROOST_FULL) {
            prefixes->left = left;
            prefixes->reader->position = position;
            return;
        }
        batch->count += batch->status == ROOST_OK;
        if (batch->status == ROOST_OK)
            batch->status = end_range(prefixes);
    }
}

/* None covers another; the ranges before and after have nothing to do with it. */
static bool are_disjoint(const uint64_t *sorted, uint64_t count)
{
    bool disjoint = true;
    for (uint64_t i = 1; i < count; i++)
        disjoint &= last_covered(sorted[i - 1]) < first_covered(sorted[i]);
    return disjoint;
}

/* The prefixes of some ranges of the present batch, and once more those of the largest. */
static uint64_t room_to_sort(const struct reading *reading, uint64_t from, uint64_t to)
{
    uint64_t total = 0, most = 0;
    for (uint64_t range = from; range < to; range++) {
        uint64_t count = count_of(&reading->present->lists[range], reading->reader->census);
        total += count;
        most = most > count ? most : count;
    }
    return total + most;
}

/* Sorts these ranges into an array, in which the last `most` are for the lists of one range, which stay as they are.
   Returns how many there are, or UINT64_MAX where some cover others. */
static uint64_t sort_ranges(const struct reading *reading, uint64_t from, uint64_t to, uint64_t *array)
{
    const struct prefix_census census = reading->reader->census;
    const uint64_t room = room_to_sort(reading, from, to);
    uint64_t sorted = 0;
    bool disjoint = true;
    for (uint64_t range = from; range < to; range++) {
        struct range_lists lists = reading->present->lists[range];
        const uint64_t count = count_of(&lists, census);
        if (count > 0)
            memcpy(array + room - count, lists.prefixes, count * sizeof *array);
        lists.prefixes = array + room - count;
        sort_lists(array + sorted, &lists, census);
        disjoint &= are_disjoint(array + sorted, count);
        sorted += count;
    }
    return disjoint ? sorted : UINT64_MAX;
}

/* The children of a table that are in some ranges of the present batch. */
static roost_status build_ranges(const struct reading *reading, struct prefix_table *table, uint64_t from, uint64_t to,
                                 uint64_t *array)
{
    const uint64_t first = reading->present->first;
    if (!array)
        return ROOST_NO_MEMORY;
    struct prefix_list list = {array, sort_ranges(reading, from, to, array)};
    if (list.left == UINT64_MAX)
        return ROOST_CORRUPT;
    struct child_span children = children_in(table->root, first + from, first + to, reading->reader->range_bits);
    return table_build_children(table, children, next_of_list, &list);
}

static uint64_t ranges_from(const struct reading *reading, size_t part)
{
    uint64_t from = part * RANGES_OF_PART;
    return from < reading->present->count ? from : reading->present->count;
}

/* The first task reads ahead, the others build. */
static void read_or_build(void *argument, size_t index)
{
    struct reading *reading = argument;
    if (index == 0) {
        read_batch(reading, reading->ahead);
        return;
    }
    struct table_part *part = &reading->parts[index - 1];
    uint64_t from = ranges_from(reading, index - 1), to = ranges_from(reading, index);
    uint64_t *array = task_memory_take(&part->memory, (room_to_sort(reading, from, to) + 1) * sizeof *array);
    part->status = build_ranges(reading, &part->built, from, to, array);
}

/* By the calling thread. */
static roost_status build_alone(const struct reading *reading, uint64_t from, uint64_t to)
{
    const roost_allocator *allocator = &reading->table->allocator;
    uint64_t *array = memory_allocate(allocator, (room_to_sort(reading, from, to) + 1) * sizeof *array);
    roost_status status = build_ranges(reading, reading->table, from, to, array);
    memory_release(allocator, array);
    return status;
}

static roost_status adopt_parts(struct reading *reading, size_t parts)
{
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < parts; i++) {
        struct table_part *part = &reading->parts[i];
        if (status == ROOST_OK && part->status == ROOST_CORRUPT)
            status = ROOST_CORRUPT;
        if (status != ROOST_OK)
            part_forget(part);
        else if (!part_adopt(part, reading->table, &status))
            status = build_alone(reading, ranges_from(reading, i), ranges_from(reading, i + 1));
    }
    return status;
}

/* Builds what was read, and reads what comes next. */
static roost_status build_batch(struct reading *reading)
{
    const roost_executor *executor = &reading->table->executor;
    size_t parts = (size_t)divide_up(reading->present->count, RANGES_OF_PART);
    for (size_t i = 0; i < parts; i++)
        part_begin(&reading->parts[i], reading->table,
                   children_in(reading->table->root, reading->present->first + ranges_from(reading, i),
                               reading->present->first + ranges_from(reading, i + 1), reading->reader->range_bits));
    executor->run(executor->context, read_or_build, reading, parts + 1);
    return adopt_parts(reading, parts);
}

/* Twice the room for a batch that is empty, for a range of hashes that somebody chose. */
static roost_status enlarge_batch(struct range_batch *batch, const roost_allocator *allocator)
{
    uint64_t *prefixes = memory_allocate(allocator, 2 * batch->room * sizeof *prefixes);
    if (!prefixes)
        return ROOST_NO_MEMORY;
    memory_release(allocator, batch->prefixes);
    batch->prefixes = prefixes;
    batch->room *= 2;
    return ROOST_OK;
}

static roost_status build_batches(struct reading *reading)
{
    roost_status status = ROOST_OK;
    read_batch(reading, reading->ahead);
    while (status == ROOST_OK) {
        struct range_batch *batch = reading->ahead;
        if (batch->status == ROOST_FULL && batch->count == 0) {
            status = enlarge_batch(batch, &reading->table->allocator);
            if (status == ROOST_OK)
                read_batch(reading, batch);
            continue;
        }
        status = batch->status == ROOST_FULL ? ROOST_OK : batch->status;
        if (status != ROOST_OK || batch->count == 0)
            break;
        reading->ahead = reading->present;
        reading->present = batch;
        status = build_batch(reading);
    }
    return status;
}

/* A child of the table lies in one range, so that a task has all of it. */
_Static_assert(SEGMENT_TARGET <= RANGE_PREFIXES, "segments are no larger than ranges");

/* What a task has to build: lists of its ranges and once more, and their segments. */
#define BUILDING_MEMORY ((size_t)160 * SEGMENT_TARGET)

static bool allocate_reading(struct reading *reading)
{
    const roost_allocator *allocator = &reading->table->allocator;
    const size_t parts = tasks_at_once(&reading->table->executor);
    reading->most = parts * RANGES_OF_PART;
    reading->parts = memory_allocate(allocator, parts * sizeof *reading->parts);
    reading->memory = memory_allocate(allocator, parts * BUILDING_MEMORY);
    for (unsigned i = 0; i < 2; i++) {
        struct range_batch *batch = &reading->batches[i];
        batch->room = reading->most * 2 * RANGE_PREFIXES;
        batch->lists = memory_allocate(allocator, reading->most * sizeof *batch->lists);
        batch->prefixes = memory_allocate(allocator, batch->room * sizeof *batch->prefixes);
    }
    for (size_t i = 0; reading->parts && reading->memory && i < parts; i++)
        reading->parts[i].memory = task_memory_in(reading->memory, i, BUILDING_MEMORY);
    return reading->parts && reading->memory && reading->batches[0].lists && reading->batches[0].prefixes &&
           reading->batches[1].lists && reading->batches[1].prefixes;
}

static void release_reading(struct reading *reading)
{
    const roost_allocator *allocator = &reading->table->allocator;
    for (unsigned i = 0; i < 2; i++) {
        memory_release(allocator, reading->batches[i].lists);
        memory_release(allocator, reading->batches[i].prefixes);
    }
    memory_release(allocator, reading->parts);
    memory_release(allocator, reading->memory);
    reading->reader->prefixes = NULL; /* which were those of a batch */
}

static bool reads_by_tasks(const struct prefix_reader *reader, const struct prefix_table *table)
{
    return is_cut_for_tasks(&table->executor, reader->census.count) && table->root->depth >= reader->range_bits &&
           reader->census.shortest >= reader->range_bits;
}

/* False, and nothing was read, without memory for tasks. */
static bool read_by_tasks(struct prefix_table *table, struct prefix_reader *reader, roost_status *status)
{
    struct reading reading = {.reader = reader, .table = table};
    reading.ahead = &reading.batches[0];
    reading.present = &reading.batches[1];
    reader->is_batch = allocate_reading(&reading);
    if (reader->is_batch)
        *status = build_batches(&reading);
    release_reading(&reading);
    return reader->is_batch;
}

roost_status read_table(struct prefix_table *table, struct prefix_reader *reader)
{
    roost_status status = table_build_begin(table, reader->census.count);
    if (status != ROOST_OK)
        return status;
    if (!reads_by_tasks(reader, table) || !read_by_tasks(table, reader, &status)) {
        struct child_span all = {0, 0, segments_of(table->root)};
        status = table_build_children(table, all, next_of_reader, reader);
        status = status == ROOST_OK ? reader->status : status;
    }
    return table_build_end(table, status);
}
