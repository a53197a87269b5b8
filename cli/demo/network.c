/*
 * The simulated network of the demo. Time is counted in ticks and random numbers come from a seed, so that a run can be
 * repeated. A message may be lost, duplicated and delayed, each copy by its own number of ticks, so that messages
 * overtake each other. During a partition nothing passes between the two sides, not even messages that were sent
 * before.
 */
#include "network.h"

#include <stdlib.h>
#include <string.h>

#define DOUBLING      0.1
#define LONGEST_DELAY 4

static uint64_t draw(struct network *network)
{
    uint64_t x = network->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static bool happens(struct network *network, double probability)
{
    return (double)(draw(network) >> 11) * 0x1p-53 < probability;
}

bool network_open(struct network *network, uint32_t places, double loss, uint64_t seed)
{
    *network = (struct network){.places = places,
                                .loss = loss,
                                .doubling = DOUBLING,
                                .longest_delay = LONGEST_DELAY,
                                .random = seed,
                                .ways = calloc((size_t)places * places, sizeof *network->ways)};
    return network->ways != NULL;
}

void network_close(struct network *network)
{
    for (size_t i = 0; i < network->count; i++)
        message_release(&network->flying[i]);
    free(network->flying);
    free(network->ways);
    *network = (struct network){0};
}

void message_release(struct message *message)
{
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): each message in the network has bytes of its own
    free(message->bytes);
    message->bytes = NULL;
}

static bool is_cut(const struct network *network, uint32_t from, uint32_t to)
{
    return (from < network->cut_before) != (to < network->cut_before);
}

static bool make_room(struct network *network)
{
    if (network->count < network->room)
        return true;
    size_t room = network->room ? 2 * network->room : 64;
    struct message *flying = realloc(network->flying, room * sizeof *flying);
    if (!flying)
        return false;
    network->flying = flying;
    network->room = room;
    return true;
}

static bool launch(struct network *network, struct message message, const void *bytes)
{
    message.bytes = malloc(message.size);
    if (!message.bytes || !make_room(network)) {
        message_release(&message);
        return false;
    }
    memcpy(message.bytes, bytes, message.size);
    message.due = network->now + 1 + draw(network) % network->longest_delay;
    network->flying[network->count++] = message;
    return true;
}

bool network_send(struct network *network, uint32_t from, uint32_t to, const void *bytes, size_t size)
{
    struct message message = {.from = from, .to = to, .size = size};
    message.serial = ++network->ways[from * network->places + to].sent;
    network->counts.sent++;
    network->counts.bytes += size;
    if (is_cut(network, from, to)) {
        network->counts.cut++;
        return true;
    }
    if (happens(network, network->loss)) {
        network->counts.lost++;
        return true;
    }
    bool twice = happens(network, network->doubling);
    network->counts.doubled += twice;
    return launch(network, message, bytes) && (!twice || launch(network, message, bytes));
}

static struct message take_out(struct network *network, size_t index)
{
    struct message message = network->flying[index];
    network->flying[index] = network->flying[--network->count];
    return message;
}

static void note_arrival(struct network *network, const struct message *message)
{
    uint64_t *highest = &network->ways[message->from * network->places + message->to].arrived;
    network->counts.overtaken += message->serial < *highest;
    *highest = message->serial > *highest ? message->serial : *highest;
}

bool network_receive(struct network *network, struct message *message)
{
    for (size_t i = 0; i < network->count;) {
        if (network->flying[i].due > network->now) {
            i++;
            continue;
        }
        *message = take_out(network, i);
        if (!is_cut(network, message->from, message->to)) {
            note_arrival(network, message);
            return true;
        }
        network->counts.cut++;
        message_release(message);
    }
    return false;
}
