/*
 * An allocator that fails when it is told to, and counts what is not given back.
 */
#ifndef TESTS_METER_H
#define TESTS_METER_H

#include "check.h"

struct meter {
    int64_t allowed;     /* allocations until the failure; negative: never */
    bool recovers;       /* only that one fails, not those after it */
    int64_t outstanding; /* not yet released */
    uint64_t failures;
    size_t largest; /* in bytes */
};

static inline void *metered_allocate(void *context, size_t size)
{
    struct meter *meter = context;
    if (meter->allowed == 0) {
        meter->failures++;
        meter->allowed = meter->recovers ? -1 : 0;
        return NULL;
    }
    meter->allowed--;
    meter->outstanding++;
    meter->largest = size > meter->largest ? size : meter->largest;
    return calloc(1, size);
}

static inline void metered_release(void *context, void *memory)
{
    struct meter *meter = context;
    assert_non_null(memory);
    meter->outstanding--;
    free(memory);
}

/* Begins to count; nothing fails so far. */
static inline roost_allocator allocator_of(struct meter *meter)
{
    *meter = (struct meter){.allowed = -1};
    return (roost_allocator){meter, metered_allocate, metered_release};
}

#endif
