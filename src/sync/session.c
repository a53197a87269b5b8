/*
 * The asking side of a sync: what to ask next.
 *
 *     HELLO --> EQUAL                                             nothing to do
 *           --> DELTA --> PUSH --> DONE                           both know where they parted: what changed, each way
 *           --> LOST  --> TRADE --> CHANGES                          dots that only one of them has seen, by their
 * causal contexts
 *                     --> RANGES --> DIFFER --> ... --> LEAVES --> RESOLVE     what is left, by digests of ranges
 *                     --> STATE --> WHOLE                         everything: the last resort
 *
 * A peer that no longer knows what it sent with LOST (its journal is short, and others change it too), or that is not
 * the one we began with (two may answer to one name), sends LOST again, and the exchange goes on from there; but not
 * for ever.
 *
 * Each reply ends with digests being compared, and the exchange ends as soon as they agree. Where they do not though
 * everything was told, and nobody else changed the peer or us meanwhile, something that was trusted was wrong (a
 * cursor, the short digest of a range), and the next stage down is tried. Where somebody did, the exchange ends as it
 * is: the next one gets what is new.
 *
 * Between two steps the filter belongs to others. What a step leaves for the next one stays true whatever they do,
 * since states only grow: the summary is what was held once, in positions of its own, or, by bits, is taken anew; a dot
 * that was live in it and has died since is at worst told as live to one who holds it too, and
 * dots that were dead stay so. Places in the journal are taken before what they stand for is written, digests in the
 * step that writes what they are compared for. Whether anybody was here is seen by the journal, as with the peer.
 *
 * What is remembered about a peer is where its journal stood and where ours stood when both were equal. It is set
 * forward only as far as is known to have been told: a cursor that is too old costs bytes, one that is too new would
 * lose changes.
 *
 * Why there is no wrong answer. All that is ever done to the filter is to merge parts of states, and to drop dots that
 * the peer has seen and lost: each step is one that a merge of the two states would make too.
 */
#include "session.h"

#include <string.h>

#define MEMORY_VERSION 1
/* Leaves are sent once they are no larger than the digests of their parts would be. */
#define LEAF_BITS 512
/* Nor is it worth cutting further where most ranges differ. */
#define MOST_DIFFER(asked) ((asked)*5 / 8)
/* So often the peer may send its causal context; then everything is sent. */
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
    uint64_t told;               /* how far our journal was told in this exchange */
    uint64_t stood;              /* where our journal stood when our digest was last looked at */
    bool suspicious;             /* cursors did not lead to equality */
    bool undisturbed;            /* the peer, since LOST */
    bool quiet;                  /* nobody else changed our filter since HELLO, */
    uint64_t left;               /* where we left its journal */
    uint64_t extent;             /* how far the peer's positions reach, if that can be told only now */
    struct causal_context space; /* the peer's, when it lost the cursor */
    struct summary summary;      /* ours, in that space */
    struct ranges ranges;        /* those asked about */
    uint64_t request_hash;       /* of the last one */
    roost_sync_result result;
};

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

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
    read_memory(sync, memory, size);
    *made = sync;
    return ROOST_OK;
}

static void forget_space(struct roost_sync *sync)
{
    const roost_allocator *allocator = &sync->filter->environment.allocator;
    causal_release(&sync->space, allocator);
    summary_release(&sync->summary, allocator);
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

/* ---- the end -------------------------------------------------------------------------------------------------------
 */

static roost_status end(struct roost_sync *sync, bool equal)
{
    const struct journal *journal = sync->filter->journal;
    sync->stage = AT_END;
    sync->result.equal = equal;
    sync->own = (roost_cursor){journal->incarnation, equal ? sync->stood : sync->told};
    if (sync->lost.incarnation)
        sync->peer = sync->lost;
    if (equal)
        sync->peer.sequence = sync->known;
    forget_space(sync);
    return ROOST_OK;
}

/* To be compared with the peer's: if they agree, the peer has all that our journal has by now. */
static uint64_t own_digest(struct roost_sync *sync)
{
    sync->stood = sync->filter->journal->next;
    return short_digest(sync->filter);
}

/* ---- hello ---------------------------------------------------------------------------------------------------------
 */

static roost_status say_hello(struct roost_sync *sync, roost_buffer *request)
{
    struct bit_writer writer;
    bool know_each_other = sync->peer.incarnation && sync->peer.sequence && sync->own.incarnation && !sync->suspicious;
    message_begin(&writer, sync->filter, HELLO);
    write_byte(&writer, SYNC_VERSION);
    write_fixed64(&writer, configuration_hash(sync->filter).low);
    write_fixed64(&writer, own_digest(sync));
    write_varint(&writer, know_each_other ? sync->peer.sequence : 0);
    if (know_each_other)
        write_half(&writer, half_incarnation(sync->peer.incarnation));
    sync->told = sync->filter->journal->next;
    sync->quiet = true;
    sync->stage = AFTER_HELLO;
    return message_end(&writer, sync->filter, request, ROOST_OK);
}

/* What changed here since the two last met; taken before anything of theirs comes in. */
static roost_status own_changes(struct roost_sync *sync, struct bit_writer *writer)
{
    bit_writer_init(writer, sync->filter->environment.allocator);
    sync->told = sync->filter->journal->next;
    struct selection told = {.since = sync->own.sequence};
    roost_status status = sync->filter->kind->write_delta(sync->filter, writer, told);
    if (status != ROOST_OK)
        bit_writer_release(writer);
    return status;
}

static roost_status take_part(struct roost_sync *sync, struct bit_reader *reader)
{
    bool changed;
    roost_status status = sync->filter->kind->merge_delta(sync->filter, &changed, reader);
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
        return say_hello(sync, request);
    }
    sync->known = read_varint(reader);
    roost_status status = reader->failed ? ROOST_CORRUPT : own_changes(sync, &changes);
    if (status != ROOST_OK)
        return status;
    status = take_part(sync, reader);
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
    return say_hello(sync, request);
}

/* ---- ranges --------------------------------------------------------------------------------------------------------
 */

static const struct causal_context *space_or_null(const struct roost_sync *sync)
{
    return sync->filter->kind->causal ? &sync->space : NULL;
}

static void begin_range_request(struct roost_sync *sync, struct bit_writer *writer, enum message_type type)
{
    message_begin(writer, sync->filter, type);
    write_varint(writer, sync->known);
    write_varint(writer, sync->lost.sequence);
    write_half(writer, space_hash(space_or_null(sync), sync->lost.incarnation));
    if (sync->filter->kind->extent)
        write_varint(writer, sync->summary.universe);
    write_ranges(writer, &sync->ranges, sync->summary.universe);
}

/* Bits are the filter's own, which may have moved; what there is beyond the universe is for another sync. */
static roost_status look_again(struct roost_sync *sync)
{
    struct summary now;
    if (!sync->summary.stretches)
        return ROOST_OK;
    roost_status status = sync->filter->kind->summarize(sync->filter, &now, space_or_null(sync));
    if (status != ROOST_OK)
        return status;
    now.universe = sync->summary.universe;
    summary_release(&sync->summary, &sync->filter->environment.allocator);
    sync->summary = now;
    return ROOST_OK;
}

static roost_status ask_about_ranges(struct roost_sync *sync, roost_buffer *request)
{
    struct bit_writer writer;
    uint64_t universe = sync->summary.universe;
    begin_range_request(sync, &writer, RANGES);
    for (uint64_t i = 0; i < sync->ranges.count; i++)
        write_bits(&writer,
                   summary_digest(&sync->summary, range_from(&sync->ranges, i), range_to(&sync->ranges, i, universe)),
                   32);
    write_alignment(&writer);
    sync->stage = AFTER_RANGES;
    return message_end(&writer, sync->filter, request, ROOST_OK);
}

/* All of the space, in ranges as wide as can be. */
static roost_status ask_about_all(struct roost_sync *sync, roost_buffer *request)
{
    roost_status status = sync->filter->kind->summarize(sync->filter, &sync->summary, space_or_null(sync));
    if (status != ROOST_OK)
        return status;
    if (sync->summary.universe < sync->extent)
        sync->summary.universe = sync->extent;
    unsigned shift = widest_shift(sync->summary.universe);
    uint64_t count = (sync->summary.universe >> shift) + 1;
    uint64_t *numbers = memory_allocate(&sync->filter->environment.allocator, count * sizeof *numbers);
    if (!numbers)
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = i;
    sync->ranges = (struct ranges){shift, numbers, count};
    return ask_about_ranges(sync, request);
}

static roost_status send_leaves(struct roost_sync *sync, roost_buffer *request)
{
    const roost_allocator *allocator = &sync->filter->environment.allocator;
    struct bit_writer writer;
    bool room = true;
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
    if (sync->filter->kind->write_extra)
        sync->filter->kind->write_extra(sync->filter, &writer);
    sync->stage = AFTER_LEAVES;
    return message_end(&writer, sync->filter, request, room ? ROOST_OK : ROOST_NO_MEMORY);
}

/* On average: what a few ranges hold more than others does not matter. */
static bool leaves_are_small(const struct roost_sync *sync)
{
    double bits = 0;
    for (uint64_t i = 0; i < sync->ranges.count; i++) {
        uint64_t from = range_from(&sync->ranges, i), to = range_to(&sync->ranges, i, sync->summary.universe);
        bits += leaf_bits(summary_count(&sync->summary, from, to), to - from);
    }
    return bits <= (double)sync->ranges.count * LEAF_BITS;
}

static roost_status cut_ranges(struct roost_sync *sync)
{
    struct ranges *ranges = &sync->ranges;
    unsigned bits = ranges->shift - FEWEST_SHIFT < FANOUT_BITS ? ranges->shift - FEWEST_SHIFT : FANOUT_BITS;
    uint64_t *parts = memory_allocate(&sync->filter->environment.allocator, (ranges->count << bits) * sizeof *parts);
    if (!parts)
        return ROOST_NO_MEMORY;
    uint64_t count = 0;
    ranges->shift -= bits;
    for (uint64_t i = 0; i < ranges->count; i++)
        for (uint64_t part = 0; part < 1u << bits; part++) {
            parts[count] = ranges->numbers[i] << bits | part;
            count += parts[count] << ranges->shift < sync->summary.universe;
        }
    memory_release(&sync->filter->environment.allocator, ranges->numbers);
    ranges->numbers = parts;
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
    sync->told = sync->stood;
    sync->stage = AFTER_STATE;
    return message_end(&writer, sync->filter, request, ROOST_OK);
}

/* All was said, and the digests differ: somebody came between, or something was wrong, and everything is sent. */
static roost_status despair(struct roost_sync *sync, roost_buffer *request)
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
    if (differ == 0 && !sync->filter->kind->write_extra)
        return despair(sync, request);
    if (differ == 0 || sync->ranges.shift == FEWEST_SHIFT || leaves_are_small(sync) ||
        (differ > MOST_DIFFER(asked) && asked >= FIRST_RANGES * FANOUT / 2))
        return send_leaves(sync, request);
    status = cut_ranges(sync);
    return status == ROOST_OK ? ask_about_ranges(sync, request) : status;
}

static roost_status conclude(struct roost_sync *sync, roost_buffer *request, uint64_t digest)
{
    return digest == own_digest(sync) ? end(sync, true) : despair(sync, request);
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

/* The reply has no state where it would be the very one that we sent. Whoever sent it now has, and has told, all. */
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

/* ---- lost cursors --------------------------------------------------------------------------------------------------
 */

static roost_status write_trade(struct roost_sync *sync, roost_buffer *request, const struct causal_context *wanted,
                                const struct causal_context *given)
{
    struct bit_writer writer;
    message_begin(&writer, sync->filter, TRADE);
    write_half(&writer, half_incarnation(sync->lost.incarnation));
    write_varint(&writer, sync->known);
    causal_write(wanted, &writer);
    sync->stage = AFTER_TRADE;
    return message_end(&writer, sync->filter, request, sync->filter->kind->write_part_of(sync->filter, &writer, given));
}

/* The peer's causal context says which dots it lacks, and which are missing here. */
static roost_status trade(struct roost_sync *sync, roost_buffer *request)
{
    const roost_allocator *allocator = &sync->filter->environment.allocator;
    struct causal_context own = {0}, wanted = {0}, given = {0};
    roost_status status = ROOST_NO_MEMORY;
    status = sync->filter->kind->causal(sync->filter, &own);
    if (status == ROOST_OK && own.dots == 0 && sync->space.dots > 0) /* wanting all by name would cost as much again */
        return send_state(sync, request);
    if (status == ROOST_OK)
        status = ROOST_NO_MEMORY;
    if (causal_difference(&wanted, &sync->space, &own, allocator) &&
        causal_difference(&given, &own, &sync->space, allocator))
        status =
            wanted.dots + given.dots > 0 ? write_trade(sync, request, &wanted, &given) : ask_about_all(sync, request);
    causal_release(&own, allocator);
    causal_release(&wanted, allocator);
    causal_release(&given, allocator);
    return status;
}

/* Ranges make no difference between dots that were removed and dots that were never heard of. */
static roost_status know_space(const struct roost_sync *sync)
{
    struct causal_context own = {0};
    roost_status status = sync->filter->kind->causal(sync->filter, &own);
    if (status == ROOST_OK && !causal_includes(&own, &sync->space))
        status = ROOST_CORRUPT;
    causal_release(&own, &sync->filter->environment.allocator);
    return status;
}

static roost_status after_news(struct roost_sync *sync, roost_buffer *request, struct bit_reader *reader)
{
    uint8_t flags;
    if (!read_standing(sync, reader, &flags))
        return ROOST_CORRUPT;
    uint64_t digest = read_fixed64(reader);
    roost_status status = reader->failed ? ROOST_CORRUPT : take_part(sync, reader);
    if (status != ROOST_OK)
        return status;
    status = know_space(sync);
    if (status != ROOST_OK)
        return status;
    return digest == own_digest(sync) ? end(sync, true) : ask_about_all(sync, request);
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
    if (sync->filter->kind->causal) {
        const roost_allocator *allocator = &sync->filter->environment.allocator;
        enum causal_read read = causal_read(&sync->space, reader, UINT32_MAX, SIZE_MAX, allocator);
        if (read != HISTORY_READ)
            return read == HISTORY_NO_MEMORY ? ROOST_NO_MEMORY : ROOST_CORRUPT;
        return reader_bits_left(reader) == 0 ? trade(sync, request) : ROOST_CORRUPT;
    }
    uint64_t entries = read_varint(reader);
    sync->extent = sync->filter->kind->extent ? read_varint(reader) : 0;
    if (sync->extent > MOST_EXTENT)
        return ROOST_CORRUPT;
    if (reader->failed || reader_bits_left(reader) != 0)
        return ROOST_CORRUPT;
    if (!sync->filter->kind->summarize) /* positions that come and go with time */
        return send_state(sync, request);
    roost_filter_get_info(sync->filter, &info);
    return is_lopsided(info.entries, entries) ? send_state(sync, request) : ask_about_all(sync, request);
}

/* ---- any reply -----------------------------------------------------------------------------------------------------
 */

static roost_status read_trouble(struct bit_reader *reader)
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
    if (type == TROUBLE) {
        roost_status status = read_trouble(reader);
        return status == ROOST_TOO_LARGE && sync->stage == AFTER_LEAVES ? send_state(sync, request) : status;
    }
    if (sync->stage == AFTER_HELLO)
        return after_hello(sync, request, type, reader);
    if (type == LOST && sync->stage < AFTER_STATE)
        return after_lost(sync, request, reader);
    if (sync->stage == AFTER_PUSH && type == DONE)
        return after_push(sync, request, reader);
    if (sync->stage == AFTER_TRADE && type == CHANGES)
        return after_news(sync, request, reader);
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
        return size == 0 ? say_hello(sync, request) : ROOST_INVALID;
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
