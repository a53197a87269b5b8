/* What a deployment reports to the code that opened it. */
#ifndef CLIENT_DEPLOYMENT_EVENTS_H
#define CLIENT_DEPLOYMENT_EVENTS_H

struct node;

/* What is told of a deployment as it happens. Any may be NULL. */
struct deployment_events {
    void *context;
    /* A primary that can be asked: connected, logged in, with a module that is new enough. */
    void (*node_up)(void *context, struct node *node);
    /* It cannot be asked any more; the node is gone after the call. Its commands were answered with trouble before. */
    void (*node_down)(void *context, struct node *node);
    /* One line that names the server; told when it changes, not each time. NULL: all is well again. */
    void (*error)(void *context, const char *text);
};

#endif
