/* A key of a Redis or Valkey server that has the module: redis://[user[:password]@]host[:port]/KEY, or rediss://. */
#ifndef CLI_PEER_SERVER_KEY_H
#define CLI_PEER_SERVER_KEY_H

#include "cli/base/byte_buffer.h"
#include "cli/base/server_name.h"
#include "client/connection_options.h"

/* How servers are reached. All zero: the defaults. */
struct server_options {
    struct connection_options connection;
    const char *password_file; /* NULL: none */
};

struct server_key {
    struct server_talk *talk;
    char *name; /* for messages: without user and password */
    char *key;  /* may hold any byte */
    size_t key_size;
    uint64_t sent, received; /* bytes of messages */
};

/* Connects and logs in. A key that does not exist becomes an empty filter of the same configuration. Complains if it
   fails; close it in any case. */
bool server_key_open(struct server_key *server, const char *name, const struct server_options *options,
                     const roost_filter *ours);
bool server_key_ask(struct server_key *server, struct byte_buffer *reply, roost_bytes request);
/* The configuration of the filter there. False, without a message, if the server does not tell. */
bool server_key_get_config(struct server_key *server, roost_config *config);
void server_key_close(struct server_key *server);

#endif
