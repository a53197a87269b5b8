/*
 * As much of HTTP/1.0 as a scraper needs, on libevent's listener and buffered streams: a request is read up to its
 * empty line, answered, and the connection is closed. It listens on the loopback address alone.
 *
 *     GET /metrics   200 and the metrics;   another path 404;   another method 405;   no request 400
 *
 * A client may send anything. The size of a request, the time of a connection and the number of connections are
 * limited; nothing that a client does makes the link wait. When all places are taken, the oldest client is closed in
 * favour of the new one: a scraper sends its request with the connection and has its answer at once, so a client that
 * is still connected after sixteen others have come is not a scraper. When the process has no descriptor left for a new
 * client, all clients are closed.
 *
 * libevent's own HTTP server (evhttp of 2.1) has no such limits and no way to add them: see docs/design.md.
 */
#include "metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/messages.h"
#include "report.h"

#define MOST_CLIENTS    16
#define LONGEST_REQUEST 4096
#define BACKLOG         128
#define TIMEOUT         5000 /* milliseconds */
#define PAUSE           1000

struct client {
    struct bufferevent *stream; /* NULL: a free place */
    struct timer *timeout;
    uint64_t number; /* in the order of arrival */
    struct engine *engine;
};

struct metrics {
    struct engine *engine;
    struct evconnlistener *listener;
    struct timer *pause;
    uint64_t accepted;
    struct client clients[MOST_CLIENTS];
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

static void close_client(struct client *client)
{
    timer_remove(client->timeout);
    if (client->stream)
        bufferevent_free(client->stream);
    *client = (struct client){0};
}

static void timed_out(void *context)
{
    struct client *client = context;
    client->timeout = NULL;
    close_client(client);
}

static void ended(struct bufferevent *stream, short what, void *context)
{
    (void)stream, (void)what;
    close_client(context);
}

static void written(struct bufferevent *stream, void *context)
{
    (void)stream;
    close_client(context);
}

static const char *status_of(const char *request)
{
    static const char *const methods[] = {"POST ", "PUT ", "HEAD "};
    if (strncmp(request, "GET /metrics ", 13) == 0 || strncmp(request, "GET /metrics\r", 13) == 0 ||
        strncmp(request, "GET / ", 6) == 0)
        return "200 OK";
    if (strncmp(request, "GET ", 4) == 0)
        return "404 Not Found";
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strncmp(request, methods[i], strlen(methods[i])) == 0)
            return "405 Method Not Allowed";
    return "400 Bad Request";
}

static void answer(struct client *client)
{
    char request[16] = {0};
    struct evbuffer *output = bufferevent_get_output(client->stream), *body = evbuffer_new();
    evbuffer_copyout(bufferevent_get_input(client->stream), request, sizeof request - 1);
    const char *status = status_of(request);
    if (!body) {
        close_client(client);
        return;
    }
    if (strncmp(status, "200", 3) == 0)
        append_all(body, client->engine);
    else
        evbuffer_add_printf(body, "%s\n", status);
    evbuffer_add_printf(output,
                        "HTTP/1.0 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                        "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                        status, evbuffer_get_length(body));
    evbuffer_add_buffer(output, body);
    evbuffer_free(body);
    bufferevent_disable(client->stream, EV_READ);
    bufferevent_setcb(client->stream, NULL, written, ended, client);
}

/* A request that is too long is answered as it is. */
static void readable(struct bufferevent *stream, void *context)
{
    struct evbuffer *input = bufferevent_get_input(stream);
    if (evbuffer_get_length(input) >= LONGEST_REQUEST || evbuffer_search(input, "\r\n\r\n", 4, NULL).pos >= 0 ||
        evbuffer_search(input, "\n\n", 2, NULL).pos >= 0)
        answer(context);
}

/* A free place, or that of the oldest client. */
static struct client *place_of_next(struct metrics *metrics)
{
    struct client *oldest = metrics->clients;
    for (struct client *client = oldest; client < metrics->clients + MOST_CLIENTS; client++) {
        if (!client->stream)
            return client;
        oldest = client->number < oldest->number ? client : oldest;
    }
    return oldest;
}

static void accepted(struct evconnlistener *listener, evutil_socket_t descriptor, struct sockaddr *address, int size,
                     void *context)
{
    struct metrics *metrics = context;
    struct client *client = place_of_next(metrics);
    (void)address, (void)size;
    close_client(client);
    client->number = ++metrics->accepted;
    client->engine = metrics->engine;
    client->stream = bufferevent_socket_new(evconnlistener_get_base(listener), descriptor, BEV_OPT_CLOSE_ON_FREE);
    if (!client->stream) {
        evutil_closesocket(descriptor);
        return;
    }
    bufferevent_setcb(client->stream, readable, NULL, ended, client);
    client->timeout = timer_add(metrics->engine->loop, TIMEOUT, timed_out, client);
    if (!client->timeout || bufferevent_enable(client->stream, EV_READ | EV_WRITE) != 0)
        close_client(client);
}

static void listen_again(void *context)
{
    struct metrics *metrics = context;
    metrics->pause = NULL;
    evconnlistener_enable(metrics->listener);
}

/* There is no descriptor for a new client: all others are closed; if there are none, we try again later. */
static void accept_failed(struct evconnlistener *listener, void *context)
{
    struct metrics *metrics = context;
    bool any = false;
    for (size_t i = 0; i < MOST_CLIENTS; i++) {
        any |= metrics->clients[i].stream != NULL;
        close_client(&metrics->clients[i]);
    }
    if (any || metrics->pause)
        return;
    metrics->pause = timer_add(metrics->engine->loop, PAUSE, listen_again, metrics);
    if (metrics->pause)
        evconnlistener_disable(listener);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

struct metrics *metrics_open(struct engine *engine, uint16_t port)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (!metrics) {
        complain_plainly("no memory");
        return NULL;
    }
    metrics->engine = engine;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    metrics->listener = evconnlistener_new_bind(event_loop_base(engine->loop), accepted, metrics,
                                                LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
                                                BACKLOG, (struct sockaddr *)&address, sizeof address);
    if (metrics->listener) {
        evconnlistener_set_error_cb(metrics->listener, accept_failed);
        return metrics;
    }
    complain("--metrics", "cannot listen on port %u of 127.0.0.1: %s", port, strerror(errno));
    metrics_close(metrics);
    return NULL;
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < MOST_CLIENTS; i++)
        close_client(&metrics->clients[i]);
    timer_remove(metrics->pause);
    if (metrics->listener)
        evconnlistener_free(metrics->listener);
    free(metrics);
}
