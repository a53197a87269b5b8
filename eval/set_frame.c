/*
 *     +------+---------+------+--------+-------+------+----------+
 *     | ESet | version | form | length | count | body | checksum |
 *     |  4   |    1    |  1   |   8    |   8   |      |    8     |
 *     +------+---------+------+--------+-------+------+----------+
 *
 * The same fields as in a frame of Roost, so that what differs between a filter and a set is the body.
 */
#include "set_frame.h"

#include <string.h>

#include "fatal.h"

#define MAGIC          "ESet"
#define MAGIC_BYTES    4
#define VERSION        1
#define HEADER_BYTES   22
#define CHECKSUM_BYTES 8

bool same_frames(struct set_frame a, struct set_frame b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

void put_bits(struct bit_row *row, set_member value, unsigned count)
{
    for (unsigned done = 0, some; done < count; done += some, row->position += some) {
        unsigned from = row->position % 8;
        some = count - done < 8 - from ? count - done : 8 - from;
        unsigned bits = (unsigned)(value >> done) & ((1u << some) - 1);
        row->bytes[row->position / 8] |= (uint8_t)(bits << from);
    }
}

set_member take_bits(struct bit_row *row, unsigned count)
{
    set_member value = 0;
    for (unsigned done = 0, some; done < count && row->position < row->end; done += some, row->position += some) {
        unsigned from = row->position % 8;
        some = count - done < 8 - from ? count - done : 8 - from;
        unsigned bits = row->bytes[row->position / 8] >> from & ((1u << some) - 1);
        value |= (set_member)bits << done;
    }
    return value;
}

void put_rice(struct bit_row *row, set_member value, unsigned parameter)
{
    row->position += (size_t)(value >> parameter);
    put_bits(row, 1, 1);
    put_bits(row, value, parameter);
}

set_member take_rice(struct bit_row *row, unsigned parameter)
{
    set_member quotient = 0;
    while (row->position < row->end && !take_bits(row, 1))
        quotient++;
    return quotient << parameter | take_bits(row, parameter);
}

/* ---- the envelope ------------------------------------------------------------------------------------------------ */

static uint64_t checksum(const uint8_t *bytes, size_t size)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

struct bit_row set_frame_begin(struct set_frame *frame, size_t most_bits)
{
    frame->bytes = must_allocate(HEADER_BYTES + most_bits / 8 + 1 + CHECKSUM_BYTES, 1);
    return (struct bit_row){.bytes = frame->bytes, .position = HEADER_BYTES * 8};
}

void set_frame_end(struct set_frame *frame, const struct bit_row *row, unsigned form, size_t count)
{
    size_t body = (row->position + 7) / 8 - HEADER_BYTES;
    struct bit_row header = {.bytes = frame->bytes, .position = MAGIC_BYTES * 8};
    memcpy(frame->bytes, MAGIC, MAGIC_BYTES);
    put_bits(&header, VERSION, 8);
    put_bits(&header, form, 8);
    put_bits(&header, body, 64);
    put_bits(&header, count, 64);
    header.position += body * 8;
    put_bits(&header, checksum(frame->bytes, HEADER_BYTES + body), 64);
    frame->size = header.position / 8;
}

bool set_frame_open(struct set_frame frame, struct bit_row *row, unsigned *form, size_t *count)
{
    if (frame.size < HEADER_BYTES + CHECKSUM_BYTES || memcmp(frame.bytes, MAGIC, MAGIC_BYTES) != 0)
        return false;
    size_t end = (frame.size - CHECKSUM_BYTES) * 8;
    struct bit_row tail = {.bytes = frame.bytes, .position = end, .end = frame.size * 8};
    *row = (struct bit_row){.bytes = frame.bytes, .position = MAGIC_BYTES * 8, .end = end};
    bool known = take_bits(row, 8) == VERSION;
    *form = (unsigned)take_bits(row, 8);
    size_t body = (size_t)take_bits(row, 64);
    *count = (size_t)take_bits(row, 64);
    return known && body == frame.size - HEADER_BYTES - CHECKSUM_BYTES &&
           take_bits(&tail, 64) == checksum(frame.bytes, frame.size - CHECKSUM_BYTES);
}
