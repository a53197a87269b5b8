/*
 * One thread that waits for many things: descriptors that become ready, and times that come. What is called back may
 * add and remove whatever it likes, itself included.
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
void event_loop_free(struct event_loop *loop); /* and all that it still watches; NULL is fine */

/* What libevent's own functions take. */
struct event_base *event_loop_base(struct event_loop *loop);

/* Until event_loop_stop is called, or a signal asks the program to stop (interrupt.h). */
void event_loop_run(struct event_loop *loop);
void event_loop_stop(struct event_loop *loop);

/* Milliseconds of a clock that only goes forward. */
uint64_t event_loop_now(const struct event_loop *loop);

/* `ready` is called with READABLE, WRITABLE or both whenever the descriptor is; errors and ends count as readable. */
struct watch *watch_add(struct event_loop *loop, int descriptor, unsigned events,
                        void (*ready)(void *context, unsigned events), void *context);
void watch_change(struct watch *watch, unsigned events);
void watch_remove(struct watch *watch); /* NULL is fine */

/* Once, after so many milliseconds; it is gone when it is called. */
struct timer *timer_add(struct event_loop *loop, uint64_t milliseconds, void (*due)(void *context), void *context);
void timer_remove(struct timer *timer); /* one that has not come yet; NULL is fine */

#endif
