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
 * have a source, from which its bytes come as it gets to them: an array is then read to where it belongs.
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

struct bit_writer {
    struct roost_buffer buffer; /* `size` counts the bytes that are complete */
    struct lent_list *lent;     /* NULL: arrays are copied into the buffer */
    size_t room;                /* bytes allocated */
    uint64_t pending;           /* bits that fill no byte yet, fewer than 8 between calls */
    unsigned pending_bits;
    bool fixed;  /* the room is the caller's and does not grow */
    bool failed; /* out of memory or room */
};

/* Writes into memory of the caller's, which must be 8 bytes larger than what is written; nothing to release. */
static inline struct bit_writer bit_writer_over(void *memory, size_t room)
{
    return (struct bit_writer){.buffer.data = memory, .room = room, .fixed = true};
}
void bit_writer_init(struct bit_writer *writer, roost_allocator allocator);
void bit_writer_release(struct bit_writer *writer);
/* Makes room for so many more bytes at once. */
void bit_writer_reserve(struct bit_writer *writer, size_t bytes);

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
void write_long_rice(struct bit_writer *writer, uint64_t value, unsigned parameter);
static inline void write_rice(struct bit_writer *writer, uint64_t value, unsigned parameter)
{
    uint64_t zeros = value >> parameter, low = value & ((UINT64_C(1) << parameter) - 1);
    if (zeros + 1 + parameter <= 56)
        write_bits(writer, low << (zeros + 1) | UINT64_C(1) << zeros, (unsigned)zeros + 1 + parameter);
    else
        write_long_rice(writer, value, parameter);
}

/* Many with one parameter: quicker, and the same bits. */
void write_rice_list(struct bit_writer *writer, const uint64_t *values, size_t count, unsigned parameter);

void write_gamma(struct bit_writer *writer, uint64_t value);
void write_alignment(struct bit_writer *writer);
/* These three want a writer that is aligned. */
void write_byte(struct bit_writer *writer, uint8_t byte);
void write_varint(struct bit_writer *writer, uint64_t value);
void write_bytes(struct bit_writer *writer, const void *bytes, size_t size);
void write_fixed64(struct bit_writer *writer, uint64_t value);
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

static inline struct bit_reader bit_reader_over(const void *bytes, size_t size)
{
    return (struct bit_reader){.bytes = bytes, .size = size, .ready = size};
}

/* Leaves only the first `size` bytes. */
static inline void reader_cut(struct bit_reader *reader, size_t size)
{
    reader->size = size;
    reader->ready = reader->ready < size ? reader->ready : size;
}

static inline size_t reader_bits_left(const struct bit_reader *reader)
{
    return reader->failed ? 0 : reader->size * 8 - reader->position;
}

/* At least 56 bits from the present position; beyond the end there are zeros. */
uint64_t reader_next_window(struct bit_reader *reader);
static inline uint64_t reader_window(struct bit_reader *reader)
{
    size_t byte = reader->position / 8;
    if (byte + 8 <= reader->ready)
        return load_word(reader->bytes + byte) >> (reader->position & 7);
    return reader_next_window(reader);
}

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

uint64_t read_long_rice(struct bit_reader *reader, unsigned parameter);
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

void read_rice_list(struct bit_reader *reader, uint64_t *values, size_t count, unsigned parameter);

uint64_t read_gamma(struct bit_reader *reader);
void read_alignment(struct bit_reader *reader);
uint8_t read_byte(struct bit_reader *reader);
uint64_t read_varint(struct bit_reader *reader);
/* A pointer into the input, or NULL. */
const uint8_t *read_bytes(struct bit_reader *reader, size_t size);
/* Copies the next bytes; false if there are not so many. */
bool read_array(struct bit_reader *reader, void *bytes, size_t size);
/* What was read so far will not be read again, by no copy of this reader either. */
static inline void reader_forget(struct bit_reader *reader)
{
    if (reader->source)
        reader->source->forget(reader->source, reader->position / 8);
}
uint64_t read_fixed64(struct bit_reader *reader);

/*
 * The parameter that codes `count` sorted numbers below `universe` by their gaps in the fewest bits: the gaps are then
 * nearly geometric, and k + 1 beats k once the mean gap passes 2^(k+1) / 0.9624 (from the golden ratio). Integers only,
 * so that every machine agrees.
 */
unsigned rice_parameter(uint64_t universe, uint64_t count);

#endif
