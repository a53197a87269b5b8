#include "crowd.h"

bool crowd_open(struct crowd **crowd, const roost_allocator *allocator)
{
    if (!*crowd) {
        *crowd = memory_allocate(allocator, sizeof **crowd);
        if (*crowd)
            (*crowd)->stash.tagged = true;
    }
    return *crowd != NULL;
}

void crowd_free(struct crowd **crowd, const roost_allocator *allocator)
{
    if (*crowd)
        stash_release(&(*crowd)->stash, allocator);
    memory_release(allocator, *crowd);
    *crowd = NULL;
}

bool crowd_copy(struct crowd **copy, const struct crowd *crowd, const roost_allocator *allocator)
{
    if (!crowd)
        return true;
    if (!crowd_open(copy, allocator))
        return false;
    stash_release(&(*copy)->stash, allocator);
    (*copy)->lengths = crowd->lengths;
    return stash_copy(&(*copy)->stash, &crowd->stash, allocator);
}

void crowd_move(struct crowd *crowd, const struct memory_mover *mover)
{
    if (!crowd)
        return;
    crowd->stash.nodes = memory_moved(mover, crowd->stash.nodes);
    crowd->stash.by_class = memory_moved(mover, crowd->stash.by_class);
    crowd->stash.by_entry = memory_moved(mover, crowd->stash.by_entry);
}
