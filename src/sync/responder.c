/*
 * The responder of a sync: answers each request from the filter alone.
 *
 * Nothing is kept between two requests, so a request carries everything that the answer depends on. The exception is
 * the set of dots that the two sides compare: a causal context may have thousands of actors. The LOST reply gives the
 * initiator the causal context of that moment together with the journal's cursor, and later requests name only the
 * cursor. The causal context of that moment is the present one without the dots that the journal has recorded since,
 * and a hash in each request verifies that both sides mean the same.
 *
 * Each request changes everything that it asks for or nothing: it is read to its end before the filter is changed.
 *
 * Reply jobs (roost/incremental.h). TRADE, RANGES, LEAVES and STATE read all of the filter. In a server with one thread
 * another thread does that, on a copy. So there is one implementation in stages, and roost_sync_reply goes through them
 * with the filter itself instead of a copy:
 *
 *                with the filter               without it            with the filter, in steps
 *     HELLO      reply; or copy with journal   reply, a long delta
 *     PUSH       merge, reply
 *     TRADE      merge, copy                   reply
 *     RANGES     find the space, copy          reply
 *     LEAVES     find the space, copy          compare, locate       resolve; reply
 *     STATE      (job) -                       decode, cut           merge; copy
 *                (at once) merge               reply
 *
 * Others may change the filter between two stages. Why the reply is right all the same:
 *
 * - A reply that needs no further stage is that of the moment of the copy: cursor, digest and flags are of that moment,
 *   too. To the initiator it is a reply that was on its way for long.
 * - What LEAVES changes was found in the copy and is changed later. A position that the peer has is added: it is a part
 *   of the peer's state whatever has happened here, and adding it twice is adding it once. An entry that the peer has
 *   removed is dropped, by its dot: both had seen the dot, so the peer's removal wins whatever has happened here, and a
 *   dot that was removed here as well is not there again. What the peer is told to add was a part of our state, and
 *   what it is told to drop was removed here: that stays true. Cursor and digest are of the moment of the reply, and
 *   the reply says if others have changed the filter since the request came: then the initiator takes a difference of
 *   the digests for theirs.
 * - A job changes the filter in steps, each of which could be a merge of its own.
 */
#include "differences.h"
#include "messages.h"
#include "range_members.h"

#include "roost/incremental.h"

#include <string.h>

/* Differences that one step of a job resolves: each may have to copy a segment that the filter shares with another
   copy. Bytes of the chunks of a state that it merges. */
#define RESOLVED_IN_A_STEP 64
#define RECORDS_AT_ONCE    2048 /* of the journal */
#define MERGED_IN_A_STEP   ((size_t)4 << 10)

struct roost_reply_job {
    roost_allocator allocator; /* of all that the job holds */
    roost_environment environment;
    roost_filter *source; /* what is read: a copy, or the filter itself */
    bool at_once;         /* the filter itself, and everything in one step */
    roost_reply_stage stage;
    uint8_t type;             /* of the request, */
    struct bit_reader reader; /* and what is left of it */
    uint64_t request_hash;
    roost_status status;
    uint8_t flags;
    uint64_t incarnation, next; /* of the journal, after the last stage with the filter */
    bool stale;                 /* the request refers to a causal context that is no longer known */
    struct causal_context dots; /* that are wanted; or the space that is compared */
    struct summary summary;     /* of what is asked about */
    struct ranges ranges;       /* that are asked about */
    struct bit_writer there;    /* what the initiator is to resolve */
    struct number_list here;    /* positions to be resolved here, */
    struct located located;     /* or the entries at them, */
    uint64_t resolved;          /* of which so many have been */
    uint64_t since;             /* where a delta begins that is the reply */
    uint64_t digest;            /* of the initiator, with its state, */
    roost_bytes frame;          /* which is this, */
    roost_merge_job *merging;   /* while it is merged */
    roost_buffer reply;
};

/* ---- beginnings of replies --------------------------------------------------------------------------------------- */

static roost_status failure(const roost_filter *filter, roost_buffer *reply, roost_status status)
{
    struct bit_writer writer;
    message_begin(&writer, filter, FAILURE);
    write_byte(&writer, (uint8_t)status);
    write_byte(&writer, SYNC_VERSION);
    roost_status written = message_end(&writer, filter, reply, ROOST_OK);
    return written == ROOST_OK ? status : written;
}

/* Requests carry the lower half of the incarnation: the digests at the end would detect a false match. */
static bool is_meant_for(const roost_filter *filter, struct bit_reader *reader)
{
    return read_half(reader) == half_incarnation(filter->journal->incarnation);
}

/* Whether the journal stands where the initiator last saw it; to be computed before anything changes. */
static uint8_t undisturbed(const roost_filter *filter, uint64_t known)
{
    return filter->journal->next == known ? REPLY_UNDISTURBED : 0;
}

static void write_standing(struct bit_writer *writer, uint8_t flags, uint64_t next)
{
    write_byte(writer, flags);
    write_varint(writer, next);
}

/* ---- hello ------------------------------------------------------------------------------------------------------- */

static roost_status equal(roost_filter *filter, roost_buffer *reply)
{
    struct bit_writer writer;
    message_begin(&writer, filter, EQUAL);
    write_fixed64(&writer, filter->journal->incarnation);
    write_varint(&writer, filter->journal->next);
    return message_end(&writer, filter, reply, ROOST_OK);
}

static roost_status delta(roost_filter *filter, roost_buffer *reply, uint64_t since)
{
    struct bit_writer writer;
    message_begin(&writer, filter, DELTA);
    write_varint(&writer, filter->journal->next);
    return message_end(&writer, filter, reply,
                       filter->kind->delta.write(filter, &writer, (struct selection){.since = since}));
}

/* Approximate: it only serves to see whether one side has many times as many as the other. */
static uint64_t entries_of(const roost_filter *filter)
{
    roost_info info;
    roost_filter_estimate_info(filter, &info);
    return info.entries;
}

static roost_status lost(roost_filter *filter, roost_buffer *reply)
{
    struct bit_writer writer;
    message_begin(&writer, filter, LOST);
    write_fixed64(&writer, filter->journal->incarnation);
    write_varint(&writer, filter->journal->next);
    roost_status status = ROOST_OK;
    struct causal_context causal = {0};
    if (tracks_dots(filter))
        status = filter->kind->causal.context(filter, &causal);
    if (tracks_dots(filter))
        causal_write(&causal, &writer);
    else
        write_varint(&writer, entries_of(filter));
    if (filter->kind->sync.extent)
        write_varint(&writer, filter->kind->sync.extent(filter));
    causal_release(&causal, &filter->environment.allocator);
    return message_end(&writer, filter, reply, status);
}

static bool read_cursor(struct bit_reader *reader, roost_filter *filter, uint64_t *since)
{
    *since = read_varint(reader);
    if (*since == 0)
        return false;
    roost_cursor cursor = {filter->journal->incarnation, *since};
    return is_meant_for(filter, reader) && journal_serves(filter->journal, &cursor);
}

/* `*since` is where the delta begins that is the reply; 0: another reply was written. */
static roost_status answer_hello(roost_filter *filter, roost_buffer *reply, struct bit_reader *reader, uint64_t *since)
{
    uint8_t version = read_byte(reader);
    *since = 0;
    if (reader->failed || version != SYNC_VERSION)
        return failure(filter, reply, ROOST_PROTOCOL);
    uint64_t configuration = read_fixed64(reader), digest = read_fixed64(reader), cursor;
    bool known = read_cursor(reader, filter, &cursor);
    if (reader->failed || reader_bits_left(reader) != 0)
        return failure(filter, reply, ROOST_CORRUPT);
    if (configuration != configuration_hash(filter).low)
        return failure(filter, reply, ROOST_MISMATCH);
    if (digest == short_digest(filter))
        return equal(filter, reply);
    *since = known ? cursor : 0;
    return known ? ROOST_OK : lost(filter, reply);
}

/* ---- push -------------------------------------------------------------------------------------------------------- */

static roost_status answer_push(roost_filter *filter, roost_buffer *reply, struct bit_reader *reader)
{
    struct bit_writer writer;
    bool changed;
    if (!is_meant_for(filter, reader))
        return lost(filter, reply);
    uint64_t known = read_varint(reader), digest = read_fixed64(reader);
    uint8_t flags = undisturbed(filter, known);
    roost_status status = reader->failed ? ROOST_CORRUPT : filter->kind->delta.merge(filter, &changed, reader);
    if (status != ROOST_OK)
        return failure(filter, reply, status);
    message_begin(&writer, filter, DONE);
    write_standing(&writer, flags | (digest == short_digest(filter) ? REPLY_EQUAL : 0), filter->journal->next);
    return message_end(&writer, filter, reply, ROOST_OK);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static void answer_now(roost_reply_job *job, roost_status status)
{
    job->status = status;
    job->stage = ROOST_REPLY_DONE;
}

/* A reply that says what is wrong with the request, or that its answer would be too large: then the initiator sends its
   state, and nothing was wrong. */
static void fail(roost_reply_job *job, roost_filter *filter, roost_status status)
{
    bool asks_for_state = job->type == LEAVES && status == ROOST_TOO_LARGE;
    status = failure(filter, &job->reply, status);
    answer_now(job, asks_for_state && status == ROOST_TOO_LARGE ? ROOST_OK : status);
}

static void note_standing(roost_reply_job *job, const roost_filter *filter)
{
    job->incarnation = filter->journal->incarnation;
    job->next = filter->journal->next;
}

/* The filter as it is now, or as it will be when it is copied, is read in the next stage. */
static void read_next(roost_reply_job *job, roost_filter *filter, roost_status status)
{
    note_standing(job, filter);
    job->source = job->at_once ? filter : NULL;
    job->stage = job->at_once ? ROOST_REPLY_READ : ROOST_REPLY_COPY;
    if (status != ROOST_OK)
        fail(job, filter, status);
}

static void release_source(roost_reply_job *job)
{
    if (!job->at_once)
        roost_filter_free(job->source);
    job->source = NULL;
}

/* ---- a delta ----------------------------------------------------------------------------------------------------- */

static void begin_hello(roost_reply_job *job, roost_filter *filter)
{
    roost_status status = answer_hello(filter, &job->reply, &job->reader, &job->since);
    if (job->since && !job->at_once && filter->journal->next - job->since > RECORDS_AT_ONCE)
        read_next(job, filter, status);
    else
        answer_now(job, job->since ? delta(filter, &job->reply, job->since) : status);
}

/* The journal may have forgotten where the delta begins, while the filter was copied. */
static void take_journal(roost_reply_job *job, roost_filter *filter)
{
    const roost_cursor cursor = {filter->journal->incarnation, job->since};
    roost_status status = roost_filter_copy_journal(job->source, filter, &cursor);
    if (status != ROOST_OK)
        fail(job, filter, status);
    else if (!journal_knows(job->source->journal, &cursor))
        answer_now(job, lost(filter, &job->reply));
}

/* ---- trade ------------------------------------------------------------------------------------------------------- */

static roost_status status_of(enum causal_read result)
{
    switch (result) {
    case CAUSAL_READ:
        return ROOST_OK;
    case CAUSAL_NO_MEMORY:
        return ROOST_NO_MEMORY;
    case CAUSAL_TOO_MANY:
        return ROOST_TOO_LARGE;
    default:
        return ROOST_CORRUPT;
    }
}

static roost_status has_seen(const roost_filter *filter, const struct causal_context *dots, bool *seen)
{
    struct causal_context own = {0};
    roost_status status = filter->kind->causal.context(filter, &own);
    *seen = status == ROOST_OK && causal_includes(&own, dots);
    causal_release(&own, &filter->environment.allocator);
    return status;
}

static void begin_trade(roost_reply_job *job, roost_filter *filter)
{
    bool changed, seen = false;
    if (!tracks_dots(filter)) {
        fail(job, filter, ROOST_CORRUPT);
        return;
    }
    if (!is_meant_for(filter, &job->reader)) {
        answer_now(job, lost(filter, &job->reply));
        return;
    }
    job->flags = undisturbed(filter, read_varint(&job->reader));
    roost_status status = status_of(causal_read(&job->dots, &job->reader, UINT32_MAX, SIZE_MAX, &job->allocator));
    if (status == ROOST_OK)
        status = filter->kind->delta.merge(filter, &changed, &job->reader);
    if (status == ROOST_OK)
        status = has_seen(filter, &job->dots, &seen);
    if (status == ROOST_OK && !seen) /* this is an older state than the one whose causal context the initiator got */
        answer_now(job, lost(filter, &job->reply));
    else
        read_next(job, filter, status);
}

static roost_status write_unseen(roost_reply_job *job)
{
    struct bit_writer writer;
    message_begin(&writer, job->source, CHANGES);
    write_standing(&writer, job->flags, job->next);
    write_fixed64(&writer, short_digest(job->source));
    return message_end(&writer, job->source, &job->reply,
                       job->source->kind->causal.write_dots(job->source, &writer, &job->dots));
}

/* ---- state ------------------------------------------------------------------------------------------------------- */

static roost_status write_whole(roost_reply_job *job, roost_filter *source, bool same)
{
    struct bit_writer writer;
    roost_buffer frame = {0};
    roost_status status = same ? ROOST_OK : roost_filter_encode(source, &frame);
    if (status != ROOST_OK)
        return status;
    message_begin(&writer, source, WHOLE);
    write_standing(&writer, job->flags, job->next);
    write_fixed64(&writer, job->incarnation);
    write_fixed64(&writer, short_digest(source));
    write_bytes(&writer, frame.data, frame.size);
    roost_buffer_release(&frame);
    return message_end(&writer, source, &job->reply, ROOST_OK);
}

/* Once the state of the initiator is merged. */
static void reply_with_state(roost_reply_job *job, roost_filter *filter, roost_status status)
{
    if (status != ROOST_OK || job->digest != short_digest(filter)) {
        read_next(job, filter, status);
        return;
    }
    note_standing(job, filter);
    answer_now(job, write_whole(job, filter, true));
}

static void begin_state(roost_reply_job *job, roost_filter *filter)
{
    job->flags = undisturbed(filter, read_varint(&job->reader));
    job->digest = read_fixed64(&job->reader);
    job->frame.size = reader_bits_left(&job->reader) / 8;
    job->frame.data = job->reader.failed ? NULL : read_bytes(&job->reader, job->frame.size);
    roost_status status = job->frame.data ? ROOST_OK : ROOST_CORRUPT;
    if (status == ROOST_OK && job->at_once)
        status = roost_filter_merge_frame(filter, NULL, job->frame.data, job->frame.size);
    else if (status == ROOST_OK)
        status = roost_merge_job_new(&job->merging, filter, &job->environment);
    note_standing(job, filter);
    if (status == ROOST_OK && job->merging)
        job->stage = ROOST_REPLY_READ;
    else
        reply_with_state(job, filter, status);
}

static void merge_some(roost_reply_job *job, roost_filter *filter)
{
    bool changed, done;
    roost_bytes delta;
    roost_status status = roost_merge_job_step(job->merging, filter, &changed, &done, &delta);
    note_standing(job, filter);
    if (status == ROOST_OK && !done)
        return;
    roost_merge_job_free(job->merging);
    job->merging = NULL;
    reply_with_state(job, filter, status);
}

/* ---- ranges and leaves ------------------------------------------------------------------------------------------- */

/* The causal context at a record of the journal, in memory of the job. */
static roost_status context_at(roost_reply_job *job, const roost_filter *filter, uint64_t record)
{
    struct causal_context then = {0};
    roost_status status = filter->kind->causal.context_at(filter, &then, record);
    if (status == ROOST_OK && !causal_copy(&job->dots, &then, &job->allocator))
        status = ROOST_NO_MEMORY;
    causal_release(&then, &filter->environment.allocator);
    return status;
}

static const struct causal_context *space_of(const roost_reply_job *job, const roost_filter *filter)
{
    return tracks_dots(filter) ? &job->dots : NULL;
}

static roost_status find_space(roost_reply_job *job, const roost_filter *filter, uint64_t record, uint32_t hash)
{
    roost_cursor then = {filter->journal->incarnation, record};
    roost_status status = ROOST_OK;
    if (tracks_dots(filter)) {
        job->stale = !journal_knows(filter->journal, &then);
        if (!job->stale)
            status = context_at(job, filter, record);
    }
    if (status == ROOST_OK && space_hash(space_of(job, filter), filter->journal->incarnation) != hash)
        job->stale = true;
    return status;
}

static void begin_ranges(roost_reply_job *job, roost_filter *filter)
{
    job->flags = undisturbed(filter, read_varint(&job->reader));
    uint64_t record = read_varint(&job->reader);
    uint32_t hash = read_half(&job->reader);
    roost_status status = ROOST_CORRUPT;
    if (!job->reader.failed && filter->kind->sync.summarize)
        status = find_space(job, filter, record, hash);
    if (job->stale)
        answer_now(job, lost(filter, &job->reply));
    else
        read_next(job, filter, status);
}

/* The universe of positions reaches as far as either side has tables. If this side has got further tables since,
   the comparison starts again. */
static roost_status read_extent(roost_reply_job *job)
{
    uint64_t extent = read_varint(&job->reader);
    if (job->reader.failed || extent > MOST_EXTENT)
        return ROOST_CORRUPT;
    job->stale = extent < job->summary.universe;
    job->summary.universe = extent;
    return job->stale ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status read_asked_ranges(roost_reply_job *job)
{
    const struct filter_sync *sync = &job->source->kind->sync;
    roost_status status = ROOST_OK;
    if (visits_positions(job->source)) /* once the ranges are known */
        job->summary.universe = sync->universe(job->source);
    else
        status = sync->summarize(job->source, &job->summary, space_of(job, job->source));
    if (status == ROOST_OK && sync->extent)
        status = read_extent(job);
    if (status == ROOST_OK)
        status = read_ranges(&job->reader, &job->ranges, job->summary.universe, &job->allocator);
    return status;
}

static roost_status compare_ranges(roost_reply_job *job, struct bit_writer *writer)
{
    struct bit_reader *reader = &job->reader;
    uint64_t universe = job->summary.universe;
    uint64_t *sums =
        visits_positions(job->source) ? sum_ranges(job->source, &job->ranges, universe, &job->allocator) : NULL;
    if (visits_positions(job->source) && !sums)
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < job->ranges.count; i++) {
        uint32_t digest = (uint32_t)read_bits(reader, 32);
        uint32_t own =
            sums ? (uint32_t)(sums[i] >> 32)
                 : summary_digest(&job->summary, range_from(&job->ranges, i), range_to(&job->ranges, i, universe));
        write_bits(writer, digest != own, 1);
    }
    write_alignment(writer);
    memory_release(&job->allocator, sums);
    return reader->failed || reader_bits_left(reader) != 0 ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status write_differing(roost_reply_job *job)
{
    struct bit_writer writer;
    roost_status status = read_asked_ranges(job);
    message_begin(&writer, job->source, DIFFER);
    write_byte(&writer, job->flags);
    if (status == ROOST_OK)
        status = compare_ranges(job, &writer);
    return message_end(&writer, job->source, &job->reply, status);
}

static roost_status compare(roost_reply_job *job)
{
    struct differences differences = no_differences(job->source, job->reader.size);
    struct bit_reader again = job->reader;
    roost_status status = ROOST_OK;
    if (visits_positions(job->source))
        status = summarize_ranges(job->source, &job->ranges, job->summary.universe, &job->summary);
    if (status == ROOST_OK)
        status = compare_leaves(&differences, &job->summary, &job->ranges, &job->reader);
    if (status == ROOST_OK)
        status = write_there(&differences, &job->there, &job->summary, &job->ranges, again);
    job->here = differences.here;
    return status;
}

/* Finds all that differs, before anything changes. Extra state follows, or nothing. */
static roost_status find_differences(roost_reply_job *job)
{
    const struct filter_sync *sync = &job->source->kind->sync;
    roost_status status = read_asked_ranges(job);
    if (status == ROOST_OK)
        status = compare(job);
    if (status == ROOST_OK && !sync->read_extra && reader_bits_left(&job->reader) != 0)
        status = ROOST_CORRUPT;
    if (status == ROOST_OK && sync->locate)
        status = sync->locate(job->source, &job->located, &job->dots, job->here.numbers, job->here.count);
    return status;
}

static uint64_t to_resolve(const roost_reply_job *job, const roost_filter *filter)
{
    return filter->kind->sync.locate ? job->located.count : job->here.count;
}

static roost_status resolve_some(roost_reply_job *job, roost_filter *filter)
{
    const struct filter_sync *sync = &filter->kind->sync;
    uint64_t from = job->resolved, some = to_resolve(job, filter) - from;
    bool changed = false;
    if (!job->at_once && some > RESOLVED_IN_A_STEP)
        some = RESOLVED_IN_A_STEP;
    job->resolved += some;
    if (sync->drop_located)
        return some ? sync->drop_located(filter, &changed, (struct located){job->located.list + from, some}) : ROOST_OK;
    const uint64_t *positions = job->here.numbers ? job->here.numbers + from : NULL;
    if (sync->read_extra && job->resolved == to_resolve(job, filter)) /* extra state comes with the last ones */
        return resolve_all_positions(filter, &changed, space_of(job, filter), positions, some, &job->reader);
    return sync->resolve_positions(filter, &changed, space_of(job, filter), positions, some);
}

static roost_status write_resolved(roost_reply_job *job, roost_filter *filter)
{
    struct bit_writer writer;
    message_begin(&writer, filter, RESOLVE);
    write_standing(&writer, job->flags, job->next);
    write_fixed64(&writer, short_digest(filter));
    write_bytes(&writer, job->there.buffer.data, job->there.buffer.size);
    if (filter->kind->sync.write_extra)
        filter->kind->sync.write_extra(filter, &writer);
    return message_end(&writer, filter, &job->reply, ROOST_OK);
}

static void resolve(roost_reply_job *job, roost_filter *filter)
{
    roost_status status = resolve_some(job, filter);
    note_standing(job, filter);
    if (status != ROOST_OK)
        fail(job, filter, status);
    else if (job->resolved == to_resolve(job, filter))
        answer_now(job, write_resolved(job, filter));
}

/* ---- any request ------------------------------------------------------------------------------------------------- */

static void begin(roost_reply_job *job, roost_filter *filter, const void *request, size_t size)
{
    roost_status status = message_open(&job->reader, filter, request, size, 0);
    job->request_hash = request_hash(filter, request, size);
    if (status == ROOST_OK)
        status = begin_journal(filter);
    if (status != ROOST_OK) {
        fail(job, filter, status);
        return;
    }
    job->type = *(const uint8_t *)request;
    switch (job->type) {
    case HELLO:
        begin_hello(job, filter);
        return;
    case PUSH:
        answer_now(job, answer_push(filter, &job->reply, &job->reader));
        return;
    case TRADE:
        begin_trade(job, filter);
        return;
    case RANGES:
    case LEAVES:
        begin_ranges(job, filter);
        return;
    case STATE:
        begin_state(job, filter);
        return;
    default:
        fail(job, filter, ROOST_PROTOCOL);
    }
}

void roost_reply_job_read(roost_reply_job *job)
{
    if (job->merging)
        job->status = roost_merge_job_read(job->merging, job->frame.data, job->frame.size, MERGED_IN_A_STEP);
    else if (job->type == HELLO)
        job->status = delta(job->source, &job->reply, job->since);
    else if (job->type == TRADE)
        job->status = write_unseen(job);
    else if (job->type == STATE)
        job->status = write_whole(job, job->source, false);
    else if (job->type == RANGES)
        job->status = write_differing(job);
    else
        job->status = find_differences(job);
    bool replied = !job->merging && job->type != LEAVES && job->status == ROOST_OK;
    release_source(job);
    job->stage = replied ? ROOST_REPLY_DONE : ROOST_REPLY_STEP;
}

/* Whether another client has changed the filter since the last stage with it. */
static void note_disturbance(roost_reply_job *job, const roost_filter *filter)
{
    if (filter->journal->next != job->next || filter->journal->incarnation != job->incarnation)
        job->flags &= (uint8_t)~REPLY_UNDISTURBED;
}

static void step(roost_reply_job *job, roost_filter *filter)
{
    bool restarted = job->type == LEAVES && filter->journal->incarnation != job->incarnation;
    note_disturbance(job, filter);
    if (job->stale || restarted)
        answer_now(job, lost(filter, &job->reply));
    else if (job->status != ROOST_OK)
        fail(job, filter, job->status);
    else if (job->merging)
        merge_some(job, filter);
    else
        resolve(job, filter);
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static bool has_changed(const roost_filter *filter, uint64_t incarnation, uint64_t next)
{
    return filter->journal->incarnation != incarnation || filter->journal->next != next;
}

/* A reply that was made with the filter is in its memory; the job may outlive the filter. */
static void keep_reply(roost_reply_job *job)
{
    roost_buffer kept = {.size = job->reply.size, .allocator = job->allocator};
    if (job->stage != ROOST_REPLY_DONE || !job->reply.data)
        return;
    kept.data = memory_allocate(&kept.allocator, kept.size);
    if (kept.data)
        memcpy(kept.data, job->reply.data, kept.size);
    else
        job->status = ROOST_NO_MEMORY;
    roost_buffer_release(&job->reply);
    job->reply = kept.data ? kept : (roost_buffer){0};
}

static void open_job(roost_reply_job *job, const roost_filter *filter, const roost_environment *environment)
{
    *job = (roost_reply_job){.at_once = environment == NULL};
    if (environment)
        job->environment = *environment;
    job->allocator = environment ? environment->allocator : filter->environment.allocator;
    bit_writer_init(&job->there, job->allocator);
}

/* Returns the reply. */
static roost_status close_job(roost_reply_job *job, roost_buffer *reply)
{
    const roost_allocator *allocator = &job->allocator;
    *reply = job->reply;
    job->reply = (roost_buffer){0};
    bind_reply(reply, job->request_hash);
    release_source(job);
    roost_merge_job_free(job->merging);
    causal_release(&job->dots, allocator);
    summary_release(&job->summary, allocator);
    ranges_release(&job->ranges, allocator);
    memory_release(allocator, job->here.numbers);
    memory_release(allocator, job->located.list);
    bit_writer_release(&job->there);
    return job->status;
}

roost_status roost_reply_job_new(roost_reply_job **made, roost_filter *filter, bool *changed, const void *request,
                                 size_t size, const roost_environment *environment)
{
    const roost_environment complete = environment_or_default(environment);
    const uint64_t incarnation = filter->journal->incarnation, next = filter->journal->next;
    *changed = false;
    *made = NULL;
    roost_reply_job *job = memory_allocate(&complete.allocator, sizeof *job);
    if (!job)
        return ROOST_NO_MEMORY;
    *made = job;
    open_job(job, filter, &complete);
    begin(job, filter, request, size);
    keep_reply(job);
    *changed = has_changed(filter, incarnation, next);
    return ROOST_OK;
}

roost_reply_stage roost_reply_job_get_stage(const roost_reply_job *job)
{
    return job->stage;
}

void roost_reply_job_take_copy(roost_reply_job *job, roost_filter *filter, roost_filter *copy)
{
    note_disturbance(job, filter);
    note_standing(job, filter);
    job->source = copy;
    job->stage = ROOST_REPLY_READ;
    if (job->type == HELLO)
        take_journal(job, filter);
    keep_reply(job);
}

void roost_reply_job_step(roost_reply_job *job, roost_filter *filter, bool *changed)
{
    const uint64_t incarnation = filter->journal->incarnation, next = filter->journal->next;
    step(job, filter);
    keep_reply(job);
    *changed = has_changed(filter, incarnation, next);
}

roost_status roost_reply_job_finish(roost_reply_job *job, roost_buffer *reply)
{
    const roost_allocator allocator = job->allocator;
    roost_status status = close_job(job, reply);
    memory_release(&allocator, job);
    return status;
}

void roost_reply_job_free(roost_reply_job *job)
{
    roost_buffer reply;
    if (!job)
        return;
    (void)(roost_reply_job_finish(job, &reply) == ROOST_OK);
    roost_buffer_release(&reply);
}

roost_status roost_sync_reply(roost_filter *filter, roost_buffer *reply, bool *changed, const void *request,
                              size_t size)
{
    roost_reply_job job;
    const uint64_t incarnation = filter->journal->incarnation, next = filter->journal->next;
    open_job(&job, filter, NULL);
    begin(&job, filter, request, size);
    while (job.stage != ROOST_REPLY_DONE)
        if (job.stage == ROOST_REPLY_READ)
            roost_reply_job_read(&job);
        else
            step(&job, filter);
    roost_status status = close_job(&job, reply);
    if (status != ROOST_OK && incarnation == 0 && journal_length(filter->journal) == 0) /* no peer has a cursor in it */
        release_journal(filter);
    if (changed)
        *changed = has_changed(filter, incarnation, next);
    return status;
}
