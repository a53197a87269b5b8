/*
 * Replication by deltas over an unreliable network.
 *
 * A replica sends each peer the changes that it made itself and that the peer has not acknowledged: the changes in its
 * journal since a cursor, without those that it merged from others, which send them on their own. The peer acknowledges
 * the cursor at the end of the delta. A delta always begins where the last acknowledgement ended, so the next delta
 * makes up for a lost delta or acknowledgement, and a duplicate or late one changes nothing.
 *
 *     message    | type 1 | sequence of the cursor 8, little-endian | frame (deltas only) |
 *
 * After a delta a replica waits for the acknowledgement, and sends what is missing when it has come or is overdue.
 */
#include "replicas.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 9
#define PATIENCE     8       /* ticks to wait for an acknowledgement: the longest round trip */
#define MOST_SEEDS   64      /* replicas that draw apart under one seed */
#define MOST_CHANGES 4000000 /* that a journal keeps; a peer that has missed more is sent the whole state */

enum message_type { DELTA = 1, ACKNOWLEDGEMENT = 2 };

/* ---- life ------------------------------------------------------------------------------------------------------ */

/* Random numbers that the seed determines, so that a run can be repeated. */
static bool draw_bytes(void *context, void *bytes, size_t size)
{
    struct replica *replica = context;
    uint8_t *place = bytes;
    for (size_t i = 0; i < size; i++) {
        replica->random = replica->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        place[i] = (uint8_t)(replica->random >> 56);
    }
    return true;
}

static roost_status open_replica(struct replica *replica, uint32_t peers, const roost_config *config, uint64_t seed)
{
    roost_environment environment = {.random_seed = seed, .entropy = {replica, draw_bytes}, .journal = MOST_CHANGES};
    replica->random = seed;
    replica->full_frame_at = UINT64_MAX;
    replica->peers = calloc(peers, sizeof *replica->peers);
    roost_status status = replica->peers ? roost_filter_new(&replica->filter, config, &environment) : ROOST_NO_MEMORY;
    if (status == ROOST_OK)
        status = roost_filter_get_cursor(replica->filter, &replica->last_own);
    for (uint32_t i = 0; status == ROOST_OK && i < peers; i++)
        replica->peers[i].acknowledged = replica->last_own; /* all begin empty */
    return status;
}

roost_status replicas_open(struct replicas *replicas, uint32_t count, const roost_config *config, uint64_t seed,
                           struct network *network)
{
    *replicas = (struct replicas){calloc(count, sizeof *replicas->all), count, network, 0};
    roost_status status = replicas->all ? ROOST_OK : ROOST_NO_MEMORY;
    for (uint32_t i = 0; status == ROOST_OK && i < count; i++)
        status = open_replica(&replicas->all[i], count, config, seed * MOST_SEEDS + i);
    return status;
}

void replicas_close(struct replicas *replicas)
{
    for (uint32_t i = 0; replicas->all && i < replicas->count; i++) {
        roost_filter_free(replicas->all[i].filter);
        free(replicas->all[i].merged);
        free(replicas->all[i].peers);
    }
    free(replicas->all);
    replicas->all = NULL;
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

roost_status replica_has_changed(struct replicas *replicas, uint32_t index)
{
    return roost_filter_get_cursor(replicas->all[index].filter, &replicas->all[index].last_own);
}

static bool make_room(struct replica *replica)
{
    if (replica->merged && replica->merged_count < replica->merged_room)
        return true;
    size_t room = replica->merged_room ? 2 * replica->merged_room : 64;
    roost_span *merged = realloc(replica->merged, room * sizeof *merged);
    if (!merged)
        return false;
    replica->merged = merged;
    replica->merged_room = room;
    return true;
}

/* Changes from others that follow each other are one span. */
static roost_status note_merged(struct replica *replica, uint64_t from, uint64_t to)
{
    roost_span *last = replica->merged_count ? &replica->merged[replica->merged_count - 1] : NULL;
    if (last && last->to == from) {
        last->to = to;
        return ROOST_OK;
    }
    if (from == to)
        return ROOST_OK;
    if (!make_room(replica))
        return ROOST_NO_MEMORY;
    replica->merged[replica->merged_count++] = (roost_span){from, to};
    return ROOST_OK;
}

static roost_status merge_delta(struct replica *replica, const uint8_t *frame, size_t size)
{
    roost_cursor before, after;
    roost_status status = roost_filter_get_cursor(replica->filter, &before);
    if (status == ROOST_OK)
        status = roost_filter_merge_frame(replica->filter, NULL, frame, size);
    if (status == ROOST_OK)
        status = roost_filter_get_cursor(replica->filter, &after);
    return status == ROOST_OK ? note_merged(replica, before.sequence, after.sequence) : status;
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static void write_header(uint8_t *bytes, enum message_type type, uint64_t sequence)
{
    bytes[0] = (uint8_t)type;
    for (int i = 0; i < 8; i++)
        bytes[1 + i] = (uint8_t)(sequence >> 8 * i);
}

static uint64_t read_sequence(const uint8_t *bytes)
{
    uint64_t sequence = 0;
    for (int i = 0; i < 8; i++)
        sequence |= (uint64_t)bytes[1 + i] << 8 * i;
    return sequence;
}

static roost_status send_bytes(struct replicas *replicas, uint32_t from, uint32_t to, const uint8_t *bytes, size_t size)
{
    replicas->all[from].bytes_sent += size;
    return network_send(replicas->network, from, to, bytes, size) ? ROOST_OK : ROOST_NO_MEMORY;
}

static roost_status acknowledge(struct replicas *replicas, uint32_t from, uint32_t to, uint64_t sequence)
{
    uint8_t header[HEADER_BYTES];
    write_header(header, ACKNOWLEDGEMENT, sequence);
    replicas->bytes_as_full_states += sizeof header;
    return send_bytes(replicas, from, to, header, sizeof header);
}

/* A frame with the changes that were made here since a cursor; without a journal that goes back so far, everything. */
static roost_status encode_delta(const struct replica *replica, roost_buffer *frame, const roost_cursor *since)
{
    roost_cursor next;
    roost_status status =
        roost_filter_encode_delta_without(replica->filter, frame, &next, since, replica->merged, replica->merged_count);
    return status == ROOST_OK && frame->size == 0 ? roost_filter_encode(replica->filter, frame) : status;
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
    write_header(bytes, DELTA, replicas->all[from].last_own.sequence);
    memcpy(bytes + HEADER_BYTES, frame->data, frame->size);
    roost_status status = send_bytes(replicas, from, to, bytes, HEADER_BYTES + frame->size);
    free(bytes);
    return status;
}

static roost_status send_delta(struct replicas *replicas, uint32_t from, uint32_t to)
{
    struct peer *peer = &replicas->all[from].peers[to];
    roost_buffer frame;
    roost_status status = encode_delta(&replicas->all[from], &frame, &peer->acknowledged);
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
    roost_status status =
        merge_delta(&replicas->all[message->to], message->bytes + HEADER_BYTES, message->size - HEADER_BYTES);
    return status == ROOST_OK ? acknowledge(replicas, message->to, message->from, read_sequence(message->bytes))
                              : status;
}

static void take_acknowledgement(struct peer *peer, uint64_t sequence, uint64_t now)
{
    if (sequence > peer->acknowledged.sequence)
        peer->acknowledged.sequence = sequence;
    peer->retry_at = now;
}

static roost_status take_message(struct replicas *replicas, const struct message *message)
{
    if (message->bytes[0] == DELTA)
        return take_delta(replicas, message);
    struct peer *peer = &replicas->all[message->to].peers[message->from];
    take_acknowledgement(peer, read_sequence(message->bytes), replicas->network->now);
    return ROOST_OK;
}

static bool has_unseen_changes(const struct replicas *replicas, uint32_t from, uint32_t to)
{
    const struct replica *replica = &replicas->all[from];
    return from != to && replica->last_own.sequence > replica->peers[to].acknowledged.sequence;
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
            if (has_unseen_changes(replicas, from, to) &&
                replicas->all[from].peers[to].retry_at <= replicas->network->now)
                status = send_delta(replicas, from, to);
    return status;
}

bool replicas_are_done(const struct replicas *replicas)
{
    for (uint32_t from = 0; from < replicas->count; from++)
        for (uint32_t to = 0; to < replicas->count; to++)
            if (has_unseen_changes(replicas, from, to))
                return false;
    return true;
}
