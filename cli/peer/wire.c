/*
 *     message    | mark, 1 byte | size, varint, not 0 | as many bytes |
 *
 * The mark is not a character of any text. So the first byte shows that the peer is a login script that prints a
 * greeting, a shell that prints "not found", or another program, and no letter is taken for the size of a message.
 */
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/base/interrupt.h"
#include "cli/base/machine.h"

#define MARK               0xd5
#define FIRST_ROOM         ((size_t)64 << 10)
#define FOREIGN_LINE_DELAY 200 /* milliseconds to wait for the rest of a line */

uint64_t wire_size(uint64_t message_size)
{
    uint8_t size[LONGEST_VARINT];
    return 1 + format_varint(size, message_size) + message_size;
}

/* ---- sending --------------------------------------------------------------------------------------------------- */

/* Waits until the pipe has room. A peer that sends out of turn may not read at all: then returns false. */
static bool may_send(const struct wire *wire)
{
    struct pollfd ends[] = {{.fd = wire->out, .events = POLLOUT},
                            {.fd = wire->takes_turns ? wire->in : -1, .events = POLLIN}};
    while (poll(ends, 2, -1) < 0)
        if (errno != EINTR || interrupted())
            return false;
    return !(ends[1].revents & POLLIN);
}

static size_t bytes_left(const struct iovec *parts, int count)
{
    size_t left = 0;
    for (int i = 0; i < count; i++)
        left += parts[i].iov_len;
    return left;
}

static void skip(struct iovec *parts, int count, size_t written)
{
    for (int i = 0; i < count; i++) {
        size_t of_this = written < parts[i].iov_len ? written : parts[i].iov_len;
        parts[i].iov_base = (uint8_t *)parts[i].iov_base + of_this;
        parts[i].iov_len -= of_this;
        written -= of_this;
    }
}

/* If the peer sends out of turn this ends early, and the next receive shows what the peer is. */
static enum wire_result send_all(struct wire *wire, struct iovec *parts, int count)
{
    while (bytes_left(parts, count) > 0) {
        if (interrupted())
            return WIRE_FAILED;
        if (!may_send(wire))
            return WIRE_FINE;
        ssize_t written = writev(wire->out, parts, count);
        if (written < 0 && errno == EPIPE)
            return WIRE_CUT;
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return WIRE_FAILED;
        skip(parts, count, written > 0 ? (size_t)written : 0);
        wire->sent += written > 0 ? (uint64_t)written : 0;
    }
    return WIRE_FINE;
}

/* In one write: over TCP a second one would wait until the first is acknowledged. */
enum wire_result wire_send(struct wire *wire, const void *message, size_t size)
{
    uint8_t head[1 + LONGEST_VARINT] = {MARK};
    size_t head_size = 1 + format_varint(head + 1, size);
    struct iovec parts[] = {{head, head_size}, {(void *)message, size}};
    return send_all(wire, parts, 2);
}

/* ---- receiving ------------------------------------------------------------------------------------------------- */

static void keep_opening(struct wire *wire, const uint8_t *bytes, size_t size)
{
    size_t left = OPENING_ROOM - wire->opening_size, kept = size < left ? size : left;
    memcpy(wire->opening + wire->opening_size, bytes, kept);
    wire->opening_size += kept;
}

/* Receives up to `most` bytes; none at the end of the stream. */
static enum wire_result receive_some(struct wire *wire, uint8_t *bytes, size_t most, size_t *got)
{
    for (;;) {
        ssize_t count = wait_for_input(wire->in, -1) ? read(wire->in, bytes, most) : -1;
        if (interrupted() || (count < 0 && errno != EINTR && errno != EAGAIN))
            return WIRE_FAILED;
        if (count < 0)
            continue;
        *got = (size_t)count;
        wire->received += (uint64_t)count;
        keep_opening(wire, bytes, *got);
        return WIRE_FINE;
    }
}

static enum wire_result receive_byte(struct wire *wire, uint8_t *byte)
{
    size_t got;
    enum wire_result result = receive_some(wire, byte, 1, &got);
    return result == WIRE_FINE && got == 0 ? WIRE_ENDED : result;
}

static enum wire_result receive_size(struct wire *wire, uint64_t *size)
{
    uint8_t bytes[LONGEST_VARINT];
    size_t count = 0;
    do {
        enum wire_result result = count < sizeof bytes ? receive_byte(wire, &bytes[count]) : WIRE_NONSENSE;
        if (result != WIRE_FINE)
            return result == WIRE_ENDED ? WIRE_CUT : result;
    } while (bytes[count++] >= 0x80);
    struct byte_reader reader = {.next = bytes, .left = count};
    *size = take_varint(&reader);
    return reader.failed || *size == 0 || *size > machine_memory() ? WIRE_NONSENSE : WIRE_FINE;
}

/* The buffer grows with the bytes received, not with the announced size. */
static bool make_room(struct byte_buffer *message, size_t size)
{
    size_t grown = 2 * message->room > FIRST_ROOM ? 2 * message->room : FIRST_ROOM;
    if (message->size < message->room)
        return true;
    errno = ENOMEM;
    return byte_buffer_reserve(message, grown < size ? grown : size) == ROOST_OK;
}

static enum wire_result receive_body(struct wire *wire, struct byte_buffer *message, size_t size)
{
    message->size = 0;
    while (message->size < size) {
        size_t got = 0;
        if (!make_room(message, size))
            return WIRE_FAILED;
        size_t room = message->room < size ? message->room : size;
        enum wire_result result = receive_some(wire, message->data + message->size, room - message->size, &got);
        if (result != WIRE_FINE || got == 0)
            return result == WIRE_FINE ? WIRE_CUT : result;
        message->size += got;
    }
    return WIRE_FINE;
}

enum wire_result wire_receive(struct wire *wire, struct byte_buffer *message)
{
    uint8_t mark;
    uint64_t size = 0;
    enum wire_result result = receive_byte(wire, &mark);
    if (result == WIRE_FINE && mark != MARK)
        result = WIRE_NONSENSE;
    if (result == WIRE_FINE)
        result = receive_size(wire, &size);
    return result == WIRE_FINE ? receive_body(wire, message, (size_t)size) : result;
}

/* ---- peers that are not roost ---------------------------------------------------------------------------------- */

static bool is_text(uint8_t byte)
{
    return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

void wire_first_line(struct wire *wire, char text[OPENING_ROOM + 1])
{
    uint8_t more[OPENING_ROOM];
    size_t got = 1, size = 0;
    while (got > 0 && wire->opening_size < OPENING_ROOM && !memchr(wire->opening, '\n', wire->opening_size) &&
           wait_for_input(wire->in, FOREIGN_LINE_DELAY))
        if (receive_some(wire, more, OPENING_ROOM - wire->opening_size, &got) != WIRE_FINE)
            break;
    while (size < wire->opening_size && is_text(wire->opening[size]))
        size++;
    bool ends_as_a_line = size == wire->opening_size || wire->opening[size] == '\n' || wire->opening[size] == '\r';
    memcpy(text, wire->opening, size);
    text[ends_as_a_line ? size : 0] = '\0';
}
