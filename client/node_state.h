/*
 * The inside of a node: one server of a deployment, with its role and the connections to it. Users of a deployment see
 * only node.h.
 */
#ifndef CLIENT_NODE_STATE_H
#define CLIENT_NODE_STATE_H

#include "connection.h"

struct deployment;
struct node;

/* What all nodes of a deployment share, and the callbacks for what they learn. None of these removes a node. */
struct node_owner {
    struct deployment *deployment;
    struct access access;
    const char *needs; /* the command that the module must have */
    char *needs_bytes;
    size_t needs_size;
    void (*slots_reported)(struct deployment *deployment, struct node *node, const struct redisReply *reply);
    void (*role_reported)(struct deployment *deployment, struct node *node, const struct redisReply *reply);
    void (*changed)(struct deployment *deployment); /* a node is ready or has failed; may be called more often */
};

struct node {
    struct node_owner *owner;
    struct node *next;
    char *host, *name; /* name: host:port */
    int port;
    char *id; /* in a cluster; may be NULL */
    struct connection *working, *waiting;

    /* what it replied about itself */
    bool ready;      /* it has replied, and can be used */
    bool failed;     /* the connections are to be closed; `error` says why */
    bool is_replica; /* false: a primary */
    bool has_slots;  /* part of a cluster */
    bool lacks_command;
    char error[400];

    /* state of the deployment */
    bool wanted;    /* a primary of the deployment: always connected */
    bool known;     /* a server mentioned it lately */
    bool tried;     /* in this search for a primary */
    bool announced; /* node_up was called */
    unsigned failures;
    uint64_t retry_at, up_since, temporary_until; /* until then it stays connected although the map does not name it */
    void *place;
};

struct node *node_new(struct node_owner *owner, const char *host, int port, const char *id); /* NULL without memory */
void node_free(struct node *node); /* closes its connections */
/* Changes host and port of a node without connections. */
bool node_move(struct node *node, const char *host, int port);

/* Connects and asks for its role; sets ready or failed. */
void node_open(struct node *node);
/* Closes its connections; its commands fail. */
void node_shut(struct node *node);
bool node_is_open(const struct node *node);
void node_fail(struct node *node, const char *error);

/* Asks a ready node again: role_reported or slots_reported is called. */
void node_ask_role(struct node *node);
void node_ask_slots(struct node *node);

#endif
