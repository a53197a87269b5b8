/* A key of a Redis or Valkey server that has the module: redis://[user[:password]@]host[:port]/KEY, or rediss://. */
#ifndef CLI_PEER_SERVER_KEY_H
#define CLI_PEER_SERVER_KEY_H

#include "cli/base/byte_buffer.h"
#include "cli/base/server_name.h"

struct server_key {
    struct server_talk *talk;
    char *name; /* for messages: without user and password */
    char *key;  /* may hold any byte */
    size_t key_size;
    uint64_t sent, received; /* bytes of messages */
};

/* Connects and logs in. A key that does not exist becomes an empty filter of the same configuration. Complains if it
   fails; close it in any case. */
bool server_key_open(struct server_key *server, const char *name, const roost_filter *ours);
bool server_key_ask(struct server_key *server, struct byte_buffer *reply, roost_bytes request);
void server_key_close(struct server_key *server);

#endif
