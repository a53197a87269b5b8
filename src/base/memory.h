/*
 * Memory: every object has its own allocator. Allocated memory is zeroed, so large tables start as untouched pages.
 *
 * A `struct region` is a large array on a cache-line boundary. Beyond a few megabytes it asks the kernel for huge
 * pages: a filter is read at random addresses, and with small pages each read misses the TLB as well.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roost/types.h"

#define CACHE_LINE 64

/* The default where a member is missing. */
roost_allocator allocator_or_default(roost_allocator allocator);

/* Whether memory of one may be released by the other, whatever their contexts. */
static inline bool same_functions(const roost_allocator *one, const roost_allocator *other)
{
    return one->allocate == other->allocate && one->release == other->release;
}

/* Sizes are computed with 64 bits, and may be more than there are addresses: counts come from strangers. */
static inline void *memory_allocate(const roost_allocator *allocator, uint64_t size)
{
    return size <= SIZE_MAX ? allocator->allocate(allocator->context, (size_t)size) : NULL;
}

/* For what may be large, and is filled from its beginning to its end: as with a region, the kernel is asked for huge
   pages. A fault for each small page takes longer than to write it. */
void *memory_allocate_large(const roost_allocator *allocator, size_t size);

/* For what is written before it is read: not zeroed if the allocator is the default one. */
void *memory_allocate_scratch(const roost_allocator *allocator, size_t size);

static inline void memory_release(const roost_allocator *allocator, void *memory)
{
    if (memory)
        allocator->release(allocator->context, memory);
}

/* Tells the context that a block of another one is used, or no longer used: roost_environment.count. */
typedef void memory_counter(void *context, void *memory, bool more);

/* Where the memory of an object comes from, and NULL or what counts blocks that it shares with others. */
struct memory_account {
    roost_allocator allocator;
    memory_counter *count;
};

static inline void count_shared(const struct memory_account *account, void *memory, bool more)
{
    if (account->count)
        account->count(account->allocator.context, memory, more);
}

/* Whether an object of one may have blocks of the other: each must be able to release them, and know that it has
   them. */
static inline bool may_share(const struct memory_account *one, const struct memory_account *other)
{
    return same_functions(&one->allocator, &other->allocator) && one->count == other->count &&
           (one->count || one->allocator.context == other->allocator.context);
}

/* The callback that may move a block of memory (defragmentation): roost/incremental.h. */
struct memory_mover {
    void *(*move)(void *context, void *memory);
    void *context;
};

/* Offers a block to be moved; returns its present address. */
static inline void *memory_moved(const struct memory_mover *mover, void *memory)
{
    void *elsewhere = memory ? mover->move(mover->context, memory) : NULL;
    return elsewhere ? elsewhere : memory;
}

struct region {
    uint8_t *bytes; /* on a cache-line boundary */
    size_t size;
    void *block; /* what the allocator gave */
};

/* Zeroed; false when the allocator has nothing. */
bool region_allocate(struct region *region, const roost_allocator *allocator, size_t size);
void region_release(struct region *region, const roost_allocator *allocator);
void region_move(struct region *region, const struct memory_mover *mover);

#endif
