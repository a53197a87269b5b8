/*
 * An incremental merge (include/roost/incremental.h).
 *
 * A state is a product of chains, and merge the pointwise maximum; so a state is the join of any deltas that cover it,
 * and merging these one after the other merges the whole. The kinds cut the state: a Bloom filter by ranges of words, a
 * cuckoo filter by ranges of classes, an observed-remove filter by slices of its causal context, a series by tables.
 * Each delta becomes a frame here.
 *
 * Observed-remove filters need one thing more. A dot that both sides have seen and that only the sender has seen
 * removed must be dropped, and only a walk over the receiver's table finds its entry. So the causal context of the
 * receiver is copied first, its dots are left out of the deltas, and when these are merged, the receiver's table is
 * swept incrementally for entries that the sender's filter, which is kept for that, has seen and does not hold.
 *
 *     receiver   a:1 a:2 a:3                 live 1 2 3
 *     frame      a:1 a:2 a:3  b:1 b:2 b:3    live 1 . 3   . 2 3
 *     deltas     b:1 b:2 (2 live)  b:3 (live)
 *     sweep      a:2 is dropped, and encoded as a delta with its class
 *
 * Imported parts of a frame are one delta each, behind those of the filter. They are immutable and cannot be cut; the
 * receiver does not decode such a delta, which may have gigabytes: it shares the part with the sender's filter.
 *
 * A kind that cannot be cut (windows and counters, which are small) is one delta: the frame as it came.
 */
#include "frame.h"
#include "kinds.h"

#include <string.h>

#include "roost/incremental.h"

#define MOST_ROWS   1024 /* of one slice of a sweep */
#define FEWEST_ROWS 8

struct roost_merge_job {
    roost_environment environment;
    uint8_t configuration[CONFIGURATION_ROOM]; /* of the receiver */
    size_t configuration_size;                 /* 0: there is none yet */
    struct causal_context known;               /* what it had seen */
    roost_filter *other;
    roost_buffer *deltas;
    size_t count, room, next;
    size_t first_part; /* the first delta of an imported part */
    bool sweeps;
    struct sweep sweep;
    roost_cursor unencoded; /* entries that were dropped since then are not encoded yet */
    roost_buffer encoded;
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
    if (filter && tracks_dots(filter))
        status = filter->kind->causal.context(filter, &made->known);
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

static void release_deltas(roost_merge_job *merging)
{
    for (size_t i = 0; i < merging->count; i++)
        roost_buffer_release(&merging->deltas[i]);
    memory_release(&merging->environment.allocator, merging->deltas);
}

void roost_merge_job_free(roost_merge_job *merging)
{
    if (!merging)
        return;
    const roost_allocator allocator = merging->environment.allocator;
    release_deltas(merging);
    roost_buffer_release(&merging->encoded);
    causal_release(&merging->known, &allocator);
    roost_filter_free(merging->other);
    memory_release(&allocator, merging);
}

/* ---- a state as many deltas -------------------------------------------------------------------------------------- */

static bool make_room(roost_merge_job *merging)
{
    const roost_allocator *allocator = &merging->environment.allocator;
    if (merging->count < merging->room)
        return true;
    size_t room = 2 * merging->room + 16;
    roost_buffer *deltas = memory_allocate(allocator, room * sizeof *deltas);
    if (!deltas)
        return false;
    if (merging->count)
        memcpy(deltas, merging->deltas, merging->count * sizeof *deltas);
    memory_release(allocator, merging->deltas);
    merging->deltas = deltas;
    merging->room = room;
    return true;
}

struct frame_sink {
    struct delta_sink sink;
    roost_merge_job *merging;
};

static roost_status take_delta(struct delta_sink *sink, const struct bit_writer *delta)
{
    roost_merge_job *merging = ((struct frame_sink *)sink)->merging;
    struct bit_writer writer;
    if (!make_room(merging))
        return ROOST_NO_MEMORY;
    frame_begin(&writer, merging->other);
    write_bytes(&writer, delta->buffer.data, delta->buffer.size);
    roost_status status = frame_end(&writer, &merging->deltas[merging->count], DELTA_FRAME, ROOST_OK);
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
    merging->deltas[merging->count++] = writer.buffer;
    return ROOST_OK;
}

static bool is_of_configuration(const roost_merge_job *merging)
{
    uint8_t bytes[CONFIGURATION_ROOM];
    size_t size = configuration_bytes(merging->other, bytes);
    return merging->configuration_size == 0 ||
           (size == merging->configuration_size && memcmp(bytes, merging->configuration, size) == 0);
}

/* With nothing of the filter itself. */
static roost_status take_part(roost_merge_job *merging, size_t part)
{
    const roost_filter *other = merging->other;
    struct bit_writer writer;
    if (!make_room(merging))
        return ROOST_NO_MEMORY;
    frame_begin_part(&writer, other, part);
    roost_status status = other->kind->delta.write(other, &writer, (struct selection){.since = other->journal->next});
    status = frame_end(&writer, &merging->deltas[merging->count], DELTA_FRAME, status);
    merging->count += status == ROOST_OK;
    return status;
}

static roost_status cut_other(roost_merge_job *merging, size_t part_bytes)
{
    struct frame_sink sink = {{take_delta, false}, merging};
    roost_status status =
        merging->other->kind->incremental.cut(merging->other, &merging->known, part_bytes, &sink.sink);
    merging->sweeps = sink.sink.removals;
    merging->first_part = merging->count;
    return status;
}

static roost_status take_parts(roost_merge_job *merging)
{
    const struct imported *imported = merging->other->imported;
    roost_status status = ROOST_OK;
    for (size_t i = 0; imported && i < imported->count && status == ROOST_OK; i++)
        status = take_part(merging, i);
    return status;
}

roost_status roost_merge_job_read(roost_merge_job *merging, const void *frame, size_t size, size_t part_bytes)
{
    roost_status status = roost_filter_decode(&merging->other, frame, size, &merging->environment);
    if (status != ROOST_OK)
        return status;
    if (!is_of_configuration(merging))
        return ROOST_MISMATCH;
    if (!merging->other->kind->incremental.cut)
        return take_whole(merging, frame, size);
    status = cut_other(merging, part_bytes);
    return status == ROOST_OK ? take_parts(merging) : status;
}

roost_status roost_merge_job_read_filter(roost_merge_job *merging, roost_filter *other, size_t part_bytes)
{
    roost_buffer frame;
    merging->other = other;
    if (!is_of_configuration(merging))
        return ROOST_MISMATCH;
    if (other->kind->incremental.cut)
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

/* ---- slices ------------------------------------------------------------------------------------------------------ */

static bool is_part(const roost_merge_job *merging)
{
    return merging->other->imported && merging->other->kind->incremental.cut && merging->next >= merging->first_part;
}

/* The receiver's allocator, which may have a limit of its own, is not asked about what is shared. */
static roost_status merge_part(const roost_merge_job *merging, roost_filter *filter, bool *changed)
{
    const roost_filter *other = merging->other;
    const struct imported part = {.parts = &other->imported->parts[merging->next - merging->first_part], .count = 1};
    const struct memory_account account = account_of(other);
    struct imported_join join;
    if (!same_configuration(filter, other))
        return ROOST_MISMATCH;
    roost_status status = prepare_import(filter, &join, &part, &account);
    if (status != ROOST_OK)
        return status;
    if (join.joined && !fits_with(filter, &part, merging->environment.memory_limit)) {
        imported_abandon(&join);
        return ROOST_TOO_LARGE;
    }
    *changed = commit_import(filter, &join);
    return ROOST_OK;
}

static roost_status step_delta(roost_merge_job *merging, roost_filter *filter, bool *changed, roost_bytes *encoded)
{
    const roost_buffer *delta = &merging->deltas[merging->next];
    roost_status status = is_part(merging) ? merge_part(merging, filter, changed)
                                           : roost_filter_merge_frame(filter, changed, delta->data, delta->size);
    if (status != ROOST_OK)
        return status;
    if (merging->next > 0)
        roost_buffer_release(&merging->deltas[merging->next - 1]);
    merging->next++;
    *encoded = (roost_bytes){delta->data, delta->size};
    return ROOST_OK;
}

/* As many rows as hold no more removals than the journal has room for. */
static uint32_t effort_for(const roost_filter *filter)
{
    uint64_t rows = filter->journal->room / 8;
    return rows < FEWEST_ROWS ? FEWEST_ROWS : rows < MOST_ROWS ? (uint32_t)rows : MOST_ROWS;
}

/* What was dropped is encoded from the journal; if there is no memory for that, the next slice encodes it. */
static roost_status step_sweep(roost_merge_job *merging, roost_filter *filter, bool *changed, roost_bytes *encoded)
{
    roost_cursor before, after;
    roost_status status = ROOST_OK;
    if (!merging->unencoded.incarnation) {
        status = roost_filter_get_cursor(filter, &before);
        if (status == ROOST_OK)
            status = filter->kind->incremental.sweep(filter, &merging->sweep, merging->other, effort_for(filter));
        if (status == ROOST_OK && filter->journal->next != before.sequence)
            merging->unencoded = before;
    }
    if (status != ROOST_OK || !merging->unencoded.incarnation)
        return status;
    status = roost_filter_encode_delta(filter, &merging->encoded, &after, &merging->unencoded);
    if (status != ROOST_OK)
        return status;
    *changed = true;
    *encoded = (roost_bytes){merging->encoded.data, merging->encoded.size};
    merging->unencoded = (roost_cursor){0, 0};
    return ROOST_OK;
}

roost_status roost_merge_job_step(roost_merge_job *merging, roost_filter *filter, bool *changed, bool *done,
                                  roost_bytes *encoded)
{
    roost_status status = ROOST_OK;
    *encoded = (roost_bytes){NULL, 0};
    *changed = false;
    roost_buffer_release(&merging->encoded);
    if (merging->next < merging->count)
        status = step_delta(merging, filter, changed, encoded);
    else if (merging->sweeps && (!merging->sweep.done || merging->unencoded.incarnation))
        status = step_sweep(merging, filter, changed, encoded);
    if (!*changed)
        *encoded = (roost_bytes){NULL, 0};
    *done = status == ROOST_OK && merging->next == merging->count && (!merging->sweeps || merging->sweep.done);
    return status;
}
