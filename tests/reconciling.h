/* Two sides of a reconciliation in one process: what the tests and the fuzzer of it share. */
#ifndef TESTS_RECONCILING_H
#define TESTS_RECONCILING_H

#include <stdlib.h>
#include <string.h>

#include "roost.h"
#include "base/bits.h"
#include "base/hash.h"
#include "base/random.h"

/* Numbers in a row instead of the operating system's. */
static inline bool draw_next(void *context, void *bytes, size_t size)
{
    uint64_t *next = context, number = ++*next * UINT64_C(0x9e3779b97f4a7c15);
    memset(bytes, 0, size);
    memcpy(bytes, &number, size < sizeof number ? size : sizeof number);
    return true;
}

/* The exact model: a key is a number, and each side has it so many times. */
struct both {
    roost_hash hash;
    uint64_t here, there;
};

struct world {
    roost_reconcile_config config;
    struct both *keys;
    size_t count;
    uint64_t seed;
};

/* A side of the session, with all keys that the model says it has; in parts, if there are several. */
static inline roost_status add_side(roost_reconcile *session, const struct world *world, bool there)
{
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < world->count && status == ROOST_OK; i++) {
        uint64_t count = there ? world->keys[i].there : world->keys[i].here;
        uint64_t part = count > 2 ? count / 3 : count;
        if (part)
            status = roost_reconcile_add_hash(session, world->keys[i].hash, part);
        if (status == ROOST_OK && count > part)
            status = roost_reconcile_add_hash(session, world->keys[i].hash, count - part);
    }
    return status;
}

/* Ends a message, whose buffer has eight bytes more, as one who means it: message number `number` of the session that
   `opening` opened, after a message with the seal `last` (0 where seals are not chained). */
static inline void seal_message(uint8_t *message, size_t size, const uint8_t *opening, uint32_t number, uint64_t last)
{
    store_word(message + size, hash_bytes(load_word(opening + 3) + number + last, message, size).low);
}

/*
 * Blocks of work that a byte of sums may cause on top of tests/cost.h. A sum of 32 bits is decoded together with up to
 * 95 others, and as portions of a quarter more come, several times: some thousand multiplications. The kernel whose
 * work is counted takes 40 blocks for one, and a hundred under sanitizers; processors have an instruction for it.
 */
#define WORK_FOR_BYTE_OF_SUMS 100000

/* What `add_side` numbers its keys by. */
static inline size_t calls_for(uint64_t count)
{
    return count == 0 ? 0 : count > 2 ? 2 : 1;
}

static inline bool differs(const struct world *world, size_t key)
{
    const struct both *both = &world->keys[key];
    return world->config.multiset ? both->here != both->there : !both->here != !both->there;
}

/* Whether one side's result is what the model says. */
static inline bool result_is_right(const struct world *world, const roost_reconcile *session, bool there)
{
    roost_reconcile_result result = roost_reconcile_get_result(session);
    roost_difference *differences = calloc(result.only_here + 1, sizeof *differences);
    uint64_t found = 0, index = 0, other = 0, changed = 0;
    bool right = differences && roost_reconcile_is_done(session);
    if (right)
        roost_reconcile_get_differences(session, differences);
    for (size_t i = 0; i < world->count; i++) {
        uint64_t here = there ? world->keys[i].there : world->keys[i].here;
        uint64_t far = there ? world->keys[i].here : world->keys[i].there;
        bool is_changed = differs(world, i) && here && far;
        if (right && here && differs(world, i)) {
            const roost_difference *difference = &differences[found++];
            right = found <= result.only_here && difference->index == index &&
                    difference->count_here == (world->config.multiset ? here : 1) &&
                    difference->count_there == (is_changed ? far : 0);
        }
        other += far && differs(world, i);
        changed += is_changed;
        index += calls_for(here);
    }
    right = right && found == result.only_here && other == result.only_there && changed == result.changed;
    free(differences);
    return right;
}

#endif
