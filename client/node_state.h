/*
 * One server of a deployment as the deployment sees it: where it is, what it says of itself, the connections to it.
 * node.h has what the users of a deployment may do with a node.
 */
#ifndef CLIENT_NODE_STATE_H
#define CLIENT_NODE_STATE_H

#include "connection.h"

struct deployment;
struct node;

/* What all nodes of a deployment have in common, and whom they tell what they hear. None of these removes a node. */
struct node_owner {
    struct deployment *deployment;
    struct access access;
    const char *needs; /* the command that the module must know */
    char *needs_bytes;
    size_t needs_size;
    void (*slots_reported)(struct deployment *deployment, struct node *node, const struct redisReply *reply);
    void (*role_reported)(struct deployment *deployment, struct node *node, const struct redisReply *reply);
    void (*changed)(struct deployment *deployment); /* a node is ready or has failed: called more often than needed */
};

struct node {
    struct node_owner *owner;
    struct node *next;
    char *host, *name; /* the name is host:port */
    int port;
    char *id; /* in a cluster; may be NULL */
    struct connection *working, *waiting;

    /* What it said when it was asked who it is. */
    bool ready;      /* it has answered, and can be used for what it is */
    bool failed;     /* the connections are of no use any more; `trouble` says why */
    bool is_replica; /* otherwise a primary */
    bool has_slots;  /* part of a cluster */
    bool lacks_command;
    char error[400];

    /* What the deployment keeps with it. */
    bool wanted;    /* a primary of the deployment: to be connected at all times */
    bool known;     /* somebody told of it lately */
    bool tried;     /* in this round of the search for a primary */
    bool announced; /* node_up was called */
    unsigned failures;
    uint64_t retry_at, up_since, temporary_until; /* until then commands are sent here that the map does not tell of */
    void *place;
};

struct node *node_new(struct node_owner *owner, const char *host, int port, const char *id); /* NULL without memory */
void node_free(struct node *node); /* its connections are closed */
/* Another host and port for a server that has no connections. */
bool node_move(struct node *node, const char *host, int port);

/* Connects and asks it who it is; told by ready or failed. */
void node_open(struct node *node);
/* Its commands are answered with trouble. */
void node_shut(struct node *node);
bool node_is_open(const struct node *node);
void node_fail(struct node *node, const char *error);

/* Asks a node that is ready who it is by now: role_reported, or slots_reported. */
void node_ask_role(struct node *node);
void node_ask_slots(struct node *node);

#endif
