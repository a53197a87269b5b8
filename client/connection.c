/*
 * hiredis formats commands and parses replies. The transport is ours, so that it can be TLS and never blocks:
 *
 *     look up -> connect (each address in turn) -> TLS handshake -> AUTH -> commands
 *
 * Commands wait in a queue until they are written, and in a second one until they are answered; any number may be under
 * way. Two kinds hold back what follows until they are answered: AUTH, so that nothing is done as another user, and
 * SELECT, so that nothing is done in the wrong database. To need few of these, commands for the selected database go
 * first, then one SELECT, then those for the next database. Commands for the same database keep their order.
 *
 * A connection fails for good: no connection within 5 s; no progress for 30 s while a reply is due (longer for commands
 * that wait for an event); a reply that takes ten minutes to arrive, or exceeds the limits of reply_reader.c; a reply
 * without a command. Callbacks may do anything, closing the connection included: its memory is freed when the outermost
 * of its own functions returns (`busy`).
 *
 * docs/design.md says why this is not libevent's bufferevents.
 */
#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/base/byte_buffer.h"
#include "cli/base/messages.h"
#include "event_loop.h"
#include "reply_reader.h"
#include "resolver.h"
#include "tls.h"

/* milliseconds */
#define LOOKUP_TIMEOUT  30000
#define CONNECT_TIMEOUT 5000
#define ANSWER_TIMEOUT  30000
#define WAITING_TIMEOUT 120000
#define REPLY_TIMEOUT   600000
#define KEEPALIVE_AFTER 15 /* seconds */

#define READ_CHUNK    (64 << 10)
#define READS_AT_ONCE 16
#define WRITTEN_AHEAD ((size_t)1 << 20) /* bytes; further commands stay in the queue */
#define ERROR_ROOM    400

struct pending {
    struct pending *next;
    struct formatted command;
    char *own_bytes; /* of the connection's own commands */
    bool holds;      /* holds back what follows until it is answered */
    answered *answer;
    void *context;
};

struct queue {
    struct pending *first, **end;
};

enum state { RESOLVING, CONNECTING, HANDSHAKING, OPEN, FAILED };

struct connection {
    struct access *access;
    enum state state;
    char *host;
    struct lookup *lookup;
    const struct addrinfo *address; /* the one that is being tried */
    int descriptor, database, port;
    struct watch *watch;
    struct timer *deadline;
    uint64_t alive_at, reply_began_at; /* reply_began_at: 0 between replies */
    struct tls *tls;
    struct reply_reader *reader;
    struct byte_buffer out;
    size_t written; /* of `out` */
    struct queue unsent, sent;
    bool held, wants_room, closed_by_owner;
    unsigned busy;
    void (*closed)(void *context, const char *error);
    void *context;
    char error[ERROR_ROOM];
};

/* ---- shared by connections --------------------------------------------------------------------------------------- */

bool access_open(struct access *access, struct event_loop *loop, struct server_name *name,
                 const struct connection_options *options)
{
    static const struct connection_options usual;
    options = options ? options : &usual;
    *access = (struct access){.loop = loop,
                              .name = *name,
                              .resolver = resolver_new(loop),
                              .timeout = options->timeout ? options->timeout : ANSWER_TIMEOUT,
                              .lookup_timeout = LOOKUP_TIMEOUT};
    *name = (struct server_name){0};
    signal(SIGPIPE, SIG_IGN); /* a write to a closed connection then returns an error */
    if (!access->resolver)
        return complain(access->name.host, "%s", strerror(errno));
    if (access->name.tls)
        access->tls_context = tls_context_new(options, access->name.host);
    return !access->name.tls || access->tls_context;
}

void access_release(struct access *access)
{
    server_name_release(&access->name);
    tls_context_free(access->tls_context);
    resolver_free(access->resolver);
    access->tls_context = NULL;
    access->resolver = NULL;
}

/* ---- queues ------------------------------------------------------------------------------------------------------ */

static void queue_begin(struct queue *queue)
{
    queue->first = NULL;
    queue->end = &queue->first;
}

static void queue_put(struct queue *queue, struct pending *pending)
{
    pending->next = NULL;
    *queue->end = pending;
    queue->end = &pending->next;
}

/* Removes the element that `link` points to. */
static struct pending *queue_take(struct queue *queue, struct pending **link)
{
    struct pending *pending = *link;
    *link = pending->next;
    if (!pending->next)
        queue->end = link;
    return pending;
}

static void pending_free(struct pending *pending)
{
    if (pending->own_bytes)
        explicit_bzero(pending->own_bytes, pending->command.size);
    free(pending->own_bytes);
    free(pending);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void answer_all(struct queue *queue, const char *error)
{
    while (queue->first) {
        struct pending *pending = queue_take(queue, &queue->first);
        if (pending->answer)
            pending->answer(pending->context, NULL, error);
        pending_free(pending);
    }
}

static void shut(struct connection *connection)
{
    watch_remove(connection->watch);
    timer_remove(connection->deadline);
    tls_free(connection->tls);
    if (connection->descriptor >= 0)
        close(connection->descriptor);
    connection->watch = NULL;
    connection->deadline = NULL;
    connection->tls = NULL;
    connection->descriptor = -1;
}

static void connection_free(struct connection *connection)
{
    shut(connection);
    lookup_end(connection->lookup);
    reply_reader_free(connection->reader);
    byte_buffer_release(&connection->out);
    free(connection->host);
    free(connection);
}

static void end(struct connection *connection)
{
    shut(connection);
    lookup_end(connection->lookup);
    connection->lookup = NULL;
    answer_all(&connection->sent, connection->error);
    answer_all(&connection->unsent, connection->error);
}

/* Every function that the loop calls is between these two. Once the owner has closed the connection, nothing that
   belongs to the owner is used any more. */
static void enter(struct connection *connection)
{
    connection->busy++;
}

static void leave(struct connection *connection)
{
    if (--connection->busy > 0 || connection->state != FAILED)
        return;
    connection->busy++;
    end(connection);
    if (!connection->closed_by_owner)
        connection->closed(connection->context, connection->error);
    connection_free(connection);
}

/* The connection ends when all of its functions have returned. The first error is the one that is reported. */
static void fail(struct connection *connection, const char *format, ...)
{
    va_list values;
    if (connection->state == FAILED)
        return;
    connection->state = FAILED;
    va_start(values, format);
    vsnprintf(connection->error, sizeof connection->error, format, values);
    va_end(values);
}

bool connection_works(const struct connection *connection)
{
    return connection && connection->state != FAILED;
}

void connection_close(struct connection *connection)
{
    if (!connection)
        return;
    enter(connection);
    connection->closed_by_owner = true;
    fail(connection, "the connection was closed");
    end(connection);
    leave(connection);
}

/* ---- deadlines --------------------------------------------------------------------------------------------------- */

static void check_deadline(void *context);

static void set_deadline(struct connection *connection, uint64_t when)
{
    uint64_t now = event_loop_now(connection->access->loop);
    if (!connection->deadline)
        connection->deadline =
            timer_add(connection->access->loop, when > now ? when - now : 0, check_deadline, connection);
    if (!connection->deadline)
        fail(connection, "no memory");
}

static uint64_t timeout(const struct connection *connection)
{
    return connection->sent.first->command.waits ? WAITING_TIMEOUT : connection->access->timeout;
}

static void begin_connecting(struct connection *connection);

/* A name may have several addresses. */
static bool next_address(struct connection *connection)
{
    if (!connection->address->ai_next)
        return false;
    connection->address = connection->address->ai_next;
    return true;
}

static void check_deadline(void *context)
{
    struct connection *connection = context;
    uint64_t now = event_loop_now(connection->access->loop);
    connection->deadline = NULL;
    enter(connection);
    if (connection->state == RESOLVING) {
        fail(connection, NO_NAME_SERVER);
    } else if (connection->state == CONNECTING && next_address(connection)) {
        begin_connecting(connection);
    } else if (connection->state == HANDSHAKING) {
        fail(connection, "no answer to TLS within %d s; " PORT_FOR_TLS, CONNECT_TIMEOUT / 1000);
    } else if (connection->state != OPEN) {
        fail(connection, "no connection within %d s", CONNECT_TIMEOUT / 1000);
    } else if (connection->reply_began_at && now - connection->reply_began_at >= REPLY_TIMEOUT) {
        fail(connection, "its reply took more than %d s", REPLY_TIMEOUT / 1000);
    } else if (connection->sent.first && now - connection->alive_at >= timeout(connection)) {
        fail(connection, "no answer within %g s", (double)timeout(connection) / 1000);
    } else if (connection->sent.first) {
        set_deadline(connection, connection->alive_at + timeout(connection));
    }
    leave(connection);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void update_watch(struct connection *connection)
{
    bool room = connection->wants_room || connection->written < connection->out.size;
    if (connection->watch)
        watch_change(connection->watch, READABLE | (room ? WRITABLE : 0u));
}

static void queue_output(struct connection *connection, struct pending *pending)
{
    if (!connection->sent.first) {
        connection->alive_at = event_loop_now(connection->access->loop);
        set_deadline(connection, connection->alive_at + connection->access->timeout);
    }
    append_bytes(&connection->out, pending->command.bytes, pending->command.size);
    connection->held = connection->held || pending->holds;
    queue_put(&connection->sent, pending);
    if (connection->out.failed)
        fail(connection, "no memory");
}

static bool fits_database(const struct connection *connection, const struct pending *pending)
{
    return pending->command.database == ANY_DATABASE || pending->command.database == connection->database;
}

/* Sends a command of the connection itself before all others. Takes over the bytes. */
static void send_first(struct connection *connection, char *bytes, size_t size, answered *answer, bool holds)
{
    struct pending *pending = bytes ? calloc(1, sizeof *pending) : NULL;
    if (!pending) {
        free(bytes);
        fail(connection, "no memory");
        return;
    }
    *pending = (struct pending){.command = {bytes, size, ANY_DATABASE, false},
                                .own_bytes = bytes,
                                .holds = holds,
                                .answer = answer,
                                .context = connection};
    queue_output(connection, pending);
}

static void database_selected(void *context, const struct redisReply *reply, const char *error)
{
    struct connection *connection = context;
    connection->held = false;
    if (error || !connection->unsent.first)
        return;
    if (reply->type != REDIS_REPLY_ERROR) {
        connection->database = connection->unsent.first->command.database;
        return;
    }
    struct pending *pending = queue_take(&connection->unsent, &connection->unsent.first);
    if (pending->answer)
        pending->answer(pending->context, reply, NULL);
    pending_free(pending);
}

static void select_database(struct connection *connection, int database)
{
    char number[16];
    size_t size;
    snprintf(number, sizeof number, "%d", database);
    char *bytes = format_texts(&size, "SELECT", number, (char *)NULL);
    send_first(connection, bytes, size, database_selected, true);
}

/* Moves commands from the queue to the output buffer, as far as the limits allow. */
static void send_queued(struct connection *connection)
{
    struct pending **link = &connection->unsent.first;
    while (connection->state == OPEN && !connection->held && *link &&
           connection->out.size - connection->written < WRITTEN_AHEAD) {
        if (fits_database(connection, *link))
            queue_output(connection, queue_take(&connection->unsent, link));
        else
            link = &(*link)->next;
    }
    if (connection->state == OPEN && !connection->held && connection->unsent.first && !*link)
        select_database(connection, connection->unsent.first->command.database);
    update_watch(connection);
}

static ssize_t write_some(struct connection *connection)
{
    const uint8_t *bytes = connection->out.data + connection->written;
    size_t size = connection->out.size - connection->written;
    if (connection->tls)
        return tls_write(connection->tls, bytes, size);
    ssize_t written = send(connection->descriptor, bytes, size, MSG_NOSIGNAL);
    if (written > 0)
        connection->access->sent += (uint64_t)written;
    return written >= 0 ? written : errno == EAGAIN || errno == EINTR ? TRANSFER_AGAIN : TRANSFER_ERROR;
}

static void fail_transfer(struct connection *connection, ssize_t outcome)
{
    int error = errno;
    if (outcome == TRANSFER_END)
        fail(connection, "the server closed the connection");
    else
        fail(connection, "%s", connection->tls ? tls_error(connection->tls) : strerror(error));
}

static void drop_written(struct connection *connection)
{
    struct byte_buffer *out = &connection->out;
    if (connection->written < out->size && connection->written < WRITTEN_AHEAD)
        return;
    memmove(out->data, out->data + connection->written, out->size - connection->written);
    out->size -= connection->written;
    connection->written = 0;
}

static void write_out(struct connection *connection)
{
    while (connection->state == OPEN && connection->written < connection->out.size) {
        ssize_t written = write_some(connection);
        if (written <= 0 && written != TRANSFER_AGAIN)
            fail_transfer(connection, written);
        if (written <= 0)
            break;
        connection->written += (size_t)written;
        connection->alive_at = event_loop_now(connection->access->loop);
    }
    drop_written(connection);
    connection->wants_room = connection->out.size == 0 && connection->unsent.first && !connection->held;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void deliver_reply(struct connection *connection, struct redisReply *reply)
{
    if (!connection->sent.first) {
        fail(connection, "the server sent a reply that no command asked for");
        return;
    }
    struct pending *pending = queue_take(&connection->sent, &connection->sent.first);
    if (pending->answer)
        pending->answer(pending->context, reply, NULL);
    pending_free(pending);
}

static void take_replies(struct connection *connection)
{
    struct redisReply *reply = NULL;
    do {
        const char *error = reply_reader_next(connection->reader, &reply);
        if (error)
            fail(connection, "%s", error);
        if (!reply)
            break;
        connection->reply_began_at = 0;
        deliver_reply(connection, reply);
        freeReplyObject(reply);
    } while (connection->state == OPEN);
    if (!reply_reader_is_within(connection->reader))
        connection->reply_began_at = 0;
    else if (!connection->reply_began_at)
        connection->reply_began_at = connection->alive_at;
}

static ssize_t read_some(struct connection *connection, void *bytes, size_t room)
{
    if (connection->tls)
        return tls_read(connection->tls, bytes, room);
    ssize_t size = recv(connection->descriptor, bytes, room, 0);
    if (size > 0)
        connection->access->received += (uint64_t)size;
    return size >= 0 ? size : errno == EAGAIN || errno == EINTR ? TRANSFER_AGAIN : TRANSFER_ERROR;
}

static bool read_chunk(struct connection *connection)
{
    char chunk[READ_CHUNK];
    ssize_t size = read_some(connection, chunk, sizeof chunk);
    if (size <= 0) {
        if (size != TRANSFER_AGAIN)
            fail_transfer(connection, size);
        return false;
    }
    connection->alive_at = event_loop_now(connection->access->loop);
    const char *error = reply_reader_feed(connection->reader, chunk, (size_t)size);
    if (error)
        fail(connection, "%s", error);
    else
        take_replies(connection);
    return true;
}

/* Other connections have their turn after some chunks; but the socket does not signal bytes that TLS has buffered. */
static void read_in(struct connection *connection)
{
    for (int i = 0; connection->state == OPEN; i++) {
        if (i >= READS_AT_ONCE && !(connection->tls && tls_unread(connection->tls)))
            break;
        if (!read_chunk(connection))
            break;
    }
}

/* ---- logging in -------------------------------------------------------------------------------------------------- */

/* The reply to AUTH is not shown: it might contain the password. */
static void logged_in(void *context, const struct redisReply *reply, const char *error)
{
    struct connection *connection = context;
    connection->held = false;
    if (error || reply->type != REDIS_REPLY_ERROR || is_error(reply, "ERR AUTH <password> called without") ||
        is_error(reply, "ERR Client sent AUTH, but no password is set"))
        return;
    fail(connection, "%s",
         is_error(reply, "WRONGPASS") || is_error(reply, "ERR invalid password") ? "wrong user or password (WRONGPASS)"
         : is_error(reply, "LOADING")                                            ? "the server is loading its data"
                                      : "the server does not take a user and a password");
}

static void log_in(struct connection *connection)
{
    const struct server_name *name = &connection->access->name;
    roost_bytes words[3] = {{(const uint8_t *)"AUTH", 4}};
    size_t count = 1, size;
    if (!name->password)
        return;
    if (name->user)
        words[count++] = (roost_bytes){(const uint8_t *)name->user, name->user_size};
    words[count++] = (roost_bytes){(const uint8_t *)name->password, name->password_size};
    char *bytes = format_words((struct words){words, count}, &size);
    send_first(connection, bytes, size, logged_in, true);
}

static void established(struct connection *connection)
{
    size_t size;
    connection->state = OPEN;
    timer_remove(connection->deadline);
    connection->deadline = NULL;
    log_in(connection);
    char *bytes = format_texts(&size, "CLIENT", "SETNAME", "roost-link", (char *)NULL);
    send_first(connection, bytes, size, NULL, false);
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

static void continue_handshake(struct connection *connection)
{
    ssize_t outcome = tls_handshake(connection->tls);
    if (outcome == 1)
        established(connection);
    else if (outcome == TRANSFER_AGAIN)
        connection->wants_room = tls_wants_to_write(connection->tls);
    else
        fail_transfer(connection, outcome);
}

static void connected(struct connection *connection)
{
    int error = 0, on = 1;
    socklen_t size = sizeof error;
    if (getsockopt(connection->descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error && next_address(connection)) {
        begin_connecting(connection);
        return;
    }
    if (error) {
        fail(connection, "%s", strerror(error));
        return;
    }
    setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(connection->descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    int idle = KEEPALIVE_AFTER, lost_after = ANSWER_TIMEOUT;
    setsockopt(connection->descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(connection->descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_after, sizeof lost_after);
    connection->wants_room = false;
    if (!connection->access->tls_context) {
        established(connection);
        return;
    }
    connection->state = HANDSHAKING;
    connection->tls = tls_new(connection->access->tls_context, connection->descriptor, connection->host,
                              connection->access->name.host);
    if (connection->tls)
        continue_handshake(connection);
    else
        fail(connection, "no memory");
}

/* OpenSSL counts the bytes of TLS. */
static void count_bytes(struct connection *connection, uint64_t sent, uint64_t received)
{
    if (!connection->tls)
        return;
    connection->access->sent += tls_sent(connection->tls) - sent;
    connection->access->received += tls_received(connection->tls) - received;
}

static void ready(void *context, unsigned events)
{
    struct connection *connection = context;
    uint64_t sent = connection->tls ? tls_sent(connection->tls) : 0;
    uint64_t received = connection->tls ? tls_received(connection->tls) : 0;
    enter(connection);
    if (connection->state == CONNECTING)
        connected(connection);
    else if (connection->state == HANDSHAKING)
        continue_handshake(connection);
    if (connection->state == OPEN && events & READABLE)
        read_in(connection);
    if (connection->state == OPEN) {
        connection->wants_room = false;
        send_queued(connection);
        write_out(connection);
        update_watch(connection);
    } else if (connection->state == HANDSHAKING) {
        update_watch(connection);
    }
    count_bytes(connection, sent, received);
    leave(connection);
}

static void begin_connecting(struct connection *connection)
{
    int error = 0;
    do {
        const struct addrinfo *address = connection->address;
        shut(connection);
        connection->descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        bool begun =
            connection->descriptor >= 0 &&
            (connect(connection->descriptor, address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS);
        error = begun ? 0 : errno;
    } while (error && next_address(connection));
    if (error) {
        fail(connection, "%s", strerror(error));
        return;
    }
    connection->wants_room = true;
    connection->watch = watch_add(connection->access->loop, connection->descriptor, WRITABLE, ready, connection);
    if (!connection->watch)
        fail(connection, "%s", strerror(errno));
    set_deadline(connection, event_loop_now(connection->access->loop) + CONNECT_TIMEOUT);
}

static void looked_up(void *context, const struct addrinfo *addresses, const char *error)
{
    struct connection *connection = context;
    enter(connection);
    connection->state = CONNECTING;
    connection->address = addresses;
    if (addresses)
        begin_connecting(connection);
    else
        fail(connection, "%s", error);
    leave(connection);
}

/* Called from the loop, so that connection_open has returned before the connection can fail. */
static void begin(void *context)
{
    struct connection *connection = context;
    struct access *access = connection->access;
    connection->deadline = NULL;
    enter(connection);
    connection->lookup = lookup_begin(access->resolver, connection->host, connection->port, looked_up, connection);
    if (connection->lookup)
        set_deadline(connection, event_loop_now(access->loop) + access->lookup_timeout);
    else
        fail(connection, "no memory");
    leave(connection);
}

struct connection *connection_open(struct access *access, const char *host, int port,
                                   void (*closed)(void *context, const char *error), void *context)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    connection->access = access;
    connection->descriptor = -1;
    connection->port = port;
    connection->closed = closed;
    connection->context = context;
    queue_begin(&connection->unsent);
    queue_begin(&connection->sent);
    connection->host = strdup(host);
    connection->reader = reply_reader_new();
    connection->deadline = timer_add(access->loop, 0, begin, connection);
    if (connection->host && connection->reader && connection->deadline)
        return connection;
    connection_free(connection);
    return NULL;
}

void connection_send(struct connection *connection, struct formatted command, answered *answer, void *context)
{
    struct pending *pending = connection->state == FAILED ? NULL : calloc(1, sizeof *pending);
    if (!pending) {
        if (answer)
            answer(context, NULL, connection->state == FAILED ? connection->error : "no memory");
        return;
    }
    *pending = (struct pending){.command = command, .answer = answer, .context = context};
    queue_put(&connection->unsent, pending);
    connection->wants_room = true; /* so that the loop calls `ready` */
    update_watch(connection);
}
