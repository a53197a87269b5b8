/*
 * A merge in steps (include/roost/incremental.h).
 *
 * A state is a product of chains, and merge the pointwise maximum; so a state is the join of any parts that cover it,
 * and merging these one after the other is merging the whole. The kinds cut: a Bloom filter by stretches of its array,
 * a cuckoo filter by ranges of classes, an observed-remove filter by slices of its causal context, a series by tables.
 * What they hand out has the form of a delta, and each is made a frame of its own here.
 *
 * Observed-remove filters need one thing more. A dot that both sides have seen and that only the other side has seen
 * removed must be dropped, and where it lies only a walk over the receiver's table tells. So what the receiver has seen
 * is noted first, its dots are left out of the parts, and when these are in, his table is swept in steps for entries
 * that the other filter, which is kept for that, has seen and does not hold.
 *
 *     receiver   a:1 a:2 a:3                 live 1 2 3
 *     frame      a:1 a:2 a:3  b:1 b:2 b:3    live 1 . 3   . 2 3
 *     parts      b:1 b:2 (2 live)  b:3 (live)
 *     sweep      a:2 is dropped, and told as a delta with its class
 *
 * A kind that cannot be cut (windows and counters, which are small) is one part: the frame as it came.
 */
#include "frame.h"

#include <string.h>

#include "roost/incremental.h"

#define MOST_ROWS   1024 /* that a step of a sweep looks at */
#define FEWEST_ROWS 8

struct roost_merge_job {
    roost_environment environment;
    uint8_t configuration[CONFIGURATION_ROOM]; /* of the receiver */
    size_t configuration_size;                 /* 0: there is none yet */
    struct causal_context known;               /* what he had seen */
    roost_filter *other;
    roost_buffer *parts;
    size_t count, room, next;
    bool sweeps;
    struct sweep sweep;
    roost_cursor untold; /* since then entries were dropped that were not told yet */
    roost_buffer told;
};

roost_status roost_merge_job_new(roost_merge_job **merging, const roost_filter *filter,
                                 const roost_environment *environment)
{
    roost_environment complete = environment_or_default(environment);
    roost_merge_job *made = memory_allocate(&complete.allocator, sizeof *made);
    *merging = NULL;
    if (!made)
        return ROOST_NO_MEMORY;
    made->environment = complete;
    if (filter)
        made->configuration_size = configuration_bytes(filter, made->configuration);
    roost_status status = ROOST_OK;
    if (filter && filter->kind->causal)
        status = filter->kind->causal(filter, &made->known);
    /* it is released with the allocator of this object, not that of the filter */
    struct causal_context copy = {0};
    if (status == ROOST_OK && !causal_copy(&copy, &made->known, &complete.allocator))
        status = ROOST_NO_MEMORY;
    if (filter)
        causal_release(&made->known, &filter->environment.allocator);
    made->known = copy;
    if (status != ROOST_OK)
        roost_merge_job_free(made);
    else
        *merging = made;
    return status;
}

static void release_parts(roost_merge_job *merging)
{
    for (size_t i = 0; i < merging->count; i++)
        roost_buffer_release(&merging->parts[i]);
    memory_release(&merging->environment.allocator, merging->parts);
}

void roost_merge_job_free(roost_merge_job *merging)
{
    if (!merging)
        return;
    const roost_allocator allocator = merging->environment.allocator;
    release_parts(merging);
    roost_buffer_release(&merging->told);
    causal_release(&merging->known, &allocator);
    roost_filter_free(merging->other);
    memory_release(&allocator, merging);
}

/* ---- parts ---------------------------------------------------------------------------------------------------------
 */

static bool make_room(roost_merge_job *merging)
{
    const roost_allocator *allocator = &merging->environment.allocator;
    if (merging->count < merging->room)
        return true;
    size_t room = 2 * merging->room + 16;
    roost_buffer *parts = memory_allocate(allocator, room * sizeof *parts);
    if (!parts)
        return false;
    if (merging->count)
        memcpy(parts, merging->parts, merging->count * sizeof *parts);
    memory_release(allocator, merging->parts);
    merging->parts = parts;
    merging->room = room;
    return true;
}

struct frame_sink {
    struct part_sink sink;
    roost_merge_job *merging;
};

static roost_status take_part(struct part_sink *sink, const struct bit_writer *part)
{
    roost_merge_job *merging = ((struct frame_sink *)sink)->merging;
    struct bit_writer writer;
    if (!make_room(merging))
        return ROOST_NO_MEMORY;
    frame_begin(&writer, merging->other);
    write_bytes(&writer, part->buffer.data, part->buffer.size);
    roost_status status = frame_end(&writer, &merging->parts[merging->count], DELTA_FRAME, ROOST_OK);
    merging->count += status == ROOST_OK;
    return status;
}

static roost_status take_whole(roost_merge_job *merging, const void *frame, size_t size)
{
    struct bit_writer writer;
    bit_writer_init(&writer, merging->environment.allocator);
    write_bytes(&writer, frame, size);
    if (!make_room(merging) || writer.failed) {
        bit_writer_release(&writer);
        return ROOST_NO_MEMORY;
    }
    merging->parts[merging->count++] = writer.buffer;
    return ROOST_OK;
}

static bool is_of_configuration(const roost_merge_job *merging)
{
    uint8_t bytes[CONFIGURATION_ROOM];
    size_t size = configuration_bytes(merging->other, bytes);
    return merging->configuration_size == 0 ||
           (size == merging->configuration_size && memcmp(bytes, merging->configuration, size) == 0);
}

static roost_status cut_other(roost_merge_job *merging, size_t part_bytes)
{
    struct frame_sink sink = {{take_part, false}, merging};
    roost_status status = merging->other->kind->cut(merging->other, &merging->known, part_bytes, &sink.sink);
    merging->sweeps = sink.sink.removals;
    return status;
}

roost_status roost_merge_job_read(roost_merge_job *merging, const void *frame, size_t size, size_t part_bytes)
{
    roost_status status = roost_filter_decode(&merging->other, frame, size, &merging->environment);
    if (status != ROOST_OK)
        return status;
    if (!is_of_configuration(merging))
        return ROOST_MISMATCH;
    return merging->other->kind->cut ? cut_other(merging, part_bytes) : take_whole(merging, frame, size);
}

roost_status roost_merge_job_read_filter(roost_merge_job *merging, roost_filter *other, size_t part_bytes)
{
    roost_buffer frame;
    merging->other = other;
    if (!is_of_configuration(merging))
        return ROOST_MISMATCH;
    if (other->kind->cut)
        return cut_other(merging, part_bytes);
    roost_status status = roost_filter_encode(other, &frame);
    if (status == ROOST_OK)
        status = take_whole(merging, frame.data, frame.size);
    roost_buffer_release(&frame);
    return status;
}

roost_status roost_merge_job_new_filter(const roost_merge_job *merging, roost_filter **filter,
                                        const roost_environment *environment)
{
    uint8_t bytes[CONFIGURATION_ROOM];
    struct bit_reader reader = bit_reader_over(bytes, configuration_bytes(merging->other, bytes));
    roost_environment complete = environment_or_default(environment);
    *filter = NULL;
    return open_configured(filter, &reader, &complete);
}

/* ---- steps ---------------------------------------------------------------------------------------------------------
 */

static roost_status step_part(roost_merge_job *merging, roost_filter *filter, bool *changed, roost_bytes *told)
{
    const roost_buffer *part = &merging->parts[merging->next];
    roost_status status = roost_filter_merge_frame(filter, changed, part->data, part->size);
    if (status != ROOST_OK)
        return status;
    if (merging->next > 0)
        roost_buffer_release(&merging->parts[merging->next - 1]);
    merging->next++;
    *told = (roost_bytes){part->data, part->size};
    return ROOST_OK;
}

/* So many rows as hold no more removals than the journal can tell. */
static uint32_t effort_for(const roost_filter *filter)
{
    uint64_t rows = filter->journal->room / 8;
    return rows < FEWEST_ROWS ? FEWEST_ROWS : rows < MOST_ROWS ? (uint32_t)rows : MOST_ROWS;
}

/* What was dropped is told from the journal; where there is no memory for that, the next step tells it. */
static roost_status step_sweep(roost_merge_job *merging, roost_filter *filter, bool *changed, roost_bytes *told)
{
    roost_cursor before, after;
    roost_status status = ROOST_OK;
    if (!merging->untold.incarnation) {
        status = roost_filter_get_cursor(filter, &before);
        if (status == ROOST_OK)
            status = filter->kind->sweep(filter, &merging->sweep, merging->other, effort_for(filter));
        if (status == ROOST_OK && filter->journal->next != before.sequence)
            merging->untold = before;
    }
    if (status != ROOST_OK || !merging->untold.incarnation)
        return status;
    status = roost_filter_encode_delta(filter, &merging->told, &after, &merging->untold);
    if (status != ROOST_OK)
        return status;
    *changed = true;
    *told = (roost_bytes){merging->told.data, merging->told.size};
    merging->untold = (roost_cursor){0, 0};
    return ROOST_OK;
}

roost_status roost_merge_job_step(roost_merge_job *merging, roost_filter *filter, bool *changed, bool *done,
                                  roost_bytes *told)
{
    roost_status status = ROOST_OK;
    *told = (roost_bytes){NULL, 0};
    *changed = false;
    roost_buffer_release(&merging->told);
    if (merging->next < merging->count)
        status = step_part(merging, filter, changed, told);
    else if (merging->sweeps && (!merging->sweep.done || merging->untold.incarnation))
        status = step_sweep(merging, filter, changed, told);
    if (!*changed)
        *told = (roost_bytes){NULL, 0};
    *done = status == ROOST_OK && merging->next == merging->count && (!merging->sweeps || merging->sweep.done);
    return status;
}
