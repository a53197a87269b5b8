/* Messages on a stream of bytes: pipes, sockets, whatever ssh makes of them. */
#ifndef CLI_PEER_WIRE_H
#define CLI_PEER_WIRE_H

#include "cli/base/byte_buffer.h"

#define OPENING_ROOM 128

struct wire {
    int in, out;
    bool takes_turns; /* the peer has nothing to say before it got all of our message; see wire_send */
    uint64_t received, sent;
    uint8_t opening[OPENING_ROOM]; /* of what was received, to show what a stranger says */
    size_t opening_size;
};

enum wire_result {
    WIRE_FINE,
    WIRE_ENDED,    /* the stream ended where a message might have begun */
    WIRE_CUT,      /* it ended within a message, or nobody listens any more */
    WIRE_NONSENSE, /* what came is no message */
    WIRE_FAILED,   /* errno tells; or a signal asks us to stop */
};

/* How many bytes a message of that size is on the wire. */
uint64_t wire_size(uint64_t message_size);

enum wire_result wire_send(struct wire *wire, const void *message, size_t size);

/* The buffer is used again, whatever it held. */
enum wire_result wire_receive(struct wire *wire, struct byte_buffer *message);

/* The first line that came from a stranger, as far as it is text; an empty one where it is not. */
void wire_first_line(struct wire *wire, char text[OPENING_ROOM + 1]);

#endif
