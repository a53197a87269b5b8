/*
 * The replica section, version 1. Numbers are little-endian; "sized" bytes follow a varint with their number.
 *
 *     4        magic "Rrep"
 *     1        version
 *     varint   length of the body
 *              8   the checksum that ends the frame: the section belongs to that state and no other
 *              8   device      8  inode                             of the file that this was written into
 *              12  birth time (8 seconds, 4 nanoseconds), all zero if the file system has none
 *              12  modification time, likewise
 *              sized replica: actor and journal, from roost_filter_save_replica
 *              varint number of peers, the latest last, and for each: sized name, sized cursor
 *     8        checksum: the low half of the filter's hash of all bytes before it
 *     4        magic again
 *
 * The frame matters more than the section: any doubt drops the section, and the file becomes a new replica. A damaged
 * section must still be told from bytes that do not belong in the file, which make the file corrupt. So the magic
 * stands at both ends, and a flipped byte or a cut-off end leaves one of them intact.
 */
#include "replica_section.h"

#include <string.h>

#define MAGIC           "Rrep"
#define MAGIC_SIZE      4
#define SECTION_VERSION 1
#define CHECKSUM_SIZE   8

bool is_replica_section(roost_bytes bytes)
{
    const uint8_t *data = bytes.data;
    size_t compared = bytes.size < MAGIC_SIZE ? bytes.size : MAGIC_SIZE;
    return bytes.size > 0 &&
           (memcmp(data, MAGIC, compared) == 0 ||
            (bytes.size > MAGIC_SIZE && memcmp(data + bytes.size - MAGIC_SIZE, MAGIC, MAGIC_SIZE) == 0));
}

static roost_bytes frame_checksum(roost_bytes frame)
{
    return (roost_bytes){(const uint8_t *)frame.data + frame.size - CHECKSUM_SIZE, CHECKSUM_SIZE};
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void write_sized(struct bit_writer *writer, const void *bytes, size_t size)
{
    write_varint(writer, size);
    write_bytes(writer, bytes, size);
}

static void write_time(struct bit_writer *writer, struct timespec time)
{
    write_fixed64(writer, (uint64_t)time.tv_sec);
    write_bits(writer, (uint64_t)time.tv_nsec, 32);
}

static void write_identity(struct bit_writer *writer, const struct file_identity *identity)
{
    write_fixed64(writer, identity->device);
    write_fixed64(writer, identity->inode);
    write_time(writer, identity->birth);
    write_time(writer, identity->modified);
}

static void write_peers(struct bit_writer *writer, const struct peer_cursors *peers)
{
    write_varint(writer, peers->count);
    for (size_t i = peers->count; i-- > 0;) {
        write_sized(writer, peers->peers[i].name, strlen(peers->peers[i].name));
        write_sized(writer, peers->peers[i].cursor.data, peers->peers[i].cursor.size);
    }
}

void replica_section_append(struct bit_writer *section, const roost_filter *filter, roost_bytes frame,
                            roost_bytes replica, const struct peer_cursors *peers, const struct file_identity *identity)
{
    struct bit_writer body;
    bit_writer_init(&body, section->buffer.allocator);
    write_bytes(&body, frame_checksum(frame).data, CHECKSUM_SIZE);
    write_identity(&body, identity);
    write_sized(&body, replica.data, replica.size);
    write_peers(&body, peers);

    size_t before = section->buffer.size;
    write_bytes(section, MAGIC, MAGIC_SIZE);
    write_byte(section, SECTION_VERSION);
    write_sized(section, body.buffer.data, body.buffer.size);
    section->failed |= body.failed;
    if (!section->failed)
        write_fixed64(section,
                      roost_filter_hash(filter, section->buffer.data + before, section->buffer.size - before).low);
    write_bytes(section, MAGIC, MAGIC_SIZE);
    bit_writer_release(&body);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static roost_bytes read_sized(struct bit_reader *reader)
{
    uint64_t size = read_varint(reader);
    reader->failed = reader->failed || size > reader_bits_left(reader) / 8;
    const uint8_t *bytes = reader->failed ? NULL : read_bytes(reader, (size_t)size);
    return (roost_bytes){bytes, bytes ? (size_t)size : 0};
}

static struct timespec read_time(struct bit_reader *reader)
{
    time_t seconds = (time_t)read_fixed64(reader);
    return (struct timespec){.tv_sec = seconds, .tv_nsec = (long)read_bits(reader, 32)};
}

static struct file_identity read_identity(struct bit_reader *reader)
{
    struct file_identity identity = {.device = read_fixed64(reader)};
    identity.inode = read_fixed64(reader);
    identity.birth = read_time(reader);
    identity.modified = read_time(reader);
    return identity;
}

/* A peer that is set last comes first, which is why the latest stands last. */
static roost_status read_peer(struct bit_reader *reader, struct peer_cursors *peers)
{
    roost_bytes name = read_sized(reader), cursor = read_sized(reader);
    return reader->failed ? ROOST_CORRUPT : peer_cursors_set(peers, name.data, name.size, cursor);
}

static roost_status read_peers(struct bit_reader *reader, struct peer_cursors *peers)
{
    uint64_t count = read_varint(reader);
    roost_status status = reader->failed || count > ROOST_FILE_MOST_PEERS ? ROOST_CORRUPT : ROOST_OK;
    for (; status == ROOST_OK && count > 0; count--)
        status = read_peer(reader, peers);
    return status == ROOST_OK && reader_bits_left(reader) > 0 ? ROOST_CORRUPT : status;
}

static bool read_magic(struct bit_reader *reader)
{
    const uint8_t *magic = read_bytes(reader, MAGIC_SIZE);
    return magic && memcmp(magic, MAGIC, MAGIC_SIZE) == 0;
}

/* Finds the body, unless magic, version, length or checksum are wrong. */
static roost_replica_status open_section(struct bit_reader *body, roost_bytes section, const roost_filter *filter)
{
    struct bit_reader reader = bit_reader_over(section.data, section.size);
    bool begins = read_magic(&reader);
    uint8_t version = read_byte(&reader);
    if (begins && !reader.failed && version > SECTION_VERSION)
        return ROOST_REPLICA_LATER;
    roost_bytes inside = read_sized(&reader);
    size_t guarded = reader.position / 8;
    uint64_t checksum = read_fixed64(&reader);
    if (!begins || version != SECTION_VERSION || !read_magic(&reader) || reader.failed ||
        reader_bits_left(&reader) > 0 || checksum != roost_filter_hash(filter, section.data, guarded).low)
        return ROOST_REPLICA_DAMAGED;
    *body = bit_reader_over(inside.data, inside.size);
    return ROOST_REPLICA_RESTORED;
}

static roost_replica_status restore(struct bit_reader *body, roost_bytes frame, int descriptor, roost_filter *filter,
                                    struct peer_cursors *peers, roost_status *status)
{
    const uint8_t *checksum = read_bytes(body, CHECKSUM_SIZE);
    struct file_identity identity = read_identity(body);
    roost_bytes replica = read_sized(body);
    *status = body->failed ? ROOST_CORRUPT : read_peers(body, peers);
    if (*status != ROOST_OK)
        return ROOST_REPLICA_DAMAGED;
    if (memcmp(checksum, frame_checksum(frame).data, CHECKSUM_SIZE) != 0 ||
        !file_identity_matches(&identity, descriptor))
        return ROOST_REPLICA_COPY;
    *status = roost_filter_restore_replica(filter, replica.data, replica.size);
    return *status == ROOST_OK ? ROOST_REPLICA_RESTORED : ROOST_REPLICA_DAMAGED;
}

roost_replica_status replica_section_restore(roost_bytes section, roost_bytes frame, int descriptor,
                                             roost_filter *filter, struct peer_cursors *peers, roost_status *status)
{
    struct bit_reader body;
    roost_replica_status replica = open_section(&body, section, filter);
    *status = ROOST_OK;
    if (replica == ROOST_REPLICA_RESTORED)
        replica = restore(&body, frame, descriptor, filter, peers, status);
    if (replica != ROOST_REPLICA_RESTORED)
        peer_cursors_clear(peers);
    if (*status != ROOST_NO_MEMORY)
        *status = ROOST_OK;
    return replica;
}
