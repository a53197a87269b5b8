/* The replicas of the demo: each has a filter of its own, and speaks to the others only through the network. */
#ifndef CLI_DEMO_REPLICAS_H
#define CLI_DEMO_REPLICAS_H

#include "network.h"

#include "roost.h"

/* What a replica knows of a peer. */
struct peer {
    uint64_t acknowledged; /* own elements that the peer is known to hold: always the first ones */
    uint64_t retry_at;     /* the tick from which on it is worth sending again */
};

struct replica {
    roost_filter *filter;
    uint64_t own; /* elements added here; the i-th key of each replica is known, so a count names them all */
    struct peer *peers;
    uint64_t bytes_sent;
    uint64_t full_frame, full_frame_at; /* size of the whole state as a frame, and the tick of that */
};

struct replicas {
    struct replica *all;
    uint32_t count;
    uint64_t seed;
    struct network *network;
    uint64_t bytes_as_full_states; /* what the same messages would have cost had each been the whole state */
};

roost_status replicas_open(struct replicas *replicas, uint32_t count, const roost_config *config, uint64_t seed,
                           struct network *network);
void replicas_close(struct replicas *replicas);

/* `count` more elements of its own for one replica. */
roost_status replica_add(struct replicas *replicas, uint32_t index, uint64_t count);

/* One tick: takes in what has arrived, and sends what peers are not known to hold. */
roost_status replicas_talk(struct replicas *replicas);

/* Whether every replica knows that every other one holds all that it added. */
bool replicas_settled(const struct replicas *replicas);

/* How many of all elements this replica does not hold, asked one by one. */
uint64_t replica_count_missing(const struct replicas *replicas, uint32_t index);

/* How many of so many keys that nobody ever added this replica claims to hold. */
uint64_t replica_count_false(const struct replicas *replicas, uint32_t index, uint64_t keys);

#endif
