/*
 * The class keys of a table in order.
 *
 * Class keys of a large table are gathered and sorted slice by slice of the key space, so that an encoding takes little
 * memory beside the table: as numbers, all keys would take eight times as much as their frame. A histogram over equal
 * parts of the key space shows where to cut, and where in the slice the keys of each part belong. So the keys are dealt
 * out to their parts as they are gathered, and each part, some thousand keys, is sorted by itself. Of the bits of a key,
 * which of 4,096 parts it is in says the first twelve; the slice has the others, which are 32 at most unless
 * fingerprints are long.
 */
#include "class_keys.h"

#include "cuckoo_many.h"
#include "../base/sort.h"

#define HISTOGRAM_BITS     12
#define PARTS              (1u << HISTOGRAM_BITS)
#define KEYS_WORTH_SLICING ((uint64_t)1 << 19)
#define MOST_SLICES        8

uint64_t class_keys_at_once = (uint64_t)1 << 24;

struct slices {
    const struct cuckoo_table *table;
    unsigned shift; /* of a key, to its part of the histogram */
    uint64_t histogram[PARTS];
    uint64_t ends[PARTS + 1]; /* of each part in the slice; the last one is for keys of other slices */
};

typedef void key_visitor(void *context, uint64_t key);

/* Inlined, so that the visitor is too: a call for each of millions of keys would cost more than its work. */
static inline __attribute__((always_inline)) void visit_keys(const struct cuckoo_table *table, key_visitor *visit,
                                                             void *context)
{
    uint64_t keys[ENTRIES_ROOM];
    for (uint32_t row = 0; row < cuckoo_table_rows(table);) {
        uint32_t count = cuckoo_table_keys(table, &row, keys);
        for (uint32_t i = 0; i < count; i++)
            visit(context, keys[i]);
    }
    for (uint64_t i = 0; i < table->stash.used; i++)
        visit(context, table->stash.nodes[i].key);
}

void class_keys_list(const struct cuckoo_table *table, uint64_t *keys)
{
    for (uint32_t row = 0; row < cuckoo_table_rows(table);)
        keys += cuckoo_table_keys(table, &row, keys);
    for (uint64_t i = 0; i < table->stash.used; i++)
        *keys++ = table->stash.nodes[i].key;
}

static void count_key(void *context, uint64_t key)
{
    struct slices *slices = context;
    slices->histogram[key >> slices->shift]++;
}

/* The keys of the parts `first` to `first` + `count` - 1, as halves or as whole words. */
struct gather {
    struct slices *slices;
    uint32_t *halves;
    uint64_t *words; /* NULL: halves */
    uint64_t first, count;
};

/* Without a branch on the part, which nothing foretells. */
static void gather_key(void *context, uint64_t key)
{
    struct gather *gather = context;
    uint64_t part = (key >> gather->slices->shift) - gather->first;
    bool here = part < gather->count;
    uint64_t *end = &gather->slices->ends[here ? part : PARTS];
    if (gather->words)
        gather->words[*end] = key;
    else
        gather->halves[*end] = (uint32_t)key;
    *end += here;
}

static unsigned universe_bits(const struct cuckoo_table *table)
{
    return class_key_bits(table->geometry);
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

/* All keys of a table that is not large. */
static bool write_whole(const struct cuckoo_table *table, struct class_key_coder *coder)
{
    const roost_allocator *allocator = &coder->writer->buffer.allocator;
    const uint64_t count = cuckoo_table_entries(table);
    uint64_t *keys = memory_allocate(allocator, 2 * (count + ENTRIES_ROOM) * sizeof *keys);
    if (!keys)
        return false;
    class_keys_list(table, keys);
    sort_distinct_numbers(keys, keys + count + ENTRIES_ROOM, count, universe_bits(table));
    class_keys_write(coder, keys, count);
    memory_release(allocator, keys);
    return true;
}

/* Some parts of the histogram, which hold `count` keys, the fullest of them `most`. */
struct slice {
    uint32_t first, parts;
    uint64_t count, most;
};

static void gather_slice(const struct gather *gather, uint64_t count)
{
    struct slices *slices = gather->slices;
    struct gather copy = *gather;
    uint64_t begin = 0;
    for (uint64_t i = 0; i < gather->count; i++) {
        slices->ends[i] = begin;
        begin += slices->histogram[gather->first + i];
    }
    slices->ends[PARTS] = count;
    visit_keys(slices->table, gather_key, &copy);
}

/* The keys of a part, from `begin` on. */
static void list_part(const struct gather *gather, uint64_t part, uint64_t *keys, uint64_t begin, uint64_t count)
{
    const unsigned shift = gather->slices->shift;
    const uint64_t base = (gather->first + part) << shift, mask = (UINT64_C(1) << shift) - 1;
    for (uint64_t i = 0; i < count; i++)
        keys[i] = base | ((gather->words ? gather->words[begin + i] : gather->halves[begin + i]) & mask);
}

/* One key more than there are is written to the slice, and to its part when that is sorted. */
static bool write_slice(struct slices *slices, struct class_key_coder *coder, const struct slice *slice)
{
    const roost_allocator *allocator = &coder->writer->buffer.allocator;
    const bool wide = slices->shift > 32;
    uint64_t room = slice->count + 1, *part = memory_allocate(allocator, 2 * (slice->most + 1) * sizeof *part);
    void *gathered = memory_allocate(allocator, room * (wide ? sizeof(uint64_t) : sizeof(uint32_t)));
    const struct gather gather = {slices, gathered, wide ? gathered : NULL, slice->first, slice->parts};
    if (part && gathered)
        gather_slice(&gather, slice->count);
    for (uint64_t i = 0, begin = 0; part && gathered && i < slice->parts; begin = slices->ends[i++]) {
        uint64_t count = slices->ends[i] - begin;
        list_part(&gather, i, part, begin, count);
        sort_distinct_numbers(part, part + slice->most + 1, count, slices->shift);
        class_keys_write(coder, part, count);
        bit_writer_pass_on(coder->writer);
    }
    memory_release(allocator, gathered);
    memory_release(allocator, part);
    return part && gathered;
}

static struct slice next_slice(const struct slices *slices, uint32_t first, uint64_t most)
{
    struct slice slice = {first, 0, 0, 0};
    do {
        uint64_t count = slices->histogram[first + slice.parts++];
        slice.count += count;
        slice.most = count > slice.most ? count : slice.most;
    } while (first + slice.parts < PARTS && slice.count + slices->histogram[first + slice.parts] <= most);
    return slice;
}

/* Reading the table once more for each slice takes an eighth of the time of an encoding. */
static uint64_t keys_at_once(uint64_t entries)
{
    uint64_t some = entries / MOST_SLICES > KEYS_WORTH_SLICING ? entries / MOST_SLICES : KEYS_WORTH_SLICING;
    return some < class_keys_at_once ? some : class_keys_at_once;
}

static bool write_sliced(const struct cuckoo_table *table, struct class_key_coder *coder, uint64_t most)
{
    const roost_allocator *allocator = &coder->writer->buffer.allocator;
    struct slices *slices = memory_allocate(allocator, sizeof *slices);
    bool written = slices != NULL;
    if (!slices)
        return false;
    slices->table = table;
    slices->shift = universe_bits(table) > HISTOGRAM_BITS ? universe_bits(table) - HISTOGRAM_BITS : 0;
    visit_keys(table, count_key, slices);
    for (uint32_t first = 0; first < PARTS && written;) {
        struct slice slice = next_slice(slices, first, most);
        written = write_slice(slices, coder, &slice);
        first += slice.parts;
    }
    memory_release(allocator, slices);
    return written;
}

bool class_keys_are_sliced(const struct cuckoo_table *table)
{
    uint64_t entries = cuckoo_table_entries(table);
    return entries > keys_at_once(entries);
}

bool class_keys_write_all(const struct cuckoo_table *table, struct class_key_coder *coder)
{
    uint64_t entries = cuckoo_table_entries(table), most = keys_at_once(entries);
    return entries <= most ? write_whole(table, coder) : write_sliced(table, coder, most);
}
