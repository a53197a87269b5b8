/*
 * A peer that is a path gets the same messages as one on another machine, and the same responder: the bytes are counted
 * alike, and changes are on the disk before the reply in both cases.
 */
#include "peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "responder.h"
#include "cli/file/difference.h"
#include "cli/base/messages.h"

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* If the file does not exist, its directory is resolved. */
static char *absolute_path(const char *path)
{
    char *absolute = realpath(path, NULL);
    if (absolute || errno != ENOENT)
        return absolute;
    const char *slash = strrchr(path, '/');
    char *parent = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
    char *directory = parent ? realpath(*parent ? parent : ".", NULL) : NULL;
    size_t room = directory ? strlen(directory) + strlen(path) + 2 : 0;
    absolute = directory ? malloc(room) : NULL;
    if (absolute) {
        strcpy(absolute, directory);
        strcat(strcat(absolute, "/"), slash ? slash + 1 : path);
    }
    free(parent);
    free(directory);
    return absolute;
}

static bool open_file(struct peer *peer, const roost_filter *ours)
{
    if (access(peer->name, F_OK) == 0 || errno != ENOENT)
        return filter_file_look(&peer->file, peer->name);
    roost_filter *filter;
    roost_status status = filter_like(&filter, ours);
    peer->is_new_file = true;
    return status == ROOST_OK ? filter_file_put(&peer->file, peer->name, filter)
                              : complain_of_status(peer->name, status);
}

/* From here on its name has no password. */
static bool open_key(struct peer *peer, const char *name, const struct server_options *options,
                     const roost_filter *ours)
{
    bool opened = server_key_open(&peer->server, name, options, ours);
    peer->name = opened ? peer->server.name : name;
    peer->known_as = opened ? strdup(peer->name) : NULL;
    return opened && (peer->known_as || complain(peer->name, "%s", strerror(errno)));
}

bool peer_open(struct peer *peer, const char *name, const struct remote_shell *shell,
               const struct server_options *options, const roost_filter *ours)
{
    *peer = (struct peer){.name = name, .is_server = is_server_name(name)};
    if (peer->is_server)
        return open_key(peer, name, options, ours);
    if (is_url(name))
        return complain(name, "a peer is a path, HOST:PATH or redis://HOST/KEY");
    peer->is_remote = is_remote_name(name);
    peer->known_as = peer->is_remote ? strdup(name) : absolute_path(name);
    if (!peer->known_as)
        return complain(name, "%s", strerror(errno));
    return peer->is_remote ? remote_start(&peer->remote, name, shell) : open_file(peer, ours);
}

void peer_close(struct peer *peer)
{
    remote_end(&peer->remote);
    server_key_close(&peer->server);
    filter_file_close(&peer->file);
    free(peer->known_as);
    peer->known_as = NULL;
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

static bool ask_file(struct peer *peer, struct byte_buffer *reply, roost_bytes request)
{
    roost_buffer bytes = {0};
    roost_status verdict; /* the reply contains it, too */
    bool answered = responder_reply(&peer->file, &bytes, &verdict, request);
    reply->size = 0;
    append_bytes(reply, bytes.data, bytes.size);
    peer->sent += wire_size(request.size);
    peer->received += wire_size(bytes.size);
    roost_buffer_release(&bytes);
    return answered && (!reply->failed || complain_of_status(peer->name, ROOST_NO_MEMORY));
}

static bool ask_server(struct peer *peer, struct byte_buffer *reply, roost_bytes request)
{
    bool answered = server_key_ask(&peer->server, reply, request);
    peer->sent = peer->server.sent;
    peer->received = peer->server.received;
    return answered;
}

bool peer_ask(struct peer *peer, struct byte_buffer *reply, roost_bytes request)
{
    if (peer->is_server)
        return ask_server(peer, reply, request);
    if (!peer->is_remote)
        return ask_file(peer, reply, request);
    bool answered = remote_ask(&peer->remote, reply, request);
    peer->sent = peer->remote.wire.sent;
    peer->received = peer->remote.wire.received;
    return answered;
}

bool peer_finish(struct peer *peer)
{
    if (!peer->is_new_file)
        return true;
    bool made =
        filter_file_lock(&peer->file, peer->name) && (filter_file_exists(&peer->file) || filter_file_save(&peer->file));
    filter_file_unlock(&peer->file);
    return made;
}

bool complain_of_peer(struct peer *peer, roost_status status, const char *our_name, const roost_filter *ours)
{
    roost_config theirs;
    switch (status) {
    case ROOST_MISMATCH:
        if (peer->is_server && server_key_get_config(&peer->server, &theirs))
            return complain_of_other_config(peer->name, &theirs, our_name, roost_filter_get_config(ours));
        if (!peer->is_remote && peer->file.filter)
            return complain_of_mismatch(peer->name, peer->file.filter, our_name, ours);
        return complain(peer->name,
                        "was created with other options than %s and cannot sync with it; compare roost info", our_name);
    case ROOST_PROTOCOL:
        return complain(peer->name,
                        "the peer runs another version of roost without a common protocol; upgrade the older one");
    case ROOST_CORRUPT:
    case ROOST_TRUNCATED:
        return complain(peer->name, "sent an invalid message (%s); sync again", roost_status_text(status));
    default:
        return complain_of_status(our_name, status);
    }
}
