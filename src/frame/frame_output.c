/*
 * A frame that goes to a file while it is encoded. What keeps other frames whole in memory is that they begin with
 * their length and end with a checksum over all, the length included: neither is known before the last byte of the
 * state is.
 *
 *     1   | header, length unknown | configuration | state ...     as it is encoded, some 256 KiB at a time
 *     2   | header                 |                               over the first one, which has as many bytes
 *     3   ................................................         read again, for the checksum
 *     4                                                   | checksum |
 *
 * What is read again is compared with what was written, by a sum of everything behind the header: what was damaged in
 * between would otherwise get a checksum that fits.
 *
 * The length is a varint, so that the header has one size only if the length does not vary too much: between what the
 * state takes at least and at most there must be no power of 128. Where there is one, the frame is made in memory.
 */
#include "frame.h"

#include <string.h>

#include "../base/hash.h"

#define READ_AT_ONCE ((size_t)256 << 10)

struct output_sink {
    struct byte_sink sink;
    const struct frame_output *output;
    size_t skipped;      /* of the room for the header, at the front of what comes first */
    size_t header_bytes; /* of the header */
    uint64_t size;       /* of what was written */
    struct checksum_stream body;
    roost_status status;
};

/* Sums up what lies behind the header. */
static void add_body(struct checksum_stream *body, size_t header_bytes, uint64_t position, const uint8_t *bytes,
                     size_t size)
{
    size_t before = position < header_bytes ? (size_t)(header_bytes - position) : 0;
    if (before < size)
        checksum_add(body, bytes + before, size - before);
}

static bool take(struct byte_sink *base, const void *bytes, size_t size)
{
    struct output_sink *sink = (struct output_sink *)base;
    const uint8_t *written = (const uint8_t *)bytes + sink->skipped;
    size -= sink->skipped;
    sink->skipped = 0;
    sink->status = sink->output->write(sink->output->context, written, size);
    add_body(&sink->body, sink->header_bytes, sink->size, written, size);
    sink->size += size;
    return sink->status == ROOST_OK;
}

/* A frame without its configuration: LARGEST_HEADER bytes of room, and the first byte of a body to tell the version. */
static size_t header_size(const struct bit_writer *writer, uint64_t length)
{
    uint8_t header[LARGEST_HEADER + 8];
    const uint8_t *body = writer->buffer.data + LARGEST_HEADER;
    return frame_write_header(header, STATE_FRAME, body, writer->buffer.size - LARGEST_HEADER, length);
}

/* The size of the header where the length lies between these two; 0 if there are several. */
static size_t only_header_size(const struct bit_writer *writer, uint64_t least, uint64_t most)
{
    const uint64_t begun = writer->buffer.size - LARGEST_HEADER;
    size_t size = header_size(writer, begun + least);
    return size == header_size(writer, begun + most) ? size : 0;
}

bool frame_is_passed_on(const roost_filter *filter)
{
    uint64_t least, most;
    struct bit_writer writer;
    if (filter->imported || !filter->kind->encoding.is_passed_on ||
        !filter->kind->encoding.is_passed_on(filter, &least, &most))
        return false;
    frame_begin(&writer, filter);
    bool passed_on = !writer.failed && only_header_size(&writer, least, most) > 0;
    bit_writer_release(&writer);
    return passed_on;
}

static roost_status read_checksum(const struct output_sink *sink, uint8_t checksum[8], const roost_allocator *allocator)
{
    uint8_t *bytes = memory_allocate(allocator, READ_AT_ONCE);
    struct checksum_stream whole, body;
    roost_status status = bytes ? ROOST_OK : ROOST_NO_MEMORY;
    checksum_begin(&whole);
    checksum_begin(&body);
    for (uint64_t done = 0, some; done < sink->size && status == ROOST_OK; done += some) {
        some = sink->size - done < READ_AT_ONCE ? sink->size - done : READ_AT_ONCE;
        status = sink->output->read(sink->output->context, done, bytes, (size_t)some);
        if (status != ROOST_OK)
            break;
        checksum_add(&whole, bytes, (size_t)some);
        add_body(&body, sink->header_bytes, done, bytes, (size_t)some);
    }
    memory_release(allocator, bytes);
    store_word(checksum, checksum_end(&whole));
    return status == ROOST_OK && checksum_end(&body) != checksum_end(&sink->body) ? ROOST_CORRUPT : status;
}

/* The state, behind a header that is not yet right. */
static roost_status write_body(const roost_filter *filter, struct bit_writer *writer, struct output_sink *sink)
{
    roost_status status = filter->kind->encoding.write_state(filter, writer);
    if (status == ROOST_OK && writer->failed)
        status = ROOST_NO_MEMORY;
    if (status == ROOST_OK && writer->buffer.size > 0)
        (void)take(&sink->sink, writer->buffer.data, writer->buffer.size);
    return sink->status != ROOST_OK ? sink->status : status;
}

roost_status frame_pass_on(const roost_filter *filter, const struct frame_output *output, uint64_t *size,
                           uint8_t checksum[8])
{
    uint8_t header[LARGEST_HEADER + 8];
    uint64_t least, most;
    struct bit_writer writer;
    struct output_sink sink = {.sink = {take}, .output = output, .status = ROOST_OK};
    frame_begin(&writer, filter);
    if (writer.failed)
        return ROOST_NO_MEMORY;
    (void)filter->kind->encoding.is_passed_on(filter, &least, &most);
    const uint8_t kind = writer.buffer.data[LARGEST_HEADER];
    sink.header_bytes = only_header_size(&writer, least, most);
    sink.skipped = LARGEST_HEADER - sink.header_bytes;
    checksum_begin(&sink.body);
    writer.sink = &sink.sink;
    roost_status status = write_body(filter, &writer, &sink);
    bit_writer_release(&writer);
    frame_write_header(header, STATE_FRAME, &kind, 1, sink.size - sink.header_bytes);
    if (status == ROOST_OK)
        status = output->rewrite(output->context, header, sink.header_bytes);
    if (status == ROOST_OK)
        status = read_checksum(&sink, checksum, &filter->environment.allocator);
    *size = sink.size + 8;
    return status == ROOST_OK ? output->write(output->context, checksum, 8) : status;
}
