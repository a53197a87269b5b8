/* Appending never fails in the middle: a lack of memory sets `failed`, which the caller checks once, at the end. */
#include "byte_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define LEAST_ROOM 64

roost_status byte_buffer_reserve(struct byte_buffer *buffer, size_t room)
{
    if (room <= buffer->room)
        return ROOST_OK;
    if (room > machine_memory())
        return ROOST_TOO_LARGE;
    uint8_t *data = realloc(buffer->data, room);
    if (!data)
        return ROOST_NO_MEMORY;
    buffer->data = data;
    buffer->room = room;
    return ROOST_OK;
}

void byte_buffer_release(struct byte_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct byte_buffer){0};
}

/* ---- appending ------------------------------------------------------------------------------------------------- */

void append_bytes(struct byte_buffer *buffer, const void *bytes, size_t size)
{
    size_t needed = buffer->size + size, doubled = 2 * buffer->room;
    if (needed > buffer->room &&
        byte_buffer_reserve(buffer, needed > doubled ? needed + LEAST_ROOM : doubled) != ROOST_OK)
        buffer->failed = true;
    if (buffer->failed || size == 0)
        return;
    memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
}

void append_number(struct byte_buffer *buffer, uint64_t number, size_t bytes)
{
    uint8_t little[8];
    for (size_t i = 0; i < bytes; i++)
        little[i] = (uint8_t)(number >> 8 * i);
    append_bytes(buffer, little, bytes);
}

size_t format_varint(uint8_t bytes[LONGEST_VARINT], uint64_t number)
{
    size_t size = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[size++] = (uint8_t)(number | 0x80);
    bytes[size++] = (uint8_t)number;
    return size;
}

void append_varint(struct byte_buffer *buffer, uint64_t number)
{
    uint8_t bytes[LONGEST_VARINT];
    size_t size = format_varint(bytes, number);
    append_bytes(buffer, bytes, size);
}

void append_sized(struct byte_buffer *buffer, const void *bytes, size_t size)
{
    append_varint(buffer, size);
    append_bytes(buffer, bytes, size);
}

/* ---- taking ---------------------------------------------------------------------------------------------------- */

const uint8_t *take_bytes(struct byte_reader *reader, size_t size)
{
    const uint8_t *bytes = reader->next;
    reader->failed = reader->failed || size > reader->left;
    if (reader->failed)
        return NULL;
    reader->next += size;
    reader->left -= size;
    return bytes;
}

uint64_t take_number(struct byte_reader *reader, size_t bytes)
{
    const uint8_t *little = take_bytes(reader, bytes);
    uint64_t number = 0;
    for (size_t i = 0; little && i < bytes; i++)
        number |= (uint64_t)little[i] << 8 * i;
    return number;
}

/* As in frames, only the shortest form is valid. */
uint64_t take_varint(struct byte_reader *reader)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = take_number(reader, 1);
        bool overflows = shift == 63 && byte > 1, needless = shift > 0 && byte == 0;
        if (reader->failed || overflows || needless)
            break;
        number |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    reader->failed = true;
    return 0;
}

roost_bytes take_sized(struct byte_reader *reader)
{
    uint64_t size = take_varint(reader);
    const uint8_t *bytes = size <= reader->left ? take_bytes(reader, (size_t)size) : NULL;
    reader->failed = reader->failed || !bytes;
    return (roost_bytes){bytes, bytes ? (size_t)size : 0};
}
