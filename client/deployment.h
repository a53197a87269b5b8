/*
 * A deployment of Redis or Valkey as one thing to talk to: a server, a primary with its replicas, or a cluster.
 *
 * Commands about a key go to the primary that has it. Where that is changes: a replica is promoted, a slot moves. What
 * is asked meanwhile is sent again where it belongs, or answered with trouble after some time. Connections that break
 * are made anew, with a pause that doubles up to some seconds.
 *
 * Nothing that is said about a deployment has a password in it.
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

/* redis://[user[:password]@]host[:port][/] or rediss://...; complains and gives NULL where it is none. `secrets` has
   what secrets_read gave, or NULL; `options` may be NULL, too. Connects as the loop runs. */
struct deployment *deployment_open(struct event_loop *loop, const char *url, const struct secrets *secrets,
                                   const struct connection_options *options, const struct deployment_events *events);
/* NULL is fine. Unanswered commands are answered with trouble; no event is told any more. May be called from anything
   that the deployment calls. */
void deployment_close(struct deployment *deployment);

/* host:port as in the URL. */
const char *deployment_name(const struct deployment *deployment);
bool deployment_is_cluster(const struct deployment *deployment);
/* Bytes on the wire, of all connections so far. */
uint64_t deployment_sent(const struct deployment *deployment);
uint64_t deployment_received(const struct deployment *deployment);

/* The primary that has the key, as far as is known; or NULL. */
struct node *deployment_node(struct deployment *deployment, roost_bytes key);

/* About a key, wherever that is. Waits for a primary, or for one that does not refuse it, for ten seconds at most. */
void deployment_ask(struct deployment *deployment, int database, roost_bytes key, struct words command,
                    answered *answer, void *context);

#endif
