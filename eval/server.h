/*
 * Servers of the paper's key-value store, each a process of its own on a Unix socket. Some hold a replica of a counter,
 * all take operations from clients and pass them on to the replica that the client names.
 */
#ifndef EVAL_SERVER_H
#define EVAL_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "roost.h"

enum request_type {
    REQUEST_OPERATION, /* from a client, to be passed on to `target` */
    REQUEST_APPLY,     /* counted here, stored, answered */
    REQUEST_STATE,     /* what the replica holds */
    REQUEST_PULL,      /* take in what `target` holds */
};

struct request {
    uint32_t type, target;
    uint64_t id, time;
};

struct reply {
    int64_t value;    /* of the counter that a window guards */
    int64_t attempts; /* what one without a window has counted at this replica */
    uint32_t applied;
    uint32_t size; /* bytes that follow: a state */
};

struct cluster {
    char directory[64];
    unsigned servers;
    int *listening; /* of each server; they outlive the process that answers */
    pid_t *processes;
    roost_config config;
};

void cluster_open(struct cluster *cluster, unsigned servers, const roost_config *config);
void cluster_close(struct cluster *cluster);

/* Asks one server and waits for its answer. */
struct reply cluster_ask(const struct cluster *cluster, unsigned server, struct request request);
/* Sends a request to a server that is killed with SIGKILL before its reply arrives, and is restarted from what it had
   stored: either before it reads the request, or after it has replied. */
void cluster_kill_asked(struct cluster *cluster, unsigned server, struct request request, bool answered);

#endif
