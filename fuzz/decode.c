/*
 * Attacks: bytes from anyone do no harm. The input is tried as a frame, as the body of a frame whose header and
 * checksum are right, as a state and as a delta of a filter that is already there, and as the bytes of a saved
 * replica; so that the fuzzer need not guess checksums and configurations. What is accepted is sound; a state encodes
 * to the very bytes that it came from; a merge of the bytes is a merge of what they decode to; what is refused leaves
 * no trace. The same for multisets, and for messages of a gossip. What each of them costs to read, beyond the table
 * that its configuration asks for within the memory limit, is in proportion to its bytes (cost.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/bitstream.h"
#include "filter/configuration.h"
#include "observed/orcuckoo.h"
#include "multiset/multiset.h"
#include "gossip/distributed_bloom.h"
#include "window/forgetful.h"
#include "../tests/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STATE = 1, DELTA = 2, VICTIMS = 9, TIMED_VICTIMS = 4, RECORDING_VICTIMS = 2 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static bool draw_numbers(void *context, void *bytes, size_t size)
{
    static uint64_t next = 1000;
    (void)context;
    next += 77;
    memset(bytes, 0, size);
    memcpy(bytes, &next, size < sizeof next ? size : sizeof next);
    return true;
}

enum { MEMORY_LIMIT = 1 << 22 };

static struct cost cost;
static const roost_environment environment = {.memory_limit = MEMORY_LIMIT,
                                              .entropy = {NULL, draw_numbers},
                                              .journal = 64,
                                              .allocator = {&cost, cost_allocate, cost_release}};

static roost_filter *copy_of(const roost_filter *filter)
{
    roost_filter *copy;
    must(roost_filter_clone(filter, &copy) == ROOST_OK);
    return copy;
}

static bool same_bytes(roost_buffer *a, const void *bytes, size_t size)
{
    bool same = a->size == size && (size == 0 || memcmp(a->data, bytes, size) == 0);
    roost_buffer_release(a);
    return same;
}

static bool same_state(const roost_filter *a, const roost_filter *b)
{
    roost_buffer x, y;
    must(roost_filter_encode(a, &x) == ROOST_OK && roost_filter_encode(b, &y) == ROOST_OK);
    bool same = same_bytes(&x, y.data, y.size);
    roost_buffer_release(&y);
    return same;
}

/*
 * Two states in which one dot has two classes, which no replicas make: only forged frames, or two objects with one
 * actor. What becomes of such a dot is not defined.
 */
struct conflict {
    const struct observed *filter, *other;
    struct entry entry;
    bool found;
};

static void meet_entry(void *context, struct entry entry)
{
    struct conflict *conflict = context;
    bool same_dot =
        conflict->filter->actors.list[conflict->entry.number].id == conflict->other->actors.list[entry.number].id &&
        conflict->entry.counter == entry.counter;
    conflict->found |= same_dot && conflict->entry.key != entry.key;
}

static void meet_all(void *context, struct entry entry)
{
    struct conflict *conflict = context;
    conflict->entry = entry;
    visit_entries(conflict->other, meet_entry, conflict);
}

static bool conflict_in(const roost_filter *filter, const roost_filter *other)
{
    if (filter->kind != &orcuckoo_kind || other->kind != &orcuckoo_kind)
        return false;
    struct conflict conflict = {.filter = as_const_observed(filter), .other = as_const_observed(other)};
    visit_entries(conflict.filter, meet_all, &conflict);
    return conflict.found;
}

/* Into a filter that holds something: as a merge of what was decoded, or nothing at all. */
static void try_merge(const roost_filter *victim, const uint8_t *frame, size_t size)
{
    roost_filter *merged = copy_of(victim), *expected = copy_of(victim), *decoded;
    bool changed = false;
    struct measured measured = measure(&cost);
    roost_status status = roost_filter_merge_frame(merged, &changed, frame, size);
    must(cost_is_fair(&measured, size, 2 * MEMORY_LIMIT)); /* what was decoded, and what it is merged into */
    if (roost_filter_decode(&decoded, frame, size, &environment) == ROOST_OK && status == ROOST_OK)
        must(roost_filter_merge(expected, NULL, decoded) == ROOST_OK);
    must(status != ROOST_OK || decoded);
    must(roost_filter_check(merged) == ROOST_OK);
    must(same_state(merged, expected) || conflict_in(victim, decoded));
    must(changed == !roost_filter_equal(merged, victim));
    roost_filter_free(merged);
    roost_filter_free(expected);
    roost_filter_free(decoded);
}

static void try_frame(const uint8_t *frame, size_t size)
{
    roost_filter *filter, *other;
    struct measured measured = measure(&cost);
    roost_status status = roost_filter_decode(&filter, frame, size, &environment);
    must(cost_is_fair(&measured, size, MEMORY_LIMIT));
    if (status != ROOST_OK) {
        must(!filter);
        return;
    }
    roost_buffer again;
    must(roost_filter_check(filter) == ROOST_OK && roost_filter_encode(filter, &again) == ROOST_OK);
    if (frame[5] == STATE)
        must(same_bytes(&again, frame, size));
    else
        roost_buffer_release(&again);
    other = copy_of(filter);
    for (uint8_t key = 0; key < 20; key++)
        roost_filter_add(other, NULL, &key, 1);
    try_merge(other, frame, size);
    roost_filter_remove(other, NULL, "\3", 1);
    must(roost_filter_merge(filter, NULL, other) == ROOST_OK && same_state(filter, other));
    roost_filter_free(other);
    roost_filter_free(filter);
}

static struct bit_writer begin_body(void)
{
    struct bit_writer writer;
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    return writer;
}

/* Of windows that grow, prefixes, and imported parts (docs/format.md). */
static uint8_t version_of(const uint8_t *body, size_t size)
{
    bool growing_window = size > 0 && (body[0] == (0x10 | ROOST_WINDOW) || body[0] == (0x10 | ROOST_COUNTER));
    return size == 0 ? 1 : body[0] == 0x40 ? 4 : body[0] & 0x20 ? 3 : growing_window ? 2 : 1;
}

static roost_buffer frame_of(const uint8_t *body, size_t size, uint8_t type)
{
    struct bit_writer writer = begin_body();
    write_bytes(&writer, "Rost", 4);
    write_byte(&writer, version_of(body, size));
    write_byte(&writer, type);
    write_varint(&writer, size);
    write_bytes(&writer, body, size);
    write_fixed64(&writer, checksum_bytes(writer.buffer.data, writer.buffer.size));
    return writer.buffer;
}

static void try_body(const uint8_t *body, size_t size, uint8_t type)
{
    roost_buffer frame = frame_of(body, size, type);
    try_frame(frame.data, frame.size);
    roost_buffer_release(&frame);
}

/* ---- filters that are there already ------------------------------------------------------------------------------ */

static roost_config timed_config(roost_kind kind, bool grows)
{
    roost_config config = roost_window_config_default(kind, 60 * ROOST_SECOND);
    config.layout = ROOST_CLASSIC;
    config.scalable = grows;
    config.capacity = 40;
    config.fpr = 0.01;
    return config;
}

static roost_config victim_config(int number)
{
    roost_config config = roost_config_default();
    if (number >= VICTIMS + TIMED_VICTIMS) { /* those that record removals */
        config.kind = ROOST_ORCUCKOO;
        config.scalable = true;
        config.semantics = number == VICTIMS + TIMED_VICTIMS ? ROOST_REMOVE_WINS : ROOST_LAST_WRITER_WINS;
        return config;
    }
    if (number >= VICTIMS)
        return timed_config((number - VICTIMS) % 2 ? ROOST_COUNTER : ROOST_WINDOW, number - VICTIMS >= 2);
    config.capacity = 40;
    if (number > 5) { /* those that grow */
        config.kind = number == 6 ? ROOST_BLOOM : number == 7 ? ROOST_CUCKOO : ROOST_ORCUCKOO;
        config.scalable = true;
        return config;
    }
    config.layout = number == 1 ? ROOST_CLASSIC : ROOST_BLOCKED;
    if (number < 2)
        return config;
    config.kind = number == 2 ? ROOST_CUCKOO : ROOST_ORCUCKOO;
    config.fpr = 0;
    config.multiset = number > 3;
    config.entry_bits = number == 2 ? 0 : number == 5 ? 32 : 64;
    config.fingerprint_bits = number == 3 ? 24 : 8;
    return config;
}

/* Where there is time, it passes with the keys. */
static roost_status put(roost_filter *filter, uint8_t key)
{
    bool applied;
    uint64_t time = (1000 + key * 4) * ROOST_SECOND;
    if (filter->config->kind == ROOST_WINDOW)
        return roost_window_add(filter, NULL, &key, 1, time);
    if (filter->config->kind == ROOST_COUNTER)
        return roost_counter_increment(filter, &applied, NULL, &key, 1, key - 3, time);
    return roost_filter_add(filter, NULL, &key, 1);
}

static int victim_of(uint8_t choice)
{
    if (choice >= 0xf0)
        return VICTIMS + choice % TIMED_VICTIMS;
    return choice >= 0xee ? VICTIMS + TIMED_VICTIMS + choice % RECORDING_VICTIMS : choice % VICTIMS;
}

/* Made once; it has an actor of its own, another one's entries, and a journal. */
static const roost_filter *victim(int number)
{
    static roost_filter *victims[VICTIMS + TIMED_VICTIMS + RECORDING_VICTIMS];
    if (victims[number])
        return victims[number];
    roost_config config = victim_config(number);
    roost_filter *filter, *other;
    roost_cursor cursor = {0, 0};
    roost_buffer frame;
    must(roost_filter_new(&filter, &config, &environment) == ROOST_OK);
    other = copy_of(filter);
    must(roost_filter_encode_delta(filter, &frame, &cursor, &cursor) == ROOST_OK);
    roost_buffer_release(&frame);
    for (uint8_t key = 0; key < 24; key++)
        must(put(key % 3 ? filter : other, key) == ROOST_OK);
    must(roost_filter_merge(filter, NULL, other) == ROOST_OK);
    for (uint8_t key = 0; key < 24; key += 5)
        roost_filter_remove(filter, NULL, &key, 1);
    roost_filter_free(other);
    return victims[number] = filter;
}

/* What follows the configuration. */
static void try_part(const roost_filter *filter, const uint8_t *part, size_t size, uint8_t type)
{
    struct bit_writer body = begin_body();
    write_configuration(filter, &body);
    write_bytes(&body, part, size);
    roost_buffer frame = frame_of(body.buffer.data, body.buffer.size, type);
    try_merge(filter, frame.data, frame.size);
    roost_buffer_release(&frame);
    bit_writer_release(&body);
}

/* Accepted or not, the filter holds what it held, and the deltas of its journal can be read. */
static void try_replica(const roost_filter *filter, const uint8_t *bytes, size_t size)
{
    struct bit_writer replica = begin_body();
    roost_filter *restored = copy_of(filter), *part;
    roost_buffer frame;
    write_byte(&replica, 1);
    write_bytes(&replica, bytes, size);
    write_fixed64(&replica, checksum_bytes(replica.buffer.data, replica.buffer.size));
    struct measured measured = measure(&cost);
    roost_status status = roost_filter_restore_replica(restored, replica.buffer.data, replica.buffer.size);
    must(cost_is_fair(&measured, replica.buffer.size, 0));
    must(status == ROOST_OK || (roost_filter_get_actor(restored) == 0 && restored->journal->room == 0));
    must(roost_filter_check(restored) == ROOST_OK && same_state(restored, filter));
    roost_cursor oldest = {restored->journal->incarnation, restored->journal->oldest};
    must(roost_filter_encode_delta(restored, &frame, &oldest, &oldest) == ROOST_OK);
    must(roost_filter_decode(&part, frame.data, frame.size, &environment) == ROOST_OK);
    roost_filter_add(restored, NULL, "x", 1);
    must(roost_filter_check(restored) == ROOST_OK);
    roost_buffer_release(&frame);
    roost_filter_free(part);
    roost_filter_free(restored);
    bit_writer_release(&replica);
}

/* ---- multisets and gossip ---------------------------------------------------------------------------------------- */

enum { GOSSIP_HERE = 1, GOSSIP_THERE = 2 };

static void try_multiset(const uint8_t *body, size_t size)
{
    struct bit_writer writer;
    roost_multiset *multiset;
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    write_bytes(&writer, "Rost\1\3", 6);
    write_varint(&writer, size);
    write_bytes(&writer, body, size);
    write_fixed64(&writer, checksum_bytes(writer.buffer.data, writer.buffer.size));
    must(!writer.failed);
    struct measured measured = measure(&cost);
    roost_status status = roost_multiset_decode(&multiset, writer.buffer.data, writer.buffer.size, &environment);
    must(cost_is_fair(&measured, writer.buffer.size, MEMORY_LIMIT));
    if (status == ROOST_OK) {
        roost_buffer again;
        must(roost_multiset_check(multiset) == ROOST_OK && roost_multiset_encode(multiset, &again) == ROOST_OK);
        must(same_bytes(&again, writer.buffer.data, writer.buffer.size));
        roost_multiset_free(multiset);
    } else {
        must(multiset == NULL);
    }
    bit_writer_release(&writer);
}

/* The rest of a message behind its type, from the peer, in round 0, with the checksum that it needs. */
static void try_gossip(uint8_t type, const uint8_t *body, size_t size)
{
    roost_gossip *gossip;
    roost_gossip_config config = roost_gossip_config_default();
    struct bit_writer writer;
    roost_buffer reply;
    config.id = GOSSIP_HERE;
    must(roost_gossip_new(&gossip, &config, &environment) == ROOST_OK);
    must(roost_gossip_add(gossip, NULL, "swift", 5) == ROOST_OK);
    bit_writer_init(&writer, allocator_or_default((roost_allocator){0}));
    write_byte(&writer, type);
    write_fixed64(&writer, GOSSIP_THERE);
    write_varint(&writer, 0);
    write_bytes(&writer, body, size);
    uint64_t seed = pair_seed(GOSSIP_HERE, GOSSIP_THERE, 0) ^ ROOST_ROUND_MAPPING ^ rotate_left(ROOST_DEFAULT_SEED, 1);
    write_fixed64(&writer, hash_bytes(seed, writer.buffer.data, writer.buffer.size).low);
    must(!writer.failed);
    struct measured measured = measure(&cost);
    roost_status status = roost_gossip_receive(gossip, &reply, NULL, writer.buffer.data, writer.buffer.size);
    must(cost_is_fair(&measured, writer.buffer.size, 0));
    must(status == ROOST_OK || (reply.size == 0 && roost_gossip_get_cardinality(gossip) == 1));
    must(roost_gossip_contains(gossip, "swift", 5));
    roost_buffer_release(&reply);
    bit_writer_release(&writer);
    roost_gossip_free(gossip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_frame(data, size);
    try_multiset(data, size);
    try_body(data, size, STATE);
    try_body(data, size, DELTA);
    if (size == 0)
        return 0;
    try_gossip(data[0], data + 1, size - 1);
    const roost_filter *filter = victim(victim_of(data[0]));
    try_part(filter, data + 1, size - 1, STATE);
    try_part(filter, data + 1, size - 1, DELTA);
    try_replica(filter, data + 1, size - 1);
    return 0;
}
