/*
 * Attacks: merge is a join and nothing is ever lost, whatever the operations. The first bytes choose a configuration,
 * each later pair of bytes is an operation on one of three replicas: add, remove, merge, merge through bytes, a delta
 * that arrives or is lost, a copy in the place of a replica, a replica that is saved and restored. An exact model runs
 * beside: the keys that were added, or, where elements are removed, all dots with their standing at each replica. At
 * the end all replicas merge in two different orders and must agree to the byte.
 */
#include <stdlib.h>
#include <string.h>

#include "observed/orcuckoo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REPLICAS = 3, KEYS = 64, MOST_DOTS = 2100 };
enum standing { UNSEEN, LIVE, DEAD };

struct world {
    roost_config config;
    roost_filter *replicas[REPLICAS];
    roost_cursor cursors[REPLICAS][REPLICAS]; /* what the first has sent to the second */
    bool added[REPLICAS][KEYS];
    struct {
        roost_dot dot;
        uint64_t key; /* of its class */
        struct place place;
    } dots[MOST_DOTS];
    uint8_t standing[REPLICAS][MOST_DOTS];
    uint32_t count;
    uint64_t entropy;
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static bool draw_numbers(void *context, void *bytes, size_t size)
{
    uint64_t *next = context;
    *next = *next * UINT64_C(0xd1342543de82ef95) + 1; /* all different, in no order */
    memset(bytes, 0, size);
    memcpy(bytes, next, size < sizeof *next ? size : sizeof *next);
    return true;
}

static roost_config config_of(const uint8_t *bytes)
{
    static const double rates[] = {0.3, 0.1, 0.03, 0.01, 0.001, 1e-5};
    roost_config config = roost_config_default();
    config.capacity = 1 + bytes[1] % 80;
    if (bytes[0] & 1) {
        config.layout = bytes[0] & 2 ? ROOST_CLASSIC : ROOST_BLOCKED;
        config.fpr = rates[bytes[2] % 6];
        return config;
    }
    config.kind = bytes[0] & 8 ? ROOST_ORCUCKOO : ROOST_CUCKOO;
    config.fpr = 0;
    config.bucket_size = 1u << (bytes[0] >> 1 & 3);
    config.fingerprint_bits = 4 + bytes[2] % 29;
    if (config.kind == ROOST_ORCUCKOO) {
        config.multiset = bytes[0] & 16;
        config.entry_bits = (bytes[0] & 48) == 48 ? 32 : 64;
        config.fingerprint_bits = config.entry_bits == 32 ? 8
                                  : config.multiset       ? 8 + bytes[2] % 21
                                                          : 16 + bytes[2] % 13;
    }
    return config;
}

static bool has_dots(const struct world *world)
{
    return world->config.kind == ROOST_ORCUCKOO;
}

/* ---- the model of dots ------------------------------------------------------------------------------------------- */

static enum standing standing_of(const struct world *world, const roost_filter *base, uint32_t i)
{
    const struct orcuckoo *filter = as_const_orcuckoo(base);
    uint32_t number = actors_find(&filter->observed.actors, world->dots[i].dot.actor),
             counter = (uint32_t)world->dots[i].dot.counter;
    if (number == NO_ACTOR || !causal_contains(&filter->observed.causal, world->dots[i].dot.actor, counter))
        return UNSEEN;
    return holds_entry(filter, &world->dots[i].place, number, counter) ? LIVE : DEAD;
}

static struct place place_of_key(const struct world *world, uint8_t key)
{
    const roost_filter *filter = world->replicas[0];
    return place_of_hash(roost_filter_hash(filter, &key, 1), as_const_orcuckoo(filter)->table.geometry);
}

static uint64_t class_of_key(const struct world *world, uint8_t key)
{
    return class_key(place_of_key(world, key), as_const_orcuckoo(world->replicas[0])->table.geometry);
}

static uint32_t live_of(const struct world *world, int at, uint64_t key)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < world->count; i++)
        live += world->dots[i].key == key && world->standing[at][i] == LIVE;
    return live;
}

static void kill(struct world *world, int at, uint64_t key)
{
    for (uint32_t i = 0; i < world->count; i++)
        if (world->dots[i].key == key && world->standing[at][i] == LIVE)
            world->standing[at][i] = DEAD;
}

static void check_dots(const struct world *world, int at)
{
    const roost_filter *filter = world->replicas[at];
    uint64_t live = 0, seen = 0;
    for (uint32_t i = 0; i < world->count; i++) {
        must(standing_of(world, filter, i) == world->standing[at][i]);
        live += world->standing[at][i] == LIVE;
        seen += world->standing[at][i] != UNSEEN;
    }
    roost_info info;
    roost_filter_get_info(filter, &info);
    must(info.entries == live && info.dots == seen);
    for (int key = 0; key < KEYS; key += 5) {
        uint8_t byte = (uint8_t)key;
        uint32_t copies = live_of(world, at, class_of_key(world, byte));
        must(roost_filter_count(filter, &byte, 1) == (world->config.multiset ? copies : copies > 0));
        must(roost_filter_contains(filter, &byte, 1) == (copies > 0));
    }
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void add(struct world *world, int at, uint8_t key)
{
    roost_filter *filter = world->replicas[at];
    roost_dot dot;
    if (!has_dots(world)) {
        roost_status status = roost_filter_add(filter, NULL, &key, 1);
        must(status == ROOST_OK || status == ROOST_FULL);
        world->added[at][key] |= status == ROOST_OK;
        return;
    }
    bool held = roost_filter_contains(filter, &key, 1);
    roost_status status = roost_filter_add_dot(filter, &dot, &key, 1);
    must(status == ROOST_OK || (status == ROOST_FULL && (world->config.multiset || !held) && dot.actor == 0));
    if (status != ROOST_OK)
        return;
    if (!world->config.multiset)
        kill(world, at, class_of_key(world, key));
    uint32_t i = world->count++;
    world->dots[i].dot = dot;
    world->dots[i].key = class_of_key(world, key);
    world->dots[i].place = place_of_key(world, key);
    for (int other = 0; other < REPLICAS; other++)
        world->standing[other][i] = other == at ? LIVE : UNSEEN;
}

static void remove_key(struct world *world, int at, uint8_t key)
{
    bool changed;
    must(roost_filter_remove(world->replicas[at], &changed, &key, 1) == ROOST_OK);
    must(changed == (live_of(world, at, class_of_key(world, key)) > 0));
    kill(world, at, class_of_key(world, key));
}

static void remove_one(struct world *world, int at, uint8_t key)
{
    bool changed;
    uint64_t class = class_of_key(world, key);
    uint32_t live = live_of(world, at, class);
    roost_status status = roost_filter_remove_one(world->replicas[at], &changed, &key, 1);
    must(status == (world->config.multiset ? ROOST_OK : ROOST_UNSUPPORTED));
    must(changed == (live > 0 && world->config.multiset));
    for (uint32_t i = 0; i < world->count; i++)
        if (world->dots[i].key == class)
            world->standing[at][i] = (uint8_t)standing_of(world, world->replicas[at], i);
    must(live_of(world, at, class) == live - changed);
}

static void remove_dot(struct world *world, int at, uint32_t i)
{
    bool changed;
    roost_hash hash = {0, 0};
    for (int key = 0; key < KEYS; key++) { /* some element of its class */
        uint8_t byte = (uint8_t)key;
        if (class_of_key(world, byte) == world->dots[i].key)
            hash = roost_filter_hash(world->replicas[at], &byte, 1);
    }
    must(roost_filter_remove_dot_hash(world->replicas[at], &changed, hash, world->dots[i].dot) == ROOST_OK);
    must(changed == (world->standing[at][i] == LIVE));
    if (changed)
        world->standing[at][i] = DEAD;
}

static void learn(struct world *world, int to, int from)
{
    for (int key = 0; key < KEYS; key++)
        world->added[to][key] |= world->added[from][key];
    for (uint32_t i = 0; i < world->count; i++)
        if (world->standing[to][i] < world->standing[from][i])
            world->standing[to][i] = world->standing[from][i];
}

static roost_filter *through_bytes(struct world *world, const roost_filter *filter)
{
    roost_buffer frame;
    roost_filter *decoded;
    roost_environment environment = whole_environment(world->replicas[0]);
    must(roost_filter_encode(filter, &frame) == ROOST_OK);
    must(roost_filter_decode(&decoded, frame.data, frame.size, &environment) == ROOST_OK);
    must(roost_filter_equal(filter, decoded) && roost_filter_check(decoded) == ROOST_OK);
    roost_buffer_release(&frame);
    return decoded;
}

/* A delta from one to the other, which may be lost; a replica that lost one starts again. */
static void send(struct world *world, int from, int to, bool lost)
{
    roost_buffer frame;
    roost_filter *part, *expected;
    roost_cursor *cursor = &world->cursors[from][to];
    must(roost_filter_encode_delta(world->replicas[from], &frame, cursor, cursor) == ROOST_OK);
    if (lost) {
        *cursor = (roost_cursor){0, 0};
    } else {
        must(roost_filter_decode(&part, frame.data, frame.size, NULL) == ROOST_OK);
        must(roost_filter_clone(world->replicas[to], &expected) == ROOST_OK);
        must(roost_filter_merge(expected, NULL, part) == ROOST_OK);
        must(roost_filter_merge_frame(world->replicas[to], NULL, frame.data, frame.size) == ROOST_OK);
        must(roost_filter_equal(expected, world->replicas[to]));
        learn(world, to, from); /* a replica that got all deltas has everything */
        roost_filter_free(part);
        roost_filter_free(expected);
    }
    roost_buffer_release(&frame);
}

/* Another replica in the place of this one, with a copy of the other's state: those that sent it deltas start
   again. */
static void replace(struct world *world, int at, int other, bool by_bytes)
{
    roost_filter *copy;
    if (at == other)
        return;
    if (by_bytes)
        copy = through_bytes(world, world->replicas[other]);
    else
        must(roost_filter_clone(world->replicas[other], &copy) == ROOST_OK);
    must(roost_filter_get_actor(copy) == 0);
    if (!has_dots(world)) { /* nothing is ever lost there */
        must(roost_filter_merge(copy, NULL, world->replicas[at]) == ROOST_OK);
        learn(world, at, other);
    } else {
        memcpy(world->standing[at], world->standing[other], sizeof world->standing[at]);
        for (int i = 0; i < REPLICAS; i++)
            world->cursors[i][at] = (roost_cursor){0, 0};
    }
    roost_filter_free(world->replicas[at]);
    world->replicas[at] = copy;
}

static void save_and_restore(struct world *world, int at)
{
    roost_filter *saved = world->replicas[at], *restored = through_bytes(world, saved);
    roost_buffer replica;
    must(roost_filter_save_replica(saved, &replica) == ROOST_OK);
    must(roost_filter_restore_replica(restored, replica.data, replica.size) == ROOST_OK);
    must(roost_filter_get_actor(restored) == roost_filter_get_actor(saved));
    roost_buffer_release(&replica);
    roost_filter_free(saved);
    world->replicas[at] = restored;
}

static void operate(struct world *world, uint8_t operation, uint8_t argument)
{
    int at = operation % REPLICAS, other = argument % REPLICAS;
    uint8_t key = argument % KEYS;
    roost_filter *copy;
    switch (operation / REPLICAS % 12) {
    case 3:
        must(roost_filter_merge(world->replicas[at], NULL, world->replicas[other]) == ROOST_OK);
        learn(world, at, other);
        return;
    case 4:
        copy = through_bytes(world, world->replicas[other]);
        must(roost_filter_merge(world->replicas[at], NULL, copy) == ROOST_OK);
        roost_filter_free(copy);
        learn(world, at, other);
        return;
    case 5:
    case 6:
        if (at != other)
            send(world, at, other, argument >= 240);
        return;
    case 7:
        replace(world, at, other, argument & 128);
        return;
    case 8:
        save_and_restore(world, at);
        return;
    case 9:
        if (has_dots(world))
            remove_key(world, at, key);
        return;
    case 10:
        if (has_dots(world))
            remove_one(world, at, key);
        return;
    case 11:
        if (has_dots(world) && world->count > 0)
            remove_dot(world, at, argument % world->count);
        return;
    default:
        add(world, at, key);
    }
}

static void check_model(const struct world *world)
{
    for (int i = 0; i < REPLICAS; i++) {
        must(roost_filter_check(world->replicas[i]) == ROOST_OK);
        if (has_dots(world))
            check_dots(world, i);
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
    static struct world world;
    if (size < 3 || size > 4096)
        return 0;
    world = (struct world){.config = config_of(data)};
    for (int i = 0; i < REPLICAS; i++) {
        roost_environment environment = {.random_seed = (uint64_t)i,
                                         .kicks = 1 + data[1] / 16,
                                         .entropy = {&world.entropy, draw_numbers},
                                         .journal = 1 + data[2] / 4};
        must(roost_filter_new(&world.replicas[i], &world.config, &environment) == ROOST_OK);
    }
    for (size_t i = 3; i + 1 < size; i += 2)
        operate(&world, data[i], data[i + 1]);
    check_model(&world);
    check_convergence(&world);
    for (int i = 0; i < REPLICAS; i++)
        roost_filter_free(world.replicas[i]);
    return 0;
}
