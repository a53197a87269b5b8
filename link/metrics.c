/*
 * As little of HTTP/1.0 as a scraper needs: a request is read up to its empty line, answered whole, and the connection
 * is closed. It listens on loopback alone. Whoever connects may send anything: a request has a limit, so has the number
 * of those who are connected, and who takes longer than some seconds is cut off. Nothing that a client does makes the
 * link wait.
 *
 * Nor does it shut out others. When all places are taken, the visitor who has been here longest leaves for the one who
 * comes: a scraper sends its request with the connection and has its answer at once, so whoever is still here when
 * sixteen others have come after him is none. The same where the process has no descriptor left for another visitor.
 *
 *     GET /metrics   200 and the figures;   another path 404;   another method 405;   no request 400
 */
#define _GNU_SOURCE
#include "metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/base/byte_buffer.h"
#include "report.h"
#include "cli/base/messages.h"

#define MOST_VISITORS   16
#define LONGEST_REQUEST 4096
#define WAITING_ROOM    128  /* those who are not let in yet */
#define PATIENCE        5000 /* milliseconds */
#define PAUSE           1000

struct visitor {
    struct metrics *metrics;
    int descriptor; /* -1: nobody */
    struct watch *watch;
    struct timer *timeout;
    uint64_t number; /* of those who came */
    size_t read, written;
    char request[LONGEST_REQUEST + 1];
    struct byte_buffer answer;
};

struct metrics {
    struct engine *engine;
    int descriptor;
    struct watch *watch;
    struct timer *pause;
    uint64_t came;
    struct visitor visitors[MOST_VISITORS];
};

/* ---- the figures ------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void append_text(struct byte_buffer *to, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    int size = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    append_bytes(to, text, size < (int)sizeof text ? (size_t)size : sizeof text - 1);
}

static void append_head(struct byte_buffer *to, const char *name, const char *type, const char *help)
{
    append_text(to, "# HELP roost_link_%s %s\n# TYPE roost_link_%s %s\n", name, help, name, type);
}

static void append_figure(struct byte_buffer *to, const char *name, const char *type, const char *help, double value)
{
    append_head(to, name, type, help);
    append_text(to, "roost_link_%s %.15g\n", name, value);
}

/* One for each peer; what it is for one is asked of `figure`. */
static void append_figures(struct byte_buffer *to, struct engine *engine, const char *name, const char *type,
                           const char *help, uint64_t (*figure)(const struct region *region))
{
    append_head(to, name, type, help);
    for (unsigned i = 0; i < engine->count; i++)
        append_text(to, "roost_link_%s{peer=\"%s\"} %llu\n", name, deployment_name(engine->regions[i].deployment),
                    (unsigned long long)figure(&engine->regions[i]));
}

static uint64_t figure_up(const struct region *region)
{
    return region->ready;
}

static uint64_t figure_outdated(const struct region *region)
{
    return region->outdated;
}

static uint64_t figure_sent(const struct region *region)
{
    return deployment_sent(region->deployment);
}

static uint64_t figure_received(const struct region *region)
{
    return deployment_received(region->deployment);
}

static uint64_t figure_merges(const struct region *region)
{
    return region->counters.merges;
}

static uint64_t figure_seeds(const struct region *region)
{
    return region->counters.seeds;
}

static uint64_t figure_deletions(const struct region *region)
{
    return region->counters.deletions;
}

static uint64_t figure_syncs(const struct region *region)
{
    return region->counters.syncs;
}

static uint64_t figure_errors(const struct region *region)
{
    return region->counters.errors;
}

static uint64_t figure_out_of_memory(const struct region *region)
{
    return region->counters.out_of_memory;
}

static void append_peers(struct byte_buffer *to, struct engine *engine)
{
    append_figures(to, engine, "up", "gauge", "Whether the peer can be asked.", figure_up);
    append_figures(to, engine, "outdated", "gauge",
                   "Whether the peer has missed deletions that others no longer know: it is not merged.",
                   figure_outdated);
    append_figures(to, engine, "bytes_sent_total", "counter", "Bytes sent to the peer.", figure_sent);
    append_figures(to, engine, "bytes_received_total", "counter", "Bytes received from the peer.", figure_received);
    append_figures(to, engine, "merges_total", "counter", "Deltas that brought the peer something new.", figure_merges);
    append_figures(to, engine, "seeds_total", "counter", "Keys that the peer lacked and was given whole.",
                   figure_seeds);
    append_figures(to, engine, "deletions_total", "counter", "Keys deleted at the peer.", figure_deletions);
    append_figures(to, engine, "syncs_total", "counter", "Keys compared piece by piece with the peer.", figure_syncs);
    append_figures(to, engine, "errors_total", "counter", "Commands that the peer refused.", figure_errors);
    append_figures(to, engine, "out_of_memory_total", "counter", "Commands that the peer refused for want of memory.",
                   figure_out_of_memory);
}

static void append_peer(struct byte_buffer *to, const struct engine *engine, unsigned peer, const char *name,
                        double value)
{
    append_text(to, "roost_link_%s{peer=\"%s\"} %.15g\n", name, deployment_name(engine->regions[peer].deployment),
                value);
}

static void append_status(struct byte_buffer *to, const struct engine *engine, const struct status *status)
{
    append_head(to, "lag_seconds", "gauge",
                "Age of the oldest change that may not have arrived at the peer, or not be known of it.");
    for (unsigned i = 0; i < engine->count; i++)
        append_peer(to, engine, i, "lag_seconds", (double)status->peers[i].lag / 1000);
    append_head(to, "keys_behind", "gauge", "Keys of which the peer lacks something that another one has.");
    for (unsigned i = 0; i < engine->count; i++)
        append_peer(to, engine, i, "keys_behind", (double)status->peers[i].behind);
    append_head(to, "keys_withheld", "gauge", "Keys that the peer evicted or has no memory for.");
    for (unsigned i = 0; i < engine->count; i++)
        append_peer(to, engine, i, "keys_withheld", (double)status->peers[i].withheld);
}

static void append_all(struct byte_buffer *to, struct engine *engine)
{
    struct status status;
    report_status(engine, &status);
    append_figure(to, "keys", "gauge", "Keys that some peer holds.", (double)status.keys);
    append_figure(to, "keys_in_conflict", "gauge", "Keys that some peer refuses.", (double)status.conflicts);
    append_status(to, engine, &status);
    append_peers(to, engine);
}

/* ---- visitors ---------------------------------------------------------------------------------------------------- */

static void dismiss(struct visitor *visitor)
{
    watch_remove(visitor->watch);
    timer_remove(visitor->timeout);
    if (visitor->descriptor >= 0)
        close(visitor->descriptor);
    byte_buffer_release(&visitor->answer);
    *visitor = (struct visitor){.metrics = visitor->metrics, .descriptor = -1};
}

static void too_slow(void *context)
{
    struct visitor *visitor = context;
    visitor->timeout = NULL;
    dismiss(visitor);
}

static const char *status_of(const char *request)
{
    if (strncmp(request, "GET /metrics ", 13) == 0 || strncmp(request, "GET /metrics\r", 13) == 0 ||
        strncmp(request, "GET / ", 6) == 0)
        return "200 OK";
    return strncmp(request, "GET ", 4) == 0 ? "404 Not Found"
           : strncmp(request, "POST ", 5) == 0 || strncmp(request, "PUT ", 4) == 0 || strncmp(request, "HEAD ", 5) == 0
               ? "405 Method Not Allowed"
               : "400 Bad Request";
}

static void prepare_answer(struct visitor *visitor)
{
    struct byte_buffer counters = {0};
    const char *status = status_of(visitor->request);
    if (strncmp(status, "200", 3) == 0)
        append_all(&counters, visitor->metrics->engine);
    else
        append_text(&counters, "%s\n", status);
    append_text(&visitor->answer,
                "HTTP/1.0 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: "
                "%zu\r\nConnection: close\r\n\r\n",
                status, counters.size);
    append_bytes(&visitor->answer, counters.data, counters.size);
    byte_buffer_release(&counters);
}

static bool is_passing(ssize_t size)
{
    return size < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Whether the request is whole; one that is too long is as whole as it gets. */
static bool read_request(struct visitor *visitor, bool *gone)
{
    ssize_t size = recv(visitor->descriptor, visitor->request + visitor->read, LONGEST_REQUEST - visitor->read, 0);
    *gone = size == 0 || (size < 0 && !is_passing(size));
    visitor->read += size > 0 ? (size_t)size : 0;
    visitor->request[visitor->read] = '\0';
    return strstr(visitor->request, "\r\n\r\n") || strstr(visitor->request, "\n\n") || visitor->read == LONGEST_REQUEST;
}

static void write_answer(struct visitor *visitor)
{
    ssize_t size = send(visitor->descriptor, visitor->answer.data + visitor->written,
                        visitor->answer.size - visitor->written, MSG_NOSIGNAL);
    visitor->written += size > 0 ? (size_t)size : 0;
    if (!is_passing(size) && (size < 0 || visitor->written == visitor->answer.size))
        dismiss(visitor);
}

static void visitor_ready(void *context, unsigned events)
{
    struct visitor *visitor = context;
    bool gone = false;
    (void)events;
    if (visitor->answer.size == 0) {
        bool whole = read_request(visitor, &gone);
        if (gone)
            dismiss(visitor);
        if (gone || !whole)
            return;
        prepare_answer(visitor);
        if (visitor->answer.failed) {
            dismiss(visitor);
            return;
        }
        watch_change(visitor->watch, WRITABLE);
    }
    write_answer(visitor);
}

/* A place that is free, or that of the visitor who has been here longest. */
static struct visitor *place_of_next(struct metrics *metrics)
{
    struct visitor *oldest = &metrics->visitors[0];
    for (size_t i = 0; i < MOST_VISITORS; i++) {
        struct visitor *visitor = &metrics->visitors[i];
        if (visitor->descriptor < 0)
            return visitor;
        if (visitor->number < oldest->number)
            oldest = visitor;
    }
    return oldest;
}

static void let_in(struct metrics *metrics, int descriptor)
{
    struct event_loop *loop = metrics->engine->loop;
    struct visitor *visitor = place_of_next(metrics);
    dismiss(visitor);
    visitor->descriptor = descriptor;
    visitor->number = ++metrics->came;
    visitor->watch = watch_add(loop, descriptor, READABLE, visitor_ready, visitor);
    visitor->timeout = timer_add(loop, PATIENCE, too_slow, visitor);
    if (visitor->watch && visitor->timeout)
        visitor_ready(visitor, READABLE);
    else
        dismiss(visitor);
}

static void look_again(void *context)
{
    struct metrics *metrics = context;
    metrics->pause = NULL;
    watch_change(metrics->watch, READABLE);
}

/* There is no descriptor for the visitor at the door: all leave; if there is none, we look again later. */
static void make_room(struct metrics *metrics)
{
    bool any = false;
    for (size_t i = 0; i < MOST_VISITORS; i++) {
        any |= metrics->visitors[i].descriptor >= 0;
        dismiss(&metrics->visitors[i]);
    }
    if (any || metrics->pause)
        return;
    metrics->pause = timer_add(metrics->engine->loop, PAUSE, look_again, metrics);
    if (metrics->pause)
        watch_change(metrics->watch, 0);
}

static void welcome(void *context, unsigned events)
{
    struct metrics *metrics = context;
    (void)events;
    int descriptor = accept4(metrics->descriptor, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0)
        let_in(metrics, descriptor);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        make_room(metrics);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int listen_on(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (descriptor < 0)
        return -1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0 && listen(descriptor, WAITING_ROOM) == 0)
        return descriptor;
    int reason = errno;
    close(descriptor);
    errno = reason;
    return -1;
}

struct metrics *metrics_open(struct engine *engine, uint16_t port)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics) {
        complain_plainly("no memory");
        return NULL;
    }
    metrics->engine = engine;
    metrics->descriptor = listen_on(port);
    for (size_t i = 0; i < MOST_VISITORS; i++)
        metrics->visitors[i] = (struct visitor){.metrics = metrics, .descriptor = -1};
    if (metrics->descriptor < 0)
        complain("--metrics", "port %u of 127.0.0.1: %s", port, strerror(errno));
    else
        metrics->watch = watch_add(engine->loop, metrics->descriptor, READABLE, welcome, metrics);
    if (metrics->watch)
        return metrics;
    metrics_close(metrics);
    return NULL;
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < MOST_VISITORS; i++)
        dismiss(&metrics->visitors[i]);
    timer_remove(metrics->pause);
    watch_remove(metrics->watch);
    if (metrics->descriptor >= 0)
        close(metrics->descriptor);
    free(metrics);
}
