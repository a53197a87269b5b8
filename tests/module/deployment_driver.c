/*
 * A deployment (client/deployment.h) on strings, for tests/module/deployment.py: lines come in, what happens goes out.
 *
 *     deployment-driver URL [ca=FILE] [insecure] [certificate=FILE] [key=FILE] [secrets=FILE] [needs=COMMAND]
 *                           [patience=MILLISECONDS]
 *
 *     ask ID DATABASE KEY WORD...     ->  answer ID TYPE TEXT, or unanswered ID TEXT
 *     wait ID NODE WORD...            ->  the same
 *     close                           ->  from within the next answer
 *     again                           ->  from within the next error: a PING whose ID is "again"
 *                                         up NODE; down NODE; sick TEXT; well
 *
 * Ends with its input; the passwords of its arguments are hidden by then.
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/deployment.h"
#include "client/event_loop.h"
#include "client/secrets.h"

#define MOST_WORDS 64
#define MOST_NODES 64

static struct event_loop *loop;
static struct deployment *deployment;
static struct node *nodes[MOST_NODES];
static bool close_within, closed, ask_again;

static void say(const char *format, const char *a, const char *b)
{
    printf(format, a, b);
    fflush(stdout);
}

/* ---- what happens ---------------------------------------------------------------------------------------------- */

static void node_up(void *context, struct node *node)
{
    (void)context;
    for (int i = 0; i < MOST_NODES; i++)
        if (!nodes[i]) {
            nodes[i] = node;
            break;
        }
    if (*node_place(node))
        say("wrong: the place of %s was not empty%s\n", node_name(node), "");
    *node_place(node) = nodes;
    say("up %s%s\n", node_name(node), deployment_is_cluster(deployment) ? " cluster" : "");
}

static void node_down(void *context, struct node *node)
{
    bool found = false;
    (void)context;
    for (int i = 0; i < MOST_NODES; i++)
        if (nodes[i] == node) {
            nodes[i] = NULL;
            found = true;
        }
    if (!found || *node_place(node) != (void *)nodes)
        say("wrong: %s was not up%s\n", node_name(node), "");
    say("down %s%s\n", node_name(node), "");
}

static void error_changed(void *context, const char *text)
{
    (void)context;
    say("%s %s\n", text ? "sick" : "well", text ? text : "");
}

static roost_bytes bytes_of(const char *text)
{
    return (roost_bytes){text, strlen(text)};
}

static void print_reply(const struct redisReply *reply)
{
    static const char *const types[] = {"", "string", "array", "integer", "nil", "status", "error"};
    printf("%s ", types[reply->type]);
    if (reply->type == REDIS_REPLY_INTEGER)
        printf("%lld", reply->integer);
    else if (reply->type == REDIS_REPLY_ARRAY)
        printf("%zu", (size_t)reply->elements);
    else if (reply->type == REDIS_REPLY_STRING && reply->len > 100)
        printf("%zu bytes", (size_t)reply->len);
    else if (reply->type != REDIS_REPLY_NIL)
        fwrite(reply->str, 1, (size_t)reply->len, stdout);
}

static void answer(void *context, const struct redisReply *reply, const char *error)
{
    char *id = context;
    if (reply) {
        printf("answer %s ", id);
        print_reply(reply);
        say("%s%s\n", "", "");
    } else {
        say("unanswered %s %s\n", id, error);
    }
    if (!reply && ask_again) { /* at once, in spite of the error */
        ask_again = false;
        deployment_ask(deployment, 0, bytes_of("k"), (struct words){(roost_bytes[]){bytes_of("PING")}, 1}, answer,
                       strdup("again"));
    }
    free(id);
    if (close_within && !closed) {
        closed = true;
        deployment_close(deployment);
        event_loop_stop(loop);
    }
}

/* ---- what is asked --------------------------------------------------------------------------------------------- */

/* "=N" stands for N bytes. */
static size_t split(char *line, roost_bytes *words)
{
    static char many[1 << 20];
    size_t count = 0;
    memset(many, 'x', sizeof many);
    for (char *word = strtok(line, " "); word && count < MOST_WORDS; word = strtok(NULL, " "))
        words[count++] = *word == '=' ? (roost_bytes){many, strtoul(word + 1, NULL, 10)} : bytes_of(word);
    return count;
}

static void ask_node(const char *name, char *id, struct words command)
{
    for (int i = 0; i < MOST_NODES; i++)
        if (nodes[i] && strcmp(node_name(nodes[i]), name) == 0) {
            node_wait(nodes[i], command, answer, id);
            return;
        }
    answer(id, NULL, "no such node");
}

static void obey(char *line)
{
    roost_bytes words[MOST_WORDS];
    size_t count = split(line, words);
    const char *verb = count ? words[0].data : "";
    if (strcmp(verb, "ask") == 0 && count > 4)
        deployment_ask(deployment, atoi(words[2].data), words[3], (struct words){words + 4, count - 4}, answer,
                       strdup(words[1].data));
    else if (strcmp(verb, "wait") == 0 && count > 3)
        ask_node(words[2].data, strdup(words[1].data), (struct words){words + 3, count - 3});
    else if (strcmp(verb, "close") == 0)
        close_within = true;
    else if (strcmp(verb, "again") == 0)
        ask_again = true;
    else
        say("wrong: %s%s\n", verb, "");
}

static void input(void *context, unsigned events)
{
    static char text[1 << 16];
    static size_t size;
    (void)context;
    (void)events;
    ssize_t came = read(STDIN_FILENO, text + size, sizeof text - size - 1);
    if (came <= 0) {
        event_loop_stop(loop);
        return;
    }
    size += (size_t)came;
    for (char *end; !closed && (end = memchr(text, '\n', size));) {
        *end = '\0';
        obey(text);
        size -= (size_t)(end + 1 - text);
        memmove(text, end + 1, size);
    }
}

int main(int count, char **words)
{
    struct connection_options options = {.seed = 1};
    const char *file = NULL, *ignored;
    for (int i = 2; i < count; i++) {
        char *value = strchr(words[i], '=');
        *(strncmp(words[i], "ca=", 3) == 0            ? &options.ca_file
          : strncmp(words[i], "certificate", 11) == 0 ? &options.certificate_file
          : strncmp(words[i], "key", 3) == 0          ? &options.key_file
          : strncmp(words[i], "needs", 5) == 0        ? &options.needs
          : strncmp(words[i], "secrets", 7) == 0      ? &file
                                                      : &ignored) = value ? value + 1 : NULL;
        if (value && strncmp(words[i], "patience", 8) == 0)
            options.timeout = (unsigned)atoi(value + 1);
        options.insecure = options.insecure || strcmp(words[i], "insecure") == 0;
    }
    struct secrets *secrets = secrets_read(file);
    if (count < 2 || !secrets)
        return 2;
    loop = event_loop_new();
    deployment = deployment_open(loop, words[1], secrets, &options,
                                 &(struct deployment_events){NULL, node_up, node_down, error_changed});
    secrets_free(secrets);
    secrets_hide(words[1]);
    if (!deployment) {
        event_loop_free(loop);
        return 2;
    }
    say("begun %s%s\n", deployment_name(deployment), "");
    watch_add(loop, STDIN_FILENO, READABLE, input, NULL);
    event_loop_run(loop);
    if (!closed) {
        printf("bytes %llu %llu\n", (unsigned long long)deployment_sent(deployment),
               (unsigned long long)deployment_received(deployment));
        deployment_close(deployment);
    }
    say("end%s%s\n", "", "");
    event_loop_free(loop);
    return 0;
}
