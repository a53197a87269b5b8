/* A network inside this process that treats messages badly, and counts what it does to them. */
#ifndef CLI_DEMO_NETWORK_H
#define CLI_DEMO_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message {
    uint32_t from, to;
    uint64_t due;    /* the tick of its arrival */
    uint64_t serial; /* on its way from `from` to `to` */
    uint8_t *bytes;
    size_t size;
};

struct network_counts {
    uint64_t sent, lost, cut, doubled, overtaken; /* overtaken: arrived behind a message that was sent later */
    uint64_t bytes;
};

struct network {
    uint32_t places;
    uint32_t cut_before; /* no message passes between places below and from this one on; 0: all do */
    double loss, doubling;
    uint32_t longest_delay; /* in ticks; each copy of a message takes its own */
    uint64_t now, random;
    struct message *flying;
    size_t count, room;
    struct {
        uint64_t sent, arrived;
    } * ways; /* highest serials, from * places + to */
    struct network_counts counts;
};

/* Answers false where memory is short. */
bool network_open(struct network *network, uint32_t places, double loss, uint64_t seed);
void network_close(struct network *network);

/* Takes a copy of the bytes. Answers false where memory is short. */
bool network_send(struct network *network, uint32_t from, uint32_t to, const void *bytes, size_t size);

/* A message that has arrived by now, which the caller then owns; false: no more of them. */
bool network_receive(struct network *network, struct message *message);

void message_release(struct message *message);

#endif
