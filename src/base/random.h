/*
 * Random choices: a small generator that its owner seeds and passes in. There is no global one.
 *
 * A test may replace it with a script that makes every choice: the exhaustive tests enumerate all outcomes of an
 * insertion in this way.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

#include "bits.h"

struct random_source {
    uint64_t state;
    uint32_t (*script)(void *context, uint32_t choices); /* NULL outside tests */
    void *context;
};

static inline struct random_source random_from_seed(uint64_t seed)
{
    return (struct random_source){.state = seed};
}

/* One step of a Weyl sequence, folded through a multiplication. */
static inline uint64_t random_next(struct random_source *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    uint128 product = (uint128)random->state * (random->state ^ UINT64_C(0xd1b54a32d192ed03));
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* A number below `choices`, which must not be 0. */
static inline uint32_t random_choice(struct random_source *random, uint32_t choices)
{
    if (__builtin_expect(random->script != NULL, 0))
        return random->script(random->context, choices);
    return (uint32_t)scale_to_range(random_next(random), choices);
}

#endif
