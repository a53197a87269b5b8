/*
 * A thin interface to libevent: watches of descriptors, and timers. tests/property/simulate_link.c replaces it, to run
 * a link in simulated time. Callbacks may add and remove any watch or timer, their own included.
 */
#ifndef CLIENT_EVENT_LOOP_H
#define CLIENT_EVENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct event_base; /* of libevent */
struct event_loop;
struct watch; /* of a descriptor */
struct timer;

#define READABLE 1
#define WRITABLE 2

/* NULL without memory. */
struct event_loop *event_loop_new(void);
void event_loop_free(struct event_loop *loop); /* and all watches and timers; NULL is fine */

/* What libevent's own functions take. */
struct event_base *event_loop_base(struct event_loop *loop);

/* Returns after event_loop_stop, or when a signal asks the program to stop (interrupt.h). */
void event_loop_run(struct event_loop *loop);
void event_loop_stop(struct event_loop *loop);

/* Milliseconds of the monotonic clock. */
uint64_t event_loop_now(const struct event_loop *loop);

/* `ready` is called with READABLE, WRITABLE or both whenever the descriptor is; errors and end of file count as
   both. */
struct watch *watch_add(struct event_loop *loop, int descriptor, unsigned events,
                        void (*ready)(void *context, unsigned events), void *context);
void watch_change(struct watch *watch, unsigned events);
void watch_remove(struct watch *watch); /* NULL is fine */

/* Calls `due` once, after so many milliseconds; the timer is freed before the call. */
struct timer *timer_add(struct event_loop *loop, uint64_t milliseconds, void (*due)(void *context), void *context);
void timer_remove(struct timer *timer); /* before it was called; NULL is fine */

#endif
