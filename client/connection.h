/*
 * One connection to one server: it connects, logs in, sends commands without waiting for replies, and delivers the
 * replies in order. A connection that failed stays failed; the owner opens another one.
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

/* What the connections of a deployment share. */
struct access {
    struct event_loop *loop;
    struct server_name name;         /* the login, and the host of the URL */
    struct tls_context *tls_context; /* NULL: without TLS */
    struct resolver *resolver;
    uint64_t timeout;        /* milliseconds without progress */
    uint64_t lookup_timeout; /* of look-ups; a late answer is kept for the next one */
    uint64_t sent, received; /* bytes on the wire */
};

/* False, with a message, if certificates cannot be read or without memory. To be released in any case. Takes over
   the name. */
bool access_open(struct access *access, struct event_loop *loop, struct server_name *name,
                 const struct connection_options *options);
void access_release(struct access *access);

/*
 * `closed` is called once from the loop when the connection failed: its commands have failed by then, and it is freed
 * after the call. NULL without memory.
 */
struct connection *connection_open(struct access *access, const char *host, int port,
                                   void (*closed)(void *context, const char *error), void *context);
/* Its commands fail; `closed` is not called. NULL is fine. */
void connection_close(struct connection *connection);

/* False once it failed, even if `closed` was not called yet. */
bool connection_works(const struct connection *connection);

#define ANY_DATABASE (-1)

/* A command in the Redis protocol. The bytes must stay valid until it is answered. */
struct formatted {
    const char *bytes;
    size_t size;
    int database; /* selected before the command; if that fails, its error is the reply */
    bool waits;   /* for an event at the server */
};

/* Sent as the loop runs, after the login. */
void connection_send(struct connection *connection, struct formatted command, answered *answer, void *context);

#endif
