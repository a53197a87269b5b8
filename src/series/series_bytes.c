/*
 * A series as bytes: its tables one after the other, each in its own form. docs/format.md is the specification.
 *
 *     state    how many tables; for each whether it is there, and its state; Bloom: the quota
 *     delta    for each table with changes its number and its delta; Bloom: the entries of the quota that changed
 *
 * Positions, for the digest tree: those of the first table, then of the second, and so on. Where dots are compared, a
 * rank in the union of all causal contexts determines the table, and every table selects its own.
 */
#include "series.h"

#include <string.h>

/* ---- the state --------------------------------------------------------------------------------------------------- */

static bool is_present(const struct series *series, uint32_t index)
{
    return series->tables[index] && !series->table_kind->lattice.is_bottom(series->tables[index]);
}

/* Tables at the end that have seen nothing are left out. */
static uint32_t tables_to_write(const struct series *series)
{
    uint32_t count = series->count;
    while (count > 0 && !is_present(series, count - 1))
        count--;
    return count;
}

static bool has_quota(const struct series *series)
{
    return series->base.config->kind == ROOST_BLOOM;
}

roost_status series_write_state(const roost_filter *filter, struct bit_writer *writer)
{
    const struct series *series = as_const_series(filter);
    uint32_t count = tables_to_write(series);
    roost_status status = ROOST_OK;
    write_varint(writer, count);
    for (uint32_t i = 0; i < count && status == ROOST_OK; i++) {
        write_byte(writer, is_present(series, i));
        if (is_present(series, i))
            status = series->table_kind->encoding.write_state(series->tables[i], writer);
    }
    if (has_quota(series))
        quota_write(&series->quota, writer);
    return status == ROOST_OK && writer->failed ? ROOST_NO_MEMORY : status;
}

/* Refuses a table that no plan of this configuration has. */
static roost_status open_for_reading(struct series *series, uint32_t index, roost_filter **table)
{
    roost_status status = series_table(series, index, table);
    return status == ROOST_FULL ? ROOST_CORRUPT : status;
}

static roost_status read_table(struct series *series, uint32_t index, struct bit_reader *reader)
{
    roost_filter *table;
    roost_status status = open_for_reading(series, index, &table);
    if (status == ROOST_OK)
        status = series->table_kind->encoding.read_state(table, reader);
    if (status == ROOST_OK && series->table_kind->lattice.is_bottom(table))
        status = ROOST_CORRUPT;
    if (status == ROOST_OK && series->table_kind->table.free_slots)
        series->table_kind->table.free_slots(table);
    return status;
}

static roost_status read_quota(const struct series *series, struct quota *quota, struct bit_reader *reader)
{
    switch (quota_read(quota, reader, MOST_TABLES, &series->base.environment.allocator)) {
    case QUOTA_READ:
        return ROOST_OK;
    case QUOTA_NO_MEMORY:
        return ROOST_NO_MEMORY;
    default:
        return ROOST_CORRUPT;
    }
}

roost_status series_read_state(roost_filter *filter, struct bit_reader *reader)
{
    struct series *series = as_series(filter);
    uint64_t count = read_varint(reader);
    uint8_t present = 1;
    roost_status status = reader->failed || count > MOST_TABLES ? ROOST_CORRUPT : ROOST_OK;
    for (uint32_t i = 0; i < count && status == ROOST_OK; i++) {
        present = read_byte(reader);
        if (reader->failed || present > 1)
            return ROOST_CORRUPT;
        if (present)
            status = read_table(series, i, reader);
    }
    if (status == ROOST_OK && !present)
        status = ROOST_CORRUPT;
    return status == ROOST_OK && has_quota(series) ? read_quota(series, &series->quota, reader) : status;
}

/* ---- deltas ------------------------------------------------------------------------------------------------------ */

/* The tables that have selected changes, a bit for each. */
static uint64_t changed_tables(const struct series *series, struct selection selection)
{
    uint64_t changed = 0;
    for (uint64_t record; next_selected(series->base.journal, &selection, &record);) {
        uint8_t table = journal_table(series->base.journal, record);
        changed |= table < MOST_TABLES ? UINT64_C(1) << table : 0;
    }
    return changed;
}

typedef roost_status delta_writer(const roost_filter *table, struct bit_writer *writer, const void *context);

/* The number of the table, the length of its delta, the delta. */
static roost_status write_table_delta(const struct series *series, struct bit_writer *writer, uint32_t index,
                                      delta_writer *write_delta_body, const void *context)
{
    struct bit_writer delta;
    bit_writer_init(&delta, writer->buffer.allocator);
    roost_status status = write_delta_body(series->tables[index], &delta, context);
    if (status == ROOST_OK && delta.failed)
        status = ROOST_NO_MEMORY;
    write_byte(writer, (uint8_t)(index + 1));
    write_varint(writer, delta.buffer.size);
    write_bytes(writer, delta.buffer.data, delta.buffer.size);
    bit_writer_release(&delta);
    return status;
}

static roost_status write_changes(const roost_filter *table, struct bit_writer *writer, const void *selection)
{
    return table->kind->delta.write(table, writer, *(const struct selection *)selection);
}

/* Which entries of the quota the journal names: those from an actor in a table. */
static uint64_t mark_changes(const struct series *series, uint8_t *changed, struct selection selection)
{
    const struct journal *journal = series->base.journal;
    uint64_t count = 0;
    for (uint64_t record; next_selected(journal, &selection, &record);) {
        const struct change *change = journal_change(journal, record);
        if (journal_table(journal, record) != QUOTA_TABLE)
            continue;
        size_t end, first = quota_entries_of(&series->quota, (uint32_t)change->tag, change->key, &end);
        for (size_t i = first; i < end; i++) {
            count += !changed[i];
            changed[i] = 1;
        }
    }
    return count;
}

static roost_status write_quota_changes(const struct series *series, struct bit_writer *writer,
                                        struct selection selection)
{
    const roost_allocator *allocator = &series->base.environment.allocator;
    uint8_t *changed = memory_allocate(allocator, series->quota.count + 1);
    if (!changed)
        return ROOST_NO_MEMORY;
    write_varint(writer, mark_changes(series, changed, selection));
    for (size_t i = 0; i < series->quota.count; i++)
        if (changed[i])
            quota_write_entry(writer, &series->quota.entries[i]);
    memory_release(allocator, changed);
    return ROOST_OK;
}

roost_status series_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection)
{
    const struct series *series = as_const_series(filter);
    uint64_t changed = changed_tables(series, selection);
    roost_status status = ROOST_OK;
    for (uint32_t i = 0; i < series->count && status == ROOST_OK; i++)
        if (changed >> i & 1)
            status = write_table_delta(series, writer, i, write_changes, &selection);
    write_byte(writer, 0);
    if (status == ROOST_OK && has_quota(series))
        status = write_quota_changes(series, writer, selection);
    return status == ROOST_OK && writer->failed ? ROOST_NO_MEMORY : status;
}

/* A delta, being read: for each table in it, what is ready to be committed, or a table that takes its place. */
struct series_delta {
    struct prepared_delta prepared[MOST_TABLES];
    roost_filter *fresh[MOST_TABLES];
    uint64_t old, seen; /* tables that were there before; that the delta contains */
    struct quota quota;
};

/* Where the table cannot merge the delta in place, a copy does. */
static roost_status prepare_table(struct series *series, struct series_delta *delta, uint32_t index,
                                  struct bit_reader reader)
{
    roost_filter *table;
    bool grew;
    roost_status status = open_for_reading(series, index, &table);
    if (status == ROOST_OK)
        status = series->table_kind->delta.prepare(table, &delta->prepared[index], reader);
    if (status != ROOST_OK || delta->prepared[index].ready)
        return status;
    status = series_copy_table(series, index, &delta->fresh[index]);
    return status == ROOST_OK ? series->table_kind->delta.merge(delta->fresh[index], &grew, &reader) : status;
}

static roost_status read_delta(struct series *series, struct series_delta *delta, uint32_t index,
                               struct bit_reader *reader)
{
    uint64_t size = read_varint(reader);
    const uint8_t *bytes = size <= reader_bits_left(reader) / 8 ? read_bytes(reader, (size_t)size) : NULL;
    if (!bytes || (delta->seen >> index) != 0)
        return ROOST_CORRUPT;
    delta->seen |= UINT64_C(1) << index;
    return prepare_table(series, delta, index, bit_reader_over(bytes, (size_t)size));
}

static roost_status read_deltas(struct series *series, struct series_delta *delta, struct bit_reader *reader)
{
    roost_status status = ROOST_OK;
    for (uint8_t index; status == ROOST_OK && (index = read_byte(reader)) != 0;)
        status = index <= MOST_TABLES ? read_delta(series, delta, index - 1u, reader) : ROOST_CORRUPT;
    if (status == ROOST_OK && has_quota(series))
        status = read_quota(series, &delta->quota, reader);
    if (status == ROOST_OK && (reader->failed || reader_bits_left(reader) != 0))
        status = ROOST_CORRUPT;
    if (status != ROOST_OK)
        return status;
    bool room = quota_reserve(&series->quota, &series->base.environment.allocator, delta->quota.count);
    return room ? ROOST_OK : ROOST_NO_MEMORY;
}

static uint64_t tables_there(const struct series *series)
{
    uint64_t there = 0;
    for (uint32_t i = 0; i < MOST_TABLES; i++)
        there |= (uint64_t)(series->tables[i] != NULL) << i;
    return there;
}

/* Tables that were made for a delta that was abandoned are freed again. */
static void drop_new_tables(struct series *series, uint64_t old)
{
    for (uint32_t i = 0; i < MOST_TABLES; i++)
        if (series->tables[i] && !(old >> i & 1) && series->table_kind->lattice.is_bottom(series->tables[i])) {
            roost_filter_free(series->tables[i]);
            series->tables[i] = NULL;
        }
    while (series->count > 0 && !series->tables[series->count - 1])
        series->count--;
}

/* Nothing of this can fail. */
static void commit_deltas(struct series *series, bool *changed, struct series_delta *delta)
{
    const struct filter_kind *kind = series->table_kind;
    for (uint32_t i = 0; i < MOST_TABLES; i++) {
        if (delta->prepared[i].ready)
            kind->delta.commit(series->tables[i], changed, &delta->prepared[i]);
        if (!delta->fresh[i])
            continue;
        *changed |= (kind->lattice.compare(series->tables[i], delta->fresh[i]) & ROOST_BEFORE) != 0;
        series_replace_table(series, i, delta->fresh[i]);
    }
    *changed |= series_take_quota(series, &delta->quota);
}

/* Records of copies that are dropped never became part of the state. */
static void abandon_deltas(struct series *series, struct series_delta *delta)
{
    bool noted = false;
    for (uint32_t i = 0; i < MOST_TABLES; i++) {
        if (delta->prepared[i].ready && series->table_kind->delta.abandon)
            series->table_kind->delta.abandon(series->tables[i], &delta->prepared[i]);
        noted |= delta->fresh[i] != NULL;
        roost_filter_free(delta->fresh[i]);
    }
    if (noted)
        journal_forget(series->base.journal);
}

roost_status series_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader)
{
    struct series *series = as_series(filter);
    struct series_delta delta = {.old = tables_there(series)};
    *changed = false;
    roost_status status = read_deltas(series, &delta, reader);
    if (status == ROOST_OK)
        commit_deltas(series, changed, &delta);
    else
        abandon_deltas(series, &delta);
    quota_release(&delta.quota, &filter->environment.allocator);
    drop_new_tables(series, delta.old);
    series_shrink(series);
    return status;
}

/* ---- a state as many deltas -------------------------------------------------------------------------------------- */

/* A delta of a table becomes one of the series. */
struct table_sink {
    struct delta_sink sink;
    struct delta_sink *series_sink;
    const struct series *series;
    uint32_t index;
};

static roost_status pass_on(struct delta_sink *sink, const struct bit_writer *delta)
{
    const struct table_sink *table = (const struct table_sink *)sink;
    struct bit_writer writer;
    bit_writer_init(&writer, table->series->base.environment.allocator);
    write_byte(&writer, (uint8_t)(table->index + 1));
    write_varint(&writer, delta->buffer.size);
    write_bytes(&writer, delta->buffer.data, delta->buffer.size);
    write_byte(&writer, 0);
    if (has_quota(table->series))
        write_varint(&writer, 0);
    roost_status status = writer.failed ? ROOST_NO_MEMORY : table->series_sink->take(table->series_sink, &writer);
    bit_writer_release(&writer);
    return status;
}

static roost_status cut_quota(const struct series *series, struct delta_sink *sink)
{
    struct bit_writer writer;
    bit_writer_init(&writer, series->base.environment.allocator);
    write_byte(&writer, 0);
    quota_write(&series->quota, &writer);
    roost_status status = writer.failed ? ROOST_NO_MEMORY : sink->take(sink, &writer);
    bit_writer_release(&writer);
    return status;
}

roost_status series_cut(const roost_filter *filter, const struct causal_context *known, size_t bytes,
                        struct delta_sink *sink)
{
    const struct series *series = as_const_series(filter);
    roost_status status = ROOST_OK;
    for (uint32_t i = 0; i < series->count && status == ROOST_OK; i++) {
        struct table_sink table = {{pass_on, false}, sink, series, i};
        if (is_present(series, i))
            status = series->table_kind->incremental.cut(series->tables[i], known, bytes, &table.sink);
        sink->removals |= table.sink.removals;
    }
    return status == ROOST_OK && has_quota(series) ? cut_quota(series, sink) : status;
}

/* Sweeps one table after the other; a table that is missing here has no entries to drop. */
roost_status series_sweep(roost_filter *filter, struct sweep *sweep, const roost_filter *other_filter, uint32_t effort)
{
    struct series *series = as_series(filter);
    const struct series *other = as_const_series(other_filter);
    uint32_t index = sweep->table;
    roost_status status = ROOST_OK;
    if (index < other->count && other->tables[index] && series->tables[index])
        status = series->table_kind->incremental.sweep(series->tables[index], sweep, other->tables[index], effort);
    else
        sweep->done = true;
    if (status == ROOST_OK && sweep->done)
        *sweep = (struct sweep){.table = index + 1, .done = index + 1 >= other->count};
    series_shrink(series);
    return status;
}

/* ---- without cursors --------------------------------------------------------------------------------------------- */

#define POSITIONS_A_KEY 256 /* no Bloom filter of ours has as many bits a key */
#define SOME_POSITIONS  65536

/* How many positions a table has room for, from its plan alone, so that both sides agree. */
static bool table_universe(const struct series *series, uint32_t index, uint64_t *universe)
{
    struct table_plan plan;
    if (!series_plan_table(&plan, series->base.config, series->buckets, index))
        return false;
    *universe = has_quota(series) ? plan.capacity * POSITIONS_A_KEY + SOME_POSITIONS : class_universe(plan.geometry);
    return true;
}

#define MOST_POSITIONS (UINT64_C(1) << 61)

static uint64_t table_offset(const struct series *series, uint32_t index)
{
    uint64_t offset = 0, universe;
    for (uint32_t i = 0; i < index && table_universe(series, i, &universe) && offset < MOST_POSITIONS; i++)
        offset += universe;
    return offset;
}

uint64_t series_extent(const roost_filter *filter)
{
    return table_offset(as_const_series(filter), as_const_series(filter)->count);
}

/* Copies the positions of a table behind those that are there. */
static roost_status append_positions(const struct series *series, uint32_t index, const struct causal_context *space,
                                     uint64_t **positions, uint64_t *count)
{
    const roost_allocator *allocator = &series->base.environment.allocator;
    struct summary summary;
    roost_status status = series->table_kind->sync.summarize(series->tables[index], &summary, space);
    if (status != ROOST_OK)
        return status;
    uint64_t more = summary_count(&summary, 0, summary.universe);
    uint64_t *joined = memory_allocate(allocator, (2 * (*count + more) + 2) * sizeof *joined);
    if (joined) {
        if (*count)
            memcpy(joined, *positions, *count * sizeof *joined);
        summary_members(&summary, 0, summary.universe, joined + *count);
        uint64_t offset = space ? 0 : table_offset(series, index);
        for (uint64_t i = 0; i < more; i++)
            joined[*count + i] += offset;
        memory_release(allocator, *positions);
        *positions = joined;
        *count += more;
    }
    summary_release(&summary, allocator);
    return joined ? ROOST_OK : ROOST_NO_MEMORY;
}

/* Bloom tables: their bits, one table behind the other. Offsets are multiples of 64. */
static roost_status summarize_bits(const struct series *series, struct summary *summary)
{
    const roost_allocator *allocator = &series->base.environment.allocator;
    uint64_t universe = series_extent(&series->base);
    struct summary table;
    if (!summary_of_bits(summary, series->count, universe, series->base.config->seed, allocator))
        return ROOST_NO_MEMORY;
    for (uint32_t i = 0; i < series->count; i++) {
        if (!series->tables[i])
            continue;
        roost_status status = series->table_kind->sync.summarize(series->tables[i], &table, NULL);
        if (status != ROOST_OK) {
            summary_release(summary, allocator);
            return status;
        }
        uint64_t offset = table_offset(series, i);
        summary->word_ranges[summary->word_range_count++] =
            (struct word_range){offset, offset + table.universe, table.word_ranges[0].words};
        summary_release(&table, allocator);
    }
    return ROOST_OK;
}

/* Class keys, or ranks of dots. */
static roost_status summarize_positions(const struct series *series, struct summary *summary,
                                        const struct causal_context *space)
{
    const roost_filter *filter = &series->base;
    uint64_t *positions = memory_allocate(&filter->environment.allocator, 2 * sizeof *positions), count = 0;
    roost_status status = positions ? ROOST_OK : ROOST_NO_MEMORY;
    for (uint32_t i = 0; i < series->count && status == ROOST_OK; i++)
        if (series->tables[i])
            status = append_positions(series, i, space, &positions, &count);
    if (status != ROOST_OK) {
        memory_release(&filter->environment.allocator, positions);
        return status;
    }
    uint64_t universe = space ? space->dots : series_extent(filter);
    summary_of_positions(summary, positions, count, universe, filter->config->seed);
    return ROOST_OK;
}

roost_status series_summarize(const roost_filter *filter, struct summary *summary, const struct causal_context *space)
{
    const struct series *series = as_const_series(filter);
    return has_quota(series) ? summarize_bits(series, summary) : summarize_positions(series, summary, space);
}

/* Positions are ascending, so those of one table are in a row. */
static roost_status resolve_in_table(struct series *series, bool *changed, uint32_t index, const uint64_t *positions,
                                     uint64_t count)
{
    const roost_allocator *allocator = &series->base.environment.allocator;
    roost_filter *table;
    uint64_t offset = table_offset(series, index), *local = memory_allocate(allocator, (count + 1) * sizeof *local);
    if (!local)
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++)
        local[i] = positions[i] - offset;
    roost_status status = open_for_reading(series, index, &table);
    if (status == ROOST_OK)
        status = series->table_kind->sync.resolve_positions(table, changed, NULL, local, count);
    memory_release(allocator, local);
    return status;
}

/* A rank determines its table: every table drops its own. */
static roost_status resolve_dots(struct series *series, bool *changed, const struct causal_context *space,
                                 const uint64_t *positions, uint64_t count)
{
    roost_status status = ROOST_OK;
    for (uint32_t i = 0; i < series->count && status == ROOST_OK; i++)
        if (series->tables[i])
            status = series->table_kind->sync.resolve_positions(series->tables[i], changed, space, positions, count);
    series_shrink(series);
    return status;
}

/* How many of the positions, which are ascending, are of this table. */
static uint64_t positions_in(const struct series *series, uint32_t index, const uint64_t *positions, uint64_t count)
{
    uint64_t end = table_offset(series, index + 1), here = 0;
    while (here < count && positions[here] < end)
        here++;
    return here;
}

/* Makes the tables, and sees that there are such positions in them, before any of them changes. */
static roost_status check_positions(struct series *series, const uint64_t *positions, uint64_t count)
{
    roost_status status = ROOST_OK;
    for (uint32_t i = 0; i < MOST_TABLES && count > 0 && status == ROOST_OK; i++) {
        roost_filter *table;
        uint64_t here = positions_in(series, i, positions, count), offset = table_offset(series, i);
        if (here > 0)
            status = open_for_reading(series, i, &table);
        for (uint64_t j = 0; j < here && status == ROOST_OK; j++)
            if (!series->table_kind->journal.is_change(table, (uint8_t)i, (struct change){positions[j] - offset, 0}))
                status = ROOST_CORRUPT;
        positions += here;
        count -= here;
    }
    return status == ROOST_OK && count > 0 ? ROOST_CORRUPT : status;
}

roost_status series_resolve_positions(roost_filter *filter, bool *changed, const struct causal_context *space,
                                      const uint64_t *positions, uint64_t count)
{
    struct series *series = as_series(filter);
    if (space)
        return resolve_dots(series, changed, space, positions, count);
    uint64_t old = tables_there(series);
    roost_status status = check_positions(series, positions, count);
    for (uint32_t i = 0; i < MOST_TABLES && count > 0 && status == ROOST_OK; i++) {
        uint64_t here = positions_in(series, i, positions, count);
        if (here > 0)
            status = resolve_in_table(series, changed, i, positions, here);
        positions += here;
        count -= here;
    }
    drop_new_tables(series, old);
    series_shrink(series);
    return status;
}

void series_write_extra(const roost_filter *filter, struct bit_writer *writer)
{
    quota_write(&as_const_series(filter)->quota, writer);
}

roost_status series_read_extra(roost_filter *filter, struct quota *extra, struct bit_reader *reader)
{
    struct series *series = as_series(filter);
    const roost_allocator *allocator = &filter->environment.allocator;
    roost_status status = read_quota(series, extra, reader);
    if (status == ROOST_OK && reader_bits_left(reader) != 0)
        status = ROOST_CORRUPT;
    if (status == ROOST_OK && !quota_reserve(&series->quota, allocator, extra->count))
        status = ROOST_NO_MEMORY;
    if (status != ROOST_OK)
        quota_release(extra, allocator);
    return status;
}

bool series_take_extra(roost_filter *filter, const struct quota *extra)
{
    return series_take_quota(as_series(filter), extra);
}

/* ---- causal contexts --------------------------------------------------------------------------------------------- */

typedef roost_status causal_reader(const roost_filter *table, struct causal_context *causal, uint64_t record);

static roost_status unite(const struct series *series, struct causal_context *all, causal_reader *read, uint64_t record)
{
    const roost_allocator *allocator = &series->base.environment.allocator;
    roost_status status = ROOST_OK;
    *all = (struct causal_context){0};
    for (uint32_t i = 0; i < series->count && status == ROOST_OK; i++) {
        struct causal_context one = {0}, both = {0};
        if (!series->tables[i])
            continue;
        status = read(series->tables[i], &one, record);
        if (status == ROOST_OK && !causal_union(&both, all, &one, allocator))
            status = ROOST_NO_MEMORY;
        causal_release(&one, allocator);
        if (status == ROOST_OK) {
            causal_release(all, allocator);
            *all = both;
        }
    }
    if (status != ROOST_OK)
        causal_release(all, allocator);
    return status;
}

static roost_status causal_now(const roost_filter *table, struct causal_context *causal, uint64_t record)
{
    (void)record;
    return table->kind->causal.context(table, causal);
}

static roost_status causal_at(const roost_filter *table, struct causal_context *causal, uint64_t record)
{
    return table->kind->causal.context_at(table, causal, record);
}

roost_status series_causal(const roost_filter *filter, struct causal_context *copy)
{
    return unite(as_const_series(filter), copy, causal_now, 0);
}

roost_status series_causal_at(const roost_filter *filter, struct causal_context *causal, uint64_t record)
{
    return unite(as_const_series(filter), causal, causal_at, record);
}

/* The dots of one table among those of all. */
static bool pick_dots(struct causal_context *picked, const struct causal_context *dots, uint32_t index,
                      const roost_allocator *allocator)
{
    *picked = (struct causal_context){0};
    for (size_t i = 0; i < dots->count; i++)
        if ((dots->runs[i].actor & (MOST_TABLES - 1)) == index && !causal_add(picked, allocator, dots->runs[i])) {
            causal_release(picked, allocator);
            return false;
        }
    return true;
}

static roost_status write_dots(const roost_filter *table, struct bit_writer *writer, const void *dots)
{
    return table->kind->causal.write_dots(table, writer, dots);
}

roost_status series_write_dots(const roost_filter *filter, struct bit_writer *writer, const struct causal_context *dots)
{
    const struct series *series = as_const_series(filter);
    const roost_allocator *allocator = &filter->environment.allocator;
    roost_status status = ROOST_OK;
    for (uint32_t i = 0; i < series->count && status == ROOST_OK; i++) {
        struct causal_context picked;
        if (!pick_dots(&picked, dots, i, allocator))
            return ROOST_NO_MEMORY;
        if (picked.dots > 0 && series->tables[i])
            status = write_table_delta(series, writer, i, write_dots, &picked);
        causal_release(&picked, allocator);
    }
    write_byte(writer, 0);
    return status;
}

/* ---- replica ----------------------------------------------------------------------------------------------------- */

void series_write_replica(const roost_filter *filter, struct bit_writer *writer)
{
    const struct series *series = as_const_series(filter);
    write_fixed64(writer, series->actor);
    write_byte(writer, (uint8_t)series->count);
    for (uint32_t i = 0; i < series->count; i++) {
        bool has_actor = series->tables[i] && series->table_kind->replica.write;
        write_byte(writer, has_actor);
        if (has_actor)
            series->table_kind->replica.write(series->tables[i], writer);
    }
}

roost_status series_read_replica(roost_filter *filter, struct bit_reader *reader)
{
    struct series *series = as_series(filter);
    uint64_t actor = read_fixed64(reader);
    uint8_t count = read_byte(reader);
    roost_status status = reader->failed || count > MOST_TABLES ? ROOST_CORRUPT : ROOST_OK;
    for (uint32_t i = 0; i < count && status == ROOST_OK; i++) {
        if (!read_byte(reader))
            continue;
        if (!series->table_kind->replica.read)
            return ROOST_CORRUPT;
        if (series->tables[i])
            status = series->table_kind->replica.read(series->tables[i], reader);
        else if (read_fixed64(reader) != 0 && reader->failed)
            status = ROOST_CORRUPT;
    }
    if (status == ROOST_OK && reader->failed)
        status = ROOST_CORRUPT;
    series->actor = status == ROOST_OK ? actor : 0;
    return status;
}

void series_forget_replica(roost_filter *filter)
{
    struct series *series = as_series(filter);
    series->actor = 0;
    for (uint32_t i = 0; i < series->count; i++)
        if (series->tables[i] && series->table_kind->replica.forget)
            series->table_kind->replica.forget(series->tables[i]);
}

uint32_t *series_numbers_after_decode(const roost_filter *filter, uint8_t table)
{
    const struct series *series = as_const_series(filter);
    if (table >= MOST_TABLES || !series->tables[table])
        return NULL;
    return series->table_kind->journal.numbers_after_decode(series->tables[table], table);
}

uint32_t *series_numbers_before_decode(const roost_filter *filter, uint8_t table)
{
    const struct series *series = as_const_series(filter);
    if (table >= MOST_TABLES || !series->tables[table])
        return NULL;
    return series->table_kind->journal.numbers_before_decode(series->tables[table], table);
}

bool series_is_change(const roost_filter *filter, uint8_t table, struct change change)
{
    const struct series *series = as_const_series(filter);
    if (table == QUOTA_TABLE)
        return change.key != 0 && change.tag < MOST_TABLES;
    return table < MOST_TABLES && series->tables[table] &&
           series->table_kind->journal.is_change(series->tables[table], table, change);
}
