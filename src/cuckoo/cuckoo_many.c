/*
 * Many entries at once.
 *
 * A merge goes through the other table row by row, in short loops over some hundred entries: one gathers what is in the
 * rows, one works out the other bucket of each, one divides them by whether the table holds them, one puts those that
 * it lacks where there is a free slot. Each loop does one thing to entries that do not depend on one another, without a
 * branch on what it finds: lists are written at their end whether the entry counts or not, and the end then moves or
 * stays. So the processor works on many entries, and waits for the memory of many, at a time. One key after the other,
 * it would guess wrong at most of them.
 *
 *     other, rows 5 to 7    | a b . . | c . . . | d e f . |
 *     gathered              (5, a) (5, b) (6, c) (7, d) (7, e) (7, f)
 *     missing here          (5, a) (6, c) (7, e)                held: (5, b) (7, d) (7, f)
 *
 * An entry first goes where the other table has it, if there is a free slot: rows that were filled evenly in both
 * tables have room for most of what is in both. What is left goes to the emptier of its two buckets. What then is left
 * goes to the caller, who displaces entries: 4 % of what is new where the result is 80 % full, 16 % at 95 %.
 *
 * Eight rows that are the same bytes in both tables are left out at once: replicas that were copies of one another keep
 * most of their layout. (Eight, because rows of any width then begin and end with a byte.)
 *
 * Encoders and decoders work in the same way on lists of class keys. The keys of a state come from all over the table,
 * so there an entry goes to the emptier of its buckets at once, and the memory of both is asked for ahead.
 *
 * These loops are for tables whose rows are buckets. Those of a series, which fold and spread, go entry by entry.
 */
#include "cuckoo_many.h"

#include <string.h>

#include "cuckoo_slots.h"

#define CACHED ((size_t)256 << 10)

/* ---- what is missing --------------------------------------------------------------------------------------------- */

/* The entries of some rows. More are written than there are. */
static ALWAYS_INLINE uint32_t gather_rows(const struct cuckoo_table *table, enum form form, uint32_t from, uint32_t to,
                                          cuckoo_entry *entries)
{
    const uint32_t size = form == FOUR_BYTES ? 4 : table->shape.bucket_size;
    const uint32_t bits = form == FOUR_BYTES ? 8 : table->shape.bits;
    const uint64_t mask = form == FOUR_BYTES ? 0xff : slot_mask(table);
    uint32_t found = 0;
    for (uint32_t row = from; row < to; row++) {
        uint64_t slots = load_small_bucket(table, form, row);
        for (uint32_t slot = 0; slot < size; slot++) {
            uint64_t fingerprint = is_small(form) ? slots >> slot * bits & mask : slot_read(table, row, slot * bits);
            entries[found] = (uint64_t)row << 32 | fingerprint;
            found += fingerprint != 0;
        }
    }
    return found;
}

static ALWAYS_INLINE void prefetch_bucket(const struct cuckoo_table *table, uint32_t bucket)
{
    __builtin_prefetch(table->slots.bytes + bucket_start(table, bucket) / 8);
}

/* Divides entries that are at the front of `missing`. Their other buckets are worked out first: their memory is on its
   way when it is looked at. */
static ALWAYS_INLINE void divide(const struct cuckoo_table *table, enum form form, struct compared_entries *entries,
                                 uint32_t count)
{
    const struct cuckoo_geometry geometry = plain_geometry(table, form);
    const bool far = table->slots.size > CACHED;
    uint32_t others[ENTRIES_ROOM], missing = 0, held = 0;
    for (uint32_t i = 0; i < count; i++) {
        others[i] = place_of_entry(entries->missing[i], geometry).other;
        if (far)
            prefetch_bucket(table, others[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        cuckoo_entry entry = entries->missing[i];
        struct place place = {(uint32_t)(entry >> 32), others[i], (uint32_t)entry};
        bool found = find_in_pair(table, form, place);
        entries->missing[missing] = entries->held[held] = entry;
        missing += !found;
        held += found;
    }
    entries->missing_count = missing;
    entries->held_count = held;
}

static bool same_bytes(const struct cuckoo_table *table, const struct cuckoo_table *other, uint32_t row, uint32_t rows)
{
    size_t begin = (size_t)(bucket_start(table, row) / 8);
    return row % ROWS_AT_ONCE == 0 && rows == ROWS_AT_ONCE &&
           memcmp(table->slots.bytes + begin, other->slots.bytes + begin, table->bucket_bits) == 0;
}

static ALWAYS_INLINE void compare_rows(const struct cuckoo_table *table, const struct cuckoo_table *other,
                                       enum form form, uint32_t *row, struct compared_entries *entries, bool all)
{
    uint32_t rows = cuckoo_table_rows(other), found = 0;
    while (found < MOST_ENTRIES && (*row = cuckoo_table_next_row(other, *row)) < rows) {
        uint32_t left = rows - *row, some = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
        if (all || !same_bytes(table, other, *row, some))
            found += gather_rows(other, form, *row, *row + some, entries->missing + found);
        *row += some;
    }
    divide(table, form, entries, found);
}

/* The same where no row means the same in both tables, entry by entry. */
static void compare_other_layout(const struct cuckoo_table *table, const struct cuckoo_table *other, uint32_t *row,
                                 struct compared_entries *entries)
{
    uint32_t rows = cuckoo_table_rows(other), missing = 0, held = 0;
    for (; missing + held < MOST_ENTRIES && (*row = cuckoo_table_next_row(other, *row)) < rows; ++*row) {
        uint32_t fingerprints[8], count = cuckoo_table_bucket(other, *row, fingerprints);
        for (uint32_t i = 0; i < count; i++) {
            struct place place = cuckoo_table_place(other, *row, fingerprints[i]);
            bool found = cuckoo_table_contains(table, &place);
            entries->missing[missing] = entries->held[held] = entry_at(place.bucket, place.fingerprint);
            missing += !found;
            held += found;
        }
    }
    entries->missing_count = missing;
    entries->held_count = held;
}

/* What the slots lack may be in the stash. */
static void divide_by_stash(const struct cuckoo_table *table, struct compared_entries *entries)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < entries->missing_count; i++) {
        cuckoo_entry entry = entries->missing[i];
        bool found = stash_contains(&table->stash, class_key(place_of_entry(entry, table->geometry), table->geometry));
        entries->missing[missing] = entries->held[entries->held_count] = entry;
        missing += !found;
        entries->held_count += found;
    }
    entries->missing_count = missing;
}

void cuckoo_table_compare(const struct cuckoo_table *table, const struct cuckoo_table *other, uint32_t *row,
                          struct compared_entries *entries, bool all)
{
    if (table->plain_form == OTHER_FORM || other->plain_form == OTHER_FORM) {
        compare_other_layout(table, other, row, entries);
        return;
    }
    if (table->form == FOUR_BYTES)
        compare_rows(table, other, FOUR_BYTES, row, entries, all);
    else if (table->form == ONE_WORD)
        compare_rows(table, other, ONE_WORD, row, entries, all);
    else
        compare_rows(table, other, (enum form)table->form, row, entries, all);
    if (table->stash.count > 0)
        divide_by_stash(table, entries);
}

/* ---- placing ----------------------------------------------------------------------------------------------------- */

/* Constants of buckets of one word, out of reach of what is stored in the slots. */
struct lanes {
    uint64_t ones, tops;
    uint32_t bits, bucket_bits;
};

/* A free slot of a bucket, if there is one; else what is written is what was there. */
static ALWAYS_INLINE bool take_slot_of_four(struct cuckoo_table *table, struct four_bytes four, uint32_t fingerprint)
{
    bool full = four.slots >> 24 != 0; /* buckets fill from the front */
    append_byte(table, four, full ? 0 : fingerprint);
    return !full;
}

static ALWAYS_INLINE bool take_slot_of_word(struct cuckoo_table *table, const struct lanes *lanes, uint32_t bucket,
                                            uint32_t fingerprint)
{
    uint64_t bit = (uint64_t)bucket * lanes->bucket_bits;
    uint8_t *bytes = table->slots.bytes + bit / 8;
    uint64_t slots = load_word(bytes), free = match_lanes(slots >> (bit & 7), 0, lanes->ones, lanes->tops);
    unsigned offset = lowest_bit(free | UINT64_C(1) << 63) - (lanes->bits - 1);
    store_word(bytes, slots | (free ? (uint64_t)fingerprint : 0) << offset << (bit & 7));
    touch(table, bit / 8);
    return free != 0;
}

static ALWAYS_INLINE bool take_slot_of_bucket(struct cuckoo_table *table, enum form form, const struct lanes *lanes,
                                              uint32_t bucket, uint32_t fingerprint)
{
    if (form == FOUR_BYTES)
        return take_slot_of_four(table, (struct four_bytes){bucket, load_four_bytes(table, bucket)}, fingerprint);
    if (form == ONE_WORD)
        return take_slot_of_word(table, lanes, bucket, fingerprint);
    int offset = find_slot(table, form, bucket, 0);
    if (offset != NO_SLOT)
        slot_write(table, bucket, (uint32_t)offset, fingerprint);
    return offset != NO_SLOT;
}

/*
 * Into the bucket that the entry names. Entries that follow one another are of one row or of the next, whose bytes
 * overlap: to load what was stored just now in other words costs a dozen cycles. So they are taken from sixteen places
 * in turn.
 */
#define TURNS 16
static ALWAYS_INLINE uint32_t fill_first_bucket(struct cuckoo_table *table, enum form form, cuckoo_entry *entries,
                                                uint32_t count)
{
    const struct lanes lanes = {table->ones, table->tops, table->shape.bits, table->bucket_bits};
    const uint32_t apart = (count + TURNS - 1) / TURNS;
    cuckoo_entry rest[ENTRIES_ROOM];
    uint32_t left = 0;
    for (uint32_t first = 0; first < apart; first++)
        for (uint32_t i = first; i < count; i += apart) {
            rest[left] = entries[i];
            left += !take_slot_of_bucket(table, form, &lanes, (uint32_t)(entries[i] >> 32), (uint32_t)entries[i]);
        }
    memcpy(entries, rest, left * sizeof *rest);
    table->filled += count - left;
    return left;
}

static ALWAYS_INLINE bool take_slot_of_pair(struct cuckoo_table *table, enum form form, struct place place)
{
    if (form == FOUR_BYTES)
        return take_slot_of_four(table, emptier_four_bytes(table, place.bucket, place.other), place.fingerprint);
    return take_free_slot(table, form, place, place.fingerprint);
}

static ALWAYS_INLINE uint32_t fill_emptier_bucket(struct cuckoo_table *table, enum form form, cuckoo_entry *entries,
                                                  uint32_t count)
{
    const struct cuckoo_geometry geometry = plain_geometry(table, form);
    const uint64_t filled = table->filled;
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        cuckoo_entry entry = entries[i];
        entries[left] = entry;
        left += !take_slot_of_pair(table, form, place_of_entry(entry, geometry));
    }
    table->filled = filled + count - left;
    return left;
}

uint32_t cuckoo_table_fill(struct cuckoo_table *table, cuckoo_entry *entries, uint32_t count)
{
    uint32_t left = count;
    if (table->plain_form == FOUR_BYTES) {
        left = fill_first_bucket(table, FOUR_BYTES, entries, count);
        left = fill_emptier_bucket(table, FOUR_BYTES, entries, left);
    } else if (table->plain_form == ONE_WORD) {
        left = fill_first_bucket(table, ONE_WORD, entries, count);
        left = fill_emptier_bucket(table, ONE_WORD, entries, left);
    } else if (table->plain_form != OTHER_FORM) {
        left = fill_emptier_bucket(table, (enum form)table->form, entries, count);
    }
    return left;
}

/* ---- lists of keys ----------------------------------------------------------------------------------------------- */

/* Of any table, and any bytes. */
static bool keys_of_any_gaps(uint64_t *numbers, struct key_places *places, uint32_t count, uint64_t *next,
                             struct cuckoo_geometry geometry)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t gap = numbers[i], key = *next + gap;
        if (key < gap || !is_class_key(key, geometry))
            return false;
        struct place place = place_of_class(key, geometry);
        places->entries[i] = entry_at(place.bucket, place.fingerprint);
        places->others[i] = place.other;
        numbers[i] = key;
        *next = key + 1;
    }
    return true;
}

/* Gaps that are smaller add up, as many as come at once. */
#define USUAL_GAP (UINT64_C(1) << 48)

/* The largest key of the list, or UINT64_MAX if gaps are unusual. */
static uint64_t last_key_of(const uint64_t *gaps, uint32_t count, uint64_t next)
{
    uint64_t all = 0, sum = next + count - 1;
    for (uint32_t i = 0; i < count; i++) {
        all |= gaps[i];
        sum += gaps[i];
    }
    return all < USUAL_GAP && next < USUAL_GAP ? sum : UINT64_MAX;
}

/* Of a table outside a series, where all keys are so small that they name a pair by its smaller name. */
static bool plain_keys_of_gaps(uint64_t *numbers, struct key_places *places, uint32_t count, uint64_t *next,
                               uint32_t buckets, uint32_t bits)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1, n = buckets;
    uint64_t key = *next - 1, free_slots = 0;
    for (uint32_t i = 0; i < count; i++) {
        key += numbers[i] + 1;
        uint64_t fingerprint = key & mask, sum = pair_sum((uint32_t)fingerprint, buckets);
        uint64_t bucket = (key >> bits) + (sum + 1) / 2;
        bucket -= bucket < n ? 0 : n;
        free_slots |= fingerprint - 1; /* negative for 0 */
        numbers[i] = key;
        places->entries[i] = bucket << 32 | fingerprint;
        places->others[i] = (uint32_t)(sum - bucket + (sum < bucket ? n : 0));
    }
    *next = key + 1;
    return free_slots >> 63 == 0;
}

bool cuckoo_keys_of_gaps(uint64_t *numbers, struct key_places *places, uint32_t count, uint64_t *next,
                         struct cuckoo_geometry geometry)
{
    const uint64_t last = last_key_of(numbers, count, *next) >> geometry.bits;
    if ((geometry.level | geometry.extra_bits) || last >= geometry.buckets / 2)
        return keys_of_any_gaps(numbers, places, count, next, geometry);
    return plain_keys_of_gaps(numbers, places, count, next, geometry.buckets, geometry.bits);
}

/* Entries become their keys. */
static ALWAYS_INLINE void plain_keys(uint64_t *entries, uint32_t count, uint32_t buckets, uint32_t bits)
{
    for (uint32_t i = 0; i < count; i++)
        entries[i] = plain_class_key((uint32_t)(entries[i] >> 32), (uint32_t)entries[i], buckets, bits);
}

/* Keys that are in the range, to the front. */
static uint32_t keep_in_range(uint64_t *keys, uint32_t count, struct key_range range)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = keys[i];
        keys[kept] = key;
        kept += key - range.first < range.count;
    }
    return kept;
}

static ALWAYS_INLINE uint32_t list_plainly(const struct cuckoo_table *table, enum form form, uint32_t from, uint32_t to,
                                           struct key_range range, uint64_t *keys)
{
    uint32_t found = gather_rows(table, form, from, to, keys);
    plain_keys(keys, found, table->geometry.buckets, form == FOUR_BYTES ? 8 : table->geometry.bits);
    return keep_in_range(keys, found, range);
}

static uint32_t list_small(const struct cuckoo_table *table, uint32_t from, uint32_t to, struct key_range range,
                           uint64_t *keys)
{
    if (table->plain_form == FOUR_BYTES)
        return list_plainly(table, FOUR_BYTES, from, to, range, keys);
    return list_plainly(table, ONE_WORD, from, to, range, keys);
}

const struct key_kernel key_kernel_plain = {{"plain", usable_everywhere}, 8, list_small};

static bool is_for_kernels(const struct cuckoo_table *table)
{
    return table->shape.bucket_size == 4 && is_small((enum form)table->plain_form);
}

static uint32_t keys_of_other_layout(const struct cuckoo_table *table, uint32_t *row, uint64_t *keys)
{
    uint32_t rows = cuckoo_table_rows(table), found = 0;
    for (; found < MOST_ENTRIES && (*row = cuckoo_table_next_row(table, *row)) < rows; ++*row) {
        uint32_t fingerprints[8], count = cuckoo_table_bucket(table, *row, fingerprints);
        for (uint32_t i = 0; i < count; i++)
            keys[found++] = class_key(cuckoo_table_place(table, *row, fingerprints[i]), table->geometry);
    }
    return found;
}

uint32_t cuckoo_table_keys_in(const struct cuckoo_table *table, uint32_t *row, struct key_range range, uint64_t *keys)
{
    const struct key_kernel *kernel = is_for_kernels(table) ? key_kernel_in_use() : NULL;
    const uint32_t rows = cuckoo_table_rows(table), at_once = ROWS_AT_ONCE * 8 / table->shape.bucket_size;
    uint32_t found = 0;
    if (table->plain_form == OTHER_FORM)
        return keep_in_range(keys, keys_of_other_layout(table, row, keys), range);
    while (found < MOST_ENTRIES && (*row = cuckoo_table_next_row(table, *row)) < rows) {
        const uint32_t to = rows - *row < at_once ? rows : *row + at_once;
        found += kernel ? kernel->list(table, *row, to, range, keys + found)
                        : list_plainly(table, (enum form)table->form, *row, to, range, keys + found);
        *row = to;
    }
    return found;
}

/* So many entries ahead, memory is asked for: all at once would not fit the first cache. */
#define AHEAD 32

static ALWAYS_INLINE void prefetch_pair(const struct cuckoo_table *table, const struct key_places *places, uint32_t i)
{
    prefetch_bucket(table, (uint32_t)(places->entries[i] >> 32));
    prefetch_bucket(table, places->others[i]);
}

static ALWAYS_INLINE uint32_t fill_evenly(struct cuckoo_table *table, enum form form, struct key_places *places,
                                          uint32_t count)
{
    const uint64_t filled = table->filled;
    uint32_t left = 0;
    for (uint32_t i = 0; i < AHEAD && i < count; i++)
        prefetch_pair(table, places, i);
    for (uint32_t i = 0; i < count; i++) {
        cuckoo_entry entry = places->entries[i];
        struct place place = {(uint32_t)(entry >> 32), places->others[i], (uint32_t)entry};
        if (i + AHEAD < count)
            prefetch_pair(table, places, i + AHEAD);
        places->entries[left] = entry;
        left += !take_slot_of_pair(table, form, place);
    }
    table->filled = filled + count - left;
    return left;
}

/* A function for each of the common forms, so that the compiler finds registers for each alone. */
static __attribute__((noinline)) uint32_t fill_four_bytes(struct cuckoo_table *table, struct key_places *places,
                                                          uint32_t count)
{
    return fill_evenly(table, FOUR_BYTES, places, count);
}

static __attribute__((noinline)) uint32_t fill_one_word(struct cuckoo_table *table, struct key_places *places,
                                                        uint32_t count)
{
    return fill_evenly(table, ONE_WORD, places, count);
}

uint32_t cuckoo_table_fill_evenly(struct cuckoo_table *table, struct key_places *places, uint32_t count)
{
    if (table->plain_form == FOUR_BYTES)
        return fill_four_bytes(table, places, count);
    if (table->plain_form == ONE_WORD)
        return fill_one_word(table, places, count);
    return table->plain_form == OTHER_FORM ? count : fill_evenly(table, (enum form)table->form, places, count);
}

/* ---- tables with tags -------------------------------------------------------------------------------------------- */

bool cuckoo_table_lists_words(const struct cuckoo_table *table)
{
    return table->plain_form == FOUR_TAGGED;
}

bool cuckoo_tables_are_alike(const struct cuckoo_table *table, const struct cuckoo_table *other)
{
    return cuckoo_table_lists_words(table) && cuckoo_table_lists_words(other);
}

static ALWAYS_INLINE const uint8_t *four_tagged(const struct cuckoo_table *table, uint32_t row)
{
    return table->slots.bytes + (size_t)row * 32;
}

uint32_t cuckoo_table_next_words(const struct cuckoo_table *table, uint32_t *next, uint64_t *words, uint32_t *rows,
                                 uint32_t room)
{
    const uint32_t all = cuckoo_table_rows(table);
    uint32_t count = 0, row = *next;
    while (count + ROWS_AT_ONCE * 4 <= room && (row = cuckoo_table_next_row(table, row)) < all) {
        const uint32_t end = all - row < ROWS_AT_ONCE ? all : row + ROWS_AT_ONCE;
        for (; row < end; row++)
            for (uint32_t slot = 0; slot < 4; slot++) {
                uint64_t word = load_word(four_tagged(table, row) + slot * 8);
                words[count] = word;
                rows[count] = row;
                count += word != 0;
            }
    }
    *next = row;
    return count;
}

static ALWAYS_INLINE bool is_one_of_four(uint64_t word, const uint8_t *four)
{
    bool found = false;
    for (uint32_t slot = 0; slot < 4; slot++)
        found |= load_word(four + slot * 8) == word;
    return found;
}

static ALWAYS_INLINE uint64_t translated(uint64_t word, const struct tag_translation *translation)
{
    return word + translation->added[word >> translation->shift];
}

/* Words, translated, with the slots that they are in. */
struct word_list {
    uint64_t words[ENTRIES_ROOM];
    cuckoo_entry slots[ENTRIES_ROOM]; /* the row above the slot */
    uint32_t others[ENTRIES_ROOM];    /* other rows */
    uint32_t count;
};

/* Those that are not in the same row over there. */
static void gather_words(const struct cuckoo_table *table, const struct cuckoo_table *other, uint32_t from, uint32_t to,
                         const struct tag_translation *translation, struct word_list *list)
{
    uint32_t count = list->count;
    for (uint32_t row = from; row < to; row++) {
        const uint8_t *mine = four_tagged(table, row), *theirs = four_tagged(other, row);
        for (uint32_t slot = 0; slot < 4; slot++) {
            uint64_t word = load_word(mine + slot * 8), there = translated(word, translation);
            list->words[count] = there;
            list->slots[count] = entry_at(row, slot);
            count += (word != 0) & !is_one_of_four(there, theirs);
        }
    }
    list->count = count;
}

/* Of those the ones that are not in the other row either. */
static uint32_t keep_differing(const struct cuckoo_table *table, const struct cuckoo_table *other,
                               struct word_list *list, struct slot_match *slots)
{
    const uint32_t buckets = table->geometry.buckets;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t sum = pair_sum(word_fingerprint(list->words[i], table->shape), buckets);
        list->others[i] = subtract_modulo(sum, (uint32_t)(list->slots[i] >> 32), buckets);
        __builtin_prefetch(four_tagged(other, list->others[i]));
    }
    for (uint32_t i = 0; i < list->count; i++) {
        list->slots[kept] = list->slots[i];
        kept += !is_one_of_four(list->words[i], four_tagged(other, list->others[i]));
    }
    for (uint32_t i = 0; i < kept; i++) {
        uint32_t row = (uint32_t)(list->slots[i] >> 32), slot = (uint32_t)list->slots[i];
        uint64_t word = load_word(four_tagged(table, row) + slot * 8);
        slots[i] = (struct slot_match){row, slot * 64, word_tag(word, table->shape)};
    }
    return kept;
}

uint32_t cuckoo_table_differing(const struct cuckoo_table *table, const struct cuckoo_table *other, uint32_t *row,
                                uint32_t end, const struct tag_translation *translation, struct slot_match *slots)
{
    struct word_list list;
    uint32_t found = 0;
    end = end < cuckoo_table_rows(table) ? end : cuckoo_table_rows(table);
    while (found == 0 && *row < end) {
        list.count = 0;
        while (list.count < MOST_ENTRIES && (*row = cuckoo_table_next_row(table, *row)) < end) {
            uint32_t some = end - *row < ROWS_AT_ONCE ? end - *row : ROWS_AT_ONCE;
            if (!translation->is_identity || !same_bytes(table, other, *row, some))
                gather_words(table, other, *row, *row + some, translation, &list);
            *row += some;
        }
        found = keep_differing(table, other, &list, slots);
    }
    return found;
}
