/*
 * One connection to one server: connected, logged in, commands sent one after the other without waiting, answers handed
 * back in that order. Once it fails it is over; whoever has it makes another.
 */
#ifndef CLIENT_CONNECTION_H
#define CLIENT_CONNECTION_H

#include "cli/base/server_name.h"
#include "command.h"
#include "connection_options.h"

struct connection;
struct event_loop;
struct resolver;
struct tls_context;

/* What the connections of a deployment have in common. */
struct access {
    struct event_loop *loop;
    struct server_name name;         /* the login, and the host that certificates are for */
    struct tls_context *tls_context; /* NULL: without TLS */
    struct resolver *resolver;
    uint64_t timeout;        /* milliseconds without a sign of life */
    uint64_t lookup_timeout; /* the same, for the addresses of a name; what is found later is kept for the next one */
    uint64_t sent, received; /* bytes on the wire */
};

/* Complains where there is no trust to be had for rediss://, or no memory. Release it in any case. The name is taken
 * over. */
bool access_open(struct access *access, struct event_loop *loop, struct server_name *name,
                 const struct connection_options *options);
void access_release(struct access *access);

/*
 * `closed` is called once, when the connection failed, from the loop: its commands have been answered with trouble by
 * then, and it is gone after the call. NULL without memory.
 */
struct connection *connection_open(struct access *access, const char *host, int port,
                                   void (*closed)(void *context, const char *error), void *context);
/* Its commands are answered with trouble; `closed` is not called. NULL is fine. */
void connection_close(struct connection *connection);

/* Not once it failed, though `closed` may not have been called yet. */
bool connection_works(const struct connection *connection);

#define ANY_DATABASE (-1)

/* A command as it goes over the wire. The bytes stay until it is answered. */
struct formatted {
    const char *bytes;
    size_t size;
    int database; /* is selected before, if another one is; what comes of that is the answer if it fails */
    bool waits;   /* for something to happen there */
};

/* Sent as the loop runs, and when the server has let us in. */
void connection_send(struct connection *connection, struct formatted command, answered *answer, void *context);

#endif
