/*
 * Descriptors are watched with epoll, times kept in a heap with the earliest on top.
 *
 * What is called back may remove anything, also a watch whose event stands in the same batch further down. So a removed
 * watch is only marked, leaves epoll at once, and its memory goes when the batch is over. A timer is taken out of the
 * heap before it is called; one that is added with no delay meanwhile comes in the next round, after the descriptors:
 * a chain of such timers starves nobody.
 *
 *     wait (until something is ready, or the earliest time) -> descriptors -> times that came -> memory of the removed
 *
 * A signal that comes between the look at its flag and the wait would be slept over, so no wait is longer than a
 * second.
 */
#include "event_loop.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/interrupt.h"

#define BATCH         64
#define LONGEST_SLEEP 1000 /* milliseconds */

struct watch {
    struct event_loop *loop;
    struct watch *next, *previous;
    void (*ready)(void *context, unsigned events);
    void *context;
    int descriptor;
    unsigned events;
    bool removed;
};

struct timer {
    struct event_loop *loop;
    void (*due)(void *context);
    void *context;
    uint64_t when, number; /* the number tells which of two at the same time was added first */
    size_t place;          /* in the heap */
};

struct event_loop {
    int epoll;
    bool stopped;
    struct watch *watches, *removed;
    struct timer **timers; /* a heap: each comes no earlier than the one at half its place */
    size_t timer_count, timer_room;
    uint64_t timers_made;
};

uint64_t event_loop_now(const struct event_loop *loop)
{
    struct timespec now;
    (void)loop;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct event_loop *event_loop_new(void)
{
    struct event_loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return NULL;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll >= 0)
        return loop;
    free(loop);
    return NULL;
}

/* ---- descriptors ----------------------------------------------------------------------------------------------- */

static uint32_t epoll_events(unsigned events)
{
    return (events & READABLE ? (uint32_t)EPOLLIN : 0) | (events & WRITABLE ? (uint32_t)EPOLLOUT : 0);
}

/* Errors and ends are found out by whoever reads, or writes where it only waits for that. */
static unsigned ready_events(uint32_t events)
{
    unsigned ready = events & (EPOLLIN | EPOLLERR | EPOLLHUP) ? READABLE : 0;
    return ready | (events & (EPOLLOUT | EPOLLERR | EPOLLHUP) ? WRITABLE : 0);
}

struct watch *watch_add(struct event_loop *loop, int descriptor, unsigned events,
                        void (*ready)(void *context, unsigned events), void *context)
{
    struct watch *watch = malloc(sizeof *watch);
    if (!watch)
        return NULL;
    *watch = (struct watch){.loop = loop,
                            .next = loop->watches,
                            .ready = ready,
                            .context = context,
                            .descriptor = descriptor,
                            .events = events};
    struct epoll_event event = {.events = epoll_events(events), .data.ptr = watch};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        free(watch);
        return NULL;
    }
    if (watch->next)
        watch->next->previous = watch;
    loop->watches = watch;
    return watch;
}

void watch_change(struct watch *watch, unsigned events)
{
    struct epoll_event event = {.events = epoll_events(events), .data.ptr = watch};
    if (events != watch->events)
        epoll_ctl(watch->loop->epoll, EPOLL_CTL_MOD, watch->descriptor, &event);
    watch->events = events;
}

void watch_remove(struct watch *watch)
{
    if (!watch)
        return;
    struct event_loop *loop = watch->loop;
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->descriptor, NULL);
    if (watch->next)
        watch->next->previous = watch->previous;
    *(watch->previous ? &watch->previous->next : &loop->watches) = watch->next;
    watch->removed = true;
    watch->next = loop->removed;
    loop->removed = watch;
}

static void free_watches(struct watch **list)
{
    for (struct watch *watch; (watch = *list);) {
        *list = watch->next;
        free(watch);
    }
}

/* ---- times ----------------------------------------------------------------------------------------------------- */

static bool comes_before(const struct timer *a, const struct timer *b)
{
    return a->when != b->when ? a->when < b->when : a->number < b->number;
}

static void put_timer(struct event_loop *loop, size_t place, struct timer *timer)
{
    loop->timers[place] = timer;
    timer->place = place;
}

/* Finds the place of a timer, beginning with a free one. */
static void sift_timer(struct event_loop *loop, size_t place, struct timer *timer)
{
    for (; place > 0 && comes_before(timer, loop->timers[(place - 1) / 2]); place = (place - 1) / 2)
        put_timer(loop, place, loop->timers[(place - 1) / 2]);
    for (size_t child; (child = 2 * place + 1) < loop->timer_count; place = child) {
        if (child + 1 < loop->timer_count && comes_before(loop->timers[child + 1], loop->timers[child]))
            child++;
        if (!comes_before(loop->timers[child], timer))
            break;
        put_timer(loop, place, loop->timers[child]);
    }
    put_timer(loop, place, timer);
}

static bool reserve_timer(struct event_loop *loop)
{
    if (loop->timer_count < loop->timer_room)
        return true;
    size_t room = 2 * loop->timer_room + 16;
    struct timer **timers = realloc(loop->timers, room * sizeof(struct timer *));
    if (!timers)
        return false;
    loop->timers = timers;
    loop->timer_room = room;
    return true;
}

struct timer *timer_add(struct event_loop *loop, uint64_t milliseconds, void (*due)(void *context), void *context)
{
    struct timer *timer = reserve_timer(loop) ? malloc(sizeof *timer) : NULL;
    if (!timer)
        return NULL;
    *timer = (struct timer){.loop = loop,
                            .due = due,
                            .context = context,
                            .when = event_loop_now(loop) + milliseconds,
                            .number = loop->timers_made++};
    sift_timer(loop, loop->timer_count++, timer);
    return timer;
}

static void take_timer(struct timer *timer)
{
    struct event_loop *loop = timer->loop;
    struct timer *last = loop->timers[--loop->timer_count];
    if (last != timer)
        sift_timer(loop, timer->place, last);
}

void timer_remove(struct timer *timer)
{
    if (!timer)
        return;
    take_timer(timer);
    free(timer);
}

/* Those that are due, but for what is added meanwhile. */
static void call_timers(struct event_loop *loop)
{
    uint64_t now = event_loop_now(loop), made = loop->timers_made;
    while (loop->timer_count > 0 && loop->timers[0]->when <= now && loop->timers[0]->number < made && !loop->stopped) {
        struct timer timer = *loop->timers[0];
        timer_remove(loop->timers[0]);
        timer.due(timer.context);
    }
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

static int milliseconds_to_sleep(const struct event_loop *loop)
{
    uint64_t now = event_loop_now(loop), when = loop->timer_count > 0 ? loop->timers[0]->when : now + LONGEST_SLEEP;
    return when <= now ? 0 : when - now < LONGEST_SLEEP ? (int)(when - now) : LONGEST_SLEEP;
}

static void call_watches(struct event_loop *loop)
{
    struct epoll_event events[BATCH];
    int count = epoll_wait(loop->epoll, events, BATCH, milliseconds_to_sleep(loop));
    for (int i = 0; i < count && !loop->stopped; i++) {
        struct watch *watch = events[i].data.ptr;
        if (!watch->removed)
            watch->ready(watch->context, ready_events(events[i].events));
    }
}

void event_loop_run(struct event_loop *loop)
{
    for (loop->stopped = false; !loop->stopped && !interrupted();) {
        call_watches(loop);
        call_timers(loop);
        free_watches(&loop->removed);
    }
}

void event_loop_stop(struct event_loop *loop)
{
    loop->stopped = true;
}

void event_loop_free(struct event_loop *loop)
{
    if (!loop)
        return;
    free_watches(&loop->watches);
    free_watches(&loop->removed);
    while (loop->timer_count > 0)
        free(loop->timers[--loop->timer_count]);
    free(loop->timers);
    close(loop->epoll);
    free(loop);
}
