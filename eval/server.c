/*
 * A server answers one connection after the other: a request, a reply, the end. What it changes is in its file before
 * anybody is answered: written beside, then renamed, so that a process that dies at any moment leaves one whole state
 * or the other. (No fsync: processes die here, not machines.)
 *
 *     client --> any server --> the replica that counts --> its file --> reply --> client
 *
 * The sockets belong to the parent, too: a connection that a dead server left waiting is answered by its successor, as
 * a message that was still on its way would be.
 */
#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fatal.h"

#define BACKLOG 64

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static bool write_all(int descriptor, const void *bytes, size_t size)
{
    for (const char *next = bytes; size > 0;) {
        ssize_t written = write(descriptor, next, size);
        if (written < 0 && errno != EINTR)
            return false;
        next += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static bool read_all(int descriptor, void *bytes, size_t size)
{
    for (char *next = bytes; size > 0;) {
        ssize_t got = read(descriptor, next, size);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        next += got > 0 ? got : 0;
        size -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static struct sockaddr_un address_of(const struct cluster *cluster, unsigned server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%u", cluster->directory, server);
    return address;
}

static int connect_to(const struct cluster *cluster, unsigned server)
{
    struct sockaddr_un address = address_of(cluster, server);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0)
        fatal("a server", strerror(errno));
    return descriptor;
}

/* The bytes behind the reply go to `payload`, to be freed, if there is one. */
static struct reply ask(const struct cluster *cluster, unsigned server, struct request request, uint8_t **payload)
{
    struct reply reply;
    int descriptor = connect_to(cluster, server);
    if (!write_all(descriptor, &request, sizeof request) || !read_all(descriptor, &reply, sizeof reply))
        fatal("a server", "did not answer");
    uint8_t *bytes = must_allocate(reply.size + 1, 1);
    if (!read_all(descriptor, bytes, reply.size))
        fatal("a server", "did not finish its answer");
    close(descriptor);
    if (payload)
        *payload = bytes;
    else
        free(bytes);
    return reply;
}

struct reply cluster_ask(const struct cluster *cluster, unsigned server, struct request request)
{
    return ask(cluster, server, request, NULL);
}

/* ---- a server ---------------------------------------------------------------------------------------------------- */

struct server {
    const struct cluster *cluster;
    unsigned number;
    roost_filter *counter;
    int64_t attempts;
};

/* What the file begins with. */
struct stored {
    int64_t attempts;
    uint64_t frame, replica; /* sizes */
};

static void name_file(const struct server *server, char name[128], const char *ending)
{
    snprintf(name, 128, "%s/%u.%s", server->cluster->directory, server->number, ending);
}

static void store(const struct server *server)
{
    char beside[128], name[128];
    roost_buffer frame, replica;
    must(roost_filter_encode(server->counter, &frame), "a frame");
    must(roost_filter_save_replica(server->counter, &replica), "a replica");
    struct stored stored = {server->attempts, frame.size, replica.size};
    name_file(server, beside, "new");
    name_file(server, name, "state");
    FILE *file = fopen(beside, "wb");
    if (!file || fwrite(&stored, sizeof stored, 1, file) != 1 ||
        fwrite(frame.data, 1, frame.size, file) != frame.size ||
        fwrite(replica.data, 1, replica.size, file) != replica.size || fclose(file) != 0 || rename(beside, name) != 0)
        fatal(name, "cannot be stored");
    roost_buffer_release(&frame);
    roost_buffer_release(&replica);
}

static void load(struct server *server)
{
    char name[128];
    struct stored stored;
    name_file(server, name, "state");
    FILE *file = fopen(name, "rb");
    if (!file) {
        must(roost_filter_new(&server->counter, &server->cluster->config, NULL), "a counter");
        return;
    }
    if (fread(&stored, sizeof stored, 1, file) != 1)
        fatal(name, "cannot be read");
    uint8_t *bytes = must_allocate(stored.frame + stored.replica, 1);
    if (fread(bytes, 1, stored.frame + stored.replica, file) != stored.frame + stored.replica)
        fatal(name, "cannot be read");
    fclose(file);
    must(roost_filter_decode(&server->counter, bytes, stored.frame, NULL), name);
    must(roost_filter_restore_replica(server->counter, bytes + stored.frame, stored.replica), name);
    server->attempts = stored.attempts;
    free(bytes);
}

static void apply(struct server *server, struct reply *reply, const struct request *request)
{
    bool applied;
    must(roost_counter_increment(server->counter, &applied, NULL, &request->id, sizeof request->id, 1, request->time),
         "an increment");
    reply->applied = applied;
    server->attempts++;
    store(server);
}

static void pull(struct server *server, const struct request *request)
{
    uint8_t *frame;
    struct reply state = ask(server->cluster, request->target, (struct request){.type = REQUEST_STATE}, &frame);
    must(roost_filter_merge_frame(server->counter, NULL, frame, state.size), "a merge");
    free(frame);
    store(server);
}

static void answer(struct server *server, int descriptor, const struct request *request)
{
    struct reply reply = {0};
    roost_buffer frame = {0};
    bool passed_on = request->type == REQUEST_OPERATION && request->target != server->number;
    if (passed_on)
        reply =
            ask(server->cluster, request->target, (struct request){REQUEST_APPLY, 0, request->id, request->time}, NULL);
    else if (request->type == REQUEST_OPERATION || request->type == REQUEST_APPLY)
        apply(server, &reply, request);
    else if (request->type == REQUEST_PULL)
        pull(server, request);
    else
        must(roost_filter_encode(server->counter, &frame), "a frame");
    if (!passed_on) {
        must(roost_counter_get_value(server->counter, &reply.value), "a value");
        reply.attempts = server->attempts;
    }
    reply.size = (uint32_t)frame.size;
    if (write_all(descriptor, &reply, sizeof reply))
        write_all(descriptor, frame.data, frame.size);
    roost_buffer_release(&frame);
}

/* For ever; a peer that has gone away is not waited for. */
static _Noreturn void serve(const struct cluster *cluster, unsigned number)
{
    struct server server = {.cluster = cluster, .number = number};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    load(&server);
    for (;;) {
        struct request request;
        int descriptor = accept(cluster->listening[number], NULL, NULL);
        if (descriptor < 0)
            continue;
        if (read_all(descriptor, &request, sizeof request))
            answer(&server, descriptor, &request);
        close(descriptor);
    }
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void start(struct cluster *cluster, unsigned server)
{
    fflush(stdout);
    cluster->processes[server] = fork();
    if (cluster->processes[server] < 0)
        fatal("fork", strerror(errno));
    if (cluster->processes[server] == 0)
        serve(cluster, server);
}

static void stop(struct cluster *cluster, unsigned server)
{
    kill(cluster->processes[server], SIGKILL);
    waitpid(cluster->processes[server], NULL, 0);
}

void cluster_open(struct cluster *cluster, unsigned servers, const roost_config *config)
{
    *cluster = (struct cluster){.servers = servers, .config = *config};
    strcpy(cluster->directory, "/tmp/roost-eval-XXXXXX");
    if (!mkdtemp(cluster->directory))
        fatal(cluster->directory, strerror(errno));
    cluster->listening = must_allocate(servers, sizeof *cluster->listening);
    cluster->processes = must_allocate(servers, sizeof *cluster->processes);
    for (unsigned i = 0; i < servers; i++) {
        struct sockaddr_un address = address_of(cluster, i);
        cluster->listening[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (cluster->listening[i] < 0 ||
            bind(cluster->listening[i], (struct sockaddr *)&address, sizeof address) != 0 ||
            listen(cluster->listening[i], BACKLOG) != 0)
            fatal(address.sun_path, strerror(errno));
    }
    for (unsigned i = 0; i < servers; i++)
        start(cluster, i);
}

void cluster_kill_asked(struct cluster *cluster, unsigned server, struct request request, bool answered)
{
    if (!answered &&
        (kill(cluster->processes[server], SIGSTOP) != 0 || waitpid(cluster->processes[server], NULL, WUNTRACED) < 0))
        fatal("a server", strerror(errno));
    int descriptor = connect_to(cluster, server);
    struct pollfd reply = {.fd = descriptor, .events = POLLIN};
    if (!write_all(descriptor, &request, sizeof request) || (answered && poll(&reply, 1, -1) < 0))
        fatal("a server", strerror(errno));
    stop(cluster, server);
    close(descriptor);
    start(cluster, server);
}

void cluster_close(struct cluster *cluster)
{
    static const char *const endings[] = {"", ".new", ".state"};
    for (unsigned i = 0; i < cluster->servers; i++) {
        stop(cluster, i);
        close(cluster->listening[i]);
        for (unsigned j = 0; j < 3; j++) {
            char name[128];
            snprintf(name, sizeof name, "%s/%u%s", cluster->directory, i, endings[j]);
            unlink(name);
        }
    }
    rmdir(cluster->directory);
    free(cluster->listening);
    free(cluster->processes);
}
