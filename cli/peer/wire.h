/* Messages on a stream of bytes: a pipe or a socket. */
#ifndef CLI_PEER_WIRE_H
#define CLI_PEER_WIRE_H

#include "cli/base/byte_buffer.h"

#define OPENING_ROOM 128

struct wire {
    int in, out;
    bool takes_turns; /* the peer sends nothing before it has our whole message; see wire_send */
    uint64_t received, sent;
    uint8_t opening[OPENING_ROOM]; /* the first bytes received, to show what a peer that is not roost prints */
    size_t opening_size;
};

enum wire_result {
    WIRE_FINE,
    WIRE_ENDED,    /* the stream ended between messages */
    WIRE_CUT,      /* it ended within a message, or the peer closed it */
    WIRE_NONSENSE, /* invalid bytes */
    WIRE_FAILED,   /* see errno; or a signal came */
};

/* The size of a message on the wire. */
uint64_t wire_size(uint64_t message_size);

enum wire_result wire_send(struct wire *wire, const void *message, size_t size);

/* Overwrites the buffer. */
enum wire_result wire_receive(struct wire *wire, struct byte_buffer *message);

/* The first line that the peer sent, if it is text; else an empty one. */
void wire_first_line(struct wire *wire, char text[OPENING_ROOM + 1]);

#endif
