/*
 * An incremental copy of a filter (include/roost/incremental.h).
 *
 * It works as the live migration of virtual machines: pages are copied one after the other, and those that were
 * written meanwhile are copied again, until so few are left that they are copied at one moment, with all that is short
 * (sums, causal contexts, actors, the stash). So the copy is what the filter was at that moment, however it has changed
 * before. The kinds know which pages were written: Bloom filters by the chunks whose hash is stale, tables by a byte a
 * page.
 *
 *     pass 1   all pages that hold anything      1,000,000
 *     pass 2   what was written during pass 1        4,100
 *     pass 3   what was written during pass 2           17   -> all at one moment: done
 *
 * A writer that is faster than the copying would keep it from ending: each pass may use slices that are twice as long.
 *
 * Growing cuckoo filters have no pages to copy: the copy shares their segments (../prefix/segment.c), at one moment.
 * Imported parts are shared, too.
 *
 * Windows and counters, which are small, are encoded and decoded.
 */
#include "frame.h"

#include "roost/incremental.h"

#define MOST_DOUBLED 16

struct roost_copy_job {
    roost_environment environment;
    roost_filter *copy;
    uint64_t copied; /* pages, so far */
    uint32_t doubled;
};

roost_status roost_copy_job_new(roost_copy_job **copying, const roost_filter *filter,
                                const roost_environment *environment)
{
    roost_environment complete = environment_or_default(environment);
    roost_copy_job *made = memory_allocate(&complete.allocator, sizeof *made);
    roost_status status = made ? ROOST_OK : ROOST_NO_MEMORY;
    *copying = NULL;
    if (made)
        *made = (struct roost_copy_job){.environment = complete};
    if (made && filter->kind->incremental.copy_open)
        status = filter->kind->incremental.copy_open(filter, &made->copy, &complete);
    if (status == ROOST_OK)
        *copying = made;
    else if (made)
        memory_release(&complete.allocator, made);
    return status;
}

static roost_status copy_at_once(roost_copy_job *copying, const roost_filter *filter)
{
    roost_buffer frame;
    roost_status status = roost_filter_encode(filter, &frame);
    if (status == ROOST_OK)
        status = roost_filter_decode(&copying->copy, frame.data, frame.size, &copying->environment);
    roost_buffer_release(&frame);
    return status;
}

/* Slices get longer once all pages were copied twice, and again after each further round. */
static uint64_t effort_for(roost_copy_job *copying, const roost_filter *filter, uint64_t effort)
{
    uint64_t pages = filter->kind->report.memory(filter) / 4096 + 1;
    if (copying->copied > 2 * pages && copying->doubled < MOST_DOUBLED) {
        copying->copied = 0;
        copying->doubled++;
    }
    return effort << copying->doubled;
}

roost_status roost_copy_job_step(roost_copy_job *copying, roost_filter *filter, bool *done, uint64_t effort)
{
    const struct filter_kind *kind = filter->kind;
    *done = true;
    if (!kind->incremental.copy_open)
        return copy_at_once(copying, filter);
    uint64_t most = effort_for(copying, filter, effort), left = most;
    roost_status status =
        kind->incremental.copy_some ? kind->incremental.copy_some(filter, copying->copy, &left, done) : ROOST_OK;
    copying->copied += most - left;
    if (status == ROOST_OK && *done)
        status = kind->incremental.copy_rest(filter, copying->copy);
    if (status == ROOST_OK && *done)
        status = copy_import(copying->copy, filter);
    return status;
}

bool roost_filter_shares_copies(const roost_filter *filter)
{
    return filter->kind->has_prefixes;
}

roost_filter *roost_copy_job_finish(roost_copy_job *copying)
{
    roost_filter *copy = copying->copy;
    copying->copy = NULL;
    roost_copy_job_free(copying);
    return copy;
}

void roost_copy_job_free(roost_copy_job *copying)
{
    if (!copying)
        return;
    const roost_allocator allocator = copying->environment.allocator;
    roost_filter_free(copying->copy);
    memory_release(&allocator, copying);
}
