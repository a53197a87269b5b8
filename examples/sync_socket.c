/*
 * Two processes sync their filters over a socket: afterwards both have all elements of either.
 *
 *     cc sync_socket.c $(pkg-config --cflags --libs roost) && ./a.out
 *
 * The example uses socketpair; any connected stream socket, a pipe or TLS works in the same way. Messages do not contain
 * their length, so each is sent behind four bytes that do. A program that syncs with the same peer again stores what
 * roost_sync_save_memory returns and passes it to roost_sync_new: then a sync costs what changed since.
 */
#include <roost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST_MESSAGE (64u << 20)

/* ---- messages over a socket ------------------------------------------------------------------------------------ */

static bool write_all(int descriptor, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t written = write(descriptor, (const char *)bytes + done, size - done);
        if (written <= 0)
            return false;
        done += (size_t)written;
    }
    return true;
}

static bool read_all(int descriptor, void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(descriptor, (char *)bytes + done, size - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool send_message(int descriptor, const roost_buffer *message)
{
    uint32_t size = (uint32_t)message->size;
    uint8_t length[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16), (uint8_t)(size >> 24)};
    return write_all(descriptor, length, sizeof length) && write_all(descriptor, message->data, message->size);
}

/* Returns the bytes of a message, which the caller frees, or NULL: the peer is gone, or claims to send too much. */
static void *receive_message(int descriptor, size_t *size)
{
    uint8_t length[4];
    if (!read_all(descriptor, length, sizeof length))
        return NULL;
    *size = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
    void *bytes = *size <= LONGEST_MESSAGE ? malloc(*size + 1) : NULL;
    if (bytes && read_all(descriptor, bytes, *size))
        return bytes;
    free(bytes);
    return NULL;
}

/* ---- the two sides --------------------------------------------------------------------------------------------- */

/* The initiator sends requests until there is none left. */
static roost_status initiate(roost_filter *filter, int descriptor)
{
    roost_sync *sync;
    roost_status status = roost_sync_new(&sync, filter, NULL, 0);
    void *reply = NULL;
    size_t size = 0;
    while (status == ROOST_OK) {
        roost_buffer request;
        status = roost_sync_next(sync, &request, reply, size);
        free(reply);
        reply = NULL;
        if (status != ROOST_OK || request.size == 0)
            break;
        bool sent = send_message(descriptor, &request);
        roost_buffer_release(&request);
        reply = sent ? receive_message(descriptor, &size) : NULL;
        if (!reply)
            status = ROOST_PROTOCOL;
    }
    if (status == ROOST_OK) {
        roost_sync_result result = roost_sync_get_result(sync);
        printf("synced in %u rounds, equal: %s\n", result.rounds, result.equal ? "yes" : "no");
    }
    roost_sync_free(sync);
    return status;
}

/* The responder replies to each request until the initiator closes the socket. It keeps nothing but its filter. */
static roost_status respond(roost_filter *filter, int descriptor)
{
    roost_status status = ROOST_OK;
    size_t size;
    for (void *request; (request = receive_message(descriptor, &size)); free(request)) {
        roost_buffer reply;
        roost_status replied = roost_sync_reply(filter, &reply, NULL, request, size);
        if (replied != ROOST_OK)
            status = replied; /* the reply, if there is one, tells the peer so */
        send_message(descriptor, &reply);
        roost_buffer_release(&reply);
    }
    return status;
}

/* ---- the example ----------------------------------------------------------------------------------------------- */

/* Both sides need the same configuration. An observed-remove filter can also remove elements. */
static roost_filter *make_filter(const char *const *keys)
{
    roost_config config = roost_config_default();
    config.kind = ROOST_ORCUCKOO;
    config.capacity = 1000;
    roost_filter *filter;
    if (roost_filter_new(&filter, &config, NULL) != ROOST_OK)
        exit(1);
    for (; *keys; keys++)
        if (roost_filter_add(filter, NULL, *keys, strlen(*keys)) != ROOST_OK)
            exit(1);
    return filter;
}

static int show(const char *who, roost_filter *filter, roost_status status)
{
    printf("%s: swift %d, martin %d, heron %d (%s)\n", who, roost_filter_contains(filter, "swift", 5),
           roost_filter_contains(filter, "martin", 6), roost_filter_contains(filter, "heron", 5),
           roost_status_text(status));
    roost_filter_free(filter);
    return status == ROOST_OK ? 0 : 1;
}

int main(void)
{
    int ends[2], child_status;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    pid_t child = fork();
    if (child < 0)
        return 1;
    int mine = ends[child == 0 ? 1 : 0];
    close(ends[child == 0 ? 0 : 1]);
    if (child == 0) {
        roost_filter *filter = make_filter((const char *const[]){"martin", NULL});
        return show("responder", filter, respond(filter, mine));
    }
    roost_filter *filter = make_filter((const char *const[]){"swift", NULL});
    roost_status status = initiate(filter, mine);
    close(mine);
    waitpid(child, &child_status, 0);
    return show("initiator", filter, status) || child_status != 0;
}
