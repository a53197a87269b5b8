/* The replicas of the demo: each has its own filter, and they exchange messages only. */
#ifndef CLI_DEMO_REPLICAS_H
#define CLI_DEMO_REPLICAS_H

#include "network.h"

#include "roost.h"

/* A peer, as seen by a replica. */
struct peer {
    uint64_t acknowledged; /* own elements that the peer is known to hold: always the first ones */
    uint64_t retry_at;     /* do not send before this tick */
};

struct replica {
    roost_filter *filter;
    uint64_t own; /* elements added here: the first keys of this replica */
    struct peer *peers;
    uint64_t bytes_sent;
    uint64_t full_frame, full_frame_at; /* size of the whole state as a frame, and the tick at which it was measured */
};

struct replicas {
    struct replica *all;
    uint32_t count;
    uint64_t seed;
    struct network *network;
    uint64_t bytes_as_full_states; /* what the same messages would take if each were the whole state */
};

roost_status replicas_open(struct replicas *replicas, uint32_t count, const roost_config *config, uint64_t seed,
                           struct network *network);
void replicas_close(struct replicas *replicas);

/* One replica adds `count` elements. */
roost_status replica_add(struct replicas *replicas, uint32_t index, uint64_t count);

/* One tick: merges what has arrived, and sends what peers have not acknowledged. */
roost_status replicas_exchange(struct replicas *replicas);

/* Whether all elements are acknowledged by all peers. */
bool replicas_are_done(const struct replicas *replicas);

/* How many of all elements this replica lacks; looks up each of them. */
uint64_t replica_count_missing(const struct replicas *replicas, uint32_t index);

/* False positives among `keys` keys that were never added. */
uint64_t replica_count_false(const struct replicas *replicas, uint32_t index, uint64_t keys);

#endif
