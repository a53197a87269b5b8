/*
 * The page is served by libevent's HTTP server, on the loopback address alone, one answer a connection:
 *
 *     GET /metrics   200 and the metrics;   another path 404;   another method 405 or 501;   no request 400
 *
 * A client may send anything. A request has a size limit, and a client that is silent for some seconds is cut off. What
 * libevent 2.1 does not have is a limit on the number of clients, so there is one here: when all places are taken, the
 * oldest client is cut off in favour of the new one. A scraper sends its request with the connection and has its answer
 * at once, so a client that is still connected after sixteen others have come is not a scraper. When the process has no
 * descriptor left for a new client, all clients are cut off.
 */
#include "metrics.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/base/messages.h"
#include "report.h"

#define MOST_CLIENTS    16
#define LONGEST_REQUEST 4096
#define TIMEOUT         5    /* seconds of silence */
#define PAUSE           1000 /* milliseconds */

struct metrics {
    struct engine *engine;
    struct evhttp *server;
    struct evconnlistener *listener;
    struct timer *pause;
    struct bufferevent *clients[MOST_CLIENTS]; /* a ring; a closed one has no descriptor */
    unsigned next;
};

/* ---- the metrics ------------------------------------------------------------------------------------------------- */

static void append_head(struct evbuffer *to, const char *name, const char *type, const char *help)
{
    evbuffer_add_printf(to, "# HELP roost_link_%s %s\n# TYPE roost_link_%s %s\n", name, help, name, type);
}

static void append_metric(struct evbuffer *to, const char *name, const char *type, const char *help, double value)
{
    append_head(to, name, type, help);
    evbuffer_add_printf(to, "roost_link_%s %.15g\n", name, value);
}

/* One sample for each peer. */
static void append_for_peers(struct evbuffer *to, struct engine *engine, const char *name, const char *type,
                             const char *help, uint64_t (*metric)(const struct region *region))
{
    append_head(to, name, type, help);
    for (unsigned i = 0; i < engine->count; i++)
        evbuffer_add_printf(to, "roost_link_%s{peer=\"%s\"} %llu\n", name,
                            deployment_name(engine->regions[i].deployment),
                            (unsigned long long)metric(&engine->regions[i]));
}

static uint64_t metric_up(const struct region *region)
{
    return region->ready;
}

static uint64_t metric_outdated(const struct region *region)
{
    return region->outdated;
}

static uint64_t metric_sent(const struct region *region)
{
    return deployment_sent(region->deployment);
}

static uint64_t metric_received(const struct region *region)
{
    return deployment_received(region->deployment);
}

static uint64_t metric_merges(const struct region *region)
{
    return region->counters.merges;
}

static uint64_t metric_seeds(const struct region *region)
{
    return region->counters.seeds;
}

static uint64_t metric_deletions(const struct region *region)
{
    return region->counters.deletions;
}

static uint64_t metric_syncs(const struct region *region)
{
    return region->counters.syncs;
}

static uint64_t metric_errors(const struct region *region)
{
    return region->counters.errors;
}

static uint64_t metric_out_of_memory(const struct region *region)
{
    return region->counters.out_of_memory;
}

static void append_peers(struct evbuffer *to, struct engine *engine)
{
    append_for_peers(to, engine, "up", "gauge", "Whether the peer is up and has been listed.", metric_up);
    append_for_peers(to, engine, "outdated", "gauge",
                     "Whether the peer missed deletions whose tombstones others have dropped: it is not merged.",
                     metric_outdated);
    append_for_peers(to, engine, "bytes_sent_total", "counter", "Bytes sent to the peer.", metric_sent);
    append_for_peers(to, engine, "bytes_received_total", "counter", "Bytes received from the peer.", metric_received);
    append_for_peers(to, engine, "merges_total", "counter", "Deltas with changes that the peer did not have.",
                     metric_merges);
    append_for_peers(to, engine, "seeds_total", "counter", "Keys sent whole because the peer lacked them.",
                     metric_seeds);
    append_for_peers(to, engine, "deletions_total", "counter", "Keys deleted at the peer.", metric_deletions);
    append_for_peers(to, engine, "syncs_total", "counter", "Keys synced with the peer.", metric_syncs);
    append_for_peers(to, engine, "errors_total", "counter", "Commands that the peer refused.", metric_errors);
    append_for_peers(to, engine, "out_of_memory_total", "counter", "Commands that the peer refused for lack of memory.",
                     metric_out_of_memory);
}

static void append_peer(struct evbuffer *to, const struct engine *engine, unsigned peer, const char *name, double value)
{
    evbuffer_add_printf(to, "roost_link_%s{peer=\"%s\"} %.15g\n", name,
                        deployment_name(engine->regions[peer].deployment), value);
}

static void append_status(struct evbuffer *to, const struct engine *engine, const struct status *status)
{
    append_head(to, "lag_seconds", "gauge",
                "Age of the oldest change that may not have arrived at the peer, or may not have been reported by it.");
    for (unsigned i = 0; i < engine->count; i++)
        append_peer(to, engine, i, "lag_seconds", (double)status->peers[i].lag / 1000);
    append_head(to, "keys_behind", "gauge", "Keys of which the peer lacks changes that another peer has.");
    for (unsigned i = 0; i < engine->count; i++)
        append_peer(to, engine, i, "keys_behind", (double)status->peers[i].behind);
    append_head(to, "keys_withheld", "gauge", "Keys that the peer evicted or has no memory for.");
    for (unsigned i = 0; i < engine->count; i++)
        append_peer(to, engine, i, "keys_withheld", (double)status->peers[i].withheld);
}

static void append_all(struct evbuffer *to, struct engine *engine)
{
    struct status status;
    report_status(engine, &status);
    append_metric(to, "keys", "gauge", "Keys that some peer holds.", (double)status.keys);
    append_metric(to, "keys_in_conflict", "gauge", "Keys that some peer refuses.", (double)status.conflicts);
    append_status(to, engine, &status);
    append_peers(to, engine);
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

static void cut_off(struct bufferevent **client)
{
    if (!*client)
        return;
    if (bufferevent_getfd(*client) >= 0)
        shutdown(bufferevent_getfd(*client), SHUT_RDWR);
    bufferevent_decref(*client);
    *client = NULL;
}

/* Called by libevent for each new client; the oldest one is cut off. */
static struct bufferevent *new_client(struct event_base *base, void *context)
{
    struct metrics *metrics = context;
    struct bufferevent **client = &metrics->clients[metrics->next++ % MOST_CLIENTS];
    cut_off(client);
    *client = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (*client)
        bufferevent_incref(*client);
    return *client;
}

static void listen_again(void *context)
{
    struct metrics *metrics = context;
    metrics->pause = NULL;
    evconnlistener_enable(metrics->listener);
}

/* There is no descriptor for a new client. */
static void accept_failed(struct evconnlistener *listener, void *context)
{
    struct metrics *metrics = context;
    for (unsigned i = 0; i < MOST_CLIENTS; i++)
        cut_off(&metrics->clients[i]);
    if (!metrics->pause)
        metrics->pause = timer_add(metrics->engine->loop, PAUSE, listen_again, metrics);
    if (metrics->pause)
        evconnlistener_disable(listener);
}

static void answer(struct evhttp_request *request, void *context)
{
    struct metrics *metrics = context;
    const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Connection", "close");
    if (evhttp_request_get_command(request) != EVHTTP_REQ_GET) {
        evhttp_send_error(request, HTTP_BADMETHOD, NULL);
    } else if (!path || (strcmp(path, "/metrics") != 0 && strcmp(path, "/") != 0)) {
        evhttp_send_error(request, HTTP_NOTFOUND, NULL);
    } else {
        evhttp_add_header(headers, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
        append_all(evhttp_request_get_output_buffer(request), metrics->engine);
        evhttp_send_reply(request, HTTP_OK, "OK", NULL);
    }
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool serve(struct metrics *metrics, uint16_t port)
{
    metrics->server = evhttp_new(event_loop_base(metrics->engine->loop));
    if (!metrics->server)
        return complain_plainly("no memory");
    evhttp_set_max_headers_size(metrics->server, LONGEST_REQUEST);
    evhttp_set_max_body_size(metrics->server, LONGEST_REQUEST);
    evhttp_set_timeout(metrics->server, TIMEOUT);
    evhttp_set_bevcb(metrics->server, new_client, metrics);
    evhttp_set_gencb(metrics->server, answer, metrics);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(metrics->server, "127.0.0.1", port);
    if (!bound)
        return complain("--metrics", "cannot listen on port %u of 127.0.0.1: %s", port, strerror(errno));
    metrics->listener = evhttp_bound_socket_get_listener(bound);
    evconnlistener_set_error_cb(metrics->listener, accept_failed);
    return true;
}

struct metrics *metrics_open(struct engine *engine, uint16_t port)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics) {
        complain_plainly("no memory");
        return NULL;
    }
    metrics->engine = engine;
    if (serve(metrics, port))
        return metrics;
    metrics_close(metrics);
    return NULL;
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics)
        return;
    timer_remove(metrics->pause);
    for (unsigned i = 0; i < MOST_CLIENTS; i++)
        cut_off(&metrics->clients[i]);
    if (metrics->server)
        evhttp_free(metrics->server);
    free(metrics);
}
