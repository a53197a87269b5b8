/*
 * A thin layer over libevent, which has the descriptors, the timers and the order in which they are called. Added here:
 * a timer frees itself when it is called, the loop frees what is left when it ends, and a signal stops the loop
 * (cli/base/interrupt.h). libevent does not return when a signal interrupts its wait, so a tick makes it return once a
 * second.
 *
 * Timers use the precise monotonic clock and no cached time, so that a slow callback does not make the timers that it
 * adds fire early.
 */
#include "event_loop.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <time.h>

#include "cli/base/interrupt.h"

#define TICK 1000 /* milliseconds */

/* The beginning of a watch and of a timer. */
struct entry {
    struct event_loop *loop;
    struct entry *next, *previous;
    struct event event;
};

struct watch {
    struct entry entry;
    void (*ready)(void *context, unsigned events);
    void *context;
    int descriptor;
    unsigned events;
};

struct timer {
    struct entry entry;
    void (*due)(void *context);
    void *context;
};

struct event_loop {
    struct event_base *base;
    struct event tick;
    struct entry *entries;
    bool stopped;
};

uint64_t event_loop_now(const struct event_loop *loop)
{
    struct timespec now;
    (void)loop;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct timeval interval_of(uint64_t milliseconds)
{
    return (struct timeval){.tv_sec = (time_t)(milliseconds / 1000),
                            .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)};
}

/* ---- watches and timers ------------------------------------------------------------------------------------------ */

static void entry_begin(struct entry *entry, struct event_loop *loop)
{
    entry->loop = loop;
    entry->next = loop->entries;
    if (entry->next)
        entry->next->previous = entry;
    loop->entries = entry;
}

static void entry_free(struct entry *entry)
{
    if (!entry)
        return;
    event_del(&entry->event);
    if (entry->next)
        entry->next->previous = entry->previous;
    *(entry->previous ? &entry->previous->next : &entry->loop->entries) = entry->next;
    free(entry);
}

static void watch_ready(evutil_socket_t descriptor, short what, void *context)
{
    struct watch *watch = context;
    (void)descriptor;
    watch->ready(watch->context, (what & EV_READ ? READABLE : 0u) | (what & EV_WRITE ? WRITABLE : 0u));
}

static bool watch_begin(struct watch *watch, unsigned events)
{
    short what = (short)(EV_PERSIST | (events & READABLE ? EV_READ : 0) | (events & WRITABLE ? EV_WRITE : 0));
    watch->events = events;
    return event_assign(&watch->entry.event, watch->entry.loop->base, watch->descriptor, what, watch_ready, watch) ==
               0 &&
           (events == 0 || event_add(&watch->entry.event, NULL) == 0);
}

struct watch *watch_add(struct event_loop *loop, int descriptor, unsigned events,
                        void (*ready)(void *context, unsigned events), void *context)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->ready = ready;
    watch->context = context;
    watch->descriptor = descriptor;
    entry_begin(&watch->entry, loop);
    if (watch_begin(watch, events))
        return watch;
    entry_free(&watch->entry);
    return NULL;
}

void watch_change(struct watch *watch, unsigned events)
{
    if (events == watch->events)
        return;
    event_del(&watch->entry.event);
    watch_begin(watch, events);
}

void watch_remove(struct watch *watch)
{
    entry_free((struct entry *)watch);
}

static void timer_due(evutil_socket_t descriptor, short what, void *context)
{
    struct timer timer = *(struct timer *)context;
    (void)descriptor, (void)what;
    entry_free(context);
    timer.due(timer.context);
}

struct timer *timer_add(struct event_loop *loop, uint64_t milliseconds, void (*due)(void *context), void *context)
{
    struct timer *timer = calloc(1, sizeof *timer);
    struct timeval delay = interval_of(milliseconds);
    if (!timer)
        return NULL;
    timer->due = due;
    timer->context = context;
    entry_begin(&timer->entry, loop);
    evtimer_assign(&timer->entry.event, loop->base, timer_due, timer);
    if (evtimer_add(&timer->entry.event, &delay) == 0)
        return timer;
    entry_free(&timer->entry);
    return NULL;
}

void timer_remove(struct timer *timer)
{
    entry_free((struct entry *)timer);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void tick(evutil_socket_t descriptor, short what, void *context)
{
    (void)descriptor, (void)what, (void)context;
}

static struct event_base *base_new(void)
{
    struct event_config *config = event_config_new();
    if (!config)
        return NULL;
    event_config_set_flag(config,
                          EVENT_BASE_FLAG_NO_CACHE_TIME | EVENT_BASE_FLAG_PRECISE_TIMER | EVENT_BASE_FLAG_NOLOCK);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

struct event_loop *event_loop_new(void)
{
    struct event_loop *loop = calloc(1, sizeof *loop);
    struct timeval interval = interval_of(TICK);
    if (!loop || !(loop->base = base_new())) {
        free(loop);
        return NULL;
    }
    event_assign(&loop->tick, loop->base, -1, EV_PERSIST, tick, NULL);
    if (event_add(&loop->tick, &interval) == 0)
        return loop;
    event_loop_free(loop);
    return NULL;
}

void event_loop_free(struct event_loop *loop)
{
    if (!loop)
        return;
    while (loop->entries)
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the first entry has none before it, so freeing it sets loop->entries
        entry_free(loop->entries);
    event_del(&loop->tick);
    event_base_free(loop->base);
    free(loop);
}

struct event_base *event_loop_base(struct event_loop *loop)
{
    return loop->base;
}

void event_loop_run(struct event_loop *loop)
{
    for (loop->stopped = false; !loop->stopped && !interrupted();)
        if (event_base_loop(loop->base, EVLOOP_ONCE) < 0)
            break;
}

void event_loop_stop(struct event_loop *loop)
{
    loop->stopped = true;
    event_base_loopbreak(loop->base);
}
