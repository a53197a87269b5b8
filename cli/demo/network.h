/* A simulated network that loses, duplicates, delays and reorders messages, and counts these events. */
#ifndef CLI_DEMO_NETWORK_H
#define CLI_DEMO_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message {
    uint32_t from, to;
    uint64_t due;    /* the tick of its arrival */
    uint64_t serial; /* counts messages from `from` to `to` */
    uint8_t *bytes;
    size_t size;
};

struct network_counts {
    uint64_t sent, lost, cut, doubled, overtaken; /* overtaken: arrived after a message that was sent later */
    uint64_t bytes;
};

struct network {
    uint32_t places;
    uint32_t cut_before; /* a partition: nothing passes between places below this one and the others; 0: none */
    double loss, doubling;
    uint32_t longest_delay; /* in ticks; drawn for each copy of a message */
    uint64_t now, random;
    struct message *flying;
    size_t count, room;
    struct {
        uint64_t sent, arrived;
    } * ways; /* highest serials; index: from * places + to */
    struct network_counts counts;
};

/* Returns false without memory. */
bool network_open(struct network *network, uint32_t places, double loss, uint64_t seed);
void network_close(struct network *network);

/* Copies the bytes. Returns false without memory. */
bool network_send(struct network *network, uint32_t from, uint32_t to, const void *bytes, size_t size);

/* Takes a message that has arrived; the caller releases it. False: there is none. */
bool network_receive(struct network *network, struct message *message);

void message_release(struct message *message);

#endif
