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

static bool must_grow(const struct stash *stash)
{
    return (stash->count + 1) * 2 > stash->room;
}

static uint64_t next_room(const struct stash *stash)
{
    return stash->room ? stash->room * 2 : SMALLEST_ROOM;
}

uint64_t stash_bytes_with_one_more(const struct stash *stash)
{
    return (must_grow(stash) ? next_room(stash) : stash->room) * sizeof *stash->keys;
}

/* The address of the array is a number that no other array has and that no stranger knows. */
static bool grow(struct stash *stash, const roost_allocator *allocator)
{
    struct stash larger = {.room = next_room(stash)};
    larger.keys = memory_allocate(allocator, larger.room * sizeof *larger.keys);
    if (!larger.keys)
        return false;
    larger.salt = multiply_and_fold((uintptr_t)larger.keys, UINT64_C(0xd1b54a32d192ed03));
    for (uint64_t i = 0; i < stash->room; i++)
        if (stash->keys[i])
            put(&larger, stash->keys[i]);
    stash_release(stash, allocator);
    *stash = larger;
    return true;
}

bool stash_insert(struct stash *stash, const roost_allocator *allocator, uint64_t key)
{
    if (must_grow(stash) && !grow(stash, allocator))
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
    *copy = (struct stash){keys, stash->room, stash->count, stash->salt};
    return true;
}

void stash_release(struct stash *stash, const roost_allocator *allocator)
{
    memory_release(allocator, stash->keys);
    *stash = (struct stash){0};
}
