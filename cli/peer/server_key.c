/*
 * The server answers each message of a sync with one command, ROOST.SYNC, and applies its changes before it replies:
 * nothing is left to be done at the end.
 *
 * The connection never blocks (connection.h); the loop runs for one command at a time, until it is answered.
 *
 * A password never shows in a message, nor in what a file remembers of its peers.
 */
#include "server_key.h"

#include <stdlib.h>
#include <string.h>

#include "cli/file/filter_file.h"
#include "cli/base/messages.h"

#define WHAT_A_KEY_IS "redis://"

#if defined(HAVE_HIREDIS)
#include <hiredis/hiredis.h>

#include "client/connection.h"
#include "client/event_loop.h"
#include "client/reply_fields.h"
#include "client/secrets.h"

struct server_talk {
    struct event_loop *loop;
    struct access access;
    struct connection *connection; /* NULL after a failure */
};

/* ---- commands ---------------------------------------------------------------------------------------------------- */

struct answer {
    struct server_key *server;
    struct byte_buffer *text; /* receives a string; NULL: it is dropped */
    roost_config *config;     /* receives what ROOST.INFO replies; NULL: it is dropped */
    long long integer;
    bool came, fine;
};

static void take_answer(void *context, const struct redisReply *reply, const char *error)
{
    struct answer *answer = context;
    const char *name = answer->server->name;
    answer->came = true;
    answer->fine = reply && reply->type != REDIS_REPLY_ERROR;
    if (answer->config)
        answer->fine = answer->fine && read_config(answer->config, reply);
    else if (!answer->fine)
        complain(name, "%s",
                 is_error(reply, "ERR unknown command") ? "the server has not loaded the module roost.so"
                 : reply                                ? reply->str
                                                        : error);
    else if (reply->type == REDIS_REPLY_INTEGER)
        answer->integer = reply->integer;
    else if (reply->type == REDIS_REPLY_STRING && answer->text)
        append_bytes(answer->text, reply->str, (size_t)reply->len);
    event_loop_stop(answer->server->talk->loop);
}

static void forget_connection(void *context, const char *error)
{
    struct server_talk *talk = context;
    (void)error; /* take_answer has reported it */
    talk->connection = NULL;
}

/* Sends a command about the key, with one more word if there is one. False, with a message, if it fails. */
static bool ask(struct server_key *server, struct answer *answer, const char *command, roost_bytes argument)
{
    struct server_talk *talk = server->talk;
    roost_bytes words[] = {{command, strlen(command)}, {server->key, server->key_size}, argument};
    size_t size;
    char *bytes = format_words((struct words){words, argument.data ? 3 : 2}, &size);
    answer->server = server;
    if (!bytes || !talk->connection)
        complain(server->name, bytes ? "the connection is closed" : "no memory");
    else
        connection_send(talk->connection, (struct formatted){bytes, size, ANY_DATABASE, true}, take_answer, answer);
    if (bytes && talk->connection && !answer->came)
        event_loop_run(talk->loop);
    if (!answer->came) { /* a signal came: the answer must not be written any more */
        connection_close(talk->connection);
        talk->connection = NULL;
    }
    free(bytes);
    return answer->fine;
}

/* ---- the key ----------------------------------------------------------------------------------------------------- */

/* An empty filter like ours. */
static bool make_key(struct server_key *server, const roost_filter *ours)
{
    roost_filter *empty;
    roost_buffer frame = {0};
    roost_status status = filter_like(&empty, ours);
    if (status == ROOST_OK)
        status = roost_filter_encode(empty, &frame);
    roost_filter_free(empty);
    if (status != ROOST_OK)
        return complain_of_status(server->name, status);
    struct answer answer = {0};
    bool fine = ask(server, &answer, "ROOST.MERGE", (roost_bytes){frame.data, frame.size});
    roost_buffer_release(&frame);
    return fine;
}

static bool ready_key(struct server_key *server, const roost_filter *ours)
{
    struct answer answer = {0};
    return ask(server, &answer, "EXISTS", (roost_bytes){0}) && (answer.integer == 1 || make_key(server, ours));
}

static bool connect_to(struct server_key *server, struct server_name *name, const struct connection_options *options)
{
    struct server_talk *talk = server->talk = calloc(1, sizeof *talk);
    if (!talk || !(talk->loop = event_loop_new()))
        return complain(server->name, "no memory");
    if (!access_open(&talk->access, talk->loop, name, options))
        return false;
    talk->connection =
        connection_open(&talk->access, talk->access.name.host, talk->access.name.port, forget_connection, talk);
    return talk->connection || complain(server->name, "no memory");
}

static bool open_named(struct server_key *server, struct server_name *name, const char *text,
                       const struct connection_options *options)
{
    server->name = server_name_plain(name, text);
    server->key = name->path;
    server->key_size = name->path_size;
    name->path = NULL;
    return server->name ? connect_to(server, name, options) : complain(WHAT_A_KEY_IS, "no memory");
}

bool server_key_open(struct server_key *server, const char *text, const struct server_options *options,
                     const roost_filter *ours)
{
    struct server_name name;
    struct secrets *secrets = secrets_read(options->password_file);
    bool fine = (server_name_read(&name, text) && name.path_size > 0) ||
                complain(WHAT_A_KEY_IS, "a key is redis://[user[:password]@]host[:port]/KEY, or rediss:// with TLS");
    fine = fine && secrets && (secrets_complete(secrets, &name) || complain(WHAT_A_KEY_IS, "no memory"));
    secrets_free(secrets);
    fine = fine && open_named(server, &name, text, &options->connection) && ready_key(server, ours);
    server_name_release(&name);
    return fine;
}

bool server_key_ask(struct server_key *server, struct byte_buffer *reply, roost_bytes request)
{
    struct answer answer = {.text = reply};
    reply->size = 0;
    if (!ask(server, &answer, "ROOST.SYNC", request))
        return false;
    server->sent += request.size;
    server->received += reply->size;
    return !reply->failed || complain_of_status(server->name, ROOST_NO_MEMORY);
}

bool server_key_get_config(struct server_key *server, roost_config *config)
{
    struct answer answer = {.config = config};
    return ask(server, &answer, "ROOST.INFO", (roost_bytes){0});
}

void server_key_close(struct server_key *server)
{
    struct server_talk *talk = server->talk;
    if (talk) {
        connection_close(talk->connection);
        access_release(&talk->access);
        event_loop_free(talk->loop);
    }
    free(talk);
    free(server->name);
    free(server->key);
    *server = (struct server_key){0};
}

#else

bool server_key_open(struct server_key *server, const char *name, const struct server_options *options,
                     const roost_filter *ours)
{
    (void)options;
    (void)server;
    (void)name;
    (void)ours;
    return complain(WHAT_A_KEY_IS, "this roost was built without hiredis and libevent, and cannot talk to servers");
}

bool server_key_ask(struct server_key *server, struct byte_buffer *reply, roost_bytes request)
{
    (void)server;
    (void)reply;
    (void)request;
    return false;
}

bool server_key_get_config(struct server_key *server, roost_config *config)
{
    (void)server;
    (void)config;
    return false;
}

void server_key_close(struct server_key *server)
{
    (void)server;
}

#endif
