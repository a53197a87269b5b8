/* Copies of filters, page by page between time slices (roost/incremental.h). */
#ifndef MODULE_JOB_COPYING_H
#define MODULE_JOB_COPYING_H

#include "module/value/filter_value.h"
#include "job.h"

/* Zeroed at first. */
struct copying {
    roost_filter *copy; /* once it is complete */
    roost_copy_job *job;
    uint64_t object; /* that it copies now; 0: none */
    struct copying *next;
};

/*
 * Copies some pages of the filter, or all if the copy shares memory with it; `memory` counts and limits those of the
 * copy. ALL_DONE: the copy is complete, with the state that the filter has now, or `*status` tells why it failed.
 * NOTHING_TO_DO_NOW: another job copies the filter.
 */
enum progress copy_some(struct copying *copying, struct filter_value *filter, struct value *memory,
                        roost_status *status);

/* The job is over, or the filter is gone: others may copy the filter. On the main thread, before copying_free. */
void copying_end(struct copying *copying);

/* Frees the copy, if the caller has not taken it; on any thread. */
void copying_free(struct copying *copying);

#endif
