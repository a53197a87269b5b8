/*
 * A script has a fixed number of adds and removes in random order; a remove that would find no key becomes an add. A
 * remove takes one of the present keys, each with the same chance.
 */
#include "script.h"

#include <stdlib.h>

#include "fatal.h"
#include "workload.h"

static uint64_t below(uint64_t *state, uint64_t limit)
{
    return (uint64_t)((unsigned __int128)next_number(state) * limit >> 64);
}

void script_draw(struct script *script, uint64_t seed, size_t first_key, size_t operations, unsigned share)
{
    size_t adds = operations * share / 100, added = 0, present = 0;
    uint32_t *there = must_allocate(adds, sizeof *there);
    *script = (struct script){must_allocate(operations, sizeof *script->steps), operations, adds};
    for (size_t i = 0; i < operations; i++) {
        bool removes = present > 0 && below(&seed, operations - i) >= adds - added;
        size_t which = removes ? (size_t)below(&seed, present) : present;
        if (!removes)
            there[present++] = (uint32_t)(first_key + added++);
        script->steps[i] = (struct step){there[which], removes};
        if (removes)
            there[which] = there[--present];
    }
    free(there);
}

void script_release(struct script *script)
{
    free(script->steps);
    *script = (struct script){0};
}
