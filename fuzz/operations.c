/*
 * Attacks: merge is a join and nothing is ever lost, whatever the operations. The first bytes choose a configuration,
 * each later pair of bytes is an operation on one of three replicas: add, merge, merge through bytes, replace by a
 * copy. An exact model runs beside; at the end all replicas merge in two different orders and must agree to the byte.
 */
#include <stdlib.h>
#include <string.h>

#include "roost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REPLICAS = 3, KEYS = 64 };

struct world {
    roost_filter *replicas[REPLICAS];
    bool added[REPLICAS][KEYS];
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static roost_config config_of(const uint8_t *bytes)
{
    static const double rates[] = {0.3, 0.1, 0.03, 0.01, 0.001, 1e-5};
    roost_config config = roost_config_default();
    config.capacity = 1 + bytes[1] % 80;
    if (bytes[0] & 1) {
        config.layout = bytes[0] & 2 ? ROOST_CLASSIC : ROOST_BLOCKED;
        config.fpr = rates[bytes[2] % 6];
    } else {
        config.kind = ROOST_CUCKOO;
        config.fpr = 0;
        config.fingerprint_bits = 4 + bytes[2] % 29;
        config.bucket_size = 1u << (bytes[0] >> 1 & 3);
    }
    return config;
}

static roost_filter *through_bytes(const roost_filter *filter)
{
    roost_buffer frame;
    roost_filter *decoded;
    must(roost_filter_encode(filter, &frame) == ROOST_OK);
    must(roost_filter_decode(&decoded, frame.data, frame.size, NULL) == ROOST_OK);
    must(roost_filter_equal(filter, decoded));
    roost_buffer_release(&frame);
    return decoded;
}

static void learn(struct world *world, int to, int from)
{
    for (int key = 0; key < KEYS; key++)
        world->added[to][key] |= world->added[from][key];
}

static void operate(struct world *world, uint8_t operation, uint8_t argument)
{
    int at = operation % REPLICAS, other = argument % REPLICAS;
    roost_filter **replica = &world->replicas[at], *copy;
    switch (operation / REPLICAS % 4) {
    case 0:
    case 1: {
        uint8_t key = argument % KEYS;
        roost_status status = roost_filter_add(*replica, NULL, &key, 1);
        must(status == ROOST_OK || status == ROOST_FULL);
        world->added[at][key] |= status == ROOST_OK;
        return;
    }
    case 2:
        must(roost_filter_merge(*replica, NULL, world->replicas[other]) == ROOST_OK);
        learn(world, at, other);
        return;
    default:
        copy = through_bytes(world->replicas[other]);
        must(roost_filter_merge(copy, NULL, *replica) == ROOST_OK);
        roost_filter_free(*replica);
        *replica = copy;
        learn(world, at, other);
    }
}

static void check_model(const struct world *world)
{
    for (int i = 0; i < REPLICAS; i++) {
        must(roost_filter_check(world->replicas[i]) == ROOST_OK);
        for (int key = 0; key < KEYS; key++) {
            uint8_t byte = (uint8_t)key;
            must(!world->added[i][key] || roost_filter_contains(world->replicas[i], &byte, 1));
        }
    }
}

static void check_convergence(struct world *world)
{
    roost_filter *forwards, *backwards;
    must(roost_filter_clone(world->replicas[0], &forwards) == ROOST_OK);
    must(roost_filter_clone(world->replicas[REPLICAS - 1], &backwards) == ROOST_OK);
    for (int i = 0; i < REPLICAS; i++) {
        must(roost_filter_merge(forwards, NULL, world->replicas[i]) == ROOST_OK);
        must(roost_filter_merge(backwards, NULL, world->replicas[REPLICAS - 1 - i]) == ROOST_OK);
    }
    roost_digest a = roost_filter_digest(forwards), b = roost_filter_digest(backwards);
    must(roost_filter_equal(forwards, backwards) && memcmp(&a, &b, sizeof a) == 0);
    roost_filter_free(forwards);
    roost_filter_free(backwards);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || size > 4096)
        return 0;
    struct world world = {0};
    roost_config config = config_of(data);
    for (int i = 0; i < REPLICAS; i++) {
        roost_environment environment = {.random_seed = (uint64_t)i, .kicks = 1 + data[1] / 16};
        must(roost_filter_new(&world.replicas[i], &config, &environment) == ROOST_OK);
    }
    for (size_t i = 3; i + 1 < size; i += 2)
        operate(&world, data[i], data[i + 1]);
    check_model(&world);
    check_convergence(&world);
    for (int i = 0; i < REPLICAS; i++)
        roost_filter_free(world.replicas[i]);
    return 0;
}
