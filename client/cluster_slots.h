/* The 16,384 slots of a cluster: which a key falls into, and who has them. */
#ifndef CLIENT_CLUSTER_SLOTS_H
#define CLIENT_CLUSTER_SLOTS_H

#include <stdint.h>

#include "roost.h"

#define CLUSTER_SLOTS 16384

unsigned cluster_slot(roost_bytes key);

struct redisReply;

/* A server as it is told. Texts belong to the reply. */
struct server_address {
    const char *host; /* NULL: the one that was asked */
    int port;
    const char *id; /* NULL where it is not told */
};

/* A range of slots and who has them. */
struct slot_range {
    unsigned first, last;
    struct server_address primary;
    const struct redisReply *entry; /* for slot_range_replica */
};

/* Whether this is a reply to CLUSTER SLOTS, its ranges all within bounds. */
bool is_slot_map(const struct redisReply *reply);
struct slot_range slot_range_at(const struct redisReply *map, size_t i);
size_t slot_range_replicas(const struct slot_range *range);
struct server_address slot_range_replica(const struct slot_range *range, size_t i);

/* Whether an element is an array that begins with a host and a port. */
bool read_server_address(struct server_address *server, const struct redisReply *entry);

/* host:port at the end of "MOVED 3999 host:port"; the host (to be freed) may be empty: the one that was asked. NULL
   where the text is something else. */
char *read_redirection(const char *text, unsigned *slot, int *port);

#endif
