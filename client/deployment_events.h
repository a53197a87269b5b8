/* What a deployment reports to the code that opened it. */
#ifndef CLIENT_DEPLOYMENT_EVENTS_H
#define CLIENT_DEPLOYMENT_EVENTS_H

struct node;

/* Any function may be NULL. */
struct deployment_events {
    void *context;
    /* A primary is ready: connected, logged in, with a module that is new enough. */
    void (*node_up)(void *context, struct node *node);
    /* The primary is no longer ready. Its commands have failed before; the node is freed after the call. */
    void (*node_down)(void *context, struct node *node);
    /* One line with the name of the server, when it changes. NULL: the deployment has recovered. */
    void (*error)(void *context, const char *text);
};

#endif
