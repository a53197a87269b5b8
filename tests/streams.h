/* Two real processes that talk over a byte stream: each message has its length before it. */
#ifndef TESTS_STREAMS_H
#define TESTS_STREAMS_H

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static inline bool send_all(int stream, const uint8_t *bytes, size_t size)
{
    uint8_t length[8];
    store_word(length, size);
    if (send(stream, length, sizeof length, MSG_NOSIGNAL) != sizeof length)
        return false;
    for (size_t done = 0; done < size;) {
        ssize_t now = send(stream, bytes + done, size - done, MSG_NOSIGNAL);
        if (now <= 0)
            return false;
        done += (size_t)now;
    }
    return true;
}

static inline bool receive_all(int stream, uint8_t *bytes, size_t wanted)
{
    for (size_t done = 0; done < wanted;) {
        ssize_t now = read(stream, bytes + done, wanted - done);
        if (now <= 0)
            return false;
        done += (size_t)now;
    }
    return true;
}

static inline uint8_t *receive_message(int stream, size_t *size)
{
    uint8_t length[8], *bytes;
    if (!receive_all(stream, length, sizeof length) || load_word(length) > 1 << 20)
        return NULL;
    *size = load_word(length);
    bytes = malloc(*size + 1);
    if (bytes && !receive_all(stream, bytes, *size)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* Runs side 0 here and side 1 in a child; whether both were fine. */
static inline bool run_in_two_processes(bool (*side)(void *context, int stream, int which), void *context)
{
    int streams[2], status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, streams), 0);
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(streams[0]);
        _exit(side(context, streams[1], 1) ? 0 : 1);
    }
    close(streams[1]);
    bool fine = side(context, streams[0], 0);
    close(streams[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return fine && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#endif
