/*
 * The bytes of imported parts, in states and in deltas (docs/format.md).
 *
 *     count  { form  fields  bytes | 0  id }  removals   for each part, ascending by id
 *
 * A state has all parts. A delta has the parts that arrived since its cursor, and of others the id and the slots that
 * were removed. Both are read by the same reader, and what it reads is joined.
 */
#include "imported.h"

#include <stdlib.h>
#include <string.h>

#include "../base/sort.h"

#define ID_BYTES    16
#define LEAST_BYTES 8 /* of a part */
#define ROOM_BEHIND 256

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_id(struct bit_writer *writer, uint128 id)
{
    uint8_t bytes[ID_BYTES];
    store_double_word(bytes, id);
    write_bytes(writer, bytes, sizeof bytes);
}

static void write_content(const struct imported_part *part, struct bit_writer *writer)
{
    uint64_t rate;
    memcpy(&rate, &part->part.fpr, sizeof rate);
    write_byte(writer, (uint8_t)part->part.form);
    write_varint(writer, part->part.places);
    write_varint(writer, part->part.width);
    write_varint(writer, part->part.capacity);
    write_varint(writer, part->part.items);
    write_varint(writer, part->part.deleted);
    write_fixed64(writer, rate);
    for (unsigned i = 0; i < form_seeds(part->part.form); i++)
        write_fixed64(writer, part->part.seeds[i]);
    bit_writer_reserve(writer, part->part.size + ROOM_BEHIND);
    write_bytes(writer, part->array->bytes, part->part.size);
}

/* Ascending slots. */
static void write_slots(struct bit_writer *writer, const uint64_t *slots, size_t count)
{
    write_varint(writer, count);
    for (size_t i = 0; i < count; i++)
        write_varint(writer, i == 0 ? slots[0] : slots[i] - slots[i - 1] - 1);
}

static void write_removed(const struct imported_part *part, struct bit_writer *writer)
{
    struct slot_walk walk = {0};
    write_varint(writer, part->removed.count);
    for (uint64_t expected = 0; slot_walk_next(&part->removed, &walk); expected = walk.slot + 1)
        write_varint(writer, walk.slot - expected);
}

static void write_whole(const struct imported_part *part, struct bit_writer *writer)
{
    if (part->array) {
        write_content(part, writer);
    } else {
        write_byte(writer, 0);
        write_id(writer, part->id);
    }
    write_removed(part, writer);
}

void imported_write(const struct imported *imported, struct bit_writer *writer)
{
    write_varint(writer, imported->count);
    for (size_t i = 0; i < imported->count; i++)
        write_whole(&imported->parts[i], writer);
}

void imported_write_part(const struct imported *imported, size_t part, struct bit_writer *writer)
{
    write_varint(writer, 1);
    write_whole(&imported->parts[part], writer);
}

/* ---- deltas ------------------------------------------------------------------------------------------------------ */

static int by_part_and_slot(const void *left, const void *right)
{
    const struct imported_change *a = left, *b = right;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* The changes of a part, which are sorted: from the first one on. Two parts may share the half of an id. */
static const struct imported_change *changes_of(const struct imported_change *changes, size_t count, uint128 id,
                                                size_t *found)
{
    size_t first = place_in_sorted(changes, count, sizeof *changes, (uint64_t)id);
    for (*found = 0; first + *found < count && changes[first + *found].part == (uint64_t)id;)
        ++*found;
    return changes + first;
}

/* Changes without those that come twice. */
static size_t without_repetitions(struct imported_change *changes, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || by_part_and_slot(&changes[i], &changes[i - 1]) != 0)
            changes[kept++] = changes[i];
    return kept;
}

static void write_changed(const struct imported_part *part, struct bit_writer *writer,
                          const struct imported_change *changes, size_t count, uint64_t *slots)
{
    bool arrived = changes[count - 1].slot == PART_ARRIVED;
    if (arrived && part->array) {
        write_whole(part, writer);
        return;
    }
    for (size_t i = 0; i < count; i++)
        slots[i] = changes[i].slot;
    write_byte(writer, 0);
    write_id(writer, part->id);
    write_slots(writer, slots, count - arrived);
}

roost_status imported_write_changes(const struct imported *imported, struct bit_writer *writer,
                                    struct imported_change *changes, size_t count, const roost_allocator *allocator)
{
    uint64_t *slots = memory_allocate(allocator, (count + 1) * sizeof *slots);
    size_t found, touched = 0;
    if (!slots)
        return ROOST_NO_MEMORY;
    qsort(changes, count, sizeof *changes, by_part_and_slot);
    count = without_repetitions(changes, count);
    for (size_t i = 0; i < imported->count; i++) {
        changes_of(changes, count, imported->parts[i].id, &found);
        touched += found > 0;
    }
    write_varint(writer, touched);
    for (size_t i = 0; i < imported->count; i++) {
        const struct imported_change *first = changes_of(changes, count, imported->parts[i].id, &found);
        if (found > 0)
            write_changed(&imported->parts[i], writer, first, found, slots);
    }
    memory_release(allocator, slots);
    return ROOST_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static roost_status read_content(struct imported_part *part, struct bit_reader *reader,
                                 const roost_allocator *allocator)
{
    uint64_t places = read_varint(reader), width = read_varint(reader);
    part->part.places = places;
    part->part.width = width > UINT32_MAX ? 0 : (uint32_t)width;
    part->part.capacity = read_varint(reader);
    part->part.items = read_varint(reader);
    part->part.deleted = read_varint(reader);
    uint64_t rate = read_fixed64(reader);
    memcpy(&part->part.fpr, &rate, sizeof rate);
    for (unsigned i = 0; i < form_seeds(part->part.form); i++)
        part->part.seeds[i] = read_fixed64(reader);
    size_t left = reader_bits_left(reader) / 8;
    if (places > (uint64_t)left * 8)
        return ROOST_CORRUPT;
    part->part.size = (size_t)part_array_size(&part->part);
    if (reader->failed || !part_is_sound(&part->part) || part->part.size > left)
        return ROOST_CORRUPT;
    const uint8_t *bytes = read_bytes(reader, part->part.size);
    if (!part_take_bytes(part, bytes, allocator))
        return ROOST_NO_MEMORY;
    part_name(part, part_id(&part->part, part->array->bytes));
    return ROOST_OK;
}

static roost_status read_slots(struct imported_part *part, struct bit_reader *reader,
                               const struct memory_account *account)
{
    uint64_t count = read_varint(reader), slot = 0;
    if (reader->failed || count > reader_bits_left(reader) / 8)
        return ROOST_CORRUPT;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t gap = read_varint(reader);
        if (reader->failed || gap >= MOST_SLOT)
            return ROOST_CORRUPT;
        slot = i == 0 ? gap : slot + gap + 1;
        if (slot >= MOST_SLOT)
            return ROOST_CORRUPT;
        if (!slot_set_reserve(&part->removed, slot, 1, account))
            return ROOST_NO_MEMORY;
        slot_set_put(&part->removed, slot);
    }
    return ROOST_OK;
}

static roost_status read_part(struct imported_part *part, struct bit_reader *reader,
                              const struct memory_account *account)
{
    roost_status status = ROOST_OK;
    part->part.form = (roost_imported_form)read_byte(reader);
    if (part->part.form == 0) {
        const uint8_t *id = read_bytes(reader, ID_BYTES);
        if (!id)
            return ROOST_CORRUPT;
        part_name(part, load_double_word(id));
    } else {
        status = read_content(part, reader, &account->allocator);
    }
    if (status == ROOST_OK)
        status = read_slots(part, reader, account);
    return status == ROOST_OK && !part->array && part->removed.count == 0 ? ROOST_CORRUPT : status;
}

roost_status imported_read(struct imported **imported, struct bit_reader *reader, const struct memory_account *account)
{
    uint64_t count = read_varint(reader);
    *imported = NULL;
    if (reader->failed || count == 0 || count > reader_bits_left(reader) / (8 * LEAST_BYTES))
        return ROOST_CORRUPT;
    if (count > MOST_PARTS)
        return ROOST_TOO_LARGE;
    struct imported *made = imported_allocate((size_t)count, &account->allocator);
    roost_status status = made ? ROOST_OK : ROOST_NO_MEMORY;
    for (uint64_t i = 0; i < count && status == ROOST_OK; i++) {
        status = read_part(&made->parts[i], reader, account);
        made->count++;
        if (status == ROOST_OK && i > 0 && made->parts[i - 1].id >= made->parts[i].id)
            status = ROOST_CORRUPT;
    }
    if (status == ROOST_OK && reader_bits_left(reader) != 0)
        status = ROOST_CORRUPT;
    if (status != ROOST_OK) {
        imported_free(made, account);
        return status;
    }
    imported_complete(made);
    *imported = made;
    return ROOST_OK;
}
