/*
 * Two files on one machine need no messages. Their lines are dealt out by the first bits of their hashes into parts
 * that fit the cache; then each part is compared by itself, with a table of the different lines in it, by any thread.
 *
 *     file A   line 0, line 1, ...  ->  hash, number  ->  part 0 | part 1 | part 2 | ...
 *     file B   line 0, line 1, ...  ->  hash, number  ->  part 0 | part 1 | part 2 | ...
 *                                                         table    table    table
 *
 * A part is a list of chunks of a fixed size, so that nothing is copied when it grows. A line takes 16 bytes: 96 bits
 * of its hash (in large files the part says up to 12 more) and its number. The hash has a key that is random for each
 * run: nobody can prepare lines that collide, and by chance one pair of lines does in 10^13 runs with 10^8 lines.
 */
#define _GNU_SOURCE
#include "line_comparison.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/base/interrupt.h"
#include "cli/base/messages.h"
#include "cli/base/progress.h"

#define CHUNK_ENTRIES  127 /* a chunk is two kilobytes */
#define MOST_LINES     UINT32_MAX
#define BYTES_A_PART   ((uint64_t)64 << 10)
#define MOST_PART_BITS 12
#define SLAB           ((size_t)2 << 20) /* a huge page: to touch it for the first time costs as much as a small one */
#define FIRST_FOUND    64

struct entry {
    uint64_t low;
    uint32_t high;
    uint32_t number; /* of the line */
};

struct chunk {
    struct chunk *before;
    struct entry entries[CHUNK_ENTRIES];
};

/* The lines of one file with the same first bits: the last chunk, and how many lines there are in all. */
struct part {
    struct chunk *last;
    uint64_t count;
};

enum { A, B, SIDES };

struct slab {
    struct slab *before;
    struct chunk chunks[];
};

#define CHUNKS_AT_ONCE ((SLAB - sizeof(struct slab)) / sizeof(struct chunk))

/* What was found, by one thread at a time. */
struct found {
    roost_difference *differences;
    size_t count, room;
};

struct comparison {
    struct line_side *sides[SIDES];
    bool multiset;
    unsigned part_bits;
    struct part *parts[SIDES];
    struct slab *slabs;
    size_t chunks_left;         /* of the last slab */
    int loading;                /* which side */
    struct found *found[SIDES]; /* for each part */
    uint64_t *changed;          /* for each part: lines of both, with other counts */
};

/* ---- dealing out ------------------------------------------------------------------------------------------------- */

static size_t part_of(const struct comparison *comparison, roost_hash hash)
{
    return comparison->part_bits ? (size_t)(hash.high >> (64 - comparison->part_bits)) : 0;
}

static struct chunk *new_chunk(struct comparison *comparison)
{
    if (comparison->chunks_left == 0) {
        struct slab *slab = aligned_alloc(SLAB, SLAB);
        if (!slab)
            return NULL;
        (void)madvise(slab, SLAB, MADV_HUGEPAGE);
        slab->before = comparison->slabs;
        comparison->slabs = slab;
        comparison->chunks_left = CHUNKS_AT_ONCE;
    }
    return &comparison->slabs->chunks[--comparison->chunks_left];
}

static bool deal_out(struct comparison *comparison, roost_hash hash, uint64_t number)
{
    struct part *part = &comparison->parts[comparison->loading][part_of(comparison, hash)];
    size_t used = part->count % CHUNK_ENTRIES;
    if (used == 0) {
        struct chunk *chunk = new_chunk(comparison);
        if (!chunk)
            return false;
        chunk->before = part->last;
        part->last = chunk;
    }
    part->last->entries[used] = (struct entry){hash.low, (uint32_t)hash.high, (uint32_t)number};
    part->count++;
    return true;
}

static void hash_lines(void *context, struct line_block *block)
{
    const struct comparison *comparison = context;
    line_block_split(block, '\n');
    for (size_t i = 0; !block->no_memory && i < block->count; i++)
        block->hashes[i] =
            roost_reconcile_hash(comparison->sides[A]->session, block->lines[i].data, block->lines[i].size);
}

static bool deal_out_lines(void *context, struct line_block *block)
{
    struct comparison *comparison = context;
    struct line_side *side = comparison->sides[comparison->loading];
    bool fine = !block->no_memory;
    if (MOST_LINES - side->loaded < block->count)
        return complain(side->file.name, "has too many lines to reconcile");
    for (size_t i = 0; fine && i < block->count; i++)
        fine = deal_out(comparison, block->hashes[i], side->loaded + i);
    side->loaded += block->count;
    progress_count(comparison->sides[A]->loaded + comparison->sides[B]->loaded);
    return fine || complain_of_session(side->file.name, ROOST_NO_MEMORY);
}

static bool load_side(struct comparison *comparison, int which)
{
    struct line_side *side = comparison->sides[which];
    comparison->loading = which;
    side->loaded = 0;
    return line_file_work(&side->file, (struct block_work){.prepare = hash_lines,
                                                           .finish = deal_out_lines,
                                                           .context = comparison,
                                                           .threads = side->threads});
}

/* ---- one part ---------------------------------------------------------------------------------------------------- */

/* A different line: where it stands first, and how often it occurs. */
struct line {
    uint64_t low;
    uint32_t high;
    uint32_t first[SIDES], count[SIDES];
};

struct table {
    struct line *lines;
    size_t count;
    uint32_t *slots; /* one more than the number of a line; 0: free */
    size_t mask;
};

static bool open_table(struct table *table, uint64_t most)
{
    size_t slots = 16;
    while (slots < 2 * most)
        slots *= 2;
    *table = (struct table){.lines = malloc((most + 1) * sizeof *table->lines),
                            .slots = calloc(slots, sizeof *table->slots),
                            .mask = slots - 1};
    return table->lines && table->slots && most < UINT32_MAX;
}

static void close_table(struct table *table)
{
    free(table->lines);
    free(table->slots);
}

static struct line *line_of(struct table *table, const struct entry *entry)
{
    for (size_t slot = entry->low & table->mask;; slot = (slot + 1) & table->mask) {
        uint32_t number = table->slots[slot];
        if (number == 0) {
            table->slots[slot] = (uint32_t)++table->count;
            table->lines[table->count - 1] = (struct line){.low = entry->low, .high = entry->high};
            return &table->lines[table->count - 1];
        }
        struct line *line = &table->lines[number - 1];
        if (line->low == entry->low && line->high == entry->high)
            return line;
    }
}

/* From the last line to the first, so that the number of the first stays. */
static void count_lines(struct table *table, const struct part *part, int which)
{
    uint64_t used = part->count % CHUNK_ENTRIES;
    used = used == 0 ? CHUNK_ENTRIES : used;
    for (const struct chunk *chunk = part->last; chunk; chunk = chunk->before, used = CHUNK_ENTRIES)
        for (uint64_t i = used; i-- > 0;) {
            struct line *line = line_of(table, &chunk->entries[i]);
            line->first[which] = chunk->entries[i].number;
            line->count[which]++;
        }
}

static bool append(struct found *found, roost_difference difference)
{
    if (found->count == found->room) {
        size_t room = found->room ? 2 * found->room : FIRST_FOUND;
        roost_difference *longer = realloc(found->differences, room * sizeof *longer);
        if (!longer)
            return false;
        found->differences = longer;
        found->room = room;
    }
    found->differences[found->count++] = difference;
    return true;
}

static bool differs(const struct comparison *comparison, const struct line *line)
{
    return comparison->multiset ? line->count[A] != line->count[B] : !line->count[A] != !line->count[B];
}

static bool report_line(struct comparison *comparison, size_t number, const struct line *line)
{
    bool fine = true;
    if (!differs(comparison, line))
        return true;
    for (int which = A; which < SIDES && fine; which++)
        if (line->count[which] > 0)
            fine = append(&comparison->found[which][number],
                          (roost_difference){line->first[which], comparison->multiset ? line->count[which] : 1,
                                             comparison->multiset ? line->count[1 - which] : 0});
    comparison->changed[number] += line->count[A] > 0 && line->count[B] > 0;
    return fine;
}

/* False without memory. */
static bool compare_part(void *context, size_t number)
{
    struct comparison *comparison = context;
    const struct part *a = &comparison->parts[A][number], *b = &comparison->parts[B][number];
    struct table table;
    bool fine = open_table(&table, a->count + b->count);
    if (fine) {
        count_lines(&table, a, A);
        count_lines(&table, b, B);
    }
    for (size_t i = 0; fine && i < table.count; i++)
        fine = report_line(comparison, number, &table.lines[i]);
    close_table(&table);
    return fine;
}

/* ---- all parts --------------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint64_t first = ((const roost_difference *)a)->index, second = ((const roost_difference *)b)->index;
    return first < second ? -1 : first > second;
}

/* The differences of a side in the order of its lines. */
static bool gather(struct comparison *comparison, int which)
{
    struct line_side *side = comparison->sides[which];
    const size_t parts = (size_t)1 << comparison->part_bits;
    size_t done = 0;
    for (size_t i = 0; i < parts; i++)
        side->count += comparison->found[which][i].count;
    free(side->differences);
    side->room = side->count + 1;
    side->differences = malloc(side->room * sizeof *side->differences);
    if (!side->differences)
        return false;
    for (size_t i = 0; i < parts; i++) {
        const struct found *found = &comparison->found[which][i];
        if (found->count > 0)
            memcpy(side->differences + done, found->differences, found->count * sizeof *side->differences);
        done += found->count;
    }
    qsort(side->differences, side->count, sizeof *side->differences, by_number);
    return true;
}

static bool open_comparison(struct comparison *comparison, struct line_side *a, struct line_side *b)
{
    uint64_t bytes = (uint64_t)a->file.version.st_size + (uint64_t)b->file.version.st_size;
    *comparison = (struct comparison){.sides = {a, b}, .multiset = roost_reconcile_get_config(a->session)->multiset};
    while (comparison->part_bits < MOST_PART_BITS && bytes >> comparison->part_bits > BYTES_A_PART)
        comparison->part_bits++;
    const size_t parts = (size_t)1 << comparison->part_bits;
    comparison->changed = calloc(parts, sizeof *comparison->changed);
    bool fine = comparison->changed != NULL;
    for (int which = A; which < SIDES; which++) {
        comparison->parts[which] = calloc(parts, sizeof *comparison->parts[which]);
        comparison->found[which] = calloc(parts, sizeof *comparison->found[which]);
        fine = fine && comparison->parts[which] && comparison->found[which];
    }
    return fine;
}

static void close_comparison(struct comparison *comparison)
{
    for (int which = A; which < SIDES; which++) {
        for (size_t i = 0; comparison->found[which] && i < (size_t)1 << comparison->part_bits; i++)
            free(comparison->found[which][i].differences);
        free(comparison->found[which]);
        free(comparison->parts[which]);
    }
    free(comparison->changed);
    for (struct slab *slab = comparison->slabs, *before; slab; slab = before) {
        before = slab->before;
        free(slab);
    }
}

static roost_reconcile_result result_of(const struct comparison *comparison)
{
    roost_reconcile_result result = {.only_here = comparison->sides[A]->count,
                                     .only_there = comparison->sides[B]->count,
                                     .exact = true,
                                     .complete = true};
    for (size_t i = 0; i < (size_t)1 << comparison->part_bits; i++)
        result.changed += comparison->changed[i];
    return result;
}

bool line_sides_compare(struct line_side *a, struct line_side *b, roost_reconcile_result *result)
{
    struct comparison comparison;
    bool has_memory = open_comparison(&comparison, a, b), fine = has_memory;
    fine = fine && load_side(&comparison, A) && load_side(&comparison, B);
    if (fine) {
        has_memory = work_in_parallel(a->threads, (size_t)1 << comparison.part_bits, compare_part, &comparison) &&
                     gather(&comparison, A) && gather(&comparison, B);
        *result = result_of(&comparison);
    }
    close_comparison(&comparison);
    if (!has_memory)
        complain_of_session(a->file.name, ROOST_NO_MEMORY);
    return fine && has_memory && !interrupted() && line_side_begin(a) && line_side_begin(b);
}
