/*
 * The class keys of a table in order.
 *
 * A walk through the table meets keys from all over the key space. They are dealt out to equal parts of that space, of
 * about a thousand keys each, and each part is sorted by itself, in the first cache, and written. That is one pass
 * through memory, whatever the order of the table.
 *
 * Which part a key is in says its upper bits, so only the lower ones are kept, in as many bytes as these need: two for
 * fingerprints of eight or ten bits. How many keys a part gets is known when the last one has come, and to count them
 * first would cost a walk more. So each part is a chain of blocks:
 *
 *     part 0    | - a b c d |            the first word of a block is the block before it
 *     part 1    | - e f g h |<--| * i |
 *     blocks    | - a b c d | - e f g h | * i . . . | ...          in the order in which they were needed
 *
 * All keys of a large table would still take more memory than the table. They are gathered slice by slice of the key
 * space, some parts at a time, and the table is walked again for each. Keys are evenly spread unless someone chose
 * them. A slice that has more than its share, and more than there are blocks for, is tried again with half of its
 * parts.
 */
#include "class_keys.h"

#include "cuckoo_many.h"
#include "../base/sort.h"

#define KEYS_WORTH_PASSING_ON ((uint64_t)1 << 19)
#define KEYS_WORTH_SLICING    ((uint64_t)1 << 20)
/* Keys of a part: between half as many and as many as this, on average; and bits of a key in it. */
#define PART_KEYS_BITS 11
#define MOST_PART_BITS 56

#define BLOCK_BYTES ((size_t)256)
#define LINK_BYTES  ((size_t)8)
#define NO_BLOCK    UINT64_MAX

uint64_t class_keys_at_once = (uint64_t)1 << 24;

void class_keys_list(const struct cuckoo_table *table, uint64_t *keys)
{
    for (uint32_t row = 0; row < cuckoo_table_rows(table);)
        keys += cuckoo_table_keys(table, &row, keys);
    for (uint64_t i = 0; i < table->stash.used; i++)
        *keys++ = table->stash.nodes[i].key;
}

void class_keys_write(struct class_key_coder *coder, const uint64_t *keys, uint64_t count)
{
    for (uint64_t done = 0, some; done < count; done += some) {
        uint64_t gaps[MOST_ENTRIES], next = coder->next;
        some = count - done < MOST_ENTRIES ? count - done : MOST_ENTRIES;
        for (uint64_t i = 0; i < some; i++) {
            gaps[i] = keys[done + i] - next;
            next = keys[done + i] + 1;
        }
        coder->next = next;
        write_rice_list(coder->writer, gaps, some, coder->parameter);
    }
}

/* ---- parts of the key space -------------------------------------------------------------------------------------- */

/* The keys of the parts from `first` on. Addresses in the blocks count from their beginning, in bytes. */
struct slice {
    unsigned shift; /* of a key, to its part */
    unsigned width; /* bytes of a key in a block */
    uint64_t first, count;
    size_t *ends; /* of each part, and of one more, which takes the keys of other slices and never moves */
    uint8_t *blocks;
    size_t used, room; /* blocks */
};

/* The last key of a block is stored as a whole word too. */
static inline bool is_full_block(size_t end)
{
    return (end - 1) % BLOCK_BYTES > BLOCK_BYTES - sizeof(uint64_t) - 1;
}

static inline size_t keys_of_block(unsigned width)
{
    return (BLOCK_BYTES - LINK_BYTES - sizeof(uint64_t)) / width + 1;
}

static bool add_block(struct slice *slice, uint64_t part, uint64_t before)
{
    if (slice->used == slice->room)
        return false;
    size_t block = slice->used++ * BLOCK_BYTES;
    store_word(slice->blocks + block, before);
    slice->ends[part] = block + LINK_BYTES;
    return true;
}

/* Without a branch on the part, which nothing foretells. False if there are not enough blocks. */
static bool deal_out(struct slice *slice, const uint64_t *keys, uint64_t count)
{
    const uint64_t first = slice->first, parts = slice->count;
    const unsigned shift = slice->shift, width = slice->width;
    size_t *ends = slice->ends;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t part = (keys[i] >> shift) - first;
        bool here = part < parts;
        part = here ? part : parts;
        size_t end = ends[part];
        store_word(slice->blocks + end, keys[i]);
        ends[part] = end += here ? width : 0;
        if (__builtin_expect(is_full_block(end), 0) && !add_block(slice, part, (end - 1) / BLOCK_BYTES * BLOCK_BYTES))
            return false;
    }
    return true;
}

static bool gather(struct slice *slice, const struct cuckoo_table *table)
{
    const struct key_range range = {slice->first << slice->shift, slice->count << slice->shift};
    uint64_t keys[ENTRIES_ROOM];
    slice->used = 0;
    for (uint64_t part = 0; part <= slice->count; part++)
        if (!add_block(slice, part, NO_BLOCK))
            return false;
    for (uint32_t row = 0; row < cuckoo_table_rows(table);) {
        uint32_t count = cuckoo_table_keys_in(table, &row, range, keys);
        if (!deal_out(slice, keys, count))
            return false;
    }
    for (uint64_t i = 0; i < table->stash.used; i++)
        if (!deal_out(slice, &table->stash.nodes[i].key, 1))
            return false;
    return true;
}

static uint64_t keys_of_part(const struct slice *slice, uint64_t part)
{
    size_t end = slice->ends[part], block = end / BLOCK_BYTES * BLOCK_BYTES;
    uint64_t count = (end - block - LINK_BYTES) / slice->width, before = load_word(slice->blocks + block);
    for (; before != NO_BLOCK; before = load_word(slice->blocks + before))
        count += keys_of_block(slice->width);
    return count;
}

static void list_part(const struct slice *slice, uint64_t part, uint64_t *keys)
{
    const uint64_t base = (slice->first + part) << slice->shift, mask = (UINT64_C(1) << slice->shift) - 1;
    size_t block = slice->ends[part] / BLOCK_BYTES * BLOCK_BYTES;
    size_t count = (slice->ends[part] - block - LINK_BYTES) / slice->width;
    for (uint64_t next = block; next != NO_BLOCK; count = keys_of_block(slice->width)) {
        const uint8_t *bytes = slice->blocks + next + LINK_BYTES;
        for (size_t i = 0; i < count; i++)
            keys[i] = base | (load_word(bytes + i * slice->width) & mask);
        keys += count;
        next = load_word(bytes - LINK_BYTES);
    }
}

/* One key more than there are is written when they are sorted. */
static bool write_parts(const struct slice *slice, struct class_key_coder *coder)
{
    const roost_allocator *allocator = &coder->writer->buffer.allocator;
    uint64_t most = 0;
    for (uint64_t part = 0; part < slice->count; part++) {
        uint64_t count = keys_of_part(slice, part);
        most = count > most ? count : most;
    }
    uint64_t *keys = memory_allocate(allocator, 2 * (most + 1) * sizeof *keys);
    for (uint64_t part = 0; part < slice->count && keys; part++) {
        uint64_t count = keys_of_part(slice, part);
        list_part(slice, part, keys);
        sort_distinct_numbers(keys, keys + most + 1, count, slice->shift);
        class_keys_write(coder, keys, count);
        bit_writer_pass_on(coder->writer);
    }
    memory_release(allocator, keys);
    return keys != NULL;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool slice_resize(struct slice *slice, size_t room, const roost_allocator *allocator)
{
    memory_release(allocator, slice->blocks);
    slice->blocks = memory_allocate(allocator, room * BLOCK_BYTES);
    slice->room = room;
    return slice->blocks != NULL;
}

/* The next parts, as many as fit the blocks, or one. */
static bool gather_some(struct slice *slice, const struct cuckoo_table *table, const roost_allocator *allocator)
{
    while (!gather(slice, table))
        if (slice->count > 1)
            slice->count /= 2;
        else if (!slice_resize(slice, slice->room * 2, allocator))
            return false;
    return true;
}

static bool write_slices(const struct cuckoo_table *table, struct class_key_coder *coder, struct slice *slice,
                         uint64_t parts)
{
    const uint64_t usual = slice->count;
    bool written = true;
    for (; slice->first < parts && written; slice->first += slice->count) {
        slice->count = parts - slice->first < usual ? parts - slice->first : usual;
        written = gather_some(slice, table, &coder->writer->buffer.allocator) && write_parts(slice, coder);
    }
    return written;
}

static uint64_t keys_at_once(uint64_t entries)
{
    const uint64_t share = entries / key_kernel_in_use()->most_slices;
    uint64_t some = share > KEYS_WORTH_SLICING ? share : KEYS_WORTH_SLICING;
    return some < class_keys_at_once ? some : class_keys_at_once;
}

bool class_keys_are_passed_on(const struct cuckoo_table *table)
{
    const uint64_t least = KEYS_WORTH_PASSING_ON < class_keys_at_once ? KEYS_WORTH_PASSING_ON : class_keys_at_once;
    return cuckoo_table_entries(table) > least;
}

/* Blocks for what a slice has if keys are evenly spread, and for some more. What is not needed is not touched. */
static uint64_t blocks_for(const struct slice *slice, uint64_t entries, uint64_t parts)
{
    uint64_t keys = slice->count == parts ? entries : divide_up(entries, parts) * slice->count * 9 / 8;
    return slice->count + 1 + keys / keys_of_block(slice->width);
}

bool class_keys_write_all(const struct cuckoo_table *table, struct class_key_coder *coder)
{
    const roost_allocator *allocator = &coder->writer->buffer.allocator;
    const uint64_t entries = cuckoo_table_entries(table), universe = class_universe(table->geometry);
    if (entries == 0)
        return true;
    struct slice slice = {.shift = highest_bit(universe / entries + 1) + PART_KEYS_BITS};
    slice.shift = slice.shift < MOST_PART_BITS ? slice.shift : MOST_PART_BITS;
    const uint64_t parts = ((universe - 1) >> slice.shift) + 1;
    slice.width = (slice.shift + 7) / 8;
    slice.count = divide_up(parts, divide_up(entries, keys_at_once(entries)));
    slice.ends = memory_allocate(allocator, (slice.count + 1) * sizeof *slice.ends);
    bool written = slice.ends && slice_resize(&slice, blocks_for(&slice, entries, parts), allocator) &&
                   write_slices(table, coder, &slice, parts);
    memory_release(allocator, slice.blocks);
    memory_release(allocator, slice.ends);
    return written;
}
