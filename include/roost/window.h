/*
 * Windows and counters: filters that know the time.
 *
 * A *window* (forgetful filter) holds the elements that were added lately and forgets the rest by itself, in memory
 * that follows what comes in one window. A *counter* counts operations, each under an id of its own, and counts none of
 * them twice while its window holds the id: a client that got no reply just tries again.
 *
 * Both are a `roost_filter` with a configuration of their own kind, and all of filter.h and sync.h works with them:
 * merge, compare, digest, frames, deltas, replicas, sync. The difference is that an addition has a time:
 * roost_filter_add returns ROOST_UNSUPPORTED, and roost_filter_contains looks at the latest time that the window knows.
 *
 * Time is a number of microseconds that the caller passes in; the library has no clock. Where it begins does not
 * matter, but replicas must agree. Their clocks may differ: an addition is never taken to be older than the newest one
 * that the replica has seen, so a clock that is behind costs nothing, and a clock that is ahead makes all replicas
 * forget earlier by the same time. What is forgotten depends on the additions that are known and on nothing else, so
 * idle replicas that agree go on agreeing.
 *
 * Times that cannot be right are refused with ROOST_CLOCK, and nothing changes: a whole window older than the newest
 * known time, or more than ROOST_WINDOW_MOST_JUMP (and four windows) ahead of it. See roost_window_set_latest.
 *
 * Conventions are those of filter.h. The functions here take windows and counters only.
 */
#ifndef ROOST_WINDOW_H
#define ROOST_WINDOW_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One second, in the unit of times and windows. */
#define ROOST_SECOND UINT64_C(1000000)
/* How far ahead of the newest known time an addition may be: 31 days. */
#define ROOST_WINDOW_MOST_JUMP (31 * 24 * 3600 * ROOST_SECOND)
/* The end of time: later times are refused. */
#define ROOST_WINDOW_MOST_TIME (UINT64_C(1) << 55)

/*
 * Returns the default configuration of kind ROOST_WINDOW or ROOST_COUNTER, for a window of this many microseconds:
 * scalable, one in a million, three past slots. The capacity is 0 and must be set.
 *
 * A *scalable* window, the default, keeps its rate whatever comes and whenever: all at once or evenly, at one replica
 * or at many, with up to 255 past slots. It holds `fingerprint_bits` of each hash (0: as many as there is room for, 54
 * to 60 by the number of past slots) and errs by elements / 2^fingerprint_bits. `capacity` is what you expect within
 * one window; it only decides whether the configuration makes sense, and more or fewer elements take more or less
 * memory: 9 to 37 bytes for each that is remembered, 25 at a million. (At 300,000 to 500,000 elements it can be 16 MB,
 * as memory is taken in blocks of 8 MB from there on.) An addition that would break the rate returns ROOST_FULL; there is room again once
 * something was forgotten. Merges are not refused for the rate: `promise_holds` of roost_filter_get_info is false then.
 *
 * With `scalable` false a window has a Bloom filter for each slot, of a `layout`, as in the paper and in earlier
 * versions, and up to 64 past slots. It is made for `capacity` elements within one window, over all replicas, evenly;
 * an element that comes again counts once a slot. More elements, and bursts, take finer slots while there are any; then
 * an addition returns ROOST_FULL.
 */
ROOST_API roost_config roost_window_config_default(roost_kind kind, uint64_t window);

/*
 * Adds an element that came at this time. It stays for at least the window, whether or not it was there before;
 * `*seen` (may be NULL) tells whether it (probably) was.
 *
 * Errors: ROOST_CLOCK; ROOST_FULL where the window could not keep its rate; ROOST_UNSUPPORTED for a counter, which has
 * roost_counter_increment.
 */
ROOST_API roost_status roost_window_add(roost_filter *window, bool *seen, const void *key, size_t size, uint64_t time);

/* As roost_window_add, for the hash of a key. */
ROOST_API roost_status roost_window_add_hash(roost_filter *window, bool *seen, roost_hash hash, uint64_t time);

/*
 * Adds `count` elements, as that many calls of roost_window_add do, and much faster. Where one addition fails the call
 * stops: `*done` (may be NULL) is the number of elements that were added. `seen` is NULL or has `count` places, of which
 * the first `*done` are set.
 *
 * Errors: as roost_window_add.
 */
ROOST_API roost_status roost_window_add_many(roost_filter *window, bool *seen, size_t *done, const roost_bytes *keys,
                                             size_t count, uint64_t time);

/* As roost_window_add_many, for the hashes of keys. */
ROOST_API roost_status roost_window_add_many_hash(roost_filter *window, bool *seen, size_t *done,
                                                  const roost_hash *hashes, size_t count, uint64_t time);

/* Returns whether an element (probably) came within the window before this time; false is always right. */
ROOST_API bool roost_window_contains(const roost_filter *window, const void *key, size_t size, uint64_t time);

/* As roost_window_contains, for the hash of a key. */
ROOST_API bool roost_window_contains_hash(const roost_filter *window, roost_hash hash, uint64_t time);

/*
 * Sets the latest time that the caller trusts. Additions and merges that are later are refused (ROOST_CLOCK), and
 * whatever is not later may be added, even after a long silence. 0, as at first: merges take all times.
 */
ROOST_API void roost_window_set_latest(roost_filter *window, uint64_t latest);

/* What is known about a window; times and durations in microseconds. Qt has a macro `slots`. */
#pragma push_macro("slots")
#undef slots
typedef struct roost_window_info {
    uint64_t window;        /* how long elements stay at least: no less than the configuration says */
    uint64_t slot;          /* t: how long a slot is at most */
    uint64_t shortest_slot; /* the shortest slot that the window holds */
    uint32_t slots;         /* how many slots it holds */
    uint64_t oldest;        /* where the oldest slot begins; 0 where there is none */
    uint64_t newest;        /* where the newest slot begins */
} roost_window_info;
#pragma pop_macro("slots")

/* Fills `*info` with the slots of a window. */
ROOST_API void roost_window_get_info(const roost_filter *window, roost_window_info *info);

/* ---- counters -------------------------------------------------------------------------------------------------- */

/* The longest id of an operation, in bytes. */
#define ROOST_COUNTER_MOST_ID ((size_t)65536)

/*
 * Counts an operation once: adds `amount`, which may be negative, unless an operation of this id was counted within the
 * window, by this replica or by another one whose state has arrived. `*applied` (may be NULL) tells which; `*value` (may
 * be NULL) is the value of the counter afterwards. An id has 1 to ROOST_COUNTER_MOST_ID bytes; never use one for two operations.
 *
 * Two errors remain. A retry at another replica, before the first attempt has arrived there, counts twice, which
 * nothing without coordination avoids. And an operation is taken for a duplicate by mistake as often as the window errs
 * (roost_filter_get_info), and is not counted then.
 *
 * Errors: ROOST_INVALID for an id that is empty or too long; ROOST_CLOCK, ROOST_FULL as roost_window_add;
 * ROOST_OVERFLOW where the value would leave the range of int64_t; ROOST_EXHAUSTED where the replica has no actor;
 * ROOST_UNSUPPORTED for a filter that is no counter.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_counter_increment(roost_filter *counter, bool *applied, int64_t *value,
                                                                const void *id, size_t size, int64_t amount,
                                                                uint64_t time);

/*
 * Returns the value of a counter in `*value`. It needs no memory.
 *
 * Errors: ROOST_OVERFLOW where the sum of what replicas counted does not fit; `*value` is then the nearest end of the
 * range.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_counter_get_value(const roost_filter *counter, int64_t *value);

#ifdef __cplusplus
}
#endif
#endif
