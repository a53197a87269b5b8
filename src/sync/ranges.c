/*
 * The digest tree, which is never built: its nodes are ranges of positions, and the digest of any range is at hand
 * (../filter/summary.h). What is here is how ranges and what they hold are written.
 *
 * Bytes. A digest has four, a range that differs is cut in sixteen, and a leaf costs about a bit for each of its
 * positions where half of them are taken. So it pays to cut down to a leaf of about 64 bytes, and no further.
 */
#include "session.h"

#include <string.h>

unsigned widest_shift(uint64_t universe)
{
    unsigned shift = FEWEST_SHIFT;
    while (universe >> shift > FIRST_RANGES - 1)
        shift++;
    return shift;
}

static void write_gaps(struct bit_writer *writer, const uint64_t *numbers, uint64_t count, uint64_t bound)
{
    unsigned parameter = rice_parameter(bound, count);
    uint64_t next = 0;
    for (uint64_t i = 0; i < count; i++) {
        write_rice(writer, numbers[i] - next, parameter);
        next = numbers[i] + 1;
    }
}

void write_numbers(struct bit_writer *writer, const uint64_t *numbers, uint64_t count, uint64_t bound)
{
    write_varint(writer, count);
    write_gaps(writer, numbers, count, bound);
    write_alignment(writer);
}

static bool read_gaps(struct bit_reader *reader, uint64_t *numbers, uint64_t count, uint64_t bound)
{
    unsigned parameter = rice_parameter(bound, count);
    uint64_t next = 0;
    for (uint64_t i = 0; i < count; i++, next++) {
        uint64_t gap = read_rice(reader, parameter);
        if (reader->failed || gap >= bound - next)
            return false;
        next += gap;
        numbers[i] = next;
    }
    return true;
}

uint64_t *read_numbers(struct bit_reader *reader, uint64_t *count, uint64_t bound, const roost_allocator *allocator)
{
    *count = read_varint(reader);
    if (reader->failed || *count > bound || *count > reader_bits_left(reader)) {
        reader->failed = true;
        return NULL;
    }
    uint64_t *numbers = memory_allocate(allocator, (*count + 1) * sizeof *numbers);
    if (!numbers)
        return NULL;
    if (!read_gaps(reader, numbers, *count, bound))
        reader->failed = true;
    read_alignment(reader);
    if (!reader->failed)
        return numbers;
    memory_release(allocator, numbers);
    return NULL;
}

static uint64_t range_bound(unsigned shift, uint64_t universe)
{
    return (universe >> shift) + 1;
}

void write_ranges(struct bit_writer *writer, const struct ranges *ranges, uint64_t universe)
{
    write_byte(writer, (uint8_t)ranges->shift);
    write_numbers(writer, ranges->numbers, ranges->count, range_bound(ranges->shift, universe));
}

roost_status read_ranges(struct bit_reader *reader, struct ranges *ranges, uint64_t universe,
                         const roost_allocator *allocator)
{
    *ranges = (struct ranges){.shift = read_byte(reader)};
    if (reader->failed || ranges->shift < FEWEST_SHIFT || ranges->shift > 56)
        return ROOST_CORRUPT;
    ranges->numbers = read_numbers(reader, &ranges->count, range_bound(ranges->shift, universe), allocator);
    if (ranges->numbers)
        return ROOST_OK;
    return reader->failed ? ROOST_CORRUPT : ROOST_NO_MEMORY;
}

void ranges_release(struct ranges *ranges, const roost_allocator *allocator)
{
    memory_release(allocator, ranges->numbers);
    *ranges = (struct ranges){0};
}

/* ---- lists ---------------------------------------------------------------------------------------------------------
 */

roost_status list_append(struct number_list *list, uint64_t number, const roost_filter *filter)
{
    if (list->count == list->most)
        return ROOST_TOO_LARGE;
    if (list->count == list->room) {
        uint64_t room = list->room ? list->room * 2 : 256;
        uint64_t *numbers = memory_allocate(&filter->environment.allocator, room * sizeof number);
        if (!numbers)
            return ROOST_NO_MEMORY;
        if (list->count)
            memcpy(numbers, list->numbers, list->count * sizeof number);
        memory_release(&filter->environment.allocator, list->numbers);
        list->numbers = numbers;
        list->room = room;
    }
    list->numbers[list->count++] = number;
    return ROOST_OK;
}

void list_release(struct number_list *list, const roost_filter *filter)
{
    memory_release(&filter->environment.allocator, list->numbers);
    *list = (struct number_list){.most = list->most};
}

/* ---- leaves --------------------------------------------------------------------------------------------------------
 */

static bool by_others(uint64_t count, uint64_t width)
{
    return width <= MOST_LEAF && count > width - count;
}

double leaf_bits(uint64_t count, uint64_t width)
{
    uint64_t named = by_others(count, width) ? width - count : count;
    return 8 + (double)named * (rice_parameter(width, named) + 1.5);
}

void write_leaf(struct bit_writer *writer, const uint64_t *members, uint64_t count, uint64_t from, uint64_t to)
{
    uint64_t width = to - from, next = from, last = from;
    bool others = by_others(count, width);
    unsigned parameter = rice_parameter(width, others ? width - count : count);
    write_varint(writer, count);
    for (uint64_t i = 0; i < count; i++) {
        for (; others && next < members[i]; next++, last = next)
            write_rice(writer, next - last, parameter);
        if (!others)
            write_rice(writer, members[i] - next, parameter);
        next = members[i] + 1;
    }
    for (; others && next < to; next++, last = next)
        write_rice(writer, next - last, parameter);
    write_alignment(writer);
}

/* Those from `from` to `to` less 1. */
static roost_status append_row(struct number_list *list, uint64_t from, uint64_t to, const roost_filter *filter)
{
    roost_status status = ROOST_OK;
    for (; from < to && status == ROOST_OK; from++)
        status = list_append(list, from, filter);
    return status;
}

roost_status read_leaf(struct bit_reader *reader, struct number_list *members, uint64_t from, uint64_t to,
                       const roost_filter *filter)
{
    uint64_t width = to - from, count = read_varint(reader), next = from;
    if (reader->failed || count > width)
        return ROOST_CORRUPT;
    bool others = by_others(count, width);
    roost_status status = ROOST_OK;
    uint64_t named = others ? width - count : count;
    unsigned parameter = rice_parameter(width, named);
    for (uint64_t i = 0; i < named && status == ROOST_OK; i++) {
        uint64_t gap = read_rice(reader, parameter);
        if (reader->failed || gap >= to - next)
            return ROOST_CORRUPT;
        status = others ? append_row(members, next, next + gap, filter) : list_append(members, next + gap, filter);
        next += gap + 1;
    }
    if (others && status == ROOST_OK)
        status = append_row(members, next, to, filter);
    if (status != ROOST_OK)
        return status;
    read_alignment(reader);
    return reader->failed ? ROOST_CORRUPT : ROOST_OK;
}
