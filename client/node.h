/* One primary of a deployment that is up, for the users of the deployment. */
#ifndef CLIENT_NODE_H
#define CLIENT_NODE_H

#include "command.h"

struct node;

/*
 * Sends a command to this primary, on a separate connection for commands that wait for an event there: for two minutes
 * at most, then the connection counts as lost. After a command has failed, the node is about to go down: further
 * commands fail within the call.
 */
void node_wait(struct node *node, struct words command, answered *answer, void *context);
const char *node_name(const struct node *node);
/* A pointer for the user of the deployment. */
void **node_place(struct node *node);

#endif
