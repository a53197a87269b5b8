/*
 * A deployment of Redis or Valkey: a server, a primary with its replicas, or a cluster, behind one interface.
 *
 * Commands about a key go to the primary that has it. When a replica is promoted or a slot moves, commands are sent
 * again to the new primary, or fail after some time. Broken connections are opened again after a pause that doubles up
 * to some seconds.
 *
 * No message about a deployment contains a password.
 */
#ifndef CLIENT_DEPLOYMENT_H
#define CLIENT_DEPLOYMENT_H

#include "command.h"
#include "connection_options.h"
#include "deployment_events.h"
#include "node.h"

struct deployment;
struct event_loop;
struct secrets;
struct server_name;

/* The URL is redis://[user[:password]@]host[:port][/] or rediss://...; NULL, with a message, if it is not. `secrets`
   is from secrets_read, or NULL; `options` may be NULL. Connects as the loop runs. */
struct deployment *deployment_open(struct event_loop *loop, const char *url, const struct secrets *secrets,
                                   const struct connection_options *options, const struct deployment_events *events);
/* The same for a URL that has been read, and completed with a password; its path is ignored. Takes over the name. */
struct deployment *deployment_open_named(struct event_loop *loop, struct server_name *name,
                                         const struct connection_options *options,
                                         const struct deployment_events *events);
/* NULL is fine. Outstanding commands fail; no event is reported any more. May be called from any callback of the
   deployment. */
void deployment_close(struct deployment *deployment);

/* host:port as in the URL. */
const char *deployment_name(const struct deployment *deployment);
bool deployment_is_cluster(const struct deployment *deployment);
/* Bytes on the wire, over all connections so far. */
uint64_t deployment_sent(const struct deployment *deployment);
uint64_t deployment_received(const struct deployment *deployment);

/* The primary that has the key, as far as is known, or NULL. */
struct node *deployment_node(struct deployment *deployment, roost_bytes key);

/* Sends a command about a key to its primary. Waits for a primary that accepts it for ten seconds at most. */
void deployment_ask(struct deployment *deployment, int database, roost_bytes key, struct words command,
                    answered *answer, void *context);

#endif
