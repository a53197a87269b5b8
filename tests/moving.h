/* Defragmentation as a server does it: blocks that move, and whose old place is no longer what it was. */
#ifndef TESTS_MOVING_H
#define TESTS_MOVING_H

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static inline void *moved_elsewhere(void *memory)
{
    size_t size = malloc_usable_size(memory);
    void *elsewhere = malloc(size);
    assert_non_null(elsewhere);
    memcpy(elsewhere, memory, size);
    memset(memory, 0xdd, size);
    free(memory);
    return elsewhere;
}

static inline void *move_always(void *context, void *memory)
{
    (void)context;
    return moved_elsewhere(memory);
}

#endif
