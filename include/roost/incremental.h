/*
 * Work on large filters in steps, for those who must not be away for long: servers with one thread.
 *
 * Everything here has a call elsewhere that does the same at once (filter.h).
 */
#ifndef ROOST_INCREMENTAL_H
#define ROOST_INCREMENTAL_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- merge ------------------------------------------------------------------------------------------------------- */

/*
 * A merge of a frame in three stages, of which only the first and the last need the filter:
 *
 *     roost_merging_new     notes what the filter has seen: costs what its history is long
 *     roost_merging_read    reads the frame and cuts it into parts: long, on any thread, without the filter
 *     roost_merging_step    merges one part; between two steps the filter may be used in any way
 *
 * Each part is a delta and right by itself, so a merge that is given up half-way leaves a filter that holds some of
 * what the frame brings, and is made good by any later merge. Removals that the filter has not heard of come last, so
 * that no element is missing meanwhile that is in the filter before and after.
 *
 * In each step what was brought is told as a frame: whoever merges these, in any order, has what the filter has got.
 */
typedef struct roost_merging roost_merging;

/* `filter` may be NULL for one that is yet to be made from the frame. `environment`, for what is read; NULL: default.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_merging_new(roost_merging **merging, const roost_filter *filter,
                                                          const roost_environment *environment);
ROOST_API void roost_merging_free(roost_merging *merging); /* NULL is fine */

/* Once. Parts are of about so many bytes. As roost_filter_decode, and ROOST_MISMATCH for another configuration. */
ROOST_API ROOST_MUST_CHECK roost_status roost_merging_read(roost_merging *merging, const void *frame, size_t size,
                                                           size_t part_bytes);

/* An empty filter of the configuration of the frame that was read. */
ROOST_API ROOST_MUST_CHECK roost_status roost_merging_open(const roost_merging *merging, roost_filter **filter,
                                                           const roost_environment *environment);

/*
 * `filter` is the very object that the merging was made for, or an empty one. *changed tells whether this step brought
 * anything, *told what, until the next call; *done whether it was the last one. A step that fails (memory) can be
 * tried again.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_merging_step(roost_merging *merging, roost_filter *filter, bool *changed,
                                                           bool *done, roost_bytes *told);

/* What an empty filter of a frame's configuration takes, in bytes of memory that nothing has touched; 0: it is no
   frame. In microseconds, whatever the size. */
ROOST_API uint64_t roost_frame_memory(const void *frame, size_t size);

/* Whether a frame holds a delta and not a state, as far as its first bytes tell. */
ROOST_API bool roost_frame_is_delta(const void *frame, size_t size);

/* As roost_merging_read, for a filter instead of a frame: it belongs to the merging from now on, whatever comes of it.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_merging_take(roost_merging *merging, roost_filter *other,
                                                           size_t part_bytes);

/* ---- copy -------------------------------------------------------------------------------------------------------- */

/*
 * A copy of a filter that may be used in any way between two steps; it is what the filter was during the last one. As
 * roost_filter_clone, in another environment (NULL: default). One at a time for a filter; one that is not wanted any
 * more is freed, before or after the filter.
 *
 * A step copies at most `effort` pages of 4 KiB, about a microsecond each; where others write faster than that, later
 * steps take longer. *done tells whether it was the last one. Windows and counters are copied in one step. After a step
 * that fails (memory) the copy cannot be had.
 */
typedef struct roost_copying roost_copying;

ROOST_API ROOST_MUST_CHECK roost_status roost_copying_new(roost_copying **copying, const roost_filter *filter,
                                                          const roost_environment *environment);
ROOST_API ROOST_MUST_CHECK roost_status roost_copying_step(roost_copying *copying, roost_filter *filter,
                                                           uint64_t effort, bool *done);
/* The copy, when it is done; frees the rest. */
ROOST_API roost_filter *roost_copying_take(roost_copying *copying);
ROOST_API void roost_copying_free(roost_copying *copying); /* NULL is fine */

/* ---- digest and report ------------------------------------------------------------------------------------------- */

/*
 * A Bloom filter leaves work for the next digest whenever it changes. This does some of it: `effort` chunks of 4 KiB, a
 * microsecond each or less. Whether there is more; where there is not, a digest costs nothing.
 */
ROOST_API bool roost_filter_precompute_digest(roost_filter *filter, uint64_t effort);

/*
 * As roost_filter_info, in a time that does not grow with the filter: of an array of more than two megabytes, half a
 * megabyte is read. `elements` and `entries` then err by about 0.2 %, `fpr_now` by about 1 %; `promise_holds` allows
 * for it.
 */
ROOST_API void roost_filter_estimate(const roost_filter *filter, roost_info *info);

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/*
 * For servers that move memory about, so that what is free lies together. Each call offers some of the pieces that the
 * filter got from its allocator; `move` answers NULL, and a piece stays where it is, or where its bytes are now: it has
 * copied as many as the allocator gave, and released the old ones. *place is 0 at first and says how far it has come.
 * Whether there is more; the filter may be used in between. The filter itself may move. Windows and counters stay.
 */
typedef void *roost_mover(void *context, void *memory);
ROOST_API bool roost_filter_move(roost_filter **filter, roost_mover *move, void *context, uint64_t *place);

#ifdef __cplusplus
}
#endif
#endif
