/*
 * Replication by deltas over an unreliable network.
 *
 * A replica sends each peer the elements that it added itself and that the peer has not acknowledged. Such a delta is a
 * filter with these elements alone: few elements make a short frame, and the receiver merges it like a whole state. The
 * peer acknowledges how many elements of this replica it holds. A delta always begins where the last acknowledgement
 * ended, so n acknowledged elements are the first n. The next delta makes up for a lost delta or acknowledgement, and a
 * duplicate or late one changes nothing.
 *
 *     message    | type 1 | count 8, little-endian | frame (deltas only) |
 *
 * After a delta a replica waits for the acknowledgement, and sends what is missing when it has come or is overdue.
 */
#include "replicas.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 9
#define PATIENCE     8 /* ticks to wait for an acknowledgement: the longest round trip */
#define KEYS_AT_ONCE 512
#define NO_OWNER     UINT32_MAX /* owner of the keys that are never added */

enum message_type { DELTA = 1, ACKNOWLEDGEMENT = 2 };

/* ---- keys ------------------------------------------------------------------------------------------------------ */

/* The i-th key of an owner under a seed. */
struct demo_key {
    uint64_t seed, owner, index;
};

struct key_run {
    struct demo_key room[KEYS_AT_ONCE];
    roost_bytes keys[KEYS_AT_ONCE];
    size_t count;
};

/* As many keys of [from, to) as fit. */
static void take_keys(struct key_run *run, uint64_t seed, uint32_t owner, uint64_t from, uint64_t to)
{
    run->count = to - from < KEYS_AT_ONCE ? (size_t)(to - from) : KEYS_AT_ONCE;
    for (size_t i = 0; i < run->count; i++) {
        run->room[i] = (struct demo_key){seed, owner, from + i};
        run->keys[i] = (roost_bytes){&run->room[i], sizeof run->room[i]};
    }
}

static roost_status add_keys(roost_filter *filter, uint64_t seed, uint32_t owner, uint64_t from, uint64_t to)
{
    struct key_run run;
    roost_status status = ROOST_OK;
    for (; status == ROOST_OK && from < to; from += run.count) {
        take_keys(&run, seed, owner, from, to);
        status = roost_filter_add_many(filter, NULL, NULL, run.keys, run.count);
    }
    return status;
}

static uint64_t count_held(const roost_filter *filter, uint64_t seed, uint32_t owner, uint64_t keys)
{
    struct key_run run;
    bool found[KEYS_AT_ONCE];
    uint64_t held = 0;
    for (uint64_t from = 0; from < keys; from += run.count) {
        take_keys(&run, seed, owner, from, keys);
        roost_filter_contains_many(filter, found, run.keys, run.count);
        for (size_t i = 0; i < run.count; i++)
            held += found[i];
    }
    return held;
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

static roost_status open_replica(struct replica *replica, uint32_t peers, const roost_config *config, uint64_t seed)
{
    roost_environment environment = {.random_seed = seed};
    replica->full_frame_at = UINT64_MAX;
    replica->peers = calloc(peers, sizeof *replica->peers);
    return replica->peers ? roost_filter_new(&replica->filter, config, &environment) : ROOST_NO_MEMORY;
}

roost_status replicas_open(struct replicas *replicas, uint32_t count, const roost_config *config, uint64_t seed,
                           struct network *network)
{
    *replicas = (struct replicas){calloc(count, sizeof *replicas->all), count, seed, network, 0};
    roost_status status = replicas->all ? ROOST_OK : ROOST_NO_MEMORY;
    for (uint32_t i = 0; status == ROOST_OK && i < count; i++)
        status = open_replica(&replicas->all[i], count, config, seed + i);
    return status;
}

void replicas_close(struct replicas *replicas)
{
    for (uint32_t i = 0; replicas->all && i < replicas->count; i++) {
        roost_filter_free(replicas->all[i].filter);
        free(replicas->all[i].peers);
    }
    free(replicas->all);
    replicas->all = NULL;
}

roost_status replica_add(struct replicas *replicas, uint32_t index, uint64_t count)
{
    struct replica *replica = &replicas->all[index];
    roost_status status = add_keys(replica->filter, replicas->seed, index, replica->own, replica->own + count);
    replica->own += status == ROOST_OK ? count : 0;
    return status;
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static void write_header(uint8_t *bytes, enum message_type type, uint64_t count)
{
    bytes[0] = (uint8_t)type;
    for (int i = 0; i < 8; i++)
        bytes[1 + i] = (uint8_t)(count >> 8 * i);
}

static uint64_t read_count(const uint8_t *bytes)
{
    uint64_t count = 0;
    for (int i = 0; i < 8; i++)
        count |= (uint64_t)bytes[1 + i] << 8 * i;
    return count;
}

static roost_status send_bytes(struct replicas *replicas, uint32_t from, uint32_t to, const uint8_t *bytes, size_t size)
{
    replicas->all[from].bytes_sent += size;
    return network_send(replicas->network, from, to, bytes, size) ? ROOST_OK : ROOST_NO_MEMORY;
}

static roost_status acknowledge(struct replicas *replicas, uint32_t from, uint32_t to, uint64_t count)
{
    uint8_t header[HEADER_BYTES];
    write_header(header, ACKNOWLEDGEMENT, count);
    replicas->bytes_as_full_states += sizeof header;
    return send_bytes(replicas, from, to, header, sizeof header);
}

/* A frame of a filter with the keys from `first` on. */
static roost_status encode_delta(const struct replicas *replicas, uint32_t index, uint64_t first, roost_buffer *frame)
{
    const struct replica *replica = &replicas->all[index];
    roost_filter *delta;
    *frame = (roost_buffer){0};
    roost_status status = roost_filter_new(&delta, roost_filter_get_config(replica->filter), NULL);
    if (status == ROOST_OK)
        status = add_keys(delta, replicas->seed, index, first, replica->own);
    if (status == ROOST_OK)
        status = roost_filter_encode(delta, frame);
    roost_filter_free(delta);
    return status;
}

/* The size of the whole state, which is encoded once a tick. */
static roost_status measure_full_state(struct replicas *replicas, struct replica *replica)
{
    if (replica->full_frame_at != replicas->network->now) {
        roost_buffer frame;
        roost_status status = roost_filter_encode(replica->filter, &frame);
        if (status != ROOST_OK)
            return status;
        replica->full_frame = frame.size;
        replica->full_frame_at = replicas->network->now;
        roost_buffer_release(&frame);
    }
    replicas->bytes_as_full_states += HEADER_BYTES + replica->full_frame;
    return ROOST_OK;
}

static roost_status send_frame(struct replicas *replicas, uint32_t from, uint32_t to, const roost_buffer *frame)
{
    uint8_t *bytes = malloc(HEADER_BYTES + frame->size);
    if (!bytes)
        return ROOST_NO_MEMORY;
    write_header(bytes, DELTA, replicas->all[from].own);
    memcpy(bytes + HEADER_BYTES, frame->data, frame->size);
    roost_status status = send_bytes(replicas, from, to, bytes, HEADER_BYTES + frame->size);
    free(bytes);
    return status;
}

static roost_status send_delta(struct replicas *replicas, uint32_t from, uint32_t to)
{
    struct peer *peer = &replicas->all[from].peers[to];
    roost_buffer frame;
    roost_status status = encode_delta(replicas, from, peer->acknowledged, &frame);
    if (status == ROOST_OK)
        status = measure_full_state(replicas, &replicas->all[from]);
    if (status == ROOST_OK)
        status = send_frame(replicas, from, to, &frame);
    roost_buffer_release(&frame);
    peer->retry_at = replicas->network->now + PATIENCE;
    return status;
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static roost_status take_delta(struct replicas *replicas, const struct message *message)
{
    roost_filter *delta;
    struct replica *replica = &replicas->all[message->to];
    roost_status status =
        roost_filter_decode(&delta, message->bytes + HEADER_BYTES, message->size - HEADER_BYTES, NULL);
    if (status == ROOST_OK)
        status = roost_filter_merge(replica->filter, NULL, delta);
    roost_filter_free(delta);
    return status == ROOST_OK ? acknowledge(replicas, message->to, message->from, read_count(message->bytes)) : status;
}

static void take_acknowledgement(struct peer *peer, uint64_t count, uint64_t now)
{
    peer->acknowledged = count > peer->acknowledged ? count : peer->acknowledged;
    peer->retry_at = now;
}

static roost_status take_message(struct replicas *replicas, const struct message *message)
{
    if (message->bytes[0] == DELTA)
        return take_delta(replicas, message);
    struct peer *peer = &replicas->all[message->to].peers[message->from];
    take_acknowledgement(peer, read_count(message->bytes), replicas->network->now);
    return ROOST_OK;
}

static bool has_news(const struct replicas *replicas, uint32_t from, uint32_t to)
{
    const struct replica *replica = &replicas->all[from];
    return from != to && replica->own > replica->peers[to].acknowledged;
}

static roost_status take_all_messages(struct replicas *replicas)
{
    struct message message;
    roost_status status = ROOST_OK;
    while (status == ROOST_OK && network_receive(replicas->network, &message)) {
        status = take_message(replicas, &message);
        message_release(&message);
    }
    return status;
}

roost_status replicas_exchange(struct replicas *replicas)
{
    roost_status status = take_all_messages(replicas);
    for (uint32_t from = 0; from < replicas->count; from++)
        for (uint32_t to = 0; status == ROOST_OK && to < replicas->count; to++)
            if (has_news(replicas, from, to) && replicas->all[from].peers[to].retry_at <= replicas->network->now)
                status = send_delta(replicas, from, to);
    return status;
}

bool replicas_are_done(const struct replicas *replicas)
{
    for (uint32_t from = 0; from < replicas->count; from++)
        for (uint32_t to = 0; to < replicas->count; to++)
            if (has_news(replicas, from, to))
                return false;
    return true;
}

/* ---- proof ----------------------------------------------------------------------------------------------------- */

uint64_t replica_count_missing(const struct replicas *replicas, uint32_t index)
{
    uint64_t missing = 0;
    for (uint32_t owner = 0; owner < replicas->count; owner++)
        missing += replicas->all[owner].own -
                   count_held(replicas->all[index].filter, replicas->seed, owner, replicas->all[owner].own);
    return missing;
}

uint64_t replica_count_false(const struct replicas *replicas, uint32_t index, uint64_t keys)
{
    return count_held(replicas->all[index].filter, replicas->seed, NO_OWNER, keys);
}
