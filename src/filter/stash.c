#include "stash.h"

#include <string.h>

#define SMALLEST_ROOM 16

static void put(struct stash *stash, uint64_t key)
{
    uint64_t i = stash_start(stash, key);
    while (stash->keys[i])
        i = (i + 1) & (stash->room - 1);
    stash->keys[i] = key;
    stash->count++;
}

static bool grow(struct stash *stash, const roost_allocator *allocator)
{
    struct stash larger = {.room = stash->room ? stash->room * 2 : SMALLEST_ROOM};
    larger.keys = memory_allocate(allocator, larger.room * sizeof *larger.keys);
    if (!larger.keys)
        return false;
    for (uint64_t i = 0; i < stash->room; i++)
        if (stash->keys[i])
            put(&larger, stash->keys[i]);
    stash_release(stash, allocator);
    *stash = larger;
    return true;
}

bool stash_insert(struct stash *stash, const roost_allocator *allocator, uint64_t key)
{
    if ((stash->count + 1) * 2 > stash->room && !grow(stash, allocator))
        return false;
    put(stash, key);
    return true;
}

bool stash_copy(struct stash *copy, const struct stash *stash, const roost_allocator *allocator)
{
    *copy = (struct stash){0};
    if (stash->room == 0)
        return true;
    uint64_t *keys = memory_allocate(allocator, stash->room * sizeof *keys);
    if (!keys)
        return false;
    memcpy(keys, stash->keys, stash->room * sizeof *keys);
    *copy = (struct stash){keys, stash->room, stash->count};
    return true;
}

void stash_release(struct stash *stash, const roost_allocator *allocator)
{
    memory_release(allocator, stash->keys);
    *stash = (struct stash){0};
}
