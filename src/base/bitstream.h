/*
 * Bytes and bits in a row: a writer that grows, a reader that never looks past its end.
 *
 * Errors stick: after the first one every call does nothing (writer) or yields 0 (reader), so that a coder checks once,
 * at its end. Bits go into each byte from its lowest one upwards; numbers are little-endian.
 *
 *   varint      seven bits a byte, the lowest first, the top bit set on all but the last byte; the shortest form only
 *   gamma code  of v, not 0, of k + 1 bits: k zeros, a one, then all bits of v but the highest (Elias)
 *   Rice code   of v with parameter k: v >> k in unary (that many zeros, then a one), then the low k bits of v
 *
 * Whole bytes may follow bits after an alignment, which pads with zero bits; the reader refuses other padding, so that
 * one value has one form.
 *
 * Long arrays need no copy in between. A writer may refer to them where they are (struct lent_list), and a reader may
 * have a source, from which its bytes come as it gets to them: an array is then read to where it belongs. Nor need all
 * bytes be in memory at once: a writer may have a sink, which takes those that are complete.
 */
#ifndef BASE_BITSTREAM_H
#define BASE_BITSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bits.h"
#include "memory.h"

/* An array that belongs between the bytes of a writer: before its byte `at`. */
struct lent_bytes {
    size_t at;
    const void *bytes;
    size_t size;
};

#define MOST_LENT 64

struct lent_list {
    struct lent_bytes items[MOST_LENT];
    size_t count;
};

/* Where bytes go that are complete. */
struct byte_sink {
    bool (*take)(struct byte_sink *sink, const void *bytes, size_t size);
};

struct bit_writer {
    struct roost_buffer buffer; /* `size` counts the bytes that are complete, and were not taken by the sink */
    struct lent_list *lent;     /* NULL: arrays are copied into the buffer */
    struct byte_sink *sink;     /* NULL: all bytes stay in the buffer */
    size_t room;                /* bytes allocated */
    uint64_t pending;           /* bits that fill no byte yet, fewer than 8 between calls */
    unsigned pending_bits;
    bool fixed;  /* the room is the caller's and does not grow */
    bool failed; /* out of memory or room */
};

/*
 * What `make prove` shows of a writer with a room of the caller's: it is sound before and after each call, so nothing
 * is written beyond its room, and its bytes only become more. Room that grows is for bit_writer_reserve alone.
 */
/*@ predicate sound_writer(struct bit_writer *writer) =
      \valid(writer) && writer->fixed && writer->lent == \null && writer->pending_bits <= 7 &&
      writer->buffer.size <= writer->room <= SIZE_MAX / 16 && \valid(writer->buffer.data + (0 .. writer->room - 1)) &&
      \separated(writer, writer->buffer.data + (0 .. writer->room - 1));
    predicate writer_goes_on{Before, After}(struct bit_writer *writer) =
      \at(writer->buffer.size, After) >= \at(writer->buffer.size, Before) &&
      (\at(writer->failed, Before) ==> \at(writer->failed, After));
*/

/* Writes into memory of the caller's, which must be 8 bytes larger than what is written; nothing to release. */
static inline struct bit_writer bit_writer_over(void *memory, size_t room)
{
    return (struct bit_writer){.buffer.data = memory, .room = room, .fixed = true};
}
void bit_writer_init(struct bit_writer *writer, roost_allocator allocator);
void bit_writer_release(struct bit_writer *writer);
/* Makes room for so many more bytes at once. */
/*@ requires sound_writer(writer) && bytes <= SIZE_MAX / 4; assigns writer->failed;
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer);
    ensures writer->failed || writer->buffer.size + bytes + 8 <= writer->room; */
void bit_writer_reserve(struct bit_writer *writer, size_t bytes);

/*@ requires sound_writer(writer) && count <= 56;
    assigns writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
            writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer);
    ensures !writer->failed ==> writer->buffer.size * 8 + writer->pending_bits ==
            \old(writer->buffer.size * 8 + writer->pending_bits) + count; */
static inline void write_bits(struct bit_writer *writer, uint64_t value, unsigned count) /* count <= 56 */
{
    if (writer->buffer.size + 8 > writer->room)
        bit_writer_reserve(writer, 8);
    if (writer->failed)
        return;
    writer->pending |= (value & ((UINT64_C(1) << count) - 1)) << writer->pending_bits;
    writer->pending_bits += count;
    store_word(writer->buffer.data + writer->buffer.size, writer->pending);
    unsigned complete = writer->pending_bits / 8;
    writer->buffer.size += complete;
    writer->pending_bits -= complete * 8;
    writer->pending = complete == 8 ? 0 : writer->pending >> (complete * 8);
}

/* Codes of up to 56 bits are one write; the rest is rare. */
/*@ requires sound_writer(writer) && parameter <= 63;
    assigns writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
            writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer); */
void write_long_rice(struct bit_writer *writer, uint64_t value, unsigned parameter);
/*@ requires sound_writer(writer) && parameter <= 63 && value < UINT64_MAX;
    assigns writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
            writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer); */
static inline void write_rice(struct bit_writer *writer, uint64_t value, unsigned parameter)
{
    uint64_t zeros = value >> parameter, low = value & ((UINT64_C(1) << parameter) - 1);
    if (zeros + 1 + parameter <= 56)
        write_bits(writer, low << (zeros + 1) | UINT64_C(1) << zeros, (unsigned)zeros + 1 + parameter);
    else
        write_long_rice(writer, value, parameter);
}

/* Many with one parameter: quicker, and the same bits. */
/*@ requires sound_writer(writer) && parameter <= 63 && \valid_read(values + (0 .. count - 1));
    requires \forall integer i; 0 <= i < count ==> values[i] < UINT64_MAX;
    requires \separated(values + (0 .. count - 1), writer, writer->buffer.data + (0 .. writer->room - 1));
    assigns writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
            writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer); */
void write_rice_list(struct bit_writer *writer, const uint64_t *values, size_t count, unsigned parameter);

/*@ requires sound_writer(writer) && value > 0;
    assigns writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
            writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer); */
void write_gamma(struct bit_writer *writer, uint64_t value);
/* What another writer has written, up to its last bit. */
void write_written(struct bit_writer *writer, const struct bit_writer *other);
/*@ requires sound_writer(writer);
    assigns writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
            writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer);
    ensures !writer->failed ==> writer->pending_bits == 0; */
void write_alignment(struct bit_writer *writer);
/* These three want a writer that is aligned. */
/*@ requires sound_writer(writer);
    assigns writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
            writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer);
    ensures !writer->failed ==> writer->pending_bits == \old(writer->pending_bits) &&
            writer->buffer.size == \old(writer->buffer.size) + 1; */
void write_byte(struct bit_writer *writer, uint8_t byte);
/*@ requires sound_writer(writer);
    assigns writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
            writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer);
    ensures !writer->failed ==> writer->buffer.size > \old(writer->buffer.size); */
void write_varint(struct bit_writer *writer, uint64_t value);
/*@ requires sound_writer(writer) && size <= SIZE_MAX / 4 && \valid_read((uint8_t *)bytes + (0 .. size - 1));
    assigns writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
            writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer);
    ensures !writer->failed ==> writer->buffer.size == \old(writer->buffer.size) + size; */
void write_bytes(struct bit_writer *writer, const void *bytes, size_t size);
/*@ requires sound_writer(writer);
    assigns writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
            writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer);
    ensures !writer->failed ==> writer->buffer.size == \old(writer->buffer.size) + 8; */
void write_fixed64(struct bit_writer *writer, uint64_t value);
/* To be called now and then by what writes much: hands complete bytes over to the sink, if there is one. */
void bit_writer_pass_on(struct bit_writer *writer);
/* The same as write_bytes for an array that stays as it is until the bytes of the writer are used. */
void write_array(struct bit_writer *writer, const void *bytes, size_t size);

/*
 * Where bytes come from that are not in memory yet. Each has its address from the beginning; `fetch` fills in those
 * below `end` at least. Arrays that are read by `fetch_into` go elsewhere, and nothing is at their address.
 */
struct byte_source {
    bool (*fetch)(struct byte_source *source, size_t end);
    bool (*fetch_into)(struct byte_source *source, void *bytes, size_t size); /* the next bytes */
    void (*forget)(struct byte_source *source, size_t end);                   /* those below are not read again */
    size_t ready;                                                             /* bytes that have come */
};

struct bit_reader {
    const uint8_t *bytes;
    size_t size;     /* in bytes */
    size_t position; /* in bits */
    size_t ready;    /* bytes that can be read; all, unless there is a source */
    struct byte_source *source;
    bool failed; /* past the end, or a form that no writer makes */
};

/*
 * What `make prove` shows of a reader whose bytes are all in memory: it is sound before and after each call, so nothing
 * behind its end is read, and it does not go back.
 */
/*@ predicate sound_reader(struct bit_reader *reader) =
      \valid(reader) && reader->source == \null && reader->ready == reader->size && reader->size <= SIZE_MAX / 16 &&
      reader->position <= reader->size * 8 && \valid_read(reader->bytes + (0 .. reader->size - 1));
    predicate reader_goes_on{Before, After}(struct bit_reader *reader) =
      \at(reader->bytes, After) == \at(reader->bytes, Before) &&
      \at(reader->size, After) == \at(reader->size, Before) &&
      \at(reader->position, After) >= \at(reader->position, Before) &&
      (\at(reader->failed, Before) ==> \at(reader->failed, After));
*/

/*@ assigns \nothing; ensures \result.bytes == (uint8_t *)bytes && \result.size == size && \result.ready == size;
    ensures \result.position == 0 && \result.source == \null && !\result.failed; */
static inline struct bit_reader bit_reader_over(const void *bytes, size_t size)
{
    return (struct bit_reader){.bytes = bytes, .size = size, .ready = size};
}

/* Leaves only the first `size` bytes. */
/*@ requires sound_reader(reader) && reader->position <= size * 8 && size <= reader->size;
    assigns reader->size, reader->ready; ensures sound_reader(reader) && reader->size == size; */
static inline void reader_cut(struct bit_reader *reader, size_t size)
{
    reader->size = size;
    reader->ready = reader->ready < size ? reader->ready : size;
}

/*@ requires sound_reader((struct bit_reader *)reader); assigns \nothing;
    ensures \result == (reader->failed ? 0 : reader->size * 8 - reader->position); */
static inline size_t reader_bits_left(const struct bit_reader *reader)
{
    return reader->failed ? 0 : reader->size * 8 - reader->position;
}

/* At least 56 bits from the present position; beyond the end there are zeros. */
//@ requires sound_reader(reader); assigns \nothing;
uint64_t reader_next_window(struct bit_reader *reader);
//@ requires sound_reader(reader); assigns \nothing;
static inline uint64_t reader_window(struct bit_reader *reader)
{
    size_t byte = reader->position / 8;
    if (byte + 8 <= reader->ready)
        return load_word(reader->bytes + byte) >> (reader->position & 7);
    return reader_next_window(reader);
}

/*@ requires sound_reader(reader) && count <= 56; assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures \result < (1 << count);
    ensures reader->failed ? \result == 0 && reader->position == \old(reader->position)
                           : reader->position == \old(reader->position) + count; */
static inline uint64_t read_bits(struct bit_reader *reader, unsigned count) /* count <= 56 */
{
    if (reader_bits_left(reader) < count) {
        reader->failed = true;
        return 0;
    }
    uint64_t value = reader_window(reader) & ((UINT64_C(1) << count) - 1);
    reader->position += count;
    return value;
}

/*@ requires sound_reader(reader) && parameter <= 63; assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures !reader->failed ==> reader->position > \old(reader->position); */
uint64_t read_long_rice(struct bit_reader *reader, unsigned parameter);
/*@ requires sound_reader(reader) && parameter <= 63; assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures !reader->failed ==> reader->position > \old(reader->position); */
static inline uint64_t read_rice(struct bit_reader *reader, unsigned parameter)
{
    uint64_t window = reader_window(reader);
    unsigned zeros = window ? lowest_bit(window) : 64, length = zeros + 1 + parameter;
    if (length > 56 || reader_bits_left(reader) < length)
        return read_long_rice(reader, parameter);
    reader->position += length;
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): zeros and parameter are below 57 here
    return (uint64_t)zeros << parameter | (window >> (zeros + 1) & ((UINT64_C(1) << parameter) - 1));
}

/*@ requires sound_reader(reader) && parameter <= 63 && count <= SIZE_MAX / 16 && \valid(values + (0 .. count - 1));
    requires \separated(reader, values + (0 .. count - 1));
    assigns reader->position, reader->failed, values[0 .. count - 1];
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader); */
void read_rice_list(struct bit_reader *reader, uint64_t *values, size_t count, unsigned parameter);

/*@ requires sound_reader(reader); assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures !reader->failed ==> reader->position > \old(reader->position);
    ensures !reader->failed ==> \result > 0; */
uint64_t read_gamma(struct bit_reader *reader);
/*@ requires sound_reader(reader); assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures !reader->failed ==> reader->position % 8 == 0 && reader->position < \old(reader->position) + 8; */
void read_alignment(struct bit_reader *reader);
/*@ requires sound_reader(reader); assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures !reader->failed ==> reader->position == \old(reader->position) + 8;
    ensures reader->failed ==> \result == 0 && reader->position == \old(reader->position); */
uint8_t read_byte(struct bit_reader *reader);
/*@ requires sound_reader(reader); assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures !reader->failed ==> 8 <= reader->position - \old(reader->position) <= 80;
    ensures reader->failed ==> \result == 0; */
uint64_t read_varint(struct bit_reader *reader);
/* A pointer into the input, or NULL. */
/*@ requires sound_reader(reader); assigns reader->position, reader->failed, \result \from *reader, size;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures reader->failed && size > 0 ==> \result == \null && reader->position == \old(reader->position);
    ensures !\old(reader->failed) && size <= (reader->size * 8 - \old(reader->position)) / 8 ==> !reader->failed;
    ensures !reader->failed ==> \result == reader->bytes + \old(reader->position) / 8 &&
            reader->position == \old(reader->position) + size * 8 && \valid_read(\result + (0 .. size - 1)); */
const uint8_t *read_bytes(struct bit_reader *reader, size_t size);
/* Copies the next bytes; false if there are not so many. */
bool read_array(struct bit_reader *reader, void *bytes, size_t size);
/* What was read so far will not be read again, by no copy of this reader either. */
static inline void reader_forget(struct bit_reader *reader)
{
    if (reader->source)
        reader->source->forget(reader->source, reader->position / 8);
}
/*@ requires sound_reader(reader); assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader);
    ensures !reader->failed ==> reader->position == \old(reader->position) + 64;
    ensures reader->failed ==> \result == 0; */
uint64_t read_fixed64(struct bit_reader *reader);

/*
 * The parameter that codes `count` sorted numbers below `universe` by their gaps in the fewest bits: the gaps are then
 * nearly geometric, and k + 1 beats k once the mean gap passes 2^(k+1) / 0.9624 (from the golden ratio). Integers only,
 * so that every machine agrees.
 */
//@ assigns \nothing; ensures \result <= 63;
unsigned rice_parameter(uint64_t universe, uint64_t count);

#endif
