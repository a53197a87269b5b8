/*
 * Attacks the replica section behind the frame in a file (src/file/replica_section.c): the identity of the file, the
 * replica with its journal, the cursors of peers. The input is tried as it is; as a body with the right magic, length
 * and checksum; and as the part of a body behind the identity of the open file, so that the replica is restored.
 *
 * Whatever the result, the filter holds what it held and is sound, its journal gives a delta, and there are peers only
 * if the replica was restored. Nothing costs more than it may (cost.h).
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file/replica_section.h"
#include "../tests/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct cost cost;

static bool draw(void *context, void *bytes, size_t size)
{
    static uint64_t next = 5;
    (void)context;
    next += 1000;
    memset(bytes, 0, size);
    memcpy(bytes, &next, size < sizeof next ? size : sizeof next);
    return true;
}

static roost_filter *some_filter(uint8_t choice)
{
    roost_config config = roost_config_default();
    roost_environment environment = {
        .allocator = cost_allocator(&cost), .memory_limit = 1 << 22, .journal = 64, .entropy = {NULL, draw}};
    roost_filter *filter;
    config.capacity = 50;
    config.kind = choice % 3 == 0 ? ROOST_BLOOM : choice % 3 == 1 ? ROOST_CUCKOO : ROOST_ORCUCKOO;
    config.scalable = choice & 4;
    must(roost_filter_new(&filter, &config, &environment) == ROOST_OK);
    for (uint8_t key = 0; key < 30; key++)
        must(roost_filter_add(filter, NULL, &key, 1) == ROOST_OK);
    return filter;
}

/* A file with an identity, in memory where the system has that. */
static int some_file(struct file_identity *identity)
{
    int descriptor = memfd_create("section", 0);
    must(descriptor >= 0);
    if (file_identity_choose(identity, descriptor))
        file_identity_stamp(descriptor, identity);
    return descriptor;
}

static void write_time(struct bit_writer *body, struct timespec time)
{
    write_fixed64(body, (uint64_t)time.tv_sec);
    write_bits(body, (uint64_t)time.tv_nsec, 32);
}

static void seal(struct bit_writer *section, const roost_filter *filter, const struct bit_writer *body)
{
    write_bytes(section, "Rrep", 4);
    write_byte(section, 1);
    write_varint(section, body->buffer.size);
    write_bytes(section, body->buffer.data, body->buffer.size);
    write_fixed64(section, roost_filter_hash(filter, section->buffer.data, section->buffer.size).low);
    write_bytes(section, "Rrep", 4);
}

static void try_section(roost_filter *filter, roost_bytes frame, int descriptor, roost_bytes section)
{
    struct peer_cursors peers = {.allocator = cost_allocator(&cost)};
    roost_status status;
    roost_digest before = roost_filter_digest(filter), after;
    roost_cursor cursor = {0, 0};
    roost_buffer delta;
    struct measured measured = measure(&cost);
    roost_replica_status replica = replica_section_restore(section, frame, descriptor, filter, &peers, &status);
    must(status == ROOST_OK);
    must(cost_is_fair(&measured, section.size, 1 << 16));
    must(replica == ROOST_REPLICA_RESTORED || peers.count == 0);
    must(peers.count <= ROOST_FILE_MOST_PEERS);
    after = roost_filter_digest(filter);
    must(memcmp(&before, &after, sizeof before) == 0 && roost_filter_check(filter) == ROOST_OK);
    must(roost_filter_encode_delta(filter, &delta, &cursor, &cursor) == ROOST_OK);
    roost_buffer_release(&delta);
    must(roost_filter_add(filter, NULL, "another", 7) == ROOST_OK && roost_filter_check(filter) == ROOST_OK);
    peer_cursors_clear(&peers);
}

/* The three ways; what follows an identity is a replica, sized, and peers. */
static void build_section(struct bit_writer *section, const roost_filter *filter, roost_bytes frame,
                          const struct file_identity *identity, const uint8_t *data, size_t size, unsigned way)
{
    struct bit_writer body;
    if (way == 0) {
        write_bytes(section, data, size);
        return;
    }
    bit_writer_init(&body, cost_allocator(&cost));
    if (way == 2) {
        write_bytes(&body, (const uint8_t *)frame.data + frame.size - 8, 8);
        write_fixed64(&body, identity->device);
        write_fixed64(&body, identity->inode);
        write_time(&body, identity->birth);
        write_time(&body, identity->modified);
    }
    write_bytes(&body, data, size);
    seal(section, filter, &body);
    bit_writer_release(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    for (unsigned way = 0; way < 3; way++) {
        roost_filter *filter = some_filter(data[0]);
        struct file_identity identity = {0};
        struct bit_writer section;
        roost_buffer frame;
        int descriptor = some_file(&identity);
        must(roost_filter_encode(filter, &frame) == ROOST_OK);
        roost_bytes bytes = {frame.data, frame.size};
        bit_writer_init(&section, cost_allocator(&cost));
        build_section(&section, filter, bytes, &identity, data + 1, size - 1, way);
        try_section(filter, bytes, descriptor, (roost_bytes){section.buffer.data, section.buffer.size});
        bit_writer_release(&section);
        roost_buffer_release(&frame);
        roost_filter_free(filter);
        close(descriptor);
    }
    must(cost.now == 0);
    return 0;
}
