/* The other end of a sync: a file, a roost on another machine, or a key of a server. */
#ifndef CLI_PEER_PEER_H
#define CLI_PEER_PEER_H

#include "cli/file/filter_file.h"
#include "remote.h"
#include "server_key.h"

struct peer {
    const char *name; /* as the user wrote it */
    char *known_as;   /* how a file remembers it: an absolute path, HOST:PATH, or redis:// without a password */
    bool is_remote, is_server;
    bool is_new_file; /* a path that did not exist */
    struct remote remote;
    struct server_key server;
    struct filter_file file;
    uint64_t sent, received; /* on the wire, or what would be there */
};

/*
 * Reaches the peer. A path that does not exist becomes a filter of the same configuration once there is something to
 * put in it. Complains where that fails; close it in any case.
 */
bool peer_open(struct peer *peer, const char *name, const struct remote_shell *shell, const roost_filter *ours);

/* Sends a request and gets the reply, which stays until the next one. */
bool peer_ask(struct peer *peer, struct byte_buffer *reply, roost_bytes request);

/* Sees to it that the file of a peer that is a path exists. */
bool peer_finish(struct peer *peer);

/* Says why the exchange failed, and answers false. */
bool complain_of_peer(const struct peer *peer, roost_status status, const char *our_name, const roost_filter *ours);

void peer_close(struct peer *peer);

#endif
