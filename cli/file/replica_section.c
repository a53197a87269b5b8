/*
 * The replica section, version 1. Numbers are little-endian, "sized" bytes follow a varint with their number.
 *
 *     4        magic "Rrep"
 *     1        version
 *     varint   length of the body
 *              8   the checksum that ends the frame: the section belongs to that state and no other
 *              8   device      8  inode                             of the file that this was written into
 *              12  birth time (8 seconds, 4 nanoseconds), all zero where the file system has none
 *              12  modification time, likewise
 *              sized replica: actor and journal, as roost_filter_save_replica gave them
 *              varint number of peers, the latest last, and for each: sized name, sized memory
 *     8        checksum: the low half of the filter's hash of all bytes before it
 *     4        magic again
 *
 * The frame is what is precious; a section is dropped at the least doubt, and the file goes on as a new replica. So a
 * damaged one must still be told from bytes that have no business there: the magic stands at both ends, and one byte
 * that flips, or an end that is cut off, leaves the other.
 */
#include "replica_section.h"

#include <stdlib.h>
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

static void append_time(struct byte_buffer *buffer, struct timespec time)
{
    append_number(buffer, (uint64_t)time.tv_sec, 8);
    append_number(buffer, (uint64_t)time.tv_nsec, 4);
}

static void append_identity(struct byte_buffer *buffer, const struct file_identity *identity)
{
    append_number(buffer, identity->device, 8);
    append_number(buffer, identity->inode, 8);
    append_time(buffer, identity->birth);
    append_time(buffer, identity->modified);
}

static void append_peers(struct byte_buffer *buffer, const struct peer_memories *peers)
{
    append_varint(buffer, peers->count);
    for (size_t i = peers->count; i-- > 0;) {
        append_sized(buffer, peers->peers[i].name, strlen(peers->peers[i].name));
        append_sized(buffer, peers->peers[i].memory.data, peers->peers[i].memory.size);
    }
}

void replica_section_append(struct byte_buffer *section, const roost_filter *filter, roost_bytes frame,
                            roost_bytes replica, const struct peer_memories *peers,
                            const struct file_identity *identity)
{
    struct byte_buffer body = {0};
    append_bytes(&body, frame_checksum(frame).data, CHECKSUM_SIZE);
    append_identity(&body, identity);
    append_sized(&body, replica.data, replica.size);
    append_peers(&body, peers);

    append_bytes(section, MAGIC, MAGIC_SIZE);
    append_number(section, SECTION_VERSION, 1);
    append_sized(section, body.data, body.size);
    append_number(section, roost_filter_hash(filter, section->data, section->size).low, CHECKSUM_SIZE);
    append_bytes(section, MAGIC, MAGIC_SIZE);
    section->failed |= body.failed;
    byte_buffer_release(&body);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static struct timespec take_time(struct byte_reader *reader)
{
    time_t seconds = (time_t)take_number(reader, 8);
    return (struct timespec){.tv_sec = seconds, .tv_nsec = (long)take_number(reader, 4)};
}

static struct file_identity take_identity(struct byte_reader *reader)
{
    struct file_identity identity = {.device = take_number(reader, 8)};
    identity.inode = take_number(reader, 8);
    identity.birth = take_time(reader);
    identity.modified = take_time(reader);
    return identity;
}

/* Whoever is remembered last comes first, which is why the latest stands last. */
static bool take_peer(struct byte_reader *reader, struct peer_memories *peers)
{
    roost_bytes name = take_sized(reader), memory = take_sized(reader);
    char *text = reader->failed ? NULL : strndup(name.data, name.size);
    bool remembered = text && peer_memories_remember(peers, text, memory);
    free(text);
    return remembered;
}

static bool take_peers(struct byte_reader *reader, struct peer_memories *peers)
{
    uint64_t count = take_varint(reader);
    bool fine = count <= MOST_PEERS;
    for (; fine && count > 0; count--)
        fine = take_peer(reader, peers);
    return fine && !reader->failed && reader->left == 0;
}

static bool take_magic(struct byte_reader *reader)
{
    const uint8_t *magic = take_bytes(reader, MAGIC_SIZE);
    return magic && memcmp(magic, MAGIC, MAGIC_SIZE) == 0;
}

/* The body between what guards it, or a verdict against it. */
static enum replica_verdict open_section(struct byte_reader *body, roost_bytes section, const roost_filter *filter)
{
    struct byte_reader reader = {.next = section.data, .left = section.size};
    bool begins = take_magic(&reader);
    uint64_t version = take_number(&reader, 1);
    if (begins && version > SECTION_VERSION)
        return REPLICA_IS_LATER;
    roost_bytes inside = take_sized(&reader);
    size_t guarded = section.size - reader.left;
    uint64_t checksum = take_number(&reader, CHECKSUM_SIZE);
    if (!begins || version != SECTION_VERSION || !take_magic(&reader) || reader.left > 0 ||
        checksum != roost_filter_hash(filter, section.data, guarded).low)
        return REPLICA_IS_DAMAGED;
    *body = (struct byte_reader){.next = inside.data, .left = inside.size};
    return REPLICA_IS_OURS;
}

static enum replica_verdict restore(struct byte_reader *body, roost_bytes frame, int descriptor, roost_filter *filter,
                                    struct peer_memories *peers)
{
    const uint8_t *checksum = take_bytes(body, CHECKSUM_SIZE);
    struct file_identity identity = take_identity(body);
    roost_bytes replica = take_sized(body);
    if (body->failed || !take_peers(body, peers))
        return REPLICA_IS_DAMAGED;
    if (memcmp(checksum, frame_checksum(frame).data, CHECKSUM_SIZE) != 0 ||
        !file_identity_matches(&identity, descriptor))
        return REPLICA_IS_FOREIGN;
    roost_status status =
        replica.size > 0 ? roost_filter_restore_replica(filter, replica.data, replica.size) : ROOST_OK;
    return status == ROOST_OK ? REPLICA_IS_OURS : REPLICA_IS_DAMAGED;
}

enum replica_verdict replica_section_restore(roost_bytes section, roost_bytes frame, int descriptor,
                                             roost_filter *filter, struct peer_memories *peers)
{
    struct byte_reader body;
    enum replica_verdict verdict = open_section(&body, section, filter);
    if (verdict == REPLICA_IS_OURS)
        verdict = restore(&body, frame, descriptor, filter, peers);
    if (verdict != REPLICA_IS_OURS)
        peer_memories_release(peers);
    return verdict;
}
