/*
 * The entries of an observed-remove filter, as observed.c and observed_bytes.c need them (entry_store): their classes
 * as bits, the walk through all of them, and how those that come from elsewhere are taken in.
 *
 * A class is the smaller bucket of its pair as seen from their middle, in truncated binary, and the fingerprint.
 *
 * Example: 2^20 entries of one actor, none removed, fingerprints of 24 bits, 275,072 buckets: 0 bits for the positions
 * (observed_bytes.c), 17.1 + 24 for a class: 5.14 bytes an entry.
 */
#include "orcuckoo.h"

#include "../cuckoo/cuckoo_many.h"

#define BATCH 32

/* ---- classes as bits --------------------------------------------------------------------------------------------- */

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
static void write_classes(const struct observed *observed, struct bit_writer *writer, const struct members *members)
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

static bool read_class(const struct observed *observed, struct class_reader *reader, uint64_t *key)
{
    const struct orcuckoo *filter = as_const_orcuckoo(&observed->base);
    *key = read_one_class(&reader->bits, &filter->code);
    return !reader->bits.failed && is_class_key(*key, filter->table.geometry);
}

static unsigned fewest_class_bits(const struct observed *observed)
{
    const struct class_code *code = &as_const_orcuckoo(&observed->base)->code;
    return code->bits + code->fingerprint_bits;
}

static bool is_class(const struct observed *observed, uint64_t key)
{
    return is_class_key(key, as_const_orcuckoo(&observed->base)->table.geometry);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

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

static size_t next_entries(const struct observed *observed, struct entry_walk *walk,
                           struct entry entries[ENTRIES_AT_ONCE])
{
    return next_some(observed, walk, (struct entry_list){.entries = entries});
}

static size_t next_dots(const struct observed *observed, struct entry_walk *walk, uint64_t dots[ROOM_FOR_DOTS])
{
    return next_some(observed, walk, (struct entry_list){.dots = dots});
}

/* ---- the store --------------------------------------------------------------------------------------------------- */

/* The bytes of the table without stash, causal context and actors. */
static uint64_t table_bytes(const struct cuckoo_table *table)
{
    return cuckoo_table_bytes(table->shape, table->most_kicks) + sizeof(struct orcuckoo);
}

static uint64_t entry_count(const struct observed *observed)
{
    return cuckoo_table_entries(&as_const_orcuckoo(&observed->base)->table);
}

static uint64_t entry_bytes(const struct observed *observed)
{
    const struct cuckoo_table *table = &as_const_orcuckoo(&observed->base)->table;
    return table_bytes(table) + stash_bytes(&table->stash);
}

/* The table keeps its rows: those that find no slot go to the stash. */
static uint64_t entry_bytes_with(const struct observed *observed, uint64_t more)
{
    const struct cuckoo_table *table = &as_const_orcuckoo(&observed->base)->table;
    return table_bytes(table) + stash_bytes_with(&table->stash, more);
}

static roost_status reserve_entries(struct orcuckoo *filter, uint64_t count)
{
    struct stash *stash = &filter->table.stash;
    const roost_environment *environment = &filter->own.environment;
    if (observed_bytes(&filter->observed) - stash_bytes(stash) + stash_bytes_with(stash, count) >
        environment->memory_limit)
        return ROOST_TOO_LARGE;
    return stash_reserve(stash, &environment->allocator, count) ? ROOST_OK : ROOST_NO_MEMORY;
}

static roost_status begin_reserve(struct observed *observed, uint64_t count)
{
    struct orcuckoo *filter = as_orcuckoo(&observed->base);
    roost_status status = reserve_entries(filter, count);
    filter->table.holds_reserve = status == ROOST_OK;
    filter->kicks = filter->table.most_kicks;
    return status;
}

static void end_reserve(struct observed *observed)
{
    struct orcuckoo *filter = as_orcuckoo(&observed->base);
    if (filter->table.holds_reserve) {
        filter->table.holds_reserve = false;
        relieve_if_overfull(filter);
    }
    if (filter->table.stash.count == 0)
        stash_release(&filter->table.stash, &observed->base.environment.allocator);
}

static void make_room_for(struct observed *observed, uint64_t entries)
{
    struct orcuckoo *filter = as_orcuckoo(&observed->base);
    filter->kicks = filter->table.most_kicks;
    make_room(filter, entries);
}

static roost_status take_row(struct orcuckoo *filter, const struct entry *entries, size_t count)
{
    struct place places[BATCH];
    for (size_t i = 0; i < count; i++) {
        places[i] = place_of_class(entries[i].key, filter->table.geometry);
        cuckoo_table_prefetch(&filter->table, &places[i], 1);
    }
    for (size_t i = 0; i < count; i++) {
        roost_status status = take_entry(filter, &places[i], entries[i], &filter->kicks);
        if (status != ROOST_OK)
            return status;
    }
    relieve_if_overfull(filter);
    return ROOST_OK;
}

static roost_status take_entries(struct observed *observed, const struct entry *entries, size_t count)
{
    roost_status status = ROOST_OK;
    for (size_t done = 0; done < count && status == ROOST_OK; done += BATCH)
        status = take_row(as_orcuckoo(&observed->base), entries + done, count - done < BATCH ? count - done : BATCH);
    return status;
}

static bool drop_if_held(struct observed *observed, struct entry entry)
{
    struct orcuckoo *filter = as_orcuckoo(&observed->base);
    struct place place = place_of_class(entry.key, filter->table.geometry);
    return drop_entry(filter, &place, entry);
}

static bool is_held(const struct observed *observed, struct entry entry)
{
    const struct orcuckoo *filter = as_const_orcuckoo(&observed->base);
    struct place place = place_of_class(entry.key, filter->table.geometry);
    return holds_entry(filter, &place, entry.number, entry.counter);
}

static roost_status open_alike(roost_filter **opened, const struct observed *observed)
{
    const struct orcuckoo *filter = as_const_orcuckoo(&observed->base);
    return orcuckoo_open_with(opened, observed->base.config, &filter->own.environment, filter->table.geometry);
}

const struct entry_store orcuckoo_store = {
    .count = entry_count,
    .bytes = entry_bytes,
    .bytes_with = entry_bytes_with,
    .next = next_entries,
    .next_dots = next_dots,
    .reserve = begin_reserve,
    .release_reserve = end_reserve,
    .make_room = make_room_for,
    .take = take_entries,
    .drop = drop_if_held,
    .holds = is_held,
    .open_alike = open_alike,
    .is_class = is_class,
    .write_classes = write_classes,
    .read_class = read_class,
    .fewest_bits = fewest_class_bits,
};
