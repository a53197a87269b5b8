/* Looks up addresses of hosts without blocking the loop. */
#ifndef CLIENT_RESOLVER_H
#define CLIENT_RESOLVER_H

#include <netdb.h>

struct event_loop;
struct resolver; /* of one deployment */
struct lookup;

/* NULL without memory or descriptors. */
struct resolver *resolver_new(struct event_loop *loop);
void resolver_free(struct resolver *resolver); /* after all of its look-ups have ended; NULL is fine */

/*
 * `done` is called once, from the loop: the addresses are valid until the look-up is ended; NULL: there are none, and
 * `error` says why. Returns NULL without memory.
 */
struct lookup *lookup_begin(struct resolver *resolver, const char *host, int port,
                            void (*done)(void *context, const struct addrinfo *addresses, const char *error),
                            void *context);
/* At any time; `done` is not called any more. NULL is fine. */
void lookup_end(struct lookup *lookup);

/* The error for a name server that does not answer, whether we or the system's resolver give up. */
#define NO_NAME_SERVER "its name cannot be looked up: no name server answers"

#endif
