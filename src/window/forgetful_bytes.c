/*
 * Windows and counters as bytes. docs/format.md is the specification.
 *
 *     state    count { level, start / length, state of the bits }            then, in a counter, the tally
 *     delta    count { level, start / length, size, delta of the bits }      likewise, of those that changed
 *
 * Slots are in order, none is empty, all are remembered; so a state has one form, and a slot that a hostile frame puts
 * out of step with time, or that could never be together with the others, is refused.
 */
#include "forgetful.h"

/* ---- state ----------------------------------------------------------------------------------------------------- */

void window_write_geometry(const roost_filter *filter, struct bit_writer *writer)
{
    const roost_config *config = filter->config;
    write_varint(writer, config->window);
    write_byte(writer, (uint8_t)config->past);
    write_varint(writer, config->slot_bits);
    write_varint(writer, config->slot_probes);
}

static void write_key(const struct window *window, const struct slot *slot, struct bit_writer *writer)
{
    write_byte(writer, (uint8_t)slot->level);
    write_varint(writer, slot->start / level_length(window, slot->level));
}

/* A slot behind the one before it, `last`, which is NULL for the first. */
static bool read_key(const struct window *window, struct slot *slot, const struct slot *last, struct bit_reader *reader)
{
    slot->level = read_byte(reader);
    uint64_t index = read_varint(reader);
    if (reader->failed || slot->level > window->finest)
        return false;
    uint64_t length = level_length(window, slot->level);
    if (index > ROOST_WINDOW_MOST_TIME / length)
        return false;
    slot->start = index * length;
    return !last || last->start < slot->start || (last->start == slot->start && last->level < slot->level);
}

static bool all_remembered(const struct window *window, const struct slot *slots, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_remembered(window, &slots[i], slots[count - 1].start))
            return false;
    return true;
}

roost_status window_write_state(const roost_filter *filter, struct bit_writer *writer)
{
    const struct window *window = as_const_window(filter);
    roost_status status = ROOST_OK;
    write_varint(writer, window->count);
    for (uint32_t i = 0; i < window->count && status == ROOST_OK; i++) {
        write_key(window, &window->slots[i], writer);
        status = bloom_kind.encoding.write_state(window->slots[i].bits, writer);
    }
    if (is_counter(window))
        tally_write(&window->tally, writer);
    return status == ROOST_OK && writer->failed ? ROOST_NO_MEMORY : status;
}

static roost_status read_slot(struct window *window, struct bit_reader *reader)
{
    struct slot key;
    roost_filter *bits;
    if (!read_key(window, &key, window->count ? &window->slots[window->count - 1] : NULL, reader))
        return ROOST_CORRUPT;
    roost_status status = window_new_bits(window, &bits, 0);
    if (status != ROOST_OK)
        return status;
    status = bloom_kind.encoding.read_state(bits, reader);
    if (status == ROOST_OK && bloom_kind.lattice.is_bottom(bits))
        status = ROOST_CORRUPT;
    if (status == ROOST_OK)
        window_put(window, key.start, key.level, bits)->held_is_known = false;
    else
        bloom_kind.lifecycle.close(bits);
    return status;
}

roost_status window_status_of_tally(enum tally_read read)
{
    return read == TALLY_READ ? ROOST_OK : read == TALLY_CORRUPT ? ROOST_CORRUPT : ROOST_NO_MEMORY;
}

roost_status window_read_state(roost_filter *filter, struct bit_reader *reader)
{
    struct window *window = as_window(filter);
    uint64_t count = read_varint(reader);
    roost_status status = reader->failed || count > MOST_SLOTS ? ROOST_CORRUPT : ROOST_OK;
    for (uint64_t i = 0; i < count && status == ROOST_OK; i++)
        status = read_slot(window, reader);
    if (status == ROOST_OK && !all_remembered(window, window->slots, window->count))
        status = ROOST_CORRUPT;
    if (status == ROOST_OK && is_counter(window))
        status = window_status_of_tally(tally_read(&window->tally, reader, &filter->environment.allocator));
    return status;
}

/* ---- writing deltas -------------------------------------------------------------------------------------------- */

/* The slot that a record is about, if it is still there. */
static const struct slot *slot_of_record(const struct window *window, uint64_t record)
{
    uint8_t place = journal_table(window->base.journal, record);
    for (uint32_t i = 0; i < window->count; i++)
        if (window->slots[i].place == place)
            return record >= window->slots[i].since ? &window->slots[i] : NULL;
    return NULL;
}

static uint32_t mark_changed_slots(const struct window *window, bool changed[MOST_SLOTS], struct selection selection)
{
    uint32_t count = 0;
    for (uint64_t record; next_selected(window->base.journal, &selection, &record);) {
        const struct slot *slot = slot_of_record(window, record);
        if (!slot || changed[slot - window->slots])
            continue;
        changed[slot - window->slots] = true;
        count++;
    }
    return count;
}

static roost_status write_slot_delta(const struct window *window, const struct slot *slot, struct bit_writer *writer,
                                     struct selection selection)
{
    struct bit_writer delta;
    bit_writer_init(&delta, window->base.environment.allocator);
    if (selection.since < slot->since)
        selection.since = slot->since;
    roost_status status = bloom_kind.delta.write(slot->bits, &delta, selection);
    if (status == ROOST_OK) {
        write_key(window, slot, writer);
        write_varint(writer, delta.buffer.size);
        write_bytes(writer, delta.buffer.data, delta.buffer.size);
    }
    bit_writer_release(&delta);
    return status;
}

roost_status window_write_changed_tally(const struct window *window, struct bit_writer *writer,
                                        struct selection selection)
{
    const struct tally *tally = &window->tally;
    const struct journal *journal = window->base.journal;
    const roost_allocator *allocator = &window->base.environment.allocator;
    bool *changed = memory_allocate(allocator, tally->count + 1);
    uint64_t count = 0;
    if (!changed)
        return ROOST_NO_MEMORY;
    for (uint64_t record; next_selected(journal, &selection, &record);)
        if (journal_table(journal, record) == TALLY_TABLE)
            changed[tally_find(tally, journal_change(journal, record)->key)] = true;
    for (size_t i = 0; i < tally->count; i++)
        count += changed[i];
    write_varint(writer, count);
    for (size_t i = 0; i < tally->count; i++)
        if (changed[i])
            tally_write_entry(writer, &tally->entries[i]);
    memory_release(allocator, changed);
    return ROOST_OK;
}

roost_status window_write_delta(const roost_filter *filter, struct bit_writer *writer, struct selection selection)
{
    const struct window *window = as_const_window(filter);
    bool changed[MOST_SLOTS] = {false};
    roost_status status = ROOST_OK;
    write_varint(writer, mark_changed_slots(window, changed, selection));
    for (uint32_t i = 0; i < window->count && status == ROOST_OK; i++)
        if (changed[i])
            status = write_slot_delta(window, &window->slots[i], writer, selection);
    if (status == ROOST_OK && is_counter(window))
        status = window_write_changed_tally(window, writer, selection);
    return status == ROOST_OK && writer->failed ? ROOST_NO_MEMORY : status;
}

/* ---- reading deltas -------------------------------------------------------------------------------------------- */

struct window_delta {
    struct slot keys[MOST_SLOTS]; /* start and level */
    struct bit_reader deltas[MOST_SLOTS];
    uint32_t count;
    struct tally tally;
};

/* One with no bits at all would make an empty slot. */
static bool is_sound_slot_delta(const struct window *window, struct bit_reader delta)
{
    struct bit_reader peek = delta;
    bool positions = read_byte(&peek) == 1; /* no ranges of words: slots are small */
    return positions && read_varint(&peek) > 0 && bloom_is_sound_delta(window->geometry.bits, delta);
}

static bool read_slot_delta(const struct window *window, struct window_delta *delta, struct bit_reader *reader)
{
    uint32_t i = delta->count;
    if (!read_key(window, &delta->keys[i], i ? &delta->keys[i - 1] : NULL, reader))
        return false;
    uint64_t size = read_varint(reader);
    if (reader->failed || size > reader_bits_left(reader) / 8)
        return false;
    delta->deltas[i] = bit_reader_over(read_bytes(reader, (size_t)size), (size_t)size);
    delta->count++;
    return is_sound_slot_delta(window, delta->deltas[i]);
}

static roost_status read_delta(const struct window *window, struct window_delta *delta, struct bit_reader *reader)
{
    uint64_t count = read_varint(reader);
    delta->count = 0;
    delta->tally = (struct tally){0};
    if (reader->failed || count > MOST_SLOTS)
        return ROOST_CORRUPT;
    for (uint64_t i = 0; i < count; i++)
        if (!read_slot_delta(window, delta, reader))
            return ROOST_CORRUPT;
    if (!all_remembered(window, delta->keys, delta->count))
        return ROOST_CORRUPT;
    roost_status status = ROOST_OK;
    if (is_counter(window))
        status = window_status_of_tally(tally_read(&delta->tally, reader, &window->base.environment.allocator));
    return status == ROOST_OK && reader_bits_left(reader) != 0 ? ROOST_CORRUPT : status;
}

static roost_status stage_delta(struct window *window, struct window_unseen *unseen, const struct window_delta *delta)
{
    uint64_t mine = newest_start(window), theirs = delta->count ? delta->keys[delta->count - 1].start : 0;
    roost_status status = window->latest && theirs > window->latest ? ROOST_CLOCK : ROOST_OK;
    unseen->newest = mine > theirs ? mine : theirs;
    for (uint32_t i = 0; i < delta->count && status == ROOST_OK; i++)
        if (is_remembered(window, &delta->keys[i], unseen->newest))
            status = window_stage(window, unseen, delta->keys[i].start, delta->keys[i].level);
    if (status == ROOST_OK && !tally_reserve(&window->tally, &window->base.environment.allocator, delta->tally.count))
        status = ROOST_NO_MEMORY;
    return status;
}

static bool take_delta(struct window *window, struct window_delta *delta)
{
    bool changed = false;
    for (uint32_t i = 0; i < delta->count; i++) {
        struct slot *slot = window_find(window, delta->keys[i].start, delta->keys[i].level);
        bool grew = false;
        if (slot)
            (void)!bloom_kind.delta.merge(slot->bits, &grew, &delta->deltas[i]);
        if (grew)
            slot->held_is_known = false;
        changed |= grew;
    }
    return window_take_tally(window, &delta->tally) || changed;
}

roost_status window_merge_delta(roost_filter *filter, bool *changed, struct bit_reader *reader)
{
    struct window *window = as_window(filter);
    struct window_unseen unseen = {.count = 0};
    struct window_delta delta;
    *changed = false;
    roost_status status = read_delta(window, &delta, reader);
    if (status == ROOST_OK)
        status = stage_delta(window, &unseen, &delta);
    if (status == ROOST_OK) {
        window_commit(window, &unseen);
        *changed = take_delta(window, &delta);
    }
    window_unstage(&unseen);
    tally_release(&delta.tally, &filter->environment.allocator);
    return status;
}

/* ---- replica --------------------------------------------------------------------------------------------------- */

/* Stored records count slots in the order of the state. */
uint8_t window_table_after_decode(const roost_filter *filter, uint64_t record)
{
    const struct window *window = as_const_window(filter);
    if (journal_table(filter->journal, record) == TALLY_TABLE)
        return TALLY_TABLE;
    const struct slot *slot = slot_of_record(window, record);
    return slot ? (uint8_t)(slot - window->slots) : DEAD_TABLE;
}

uint8_t window_table_before_decode(const roost_filter *filter, uint8_t table)
{
    const struct window *window = as_const_window(filter);
    return table < window->count ? window->slots[table].place : table < MOST_SLOTS ? MOST_SLOTS : table;
}

/* The journal that begins after this one counts from 1 again, so that it may be about all slots that are there. */
void window_forget_replica(roost_filter *filter)
{
    struct window *window = as_window(filter);
    window->actor = 0;
    for (uint32_t i = 0; i < window->count; i++)
        window->slots[i].since = 0;
}

bool window_is_change(const roost_filter *filter, uint8_t table, struct change change)
{
    const struct window *window = as_const_window(filter);
    if (table == TALLY_TABLE)
        return change.tag == 0 && tally_find(&window->tally, change.key) < window->tally.count;
    for (uint32_t i = 0; i < window->count; i++)
        if (window->slots[i].place == table)
            return bloom_kind.journal.is_change(window->slots[i].bits, table, change);
    return table == DEAD_TABLE;
}
