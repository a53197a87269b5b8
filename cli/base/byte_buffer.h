/*
 * A growing array of bytes, and a reader of bytes. Numbers are little-endian, or varints with seven bits a byte, lowest
 * first, as in frames (docs/format.md).
 */
#ifndef CLI_BASE_BYTE_BUFFER_H
#define CLI_BASE_BYTE_BUFFER_H

#include "roost.h"

#define LONGEST_VARINT 10

/* All zero is an empty one. */
struct byte_buffer {
    uint8_t *data;
    size_t size, room;
    bool failed; /* something was not appended, for lack of memory */
};

/* Makes room for that many bytes in all. ROOST_TOO_LARGE: more than the memory of this machine. */
roost_status byte_buffer_reserve(struct byte_buffer *buffer, size_t room);
void byte_buffer_release(struct byte_buffer *buffer);

void append_bytes(struct byte_buffer *buffer, const void *bytes, size_t size);
void append_number(struct byte_buffer *buffer, uint64_t number, size_t bytes);
void append_varint(struct byte_buffer *buffer, uint64_t number);
void append_sized(struct byte_buffer *buffer, const void *bytes,
                  size_t size); /* preceded by a varint with their size */

/* Writes a varint to an array; returns its size. */
size_t format_varint(uint8_t bytes[LONGEST_VARINT], uint64_t number);

/* Reads untrusted bytes from the front. After the first failure, every read returns 0. */
struct byte_reader {
    const uint8_t *next;
    size_t left;
    bool failed;
};

const uint8_t *take_bytes(struct byte_reader *reader, size_t size); /* NULL: there are fewer */
uint64_t take_number(struct byte_reader *reader, size_t bytes);
uint64_t take_varint(struct byte_reader *reader);
roost_bytes take_sized(struct byte_reader *reader);

#endif
