/*
 * What belongs to one object and not to its state, as bytes: the actor and the journal. The caller stores them, and
 * ensures that no two objects are restored from the same bytes; docs/format.md has the bytes.
 */
#include "frame.h"

#include "../base/hash.h"
#include "../filter/inherited.h"
#include "../filter/journal_policy.h"

#define REPLICA_VERSION 1
#define CHECKSUM_BYTES  8

/*
 * Actors have other numbers after a decode, in each table of a series. Arrays of numbers, which are fetched as they
 * are needed, translate between the two.
 */
struct number_rows {
    const roost_filter *filter;
    uint32_t *(*fetch)(const roost_filter *filter, uint8_t table);
    uint32_t *rows[MOST_TABLES];
};

static void rows_release(struct number_rows *rows)
{
    for (uint32_t table = 0; table < MOST_TABLES; table++)
        memory_release(&rows->filter->environment.allocator, rows->rows[table]);
}

/* The change with its actor's other number; false without memory, or where there is none. */
static bool translate(struct number_rows *rows, uint8_t table, struct change *change)
{
    if (!rows->fetch || table >= MOST_TABLES)
        return true;
    if (!rows->rows[table])
        rows->rows[table] = rows->fetch(rows->filter, table);
    if (!rows->rows[table] || rows->rows[table][change->tag >> 32] == UINT32_MAX)
        return false;
    change->tag = (uint64_t)rows->rows[table][change->tag >> 32] << 32 | (uint32_t)change->tag;
    return true;
}

static void write_journal(const roost_filter *filter, struct bit_writer *writer)
{
    const struct journal *journal = filter->journal;
    struct number_rows rows = {.filter = filter, .fetch = filter->kind->journal.numbers_after_decode};
    /* records about imported parts have no stored form; without a journal the next sync compares states */
    bool kept = journal_is_on(journal) && !filter->imported;
    write_fixed64(writer, kept ? journal->incarnation : 0);
    if (!kept)
        return;
    write_varint(writer, journal->oldest);
    write_varint(writer, journal_length(journal));
    for (uint64_t i = journal->oldest; i < journal->next && !writer->failed; i++) {
        struct change change = *journal_change(journal, i);
        uint8_t table = journal_table(journal, i);
        writer->failed |= !translate(&rows, table, &change);
        if (filter->kind->journal.table_after_decode)
            table = filter->kind->journal.table_after_decode(filter, i);
        if (has_tables(filter))
            write_byte(writer, table);
        write_varint(writer, change.key);
        write_varint(writer, change.tag);
    }
    rows_release(&rows);
}

/* A copy that was not made by decoding knows the same actors by other numbers. */
static roost_status read_changes(roost_filter *filter, struct bit_reader *reader, uint64_t count,
                                 struct number_rows *rows)
{
    for (uint64_t i = 0; i < count; i++) {
        uint8_t table = has_tables(filter) ? read_byte(reader) : 0;
        if (filter->kind->journal.table_before_decode)
            table = filter->kind->journal.table_before_decode(filter, table);
        uint64_t key = read_varint(reader), tag = read_varint(reader);
        struct change change = {key, tag};
        if (reader->failed || !filter->kind->journal.is_change(filter, table, change))
            return ROOST_CORRUPT;
        if (!translate(rows, table, &change))
            return table < MOST_TABLES && !rows->rows[table] ? ROOST_NO_MEMORY : ROOST_CORRUPT;
        journal_note(filter->journal, table, change.key, change.tag);
    }
    return ROOST_OK;
}

/* Into a journal of this environment's size: what does not fit is forgotten, oldest first. */
static roost_status read_journal(roost_filter *filter, struct bit_reader *reader)
{
    uint64_t incarnation = read_fixed64(reader);
    if (reader->failed || incarnation == 0)
        return reader->failed ? ROOST_CORRUPT : ROOST_OK;
    uint64_t oldest = read_varint(reader), length = read_varint(reader);
    if (reader->failed || oldest == 0 || length > reader_bits_left(reader) / 16 || oldest > UINT64_MAX / 2)
        return ROOST_CORRUPT;
    roost_status status = begin_journal(filter);
    if (status != ROOST_OK)
        return status;
    filter->journal->incarnation = incarnation;
    filter->journal->oldest = filter->journal->next = oldest;
    struct number_rows rows = {.filter = filter, .fetch = filter->kind->journal.numbers_before_decode};
    status = read_changes(filter, reader, length, &rows);
    rows_release(&rows);
    return status;
}

roost_status roost_filter_save_replica(const roost_filter *filter, roost_buffer *bytes)
{
    struct bit_writer writer;
    bit_writer_init(&writer, filter->environment.allocator);
    bool anything = !is_inherited(filter) && (roost_filter_get_actor(filter) != 0 || journal_is_on(filter->journal));
    if (anything) {
        write_byte(&writer, REPLICA_VERSION);
        if (filter->kind->replica.write)
            filter->kind->replica.write(filter, &writer);
        write_journal(filter, &writer);
        bit_writer_reserve(&writer, CHECKSUM_BYTES);
        if (!writer.failed)
            write_fixed64(&writer, checksum_bytes(writer.buffer.data, writer.buffer.size));
    }
    bool failed = writer.failed;
    if (failed)
        bit_writer_release(&writer);
    *bytes = writer.buffer;
    return failed ? ROOST_NO_MEMORY : ROOST_OK;
}

static roost_status read_replica(roost_filter *filter, const uint8_t *bytes, size_t size)
{
    if (size < 1 + CHECKSUM_BYTES)
        return ROOST_TRUNCATED;
    if (checksum_bytes(bytes, size - CHECKSUM_BYTES) != load_word(bytes + size - CHECKSUM_BYTES))
        return ROOST_CORRUPT;
    struct bit_reader reader = bit_reader_over(bytes, size - CHECKSUM_BYTES);
    if (read_byte(&reader) != REPLICA_VERSION)
        return ROOST_UNSUPPORTED_VERSION;
    roost_status status = ROOST_OK;
    if (filter->kind->replica.read)
        status = filter->kind->replica.read(filter, &reader);
    if (status == ROOST_OK)
        status = read_journal(filter, &reader);
    return status == ROOST_OK && reader_bits_left(&reader) != 0 ? ROOST_CORRUPT : status;
}

roost_status roost_filter_restore_replica(roost_filter *filter, const void *bytes, size_t size)
{
    if (size == 0)
        return ROOST_OK;
    leave_inherited(filter);
    if (roost_filter_get_actor(filter) != 0 || journal_is_on(filter->journal))
        return ROOST_INVALID;
    roost_status status = read_replica(filter, bytes, size);
    if (status != ROOST_OK) {
        if (filter->kind->replica.forget)
            filter->kind->replica.forget(filter);
        release_journal(filter);
    }
    return status;
}
