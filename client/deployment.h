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

#include <stddef.h>

#include "event_loop.h"
#include "roost.h"

struct deployment;
struct node; /* one primary */
struct redisReply;

/*
 * What came of a command, once for each. The reply is there for the time of the call only; it may be an error that the
 * server replied. NULL: it was not answered (it may have been carried out all the same), and `trouble` says why.
 */
typedef void answered(void *context, const struct redisReply *reply, const char *trouble);

/* A command: the words as they are sent, the name of the key among them. */
struct words {
    const roost_bytes *words;
    size_t count;
};

/* What is told of a deployment as it happens. Any may be NULL. */
struct deployment_events {
    void *context;
    /* A primary that can be asked: connected, logged in, with a module that is new enough. */
    void (*node_up)(void *context, struct node *node);
    /* It cannot be asked any more; the node is gone after the call. Its commands were answered with trouble before. */
    void (*node_down)(void *context, struct node *node);
    /* One line that names the server; told when it changes, not each time. NULL: all is well again. */
    void (*trouble)(void *context, const char *text);
};

/* How connections are made. All zero is what one usually wants. */
struct connection_options {
    const char *ca_file;                     /* certificates to trust with rediss://; NULL: those of the system */
    const char *certificate_file, *key_file; /* ours, where servers ask for one; NULL: none */
    bool insecure;                           /* any certificate will do */
    const char *needs; /* the command that a module must know to be new enough; NULL: ROOST.PULL */
    unsigned patience; /* milliseconds that a server may take to answer; 0: 30 s */
    uint64_t seed;     /* of the chance that makes pauses uneven */
};

/* redis://[user[:password]@]host[:port][/] or rediss://...; complains and gives NULL where it is none. `secrets` has
   what secrets_read gave, or NULL; `options` may be NULL, too. Connects as the loop runs. */
struct secrets;
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

/*
 * To this very primary, on a connection of its own for commands that wait for something there: for two minutes at most,
 * then the connection counts as lost. Once something was answered with trouble the node is about to go down: what is
 * asked of it from then on is answered from within the call, with trouble.
 */
void node_wait(struct node *node, struct words command, answered *answer, void *context);
const char *node_name(const struct node *node);
/* A place for whoever uses it. */
void **node_place(struct node *node);

/* ---- passwords (secrets.c) ---- */

/*
 * Passwords that are not in URLs: from the environment (ROOST_PASSWORD, ROOST_USER, for every deployment whose URL has
 * none) and from a file that nobody else can read, with lines "URL-without-password password". Complains and gives
 * NULL. What is in the URLs of a command line is made unreadable for those who list processes by secrets_hide; by
 * secrets_take for all words, which are copies from then on, to be hidden once they have been read. False without
 * memory.
 */
struct secrets *secrets_read(const char *file);
void secrets_free(struct secrets *secrets); /* NULL is fine */
void secrets_hide(char *url);
bool secrets_take(char **words, size_t count, bool *any);

#endif
