/*
 * Windows and counters: filters that know the time.
 *
 * A *window* (forgetful filter) holds what was added lately and forgets the rest by itself, in memory that follows what
 * comes in one window and not what ever came. A *counter* counts operations, each under a name of its own,
 * and counts none of them twice while its window remembers the name: a client that heard no answer just asks again.
 *
 * Both are a `roost_filter` with a configuration of their own kind, and all of filter.h and sync.h is theirs, too:
 * merge, compare, digest, frames, deltas, replicas, sync. What differs is that an addition has a time.
 * `roost_filter_add` therefore answers ROOST_UNSUPPORTED; `roost_filter_contains` asks at the latest time that the
 * window knows.
 *
 * Time is a number of microseconds that the caller passes in; the library has no clock. Where it begins does not
 * matter, but replicas must agree. Their clocks may differ: an addition is never taken to be older than the newest one
 * that the replica has heard of, so a clock that is behind costs nothing, and one that is ahead by some time makes all
 * replicas forget so much earlier. What is forgotten depends on the additions that are known and on nothing else, so
 * idle replicas that agree go on agreeing.
 *
 * Times that cannot be right are refused with ROOST_CLOCK, and nothing changes: a whole window older than what is
 * known, or more than ROOST_WINDOW_MOST_JUMP (and four windows) ahead of it. See roost_window_set_latest.
 */
#ifndef ROOST_WINDOW_H
#define ROOST_WINDOW_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ROOST_SECOND           UINT64_C(1000000)
#define ROOST_WINDOW_MOST_JUMP (31 * 24 * 3600 * ROOST_SECOND)
#define ROOST_WINDOW_MOST_TIME (UINT64_C(1) << 55) /* later than this is no time */

/*
 * Kind ROOST_WINDOW or ROOST_COUNTER, scalable, one in a million, three past slots. Capacity is 0 and must be set.
 *
 * A *scalable* window, the default, keeps its rate whatever comes and whenever: all at once or evenly, at one replica
 * or at many, with up to 255 past slots. It holds `fingerprint_bits` of each hash (0: as many as there is room for, 54
 * to 60 by the number of past slots) and errs by elements / 2^fingerprint_bits. `capacity` is what you expect within
 * one window; it decides nothing but whether the configuration makes sense, and more or fewer elements take more or
 * less memory, 9 to 19 bytes each. Where an addition would break the rate it answers ROOST_FULL, where it would pass
 * the memory limit ROOST_TOO_LARGE, without memory ROOST_NO_MEMORY; nothing changes then, and there is room again once
 * something was forgotten. Merges are not refused for the rate: `promise_holds` of roost_filter_info is false then.
 *
 * With `scalable` false a window has a Bloom filter for each slot, of a `layout`, as in the paper and in earlier
 * versions, and up to 64 past slots. It is made for `capacity` elements within one window, over all replicas, evenly,
 * an element that comes again being counted once a slot. More than that, and bursts, take finer slots while there are
 * any; then an addition answers ROOST_FULL.
 */
ROOST_API roost_config roost_window_config(roost_kind kind, uint64_t window);

/*
 * Adds an element that came at this time. It stays for at least the window, whether or not it was there before; *seen
 * (may be NULL) tells whether it (probably) was. Needs memory from time to time, never much at once.
 */
ROOST_API roost_status roost_window_add(roost_filter *window, bool *seen, const void *key, size_t size, uint64_t time);
ROOST_API roost_status roost_window_add_hash(roost_filter *window, bool *seen, roost_hash hash, uint64_t time);

/* As many adds in a row, much faster. Where one is refused the call stops there; *done (may be NULL) tells how many
   were taken. `seen` has `count` places, of which those up to *done are set. */
ROOST_API roost_status roost_window_add_many(roost_filter *window, bool *seen, size_t *done, const roost_bytes *keys,
                                             size_t count, uint64_t time);
ROOST_API roost_status roost_window_add_many_hash(roost_filter *window, bool *seen, size_t *done,
                                                  const roost_hash *hashes, size_t count, uint64_t time);

/* Whether an element came within the window before this time. Windows and counters only. */
ROOST_API bool roost_window_contains(const roost_filter *window, const void *key, size_t size, uint64_t time);
ROOST_API bool roost_window_contains_hash(const roost_filter *window, roost_hash hash, uint64_t time);

/*
 * The caller vouches for his clock: nothing later than this is taken in, be it added or merged (ROOST_CLOCK), and
 * whatever is not later may be added, even after a long silence. 0, and at first: merges take all.
 */
ROOST_API void roost_window_set_latest(roost_filter *window, uint64_t latest);

typedef struct roost_window_info {
    uint64_t window;        /* what is promised, at least what was asked for */
    uint64_t slot;          /* t: how long a slot is at most */
    uint64_t shortest_slot; /* how long the shortest one is that the window holds */
    uint32_t slots;         /* how many it holds */
    uint64_t oldest;        /* where the oldest begins; 0 where there is none */
    uint64_t newest;        /* where the newest begins */
} roost_window_info;

ROOST_API void roost_window_info_of(const roost_filter *window, roost_window_info *info);

/* ---- counters -------------------------------------------------------------------------------------------------- */

#define ROOST_COUNTER_MOST_ID ((size_t)65536)

/*
 * Counts an operation, once: adds `amount`, which may be negative, unless an operation of this id was counted within
 * the window, here, or elsewhere and has arrived here. *applied tells which; *value (may be NULL) is what the counter
 * then has. Ids have 1 to ROOST_COUNTER_MOST_ID bytes (else ROOST_INVALID) and are never used for two operations.
 *
 * What is left: a retry at another replica before the first attempt has arrived there counts twice, which nothing
 * without coordination avoids; and an operation is taken for a duplicate by mistake as often as the window errs
 * (roost_filter_info), and then counts too little. ROOST_OVERFLOW: the value would leave the range of int64_t.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_counter_increment(roost_filter *counter, bool *applied, int64_t *value,
                                                                const void *id, size_t size, int64_t amount,
                                                                uint64_t time);

/* ROOST_OVERFLOW where what replicas counted apart does not fit; *value is then the end of the range. */
ROOST_API ROOST_MUST_CHECK roost_status roost_counter_value(const roost_filter *counter, int64_t *value);

#ifdef __cplusplus
}
#endif
#endif
