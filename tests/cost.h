/*
 * What input from strangers may cost, as a property that tests and fuzzers share.
 *
 *     memory   bytes that are allocated at the same time, beyond those of before: counted by an allocator
 *     work     basic blocks of the library that are run: counted by the compiler's coverage hook, in a build of the
 *              library of its own (src/meson.build, `counted`). The same on every machine, however busy it is
 *
 * A call that was handed `received` bytes, all in all, and whose object holds `own` bytes may take
 *
 *     memory   4 MiB + 1 KiB for each byte received + 8 bytes for each own byte
 *     work     10^7  + 5,000 for each byte received + 200 for each own byte
 *
 * Tables, lists and sums that are in proportion to the input are well below; whatever a few bytes can name, and that is
 * not in proportion to anything here, is above. A caller that knows of dearer work which is in proportion to the input
 * says how much a byte may cause (struct measured).
 *
 * Work is counted for the whole process. Where two sides talk, each is charged with its own: what the other one has
 * done in between is left out.
 */
#ifndef TESTS_COST_H
#define TESTS_COST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "roost.h"

struct cost {
    uint64_t now, most; /* bytes allocated, now and at most */
};

/* Of this process; 0 for ever where the library does not count. */
#ifdef COUNTS_WORK
extern uint64_t cost_work;
#else
static const uint64_t cost_work = 0;
#endif

static inline void *cost_allocate(void *context, size_t size)
{
    struct cost *cost = context;
    uint64_t *block = calloc(1, size + 16);
    if (!block)
        return NULL;
    *block = size;
    cost->now += size;
    cost->most = cost->now > cost->most ? cost->now : cost->most;
    return block + 2;
}

static inline void cost_release(void *context, void *memory)
{
    struct cost *cost = context;
    uint64_t *block = (uint64_t *)memory - 2;
    cost->now -= *block;
    free(block);
}

static inline roost_allocator cost_allocator(struct cost *cost)
{
    return (roost_allocator){cost, cost_allocate, cost_release};
}

/* A call, or several, being measured. */
struct measured {
    struct cost *cost;
    uint64_t before, work;
    uint64_t work_for_byte; /* on top of the 5,000 */
};

static inline struct measured measure(struct cost *cost)
{
    cost->most = cost->now;
    return (struct measured){.cost = cost, .before = cost->now, .work = cost_work};
}

/* All that was done since cost_work was `since` is another's. */
static inline void measured_leave_out(struct measured *measured, uint64_t since)
{
    measured->work += cost_work - since;
}

static inline uint64_t measured_memory(const struct measured *measured)
{
    return measured->cost->most - measured->before;
}

static inline uint64_t measured_work(const struct measured *measured)
{
    return cost_work - measured->work;
}

static inline bool cost_is_fair(const struct measured *measured, uint64_t received, uint64_t own)
{
    uint64_t memory = (UINT64_C(4) << 20) + 1024 * received + 8 * own;
    uint64_t work = 10000000 + (5000 + measured->work_for_byte) * received + 200 * own;
    bool fair = measured_memory(measured) <= memory && measured_work(measured) <= work;
    if (!fair)
        fprintf(stderr, "%llu bytes received, %llu own: %llu bytes of memory, %llu blocks of work\n",
                (unsigned long long)received, (unsigned long long)own, (unsigned long long)measured_memory(measured),
                (unsigned long long)measured_work(measured));
    return fair;
}

#endif
