/*
 * The server answers each message of a sync with one command, ROOST.SYNC, and keeps what it has learnt before it
 * replies: nothing is left to be finished here.
 *
 * A password never shows in a message of ours, nor in what a file remembers of its peers.
 */
#include "server_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "filter_file.h"
#include "messages.h"

#define SCHEME       "redis://"
#define DEFAULT_PORT 6379
#define PATIENCE     60 /* seconds */

bool is_server_name(const char *name)
{
    return strncmp(name, SCHEME, strlen(SCHEME)) == 0;
}

#if defined(HAVE_HIREDIS)
#include <hiredis/hiredis.h>

/* ---- the name -------------------------------------------------------------------------------------------------- */

struct server_name {
    char *user, *password, *host, *key;
    size_t password_size, key_size;
    int port;
};

static void release_name(struct server_name *name)
{
    free(name->user);
    free(name->password);
    free(name->host);
    free(name->key);
}

static int hex_digit(char digit)
{
    const char *digits = "0123456789abcdef0123456789ABCDEF", *found = digit ? strchr(digits, digit) : NULL;
    return found ? (int)(found - digits) % 16 : -1;
}

/* A copy of the bytes with %41 and its like as what they stand for; NULL without memory. */
static char *decoded(const char *text, size_t length, size_t *size)
{
    char *copy = malloc(length + 1), *to = copy;
    for (size_t i = 0; copy && i < length; i++) {
        int high = text[i] == '%' && i + 2 < length ? hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        *to++ = low >= 0 ? (char)(high << 4 | low) : text[i];
        i += low >= 0 ? 2 : 0;
    }
    if (copy)
        *to = '\0';
    if (copy && size)
        *size = (size_t)(to - copy);
    return copy;
}

static bool read_login(struct server_name *name, const char *login, const char *end)
{
    const char *colon = memchr(login, ':', (size_t)(end - login));
    if (colon)
        name->password = decoded(colon + 1, (size_t)(end - colon - 1), &name->password_size);
    if (!colon || colon > login)
        name->user = decoded(login, (size_t)((colon ? colon : end) - login), NULL);
    return (!colon || name->password) && (colon == login || name->user);
}

/* host, host:port, [address], [address]:port */
static bool read_host(struct server_name *name, const char *host, const char *end)
{
    bool brackets = *host == '[';
    const char *close = brackets ? memchr(host, ']', (size_t)(end - host)) : NULL;
    const char *colon = memchr(close ? close : host, ':', (size_t)(end - (close ? close : host)));
    const char *host_end = close ? close : colon ? colon : end;
    char *stop;
    long port = colon ? strtol(colon + 1, &stop, 10) : DEFAULT_PORT;
    if ((brackets && !close) || port < 1 || port > 65535 || (colon && stop != end))
        return false;
    name->port = (int)port;
    host += brackets;
    name->host = host < host_end ? strndup(host, (size_t)(host_end - host)) : strdup("127.0.0.1");
    return name->host != NULL;
}

static bool read_name(struct server_name *name, const char *text)
{
    const char *authority = text + strlen(SCHEME), *slash = strchr(authority, '/'), *at = NULL;
    if (!slash || !slash[1])
        return false;
    for (const char *c = authority; c < slash; c++)
        at = *c == '@' ? c : at;
    if (at && !read_login(name, authority, at))
        return false;
    name->key = decoded(slash + 1, strlen(slash + 1), &name->key_size);
    return name->key && read_host(name, at ? at + 1 : authority, slash);
}

static char *plain_name(const struct server_name *name, const char *text)
{
    const char *key = strchr(text + strlen(SCHEME), '/');
    size_t room = strlen(name->host) + strlen(key) + 32;
    char *plain = malloc(room);
    if (plain)
        snprintf(plain, room, SCHEME "%s:%d%s", name->host, name->port, key);
    return plain;
}

/* ---- talking --------------------------------------------------------------------------------------------------- */

/* An answer that is no error, or NULL after a complaint. */
static redisReply *checked(struct server_key *server, redisReply *reply)
{
    if (reply && reply->type != REDIS_REPLY_ERROR)
        return reply;
    bool unknown = reply && strstr(reply->str, "unknown command");
    complain(server->name, "%s",
             unknown ? "the server has not loaded the module roost.so"
             : reply ? reply->str
                     : server->connection->errstr);
    if (reply)
        freeReplyObject(reply);
    return NULL;
}

static bool done(redisReply *reply)
{
    if (reply)
        freeReplyObject(reply);
    return reply != NULL;
}

static bool connect_to(struct server_key *server, const struct server_name *name)
{
    struct timeval patience = {.tv_sec = PATIENCE};
    server->connection = redisConnectWithTimeout(name->host, name->port, patience);
    if (!server->connection || server->connection->err)
        return complain(server->name, "%s", server->connection ? server->connection->errstr : "no memory");
    redisSetTimeout(server->connection, patience);
    if (!name->password)
        return true;
    redisReply *reply =
        name->user ? redisCommand(server->connection, "AUTH %s %b", name->user, name->password, name->password_size)
                   : redisCommand(server->connection, "AUTH %b", name->password, name->password_size);
    return done(checked(server, reply));
}

/* An empty filter like ours. */
static bool make_key(struct server_key *server, const roost_filter *ours)
{
    roost_filter *empty;
    roost_buffer frame = {0};
    roost_environment environment = filter_environment();
    roost_config config = *roost_filter_config(ours);
    if (config.scalable && config.kind == ROOST_CUCKOO)
        config.fingerprint_bits = 0; /* are derived, and nothing that one could ask for */
    roost_status status = roost_filter_new(&empty, &config, &environment);
    if (status == ROOST_OK)
        status = roost_filter_encode(empty, &frame);
    roost_filter_free(empty);
    if (status != ROOST_OK)
        return complain_of_status(server->name, status);
    redisReply *reply =
        redisCommand(server->connection, "ROOST.MERGE %b %b", server->key, server->key_size, frame.data, frame.size);
    roost_buffer_release(&frame);
    return done(checked(server, reply));
}

static bool ready_key(struct server_key *server, const roost_filter *ours)
{
    redisReply *reply = checked(server, redisCommand(server->connection, "EXISTS %b", server->key, server->key_size));
    bool exists = reply && reply->integer == 1;
    return done(reply) && (exists || make_key(server, ours));
}

bool server_key_open(struct server_key *server, const char *text, const roost_filter *ours)
{
    struct server_name name = {0};
    bool fine = read_name(&name, text) || complain(SCHEME, "a key is redis://[user[:password]@]host[:port]/KEY");
    if (fine) {
        server->name = plain_name(&name, text);
        server->key = name.key;
        server->key_size = name.key_size;
        name.key = NULL;
        fine = server->name ? connect_to(server, &name) && ready_key(server, ours) : complain(SCHEME, "no memory");
    }
    release_name(&name);
    return fine;
}

bool server_key_ask(struct server_key *server, struct byte_buffer *reply, roost_bytes request)
{
    redisReply *answer = checked(server, redisCommand(server->connection, "ROOST.SYNC %b %b", server->key,
                                                      server->key_size, request.data, request.size));
    if (!answer)
        return false;
    reply->size = 0;
    if (answer->type == REDIS_REPLY_STRING)
        append_bytes(reply, answer->str, answer->len);
    server->sent += request.size;
    server->received += reply->size;
    freeReplyObject(answer);
    return !reply->failed || complain_of_status(server->name, ROOST_NO_MEMORY);
}

void server_key_close(struct server_key *server)
{
    if (server->connection)
        redisFree(server->connection);
    free(server->name);
    free(server->key);
    *server = (struct server_key){0};
}

#else

bool server_key_open(struct server_key *server, const char *name, const roost_filter *ours)
{
    (void)server;
    (void)name;
    (void)ours;
    return complain(SCHEME, "this roost was built without hiredis, and cannot talk to servers");
}

bool server_key_ask(struct server_key *server, struct byte_buffer *reply, roost_bytes request)
{
    (void)server;
    (void)reply;
    (void)request;
    return false;
}

void server_key_close(struct server_key *server)
{
    (void)server;
}

#endif
