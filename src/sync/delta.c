/*
 * Deltas: what changed since a cursor, and how it is taken in. The kinds know what their changes look like; this is
 * about cursors, frames and the choice between part and whole.
 */
#include "frame.h"

#include <string.h>

#include "roost/steps.h"

roost_status roost_filter_delta(roost_filter *filter, roost_buffer *frame, roost_cursor *next,
                                const roost_cursor *since)
{
    const roost_cursor from = *since;
    const bool journalled = journal_is_on(filter->journal);
    *frame = (roost_buffer){0};
    roost_status status = begin_journal(filter);
    if (status != ROOST_OK)
        return status;
    if (journal_knows(filter->journal, &from)) {
        struct bit_writer writer;
        frame_begin(&writer, filter);
        status = frame_end(&writer, frame, DELTA_FRAME, filter->kind->write_delta(filter, &writer, from.sequence));
    } else {
        status = roost_filter_encode(filter, frame);
    }
    if (status == ROOST_OK)
        *next = (roost_cursor){filter->journal->incarnation, filter->journal->next};
    else if (!journalled)
        journal_release(&filter->own_journal, &filter->environment.allocator);
    return status;
}

roost_status roost_filter_cursor(roost_filter *filter, roost_cursor *now)
{
    roost_status status = begin_journal(filter);
    *now =
        status == ROOST_OK ? (roost_cursor){filter->journal->incarnation, filter->journal->next} : (roost_cursor){0, 0};
    return status;
}

/* A delta of the same configuration is read in place; the configuration has one form, so its bytes tell. */
static bool skip_configuration(const roost_filter *filter, struct bit_reader *reader)
{
    uint8_t bytes[CONFIGURATION_ROOM];
    size_t size = configuration_bytes(filter, bytes), left = reader_bits_left(reader) / 8;
    return left >= size && memcmp(read_bytes(reader, size), bytes, size) == 0;
}

roost_status roost_filter_merge_frame(roost_filter *filter, bool *changed, const void *frame, size_t size)
{
    struct bit_reader reader;
    enum frame_type type;
    roost_filter *other;
    bool grew = false;
    roost_status status = frame_open(&reader, &type, frame, size);
    if (status == ROOST_OK && type == DELTA_FRAME && skip_configuration(filter, &reader)) {
        status = filter->kind->merge_delta(filter, &grew, &reader);
    } else if (status == ROOST_OK) {
        status = roost_filter_decode(&other, frame, size, &filter->environment);
        if (status == ROOST_OK)
            status = roost_filter_merge(filter, &grew, other);
        roost_filter_free(other);
    }
    if (changed)
        *changed = grew;
    return status;
}
