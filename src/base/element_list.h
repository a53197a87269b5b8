/* Elements in messages: a varint with the size, then the bytes. */
#ifndef BASE_ELEMENT_LIST_H
#define BASE_ELEMENT_LIST_H

#include "bitstream.h"

static inline void write_element(struct bit_writer *writer, roost_bytes element)
{
    write_varint(writer, element.size);
    write_bytes(writer, element.data, element.size);
}

/* Points into the message. */
/*@ requires sound_reader(reader); assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures reader->failed ==> \result.size == 0;
    ensures !reader->failed ==> \result.size <= reader->size && reader->position >= \old(reader->position) + 8; */
static inline roost_bytes read_element(struct bit_reader *reader)
{
    uint64_t size = read_varint(reader);
    if (reader->failed || size > reader_bits_left(reader) / 8) {
        reader->failed = true;
        return (roost_bytes){NULL, 0};
    }
    return (roost_bytes){read_bytes(reader, size), size};
}

#endif
