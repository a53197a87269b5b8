/* The 16,384 slots of a cluster: the slot of a key, and the servers that have each slot. */
#ifndef CLIENT_CLUSTER_SLOTS_H
#define CLIENT_CLUSTER_SLOTS_H

#include <stdint.h>

#include "roost.h"

#define CLUSTER_SLOTS 16384

unsigned cluster_slot(roost_bytes key);

struct redisReply;

/* A server as a reply names it. Texts belong to the reply. */
struct server_address {
    const char *host; /* NULL: the server that replied */
    int port;
    const char *id; /* NULL: not given */
};

/* A range of slots, and its servers. */
struct slot_range {
    unsigned first, last;
    struct server_address primary;
    const struct redisReply *entry; /* for slot_range_replica */
};

/* Whether this is a valid reply to CLUSTER SLOTS. */
bool is_slot_map(const struct redisReply *reply);
struct slot_range slot_range_at(const struct redisReply *map, size_t i);
size_t slot_range_replicas(const struct slot_range *range);
struct server_address slot_range_replica(const struct slot_range *range, size_t i);

/* Reads an array that begins with host and port; false if it does not. */
bool read_server_address(struct server_address *server, const struct redisReply *entry);

/* Reads "MOVED 3999 host:port". Returns the host (to be freed), which is empty for the server that replied; NULL if
   the text is something else. */
char *read_redirection(const char *text, unsigned *slot, int *port);

#endif
