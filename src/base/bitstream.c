#include "bitstream.h"

#include <string.h>

#include "bits.h"

/* A long array is followed by a few bytes, a checksum at least, which must not double the room. */
#define SLACK 64

/* Arrays that are shorter are copied: a list of arrays is for those that matter. */
#define LEAST_LENT ((size_t)64 << 10)

#define LEAST_PASSED_ON ((size_t)256 << 10)

void bit_writer_init(struct bit_writer *writer, roost_allocator allocator)
{
    *writer = (struct bit_writer){.buffer.allocator = allocator};
}

void bit_writer_release(struct bit_writer *writer)
{
    roost_buffer_release(&writer->buffer);
    *writer = (struct bit_writer){.buffer.allocator = writer->buffer.allocator, .failed = writer->failed};
}

/* Slack of eight bytes lets write_bits store whole words. */
void bit_writer_reserve(struct bit_writer *writer, size_t bytes)
{
    size_t wanted = writer->buffer.size + bytes + 8;
    if (writer->failed || wanted <= writer->room)
        return;
    size_t room = writer->room * 2 > wanted ? writer->room * 2 : wanted + SLACK;
    uint8_t *data = writer->fixed ? NULL : memory_allocate(&writer->buffer.allocator, room);
    if (!data) {
        writer->failed = true;
        return;
    }
    if (writer->buffer.data)
        memcpy(data, writer->buffer.data, writer->buffer.size);
    memory_release(&writer->buffer.allocator, writer->buffer.data);
    writer->buffer.data = data;
    writer->room = room;
}

void bit_writer_pass_on(struct bit_writer *writer)
{
    if (!writer->sink || writer->failed || writer->buffer.size < LEAST_PASSED_ON)
        return;
    writer->failed = !writer->sink->take(writer->sink, writer->buffer.data, writer->buffer.size);
    writer->buffer.size = 0;
}

void write_long_rice(struct bit_writer *writer, uint64_t value, unsigned parameter)
{
    uint64_t zeros = value >> parameter, low = value & ((UINT64_C(1) << parameter) - 1);
    /*@ loop invariant sound_writer(writer) && writer_goes_on{Pre, Here}(writer);
        loop assigns zeros, writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
                     writer->buffer.data[0 .. writer->room - 1]; */
    for (; zeros > 48; zeros -= 48)
        write_bits(writer, 0, 48);
    write_bits(writer, UINT64_C(1) << zeros, (unsigned)zeros + 1);
    /*@ loop invariant parameter <= 63 && sound_writer(writer) && writer_goes_on{Pre, Here}(writer);
        loop assigns parameter, low, writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
                     writer->buffer.data[0 .. writer->room - 1]; */
    for (; parameter > 32; parameter -= 32, low >>= 32)
        write_bits(writer, low, 32);
    write_bits(writer, low, parameter);
}

/* Codes that are written before the writer is asked for room again. */
#define CODES_AT_ONCE 64

/* As many codes of up to 56 bits as come first, with the bits that are pending in registers. Returns how many. */
/*@ requires sound_writer(writer) && !writer->failed && count <= CODES_AT_ONCE && parameter <= 55;
    requires writer->buffer.size + count * 8 + 8 <= writer->room && \valid_read(values + (0 .. count - 1));
    requires \separated(values + (0 .. count - 1), writer, writer->buffer.data + (0 .. writer->room - 1));
    assigns writer->pending, writer->pending_bits, writer->buffer.size, writer->buffer.data[0 .. writer->room - 1];
    ensures sound_writer(writer) && writer_goes_on{Pre, Post}(writer) && \result <= count; */
static size_t write_short_codes(struct bit_writer *writer, const uint64_t *values, size_t count, unsigned parameter)
{
    uint8_t *next = writer->buffer.data + writer->buffer.size;
    uint64_t pending = writer->pending, low_mask = (UINT64_C(1) << parameter) - 1;
    unsigned bits = writer->pending_bits;
    size_t done = 0;
    /*@ loop invariant done <= count && bits <= 7;
        loop invariant \exists integer end; next == writer->buffer.data + end &&
                       writer->buffer.size <= end <= writer->buffer.size + done * 8;
        loop assigns done, bits, pending, next, writer->buffer.data[0 .. writer->room - 1]; */
    for (; done < count; done++) {
        uint64_t zeros = values[done] >> parameter;
        if (zeros > 55 - parameter)
            break;
        pending |= ((values[done] & low_mask) << 1 | 1) << zeros << bits;
        bits += (unsigned)zeros + 1 + parameter;
        store_word(next, pending);
        next += bits / 8;
        pending >>= bits & ~7u; /* of 63 at most */
        bits &= 7;
    }
    writer->pending = pending;
    writer->pending_bits = bits;
    writer->buffer.size = (size_t)(next - writer->buffer.data);
    return done;
}

void write_rice_list(struct bit_writer *writer, const uint64_t *values, size_t count, unsigned parameter)
{
    /*@ loop invariant done <= count && sound_writer(writer) && writer_goes_on{Pre, Here}(writer);
        loop assigns done, writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
                     writer->buffer.data[0 .. writer->room - 1]; */
    for (size_t done = 0; done < count && !writer->failed;) {
        size_t some = count - done < CODES_AT_ONCE ? count - done : CODES_AT_ONCE;
        bit_writer_reserve(writer, some * sizeof(uint64_t));
        size_t written =
            writer->failed || parameter > 55 ? 0 : write_short_codes(writer, values + done, some, parameter);
        if (written < some)
            write_rice(writer, values[done + written++], parameter);
        done += written;
    }
}

void write_gamma(struct bit_writer *writer, uint64_t value)
{
    unsigned bits = highest_bit(value);
    write_rice(writer, bits, 0);
    write_bits(writer, value, bits < 32 ? bits : 32);
    if (bits > 32)
        write_bits(writer, value >> 32, bits - 32);
}

/* Whole words; of a writer that is not aligned. Returns how many bytes that is. */
static size_t write_words(struct bit_writer *writer, const uint8_t *bytes, size_t size)
{
    uint8_t *to = writer->buffer.data + writer->buffer.size;
    const unsigned bits = writer->pending_bits;
    uint64_t pending = writer->pending;
    size_t done = 0;
    for (; size - done >= 8; done += 8) {
        uint64_t word = load_word(bytes + done);
        store_word(to + done, pending | word << bits);
        pending = word >> (64 - bits);
    }
    writer->pending = pending;
    writer->buffer.size += done;
    return done;
}

void write_written(struct bit_writer *writer, const struct bit_writer *other)
{
    const uint8_t *bytes = other->buffer.data;
    const size_t size = other->buffer.size;
    bit_writer_reserve(writer, size + 8);
    writer->failed |= other->failed;
    if (writer->failed)
        return;
    if (writer->pending_bits == 0)
        write_bytes(writer, bytes, size);
    else
        for (size_t done = write_words(writer, bytes, size); done < size; done++)
            write_bits(writer, bytes[done], 8);
    write_bits(writer, other->pending, other->pending_bits);
}

void write_alignment(struct bit_writer *writer)
{
    if (writer->pending_bits)
        write_bits(writer, 0, 8 - writer->pending_bits);
}

void write_byte(struct bit_writer *writer, uint8_t byte)
{
    write_bits(writer, byte, 8);
}

void write_varint(struct bit_writer *writer, uint64_t value)
{
    /*@ loop invariant sound_writer(writer) && writer_goes_on{Pre, Here}(writer);
        loop assigns value, writer->buffer.size, writer->pending, writer->pending_bits, writer->failed,
                     writer->buffer.data[0 .. writer->room - 1]; */
    for (; value >= 0x80; value >>= 7)
        write_byte(writer, (uint8_t)(value | 0x80));
    write_byte(writer, (uint8_t)value);
}

void write_bytes(struct bit_writer *writer, const void *bytes, size_t size)
{
    bit_writer_reserve(writer, size);
    if (writer->failed || size == 0)
        return;
    memcpy(writer->buffer.data + writer->buffer.size, bytes, size);
    writer->buffer.size += size;
}

void write_fixed64(struct bit_writer *writer, uint64_t value)
{
    uint8_t bytes[8];
    store_word(bytes, value);
    write_bytes(writer, bytes, sizeof bytes);
}

void write_array(struct bit_writer *writer, const void *bytes, size_t size)
{
    if (!writer->lent || size < LEAST_LENT || writer->lent->count == MOST_LENT)
        write_bytes(writer, bytes, size);
    else
        writer->lent->items[writer->lent->count++] = (struct lent_bytes){writer->buffer.size, bytes, size};
}

//@ requires \valid(reader); assigns reader->failed; ensures reader->failed && \result == 0;
static uint64_t refuse(struct bit_reader *reader)
{
    reader->failed = true;
    return 0;
}

/* Gets the bytes below `end`, which is not beyond the last one. */
//@ requires sound_reader(reader) && end <= reader->size; assigns \nothing; ensures \result == true;
static bool fetch(struct bit_reader *reader, size_t end)
{
    if (end <= reader->ready)
        return true;
    if (!reader->source || !reader->source->fetch(reader->source, end)) {
        reader->failed = true;
        return false;
    }
    reader->ready = reader->source->ready < reader->size ? reader->source->ready : reader->size;
    return true;
}

uint64_t reader_next_window(struct bit_reader *reader)
{
    uint8_t tail[8] = {0};
    size_t byte = reader->position / 8, end = reader->size - byte < 8 ? reader->size : byte + 8;
    if (byte < reader->size && fetch(reader, end))
        memcpy(tail, reader->bytes + byte, end - byte);
    return load_word(tail) >> (reader->position & 7);
}

/* Counts the zeros of a unary number; the limit keeps `value << parameter` within 64 bits. */
/*@ requires sound_reader(reader); assigns reader->position, reader->failed;
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader) && \result <= limit;
    ensures !reader->failed ==> reader->position > \old(reader->position); */
static uint64_t read_unary(struct bit_reader *reader, uint64_t limit)
{
    uint64_t zeros = 0;
    /*@ loop invariant sound_reader(reader) && reader_goes_on{Pre, Here}(reader) && zeros <= limit;
        loop assigns zeros, reader->position, reader->failed; */
    while (!reader->failed) {
        uint64_t window = reader_window(reader) & ((UINT64_C(1) << 56) - 1);
        unsigned run = window ? lowest_bit(window) : 56;
        zeros += run;
        if (zeros > limit || reader_bits_left(reader) <= run)
            return refuse(reader);
        reader->position += run;
        if (run < 56) {
            reader->position++;
            return zeros;
        }
    }
    return 0;
}

uint64_t read_long_rice(struct bit_reader *reader, unsigned parameter)
{
    uint64_t value = read_unary(reader, UINT64_MAX >> parameter) << parameter;
    value |= read_bits(reader, parameter < 32 ? parameter : 32);
    return parameter > 32 ? value | read_bits(reader, parameter - 32) << 32 : value;
}

/*
 * Codes of one word, which has 57 bits or more. Where a code begins is known when the one before is read, so a list is
 * a chain of steps that wait for one another; of these the load of the next word is the longest, and one load serves
 * several codes. Returns the bits of all of them; more than 57: they are longer, and the values are void.
 */
/*@ requires codes <= 4 && parameter <= 55 && \valid(values + (0 .. codes - 1));
    assigns values[0 .. codes - 1]; ensures codes <= \result <= codes * 119; */
static ALWAYS_INLINE unsigned read_codes_of_word(uint64_t word, uint64_t *values, unsigned codes, unsigned parameter)
{
    const uint64_t low_mask = (UINT64_C(1) << parameter) - 1;
    unsigned bits = 0;
    /*@ loop invariant i <= codes && i <= bits <= i * 119; loop assigns i, bits, word, values[0 .. codes - 1]; */
    for (unsigned i = 0; i < codes; i++) {
        unsigned zeros = lowest_bit(word | UINT64_C(1) << 63), length = zeros + 1 + parameter;
        values[i] = (uint64_t)zeros << parameter | (word >> zeros >> 1 & low_mask);
        word >>= length & 63;
        bits += length;
    }
    return bits;
}

/* As many codes as come first, some at a time, while whole words can be read and have so many. Returns how many. */
/*@ requires sound_reader(reader) && 1 <= codes <= 4 && parameter <= 55 && \valid(values + (0 .. count - 1));
    requires \separated(reader, values + (0 .. count - 1));
    assigns reader->position, values[0 .. count - 1];
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader) && \result <= count; */
static ALWAYS_INLINE size_t read_by_words(struct bit_reader *reader, uint64_t *values, size_t count, unsigned codes,
                                          unsigned parameter)
{
    size_t position = reader->position, done = 0;
    /*@ loop invariant done <= count && \at(reader->position, Pre) <= position <= reader->size * 8;
        loop assigns position, done, values[0 .. count - 1]; */
    while (count - done >= codes && position / 8 + 8 <= reader->ready) {
        uint64_t word = load_word(reader->bytes + position / 8) >> (position & 7);
        unsigned bits = read_codes_of_word(word, values + done, codes, parameter);
        if (bits > 57)
            break;
        position += bits;
        done += codes;
    }
    reader->position = position;
    return done;
}

/* Codes are two bits longer than the parameter, on average, and hardly ever as much as this. */
#define UNUSUAL(parameter) ((parameter) + 9)

/*@ requires sound_reader(reader) && parameter <= 55 && \valid(values + (0 .. count - 1));
    requires \separated(reader, values + (0 .. count - 1));
    assigns reader->position, values[0 .. count - 1];
    ensures sound_reader(reader) && reader_goes_on{Pre, Post}(reader) && \result <= count; */
static size_t read_short_codes(struct bit_reader *reader, uint64_t *values, size_t count, unsigned parameter)
{
    if (4 * UNUSUAL(parameter) <= 57)
        return read_by_words(reader, values, count, 4, parameter);
    if (3 * UNUSUAL(parameter) <= 57)
        return read_by_words(reader, values, count, 3, parameter);
    if (2 * UNUSUAL(parameter) <= 57)
        return read_by_words(reader, values, count, 2, parameter);
    return read_by_words(reader, values, count, 1, parameter);
}

void read_rice_list(struct bit_reader *reader, uint64_t *values, size_t count, unsigned parameter)
{
    /*@ loop invariant done <= count + 1 && sound_reader(reader) && reader_goes_on{Pre, Here}(reader);
        loop assigns done, reader->position, reader->failed, values[0 .. count - 1]; */
    for (size_t done = 0; done < count; done++) {
        if (!reader->failed && parameter <= 55)
            done += read_short_codes(reader, values + done, count - done, parameter);
        if (done < count)
            values[done] = read_rice(reader, parameter);
    }
}

uint64_t read_gamma(struct bit_reader *reader)
{
    uint64_t bits = read_rice(reader, 0);
    if (reader->failed || bits > 63)
        return refuse(reader);
    uint64_t value = read_bits(reader, bits < 32 ? (unsigned)bits : 32);
    if (bits > 32)
        value |= read_bits(reader, (unsigned)bits - 32) << 32;
    return reader->failed ? 0 : value | UINT64_C(1) << bits;
}

void read_alignment(struct bit_reader *reader)
{
    if (read_bits(reader, -reader->position & 7) != 0)
        refuse(reader);
}

uint8_t read_byte(struct bit_reader *reader)
{
    return (uint8_t)read_bits(reader, 8);
}

uint64_t read_varint(struct bit_reader *reader)
{
    uint64_t value = 0;
    /*@ loop invariant shift <= 70 && shift % 7 == 0 && sound_reader(reader) && reader_goes_on{Pre, Here}(reader);
        loop invariant reader->position == \at(reader->position, Pre) + shift / 7 * 8;
        loop invariant shift > 0 ==> !reader->failed;
        loop assigns value, shift, reader->position, reader->failed; */
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = read_byte(reader);
        if (reader->failed || (shift == 63 && byte > 1) || (shift > 0 && byte == 0))
            return refuse(reader);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    return refuse(reader);
}

const uint8_t *read_bytes(struct bit_reader *reader, size_t size)
{
    size_t begin = reader->position / 8;
    if (reader_bits_left(reader) / 8 < size) {
        reader->failed = true;
        return NULL;
    }
    if (!fetch(reader, begin + size))
        return NULL;
    reader->position += size * 8;
    return reader->bytes + begin;
}

/* What has come is copied, the rest goes from the source to where it belongs. */
bool read_array(struct bit_reader *reader, void *bytes, size_t size)
{
    size_t left = reader_bits_left(reader) / 8, come = reader->ready - reader->position / 8;
    if (left < size || !reader->source || size <= come) {
        const uint8_t *here = read_bytes(reader, size);
        return here && memcpy(bytes, here, size);
    }
    memcpy(bytes, read_bytes(reader, come), come);
    if (!reader->source->fetch_into(reader->source, (uint8_t *)bytes + come, size - come))
        return refuse(reader);
    reader->position += (size - come) * 8;
    reader->ready = reader->position / 8;
    return true;
}

uint64_t read_fixed64(struct bit_reader *reader)
{
    const uint8_t *bytes = read_bytes(reader, 8);
    return bytes ? load_word(bytes) : 0;
}

unsigned rice_parameter(uint64_t universe, uint64_t count)
{
    if (count == 0)
        return 0;
    uint128 scaled_mean = (uint128)universe * 63070 / count >> 16;
    return scaled_mean > 1 ? highest_bit((uint64_t)scaled_mean) : 0;
}
