/*
 * Actors are random numbers, and a frame contains them. With the entropy of the operating system, sizes would differ by
 * a byte between two runs, and digests always.
 */
#include "environment.h"

#include <string.h>

#include "workload.h"

static bool draw_bytes(void *context, void *bytes, size_t size)
{
    for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
        uint64_t number = next_number(context);
        memcpy((char *)bytes + done, &number, size - done < sizeof number ? size - done : sizeof number);
    }
    return true;
}

roost_environment seeded_environment(uint64_t *state, uint64_t seed)
{
    *state = ~seed;
    return (roost_environment){
        .random_seed = seed, .kicks = ROOST_DEFAULT_KICKS, .entropy = {.context = state, .draw = draw_bytes}};
}
