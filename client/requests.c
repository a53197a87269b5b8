/*
 * A command about a key is sent to the primary that has it, or waits here until there is one.
 *
 * Some replies only say that the server or the moment was wrong. The command was not carried out, and is sent again,
 * for ten seconds in all:
 *
 *     MOVED slot host:port     to that server, and the map is requested again
 *     ASK slot host:port       to that server once, after ASKING; the map stays as it is
 *     READONLY                 later: the server has become a replica, and the primary is searched for
 *     TRYAGAIN, CLUSTERDOWN,
 *     LOADING, MASTERDOWN      later
 *
 * After three redirections there are pauses, in case two servers redirect to each other. Servers that the map does not
 * name stay connected for half a minute. Commands under way on a connection that breaks fail at once: whether they were
 * carried out is unknown, and only the caller knows whether they may be sent twice.
 */
#include "deployment.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deployment_state.h"

/* milliseconds */
#define REQUEST_TIMEOUT 10000
#define AGAIN_PAUSE     100
#define TEMPORARY       30000

struct request {
    struct request *next;
    struct deployment *deployment;
    char *bytes;
    size_t size;
    unsigned slot;
    int database;
    uint64_t until, not_before;
    unsigned redirections;
    char refusal[24];   /* the first word of the last refusal */
    struct node *node;  /* where it was sent; NULL while it waits */
    struct node *asked; /* the target of ASK; NULL: use the map */
    answered *answer;
    void *context;
};

static void put_request(struct deployment *deployment, struct request *request)
{
    request->next = NULL;
    request->node = NULL;
    *deployment->waiting_end = request;
    deployment->waiting_end = &request->next;
    deployment_update_at(deployment, request->not_before < request->until ? request->not_before : request->until);
}

static void finish(struct request *request, const struct redisReply *reply, const char *error)
{
    char text[600];
    const char *name = request->node ? request->node->name : request->deployment->name;
    if (error)
        snprintf(text, sizeof text, "%s: %s", name, error);
    request->answer(request->context, reply, error ? text : NULL);
    free(request->bytes);
    free(request);
}

static struct node *target(const struct request *request)
{
    struct deployment *deployment = request->deployment;
    return request->asked        ? request->asked
           : deployment->cluster ? deployment->slots[request->slot]
                                 : deployment_primary(deployment);
}

struct node *deployment_node(struct deployment *deployment, roost_bytes key)
{
    if (!deployment->cluster)
        return deployment_primary(deployment);
    return deployment->slots ? deployment->slots[cluster_slot(key)] : NULL;
}

static void follow(struct request *request, const struct redisReply *reply)
{
    struct deployment *deployment = request->deployment;
    unsigned slot;
    int port;
    char *host = read_redirection(reply->str, &slot, &port);
    bool moved = is_error(reply, "MOVED");
    struct node *node = NULL;
    if (host)
        node = deployment_learn(deployment, (struct server_address){*host ? host : NULL, port, NULL}, request->node);
    free(host);
    if (node)
        node->temporary_until = deployment_now(deployment) + TEMPORARY;
    if (node && moved)
        deployment->slots[slot] = node;
    request->asked = moved ? NULL : node;
    if (moved)
        deployment_check_soon(deployment);
    request->not_before = deployment_now(deployment) + (request->redirections++ < 3 ? 0 : AGAIN_PAUSE);
}

/* Errors that say that the command was not carried out and may be sent again later. */
static bool is_for_later(const struct redisReply *reply)
{
    static const char *const refusals[] = {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY"};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (is_error(reply, refusals[i]))
            return true;
    return false;
}

static bool is_redirection(const struct deployment *deployment, const struct redisReply *reply)
{
    return deployment->cluster && (is_error(reply, "MOVED ") || is_error(reply, "ASK "));
}

static void request_answered(void *context, const struct redisReply *reply, const char *error)
{
    struct request *request = context;
    struct deployment *deployment = request->deployment;
    bool later = is_for_later(reply), redirected = is_redirection(deployment, reply);
    if (deployment->closing || (!later && !redirected)) {
        deployment->busy++;
        finish(request, reply, error);
        deployment_leave(deployment);
        return;
    }
    if (redirected) {
        follow(request, reply);
    } else {
        request->asked = NULL;
        request->not_before = deployment_now(deployment) + AGAIN_PAUSE;
        deployment_check_soon(deployment);
    }
    snprintf(request->refusal, sizeof request->refusal, "%.*s", (int)strcspn(reply->str, " "), reply->str);
    put_request(deployment, request);
}

static void send_request(struct request *request, struct node *node)
{
    static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
    request->node = node;
    if (request->asked)
        connection_send(node->working, (struct formatted){asking, strlen(asking), request->database, false}, NULL,
                        NULL);
    connection_send(node->working, (struct formatted){request->bytes, request->size, request->database, false},
                    request_answered, request);
}

void deployment_ask(struct deployment *deployment, int database, roost_bytes key, struct words command,
                    answered *answer, void *context)
{
    struct request *request = deployment->closing ? NULL : calloc(1, sizeof *request);
    size_t size = 0;
    char *bytes = request ? format_words(command, &size) : NULL;
    if (!bytes) {
        free(request);
        answer(context, NULL, deployment->closing ? "the deployment was closed" : "no memory");
        return;
    }
    uint64_t present = deployment_now(deployment);
    *request = (struct request){.deployment = deployment,
                                .bytes = bytes,
                                .size = size,
                                .slot = cluster_slot(key),
                                .database = database,
                                .until = present + REQUEST_TIMEOUT,
                                .not_before = present,
                                .answer = answer,
                                .context = context};
    struct node *node = target(request);
    if (node_is_usable(node) && !deployment->waiting)
        send_request(request, node);
    else
        put_request(deployment, request);
}

static void give_up(struct request *request)
{
    struct node *node = deployment_failing_node(request->deployment);
    char text[80];
    request->node = node;
    snprintf(text, sizeof text, "refused for %d s: %s", REQUEST_TIMEOUT / 1000, request->refusal);
    finish(request, NULL, *request->refusal ? text : node ? node->error : "no primary could be reached");
}

void requests_send(struct deployment *deployment, uint64_t *next)
{
    for (struct request **link = &deployment->waiting, *request; (request = *link) && !deployment->closing;) {
        struct node *node = target(request);
        bool over = deployment_now(deployment) >= request->until,
             sendable = !over && request->not_before <= deployment_now(deployment) && node_is_usable(node);
        if (!over && !sendable) {
            uint64_t due = request->not_before > deployment_now(deployment) ? request->not_before : request->until;
            *next = due < *next ? due : *next;
            link = &request->next;
            continue;
        }
        *link = request->next;
        if (!request->next)
            deployment->waiting_end = link;
        if (sendable)
            send_request(request, node);
        else
            give_up(request);
    }
}

void requests_end(struct deployment *deployment)
{
    for (struct request *request; (request = deployment->waiting);) {
        deployment->waiting = request->next;
        request->node = NULL;
        finish(request, NULL, "the deployment was closed");
    }
}
