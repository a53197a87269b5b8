/*
 * Last-writer-wins sets as bytes: docs/format.md is the specification. A delta has the form of a state.
 *
 *     count, then unless it is 0: the latest stamp, bits b of an age, and for each entry in the order of prefixes
 *     | gap to the prefix before (Rice) | age: the latest stamp less this one, b bits |
 *
 * b is as small as it may be, and some entry has age 0: a list of entries has one form.
 */
#include "last_writer.h"

#include "../prefix/semantics.h"

#define UNIVERSE (UINT64_C(1) << STAMPED_LENGTH)

/* A prefix as a number below the universe. */
static uint64_t number_of(uint64_t prefix)
{
    return prefix_position(prefix) - UNIVERSE;
}

static uint64_t prefix_of_number(uint64_t number)
{
    return prefix_at(number + UNIVERSE);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Prefixes as numbers, with their stamps, in order. */
struct stamps {
    struct sort_pair *list;
    uint64_t count;
};

static unsigned bits_of(uint64_t number)
{
    return number ? highest_bit(number) + 1 : 0;
}

static void write_stamps(struct bit_writer *writer, const struct sort_pair *list, uint64_t count)
{
    uint64_t latest = 0, earliest = UINT64_MAX;
    write_varint(writer, count);
    if (count == 0)
        return;
    for (uint64_t i = 0; i < count; i++) {
        latest = list[i].value > latest ? list[i].value : latest;
        earliest = list[i].value < earliest ? list[i].value : earliest;
    }
    const unsigned parameter = rice_parameter(UNIVERSE, count), bits = bits_of(latest - earliest);
    write_varint(writer, latest);
    write_byte(writer, (uint8_t)bits);
    for (uint64_t i = 0; i < count; i++) {
        write_rice(writer, i ? list[i].key - list[i - 1].key - 1 : list[0].key, parameter);
        write_bits(writer, latest - list[i].value, bits);
    }
    write_alignment(writer);
}

/* The whole state; to be released. */
static bool gather(const struct last_writer *filter, struct stamps *stamps)
{
    const uint64_t most = tagged_set_count(&filter->set);
    struct tagged_walk walk = {0};
    struct prefix_entry entries[TAGGED_AT_ONCE];
    *stamps =
        (struct stamps){memory_allocate(&filter->base.environment.allocator, (2 * most + 1) * sizeof *stamps->list), 0};
    if (!stamps->list)
        return false;
    for (uint32_t count; (count = tagged_set_next(&filter->set, &walk, entries)) > 0;)
        for (uint32_t i = 0; i < count; i++)
            stamps->list[stamps->count++] = (struct sort_pair){number_of(entries[i].prefix), entries[i].tag};
    sort_pairs(stamps->list, stamps->list + most, stamps->count, STAMPED_LENGTH);
    return true;
}

static void stamps_release(const struct last_writer *filter, struct stamps *stamps)
{
    memory_release(&filter->base.environment.allocator, stamps->list);
}

roost_status last_writer_write_state(const roost_filter *base, struct bit_writer *writer)
{
    const struct last_writer *filter = as_const_last_writer(base);
    struct stamps stamps;
    if (!gather(filter, &stamps))
        return ROOST_NO_MEMORY;
    write_stamps(writer, stamps.list, stamps.count);
    stamps_release(filter, &stamps);
    return writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
}

/* Which prefixes the records are about, each once, with their present stamps. */
static bool gather_changed(const struct last_writer *filter, struct stamps *stamps, struct selection selection)
{
    const struct journal *journal = filter->base.journal;
    const uint64_t most = count_selected(journal, selection);
    uint64_t kept = 0;
    *stamps =
        (struct stamps){memory_allocate(&filter->base.environment.allocator, (2 * most + 1) * sizeof *stamps->list), 0};
    if (!stamps->list)
        return false;
    for (uint64_t record; next_selected(journal, &selection, &record);)
        stamps->list[stamps->count++] = (struct sort_pair){journal_change(journal, record)->key - UNIVERSE, 0};
    sort_pairs(stamps->list, stamps->list + most, stamps->count, STAMPED_LENGTH);
    for (uint64_t i = 0; i < stamps->count; i++) {
        const uint64_t number = stamps->list[i].key, stamp = find_stamp(&filter->set, prefix_of_number(number));
        if (stamp && (kept == 0 || stamps->list[kept - 1].key != number))
            stamps->list[kept++] = (struct sort_pair){number, stamp};
    }
    stamps->count = kept;
    return true;
}

roost_status last_writer_write_delta(const roost_filter *base, struct bit_writer *writer, struct selection selection)
{
    const struct last_writer *filter = as_const_last_writer(base);
    struct stamps stamps;
    if (!gather_changed(filter, &stamps, selection))
        return ROOST_NO_MEMORY;
    write_stamps(writer, stamps.list, stamps.count);
    stamps_release(filter, &stamps);
    return writer->failed ? ROOST_NO_MEMORY : ROOST_OK;
}

/* A state as many deltas. */
roost_status last_writer_cut(const roost_filter *base, const struct causal_context *known, size_t bytes,
                             struct delta_sink *sink)
{
    const struct last_writer *filter = as_const_last_writer(base);
    const uint64_t most = bytes / BYTES_A_PLACE + 1; /* each entry goes to a place of its own */
    struct stamps stamps;
    roost_status status = ROOST_OK;
    (void)known;
    if (!gather(filter, &stamps))
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < stamps.count && status == ROOST_OK; i += most) {
        struct bit_writer delta;
        bit_writer_init(&delta, base->environment.allocator);
        write_stamps(&delta, stamps.list + i, stamps.count - i < most ? stamps.count - i : most);
        status = delta.failed ? ROOST_NO_MEMORY : sink->take(sink, &delta);
        bit_writer_release(&delta);
    }
    stamps_release(filter, &stamps);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* A list of entries that is being read. */
struct stamp_reader {
    struct bit_reader bits;
    uint64_t left, latest, number;
    uint64_t oldest, youngest; /* ages so far */
    unsigned parameter, age_bits;
    bool begun;
};

/* False where no writer begins so. Each entry takes so many bits at least, so that there are not more than came. */
static bool stamps_begin(struct stamp_reader *reader, struct bit_reader bits)
{
    *reader = (struct stamp_reader){.youngest = UINT64_MAX};
    reader->left = read_varint(&bits);
    if (reader->left > 0) {
        reader->latest = read_varint(&bits);
        reader->age_bits = read_byte(&bits);
        reader->parameter = rice_parameter(UNIVERSE, reader->left);
    }
    reader->bits = bits;
    return !bits.failed && (reader->left == 0 || is_stamp(reader->latest)) && reader->age_bits <= STAMP_BITS &&
           reader->left <= reader_bits_left(&bits) / (reader->parameter + 1 + reader->age_bits);
}

static bool read_stamp(struct stamp_reader *reader, struct prefix_entry *entry)
{
    const uint64_t first = reader->begun ? reader->number + 1 : 0;
    const uint64_t gap = read_rice(&reader->bits, reader->parameter), age = read_bits(&reader->bits, reader->age_bits);
    if (reader->bits.failed || first >= UNIVERSE || gap >= UNIVERSE - first || age >= reader->latest)
        return false;
    reader->number = first + gap;
    reader->begun = true;
    reader->oldest = age > reader->oldest ? age : reader->oldest;
    reader->youngest = age < reader->youngest ? age : reader->youngest;
    reader->left--;
    *entry = (struct prefix_entry){prefix_of_number(reader->number), reader->latest - age};
    return is_stamp(entry->tag);
}

/* Whether it was the one form of these entries. */
static bool stamps_end(struct stamp_reader *reader)
{
    if (!reader->begun)
        return true;
    read_alignment(&reader->bits);
    return !reader->bits.failed && reader->youngest == 0 && bits_of(reader->oldest) == reader->age_bits;
}

/* All of them, to be released. */
static roost_status read_stamps(const roost_filter *filter, struct bit_reader *bits, struct prefix_entry **entries,
                                uint64_t *count)
{
    struct stamp_reader reader;
    *entries = NULL;
    if (!stamps_begin(&reader, *bits))
        return ROOST_CORRUPT;
    *count = reader.left;
    *entries = memory_allocate(&filter->environment.allocator, (reader.left + 1) * sizeof **entries);
    if (!*entries)
        return ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < *count; i++)
        if (!read_stamp(&reader, *entries + i))
            return ROOST_CORRUPT;
    *bits = reader.bits;
    if (!stamps_end(&reader))
        return ROOST_CORRUPT;
    *bits = reader.bits;
    return ROOST_OK;
}

roost_status last_writer_read_state(roost_filter *filter, struct bit_reader *reader)
{
    struct prefix_entry *entries;
    uint64_t count;
    bool changed;
    roost_status status = read_stamps(filter, reader, &entries, &count);
    if (status == ROOST_OK)
        status = join_entries(as_last_writer(filter), &changed, entries, count);
    memory_release(&filter->environment.allocator, entries);
    return status;
}

roost_status last_writer_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader)
{
    struct prefix_entry *entries;
    uint64_t count;
    *changed = false;
    roost_status status = read_stamps(filter, reader, &entries, &count);
    if (status == ROOST_OK && reader_bits_left(reader) != 0)
        status = ROOST_CORRUPT;
    if (status == ROOST_OK)
        status = join_entries(as_last_writer(filter), changed, entries, count);
    memory_release(&filter->environment.allocator, entries);
    return status;
}

/* Records name prefixes; the stamp is the one of the moment when it is sent. */
bool last_writer_is_change(const roost_filter *filter, uint8_t table, struct change change)
{
    (void)filter;
    return table == 0 && change.tag == 0 && is_position(change.key) && highest_bit(change.key) == STAMPED_LENGTH;
}
