/* The replicas of the demo: each has its own filter, and they exchange messages only. */
#ifndef CLI_DEMO_REPLICAS_H
#define CLI_DEMO_REPLICAS_H

#include "network.h"

#include "roost.h"

/* A peer, as seen by a replica. */
struct peer {
    roost_cursor acknowledged; /* the peer has this replica's own changes up to here */
    uint64_t retry_at;         /* do not send before this tick */
};

struct replica {
    roost_filter *filter;
    uint64_t random;       /* state of its random numbers */
    roost_cursor last_own; /* after the last change that was made here */
    roost_span *merged;    /* changes that came from others, ascending */
    size_t merged_count, merged_room;
    struct peer *peers;
    uint64_t bytes_sent;
    uint64_t full_frame, full_frame_at; /* size of the whole state as a frame, and the tick at which it was measured */
};

struct replicas {
    struct replica *all;
    uint32_t count;
    struct network *network;
    uint64_t bytes_as_full_states; /* what the same messages would take if each were the whole state */
};

roost_status replicas_open(struct replicas *replicas, uint32_t count, const roost_config *config, uint64_t seed,
                           struct network *network);
void replicas_close(struct replicas *replicas);

/* Call it after changing the filter of a replica: the change is sent to the others. */
roost_status replica_has_changed(struct replicas *replicas, uint32_t index);

/* One tick: merges what has arrived, and sends what peers have not acknowledged. */
roost_status replicas_exchange(struct replicas *replicas);

/* Whether all changes are acknowledged by all peers. */
bool replicas_are_done(const struct replicas *replicas);

#endif
