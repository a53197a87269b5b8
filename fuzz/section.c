/*
 * Attacks: what stands behind the frame in a file (cli/file/replica_section.c): the identity of the file, the replica with
 * its journal, what is remembered of peers. The input is tried as it is; as a body with the right magic, length and
 * checksum; and as the part of a body behind an identity that is that of the open file, so that the replica is
 * restored.
 *
 * Whatever the verdict, the filter holds what it held and is sound, its journal can be told, and there are peers only
 * where the section is ours. Nothing costs more than it may (cost.h).
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/file/replica_section.h"
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

static void append_time(struct byte_buffer *body, struct timespec time)
{
    append_number(body, (uint64_t)time.tv_sec, 8);
    append_number(body, (uint64_t)time.tv_nsec, 4);
}

static void seal(struct byte_buffer *section, const roost_filter *filter, const struct byte_buffer *body)
{
    append_bytes(section, "Rrep", 4);
    append_number(section, 1, 1);
    append_sized(section, body->data, body->size);
    append_number(section, roost_filter_hash(filter, section->data, section->size).low, 8);
    append_bytes(section, "Rrep", 4);
}

static void try_section(roost_filter *filter, roost_bytes frame, int descriptor, roost_bytes section)
{
    struct peer_memories peers = {0};
    roost_digest before = roost_filter_digest(filter), after;
    roost_cursor cursor = {0, 0};
    roost_buffer delta;
    struct measured measured = measure(&cost);
    enum replica_verdict verdict = replica_section_restore(section, frame, descriptor, filter, &peers);
    must(cost_is_fair(&measured, section.size, 1 << 16));
    must(verdict == REPLICA_IS_OURS || peers.count == 0);
    must(peers.count <= MOST_PEERS);
    after = roost_filter_digest(filter);
    must(memcmp(&before, &after, sizeof before) == 0 && roost_filter_check(filter) == ROOST_OK);
    must(roost_filter_delta(filter, &delta, &cursor, &cursor) == ROOST_OK);
    roost_buffer_release(&delta);
    must(roost_filter_add(filter, NULL, "another", 7) == ROOST_OK && roost_filter_check(filter) == ROOST_OK);
    peer_memories_release(&peers);
}

/* The three ways; what follows an identity is a replica, sized, and peers. */
static void build_section(struct byte_buffer *section, const roost_filter *filter, roost_bytes frame,
                          const struct file_identity *identity, const uint8_t *data, size_t size, unsigned way)
{
    struct byte_buffer body = {0};
    if (way == 0) {
        append_bytes(section, data, size);
        return;
    }
    if (way == 2) {
        append_bytes(&body, (const uint8_t *)frame.data + frame.size - 8, 8);
        append_number(&body, identity->device, 8);
        append_number(&body, identity->inode, 8);
        append_time(&body, identity->birth);
        append_time(&body, identity->modified);
    }
    append_bytes(&body, data, size);
    seal(section, filter, &body);
    byte_buffer_release(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    for (unsigned way = 0; way < 3; way++) {
        roost_filter *filter = some_filter(data[0]);
        struct file_identity identity = {0};
        struct byte_buffer section = {0};
        roost_buffer frame;
        int descriptor = some_file(&identity);
        must(roost_filter_encode(filter, &frame) == ROOST_OK);
        roost_bytes bytes = {frame.data, frame.size};
        build_section(&section, filter, bytes, &identity, data + 1, size - 1, way);
        try_section(filter, bytes, descriptor, (roost_bytes){section.data, section.size});
        byte_buffer_release(&section);
        roost_buffer_release(&frame);
        roost_filter_free(filter);
        close(descriptor);
    }
    must(cost.now == 0);
    return 0;
}
