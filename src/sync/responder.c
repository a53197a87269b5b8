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
 */
#include "messages.h"
#include "range_members.h"

#include "roost/incremental.h"

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

static void write_standing(struct bit_writer *writer, roost_filter *filter, uint8_t flags)
{
    write_byte(writer, flags);
    write_varint(writer, filter->journal->next);
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

static roost_status answer_hello(roost_filter *filter, roost_buffer *reply, struct bit_reader *reader)
{
    uint8_t version = read_byte(reader);
    if (reader->failed || version != SYNC_VERSION)
        return failure(filter, reply, ROOST_PROTOCOL);
    uint64_t configuration = read_fixed64(reader), digest = read_fixed64(reader), since;
    bool known = read_cursor(reader, filter, &since);
    if (reader->failed || reader_bits_left(reader) != 0)
        return failure(filter, reply, ROOST_CORRUPT);
    if (configuration != configuration_hash(filter).low)
        return failure(filter, reply, ROOST_MISMATCH);
    if (digest == short_digest(filter))
        return equal(filter, reply);
    return known ? delta(filter, reply, since) : lost(filter, reply);
}

/* ---- push, trade, state ------------------------------------------------------------------------------------------ */

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
    write_standing(&writer, filter, flags | (digest == short_digest(filter) ? REPLY_EQUAL : 0));
    return message_end(&writer, filter, reply, ROOST_OK);
}

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

static roost_status read_wanted(const roost_filter *filter, struct causal_context *wanted, struct bit_reader *reader)
{
    return status_of(causal_read(wanted, reader, UINT32_MAX, SIZE_MAX, &filter->environment.allocator));
}

static roost_status write_unseen(roost_filter *filter, roost_buffer *reply, const struct causal_context *wanted,
                                 uint8_t flags)
{
    struct bit_writer writer;
    message_begin(&writer, filter, CHANGES);
    write_standing(&writer, filter, flags);
    write_fixed64(&writer, short_digest(filter));
    return message_end(&writer, filter, reply, filter->kind->causal.write_dots(filter, &writer, wanted));
}

static roost_status answer_trade(roost_filter *filter, roost_buffer *reply, struct bit_reader *reader)
{
    struct causal_context wanted = {0}, own = {0};
    bool changed;
    if (!tracks_dots(filter))
        return failure(filter, reply, ROOST_CORRUPT);
    if (!is_meant_for(filter, reader))
        return lost(filter, reply);
    uint8_t flags = undisturbed(filter, read_varint(reader));
    roost_status status = read_wanted(filter, &wanted, reader);
    if (status == ROOST_OK)
        status = filter->kind->delta.merge(filter, &changed, reader);
    if (status == ROOST_OK)
        status = filter->kind->causal.context(filter, &own);
    if (status != ROOST_OK)
        status = failure(filter, reply, status);
    else if (causal_includes(&own, &wanted))
        status = write_unseen(filter, reply, &wanted, flags);
    else /* this is an older state than the one whose causal context the initiator got */
        status = lost(filter, reply);
    causal_release(&own, &filter->environment.allocator);
    causal_release(&wanted, &filter->environment.allocator);
    return status;
}

static roost_status answer_state(roost_filter *filter, roost_buffer *reply, struct bit_reader *reader)
{
    struct bit_writer writer;
    roost_buffer frame = {0};
    uint8_t flags = undisturbed(filter, read_varint(reader));
    uint64_t digest = read_fixed64(reader);
    size_t size = reader_bits_left(reader) / 8;
    const uint8_t *bytes = reader->failed ? NULL : read_bytes(reader, size);
    roost_status status = bytes ? roost_filter_merge_frame(filter, NULL, bytes, size) : ROOST_CORRUPT;
    if (status == ROOST_OK && digest != short_digest(filter))
        status = roost_filter_encode(filter, &frame);
    if (status != ROOST_OK)
        return failure(filter, reply, status);
    message_begin(&writer, filter, WHOLE);
    write_standing(&writer, filter, flags);
    write_fixed64(&writer, filter->journal->incarnation);
    write_fixed64(&writer, short_digest(filter));
    write_bytes(&writer, frame.data, frame.size);
    roost_buffer_release(&frame);
    return message_end(&writer, filter, reply, ROOST_OK);
}

/* ---- ranges and leaves ------------------------------------------------------------------------------------------- */

/* The beginning of a request about ranges, and what the answer needs. */
struct range_request {
    uint8_t flags;
    bool stale; /* it refers to a causal context that is no longer known */
    struct causal_context space;
    const struct causal_context *space_or_null;
    struct summary summary;
    struct ranges ranges;
};

static void range_request_release(const roost_filter *filter, struct range_request *request)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    causal_release(&request->space, allocator);
    summary_release(&request->summary, allocator);
    ranges_release(&request->ranges, allocator);
}

static roost_status find_space(const roost_filter *filter, struct range_request *request, uint64_t record,
                               uint32_t hash)
{
    roost_cursor then = {filter->journal->incarnation, record};
    roost_status status = ROOST_OK;
    if (tracks_dots(filter)) {
        request->space_or_null = &request->space;
        request->stale = !journal_knows(filter->journal, &then);
        if (!request->stale)
            status = filter->kind->causal.context_at(filter, &request->space, record);
    }
    if (status == ROOST_OK && space_hash(request->space_or_null, filter->journal->incarnation) != hash)
        request->stale = true;
    return request->stale ? ROOST_CORRUPT : status;
}

/* The universe of positions reaches as far as either side has tables. If this side has got further tables since,
   the comparison starts again. */
static roost_status read_extent(struct bit_reader *reader, struct range_request *request)
{
    uint64_t extent = read_varint(reader);
    if (reader->failed || extent > MOST_EXTENT)
        return ROOST_CORRUPT;
    request->stale = extent < request->summary.universe;
    request->summary.universe = extent;
    return request->stale ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status read_range_request(const roost_filter *filter, struct range_request *request,
                                       struct bit_reader *reader)
{
    *request = (struct range_request){.flags = undisturbed(filter, read_varint(reader))};
    uint64_t record = read_varint(reader);
    uint32_t hash = read_half(reader);
    if (reader->failed || !filter->kind->sync.summarize)
        return ROOST_CORRUPT;
    roost_status status = find_space(filter, request, record, hash);
    if (status == ROOST_OK && visits_positions(filter)) /* once the ranges are known */
        request->summary.universe = filter->kind->sync.universe(filter);
    else if (status == ROOST_OK)
        status = filter->kind->sync.summarize(filter, &request->summary, request->space_or_null);
    if (status == ROOST_OK && filter->kind->sync.extent)
        status = read_extent(reader, request);
    if (status == ROOST_OK)
        status = read_ranges(reader, &request->ranges, request->summary.universe, &filter->environment.allocator);
    return status;
}

/* Of each range, the sum of its members. NULL without memory. */
static uint64_t *sums_of(const roost_filter *filter, const struct range_request *request)
{
    const roost_allocator *allocator = &filter->environment.allocator;
    uint64_t *sums = memory_allocate(allocator, (request->ranges.count + 1) * sizeof *sums);
    if (sums && sum_ranges(filter, &request->ranges, request->summary.universe, sums) != ROOST_OK) {
        memory_release(allocator, sums);
        sums = NULL;
    }
    return sums;
}

static roost_status compare_ranges(const roost_filter *filter, const struct range_request *request,
                                   struct bit_reader *reader, struct bit_writer *writer)
{
    uint64_t universe = request->summary.universe;
    uint64_t *sums = visits_positions(filter) ? sums_of(filter, request) : NULL;
    if (visits_positions(filter) && !sums)
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < request->ranges.count; i++) {
        uint32_t digest = (uint32_t)read_bits(reader, 32);
        uint32_t own = sums ? (uint32_t)(sums[i] >> 32)
                            : summary_digest(&request->summary, range_from(&request->ranges, i),
                                             range_to(&request->ranges, i, universe));
        write_bits(writer, digest != own, 1);
    }
    write_alignment(writer);
    memory_release(&filter->environment.allocator, sums);
    return reader->failed || reader_bits_left(reader) != 0 ? ROOST_CORRUPT : ROOST_OK;
}

static roost_status answer_ranges(roost_filter *filter, roost_buffer *reply, struct bit_reader *reader)
{
    struct range_request request;
    struct bit_writer writer;
    roost_status status = read_range_request(filter, &request, reader);
    message_begin(&writer, filter, DIFFER);
    write_byte(&writer, request.flags);
    if (status == ROOST_OK)
        status = compare_ranges(filter, &request, reader, &writer);
    range_request_release(filter, &request);
    status = message_end(&writer, filter, reply, status);
    if (request.stale)
        return lost(filter, reply);
    return status == ROOST_OK ? ROOST_OK : failure(filter, reply, status);
}

#define FEW_DIFFERENCES       ((uint64_t)1 << 17)
#define BYTES_OF_A_DIFFERENCE 64 /* in a list that doubles, and what is made of it */

/*
 * Positions that only one of the two has. Those that change this filter are listed. Those that change the peer's are
 * only counted at first; when the message is read a second time, they are written to the reply as they are found. So
 * nothing here is longer than the message, what this filter holds, or the reply.
 */
struct differences {
    const roost_filter *filter;
    bool dots;                 /* observed-remove: what one side lacks was removed, so the lists change sides */
    struct number_list here;   /* to be resolved here, */
    uint64_t there, most;      /* and there: how many, and how many at most */
    struct bit_writer *writer; /* the second time */
    unsigned parameter;        /* of its gaps, */
    uint64_t next;             /* and where the next one begins */
};

/*
 * Bounds. Each position that a leaf names costs the initiator at least a bit; leaves that name the missing positions
 * may add a number of positions in proportion to our own memory. The reply is at most about as long as our own memory.
 * Beyond that the whole state is as short.
 */
static struct differences no_differences(const roost_filter *filter, size_t size)
{
    roost_info info;
    roost_filter_get_brief_info(filter, &info);
    struct differences none = {.filter = filter, .dots = tracks_dots(filter)};
    uint64_t limit = filter->environment.common->memory_limit / BYTES_OF_A_DIFFERENCE,
             some = FEW_DIFFERENCES + 8 * (uint64_t)size;
    uint64_t most = none.dots ? info.bytes_memory : some + info.bytes_memory / sizeof(uint64_t);
    none.here.most = most < limit ? most : limit;
    none.most = none.dots ? some + info.bytes_memory : info.bytes_memory;
    return none;
}

static roost_status resolve_there(struct differences *differences, uint64_t from, uint64_t to)
{
    if (!differences->writer) {
        differences->there += to - from;
        return differences->there <= differences->most ? ROOST_OK : ROOST_TOO_LARGE;
    }
    for (; from < to; from++) {
        write_rice(differences->writer, from - differences->next, differences->parameter);
        differences->next = from + 1;
    }
    return differences->writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
}

static roost_status resolve_here(struct differences *differences, uint64_t from, uint64_t to)
{
    roost_status status = ROOST_OK;
    for (; !differences->writer && from < to && status == ROOST_OK; from++)
        status = list_append(&differences->here, from, differences->filter);
    return status;
}

/* Grow-only: positions that only the peer has are added here, ours are sent. Observed-remove: the other way round. */
static roost_status note_mine(struct differences *differences, uint64_t position)
{
    return (differences->dots ? resolve_here : resolve_there)(differences, position, position + 1);
}

static roost_status note_theirs(struct differences *differences, uint64_t from, uint64_t to)
{
    return (differences->dots ? resolve_there : resolve_here)(differences, from, to);
}

/* Our members of a range, the next of which is known. */
struct own_members {
    struct member_walk walk;
    uint64_t next;
    bool more;
};

static void pass_member(struct own_members *own)
{
    own->more = summary_next(&own->walk, &own->next);
}

/* Compares a row of the peer's members: those of it that are not ours are theirs alone. */
static roost_status compare_row(struct differences *differences, struct own_members *own, uint64_t from, uint64_t to)
{
    roost_status status = ROOST_OK;
    for (; status == ROOST_OK && own->more && own->next < from; pass_member(own))
        status = note_mine(differences, own->next);
    while (status == ROOST_OK && from < to) {
        bool shared = own->more && own->next < to;
        uint64_t end = shared ? own->next : to;
        status = note_theirs(differences, from, end);
        from = end + 1;
        if (shared)
            pass_member(own);
    }
    return status;
}

static roost_status compare_leaf(const struct range_request *request, struct differences *differences, uint64_t range,
                                 struct bit_reader *reader)
{
    uint64_t from = range_from(&request->ranges, range);
    uint64_t to = range_to(&request->ranges, range, request->summary.universe);
    struct own_members own = {.walk = summary_walk(&request->summary, from, to)};
    struct leaf leaf;
    roost_status status = ROOST_OK;
    pass_member(&own);
    leaf_open(&leaf, reader, from, to);
    while (status == ROOST_OK && leaf_next(&leaf, &from, &to))
        status = compare_row(differences, &own, from, to);
    if (status == ROOST_OK && leaf.failed)
        status = ROOST_CORRUPT;
    for (; status == ROOST_OK && own.more; pass_member(&own))
        status = note_mine(differences, own.next);
    return status;
}

static roost_status compare_leaves(const struct range_request *request, struct differences *differences,
                                   struct bit_reader *reader)
{
    roost_status status = ROOST_OK;
    for (uint64_t i = 0; status == ROOST_OK && i < request->ranges.count; i++)
        status = compare_leaf(request, differences, i, reader);
    return status == ROOST_OK && reader->failed ? ROOST_CORRUPT : status;
}

/* The positions that the initiator is to resolve, as write_numbers encodes them; before anything changes here. */
static roost_status write_there(const struct range_request *request, struct differences *differences,
                                struct bit_writer *writer, struct bit_reader reader)
{
    write_varint(writer, differences->there);
    differences->writer = writer;
    differences->parameter = rice_parameter(request->summary.universe, differences->there);
    roost_status status = compare_leaves(request, differences, &reader);
    write_alignment(writer);
    return status == ROOST_OK && writer->failed ? ROOST_NO_MEMORY : status;
}

static roost_status resolve_positions(roost_filter *filter, roost_buffer *reply, const struct range_request *request,
                                      const struct differences *differences, const struct bit_writer *there,
                                      struct bit_reader *reader)
{
    bool changed = false;
    struct bit_writer writer;
    roost_status status = resolve_all_positions(filter, &changed, request->space_or_null, differences->here.numbers,
                                                differences->here.count, reader);
    if (status != ROOST_OK)
        return status;
    message_begin(&writer, filter, RESOLVE);
    write_standing(&writer, filter, request->flags);
    write_fixed64(&writer, short_digest(filter));
    write_bytes(&writer, there->buffer.data, there->buffer.size);
    if (filter->kind->sync.write_extra)
        filter->kind->sync.write_extra(filter, &writer);
    return message_end(&writer, filter, reply, ROOST_OK);
}

static roost_status answer_leaves(roost_filter *filter, roost_buffer *reply, struct bit_reader *reader)
{
    struct range_request request;
    struct bit_writer there;
    struct differences differences = no_differences(filter, reader->size);
    bit_writer_init(&there, filter->environment.allocator);
    roost_status status = read_range_request(filter, &request, reader);
    struct bit_reader again = *reader;
    if (status == ROOST_OK && visits_positions(filter))
        status = summarize_ranges(filter, &request.ranges, request.summary.universe, &request.summary);
    if (status == ROOST_OK)
        status = compare_leaves(&request, &differences, reader);
    if (status == ROOST_OK)
        status = write_there(&request, &differences, &there, again);
    if (status == ROOST_OK)
        status = resolve_positions(filter, reply, &request, &differences, &there, reader);
    if (request.stale)
        status = lost(filter, reply);
    else if (status != ROOST_OK)
        status = failure(filter, reply, status);
    if (status == ROOST_TOO_LARGE) /* not an error of the request: the reply asks for the whole state instead */
        status = ROOST_OK;
    range_request_release(filter, &request);
    list_release(&differences.here, filter);
    bit_writer_release(&there);
    return status;
}

/* ---- any request ------------------------------------------------------------------------------------------------- */

static roost_status answer(roost_filter *filter, roost_buffer *reply, const void *request, size_t size)
{
    struct bit_reader reader;
    roost_status status = message_open(&reader, filter, request, size, 0);
    if (status == ROOST_OK)
        status = begin_journal(filter);
    if (status != ROOST_OK)
        return failure(filter, reply, status);
    switch (*(const uint8_t *)request) {
    case HELLO:
        return answer_hello(filter, reply, &reader);
    case PUSH:
        return answer_push(filter, reply, &reader);
    case TRADE:
        return answer_trade(filter, reply, &reader);
    case RANGES:
        return answer_ranges(filter, reply, &reader);
    case LEAVES:
        return answer_leaves(filter, reply, &reader);
    case STATE:
        return answer_state(filter, reply, &reader);
    default:
        return failure(filter, reply, ROOST_PROTOCOL);
    }
}

roost_status roost_sync_reply(roost_filter *filter, roost_buffer *reply, bool *changed, const void *request,
                              size_t size)
{
    *reply = (roost_buffer){0};
    uint64_t incarnation = filter->journal->incarnation, next = filter->journal->next;
    roost_status status = answer(filter, reply, request, size);
    bind_reply(reply, request_hash(filter, request, size));
    if (status != ROOST_OK && incarnation == 0 && journal_length(filter->journal) == 0) /* no peer has a cursor in it */
        release_journal(filter);
    if (changed)
        *changed = filter->journal->incarnation != incarnation || filter->journal->next != next;
    return status;
}
