/* A binary heap; each work knows its place in it. */
#include "schedule.h"

#include <stdlib.h>

#define FIRST_ROOM 64

void schedule_release(struct schedule *schedule)
{
    free(schedule->heap);
    *schedule = (struct schedule){0};
}

static void put(struct schedule *schedule, size_t place, struct work *work)
{
    schedule->heap[place] = work;
    work->place = place;
}

static void sift_up(struct schedule *schedule, size_t place, struct work *work)
{
    for (; place > 0 && schedule->heap[(place - 1) / 2]->due > work->due; place = (place - 1) / 2)
        put(schedule, place, schedule->heap[(place - 1) / 2]);
    put(schedule, place, work);
}

static void sift_down(struct schedule *schedule, size_t place, struct work *work)
{
    for (size_t child; (child = 2 * place + 1) < schedule->count; place = child) {
        if (child + 1 < schedule->count && schedule->heap[child + 1]->due < schedule->heap[child]->due)
            child++;
        if (schedule->heap[child]->due >= work->due)
            break;
        put(schedule, place, schedule->heap[child]);
    }
    put(schedule, place, work);
}

static void take_out(struct schedule *schedule, struct work *work)
{
    size_t place = work->place;
    work->place = SIZE_MAX;
    struct work *last = schedule->heap[--schedule->count];
    if (last == work)
        return;
    sift_down(schedule, place, last);
    sift_up(schedule, last->place, last);
}

static bool grow(struct schedule *schedule)
{
    size_t room = schedule->room ? 2 * schedule->room : FIRST_ROOM;
    struct work **heap = realloc(schedule->heap, room * sizeof(struct work *));
    if (!heap)
        return false;
    schedule->heap = heap;
    schedule->room = room;
    return true;
}

void schedule_shrink(struct schedule *schedule)
{
    size_t room = schedule->room;
    while (room > FIRST_ROOM && schedule->count < room / 4)
        room /= 2;
    struct work **heap = room < schedule->room ? realloc(schedule->heap, room * sizeof(struct work *)) : NULL;
    if (heap) {
        schedule->heap = heap;
        schedule->room = room;
    }
}

bool schedule_put(struct schedule *schedule, struct work *work, uint64_t due)
{
    if (work->place != SIZE_MAX)
        take_out(schedule, work);
    work->due = due;
    if (due == NEVER)
        return true;
    if (schedule->count == schedule->room && !grow(schedule))
        return false;
    sift_up(schedule, schedule->count++, work);
    return true;
}

struct work *schedule_first(const struct schedule *schedule)
{
    return schedule->count ? schedule->heap[0] : NULL;
}
