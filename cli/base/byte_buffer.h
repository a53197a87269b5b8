/*
 * Bytes that grow as they come, and the numbers in them: little-endian, or varints with seven bits a byte, lowest
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
    bool failed; /* for want of memory: something was not appended */
};

/* Room for so many bytes in all, what is there included. ROOST_TOO_LARGE: beyond the memory of this machine. */
roost_status byte_buffer_reserve(struct byte_buffer *buffer, size_t room);
void byte_buffer_release(struct byte_buffer *buffer);

void append_bytes(struct byte_buffer *buffer, const void *bytes, size_t size);
void append_number(struct byte_buffer *buffer, uint64_t number, size_t bytes);
void append_varint(struct byte_buffer *buffer, uint64_t number);
void append_sized(struct byte_buffer *buffer, const void *bytes,
                  size_t size); /* a varint with their size before them */

/* The varint alone, for those who write elsewhere; answers its size. */
size_t format_varint(uint8_t bytes[LONGEST_VARINT], uint64_t number);

/* Takes what was appended from the front of hostile bytes. Once one thing is missing, all that follows is 0. */
struct byte_reader {
    const uint8_t *next;
    size_t left;
    bool failed;
};

const uint8_t *take_bytes(struct byte_reader *reader, size_t size); /* NULL where there are not so many */
uint64_t take_number(struct byte_reader *reader, size_t bytes);
uint64_t take_varint(struct byte_reader *reader);
roost_bytes take_sized(struct byte_reader *reader);

#endif
