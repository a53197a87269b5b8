/*
 * The entries of an observed-remove filter: the walk through all of them, and their classes as bits.
 *
 * A class is the smaller bucket of its pair as seen from their middle, in truncated binary, and the fingerprint.
 *
 * Example: 2^20 entries of one actor, none removed, fingerprints of 24 bits, 275,072 buckets: 0 bits for the positions
 * (observed_bytes.c), 17.1 + 24 for a class: 5.14 bytes an entry.
 */
#include "orcuckoo.h"

#include "../cuckoo/cuckoo_many.h"

/* ---- classes as bits ---------------------------------------------------------------------------------------------- */

struct class_code orcuckoo_class_code(struct cuckoo_geometry geometry)
{
    uint64_t pairs = class_pairs(geometry);
    uint32_t bits = highest_bit(pairs);
    return (struct class_code){geometry.bits, bits, (UINT64_C(2) << bits) - pairs};
}

/* The longest code that is written, or read, at once. */
#define MOST_AT_ONCE 56

static void write_class(struct bit_writer *writer, const struct class_code *code, uint64_t key)
{
    uint64_t pair = key >> code->fingerprint_bits, longer = pair + code->short_ones;
    const bool is_short = pair < code->short_ones;
    const uint64_t low = is_short ? pair : longer >> 1 | (longer & 1) << code->bits;
    const unsigned bits = code->bits + !is_short;
    if (bits + code->fingerprint_bits <= MOST_AT_ONCE) {
        uint64_t fingerprint = key & ((UINT64_C(1) << code->fingerprint_bits) - 1);
        write_bits(writer, fingerprint << bits | low, bits + code->fingerprint_bits);
    } else {
        write_bits(writer, low, bits);
        write_bits(writer, key, code->fingerprint_bits);
    }
}

/* The writer is copied: its members stay in registers. */
void orcuckoo_write_classes(const struct observed *observed, struct bit_writer *writer, const struct members *members)
{
    const struct class_code code = as_const_orcuckoo(&observed->base)->code;
    uint64_t place = 0;
    bit_writer_reserve(writer, (size_t)(members->count * (code.bits + 1 + code.fingerprint_bits) / 8));
    struct bit_writer copy = *writer;
    for (uint64_t i = 0; i < members->count; i++)
        write_class(&copy, &code, next_member(members, &place).value);
    *writer = copy;
}

static uint64_t read_long_class(struct bit_reader *reader, const struct class_code *code)
{
    uint64_t pair = read_bits(reader, code->bits);
    if (pair >= code->short_ones)
        pair = (pair << 1 | read_bits(reader, 1)) - code->short_ones;
    return pair << code->fingerprint_bits | read_bits(reader, code->fingerprint_bits);
}

/* As most of them are: short enough for one load, and not the last bits of all. */
static uint64_t read_one_class(struct bit_reader *reader, const struct class_code *code)
{
    const unsigned most = code->bits + 1 + code->fingerprint_bits;
    if (most > MOST_AT_ONCE || reader_bits_left(reader) < most)
        return read_long_class(reader, code);
    uint64_t window = reader_window(reader), pair = window & ((UINT64_C(1) << code->bits) - 1);
    const bool longer = pair >= code->short_ones;
    const unsigned bits = code->bits + longer;
    pair = longer ? (pair << 1 | (window >> code->bits & 1)) - code->short_ones : pair;
    reader->position += bits + code->fingerprint_bits;
    return pair << code->fingerprint_bits | (window >> bits & ((UINT64_C(1) << code->fingerprint_bits) - 1));
}

bool orcuckoo_read_class(const struct observed *observed, struct class_reader *reader, uint64_t *key)
{
    const struct orcuckoo *filter = as_const_orcuckoo(&observed->base);
    *key = read_one_class(&reader->bits, &filter->code);
    return !reader->bits.failed && is_class_key(*key, filter->table.geometry);
}

unsigned orcuckoo_fewest_class_bits(const struct observed *observed)
{
    const struct class_code *code = &as_const_orcuckoo(&observed->base)->code;
    return code->bits + code->fingerprint_bits;
}

/* ---- the walk ----------------------------------------------------------------------------------------------------- */

/* Entries, or where only dots are wanted, these: then no classes are computed. */
struct entry_list {
    struct entry *entries;
    uint64_t *dots;
    size_t count;
};

static ALWAYS_INLINE void list_entry(struct entry_list *list, struct entry entry)
{
    if (list->entries)
        list->entries[list->count++] = entry;
    else
        list->dots[list->count++] = dot_number(entry.number, entry.counter);
}

/* Shapes are copied: for all that the compiler knows, writing an entry could change them. */
static ALWAYS_INLINE void list_rows(const struct orcuckoo *filter, uint32_t *next, struct entry_list *list)
{
    const struct cuckoo_table *table = &filter->table;
    const struct cuckoo_geometry shape = table->shape, geometry = table->geometry;
    uint32_t row = *next;
    for (; list->count <= ENTRIES_AT_ONCE - 8 && (row = cuckoo_table_next_row(table, row)) < shape.buckets; row++) {
        uint64_t words[8];
        cuckoo_table_words(table, row, words);
        for (uint32_t slot = 0; slot < shape.bucket_size; slot++) {
            if (!words[slot])
                continue;
            uint64_t key = 0;
            if (list->entries)
                key = class_key(cuckoo_table_place(table, row, word_fingerprint(words[slot], shape)), geometry);
            list_entry(list, entry_of_slot(filter, word_tag(words[slot], shape), key));
        }
    }
    *next = row;
}

/* The same where rows are buckets of four words: without a branch on any slot. */
static ALWAYS_INLINE void list_words(const struct orcuckoo *filter, uint32_t *next, struct entry_list *list)
{
    struct cuckoo_geometry geometry = filter->table.geometry;
    const uint32_t *numbers = filter->observed.actors.number_of_index;
    const uint32_t tag_shift = geometry.bits, index_shift = tag_shift + filter->counter_bits;
    const uint32_t most_counter = filter->observed.most_counter;
    uint64_t words[ENTRIES_AT_ONCE + 1];
    uint32_t rows[ENTRIES_AT_ONCE + 1];
    geometry.level = geometry.extra_bits = 0;
    list->count = cuckoo_table_next_words(&filter->table, next, words, rows, ENTRIES_AT_ONCE);
    for (size_t i = 0; i < list->count; i++) {
        const uint32_t number = numbers[words[i] >> index_shift], counter = words[i] >> tag_shift & most_counter;
        if (list->entries) {
            struct place place = place_in(rows[i], word_fingerprint(words[i], geometry), geometry);
            list->entries[i] = (struct entry){number, counter, class_key(place, geometry)};
        } else {
            list->dots[i] = dot_number(number, counter);
        }
    }
}

/* The rows, then the stash. Neither moves when an entry is dropped. */
static ALWAYS_INLINE size_t next_some(const struct observed *observed, struct entry_walk *walk, struct entry_list list)
{
    const struct orcuckoo *filter = as_const_orcuckoo(&observed->base);
    const struct stash *stash = &filter->table.stash;
    uint32_t row = (uint32_t)walk->place;
    if (cuckoo_table_lists_words(&filter->table))
        list_words(filter, &row, &list);
    else
        list_rows(filter, &row, &list);
    walk->place = row;
    for (; row >= cuckoo_table_rows(&filter->table) && walk->node < stash->used && list.count < ENTRIES_AT_ONCE;
         walk->node++)
        if (stash->nodes[walk->node].key)
            list_entry(&list, entry_of_node(&stash->nodes[walk->node]));
    return list.count;
}

size_t orcuckoo_next_entries(const struct observed *observed, struct entry_walk *walk,
                             struct entry entries[ENTRIES_AT_ONCE])
{
    return next_some(observed, walk, (struct entry_list){.entries = entries});
}

size_t orcuckoo_next_dots(const struct observed *observed, struct entry_walk *walk, uint64_t dots[ROOM_FOR_DOTS])
{
    return next_some(observed, walk, (struct entry_list){.dots = dots});
}
