/*
 * Attacks: whatever a peer says, a reconciliation ends in a status or in the right answer. The first bytes choose
 * method and world, and what is tampered with:
 *
 *     a message of a session between two honest sides has some of its bytes changed, or is cut, once; or
 *     the rest of the input is a row of messages, each with its size before it, for one side.
 *
 * A session that was tampered with may fail. If it says that it is over, its result is that of the model, unless the
 * method is an approximate one. Messages of the methods that seal them are given the right seal, since otherwise they
 * are refused at once. And nothing costs more than it may (cost.h).
 */
#include "../tests/cost.h"
#include "../tests/reconciling.h"
#include "reconcile/pin_sketch.h"
#include "reconcile/reconcile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_KEYS = 160, MOST_TURNS = 400 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

struct input {
    const uint8_t *next;
    size_t left;
};

static uint8_t take_byte(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->next++;
}

static struct world make_world(struct input *input, struct both keys[MOST_KEYS])
{
    uint8_t shape = take_byte(input), sizes = take_byte(input);
    struct world world = {.keys = keys, .seed = shape};
    static const roost_reconcile_method methods[] = {ROOST_RECONCILE_AUTO, ROOST_RECONCILE_DBF,
                                                     ROOST_RECONCILE_CCF_QUERY, ROOST_RECONCILE_CCF_DECODE};
    world.config.method = methods[shape >> 6];
    if (shape >> 6 == 0 && shape & 1)
        world.config.method = ROOST_RECONCILE_RIBLT;
    world.config.multiset = shape & 2 && !(shape >> 6 == 0 && shape & 1) && shape >> 6 != 1;
    world.count = (size_t)(sizes & 15) * 10 + (sizes >> 4);
    struct random_source random = random_from_seed(shape);
    for (size_t i = 0; i < world.count; i++) {
        uint64_t kind = random_next(&random) >> 32;
        keys[i].hash = (roost_hash){random_next(&random), shape & 4 ? 1 : random_next(&random)};
        keys[i].here = kind % 4 == 1 ? 0 : 1 + kind / 4 % 3;
        keys[i].there = kind % 4 == 2 ? 0 : kind % 4 == 3 ? 1 + kind / 16 % 3 : keys[i].here;
        if (keys[i].here + keys[i].there == 0)
            keys[i].here = 1;
    }
    return world;
}

/* ---- two honest sides, and somebody between them ----------------------------------------------------------------- */

struct tampering {
    uint32_t message;
    size_t place;
    uint8_t value;
    bool cuts, reseals;
    uint8_t opening[11];
    uint64_t last; /* seal of the message before */
};

/* With the right seal, if seals are chained; the others' do not claim to be exact. */
static void tamper(struct tampering *tampering, roost_buffer *message, uint32_t number, bool chained)
{
    uint64_t last = tampering->last;
    if (number == 0)
        memcpy(tampering->opening, message->data, sizeof tampering->opening);
    tampering->last = chained && message->size > 8 ? load_word(message->data + message->size - 8) : 0;
    if (number != tampering->message || message->size == 0)
        return;
    bool reseals = chained && tampering->reseals && !tampering->cuts && message->size > 8;
    size_t size = message->size - (reseals ? 8 : 0), place = tampering->place % size;
    if (tampering->cuts)
        message->size = place;
    else
        message->data[place] ^= tampering->value;
    if (reseals)
        seal_message(message->data, size, number ? tampering->opening : message->data, number, last);
}

static roost_reconcile *begin_initiator(const struct world *world, roost_buffer *opening, struct cost *cost)
{
    uint64_t drawn = world->seed;
    roost_environment environment = {.entropy = {&drawn, draw_next}, .allocator = cost_allocator(cost)};
    roost_reconcile *session;
    must(roost_reconcile_new_initiator(&session, &world->config, &environment) == ROOST_OK);
    must(add_side(session, world, false) == ROOST_OK);
    must(roost_reconcile_next(session, opening, NULL, 0) == ROOST_OK);
    return session;
}

static bool is_right(const struct world *world, const roost_reconcile *session, bool there)
{
    if (!roost_reconcile_is_done(session))
        return true;
    return !roost_reconcile_get_result(session).exact || result_is_right(world, session, there);
}

/* What comes from the other side, in all, and what may be made of it; counting filters have room for 2^22 keys. */
static void must_be_fair(struct measured *measured, const roost_reconcile *session)
{
    roost_reconcile_result result = roost_reconcile_get_result(session);
    measured->work_for_byte = session->method == &reconcile_exact ? WORK_FOR_BYTE_OF_SUMS : 0;
    uint64_t filters = session->method->approximate ? 4 << 20 : 0;
    must(cost_is_fair(measured, result.received,
                      result.keys * sizeof(struct element) * (1 + result.messages) + filters));
}

static void converse(const struct world *world, struct tampering *tampering)
{
    roost_buffer request, reply = {0};
    struct cost costs[2] = {{0}, {0}};
    roost_environment environment = {.allocator = cost_allocator(&costs[1])};
    roost_reconcile *initiator = begin_initiator(world, &request, &costs[0]), *responder = NULL;
    struct measured measured[2] = {measure(&costs[0]), measure(&costs[1])};
    bool chained = world->config.method == ROOST_RECONCILE_DBF;
    for (uint32_t number = 0; request.size > 0 && number < MOST_TURNS; number += 2) {
        uint64_t since = cost_work;
        tamper(tampering, &request, number, chained);
        if (!responder) {
            if (roost_reconcile_new_responder(&responder, request.data, request.size, &environment) != ROOST_OK)
                break;
            must(add_side(responder, world, true) == ROOST_OK);
        }
        (void)!roost_reconcile_next(responder, &reply, request.data, request.size);
        roost_buffer_release(&request);
        measured_leave_out(&measured[0], since);
        since = cost_work;
        if (reply.size > 0)
            tamper(tampering, &reply, number + 1, chained);
        if (reply.size > 0)
            (void)!roost_reconcile_next(initiator, &request, reply.data, reply.size);
        measured_leave_out(&measured[1], since);
        roost_buffer_release(&reply);
    }
    must_be_fair(&measured[0], initiator);
    if (responder)
        must_be_fair(&measured[1], responder);
    must(is_right(world, initiator, false));
    must(!responder || is_right(world, responder, true));
    must(tampering->value || tampering->cuts ||
         (roost_reconcile_is_done(initiator) && roost_reconcile_is_done(responder)));
    roost_buffer_release(&request);
    roost_reconcile_free(initiator);
    roost_reconcile_free(responder);
    must(costs[0].now == 0 && costs[1].now == 0);
}

/* ---- one side, and somebody who makes up the other --------------------------------------------------------------- */

static void listen(roost_reconcile *session, struct input *input, const uint8_t *opening)
{
    bool sealed = roost_reconcile_get_config(session)->method >= ROOST_RECONCILE_DBF;
    while (input->left > 0) {
        size_t size = take_byte(input);
        size = size < input->left ? size : input->left;
        uint8_t message[256 + 8];
        roost_buffer answer;
        memcpy(message, input->next, size);
        seal_message(message, size, opening, roost_reconcile_get_result(session).messages, session->last_seal);
        (void)!roost_reconcile_next(session, &answer, message, sealed ? size + 8 : size);
        roost_buffer_release(&answer);
        input->next += size;
        input->left -= size;
    }
}

static void hear(const struct world *world, struct input *input, bool as_answering)
{
    roost_buffer opening, reply;
    struct cost costs[2] = {{0}, {0}};
    roost_environment environment = {.allocator = cost_allocator(&costs[1])};
    roost_reconcile *initiator = begin_initiator(world, &opening, &costs[0]), *responder;
    must(roost_reconcile_new_responder(&responder, opening.data, opening.size, &environment) == ROOST_OK);
    must(add_side(responder, world, true) == ROOST_OK);
    must(roost_reconcile_next(responder, &reply, opening.data, opening.size) == ROOST_OK);
    roost_buffer_release(&reply);
    struct measured measured = measure(&costs[as_answering]);
    listen(as_answering ? responder : initiator, input, opening.data);
    must_be_fair(&measured, as_answering ? responder : initiator);
    roost_buffer_release(&opening);
    roost_reconcile_free(initiator);
    roost_reconcile_free(responder);
    must(costs[0].now == 0 && costs[1].now == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    pin_sketch_force(&pin_sketch_plain); /* whose work is counted */
    struct both keys[MOST_KEYS + 16];
    struct world world = make_world(&input, keys);
    uint8_t way = take_byte(&input);
    if (way & 1) {
        hear(&world, &input, way & 2);
        return 0;
    }
    struct tampering tampering = {.message = take_byte(&input)};
    tampering.place = (size_t)take_byte(&input) << 8;
    tampering.place |= take_byte(&input);
    tampering.value = take_byte(&input);
    tampering.cuts = way & 2;
    tampering.reseals = way & 4;
    converse(&world, &tampering);
    return 0;
}
