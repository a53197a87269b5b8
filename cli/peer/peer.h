/* The peer of a sync: a file, a roost on another machine, or a key of a server. */
#ifndef CLI_PEER_PEER_H
#define CLI_PEER_PEER_H

#include "cli/file/filter_file.h"
#include "remote.h"
#include "server_key.h"

struct peer {
    const char *name; /* as the user wrote it */
    char *known_as;   /* in the cursors of a file: an absolute path, HOST:PATH, or redis:// without a password */
    bool is_remote, is_server;
    bool is_new_file; /* a path that did not exist */
    struct remote remote;
    struct server_key server;
    struct filter_file file;
    uint64_t sent, received; /* bytes on the wire, or what they would be */
};

/*
 * Connects to the peer. A path that does not exist becomes a filter of the same configuration, created by the first
 * save. Complains if it fails; close it in any case.
 */
bool peer_open(struct peer *peer, const char *name, const struct remote_shell *shell,
               const struct server_options *options, const roost_filter *ours);

/* Sends a request and receives the reply, which is valid until the next one. */
bool peer_ask(struct peer *peer, struct byte_buffer *reply, roost_bytes request);

/* Creates the file of a peer that is a path, if it does not exist yet. */
bool peer_finish(struct peer *peer);

/* Says why the exchange failed, and returns false. */
bool complain_of_peer(struct peer *peer, roost_status status, const char *our_name, const roost_filter *ours);

void peer_close(struct peer *peer);

#endif
