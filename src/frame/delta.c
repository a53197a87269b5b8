/*
 * Deltas: what changed since a cursor, as a frame, and the merge of frames. The kinds encode their changes; this file
 * has the cursors, the frames, and the choice between a delta and the whole state.
 */
#include "frame.h"
#include "kinds.h"

#include <string.h>

#include "roost/incremental.h"

#include "../base/sort.h"
#include "../filter/journal_policy.h"

static roost_cursor cursor_of_now(const roost_filter *filter)
{
    return (roost_cursor){filter->journal->incarnation, filter->journal->next};
}

roost_status roost_filter_get_cursor(roost_filter *filter, roost_cursor *cursor)
{
    roost_status status = begin_journal(filter);
    if (status == ROOST_OK)
        *cursor = cursor_of_now(filter);
    return status;
}

static roost_status write_selected(const roost_filter *filter, roost_buffer *frame, struct selection selection)
{
    struct bit_writer writer;
    roost_status status = frame_begin_delta(&writer, filter, selection);
    if (status == ROOST_OK)
        status = filter->kind->delta.write(filter, &writer, selection);
    return frame_end(&writer, frame, DELTA_FRAME, status);
}

roost_status roost_filter_encode_delta(roost_filter *filter, roost_buffer *frame, roost_cursor *next,
                                       const roost_cursor *since)
{
    const roost_cursor from = *since;
    const bool journalled = journal_is_on(filter->journal);
    *frame = (roost_buffer){0};
    roost_status status = begin_journal(filter);
    if (status != ROOST_OK)
        return status;
    if (journal_serves(filter->journal, &from))
        status = write_selected(filter, frame, (struct selection){.since = from.sequence});
    else
        status = roost_filter_encode(filter, frame);
    if (status == ROOST_OK)
        *next = cursor_of_now(filter);
    else if (!journalled)
        release_journal(filter);
    return status;
}

/* Ascending by where they begin; NULL without memory. */
static roost_span *sort_spans(const roost_allocator *allocator, const roost_span *spans, size_t count)
{
    roost_span *sorted = memory_allocate(allocator, (count + 1) * sizeof *sorted);
    struct sort_pair *pairs = memory_allocate(allocator, 2 * (count + 1) * sizeof *pairs);
    for (size_t i = 0; sorted && pairs && i < count; i++)
        pairs[i] = (struct sort_pair){spans[i].from, spans[i].to};
    if (sorted && pairs) {
        sort_pairs(pairs, pairs + count, count, 64);
        for (size_t i = 0; i < count; i++)
            sorted[i] = (roost_span){pairs[i].key, pairs[i].value};
    } else {
        memory_release(allocator, sorted);
        sorted = NULL;
    }
    memory_release(allocator, pairs);
    return sorted;
}

roost_status roost_filter_encode_delta_without(roost_filter *filter, roost_buffer *frame, roost_cursor *next,
                                               const roost_cursor *since, const roost_span *spans, size_t count)
{
    const roost_cursor from = *since;
    const roost_allocator *allocator = &filter->environment.allocator;
    *frame = (roost_buffer){0};
    roost_status status = begin_journal(filter);
    if (status == ROOST_OK && journal_serves(filter->journal, &from)) {
        roost_span *sorted = sort_spans(allocator, spans, count);
        status =
            sorted ? write_selected(filter, frame, (struct selection){from.sequence, sorted, count}) : ROOST_NO_MEMORY;
        memory_release(allocator, sorted);
    }
    if (status == ROOST_OK)
        *next = cursor_of_now(filter);
    return status;
}

/* Where slots come and go, those of a copy have other numbers. */
static void translate_records(const roost_filter *copy, const roost_filter *filter)
{
    struct journal *journal = copy->journal;
    if (!filter->kind->journal.table_after_decode)
        return;
    for (uint64_t i = journal->oldest; i < journal->next; i++)
        journal->tables[i % journal->room] =
            filter->kind->journal.table_before_decode(copy, filter->kind->journal.table_after_decode(filter, i));
}

roost_status roost_filter_copy_journal(roost_filter *copy, roost_filter *filter, const roost_cursor *since)
{
    roost_status status = begin_journal(filter);
    if (status == ROOST_OK)
        status = begin_journal(copy);
    if (status != ROOST_OK)
        return status;
    const uint64_t first = journal_serves(filter->journal, since) ? since->sequence : filter->journal->next;
    if (!journal_take_records(copy->journal, &copy->environment.allocator, filter->journal, first))
        return ROOST_NO_MEMORY;
    translate_records(copy, filter);
    return ROOST_OK;
}

/* The configuration has one form, so its bytes are compared, sizes included. No filter of another one is made: a few
   bytes may claim any amount of memory. */
static roost_status skip_configuration(const roost_filter *filter, struct bit_reader *reader)
{
    uint8_t bytes[CONFIGURATION_ROOM];
    const struct bit_reader begin = *reader;
    size_t size = configuration_bytes(filter, bytes), left = reader_bits_left(reader) / 8;
    if (left >= size && memcmp(read_bytes(reader, size), bytes, size) == 0)
        return ROOST_OK;
    return has_configuration(begin) ? ROOST_MISMATCH : ROOST_CORRUPT;
}

/* The parts first, since their join can be prepared and abandoned. */
static roost_status merge_delta(roost_filter *filter, bool *grew, struct bit_reader *reader, struct imported *imported)
{
    struct imported_join join;
    const struct memory_account account = account_of(filter);
    roost_status status = prepare_import(filter, &join, imported, &account);
    if (status != ROOST_OK)
        return status;
    status = filter->kind->delta.merge(filter, grew, reader);
    if (status == ROOST_OK)
        *grew |= commit_import(filter, &join);
    else
        imported_abandon(&join);
    return status;
}

/* A state is decoded, and then merged. */
static roost_status merge_state(roost_filter *filter, bool *grew, const void *frame, size_t size)
{
    const roost_environment environment = whole_environment(filter);
    roost_filter *other;
    roost_status status = roost_filter_decode(&other, frame, size, &environment);
    if (status == ROOST_OK)
        status = roost_filter_merge(filter, grew, other);
    roost_filter_free(other);
    return status;
}

roost_status roost_filter_merge_frame(roost_filter *filter, bool *changed, const void *frame, size_t size)
{
    struct bit_reader reader, body;
    enum frame_type type;
    struct imported *imported = NULL;
    const struct memory_account account = account_of(filter);
    bool grew = false;
    roost_status status = frame_open(&reader, &type, frame, size);
    body = reader;
    if (status == ROOST_OK)
        status = frame_read_imported(NULL, &body, NULL);
    if (status == ROOST_OK)
        status = skip_configuration(filter, &body);
    if (status == ROOST_OK && type == DELTA_FRAME)
        status = frame_read_imported(&imported, &reader, &account);
    if (status == ROOST_OK)
        status =
            type == DELTA_FRAME ? merge_delta(filter, &grew, &body, imported) : merge_state(filter, &grew, frame, size);
    imported_free(imported, &account);
    if (changed)
        *changed = grew;
    return status;
}
