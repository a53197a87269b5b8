/* The envelope of the messages of a sync: type, content, keyed checksum. */
#include "messages.h"

#include "../base/hash.h"

#define CHECKSUM_BYTES 8

static bool has_checksum(uint8_t type)
{
    return type != HELLO && type != FAILURE;
}

static uint64_t message_checksum(const roost_filter *filter, const uint8_t *bytes, size_t size)
{
    return hash_bytes(configuration_hash(filter).high, bytes, size).low;
}

void message_begin(struct bit_writer *writer, const roost_filter *filter, enum message_type type)
{
    bit_writer_init(writer, filter->environment.allocator);
    write_byte(writer, (uint8_t)type);
}

roost_status message_end(struct bit_writer *writer, const roost_filter *filter, roost_buffer *message,
                         roost_status status)
{
    bit_writer_reserve(writer, CHECKSUM_BYTES);
    if (status == ROOST_OK && writer->failed)
        status = ROOST_NO_MEMORY;
    if (status != ROOST_OK)
        bit_writer_release(writer);
    else if (has_checksum(writer->buffer.data[0]))
        write_fixed64(writer, message_checksum(filter, writer->buffer.data, writer->buffer.size));
    *message = writer->buffer;
    return status;
}

uint64_t request_hash(const roost_filter *filter, const void *request, size_t size)
{
    return message_checksum(filter, request, size);
}

void bind_reply(roost_buffer *reply, uint64_t request)
{
    if (reply->size <= CHECKSUM_BYTES || !has_checksum(reply->data[0]))
        return;
    uint8_t *checksum = reply->data + reply->size - CHECKSUM_BYTES;
    store_word(checksum, load_word(checksum) ^ request);
}

roost_status message_open(struct bit_reader *reader, const roost_filter *filter, const void *message, size_t size,
                          uint64_t request)
{
    const uint8_t *bytes = message;
    if (size == 0)
        return ROOST_PROTOCOL;
    *reader = bit_reader_over(bytes, size);
    uint8_t type = read_byte(reader);
    if (!has_checksum(type))
        return ROOST_OK;
    if (type < EQUAL || type > WHOLE)
        return ROOST_PROTOCOL;
    if (size < 1 + CHECKSUM_BYTES)
        return ROOST_CORRUPT;
    reader_cut(reader, size - CHECKSUM_BYTES);
    uint64_t checksum = load_word(bytes + reader->size) ^ request;
    return message_checksum(filter, bytes, reader->size) == checksum ? ROOST_OK : ROOST_CORRUPT;
}

uint64_t short_digest(roost_filter *filter)
{
    return load_word(roost_filter_digest(filter).bytes);
}

void write_half(struct bit_writer *writer, uint32_t half)
{
    write_bits(writer, half, 32);
}

uint32_t read_half(struct bit_reader *reader)
{
    return (uint32_t)read_bits(reader, 32);
}

uint32_t space_hash(const struct causal_context *space, uint64_t incarnation)
{
    uint64_t sum = 0;
    for (size_t i = 0; space && i < space->count; i++) {
        const struct dot_run *run = &space->runs[i];
        sum += (uint64_t)hash_number(run->actor, (uint64_t)run->last << 32 | run->first);
    }
    return (uint32_t)(sum >> 32 ^ sum) ^ half_incarnation(incarnation);
}

roost_status resolve_all_positions(roost_filter *filter, bool *changed, const struct causal_context *space,
                                   const uint64_t *positions, uint64_t count, struct bit_reader *reader)
{
    struct quota extra = {0};
    roost_status status = ROOST_OK;
    if (filter->kind->sync.read_extra)
        status = filter->kind->sync.read_extra(filter, &extra, reader);
    else if (reader_bits_left(reader) != 0)
        status = ROOST_CORRUPT;
    if (status == ROOST_OK)
        status = filter->kind->sync.resolve_positions(filter, changed, space, positions, count);
    if (status == ROOST_OK && filter->kind->sync.take_extra)
        *changed |= filter->kind->sync.take_extra(filter, &extra);
    quota_release(&extra, &filter->environment.allocator);
    return status;
}
