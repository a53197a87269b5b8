/*
 * A server is asked for its role before anything else is sent to it, in one batch:
 *
 *     PING            -LOADING: try later. -NOAUTH: it wants a password.
 *     CLUSTER SLOTS   an array: it is part of a cluster, and this is the map. An error: it is not.
 *     ROLE            primary or replica; its primary or its replicas
 *     ROOST.PULL      without arguments: an error in any case, which shows whether the command exists
 *     ROOST.DIGEST    the same: a module that has only this one is too old
 *
 * If the user has no right to ask for clusters and roles (NOPERM), the server is taken to be a primary without
 * replicas.
 *
 * Callbacks of connections only note what they learn; the deployment acts on it in its next update.
 */
#include "node.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_slots.h"
#include "node_state.h"

#define ASK_PING   "*1\r\n$4\r\nPING\r\n"
#define ASK_SLOTS  "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n"
#define ASK_ROLE   "*1\r\n$4\r\nROLE\r\n"
#define ASK_DIGEST "*1\r\n$12\r\nROOST.DIGEST\r\n"

/* ---- a node ------------------------------------------------------------------------------------------------------ */

bool node_move(struct node *node, const char *host, int port)
{
    char *copy = strdup(host), *name = host_and_port(host, port);
    if (!copy || !name) {
        free(copy);
        free(name);
        return false;
    }
    free(node->host);
    free(node->name);
    node->host = copy;
    node->name = name;
    node->port = port;
    return true;
}

struct node *node_new(struct node_owner *owner, const char *host, int port, const char *id)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->owner = owner;
    node->id = id ? strdup(id) : NULL;
    if (node_move(node, host, port) && (!id || node->id))
        return node;
    node_free(node);
    return NULL;
}

void node_free(struct node *node)
{
    node_shut(node);
    free(node->host);
    free(node->name);
    free(node->id);
    free(node);
}

void node_fail(struct node *node, const char *error)
{
    if (!node->failed)
        snprintf(node->error, sizeof node->error, "%s", error);
    node->failed = true;
    node->owner->changed(node->owner->deployment);
}

bool node_is_open(const struct node *node)
{
    return node->working != NULL;
}

/* The connections are removed before they are closed, so that callbacks of their commands find none. */
void node_shut(struct node *node)
{
    struct connection *working = node->working, *waiting = node->waiting;
    node->working = node->waiting = NULL;
    node->ready = false;
    connection_close(working);
    connection_close(waiting);
}

/* ---- its role ---------------------------------------------------------------------------------------------------- */

static void pinged(void *context, const struct redisReply *reply, const char *error)
{
    (void)error;
    if (is_error(reply, "LOADING"))
        node_fail(context, "the server is loading its data");
    else if (is_error(reply, "NOAUTH"))
        node_fail(context, "the server asks for a password: set ROOST_PASSWORD or give a password file");
}

static void slots_replied(void *context, const struct redisReply *reply, const char *error)
{
    struct node *node = context;
    (void)error;
    node->has_slots = reply && reply->type == REDIS_REPLY_ARRAY;
    if (!node->has_slots)
        return;
    if (is_slot_map(reply))
        node->owner->slots_reported(node->owner->deployment, node, reply);
    else
        node_fail(node, "the server replied with an invalid slot map");
}

static bool begins_with_word(const struct redisReply *reply, const char *word)
{
    return reply && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
           reply->element[0]->type == REDIS_REPLY_STRING && strcmp(reply->element[0]->str, word) == 0;
}

static void role_replied(void *context, const struct redisReply *reply, const char *error)
{
    struct node *node = context;
    (void)error;
    node->is_replica = begins_with_word(reply, "slave");
    if (begins_with_word(reply, "sentinel"))
        node_fail(node, "is a Sentinel and holds no keys: give the URL of the primary");
    else if (reply && reply->type == REDIS_REPLY_ARRAY)
        node->owner->role_reported(node->owner->deployment, node, reply);
}

static void needed_command_replied(void *context, const struct redisReply *reply, const char *error)
{
    struct node *node = context;
    (void)error;
    node->lacks_command = is_error(reply, "ERR unknown command");
}

/* The last reply: now the node is ready or has failed. */
static void module_replied(void *context, const struct redisReply *reply, const char *error)
{
    struct node *node = context;
    char text[120];
    if (error)
        return;
    if (!node->is_replica && node->lacks_command && is_error(reply, "ERR unknown command")) {
        node_fail(node, "the server has not loaded the module roost.so");
    } else if (!node->is_replica && node->lacks_command) {
        snprintf(text, sizeof text, "its module roost.so is too old: it does not know %s", node->owner->needs);
        node_fail(node, text);
    }
    node->ready = !node->failed;
    node->owner->changed(node->owner->deployment);
}

static void working_closed(void *context, const char *error)
{
    struct node *node = context;
    node->working = NULL;
    node_fail(node, error);
}

static void send_text(struct node *node, const char *bytes, size_t size, answered *answer)
{
    connection_send(node->working, (struct formatted){bytes, size, ANY_DATABASE, false}, answer, node);
}

void node_ask_role(struct node *node)
{
    send_text(node, ASK_ROLE, strlen(ASK_ROLE), role_replied);
}

void node_ask_slots(struct node *node)
{
    send_text(node, ASK_SLOTS, strlen(ASK_SLOTS), slots_replied);
}

void node_open(struct node *node)
{
    node->failed = node->ready = node->is_replica = node->has_slots = node->lacks_command = false;
    node->working = connection_open(&node->owner->access, node->host, node->port, working_closed, node);
    if (!node->working) {
        node_fail(node, "no memory");
        return;
    }
    send_text(node, ASK_PING, strlen(ASK_PING), pinged);
    node_ask_slots(node);
    node_ask_role(node);
    send_text(node, node->owner->needs_bytes, node->owner->needs_size, needed_command_replied);
    send_text(node, ASK_DIGEST, strlen(ASK_DIGEST), module_replied);
}

/* ---- commands that wait ------------------------------------------------------------------------------------------ */

struct waiter {
    struct node *node;
    char *bytes;
    answered *answer;
    void *context;
};

static void waiter_answered(void *context, const struct redisReply *reply, const char *error)
{
    struct waiter *waiter = context;
    char text[600];
    if (error)
        snprintf(text, sizeof text, "%s: %s", waiter->node->name, error);
    waiter->answer(waiter->context, reply, error ? text : NULL);
    free(waiter->bytes);
    free(waiter);
}

static void waiting_closed(void *context, const char *error)
{
    struct node *node = context;
    node->waiting = NULL;
    node_fail(node, error);
}

void node_wait(struct node *node, struct words command, answered *answer, void *context)
{
    struct waiter *waiter = malloc(sizeof *waiter);
    size_t size;
    char *bytes = format_words(command, &size);
    bool usable = node->ready && !node->failed;
    if (usable && !node->waiting)
        node->waiting = connection_open(&node->owner->access, node->host, node->port, waiting_closed, node);
    if (!waiter || !bytes || !usable || !node->waiting) {
        free(waiter);
        free(bytes);
        answer(context, NULL, usable ? "no memory" : "the connection to the server is closed");
        return;
    }
    *waiter = (struct waiter){node, bytes, answer, context};
    connection_send(node->waiting, (struct formatted){bytes, size, ANY_DATABASE, true}, waiter_answered, waiter);
}

const char *node_name(const struct node *node)
{
    return node->name;
}

void **node_place(struct node *node)
{
    return &node->place;
}
