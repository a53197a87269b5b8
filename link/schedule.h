/* A priority queue of work by the time at which it is due, so that keys take turns. */
#ifndef LINK_SCHEDULE_H
#define LINK_SCHEDULE_H

#include "work.h"

/* All zero: empty. */
struct schedule {
    struct work **heap; /* the earliest first */
    size_t room, count;
};

void schedule_release(struct schedule *schedule); /* the work itself stays */

/* Schedules work, or changes its time; NEVER removes it. False without memory, and then it is not scheduled. */
bool schedule_put(struct schedule *schedule, struct work *work, uint64_t due);

/* Frees room that is no longer needed. */
void schedule_shrink(struct schedule *schedule);

/* The work that is due first, or NULL. */
struct work *schedule_first(const struct schedule *schedule);

#endif
