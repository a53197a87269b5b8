/*
 * Incremental jobs on large filters, for servers with one thread: merge, copy, sync, digest, info and defragmentation,
 * cut into time slices.
 *
 * Everything here has a call in filter.h or sync.h that does the same at once. Conventions are those of filter.h.
 */
#ifndef ROOST_INCREMENTAL_H
#define ROOST_INCREMENTAL_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- merge ----------------------------------------------------------------------------------------------------- */

/*
 * A merge of a frame in three stages, of which only the first and the last use the filter:
 *
 *     roost_merge_job_new     notes what the filter has seen: takes time in proportion to its causal context
 *     roost_merge_job_read    reads the frame and cuts it into chunks: takes long; on any thread, without the filter
 *     roost_merge_job_step    merges one chunk; between two steps the filter may be used in any way
 *
 * Each chunk is a delta, so a merge that is abandoned leaves a filter that holds a part of the frame, and any later
 * merge adds the rest. Removals that the filter has not seen come last: an element that is in the filter before and
 * after the merge is never missing in between.
 *
 * Each step returns the changes that it made as a frame: a replica that merges these frames, in any order, has what
 * the filter got.
 */
typedef struct roost_merge_job roost_merge_job;

/*
 * Makes a merge job for a filter; `filter` may be NULL where the filter will be made from the frame
 * (roost_merge_job_new_filter). `environment` is that of the frame's content. On failure `*merging` is NULL.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_merge_job_new(roost_merge_job **merging, const roost_filter *filter,
                                                            const roost_environment *environment);

/* Frees a merge job, finished or not. NULL is fine. */
ROOST_API void roost_merge_job_free(roost_merge_job *merging);

/*
 * Reads the frame, once, and cuts it into chunks of about `chunk_bytes` bytes. The frame may be released afterwards.
 *
 * Errors: as roost_filter_decode, and ROOST_MISMATCH for a frame of another configuration.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_merge_job_read(roost_merge_job *merging, const void *frame, size_t size,
                                                             size_t chunk_bytes);

/*
 * As roost_merge_job_read, for a filter instead of a frame. `other` belongs to the job from now on, also on failure. Its
 * imported parts are left out: roost_filter_merge_imported merges them at once.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_merge_job_read_filter(roost_merge_job *merging, roost_filter *other,
                                                                    size_t chunk_bytes);

/* Makes an empty filter with the configuration of the frame that was read. On failure `*filter` is NULL. */
ROOST_API ROOST_MUST_CHECK roost_status roost_merge_job_new_filter(const roost_merge_job *merging,
                                                                   roost_filter **filter,
                                                                   const roost_environment *environment);

/*
 * Merges the next chunk into the filter: the object that the job was made for, or an empty one. `*changed` tells
 * whether this step changed the state, `*done` whether it was the last one. `*delta` is the frame of the changes that
 * it made; it belongs to the job and is valid until its next call. After a failure the step can be tried again.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_merge_job_step(roost_merge_job *merging, roost_filter *filter,
                                                             bool *changed, bool *done, roost_bytes *delta);

/*
 * Returns the memory that an empty filter of a frame's configuration takes, in bytes that nothing has touched yet; 0
 * where the bytes are no frame. Takes microseconds, whatever the size.
 */
ROOST_API uint64_t roost_frame_get_memory(const void *frame, size_t size);

/* Returns whether the first bytes are those of a delta and not of a state. It validates nothing else. */
ROOST_API bool roost_frame_is_delta(const void *frame, size_t size);

/* ---- copy ------------------------------------------------------------------------------------------------------ */

/*
 * A copy of a filter that may be used in any way between two steps. The copy has the state that the filter has at the
 * last step. As roost_filter_clone, in another environment. A filter has one copy job at a time; free a job that is
 * not needed any more, before or after the filter.
 */
typedef struct roost_copy_job roost_copy_job;

/* Makes a copy job for a filter; `environment` is that of the copy. On failure `*copying` is NULL. */
ROOST_API ROOST_MUST_CHECK roost_status roost_copy_job_new(roost_copy_job **copying, const roost_filter *filter,
                                                           const roost_environment *environment);

/*
 * Copies at most `effort` pages of 4 KiB, about a microsecond each; where the filter changes faster than that, later
 * steps take longer. `*done` tells whether it was the last step. Windows and counters are copied in one step, and so
 * are scalable cuckoo filters, which share memory with their copy if both have the same allocator (roost_filter_clone).
 * After a failure the job can only be freed.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_copy_job_step(roost_copy_job *copying, roost_filter *filter, bool *done,
                                                            uint64_t effort);

/* Returns the copy, which belongs to the caller, and frees the job. Call it once the job is done. */
ROOST_API roost_filter *roost_copy_job_finish(roost_copy_job *copying);

/* Frees a copy job together with its copy. NULL is fine. */
ROOST_API void roost_copy_job_free(roost_copy_job *copying);

/*
 * Returns whether a copy takes microseconds whatever the size, since it shares memory with the filter: scalable cuckoo
 * filters, if the copy has the same allocator (or see roost_environment.count).
 */
ROOST_API bool roost_filter_shares_copies(const roost_filter *filter);

/* ---- delta ----------------------------------------------------------------------------------------------------- */

/*
 * Lets another thread encode a delta: gives a copy what the filter has recorded since the cursor, so that
 * roost_filter_encode_delta_without, with the same cursor, returns for the copy what it would return for the filter
 * now. The copy has the state that the filter has now (roost_filter_clone, or a copy job). From then on its cursors are
 * those of the filter: free it before it changes.
 *
 * Errors: ROOST_EXHAUSTED where there is no entropy for a journal.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_filter_copy_journal(roost_filter *copy, roost_filter *filter,
                                                                  const roost_cursor *since);

/* ---- reply of a sync ------------------------------------------------------------------------------------------- */

/*
 * The reply to a request of a sync, as roost_sync_reply makes it, in stages. What takes long, reading all of the filter,
 * needs no filter: it reads a copy.
 *
 *     roost_reply_job_new     looks at the request, and merges what comes with it if that is a delta
 *     then, while roost_reply_job_get_stage returns
 *     ROOST_REPLY_COPY        roost_reply_job_take_copy: with a copy of the filter, as the caller likes to make it
 *     ROOST_REPLY_READ        roost_reply_job_read: takes long; on any thread, without the filter
 *     ROOST_REPLY_STEP        roost_reply_job_step: a fraction of a millisecond, with the filter
 *     ROOST_REPLY_DONE        roost_reply_job_finish returns the reply, and frees the job
 *
 * Between two calls the filter may be used in any way. Each step may change it, and the reply says to the peer whether
 * others did. A job that is abandoned leaves a filter that holds a part of what the request would have changed.
 *
 * Steps ask for the digest of the filter: roost_filter_precompute_digest comes before them, for Bloom filters.
 */
typedef struct roost_reply_job roost_reply_job;

/* What a reply job does next. */
typedef enum roost_reply_stage {
    ROOST_REPLY_COPY = 0,
    ROOST_REPLY_READ = 1,
    ROOST_REPLY_STEP = 2,
    ROOST_REPLY_DONE = 3
} roost_reply_stage;

/*
 * Begins to reply to a request, which has to stay where it is until the job is done. `environment` is that of the job's
 * own memory. `*changed` tells whether the filter changed. On failure `*job` is NULL.
 *
 * Errors: ROOST_NO_MEMORY. Errors of the request itself are returned by roost_reply_job_finish.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_reply_job_new(roost_reply_job **job, roost_filter *filter, bool *changed,
                                                            const void *request, size_t size,
                                                            const roost_environment *environment);

/* Returns what comes next. */
ROOST_API roost_reply_stage roost_reply_job_get_stage(const roost_reply_job *job);

/*
 * `copy` has the state that the filter has now, by roost_filter_clone or a copy job. It belongs to the job from now on,
 * which frees it as soon as it is read.
 */
ROOST_API void roost_reply_job_take_copy(roost_reply_job *job, roost_filter *filter, roost_filter *copy);

/* Reads the copy, and frees it. */
ROOST_API void roost_reply_job_read(roost_reply_job *job);

/* Changes the filter that the job was made for. `*changed` tells whether this step did. */
ROOST_API void roost_reply_job_step(roost_reply_job *job, roost_filter *filter, bool *changed);

/*
 * Returns the reply, and frees the job. The caller releases the reply, whose memory comes from the allocator of the job.
 *
 * Errors: as roost_sync_reply.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_reply_job_finish(roost_reply_job *job, roost_buffer *reply);

/* Frees a job, at any stage, before or after the filter. NULL is fine. */
ROOST_API void roost_reply_job_free(roost_reply_job *job);

/* ---- digest and info ------------------------------------------------------------------------------------------- */

/*
 * Computes a part of the next digest ahead: a Bloom filter defers that work whenever it changes. Takes `effort` chunks
 * of 4 KiB, a microsecond each or less. Returns whether there is more; once there is not, roost_filter_digest takes
 * constant time until the filter changes.
 */
ROOST_API bool roost_filter_precompute_digest(roost_filter *filter, uint64_t effort);

/*
 * As roost_filter_get_info, in a time that does not grow with the filter: of an array of more than two megabytes it
 * reads half a megabyte. `elements` and `entries` then err by about 0.2 %, `fpr_now` by about 1 %; `promise_holds`
 * allows for it.
 */
ROOST_API void roost_filter_estimate_info(const roost_filter *filter, roost_info *info);

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/*
 * Moves one block of memory. Returns its new address, after copying as many bytes as the allocator gave and releasing
 * the old block; or NULL where the block stays.
 */
typedef void *roost_mover(void *context, void *memory);

/*
 * Supports active defragmentation: each call offers some of the blocks that the filter got from its allocator to
 * `move`, which gets `context`. `*place` is 0 at first and tells how far the job has come. Returns whether there is
 * more; the filter may be used between two calls. The filter object itself may move: `*filter` is then its new address.
 * Windows and counters are not moved.
 */
ROOST_API bool roost_filter_defragment(roost_filter **filter, uint64_t *place, roost_mover *move, void *context);

#ifdef __cplusplus
}
#endif
#endif
