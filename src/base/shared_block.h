/*
 * Blocks of memory that several objects have, so that a copy of an object costs nothing until one of the two changes.
 * A block that another object has, too, is never written to: who wants to change it takes a copy. Objects may be in
 * different threads.
 *
 * What counts the memory of an object (roost_environment.count) is told of each block that the object shares: see
 * `struct memory_account`.
 */
#ifndef BASE_SHARED_BLOCK_H
#define BASE_SHARED_BLOCK_H

#include <stdatomic.h>

#include "memory.h"

/* The first member of what is shared. Zero: one object has it. */
struct shared_block {
    atomic_uint_least32_t others; /* objects that have it, less one */
};

static inline bool block_is_shared(const struct shared_block *block)
{
    return atomic_load_explicit(&block->others, memory_order_acquire) != 0;
}

static inline void block_share(struct shared_block *block, const struct memory_account *account)
{
    count_shared(account, block, true);
    atomic_fetch_add_explicit(&block->others, 1, memory_order_relaxed);
}

/* Once this object does not count as one that has the block, another one may free it: so it is counted before. Others
   may leave meanwhile. NULL is fine. */
static inline void block_leave(struct shared_block *block, const struct memory_account *account)
{
    if (block && block_is_shared(block)) {
        count_shared(account, block, false);
        if (atomic_fetch_sub_explicit(&block->others, 1, memory_order_acq_rel) != 0)
            return;
        count_shared(account, block, true);
    }
    memory_release(&account->allocator, block);
}

/* Shared blocks stay where they are. */
static inline void *block_moved(const struct memory_mover *mover, struct shared_block *block)
{
    return block && block_is_shared(block) ? block : memory_moved(mover, block);
}

#endif
