/*
 * Lists are often sorted already. Two of them are compared as comm(1) does, in one pass and with no more memory than
 * the differences take: the smaller of the two present lines is one that the other file lacks. Equal lines of a file
 * stand behind one another, and are taken as one *run*.
 *
 *     A   ant, bee, bee, cat        runs of A   ant 1, bee 2, cat 1
 *     B   bee, cat, cat             runs of B          bee 1, cat 2
 *
 * Whether a file is sorted shows on the way. In one that is not, a line that is smaller than the one before comes after
 * a few lines, as a rule, so that little was done in vain; then the caller goes another way.
 *
 * A run refers to the last of its lines, and the line behind it may be in the next block: two blocks take turns.
 */
#include "sorted_comparison.h"

#include <string.h>

#include "cli/base/interrupt.h"
#include "cli/base/progress.h"
#include "lines.h"

struct run_reader {
    struct line_side *side;
    struct line_reader reader;
    struct line_block blocks[2];
    int present;         /* which block has the next line */
    size_t next;         /* its number in the block */
    uint64_t number;     /* and in the file */
    roost_bytes line;    /* of the present run; no data: the file has ended */
    uint64_t first;      /* the number of its first line */
    uint64_t count;      /* how often it occurs */
    bool failed, sorted; /* sorted so far */
};

static int compare_lines(roost_bytes a, roost_bytes b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

static bool fill(struct run_reader *runs)
{
    struct line_block *block = &runs->blocks[runs->present ^= 1];
    block->size = block->count = 0;
    runs->next = 0;
    if (!line_reader_fill(&runs->reader, block)) {
        line_reader_complain(&runs->reader);
        return false;
    }
    line_block_split(block, '\n');
    progress_count(runs->number);
    return !interrupted() && (!block->no_memory || complain_of_session(runs->side->file.name, ROOST_NO_MEMORY));
}

/* The next line without taking it; no data at the end. */
static roost_bytes look_ahead(struct run_reader *runs)
{
    if (runs->next == runs->blocks[runs->present].count && !runs->failed)
        runs->failed = !fill(runs);
    const struct line_block *block = &runs->blocks[runs->present];
    return runs->next < block->count && !runs->failed ? block->lines[runs->next] : (roost_bytes){NULL, 0};
}

static void next_run(struct run_reader *runs)
{
    roost_bytes line = look_ahead(runs);
    runs->line = line;
    runs->first = runs->number;
    runs->count = 0;
    for (int order = 0; line.data && order == 0;) {
        runs->line = line;
        runs->count++;
        runs->number++;
        runs->next++;
        line = look_ahead(runs);
        order = line.data ? compare_lines(line, runs->line) : 1;
        runs->sorted = order >= 0;
    }
}

static bool open_runs(struct run_reader *runs, struct line_side *side)
{
    *runs = (struct run_reader){.side = side, .sorted = true};
    if (!line_file_rewind(&side->file))
        return false;
    line_reader_open(&runs->reader, side->file.descriptor);
    runs->reader.name = side->file.name;
    next_run(runs);
    return !runs->failed;
}

static void close_runs(struct run_reader *runs)
{
    line_reader_close(&runs->reader);
    line_block_release(&runs->blocks[0]);
    line_block_release(&runs->blocks[1]);
}

/* The run of `here` is a difference. */
static bool note(struct run_reader *here, uint64_t count_there, bool multiset)
{
    roost_difference difference = {here->first, multiset ? here->count : 1, count_there};
    return line_side_append(here->side, difference) || complain_of_session(here->side->file.name, ROOST_NO_MEMORY);
}

/* Compares the present runs, and goes on to the next. */
static bool step(struct run_reader *a, struct run_reader *b, bool multiset, uint64_t *changed)
{
    int order = !a->line.data ? 1 : !b->line.data ? -1 : compare_lines(a->line, b->line);
    bool fine = true;
    if (order < 0)
        fine = note(a, 0, multiset);
    else if (order > 0)
        fine = note(b, 0, multiset);
    else if (multiset && a->count != b->count) {
        fine = note(a, b->count, true) && note(b, a->count, true);
        ++*changed;
    }
    if (order <= 0)
        next_run(a);
    if (order >= 0)
        next_run(b);
    return fine && !a->failed && !b->failed;
}

bool sorted_sides_compare(struct line_side *a, struct line_side *b, bool multiset, roost_reconcile_result *result,
                          bool *sorted)
{
    struct run_reader of_a = {0}, of_b = {0};
    uint64_t changed = 0;
    bool fine = open_runs(&of_a, a) && open_runs(&of_b, b);
    while (fine && of_a.sorted && of_b.sorted && (of_a.line.data || of_b.line.data))
        fine = step(&of_a, &of_b, multiset, &changed);
    *sorted = of_a.sorted && of_b.sorted;
    close_runs(&of_a);
    close_runs(&of_b);
    if (!*sorted)
        a->count = b->count = 0;
    if (!fine || !*sorted)
        return fine;
    *result = (roost_reconcile_result){
        .only_here = a->count, .only_there = b->count, .changed = changed, .exact = true, .complete = true};
    return line_file_is_unchanged(&a->file) && line_file_is_unchanged(&b->file) && line_side_begin(a) &&
           line_side_begin(b);
}
