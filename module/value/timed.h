/*
 * Windows and counters: filters that depend on the time, and what that means for a server.
 *
 * Time is the clock of the server that executes the command of a client. Replicas and the AOF get the delta of the
 * command, so each addition is dated once. A query uses the clock of the server that answers it.
 *
 * Clocks of others. A merged frame may be ahead of our clock by `window-ahead-ms`, and by no more than its own window.
 * So it can make us forget elements too early by no more than that, and our own additions, which count as made at the
 * newest known time, are never older than the window. Later times are refused: a frame from the year 3000 would make a
 * window forget everything. What a primary has accepted is not refused, nor a whole value that comes to a key of its
 * own by RESTORE, MIGRATE, COPY or ROOST.RESTORE.
 *
 * Our own clock is trusted, also after a long silence. If it was set back by more than the window, additions are
 * refused (ROOST_CLOCK) until it has caught up; if by less, they count as made at the newest time.
 *
 * Memory. A window that grows begins with very little memory and takes 9 to 37 bytes for each item that it
 * remembers, 25 at a million.
 * If the memory limit is reached, or the promised rate allows no further item, an addition is refused with an error;
 * the rate never rises. As time passes, items are forgotten and there is room again.
 *
 * Windows of fixed size, which come in frames and files of earlier versions, allocate a slot when its time comes. They
 * have at most past + 2 of the longest slots, and one more during a change from one slot to the next. That much is
 * granted, whatever the limit is later, since a window that gets no further slot would keep its elements and refuse
 * additions for ever. Finer slots, which keep the rate when more elements come than the capacity, have to fit into the
 * rest of the limit.
 *
 *     memory-limit 10 MB = 1 MB granted (6 slots, the journal) + 9 MB for finer slots
 */
#ifndef MODULE_VALUE_TIMED_H
#define MODULE_VALUE_TIMED_H

#include "module/base/server.h"

static inline bool is_timed(const roost_filter *filter)
{
    roost_kind kind = roost_filter_get_config(filter)->kind;
    return kind == ROOST_WINDOW || kind == ROOST_COUNTER;
}

#define TIMED_WINDOW_ERROR "ERR WINDOW must be from 1 to 1125899906842 milliseconds"

/* A window or counter over this many milliseconds, with the other options from the settings. */
roost_config timed_config(roost_kind kind, long long window);

/* Computing the sizes of slots takes milliseconds, and most keys have the same options: the last result is kept. */
void timed_recall_sizes(roost_config *config);
void timed_note_sizes(const roost_config *resolved);

/* Microseconds since 1970. */
uint64_t timed_now(void);

/* Before a change: bounds the times that may be merged. Not `bounded`: any time, since the change was decided
   elsewhere. */
void timed_bound(roost_filter *filter, bool bounded);
/* The error if the clock is behind the times of a key by more than its window; valid until the next call. */
const char *timed_clock_error(const roost_filter *filter);
/* Whether it holds times that could not be merged now. */
bool timed_is_ahead(const roost_filter *filter);

/* Bytes that are granted to a window of fixed size when it is created; 0 for all others. */
uint64_t timed_grant(const roost_filter *filter);

/* Whether items are in; for windows and counters, whether they came within the window before now. */
void timed_contains(const roost_filter *filter, bool *found, const roost_bytes *keys, size_t count);

#endif
