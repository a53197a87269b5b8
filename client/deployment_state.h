/* The inside of a deployment: deployment.c has the servers, requests.c the commands. */
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
    struct node *nodes; /* the first is that of the URL */
    struct node *probe; /* the server that is being asked for its role, or for the map */
    struct node *hint;  /* the server to try first */
    bool cluster;
    struct node **slots; /* the primary of each, in a cluster */
    struct request *waiting, **waiting_end;
    uint64_t seek_at, check_at, checked_at;
    unsigned rounds; /* failed searches in a row */
    uint64_t random; /* state of the generator */
    struct timer *update;
    uint64_t update_at;
    unsigned busy;
    bool closing;
    char *error;         /* as last reported; NULL: none */
    const char *problem; /* an error of the deployment rather than of a server; NULL: none */
};

/* ---- deployment.c ---- */

uint64_t deployment_now(const struct deployment *deployment);
void deployment_update_at(struct deployment *deployment, uint64_t when);
/* Asks for roles or the map again, but not too often. */
void deployment_check_soon(struct deployment *deployment);
/* Code that calls the user's callbacks outside of an update increments `busy` before, and calls this afterwards: the
   deployment may be freed then. */
void deployment_leave(struct deployment *deployment);

/* A server that another one named; NULL without memory or with too many servers. */
struct node *deployment_learn(struct deployment *deployment, struct server_address address, const struct node *asked);
/* The primary; in a cluster the first of them. NULL: none is known. */
struct node *deployment_primary(struct deployment *deployment);
/* The server to name in an error: a primary that is down, or the first with an error; or NULL. */
struct node *deployment_failing_node(const struct deployment *deployment);
bool node_is_usable(const struct node *node); /* NULL is fine */

/* ---- requests.c ---- */

/* Sends the commands whose time has come and whose primary is ready, in their order; `next` becomes the time of the
   next one, if that is earlier. */
void requests_send(struct deployment *deployment, uint64_t *next);
/* All waiting commands fail. */
void requests_end(struct deployment *deployment);

#endif
