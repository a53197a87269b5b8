/*
 * Ranges of positions as bytes. They are the nodes of a digest tree that is never built, since a summary computes the
 * digest of any range (../filter/summary.h).
 *
 * Bytes. A digest has four, a range that differs is cut into sixteen, and a leaf costs about a bit for each of its
 * positions where half of them are taken. So it pays to cut down to a leaf of about 64 bytes, and no further.
 *
 * A leaf that is nearly full names the few positions that are missing, so that two bytes may stand for 65,536 members.
 * A reader therefore gets the members of a leaf as intervals and never as a list: memory and time follow the bytes,
 * not the members.
 */
#include "ranges.h"

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

/*@ requires sound_reader(reader) && \valid(numbers + (0 .. count - 1));
    requires \separated(reader, numbers + (0 .. count - 1));
    assigns reader->position, reader->failed, numbers[0 .. count - 1];
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures \result ==> \forall integer i; 0 <= i < count ==> numbers[i] < bound;
    ensures \result ==> \forall integer i; 0 < i < count ==> numbers[i - 1] < numbers[i]; */
static bool read_gaps(struct bit_reader *reader, uint64_t *numbers, uint64_t count, uint64_t bound)
{
    unsigned parameter = rice_parameter(bound, count);
    uint64_t next = 0;
    /*@ loop invariant i <= count && next <= bound && sound_reader(reader) && reader_goes_on{Pre, Here}(reader);
        loop invariant \forall integer j; 0 <= j < i ==> numbers[j] < next;
        loop invariant \forall integer j; 0 < j < i ==> numbers[j - 1] < numbers[j];
        loop assigns i, next, reader->position, reader->failed, numbers[0 .. count - 1]; */
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

//@ requires shift <= 63; assigns \nothing;
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

/* ---- lists ------------------------------------------------------------------------------------------------------- */

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

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

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

void leaf_open(struct leaf *leaf, struct bit_reader *reader, uint64_t from, uint64_t to)
{
    uint64_t width = to - from, count = read_varint(reader);
    *leaf = (struct leaf){.reader = reader, .next = from, .to = to};
    leaf->failed = reader->failed || count > width;
    if (leaf->failed)
        return;
    leaf->others = by_others(count, width);
    leaf->named = leaf->others ? width - count : count;
    leaf->parameter = rice_parameter(width, leaf->named);
}

/* The next position that the message names. */
static bool next_named(struct leaf *leaf, uint64_t *position)
{
    uint64_t gap = read_rice(leaf->reader, leaf->parameter);
    leaf->failed |= leaf->reader->failed || gap >= leaf->to - leaf->next;
    *position = leaf->next + gap;
    leaf->next = *position + 1;
    leaf->named--;
    return !leaf->failed;
}

/* The members before the next missing position; behind the last of these, the rest of the range. */
static bool next_row_between(struct leaf *leaf, uint64_t *from, uint64_t *to)
{
    while (leaf->named > 0) {
        *from = leaf->next;
        if (!next_named(leaf, to))
            return false;
        if (*to > *from)
            return true;
    }
    *from = leaf->next;
    *to = leaf->next = leaf->to;
    return *to > *from;
}

bool leaf_next(struct leaf *leaf, uint64_t *from, uint64_t *to)
{
    bool found = false;
    if (leaf->failed)
        return false;
    if (leaf->others)
        found = next_row_between(leaf, from, to);
    else if (leaf->named > 0)
        found = next_named(leaf, from);
    if (found && !leaf->others)
        *to = *from + 1;
    if (found)
        return true;
    read_alignment(leaf->reader);
    leaf->failed |= leaf->reader->failed;
    return false;
}
