/*
 * A deployment is a list of known servers. Some are primaries, to which we keep connections at all times. There are two
 * ways to find the primaries:
 *
 *   a server, or a primary with replicas   Known servers are tried in turn until one replies that it is the primary.
 *                                          A replica names its primary, and the primary its replicas, which are tried
 *                                          when it is down. Repeated every few seconds, and when a command is refused
 *                                          with READONLY.
 *   a cluster                              Any server has the map of slots. It is requested again every few seconds,
 *                                          when a command is redirected (MOVED), and when a primary is down: from any
 *                                          primary that is up, or else from all known servers in turn.
 *
 * Replies of servers are only noted (node.c). Their effects happen in `update`, which the loop calls soon afterwards
 * and when the next action is due: it closes failed servers, reports errors, opens connections after their pauses,
 * announces new primaries, and sends commands that wait for a primary. So the user's callbacks about nodes are called
 * from one place, and never in the middle of something else.
 *
 * A pause doubles from 0.1 s to 10 s. Up to half of it is random, so that many clients that lost the same server do not
 * come back at the same moment. The failures of a server are forgotten once it has been up for ten seconds.
 */
#include "deployment.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/messages.h"
#include "deployment_state.h"
#include "event_loop.h"
#include "secrets.h"

#define NEEDED_COMMAND "ROOST.PULL"
#define MOST_NODES     2048

/* milliseconds */
#define SHORTEST_PAUSE 100
#define LOOKUP_TIMEOUT                                                                                                 \
    2000 /* then an error is reported and the look-up tried again, which uses an answer that comes late */
#define LONGEST_PAUSE    10000
#define STEADY           10000 /* up for so long, earlier failures are forgotten */
#define CHECK_INTERVAL   5000
#define HASTY_INTERVAL   500 /* between requests of the map while a primary is down */
#define REFRESH_INTERVAL 100 /* at least, between requests of the map */
#define NEVER            UINT64_MAX

uint64_t deployment_now(const struct deployment *deployment)
{
    return event_loop_now(deployment->loop);
}

/* ---- updates ----------------------------------------------------------------------------------------------------- */

static void update(void *context);

void deployment_update_at(struct deployment *deployment, uint64_t when)
{
    uint64_t present = deployment_now(deployment);
    if (deployment->closing || (deployment->update && deployment->update_at <= when))
        return;
    timer_remove(deployment->update);
    deployment->update_at = when;
    deployment->update = timer_add(deployment->loop, when > present ? when - present : 0, update, deployment);
}

static void update_soon(struct deployment *deployment)
{
    deployment_update_at(deployment, deployment_now(deployment));
}

static void earlier(uint64_t *when, uint64_t other)
{
    *when = other < *when ? other : *when;
}

/* splitmix64 */
static uint64_t next_random(struct deployment *deployment)
{
    uint64_t z = deployment->random += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* The pause after so many failures in a row. */
static uint64_t pause_after(struct deployment *deployment, unsigned failures)
{
    uint64_t longest = failures > 7 ? LONGEST_PAUSE : (uint64_t)SHORTEST_PAUSE << (failures > 0 ? failures - 1 : 0);
    longest = longest < LONGEST_PAUSE ? longest : LONGEST_PAUSE;
    return longest / 2 + next_random(deployment) % (longest / 2 + 1);
}

/* ---- known servers ----------------------------------------------------------------------------------------------- */

static struct node *find_node(struct deployment *deployment, const char *host, int port, const char *id)
{
    for (struct node *node = deployment->nodes; id && node; node = node->next)
        if (node->id && strcmp(node->id, id) == 0)
            return node;
    for (struct node *node = deployment->nodes; node; node = node->next)
        if (node->port == port && strcmp(node->host, host) == 0 && !(id && node->id))
            return node;
    return NULL;
}

static struct node *add_node(struct deployment *deployment, const char *host, int port, const char *id)
{
    struct node **end = &deployment->nodes;
    size_t count = 0;
    for (; *end; end = &(*end)->next)
        count++;
    return count < MOST_NODES ? *end = node_new(&deployment->owner, host, port, id) : NULL;
}

struct node *deployment_learn(struct deployment *deployment, struct server_address address, const struct node *asked)
{
    const char *host = address.host ? address.host : asked->host;
    struct node *node = find_node(deployment, host, address.port, address.id);
    if (!node)
        node = add_node(deployment, host, address.port, address.id);
    if (!node)
        return NULL;
    if (address.host && !node_is_open(node) && (strcmp(node->host, host) != 0 || node->port != address.port))
        node_move(node, host, address.port);
    if (address.id && !node->id)
        node->id = strdup(address.id);
    node->known = true;
    return node;
}

static void forget_node(struct deployment *deployment, struct node *node)
{
    if (deployment->hint == node)
        deployment->hint = NULL;
    for (unsigned slot = 0; deployment->slots && slot < CLUSTER_SLOTS; slot++)
        if (deployment->slots[slot] == node)
            deployment->slots[slot] = NULL;
    node_free(node);
}

static void forget_unknown(struct deployment *deployment)
{
    for (struct node **link = &deployment->nodes->next, *node; (node = *link);) {
        bool needed = node->known || node->wanted || node->announced || node == deployment->probe ||
                      node_is_open(node) || node->temporary_until > deployment_now(deployment);
        if (needed) {
            link = &node->next;
            continue;
        }
        *link = node->next;
        forget_node(deployment, node);
    }
}

/* ---- what servers report ---------------------------------------------------------------------------------------- */

static void forget_topology(struct deployment *deployment)
{
    for (struct node *node = deployment->nodes; node; node = node->next)
        node->known = node->wanted = false;
}

static void take_range(struct deployment *deployment, struct node *asked, struct slot_range range)
{
    struct node *primary = deployment_learn(deployment, range.primary, asked);
    for (unsigned slot = range.first; slot <= range.last; slot++)
        deployment->slots[slot] = primary;
    if (primary)
        primary->wanted = true;
    for (size_t i = 0; i < slot_range_replicas(&range); i++)
        deployment_learn(deployment, slot_range_replica(&range, i), asked);
}

/* The map of the probed server or of a primary that is up is used, but not that of a server that comes back and may
   be outdated. */
static void slots_reported(struct deployment *deployment, struct node *node, const struct redisReply *map)
{
    bool believed = node == deployment->probe || node->announced;
    if (!believed || map->elements == 0 || (!deployment->cluster && node->announced))
        return;
    if (!deployment->slots)
        deployment->slots = calloc(CLUSTER_SLOTS, sizeof(struct node *));
    if (!deployment->slots)
        return;
    deployment->cluster = true;
    forget_topology(deployment);
    memset(deployment->slots, 0, CLUSTER_SLOTS * sizeof(struct node *));
    for (size_t i = 0; i < map->elements; i++)
        take_range(deployment, node, slot_range_at(map, i));
    deployment->checked_at = deployment_now(deployment);
    update_soon(deployment);
}

static void take_replicas(struct deployment *deployment, struct node *primary, const struct redisReply *replicas)
{
    struct server_address address;
    for (struct node *node = deployment->nodes; node; node = node->next)
        node->known = false;
    primary->known = true;
    for (size_t i = 0; i < replicas->elements && i < MOST_NODES; i++)
        if (read_server_address(&address, replicas->element[i])) {
            address.id = NULL; /* the third element is its replication offset */
            deployment_learn(deployment, address, primary);
        }
}

/* ["slave", host, port, ...] or ["master", offset, [[host, port, offset], ...]] */
static void role_reported(struct deployment *deployment, struct node *node, const struct redisReply *reply)
{
    struct server_address address;
    struct redisReply behind = {.type = REDIS_REPLY_ARRAY, .elements = 2, .element = reply->element + 1};
    if (deployment->cluster || node->has_slots || reply->elements < 3)
        return;
    if (!node->is_replica && reply->element[2]->type == REDIS_REPLY_ARRAY) {
        take_replicas(deployment, node, reply->element[2]);
    } else if (node->is_replica) {
        if (read_server_address(&address, &behind))
            deployment->hint = deployment_learn(deployment, address, node);
        if (node->announced)
            node_fail(node, "the server has become a replica");
    }
}

static void changed(struct deployment *deployment)
{
    update_soon(deployment);
}

/* ---- primaries --------------------------------------------------------------------------------------------------- */

struct node *deployment_primary(struct deployment *deployment)
{
    for (struct node *node = deployment->nodes; node; node = node->next)
        if (node->wanted)
            return node;
    return NULL;
}

bool node_is_usable(const struct node *node)
{
    return node && node->ready && !node->failed && !node->is_replica && connection_works(node->working);
}

void deployment_check_soon(struct deployment *deployment)
{
    uint64_t soonest = deployment->checked_at + REFRESH_INTERVAL, present = deployment_now(deployment);
    earlier(&deployment->check_at, soonest > present ? soonest : present);
    deployment_update_at(deployment, deployment->check_at);
}

struct node *deployment_failing_node(const struct deployment *deployment)
{
    struct node *first = NULL;
    for (struct node *node = deployment->nodes; node; node = node->next) {
        if (*node->error && !node->announced && node->wanted)
            return node;
        if (*node->error && !node->announced && !first)
            first = node;
    }
    return first;
}

/* ---- up and down ------------------------------------------------------------------------------------------------- */

/* Closes a node, and reports it as down if it was announced. */
static void take_down(struct deployment *deployment, struct node *node)
{
    bool announced = node->announced;
    node_shut(node);
    node->failed = false;
    node->announced = false;
    if (deployment->probe == node)
        deployment->probe = NULL;
    if (announced && deployment->events.node_down && !deployment->closing)
        deployment->events.node_down(deployment->events.context, node);
    node->place = NULL;
}

static bool was_steady(struct deployment *deployment, const struct node *node)
{
    return node->announced && deployment_now(deployment) - node->up_since >= STEADY;
}

static void take_down_failed(struct deployment *deployment, struct node *node)
{
    bool steady = was_steady(deployment, node), was_primary = node->wanted && !deployment->cluster;
    node->failures = steady ? 1 : node->failures + 1;
    node->retry_at = deployment_now(deployment) + pause_after(deployment, node->failures);
    node->tried = true;
    take_down(deployment, node);
    if (deployment->cluster)
        deployment_check_soon(deployment);
    if (!was_primary)
        return;
    node->wanted = false;
    deployment->hint = node;
    deployment->rounds = steady ? 0 : deployment->rounds;
    for (struct node *any = deployment->nodes; any; any = any->next)
        any->tried = false;
    deployment->seek_at = deployment_now(deployment) + (steady ? 0 : pause_after(deployment, ++deployment->rounds));
}

static void announce_up(struct deployment *deployment, struct node *node)
{
    node->announced = true;
    node->up_since = deployment_now(deployment);
    deployment->rounds = deployment->cluster ? 0 : deployment->rounds;
    for (struct node *any = deployment->nodes; any; any = any->next)
        if (any == node || !deployment->cluster)
            *any->error = '\0';
    earlier(&deployment->check_at, deployment_now(deployment) + CHECK_INTERVAL);
    if (deployment->events.node_up && !deployment->closing)
        deployment->events.node_up(deployment->events.context, node);
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static bool can_probe(const struct node *node)
{
    return node && !node->tried && !node_is_open(node);
}

static struct node *next_probe(struct deployment *deployment)
{
    struct node *node = can_probe(deployment->hint) ? deployment->hint : deployment->nodes;
    while (node && !can_probe(node))
        node = node->next;
    return node;
}

/* Probes the next known server; when all have been tried, all of them again after a pause. */
static void send_probe(struct deployment *deployment)
{
    if (deployment->probe || deployment_now(deployment) < deployment->seek_at)
        return;
    deployment->probe = next_probe(deployment);
    if (deployment->probe) {
        deployment->probe->tried = true;
        node_open(deployment->probe);
        return;
    }
    for (struct node *node = deployment->nodes; node; node = node->next)
        node->tried = false;
    deployment->problem = deployment->problem ? deployment->problem : "none of its servers is a primary";
    deployment->seek_at = deployment_now(deployment) + pause_after(deployment, ++deployment->rounds);
}

/* Decides whether a probed server that has replied is the primary. */
static void finish_probe(struct deployment *deployment)
{
    struct node *probe = deployment->probe;
    if (!probe || !probe->ready || probe->failed)
        return;
    if (deployment->cluster) {
        deployment->probe = NULL;
    } else if (probe->has_slots) {
        deployment->problem = "is part of a cluster in which no server has slots";
        take_down(deployment, probe);
    } else if (probe->is_replica) {
        *probe->error = '\0';
        take_down(deployment, probe);
    } else {
        probe->wanted = true;
        deployment->probe = NULL;
    }
}

static bool any_primary_is_up(const struct deployment *deployment)
{
    for (const struct node *node = deployment->nodes; node; node = node->next)
        if (node->wanted && node_is_usable(node))
            return true;
    return false;
}

static void keep_cluster(struct deployment *deployment, uint64_t *next)
{
    for (struct node *node = deployment->nodes; node; node = node->next) {
        bool temporary = node->temporary_until > deployment_now(deployment);
        if (node->wanted && node->ready && node->is_replica)
            node_fail(node, "the server has become a replica");
        else if (!node->wanted && node_is_open(node) && (node->announced || (node != deployment->probe && !temporary)))
            take_down(deployment, node);
        if ((node->wanted || temporary) && !node_is_open(node) && !node->failed) {
            if (node->retry_at <= deployment_now(deployment))
                node_open(node);
            else
                earlier(next, node->retry_at);
        }
    }
    if (!any_primary_is_up(deployment))
        send_probe(deployment);
}

static bool all_is_well(const struct deployment *deployment)
{
    bool any = false;
    for (const struct node *node = deployment->nodes; node; node = node->next) {
        if (node->wanted && !node->announced)
            return false;
        any = any || node->wanted;
    }
    return any;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* A random primary that is up. */
static struct node *random_primary(struct deployment *deployment)
{
    size_t count = 0;
    for (struct node *node = deployment->nodes; node; node = node->next)
        count += node->announced && node_is_usable(node);
    size_t chosen = count ? next_random(deployment) % count : 0;
    for (struct node *node = deployment->nodes; node; node = node->next)
        if (node->announced && node_is_usable(node) && chosen-- == 0)
            return node;
    return NULL;
}

static void check(struct deployment *deployment, uint64_t *next)
{
    if (deployment_now(deployment) >= deployment->check_at) {
        struct node *node = random_primary(deployment);
        if (node && deployment->cluster)
            node_ask_slots(node);
        else if (node)
            node_ask_role(node);
        deployment->checked_at = deployment_now(deployment);
        deployment->check_at =
            node ? deployment_now(deployment) + (all_is_well(deployment) ? CHECK_INTERVAL : HASTY_INTERVAL) : NEVER;
    }
    earlier(next, deployment->check_at);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static char *error_text(const struct deployment *deployment)
{
    const struct node *node = deployment_failing_node(deployment);
    const char *name = node ? node->name : deployment->name, *error = node ? node->error : deployment->problem;
    size_t room = error ? strlen(name) + strlen(error) + 3 : 0;
    char *text = error ? malloc(room) : NULL;
    if (text)
        snprintf(text, room, "%s: %s", name, error);
    return text;
}

static void report_error(struct deployment *deployment)
{
    bool well = all_is_well(deployment);
    char *text = well ? NULL : error_text(deployment), *before = deployment->error;
    if (well)
        deployment->problem = NULL;
    bool changed_text = well ? before != NULL : text && (!before || strcmp(before, text) != 0);
    if (!changed_text || deployment->closing) {
        free(text);
        return;
    }
    deployment->error = text;
    if (deployment->events.error)
        deployment->events.error(deployment->events.context, text);
    free(before);
}

/* ---- an update --------------------------------------------------------------------------------------------------- */

static void announce_nodes(struct deployment *deployment)
{
    for (struct node *node = deployment->nodes; node && !deployment->closing; node = node->next)
        if (node->wanted && node_is_usable(node) && !node->announced)
            announce_up(deployment, node);
}

static void update(void *context)
{
    struct deployment *deployment = context;
    uint64_t next = NEVER;
    deployment->update = NULL;
    deployment->busy++;
    for (struct node *node = deployment->nodes; node && !deployment->closing; node = node->next)
        if (node->failed)
            take_down_failed(deployment, node);
    finish_probe(deployment);
    if (deployment->cluster)
        keep_cluster(deployment, &next);
    else if (!deployment_primary(deployment))
        send_probe(deployment);
    if (!deployment->probe && !any_primary_is_up(deployment))
        earlier(&next, deployment->seek_at);
    announce_nodes(deployment);
    check(deployment, &next);
    requests_send(deployment, &next);
    report_error(deployment);
    forget_unknown(deployment);
    if (next != NEVER)
        deployment_update_at(deployment, next);
    deployment_leave(deployment);
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void deployment_free(struct deployment *deployment)
{
    deployment->busy++;
    timer_remove(deployment->update);
    for (struct node *node; (node = deployment->nodes);) {
        node_shut(node); /* before it is out of the list: commands are answered */
        deployment->nodes = node->next;
        node_free(node);
    }
    requests_end(deployment);
    access_release(&deployment->owner.access);
    free(deployment->owner.needs_bytes);
    free(deployment->slots);
    free(deployment->error);
    free(deployment->name);
    free(deployment);
}

/* Frees a closed deployment when the outermost caller returns. */
void deployment_leave(struct deployment *deployment)
{
    if (--deployment->busy == 0 && deployment->closing)
        deployment_free(deployment);
}

void deployment_close(struct deployment *deployment)
{
    if (!deployment || deployment->closing)
        return;
    deployment->closing = true;
    deployment->busy++;
    deployment_leave(deployment);
}

static bool read_url(struct server_name *name, const char *url, const struct secrets *secrets)
{
    if (!server_name_read(name, url))
        return complain(url, "a region is redis://[user[:password]@]host[:port], or rediss:// with TLS");
    if (name->path_size > 0)
        return complain(url,
                        "a region is redis://[user[:password]@]host[:port] or rediss://, without a path behind it");
    return secrets_complete(secrets, name) || complain(name->host, "no memory");
}

static bool begin(struct deployment *deployment, struct server_name *name, const struct connection_options *options)
{
    struct node_owner *owner = &deployment->owner;
    deployment->waiting_end = &deployment->waiting;
    owner->needs = options && options->needs ? options->needs : NEEDED_COMMAND;
    owner->needs_bytes = format_texts(&owner->needs_size, owner->needs, (char *)NULL);
    deployment->random = options ? options->seed : 0;
    deployment->name = host_and_port(name->host, name->port);
    deployment->nodes = node_new(owner, name->host, name->port, NULL);
    if (!access_open(&owner->access, deployment->loop, name, options))
        return false;
    owner->access.lookup_timeout = LOOKUP_TIMEOUT;
    update_soon(deployment);
    return (owner->needs_bytes && deployment->name && deployment->nodes && deployment->update) ||
           complain_plainly("no memory");
}

struct deployment *deployment_open_named(struct event_loop *loop, struct server_name *name,
                                         const struct connection_options *options,
                                         const struct deployment_events *events)
{
    struct deployment *deployment = calloc(1, sizeof *deployment);
    if (deployment) {
        *deployment = (struct deployment){.loop = loop,
                                          .events = *events,
                                          .check_at = NEVER,
                                          .owner = {.deployment = deployment,
                                                    .slots_reported = slots_reported,
                                                    .role_reported = role_reported,
                                                    .changed = changed}};
        if (!begin(deployment, name, options)) {
            deployment_free(deployment);
            deployment = NULL;
        }
    }
    server_name_release(name);
    return deployment;
}

struct deployment *deployment_open(struct event_loop *loop, const char *url, const struct secrets *secrets,
                                   const struct connection_options *options, const struct deployment_events *events)
{
    struct server_name name = {0};
    if (read_url(&name, url, secrets))
        return deployment_open_named(loop, &name, options, events);
    server_name_release(&name);
    return NULL;
}

const char *deployment_name(const struct deployment *deployment)
{
    return deployment->name;
}

bool deployment_is_cluster(const struct deployment *deployment)
{
    return deployment->cluster;
}

uint64_t deployment_sent(const struct deployment *deployment)
{
    return deployment->owner.access.sent;
}

uint64_t deployment_received(const struct deployment *deployment)
{
    return deployment->owner.access.received;
}
