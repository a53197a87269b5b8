/*
 * Windows and counters as values of keys: filters that know the time, and what that means to a server.
 *
 * Time is the clock of the server that a client talks to, and only where the client's own command is decided: replicas
 * and the AOF are told the delta that it made, so a clock decides each thing once. A question is asked at the clock of
 * the server that answers it.
 *
 * Clocks of others. What is merged may be ahead of our clock by `window-ahead-ms`, and by no more than its own window:
 * then it can make us forget no more than that much too early, and our own additions, which count as made at the
 * newest time that is known, are never older than the window. What is later is refused; a frame from the year 3000
 * would make a window forget everything. Nothing is refused that a primary has taken in, or that comes whole to a key
 * of its own by RESTORE, MIGRATE, COPY or ROOST.RESTORE.
 *
 * Our own clock is trusted, also after a long silence. Where it was set back by more than the window additions are
 * refused (ROOST_CLOCK) until it comes near again; by less they count as made at the newest time.
 *
 * Memory. A window that grows begins with next to nothing and takes 9 to 19 bytes for each item that it remembers.
 * Where the limit leaves none, or the promised rate allows no further item, an addition is refused with an error; it
 * never errs more instead. Time makes room again.
 *
 * Windows of fixed size, which come in frames and files of earlier versions, take the memory of a slot when its time
 * comes, and have past + 2 of the longest slots at the most, and one more while they change from one to the next. That
 * much is granted, whatever the limit says later, since a window that gets no further slot would forget nothing and
 * take nothing, for ever. Finer slots, by which they keep their rate when more comes than their capacity, have to fit
 * into what the limit leaves beside that.
 *
 *     memory-limit 10 MB = 1 MB granted (6 slots, the journal) + 9 MB for finer slots
 */
#ifndef MODULE_VALUE_TIMED_H
#define MODULE_VALUE_TIMED_H
#include "module/base/server.h"

static inline bool is_timed(const roost_filter *filter)
{
    roost_kind kind = roost_filter_config(filter)->kind;
    return kind == ROOST_WINDOW || kind == ROOST_COUNTER;
}

#define TIMED_WINDOW_ERROR "ERR WINDOW must be from 1 to 1125899906842 milliseconds"

/* A window or counter as the settings have it, over so many milliseconds. */
roost_config timed_config(roost_kind kind, long long window);

/* The sizes of slots take milliseconds to compute. Keys are mostly made alike: what was computed last is recalled. */
void timed_recall_sizes(roost_config *config);
void timed_note_sizes(const roost_config *resolved);

/* Microseconds since 1970. */
uint64_t timed_now(void);

/* Before a change: what may be taken in, by the clock. Not `bounded`: everything, since somebody else has decided. */
void timed_bound(roost_filter *filter, bool bounded);
/* What is said where the clock is further behind what a key holds than its window; good until the next call. */
const char *timed_clock_error(const roost_filter *filter);
/* Whether it holds what would not be taken in. */
bool timed_is_ahead(const roost_filter *filter);

/* Bytes that are granted to a window of fixed size and this configuration when it is made; 0 for all others. */
uint64_t timed_grant(const roost_filter *filter);

/* Of items, whether they are in; of windows and counters, whether they came within the window before now. */
void timed_contains(const roost_filter *filter, bool *found, const roost_bytes *keys, size_t count);

#endif
