/*
 * The entries of an observed-remove filter: the walk through all of them, and their classes as bits.
 *
 * A class is the smaller bucket of its pair as seen from their middle, in truncated binary, and the fingerprint.
 *
 * Example: 2^20 entries of one actor, none removed, fingerprints of 24 bits, 275,072 buckets: 0 bits for the positions
 * (observed_bytes.c), 17.1 + 24 for a class: 5.14 bytes an entry.
 */
#include "orcuckoo.h"

/* ---- classes as bits ---------------------------------------------------------------------------------------------- */

struct class_code orcuckoo_class_code(struct cuckoo_geometry geometry)
{
    uint64_t pairs = class_pairs(geometry);
    uint32_t bits = highest_bit(pairs);
    return (struct class_code){geometry.bits, bits, (UINT64_C(2) << bits) - pairs};
}

static void write_class(struct bit_writer *writer, const struct class_code *code, uint64_t key)
{
    uint64_t pair = key >> code->fingerprint_bits;
    if (pair < code->short_ones) {
        write_bits(writer, pair, code->bits);
    } else {
        uint64_t longer = pair + code->short_ones;
        write_bits(writer, longer >> 1 | (longer & 1) << code->bits, code->bits + 1);
    }
    write_bits(writer, key, code->fingerprint_bits);
}

void orcuckoo_write_classes(const struct observed *observed, struct bit_writer *writer, const struct members *members)
{
    const struct class_code code = as_const_orcuckoo(&observed->base)->code;
    uint64_t place = 0;
    bit_writer_reserve(writer, (size_t)(members->count * (code.bits + 1 + code.fingerprint_bits) / 8));
    for (uint64_t i = 0; i < members->count; i++)
        write_class(writer, &code, next_member(members, &place).value);
}

bool orcuckoo_read_class(const struct observed *observed, struct class_reader *reader, uint64_t *key)
{
    const struct orcuckoo *filter = as_const_orcuckoo(&observed->base);
    const struct class_code *code = &filter->code;
    uint64_t pair = read_bits(&reader->bits, code->bits);
    if (pair >= code->short_ones)
        pair = (pair << 1 | read_bits(&reader->bits, 1)) - code->short_ones;
    *key = pair << code->fingerprint_bits | read_bits(&reader->bits, code->fingerprint_bits);
    return !reader->bits.failed && is_class_key(*key, filter->table.geometry);
}

unsigned orcuckoo_fewest_class_bits(const struct observed *observed)
{
    const struct class_code *code = &as_const_orcuckoo(&observed->base)->code;
    return code->bits + code->fingerprint_bits;
}

/* ---- the walk ----------------------------------------------------------------------------------------------------- */

/* The rows, then the stash. Neither moves when an entry is dropped. Where only dots are wanted, no classes are computed.
   Shapes are copied: for all that the compiler knows, writing an entry could change them. */
static ALWAYS_INLINE size_t next_some(const struct observed *observed, struct entry_walk *walk, struct entry *entries,
                                      uint64_t *dots)
{
    const struct orcuckoo *filter = as_const_orcuckoo(&observed->base);
    const struct cuckoo_table *table = &filter->table;
    const struct cuckoo_geometry shape = table->shape, geometry = table->geometry;
    size_t count = 0;
    uint32_t row = (uint32_t)walk->place;
    for (; count <= ENTRIES_AT_ONCE - 8 && (row = cuckoo_table_next_row(table, row)) < shape.buckets; row++) {
        uint64_t words[8];
        cuckoo_table_words(table, row, words);
        for (uint32_t slot = 0; slot < shape.bucket_size; slot++) {
            if (!words[slot])
                continue;
            uint64_t key = 0;
            if (entries)
                key = class_key(cuckoo_table_place(table, row, word_fingerprint(words[slot], shape)), geometry);
            struct entry entry = entry_of_slot(filter, word_tag(words[slot], shape), key);
            if (entries)
                entries[count++] = entry;
            else
                dots[count++] = dot_number(entry.number, entry.counter);
        }
    }
    walk->place = row;
    for (; row >= shape.buckets && walk->node < table->stash.used && count < ENTRIES_AT_ONCE; walk->node++)
        if (table->stash.nodes[walk->node].key) {
            struct entry entry = entry_of_node(&table->stash.nodes[walk->node]);
            if (entries)
                entries[count++] = entry;
            else
                dots[count++] = dot_number(entry.number, entry.counter);
        }
    return count;
}

size_t orcuckoo_next_entries(const struct observed *observed, struct entry_walk *walk,
                             struct entry entries[ENTRIES_AT_ONCE])
{
    return next_some(observed, walk, entries, NULL);
}

size_t orcuckoo_next_dots(const struct observed *observed, struct entry_walk *walk, uint64_t dots[ROOM_FOR_DOTS])
{
    return next_some(observed, walk, NULL, dots);
}
