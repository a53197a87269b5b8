/* The inside of a deployment, for the files that it is made of: deployment.c knows the servers, requests.c the
 * commands. */
#ifndef CLIENT_DEPLOYMENT_STATE_H
#define CLIENT_DEPLOYMENT_STATE_H

#include "cluster_slots.h"
#include "deployment_events.h"
#include "node_state.h"

struct event_loop;
struct request;
struct timer;

struct deployment {
    struct event_loop *loop;
    struct deployment_events events;
    char *name;
    struct node_owner owner;
    struct node *nodes; /* the first is the one in the URL */
    struct node *probe; /* is asked who it is, or where the primaries are */
    struct node *hint;  /* whom to try first */
    bool cluster;
    struct node **slots; /* the primary of each, in a cluster */
    struct request *waiting, **waiting_end;
    uint64_t seek_at, check_at, checked_at;
    unsigned rounds; /* of the search that led to nothing */
    uint64_t random; /* state of the generator */
    struct timer *update;
    uint64_t update_at;
    unsigned busy;
    bool closing;
    char *error;         /* as told last; NULL: none */
    const char *problem; /* what is wrong with the deployment rather than with a server; NULL: nothing */
};

/* ---- deployment.c ---- */

uint64_t deployment_now(const struct deployment *deployment);
void deployment_update_at(struct deployment *deployment, uint64_t when);
/* Roles, or the map, are asked for again; but not too often. */
void deployment_check_soon(struct deployment *deployment);
/* Whoever calls those who use the deployment, outside of a turn, counts `busy` up before, and calls this afterwards:
   the deployment may be gone then. */
void deployment_leave(struct deployment *deployment);

/* A server that another one told of; NULL without memory, or when there are too many. */
struct node *deployment_learn(struct deployment *deployment, struct server_address address, const struct node *asked);
/* The one that is to be connected; in a cluster the first of them. NULL: none is known. */
struct node *deployment_primary(struct deployment *deployment);
/* The server to name when something is wrong: a primary that is away, or the first that has trouble; or NULL. */
struct node *deployment_failing_node(const struct deployment *deployment);
bool node_is_usable(const struct node *node); /* NULL is fine */

/* ---- requests.c ---- */

/* Those whose time and primary have come, in the order in which they were asked; `next` becomes no later than when
   there is more to do. */
void requests_send(struct deployment *deployment, uint64_t *next);
/* All that wait are answered with trouble. */
void requests_end(struct deployment *deployment);

#endif
