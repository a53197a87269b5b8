/*
 * The frame: a state as bytes, for files and networks. docs/format.md is its specification.
 *
 *     +------+---------+------+--------+---------------+-------+----------+
 *     | Rost | version | type | length | configuration | state | checksum |
 *     |  4   |    1    |  1   | varint |               |       |    8     |
 *     +------+---------+------+--------+---------------+-------+----------+
 *                                      |<-------- length ----->|
 *
 * Where the filter has imported parts, these come before the configuration: a byte that no kind has, the size of their
 * bytes, and the bytes (../imported/imported_bytes.c).
 *
 * One state has one frame. A delta is a frame of another type, with a part of a state for its body: deltas are not
 * canonical, since their content depends on the cursor. The checksum (XXH3-64 of all before it) detects accidental
 * damage; it does not stop forged frames, so the readers of configuration and state check each number as well. Nothing
 * is allocated beyond what the memory limit of the environment allows.
 */
#include <assert.h>
#include <string.h>

#include "frame.h"
#include "kinds.h"
#include "roost/incremental.h"
#include "../base/hash.h"

#define MAGIC          "Rost"
#define MAGIC_BYTES    4
#define FRAME_VERSION  5 /* the latest that there is */
#define CHECKSUM_BYTES 8
#define WITH_IMPORTED  0x40 /* the first byte of a body with imported parts */
#define SECTION_HEADER (1 + 8)

/* Kinds that came later have a later version, so that programs that do not know them report the version: windows that
   grow have version 2, filters that are sets of prefixes version 3, any with imported parts version 4, sets with other
   semantics than add-wins version 5. A body begins with the kind of the filter, or with imported parts. */
static uint8_t version_of(enum frame_type type, const uint8_t *body, size_t size)
{
    static const uint8_t growing_window = 0x10 | ROOST_WINDOW, growing_counter = 0x10 | ROOST_COUNTER;
    bool filter = type == STATE_FRAME || type == DELTA_FRAME;
    if (!filter || size == 0)
        return 1;
    if (body[0] == WITH_IMPORTED)
        return 4;
    if (body[0] & 0x80)
        return 5;
    return body[0] & 0x20 ? 3 : body[0] == growing_window || body[0] == growing_counter ? 2 : 1;
}

size_t frame_write_header(uint8_t header[LARGEST_HEADER + 8], enum frame_type type, const uint8_t *body, size_t size,
                          uint64_t length)
{
    struct bit_writer front = bit_writer_over(header, LARGEST_HEADER + 8);
    write_bytes(&front, MAGIC, MAGIC_BYTES);
    write_byte(&front, version_of(type, body, size));
    write_byte(&front, (uint8_t)type);
    write_varint(&front, length);
    assert(!front.failed);
    return front.buffer.size;
}

/* Writes the header into the room that was left for it, and moves what follows up to it. */
static void finish_header(struct bit_writer *writer, enum frame_type type)
{
    uint8_t header[LARGEST_HEADER + 8], *data = writer->buffer.data;
    size_t body = writer->buffer.size - LARGEST_HEADER, lent = 0;
    for (size_t i = 0; writer->lent && i < writer->lent->count; i++)
        lent += writer->lent->items[i].size;
    size_t size = frame_write_header(header, type, data + LARGEST_HEADER, body, body + lent);
    memcpy(data, header, size);
    memmove(data + size, data + LARGEST_HEADER, body);
    writer->buffer.size = size + body;
    for (size_t i = 0; writer->lent && i < writer->lent->count; i++)
        writer->lent->items[i].at -= LARGEST_HEADER - size;
}

static roost_status add_to_checksum(void *context, const void *bytes, size_t size)
{
    checksum_add(context, bytes, size);
    return ROOST_OK;
}

/* The length comes before the body but is known after it: room for the longest one is left, and the front moved up. */
static void finish_frame(struct bit_writer *writer, enum frame_type type)
{
    struct checksum_stream checksum;
    finish_header(writer, type);
    if (!writer->lent) {
        write_fixed64(writer, checksum_bytes(writer->buffer.data, writer->buffer.size));
        return;
    }
    struct frame_pieces pieces = {writer->buffer, *writer->lent};
    checksum_begin(&checksum);
    (void)frame_pieces_write(&pieces, add_to_checksum, &checksum);
    write_fixed64(writer, checksum_end(&checksum));
}

void frame_begin_empty(struct bit_writer *writer, roost_allocator allocator)
{
    static const uint8_t room_for_header[LARGEST_HEADER];
    bit_writer_init(writer, allocator);
    write_bytes(writer, room_for_header, sizeof room_for_header);
}

void frame_begin(struct bit_writer *writer, const roost_filter *filter)
{
    frame_begin_empty(writer, filter->environment.allocator);
    write_configuration(filter, writer);
}

/* Imported parts, and then the configuration. The size of their bytes is filled in behind them. */
static size_t section_begin(struct bit_writer *writer, const roost_filter *filter)
{
    frame_begin_empty(writer, filter->environment.allocator);
    size_t begin = writer->buffer.size;
    write_byte(writer, WITH_IMPORTED);
    write_fixed64(writer, 0);
    return begin;
}

static void section_end(struct bit_writer *writer, const roost_filter *filter, size_t begin)
{
    if (!writer->failed)
        store_word(writer->buffer.data + begin + 1, writer->buffer.size - begin - SECTION_HEADER);
    write_configuration(filter, writer);
}

void frame_begin_state(struct bit_writer *writer, const roost_filter *filter)
{
    if (!filter->imported) {
        frame_begin(writer, filter);
        return;
    }
    size_t begin = section_begin(writer, filter);
    imported_write(filter->imported, writer);
    section_end(writer, filter, begin);
}

void frame_begin_part(struct bit_writer *writer, const roost_filter *filter, size_t part)
{
    size_t begin = section_begin(writer, filter);
    imported_write_part(filter->imported, part, writer);
    section_end(writer, filter, begin);
}

roost_status frame_begin_delta(struct bit_writer *writer, const roost_filter *filter, struct selection selection)
{
    bool any = false;
    if (!filter->imported) {
        frame_begin(writer, filter);
        return ROOST_OK;
    }
    size_t begin = section_begin(writer, filter);
    roost_status status = write_imported_changes(filter, writer, selection, &any);
    if (any) {
        section_end(writer, filter, begin);
        return status;
    }
    bit_writer_release(writer);
    frame_begin(writer, filter);
    return status;
}

roost_status frame_read_imported(struct imported **imported, struct bit_reader *reader,
                                 const struct memory_account *account)
{
    struct bit_reader ahead = *reader;
    if (imported)
        *imported = NULL;
    if (read_byte(&ahead) != WITH_IMPORTED || ahead.failed)
        return ROOST_OK;
    uint64_t size = read_fixed64(&ahead);
    if (ahead.failed || size > reader_bits_left(&ahead) / 8)
        return ROOST_CORRUPT;
    struct bit_reader section = bit_reader_over(read_bytes(&ahead, (size_t)size), (size_t)size);
    *reader = ahead;
    return imported ? imported_read(imported, &section, account) : ROOST_OK;
}

roost_status frame_end(struct bit_writer *writer, roost_buffer *frame, enum frame_type type, roost_status status)
{
    bit_writer_reserve(writer, CHECKSUM_BYTES);
    if (status == ROOST_OK && writer->failed)
        status = ROOST_NO_MEMORY;
    if (status == ROOST_OK)
        finish_frame(writer, type);
    else
        bit_writer_release(writer);
    *frame = writer->buffer;
    return status;
}

roost_status roost_filter_encode(const roost_filter *filter, roost_buffer *frame)
{
    struct bit_writer writer;
    frame_begin_state(&writer, filter);
    return frame_end(&writer, frame, STATE_FRAME, filter->kind->encoding.write_state(filter, &writer));
}

roost_status frame_pieces_write(const struct frame_pieces *pieces, frame_writer *write, void *context)
{
    const uint8_t *data = pieces->buffer.data;
    size_t done = 0;
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < pieces->lent.count && status == ROOST_OK; i++) {
        const struct lent_bytes *lent = &pieces->lent.items[i];
        status = write(context, data + done, lent->at - done);
        if (status == ROOST_OK)
            status = write(context, lent->bytes, lent->size);
        done = lent->at;
    }
    return status == ROOST_OK ? write(context, data + done, pieces->buffer.size - done) : status;
}

roost_status frame_encode_pieces(const roost_filter *filter, struct frame_pieces *pieces)
{
    struct bit_writer writer;
    pieces->lent.count = 0;
    frame_begin_state(&writer, filter);
    writer.lent = &pieces->lent;
    return frame_end(&writer, &pieces->buffer, STATE_FRAME, filter->kind->encoding.write_state(filter, &writer));
}

size_t frame_pieces_size(const struct frame_pieces *pieces)
{
    size_t size = pieces->buffer.size;
    for (size_t i = 0; i < pieces->lent.count; i++)
        size += pieces->lent.items[i].size;
    return size;
}

/* Opens a frame of a type from `first` to `last`, of which the first bytes are there at least. */
static roost_status open_header(struct bit_reader *reader, uint8_t *frame_type, enum frame_type first,
                                enum frame_type last)
{
    const uint8_t *frame = reader->bytes;
    size_t size = reader->size;
    if (size == 0 || memcmp(frame, MAGIC, size < MAGIC_BYTES ? size : MAGIC_BYTES) != 0)
        return ROOST_NOT_FRAME;
    read_bytes(reader, MAGIC_BYTES);
    uint8_t version = read_byte(reader), type = read_byte(reader);
    uint64_t length = read_varint(reader);
    if (version > FRAME_VERSION)
        return ROOST_UNSUPPORTED_VERSION;
    if (reader->failed)
        return size < LARGEST_HEADER ? ROOST_TRUNCATED : ROOST_CORRUPT;
    if (version == 0 || type < first || type > last)
        return ROOST_CORRUPT;
    *frame_type = type;
    size_t header = reader->position / 8;
    if (size < header + CHECKSUM_BYTES || length > size - header - CHECKSUM_BYTES)
        return ROOST_TRUNCATED;
    if (length < size - header - CHECKSUM_BYTES)
        return ROOST_CORRUPT;
    reader_cut(reader, size - CHECKSUM_BYTES);
    uint8_t right = version_of(type, frame + header, (size_t)length);
    return version > right ? ROOST_UNSUPPORTED_VERSION : version < right ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status open_envelope(struct bit_reader *reader, uint8_t *frame_type, const uint8_t *frame, size_t size,
                                  enum frame_type first, enum frame_type last)
{
    *reader = bit_reader_over(frame, size);
    roost_status status = open_header(reader, frame_type, first, last);
    bool sound = status != ROOST_OK || checksum_bytes(frame, reader->size) == load_word(frame + reader->size);
    return sound ? status : ROOST_CORRUPT;
}

roost_status frame_open_unchecked(struct bit_reader *reader, enum frame_type *frame_type)
{
    uint8_t type = 0;
    roost_status status = open_header(reader, &type, STATE_FRAME, DELTA_FRAME);
    *frame_type = type;
    return status;
}

roost_status frame_open(struct bit_reader *reader, enum frame_type *frame_type, const uint8_t *frame, size_t size)
{
    uint8_t type = 0;
    roost_status status = open_envelope(reader, &type, frame, size, STATE_FRAME, DELTA_FRAME);
    *frame_type = type;
    return status;
}

roost_status frame_open_multiset(struct bit_reader *reader, const uint8_t *frame, size_t size)
{
    uint8_t type;
    return open_envelope(reader, &type, frame, size, MULTISET_FRAME, MULTISET_FRAME);
}

bool roost_frame_is_delta(const void *frame, size_t size)
{
    const uint8_t *bytes = frame;
    return size > MAGIC_BYTES + 1 && memcmp(bytes, MAGIC, MAGIC_BYTES) == 0 && bytes[MAGIC_BYTES + 1] == DELTA_FRAME;
}

uint64_t roost_frame_get_memory(const void *frame, size_t size)
{
    struct bit_reader reader;
    enum frame_type type;
    roost_filter *empty = NULL;
    struct imported *imported = NULL;
    roost_environment environment = environment_or_default(NULL);
    const struct memory_account account = account_in(&environment);
    roost_status status = frame_open(&reader, &type, frame, size);
    if (status == ROOST_OK)
        status = frame_read_imported(&imported, &reader, &account);
    if (status == ROOST_OK)
        status = open_configured(&empty, &reader, &environment);
    uint64_t bytes = imported_memory(imported);
    imported_free(imported, &account);
    if (status != ROOST_OK)
        return status == ROOST_NO_MEMORY || status == ROOST_TOO_LARGE ? UINT64_MAX : 0;
    bytes += empty->kind->report.memory(empty);
    roost_filter_free(empty);
    return bytes;
}

static roost_status read_whole(roost_filter *filter, struct bit_reader *reader)
{
    roost_status status = filter->kind->encoding.read_state(filter, reader);
    return status == ROOST_OK && reader_bits_left(reader) != 0 ? ROOST_CORRUPT : status;
}

/* A delta is decoded as the state that it makes of an empty filter. */
static roost_status read_delta(roost_filter *filter, struct bit_reader *reader)
{
    bool changed;
    return filter->kind->delta.merge(filter, &changed, reader);
}

roost_status frame_read_filter(roost_filter **filter, struct bit_reader *reader, enum frame_type type,
                               const roost_environment *environment)
{
    roost_filter *decoded = NULL;
    struct imported *imported = NULL;
    const struct memory_account account = account_in(environment);
    roost_status status = frame_read_imported(&imported, reader, &account);
    if (status == ROOST_OK)
        status = open_configured(&decoded, reader, environment);
    if (status == ROOST_OK)
        status = adopt_import(decoded, imported);
    else
        imported_free(imported, &account);
    if (status == ROOST_OK)
        status = type == STATE_FRAME ? read_whole(decoded, reader) : read_delta(decoded, reader);
    if (status == ROOST_OK)
        *filter = decoded;
    else
        roost_filter_free(decoded);
    return status;
}

roost_status roost_filter_decode(roost_filter **filter, const void *frame, size_t size,
                                 const roost_environment *environment)
{
    struct bit_reader reader;
    enum frame_type type;
    roost_environment complete = environment_or_default(environment);
    *filter = NULL;
    roost_status status = frame_open(&reader, &type, frame, size);
    return status == ROOST_OK ? frame_read_filter(filter, &reader, type, &complete) : status;
}
