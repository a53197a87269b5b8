/*
 * Attacks: no message, whatever it is, breaks a filter, and a sync that is left alone ends with both sides equal to the
 * merge of the two. The first bytes choose the kind of filter and the room of the journals; then either
 *
 *     pairs of bytes are operations on two replicas: add, remove, save and restore, sync, sync while the responder
 *     changes, sync with one message tampered with; or
 *     the rest is one message, with a right checksum, for the responder or, at some step, the initiator.
 *
 * A forged message may say anything that a replica could say; but filters stay valid and never forget, and no message
 * costs more than it may (cost.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "observed/orcuckoo.h"
#include "sync/messages.h"
#include "sync/ranges.h"
#include "../tests/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KEYS = 48, MOST_MESSAGES = 64, MOST_OPERATIONS = 40 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void must_do(roost_status status)
{
    must(status == ROOST_OK);
}

/* ---- two replicas ------------------------------------------------------------------------------------------------ */

struct world {
    roost_filter *a, *b; /* the initiator, the responder */
    roost_environment environment;
    roost_buffer memory;
    uint64_t drawn;
    struct cost cost;
    bool forged; /* a message was forged: the memory of the peer may be wrong as well */
};

static bool draw(void *context, void *bytes, size_t size)
{
    uint64_t *drawn = context, number = ++*drawn * UINT64_C(0x9e3779b97f4a7c15);
    memcpy(bytes, &number, size < sizeof number ? size : sizeof number);
    return true;
}

/* Windows and counters, of fixed size and those that grow. */
static roost_config timed_config(uint8_t choice)
{
    roost_config config = roost_window_config_default(choice & 1 ? ROOST_COUNTER : ROOST_WINDOW, 60 * ROOST_SECOND);
    config.layout = choice & 4 ? ROOST_BLOCKED : ROOST_CLASSIC;
    config.scalable = choice & 2;
    config.capacity = 40;
    config.fpr = 0.01;
    return config;
}

static roost_config config_of(uint8_t choice)
{
    roost_config config = roost_config_default();
    if (choice >= 248)
        return timed_config(choice);
    if (choice >= 246) { /* removals are recorded */
        config.kind = ROOST_ORCUCKOO;
        config.scalable = true;
        config.semantics = choice == 246 ? ROOST_REMOVE_WINS : ROOST_LAST_WRITER_WINS;
        return config;
    }
    config.capacity = 4 + choice / 8;
    config.scalable = choice % 8 < 4 && choice >= 192; /* some of them grow */
    switch (choice % 8) {
    case 0:
        config.layout = ROOST_CLASSIC;
        break;
    case 1:
        break;
    case 2:
        config.kind = ROOST_CUCKOO;
        config.fpr = 0;
        config.fingerprint_bits = 4 + choice / 8 % 20;
        break;
    default:
        config.kind = ROOST_ORCUCKOO;
        config.fpr = 0;
        config.multiset = choice % 8 > 4;
        config.fingerprint_bits = config.multiset ? 8 : 16;
        config.entry_bits = choice % 8 == 7 ? 32 : 64;
    }
    if (config.scalable) {
        config.fpr = 0.01;
        config.fingerprint_bits = 0;
    }
    return config;
}

static void world_open(struct world *world, uint8_t kind, uint8_t journal)
{
    roost_config config = config_of(kind);
    *world = (struct world){0};
    world->environment = (roost_environment){.allocator = cost_allocator(&world->cost),
                                             .kicks = 8,
                                             .entropy = {&world->drawn, draw},
                                             .journal = 1 + journal % 64,
                                             .memory_limit = 1 << 22};
    must_do(roost_filter_new(&world->a, &config, &world->environment));
    must_do(roost_filter_new(&world->b, &config, &world->environment));
}

static void world_close(struct world *world)
{
    roost_buffer_release(&world->memory);
    roost_filter_free(world->a);
    roost_filter_free(world->b);
    must(world->cost.now == 0);
}

/* What one message of a few bytes may cost a filter that is small. */
static void must_be_fair(const struct measured *measured, const roost_filter *filter, size_t size)
{
    roost_info info;
    roost_filter_get_brief_info(filter, &info);
    must(cost_is_fair(measured, size, info.bytes_memory));
}

/* Where there is time, it passes with the keys: some of the others are forgotten then. */
static void add(roost_filter *filter, uint8_t key)
{
    bool applied;
    uint64_t time = (1000 + 4 * key) * ROOST_SECOND;
    if (filter->config->kind == ROOST_WINDOW)
        (void)!roost_window_add(filter, NULL, &key, 1, time);
    else if (filter->config->kind == ROOST_COUNTER)
        (void)!roost_counter_increment(filter, &applied, NULL, &key, 1, key - 3, time);
    else
        (void)!roost_filter_add(filter, NULL, &key, 1);
}

static void change(roost_filter *filter, bool adds, uint8_t key)
{
    key %= KEYS;
    if (adds)
        add(filter, key);
    else if (key & 1)
        (void)roost_filter_remove(filter, NULL, &key, 1);
    else
        (void)roost_filter_remove_one(filter, NULL, &key, 1);
}

static roost_filter *clone_of(const roost_filter *filter)
{
    roost_filter *copy;
    must_do(roost_filter_clone(filter, &copy));
    return copy;
}

static bool included(const roost_filter *a, const roost_filter *b)
{
    roost_order order;
    must_do(roost_filter_compare(a, &order, b));
    return order == ROOST_EQUAL || order == ROOST_BEFORE;
}

static void nap(struct world *world, roost_filter **filter, bool as_the_same)
{
    roost_buffer frame, replica;
    must_do(roost_filter_encode(*filter, &frame));
    must_do(roost_filter_save_replica(*filter, &replica));
    roost_filter_free(*filter);
    must_do(roost_filter_decode(filter, frame.data, frame.size, &world->environment));
    if (as_the_same)
        must_do(roost_filter_restore_replica(*filter, replica.data, replica.size));
    roost_buffer_release(&frame);
    roost_buffer_release(&replica);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void seal(const roost_filter *filter, uint8_t *message, size_t size, uint64_t request)
{
    if (size >= 9 && message[0] != HELLO && message[0] != FAILURE)
        store_word(message + size - 8, hash_bytes(configuration_hash(filter).high, message, size - 8).low ^ request);
}

/* What becomes of the messages of one exchange. */
struct course {
    int changes_at, tampers_at; /* message numbers: requests are even, replies odd; negative: never */
    uint8_t how, where;
    int messages;
};

/* In memory of its exact size; flipped, cut or overwritten. */
static void tamper(struct world *world, const struct course *course, roost_buffer *message, uint64_t request)
{
    size_t size = message->size, at = size * course->where / 256;
    if (course->how & 1)
        size = at + !at;
    uint8_t *copy = malloc(size);
    memcpy(copy, message->data, size);
    if (!(course->how & 1))
        copy[at] ^= course->how & 2 ? (uint8_t)(1 << course->how / 8 % 8) : course->how;
    if (course->how & 4) {
        seal(world->a, copy, size, request);
        world->forged = true;
    }
    roost_buffer_release(message);
    *message = (roost_buffer){copy, size, allocator_or_default((roost_allocator){0})};
}

static void pass_on(struct world *world, struct course *course, roost_buffer *message, uint64_t request)
{
    if (course->messages == course->changes_at)
        for (uint8_t i = 0; i <= course->where % 80; i++)
            change(world->b, course->how >> i % 8 & 1, (uint8_t)(course->where + i));
    if (course->messages++ == course->tampers_at && message->size > 0)
        tamper(world, course, message, request);
    must(course->messages < MOST_MESSAGES);
}

/* The result of an exchange, which may have failed; filters are valid, and have forgotten nothing. */
static roost_sync_result exchange(struct world *world, struct course *course, roost_status *status)
{
    roost_filter *a = clone_of(world->a), *b = clone_of(world->b);
    roost_buffer request, reply = {0};
    roost_sync *sync;
    must_do(roost_sync_new(&sync, world->a, world->memory.data, world->memory.size));
    for (;;) {
        *status = roost_sync_next(sync, &request, reply.data, reply.size);
        roost_buffer_release(&reply);
        must_do(roost_filter_check(world->a));
        if (*status != ROOST_OK || request.size == 0)
            break;
        uint64_t asked = request_hash(world->a, request.data, request.size);
        pass_on(world, course, &request, 0);
        (void)!roost_sync_reply(world->b, &reply, NULL, request.data, request.size);
        must_do(roost_filter_check(world->b));
        pass_on(world, course, &reply, asked);
        roost_buffer_release(&request);
    }
    roost_sync_result result = roost_sync_get_result(sync);
    roost_buffer_release(&world->memory);
    must_do(roost_sync_save_memory(sync, &world->memory));
    roost_sync_free(sync);
    must(included(a, world->a) && included(b, world->b));
    roost_filter_free(a);
    roost_filter_free(b);
    return result;
}

/* Without interference both are the merge of the two, or there is no room for it. */
static void exchange_alone(struct world *world)
{
    struct course course = {.changes_at = -1, .tampers_at = -1};
    roost_filter *expected = clone_of(world->a);
    roost_status merged = roost_filter_merge(expected, NULL, world->b), status;
    roost_sync_result result = exchange(world, &course, &status);
    if (status == ROOST_OK) {
        must(merged == ROOST_OK && result.equal);
        must(roost_filter_equal(world->a, expected) && roost_filter_equal(world->b, expected));
    } else {
        must(world->forged && (status == ROOST_TOO_LARGE || status == ROOST_NO_MEMORY));
    }
    roost_filter_free(expected);
}

static void exchange_disturbed(struct world *world, uint8_t where, uint8_t how, bool tampers)
{
    int at = where % 16;
    struct course course = {
        .changes_at = tampers ? -1 : at & ~1, .tampers_at = tampers ? at : -1, .how = how, .where = where};
    roost_filter *a = clone_of(world->a), *b = clone_of(world->b);
    roost_status status;
    roost_sync_result result = exchange(world, &course, &status);
    if (!tampers && !world->forged) {
        must_do(status);
        must(included(b, world->a) && included(a, world->b));
        must(!result.equal || roost_filter_equal(world->a, world->b));
    }
    roost_filter_free(a);
    roost_filter_free(b);
}

/* ---- the two ways ------------------------------------------------------------------------------------------------ */

static void operate(struct world *world, uint8_t operation, uint8_t argument)
{
    switch (operation % 8) {
    case 0:
    case 1:
    case 2:
        change(operation & 8 ? world->a : world->b, operation % 8 != 2, argument);
        return;
    case 3:
        for (uint8_t i = 0; i < argument % 32; i++)
            change(operation & 8 ? world->a : world->b, operation & 16, (uint8_t)(operation / 32 + i));
        return;
    case 4:
        exchange_alone(world);
        return;
    case 5:
        exchange_disturbed(world, argument, operation, false);
        return;
    case 6:
        exchange_disturbed(world, argument, operation, true);
        return;
    default:
        nap(world, argument & 1 ? &world->a : &world->b, argument & 2);
    }
}

static void take_request(struct world *world, uint8_t *message, size_t size)
{
    roost_filter *before = clone_of(world->b);
    roost_buffer reply;
    seal(world->b, message, size, 0);
    struct measured measured = measure(&world->cost);
    roost_status status = roost_sync_reply(world->b, &reply, NULL, message, size);
    must_be_fair(&measured, world->b, size);
    must_do(roost_filter_check(world->b));
    must(included(before, world->b) && (status == ROOST_OK || included(world->b, before)));
    roost_buffer_release(&reply);
    roost_filter_free(before);
}

/* As the reply to request number `step`, if the exchange gets so far. */
static void take_reply(struct world *world, unsigned step, uint8_t *message, size_t size)
{
    roost_filter *before = NULL;
    roost_buffer request, reply = {0};
    roost_sync *sync;
    roost_status status;
    must_do(roost_sync_new(&sync, world->a, world->memory.data, world->memory.size));
    do {
        must_do(roost_sync_next(sync, &request, reply.data, reply.size));
        roost_buffer_release(&reply);
        if (request.size > 0 && step > 0)
            must_do(roost_sync_reply(world->b, &reply, NULL, request.data, request.size));
        else if (request.size > 0) {
            before = clone_of(world->a);
            seal(world->a, message, size, request_hash(world->a, request.data, request.size));
        }
        roost_buffer_release(&request);
    } while (step-- > 0 && reply.size > 0);
    if (before) {
        struct measured measured = measure(&world->cost);
        status = roost_sync_next(sync, &request, message, size);
        must_be_fair(&measured, world->a, size);
        must(status == ROOST_OK || request.size == 0);
        roost_buffer_release(&request);
        must_do(roost_filter_check(world->a));
        must(included(before, world->a));
        roost_filter_free(before);
    }
    roost_sync_free(sync);
}

/* The first two bytes say what the replicas are like, and where the message goes. */
static void take_message(struct world *world, const uint8_t *data, size_t size)
{
    uint8_t *message = calloc(1, size - 2 + 8); /* its exact size */
    for (uint8_t key = 0; key < data[0] % 24; key++)
        change(key % 3 ? world->b : world->a, true, key);
    if (data[0] & 128)
        exchange_alone(world);
    for (uint8_t key = 0; key < data[0] % 16; key++)
        change(key & 1 ? world->b : world->a, key % 4 < 2, (uint8_t)(key + 10));
    world->forged = true;
    memcpy(message, data + 2, size - 2);
    if (data[1] & 1)
        take_request(world, message, size - 2 + 8);
    else
        take_reply(world, data[1] / 2 % 6, message, size - 2 + 8);
    free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world;
    if (size < 5 || size > 4096)
        return 0;
    world_open(&world, data[0], data[1]);
    if (data[2] & 1)
        take_message(&world, data + 3, size - 3);
    for (size_t i = 3; !(data[2] & 1) && i + 1 < size && i < 2 * MOST_OPERATIONS; i += 2)
        operate(&world, data[i], data[i + 1]);
    roost_buffer_release(&world.memory); /* which forged messages may have spoilt */
    exchange_alone(&world);
    exchange_alone(&world);
    world_close(&world);
    return 0;
}
