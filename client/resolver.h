/* Addresses of hosts by name, without the loop having to wait for them. */
#ifndef CLIENT_RESOLVER_H
#define CLIENT_RESOLVER_H

#include <netdb.h>

struct event_loop;
struct resolver; /* of one deployment */
struct lookup;

/* NULL without memory or descriptors. */
struct resolver *resolver_new(struct event_loop *loop);
void resolver_free(struct resolver *resolver); /* once all of its look-ups have ended; NULL is fine */

/*
 * `done` is called once, from the loop: the addresses stay until the look-up is ended; NULL: there are none, and
 * `trouble` says why. NULL without memory.
 */
struct lookup *lookup_begin(struct resolver *resolver, const char *host, int port,
                            void (*done)(void *context, const struct addrinfo *addresses, const char *error),
                            void *context);
/* At any time; `done` is not called any more. NULL is fine. */
void lookup_end(struct lookup *lookup);

/* What is said of a name server that is silent, whether it is us who give up or the system's resolver. */
#define NO_NAME_SERVER "its name cannot be looked up: no name server answers"

#endif
