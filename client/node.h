/* One primary of a deployment that is up, for the users of the deployment. */
#ifndef CLIENT_NODE_H
#define CLIENT_NODE_H

#include "command.h"

struct node;

/*
 * To this very primary, on a connection of its own for commands that wait for something there: for two minutes at most,
 * then the connection counts as lost. Once something was answered with trouble the node is about to go down: what is
 * asked of it from then on is answered from within the call, with trouble.
 */
void node_wait(struct node *node, struct words command, answered *answer, void *context);
const char *node_name(const struct node *node);
/* A place for whoever uses it. */
void **node_place(struct node *node);

#endif
