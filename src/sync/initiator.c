/*
 * The initiator of a sync: sends requests, and decides by each reply what to request next.
 *
 *     HELLO --> EQUAL                                             nothing to do
 *           --> DELTA --> PUSH --> DONE                           both have cursors: what changed since, each way
 *           --> LOST  --> TRADE --> CHANGES                       dots that only one side has seen, by causal context
 *                     --> RANGES --> DIFFER --> ...
 *                                --> LEAVES --> RESOLVE           what is left, by digests of ranges
 *                     --> STATE --> WHOLE                         everything: the last resort
 *
 * A peer that no longer knows what it sent with LOST (its journal is short, and other clients change it too), or that
 * is not the one that replied first (two servers may share a name), sends LOST again, and the exchange goes on from
 * there, at most MOST_LOST times.
 *
 * Each reply ends with digests being compared, and the exchange ends as soon as they agree. If they differ although
 * everything was sent, and no other client changed either filter meanwhile, something was wrong (a cursor, the short
 * digest of a range), and the next stage down is tried. If another client did, the exchange ends there, and the next
 * one transfers what is new.
 *
 * Between two calls other clients may change the filter. What one call leaves for the next stays true, since states
 * only grow: totals and a summary of members are copies, members are listed and a view of bits is taken again when they
 * are needed; a dot that was live in it and has died since is at worst sent as live to a peer that holds it too, and
 * dots that were dead stay dead. Journal positions are
 * read before the changes up to them are written, digests in the call that writes what they are compared for. The
 * journal shows whether another client changed the filter, here as on the peer.
 *
 * The memory of a peer consists of two cursors: the positions of both journals when both states were equal. A cursor
 * advances only past changes that are known to have been sent: one that is too old costs bytes, one that is too new
 * would lose changes.
 *
 * Correctness. The filter is only ever changed by merging deltas, and by dropping dots that the peer has seen and
 * removed: a merge of the two states would make each of these changes too.
 */
#include "messages.h"
#include "range_members.h"

#include <string.h>

#define MEMORY_VERSION 1
/* Leaves are sent once they are no larger than the digests of the ranges below would be. */
#define LEAF_BITS 512
/* Ranges are not cut further where most of them differ. */
#define MOST_DIFFER(asked) ((asked)*5 / 8)
/* How often the peer may send its causal context; after that the whole state is sent. */
#define MOST_LOST 4

enum stage { AT_START, AFTER_HELLO, AFTER_PUSH, AFTER_TRADE, AFTER_RANGES, AFTER_LEAVES, AFTER_STATE, AT_END };

struct roost_sync {
    roost_filter *filter;
    enum stage stage;
    roost_cursor peer;           /* how far the peer's changes are known here; incarnation 0: not at all */
    roost_cursor own;            /* how far our changes are known there */
    roost_cursor lost;           /* where the peer's journal stood at LOST; all before is known here at the end */
    uint32_t times_lost;         /* how often there was a LOST */
    uint64_t known;              /* where the peer's journal stood at its last reply */
    uint64_t sent;               /* how far our journal was sent in this exchange */
    uint64_t incarnation;        /* of our journal; a process that was forked has another one */
    uint64_t stood;              /* where our journal stood when our digest was last computed */
    bool suspicious;             /* cursors did not lead to equality */
    bool undisturbed;            /* no other client changed the peer since LOST */
    bool quiet;                  /* no other client changed our filter since HELLO, */
    uint64_t left;               /* when its journal stood here */
    uint64_t extent;             /* how far the peer's positions reach, for kinds whose universe grows */
    struct causal_context space; /* the peer's, when it lost the cursor */
    struct range_totals totals;  /* of our members, for kinds that tell them in no order; */
    struct summary summary; /* of these members in the ranges below, as soon as it matters; or of all, in that space */
    struct ranges ranges;   /* those of the last request */
    uint64_t request_hash;  /* of the last one */
    roost_sync_result result;
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void read_memory(struct roost_sync *sync, const void *memory, size_t size)
{
    struct bit_reader reader = bit_reader_over(memory, size);
    if (size == 0 || read_byte(&reader) != MEMORY_VERSION)
        return;
    roost_cursor peer, own;
    peer.incarnation = read_fixed64(&reader);
    peer.sequence = read_varint(&reader);
    own.incarnation = read_fixed64(&reader);
    own.sequence = read_varint(&reader);
    if (reader.failed || reader_bits_left(&reader) != 0 || !journal_knows(sync->filter->journal, &own))
        return;
    sync->peer = peer;
    sync->own = own;
}

roost_status roost_sync_new(roost_sync **made, roost_filter *filter, const void *memory, size_t size)
{
    *made = NULL;
    roost_status status = begin_journal(filter);
    if (status != ROOST_OK)
        return status;
    struct roost_sync *sync = memory_allocate(&filter->environment.allocator, sizeof *sync);
    if (!sync)
        return ROOST_NO_MEMORY;
    sync->filter = filter;
    sync->incarnation = filter->journal->incarnation;
    read_memory(sync, memory, size);
    *made = sync;
    return ROOST_OK;
}

static void forget_space(struct roost_sync *sync)
{
    const roost_allocator *allocator = &sync->filter->environment.allocator;
    causal_release(&sync->space, allocator);
    summary_release(&sync->summary, allocator);
    totals_release(&sync->totals, allocator);
    ranges_release(&sync->ranges, allocator);
}

void roost_sync_free(roost_sync *sync)
{
    if (!sync)
        return;
    forget_space(sync);
    memory_release(&sync->filter->environment.allocator, sync);
}

roost_sync_result roost_sync_get_result(const roost_sync *sync)
{
    return sync->result;
}

roost_status roost_sync_save_memory(const roost_sync *sync, roost_buffer *memory)
{
    struct bit_writer writer;
    bit_writer_init(&writer, sync->filter->environment.allocator);
    if (sync->peer.incarnation && sync->own.incarnation) {
        write_byte(&writer, MEMORY_VERSION);
        write_fixed64(&writer, sync->peer.incarnation);
        write_varint(&writer, sync->peer.sequence);
        write_fixed64(&writer, sync->own.incarnation);
        write_varint(&writer, sync->own.sequence);
    }
    bool failed = writer.failed;
    if (failed)
        bit_writer_release(&writer);
    *memory = writer.buffer;
    return failed ? ROOST_NO_MEMORY : ROOST_OK;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static roost_status end(struct roost_sync *sync, bool equal)
{
    bool valid = sync->filter->journal->incarnation == sync->incarnation;
    sync->stage = AT_END;
    sync->result.equal = equal;
    sync->own = (roost_cursor){valid ? sync->incarnation : 0, equal ? sync->stood : sync->sent};
    if (sync->lost.incarnation)
        sync->peer = sync->lost;
    if (equal)
        sync->peer.sequence = sync->known;
    forget_space(sync);
    return ROOST_OK;
}

/* To be compared with the peer's: if they are equal, the peer has all changes of our journal so far. */
static uint64_t own_digest(struct roost_sync *sync)
{
    sync->stood = sync->filter->journal->next;
    return short_digest(sync->filter);
}

/* ---- hello ------------------------------------------------------------------------------------------------------- */

static roost_status send_hello(struct roost_sync *sync, roost_buffer *request)
{
    struct bit_writer writer;
    bool have_cursors = sync->peer.incarnation && sync->peer.sequence && sync->own.incarnation && !sync->suspicious;
    message_begin(&writer, sync->filter, HELLO);
    write_byte(&writer, SYNC_VERSION);
    write_fixed64(&writer, configuration_hash(sync->filter).low);
    write_fixed64(&writer, own_digest(sync));
    write_varint(&writer, have_cursors ? sync->peer.sequence : 0);
    if (have_cursors)
        write_half(&writer, half_incarnation(sync->peer.incarnation));
    sync->sent = sync->filter->journal->next;
    sync->quiet = true;
    sync->stage = AFTER_HELLO;
    return message_end(&writer, sync->filter, request, ROOST_OK);
}

/* What changed here since the last sync; encoded before the peer's changes are merged. */
static roost_status own_changes(struct roost_sync *sync, struct bit_writer *writer)
{
    bit_writer_init(writer, sync->filter->environment.allocator);
    sync->sent = sync->filter->journal->next;
    struct selection sent = {.since = sync->own.sequence};
    roost_status status = sync->filter->kind->delta.write(sync->filter, writer, sent);
    if (status != ROOST_OK)
        bit_writer_release(writer);
    return status;
}

static roost_status merge_delta(struct roost_sync *sync, struct bit_reader *reader)
{
    bool changed;
    roost_status status = sync->filter->kind->delta.merge(sync->filter, &changed, reader);
    sync->result.changed |= status == ROOST_OK && changed;
    return status;
}

static roost_status push(struct roost_sync *sync, roost_buffer *request, struct bit_writer *changes)
{
    struct bit_writer writer;
    message_begin(&writer, sync->filter, PUSH);
    write_half(&writer, half_incarnation(sync->peer.incarnation));
    write_varint(&writer, sync->known);
    write_fixed64(&writer, own_digest(sync));
    write_bytes(&writer, changes->buffer.data, changes->buffer.size);
    sync->stage = AFTER_PUSH;
    return message_end(&writer, sync->filter, request, ROOST_OK);
}

static roost_status after_delta(struct roost_sync *sync, roost_buffer *request, struct bit_reader *reader)
{
    struct bit_writer changes;
    if (!sync->own.incarnation || sync->suspicious)
        return ROOST_PROTOCOL;
    if (!journal_knows(sync->filter->journal, &sync->own)) { /* not any more */
        sync->suspicious = true;
        return send_hello(sync, request);
    }
    sync->known = read_varint(reader);
    roost_status status = reader->failed ? ROOST_CORRUPT : own_changes(sync, &changes);
    if (status != ROOST_OK)
        return status;
    status = merge_delta(sync, reader);
    if (status == ROOST_OK) {
        sync->peer.sequence = sync->known;
        status = push(sync, request, &changes);
    }
    bit_writer_release(&changes);
    return status;
}

static roost_status after_equal(struct roost_sync *sync, struct bit_reader *reader)
{
    uint64_t incarnation = read_fixed64(reader);
    sync->known = read_varint(reader);
    if (reader->failed || reader_bits_left(reader) != 0)
        return ROOST_CORRUPT;
    sync->peer.incarnation = incarnation;
    return end(sync, true);
}

/* Flags and where the peer's journal stands now. */
static bool read_standing(struct roost_sync *sync, struct bit_reader *reader, uint8_t *flags)
{
    *flags = read_byte(reader);
    sync->known = read_varint(reader);
    sync->undisturbed &= (*flags & REPLY_UNDISTURBED) != 0;
    return !reader->failed;
}

static roost_status after_push(struct roost_sync *sync, roost_buffer *request, struct bit_reader *reader)
{
    uint8_t flags;
    if (!read_standing(sync, reader, &flags) || reader_bits_left(reader) != 0)
        return ROOST_CORRUPT;
    if (flags & REPLY_EQUAL || !(flags & REPLY_UNDISTURBED))
        return end(sync, flags & REPLY_EQUAL);
    sync->suspicious = true;
    return send_hello(sync, request);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static const struct causal_context *space_or_null(const struct roost_sync *sync)
{
    return tracks_dots(sync->filter) ? &sync->space : NULL;
}

static void begin_range_request(struct roost_sync *sync, struct bit_writer *writer, enum message_type type)
{
    message_begin(writer, sync->filter, type);
    write_varint(writer, sync->known);
    write_varint(writer, sync->lost.sequence);
    write_half(writer, space_hash(space_or_null(sync), sync->lost.incarnation));
    if (sync->filter->kind->sync.extent)
        write_varint(writer, sync->summary.universe);
    write_ranges(writer, &sync->ranges, sync->summary.universe);
}

/* What points into the filter may have moved. What lies beyond the universe is left to another sync. */
static roost_status look_again(struct roost_sync *sync)
{
    struct summary now;
    if (!summary_is_view(&sync->summary))
        return ROOST_OK;
    roost_status status = sync->filter->kind->sync.summarize(sync->filter, &now, space_or_null(sync));
    if (status != ROOST_OK)
        return status;
    now.universe = sync->summary.universe;
    summary_release(&sync->summary, &sync->filter->environment.allocator);
    sync->summary = now;
    return ROOST_OK;
}

/* A summary of what is in the present ranges, if there is none yet. */
static roost_status list_members(struct roost_sync *sync)
{
    if (!visits_positions(sync->filter) || sync->summary.positions)
        return ROOST_OK;
    return summarize_ranges(sync->filter, &sync->ranges, sync->summary.universe, &sync->summary);
}

static uint32_t digest_of(const struct roost_sync *sync, uint64_t i)
{
    if (totals_have(&sync->totals, &sync->ranges))
        return totals_digest(&sync->totals, &sync->ranges, i);
    return summary_digest(&sync->summary, range_from(&sync->ranges, i),
                          range_to(&sync->ranges, i, sync->summary.universe));
}

static roost_status request_ranges(struct roost_sync *sync, roost_buffer *request)
{
    struct bit_writer writer;
    roost_status status = totals_have(&sync->totals, &sync->ranges) ? ROOST_OK : list_members(sync);
    if (status != ROOST_OK)
        return status;
    begin_range_request(sync, &writer, RANGES);
    for (uint64_t i = 0; i < sync->ranges.count; i++)
        write_bits(&writer, digest_of(sync, i), 32);
    write_alignment(&writer);
    sync->stage = AFTER_RANGES;
    return message_end(&writer, sync->filter, request, ROOST_OK);
}

/* All that we have, as far as the peer's positions reach. */
static roost_status summarize_all(struct roost_sync *sync)
{
    const roost_filter *filter = sync->filter;
    roost_status status = ROOST_OK;
    if (visits_positions(filter))
        sync->summary.universe = filter->kind->sync.universe(filter);
    else
        status = filter->kind->sync.summarize(filter, &sync->summary, space_or_null(sync));
    if (sync->summary.universe < sync->extent)
        sync->summary.universe = sync->extent;
    if (visits_positions(filter))
        status = total_ranges(filter, sync->summary.universe, widest_shift(sync->summary.universe), &sync->totals);
    return status;
}

/* The whole universe, in the widest ranges. */
static roost_status request_all_ranges(struct roost_sync *sync, roost_buffer *request)
{
    roost_status status = summarize_all(sync);
    if (status != ROOST_OK)
        return status;
    unsigned shift = widest_shift(sync->summary.universe);
    uint64_t count = (sync->summary.universe >> shift) + 1;
    uint64_t *numbers = memory_allocate(&sync->filter->environment.allocator, count * sizeof *numbers);
    if (!numbers)
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = i;
    sync->ranges = (struct ranges){shift, numbers, count};
    return request_ranges(sync, request);
}

static roost_status send_leaves(struct roost_sync *sync, roost_buffer *request)
{
    const roost_allocator *allocator = &sync->filter->environment.allocator;
    struct bit_writer writer;
    bool room = true;
    roost_status status = list_members(sync);
    if (status != ROOST_OK)
        return status;
    begin_range_request(sync, &writer, LEAVES);
    for (uint64_t i = 0; room && i < sync->ranges.count; i++) {
        uint64_t from = range_from(&sync->ranges, i), to = range_to(&sync->ranges, i, sync->summary.universe);
        uint64_t count = summary_count(&sync->summary, from, to);
        uint64_t *members = memory_allocate(allocator, (count + 1) * sizeof *members);
        room = members != NULL;
        if (room) {
            summary_members(&sync->summary, from, to, members);
            write_leaf(&writer, members, count, from, to);
        }
        memory_release(allocator, members);
    }
    if (sync->filter->kind->sync.write_extra)
        sync->filter->kind->sync.write_extra(sync->filter, &writer);
    sync->stage = AFTER_LEAVES;
    return message_end(&writer, sync->filter, request, room ? ROOST_OK : ROOST_NO_MEMORY);
}

static uint64_t count_of(const struct roost_sync *sync, uint64_t i)
{
    if (totals_have(&sync->totals, &sync->ranges))
        return totals_count(&sync->totals, &sync->ranges, i);
    return summary_count(&sync->summary, range_from(&sync->ranges, i),
                         range_to(&sync->ranges, i, sync->summary.universe));
}

/* On average: a few large ranges do not matter. */
static bool leaves_are_small(const struct roost_sync *sync)
{
    double bits = 0;
    for (uint64_t i = 0; i < sync->ranges.count; i++) {
        uint64_t from = range_from(&sync->ranges, i), to = range_to(&sync->ranges, i, sync->summary.universe);
        bits += leaf_bits(count_of(sync, i), to - from);
    }
    return bits <= (double)sync->ranges.count * LEAF_BITS;
}

static roost_status cut_ranges(struct roost_sync *sync)
{
    struct ranges *ranges = &sync->ranges;
    unsigned bits = ranges->shift - FEWEST_SHIFT < FANOUT_BITS ? ranges->shift - FEWEST_SHIFT : FANOUT_BITS;
    uint64_t *cut = memory_allocate(&sync->filter->environment.allocator, (ranges->count << bits) * sizeof *cut);
    if (!cut)
        return ROOST_NO_MEMORY;
    uint64_t count = 0;
    ranges->shift -= bits;
    for (uint64_t i = 0; i < ranges->count; i++)
        for (uint64_t part = 0; part < 1u << bits; part++) {
            cut[count] = ranges->numbers[i] << bits | part;
            count += cut[count] << ranges->shift < sync->summary.universe;
        }
    memory_release(&sync->filter->environment.allocator, ranges->numbers);
    ranges->numbers = cut;
    ranges->count = count;
    return ROOST_OK;
}

static roost_status send_state(struct roost_sync *sync, roost_buffer *request)
{
    struct bit_writer writer;
    roost_buffer frame;
    roost_status status = roost_filter_encode(sync->filter, &frame);
    if (status != ROOST_OK)
        return status;
    message_begin(&writer, sync->filter, STATE);
    write_varint(&writer, sync->known);
    write_fixed64(&writer, own_digest(sync));
    write_bytes(&writer, frame.data, frame.size);
    roost_buffer_release(&frame);
    sync->sent = sync->stood;
    sync->stage = AFTER_STATE;
    return message_end(&writer, sync->filter, request, ROOST_OK);
}

/* Everything was compared, and the digests differ: unless another client interfered, the whole state is sent. */
static roost_status send_state_or_end(struct roost_sync *sync, roost_buffer *request)
{
    return sync->undisturbed && sync->quiet ? send_state(sync, request) : end(sync, false);
}

/* Keeps the ranges that differ. */
static bool read_differing(struct roost_sync *sync, struct bit_reader *reader)
{
    uint64_t differing = 0;
    sync->undisturbed &= (read_byte(reader) & REPLY_UNDISTURBED) != 0;
    for (uint64_t i = 0; i < sync->ranges.count; i++) {
        sync->ranges.numbers[differing] = sync->ranges.numbers[i];
        differing += read_bits(reader, 1);
    }
    read_alignment(reader);
    sync->ranges.count = differing;
    return !reader->failed && reader_bits_left(reader) == 0;
}

static roost_status after_ranges(struct roost_sync *sync, roost_buffer *request, struct bit_reader *reader)
{
    uint64_t asked = sync->ranges.count;
    roost_status status = look_again(sync);
    if (status != ROOST_OK)
        return status;
    if (!read_differing(sync, reader))
        return ROOST_CORRUPT;
    uint64_t differ = sync->ranges.count;
    if (differ == 0 && !sync->filter->kind->sync.write_extra)
        return send_state_or_end(sync, request);
    if (differ == 0 || sync->ranges.shift == FEWEST_SHIFT || leaves_are_small(sync) ||
        (differ > MOST_DIFFER(asked) && asked >= FIRST_RANGES * FANOUT / 2))
        return send_leaves(sync, request);
    status = cut_ranges(sync);
    return status == ROOST_OK ? request_ranges(sync, request) : status;
}

static roost_status conclude(struct roost_sync *sync, roost_buffer *request, uint64_t digest)
{
    return digest == own_digest(sync) ? end(sync, true) : send_state_or_end(sync, request);
}

static roost_status after_leaves(struct roost_sync *sync, roost_buffer *request, struct bit_reader *reader)
{
    const roost_allocator *allocator = &sync->filter->environment.allocator;
    uint8_t flags;
    uint64_t count, digest;
    if (!read_standing(sync, reader, &flags))
        return ROOST_CORRUPT;
    digest = read_fixed64(reader);
    uint64_t *positions = read_numbers(reader, &count, sync->summary.universe, allocator);
    if (!positions)
        return reader->failed ? ROOST_CORRUPT : ROOST_NO_MEMORY;
    roost_status status =
        resolve_all_positions(sync->filter, &sync->result.changed, space_or_null(sync), positions, count, reader);
    memory_release(allocator, positions);
    return status == ROOST_OK ? conclude(sync, request, digest) : status;
}

/* The reply has no state if it would be the one that we sent. The peer then has everything, and has sent
   everything. */
static roost_status after_state(struct roost_sync *sync, struct bit_reader *reader)
{
    uint8_t flags;
    bool changed = false;
    if (!read_standing(sync, reader, &flags))
        return ROOST_CORRUPT;
    uint64_t incarnation = read_fixed64(reader), digest = read_fixed64(reader);
    size_t size = reader_bits_left(reader) / 8;
    const uint8_t *frame = reader->failed ? NULL : read_bytes(reader, size);
    roost_status status = frame ? ROOST_OK : ROOST_CORRUPT;
    if (frame && size > 0)
        status = roost_filter_merge_frame(sync->filter, &changed, frame, size);
    if (status != ROOST_OK)
        return status;
    sync->result.changed |= changed;
    sync->lost = (roost_cursor){incarnation, sync->known};
    return end(sync, digest == own_digest(sync));
}

/* ---- lost cursors ------------------------------------------------------------------------------------------------ */

static roost_status write_trade(struct roost_sync *sync, roost_buffer *request, const struct causal_context *wanted,
                                const struct causal_context *given)
{
    struct bit_writer writer;
    message_begin(&writer, sync->filter, TRADE);
    write_half(&writer, half_incarnation(sync->lost.incarnation));
    write_varint(&writer, sync->known);
    causal_write(wanted, &writer);
    sync->stage = AFTER_TRADE;
    return message_end(&writer, sync->filter, request,
                       sync->filter->kind->causal.write_dots(sync->filter, &writer, given));
}

static roost_status trade_with(struct roost_sync *sync, roost_buffer *request, const struct causal_context *own)
{
    const roost_allocator *allocator = &sync->filter->environment.allocator;
    struct causal_context wanted = {0}, given = {0};
    roost_status status = ROOST_NO_MEMORY;
    if (causal_difference(&wanted, &sync->space, own, allocator) &&
        causal_difference(&given, own, &sync->space, allocator))
        status = wanted.dots + given.dots > 0 ? write_trade(sync, request, &wanted, &given)
                                              : request_all_ranges(sync, request);
    causal_release(&wanted, allocator);
    causal_release(&given, allocator);
    return status;
}

/* The peer's causal context says which dots it lacks, and which are missing here. */
static roost_status trade(struct roost_sync *sync, roost_buffer *request)
{
    struct causal_context own = {0};
    roost_status status = sync->filter->kind->causal.context(sync->filter, &own);
    if (status == ROOST_OK && own.dots == 0 && sync->space.dots > 0) /* wanting all by name would cost as much again */
        status = send_state(sync, request);
    else if (status == ROOST_OK)
        status = trade_with(sync, request, &own);
    causal_release(&own, &sync->filter->environment.allocator);
    return status;
}

/* Ranges do not distinguish dots that were removed from dots that were never seen. */
static roost_status know_space(const struct roost_sync *sync)
{
    struct causal_context own = {0};
    roost_status status = sync->filter->kind->causal.context(sync->filter, &own);
    if (status == ROOST_OK && !causal_includes(&own, &sync->space))
        status = ROOST_CORRUPT;
    causal_release(&own, &sync->filter->environment.allocator);
    return status;
}

static roost_status after_changes(struct roost_sync *sync, roost_buffer *request, struct bit_reader *reader)
{
    uint8_t flags;
    if (!read_standing(sync, reader, &flags))
        return ROOST_CORRUPT;
    uint64_t digest = read_fixed64(reader);
    roost_status status = reader->failed ? ROOST_CORRUPT : merge_delta(sync, reader);
    if (status != ROOST_OK)
        return status;
    status = know_space(sync);
    if (status != ROOST_OK)
        return status;
    return digest == own_digest(sync) ? end(sync, true) : request_all_ranges(sync, request);
}

/* Where one side has less than half of what the other has, ranges would differ nearly everywhere. */
static bool is_lopsided(uint64_t mine, uint64_t theirs)
{
    return mine < theirs / 2 || theirs < mine / 2;
}

static roost_status after_lost(struct roost_sync *sync, roost_buffer *request, struct bit_reader *reader)
{
    roost_info info;
    forget_space(sync);
    sync->lost.incarnation = read_fixed64(reader);
    sync->lost.sequence = sync->known = read_varint(reader);
    sync->undisturbed = true;
    if (sync->times_lost++ == MOST_LOST)
        return reader->failed ? ROOST_CORRUPT : send_state(sync, request);
    if (tracks_dots(sync->filter)) {
        const roost_allocator *allocator = &sync->filter->environment.allocator;
        enum causal_read read = causal_read(&sync->space, reader, UINT32_MAX, SIZE_MAX, allocator);
        if (read != CAUSAL_READ)
            return read == CAUSAL_NO_MEMORY ? ROOST_NO_MEMORY : ROOST_CORRUPT;
        return reader_bits_left(reader) == 0 ? trade(sync, request) : ROOST_CORRUPT;
    }
    uint64_t entries = read_varint(reader);
    sync->extent = sync->filter->kind->sync.extent ? read_varint(reader) : 0;
    if (sync->extent > MOST_EXTENT)
        return ROOST_CORRUPT;
    if (reader->failed || reader_bits_left(reader) != 0)
        return ROOST_CORRUPT;
    if (!sync->filter->kind->sync.summarize) /* positions that come and go with time */
        return send_state(sync, request);
    roost_filter_get_info(sync->filter, &info);
    return is_lopsided(info.entries, entries) ? send_state(sync, request) : request_all_ranges(sync, request);
}

/* ---- any reply --------------------------------------------------------------------------------------------------- */

static roost_status read_failure(struct bit_reader *reader)
{
    uint8_t status = read_byte(reader), version = read_byte(reader);
    if (reader->failed || version != SYNC_VERSION || status == ROOST_OK || status > ROOST_OVERFLOW)
        return ROOST_PROTOCOL;
    return (roost_status)status;
}

static roost_status after_hello(struct roost_sync *sync, roost_buffer *request, uint8_t type, struct bit_reader *reader)
{
    switch (type) {
    case EQUAL:
        return after_equal(sync, reader);
    case DELTA:
        return after_delta(sync, request, reader);
    case LOST:
        return after_lost(sync, request, reader);
    default:
        return ROOST_PROTOCOL;
    }
}

static roost_status after_reply(struct roost_sync *sync, roost_buffer *request, uint8_t type, struct bit_reader *reader)
{
    if (type == FAILURE) {
        roost_status status = read_failure(reader);
        return status == ROOST_TOO_LARGE && sync->stage == AFTER_LEAVES ? send_state(sync, request) : status;
    }
    if (sync->stage == AFTER_HELLO)
        return after_hello(sync, request, type, reader);
    if (type == LOST && sync->stage < AFTER_STATE)
        return after_lost(sync, request, reader);
    if (sync->stage == AFTER_PUSH && type == DONE)
        return after_push(sync, request, reader);
    if (sync->stage == AFTER_TRADE && type == CHANGES)
        return after_changes(sync, request, reader);
    if (sync->stage == AFTER_RANGES && type == DIFFER)
        return after_ranges(sync, request, reader);
    if (sync->stage == AFTER_LEAVES && type == RESOLVE)
        return after_leaves(sync, request, reader);
    if (sync->stage == AFTER_STATE && type == WHOLE)
        return after_state(sync, reader);
    return ROOST_PROTOCOL;
}

static roost_status step(struct roost_sync *sync, roost_buffer *request, const void *reply, size_t size)
{
    struct bit_reader reader;
    if (sync->stage == AT_START)
        return size == 0 ? send_hello(sync, request) : ROOST_INVALID;
    if (sync->stage == AT_END)
        return ROOST_INVALID;
    roost_status status = message_open(&reader, sync->filter, reply, size, sync->request_hash);
    /* A first reply whose checksum fails is most likely no message at all. */
    if (status == ROOST_CORRUPT && sync->stage == AFTER_HELLO)
        status = ROOST_PROTOCOL;
    return status == ROOST_OK ? after_reply(sync, request, *(const uint8_t *)reply, &reader) : status;
}

roost_status roost_sync_next(roost_sync *sync, roost_buffer *request, const void *reply, size_t size)
{
    *request = (roost_buffer){0};
    sync->result.received += size;
    sync->quiet &= sync->filter->journal->next == sync->left;
    roost_status status = step(sync, request, reply, size);
    if (status != ROOST_OK)
        sync->stage = AT_END;
    if (request->size)
        sync->request_hash = request_hash(sync->filter, request->data, request->size);
    sync->left = sync->filter->journal->next;
    sync->result.sent += request->size;
    sync->result.rounds += request->size > 0;
    return status;
}
