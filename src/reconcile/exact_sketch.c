/*
 * The sketching side: sends sketches of its cells, and receives what they were decoded to.
 *
 *     WINDOW   cells of the partition, first, how many | bits | sums, 0 for lists | slot | for each cell its sums or
 *              its list
 *     MORE     misread, afresh (numbers among the cells last shown) | from the beginning (cells) | sums more, sums of
 *              fresh ones | slot | for each open cell: wants more: 1 bit, whether listed; sums or list
 *     list     gamma code of the number of hashes, plus 1; their gaps
 *     AUDIT    16 bits of weight for every AUDITED_AT_ONCE cells
 */
#include "exact.h"

#include <math.h>
#include <string.h>

#include "../sync/ranges.h"

#define MOST_WINDOW_BYTES    ((double)(4 << 20))
#define AFRESH_SUMS          3
#define MOST_SECOND_SKETCHES 3

/* ---- sketches --------------------------------------------------------------------------------------------------- */

static void write_sums(struct roost_reconcile *session, struct bit_writer *writer, struct cell *cell, uint32_t more)
{
    uint64_t sums[MOST_SUMS] = {0};
    uint32_t from = cell->known_count, to = from + more;
    cell_add_sums(session, cell, sums, to);
    for (uint32_t i = from; i < to; i++)
        write_bits(writer, sums[i], exact_of(session)->plan.bits);
    cell->known_count = to;
}

/*
 * Of the elements of a cell not known to be only here: one for each hash that occurs an odd number of times, which is
 * what sums hold; or for each that occurs at all, which is what a list has. They come first in exact->numbers, as they
 * were; answers how many.
 */
static size_t keep_sketched(const struct roost_reconcile *session, const struct cell *cell, unsigned shift, bool listed)
{
    uint64_t *numbers = exact_of(session)->numbers, mask = (UINT64_C(1) << shift) - 1;
    size_t kept = 0;
    for (size_t i = 0, count = cell->to - cell->from; i < count;) {
        uint64_t hash = numbers[i] >> shift;
        size_t end = kept;
        for (; i < count && numbers[i] >> shift == hash; i++)
            if (!number_is_only_here(session, cell, numbers[i], mask))
                numbers[end++] = numbers[i];
        kept += listed ? end > kept : (end - kept) & 1;
    }
    return kept;
}

static roost_status write_list(struct roost_reconcile *session, struct bit_writer *writer, struct cell *cell)
{
    struct exact *exact = exact_of(session);
    unsigned shift;
    roost_status status = cell_sort(session, cell, &shift);
    if (status != ROOST_OK)
        return status;
    size_t count = keep_sketched(session, cell, shift, true);
    unsigned parameter = rice_parameter(exact->field.mask + 1, count);
    uint64_t next = 0;
    write_gamma(writer, count + 1);
    for (size_t i = 0; i < count; i++) {
        write_rice(writer, (exact->numbers[i] >> shift) - next, parameter);
        next = (exact->numbers[i] >> shift) + 1;
    }
    cell->listed = true;
    cell->known_count = (uint32_t)count;
    return ROOST_OK;
}

static size_t unresolved_elements(const struct roost_reconcile *session, const struct cell *cell)
{
    size_t count = 0;
    for (uint32_t i = cell->from; i < cell->to; i++)
        count += !(session->set.elements[i].marks & ONLY_HERE);
    return count;
}

static size_t widest_slot(const struct roost_reconcile *session)
{
    const struct exact *exact = exact_of(session);
    size_t widest = 1;
    for (size_t i = 0; i < exact->open_count; i++) {
        size_t count = unresolved_elements(session, &exact->cells[exact->open[i]]);
        widest = count > widest ? count : widest;
    }
    return widest;
}

/* Once sums are the longer way, or too many to decode. */
static bool list_is_better(const struct roost_reconcile *session, const struct cell *cell, uint32_t more)
{
    double elements = (double)unresolved_elements(session, cell), bits = exact_of(session)->plan.bits;
    double list = elements * (elements > 1 ? bits - log2(elements) + 2 : bits) + 8;
    return cell->known_count + more > MOST_SUMS || list <= 2.0 * more * bits;
}

/* ---- a new window ----------------------------------------------------------------------------------------------- */

/* As many cells as make a message of some megabytes. */
static size_t cells_at_once(const struct roost_reconcile *session, uint64_t first)
{
    const struct plan *plan = &exact_of(session)->plan;
    double elements = (double)session->set.count / (double)plan->cells;
    double bits = plan->sums ? (double)plan->sums * plan->bits : elements * (plan->bits + 2) + 8;
    double most = 8 * MOST_WINDOW_BYTES / bits;
    uint64_t left = plan->cells - first, count = most < 1 ? 1 : most < (double)MOST_CELLS ? (uint64_t)most : MOST_CELLS;
    return left < count ? (size_t)left : (size_t)count;
}

roost_status sketch_first(struct roost_reconcile *session, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    exact->sketching = true;
    exact->plan = first_plan(session->set.count);
    roost_status status = window_begin(session, 0, 1);
    if (status != ROOST_OK)
        return status;
    exact->slot = session->set.count + 1;
    write_sums(session, writer, &exact->cells[0], exact->plan.sums);
    return ROOST_OK;
}

roost_status sketch_window(struct roost_reconcile *session, struct bit_writer *writer, uint64_t first)
{
    struct exact *exact = exact_of(session);
    size_t count = cells_at_once(session, first);
    roost_status status = window_begin(session, first, count);
    if (status != ROOST_OK)
        return status;
    exact->slot = widest_slot(session);
    write_byte(writer, WINDOW);
    write_varint(writer, exact->plan.cells);
    write_varint(writer, first);
    write_varint(writer, count);
    write_byte(writer, (uint8_t)exact->plan.bits);
    write_varint(writer, exact->plan.sums);
    write_varint(writer, exact->slot);
    for (size_t i = 0; i < count && status == ROOST_OK; i++) {
        if (exact->plan.sums)
            write_sums(session, writer, &exact->cells[i], exact->plan.sums);
        else
            status = write_list(session, writer, &exact->cells[i]);
    }
    drop_numbers(session);
    return status;
}

/* ---- more of it ------------------------------------------------------------------------------------------------- */

/* What became of the cells that were shown. */
struct verdicts {
    uint64_t *misread, *afresh, *reset; /* numbers among the cells shown; reset: cells */
    size_t misread_count, afresh_count, reset_count;
    uint32_t more; /* sums, for those that want more; 0: as sums_more has it */
};

static roost_status write_open(struct roost_reconcile *session, struct bit_writer *writer, uint32_t more,
                               uint32_t fresh)
{
    struct exact *exact = exact_of(session);
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < exact->open_count && status == ROOST_OK; i++) {
        struct cell *cell = &exact->cells[exact->open[i]];
        uint32_t sums = cell->state == CELL_FRESH ? fresh : more ? more : sums_more(cell);
        bool listed = list_is_better(session, cell, sums);
        write_bits(writer, listed, 1);
        if (listed)
            status = write_list(session, writer, cell);
        else
            write_sums(session, writer, cell, sums);
    }
    drop_numbers(session);
    return status;
}

static roost_status write_more(struct roost_reconcile *session, struct bit_writer *writer,
                               const struct verdicts *verdicts, size_t shown)
{
    struct exact *exact = exact_of(session);
    uint32_t fresh = verdicts->reset_count && exact->plan.sums ? exact->plan.sums : AFRESH_SUMS;
    exact->rounds++;
    window_open_cells(exact);
    exact->slot = widest_slot(session);
    write_byte(writer, MORE);
    write_numbers(writer, verdicts->misread, verdicts->misread_count, shown);
    write_numbers(writer, verdicts->afresh, verdicts->afresh_count, shown);
    write_numbers(writer, verdicts->reset, verdicts->reset_count, exact->count);
    write_varint(writer, verdicts->more);
    write_varint(writer, fresh);
    write_varint(writer, exact->slot);
    return write_open(session, writer, verdicts->more, fresh);
}

roost_status sketch_more_of_first(struct roost_reconcile *session, struct bit_writer *writer, uint32_t sums)
{
    struct exact *exact = exact_of(session);
    exact->cells[0].state = CELL_WANTS;
    return write_more(session, writer, &(struct verdicts){.more = sums}, 0);
}

/* ---- what was reported ------------------------------------------------------------------------------------------- */

/* A message REPORT as it is read. */
struct report {
    uint64_t *wanting, *positions; /* numbers among the open cells; ranks, by cell shown */
    uint64_t wanting_count, position_count, shown, next;
    struct bit_reader *reader;
};

/* Sums of glances at those hashes of the cell that the sketch held. */
static uint64_t glance_at_odd(const uint64_t *numbers, size_t count, unsigned shift)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += glance(numbers[i] >> shift);
    return sum;
}

/* The peer has no element of that hash at all, so whichever of ours has it, should there be three, is only here. */
static roost_status mark_only_here(struct roost_reconcile *session, struct cell *cell, uint64_t number)
{
    struct exact *exact = exact_of(session);
    unsigned shift = cell->to - cell->from > 1 ? highest_bit(cell->to - cell->from - 1) + 1 : 0;
    uint32_t place = cell->from + (uint32_t)(number & ((UINT64_C(1) << shift) - 1));
    struct element *element = &session->set.elements[place];
    uint64_t name = exact->first + (uint64_t)(cell - exact->cells);
    element->marks |= ONLY_HERE;
    cell->weight -= element_weight(session_key(session, FOR_WEIGHTS), element);
    cell->weight += reported_weight(session, name, cell->salt, number >> shift);
    return reported_append(session, (struct reported){(uint32_t)name, cell->salt, number >> shift, place});
}

/* Where the positions end that belong to the shown cell of that number. */
static uint64_t positions_end(const struct report *report, uint64_t end)
{
    uint64_t i = report->next;
    while (i < report->position_count && report->positions[i] < end)
        i++;
    return i;
}

static roost_status take_positions(struct roost_reconcile *session, struct report *report, struct cell *cell,
                                   uint64_t begin, uint64_t end)
{
    roost_status status = ROOST_OK;
    for (; report->next < end && status == ROOST_OK; report->next++)
        status = mark_only_here(session, cell, exact_of(session)->numbers[report->positions[report->next] - begin]);
    return status;
}

/* Reads the checks of one cell that was shown, and decides what becomes of it. */
static roost_status judge(struct roost_reconcile *session, struct report *report, struct cell *cell, uint64_t shown)
{
    struct exact *exact = exact_of(session);
    unsigned shift, decoding_bits = decoding_check_bits(exact, cell), equality_bits = equality_check_bits(exact);
    uint64_t decoding = read_bits(report->reader, decoding_bits);
    uint64_t equality = read_bits(report->reader, equality_bits);
    roost_status status = cell_sort(session, cell, &shift);
    if (status != ROOST_OK)
        return status;
    size_t odd = keep_sketched(session, cell, shift, cell->listed);
    uint64_t seen = glance_at_odd(exact->numbers, odd, shift) >> 32 & ((UINT64_C(1) << decoding_bits) - 1);
    uint64_t begin = shown * exact->slot, end = positions_end(report, begin + exact->slot);
    bool believed = seen == decoding && (end == report->next || report->positions[end - 1] - begin < odd);
    if (believed)
        status = take_positions(session, report, cell, begin, end);
    else if (cell->listed)
        status = ROOST_CORRUPT;
    report->next = end;
    uint64_t equal = (uint64_t)(cell->weight >> 32) & ((UINT64_C(1) << equality_bits) - 1);
    cell->state = !believed ? CELL_WANTS : equal != equality ? CELL_FRESH : CELL_CLOSED;
    return status;
}

static void note_verdict(struct roost_reconcile *session, struct verdicts *verdicts, struct cell *cell, uint64_t shown)
{
    if (cell->state == CELL_WANTS) {
        cell_was_misread(session, cell);
        verdicts->misread[verdicts->misread_count++] = shown;
    } else if (cell->state == CELL_FRESH) {
        cell_starts_afresh(session, cell);
        verdicts->afresh[verdicts->afresh_count++] = shown;
    }
}

static roost_status judge_all(struct roost_reconcile *session, struct report *report, struct verdicts *verdicts)
{
    struct exact *exact = exact_of(session);
    roost_status status = ROOST_OK;
    uint64_t wanting = 0, shown = 0;
    for (size_t i = 0; i < exact->open_count && status == ROOST_OK; i++) {
        struct cell *cell = &exact->cells[exact->open[i]];
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): where there is no list the count is 0
        if (wanting < report->wanting_count && report->wanting[wanting] == i) {
            wanting++;
            if (cell->listed)
                return ROOST_CORRUPT;
            cell->state = CELL_WANTS;
            continue;
        }
        status = judge(session, report, cell, shown);
        note_verdict(session, verdicts, cell, shown++);
    }
    drop_numbers(session);
    return status;
}

/* ---- all agree, and the whole does not -------------------------------------------------------------------------- */

static roost_status write_audit(struct roost_reconcile *session, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    write_byte(writer, AUDIT);
    for (size_t from = 0; from < exact->count; from += AUDITED_AT_ONCE) {
        uint128 sum = 0;
        for (size_t i = from; i < from + AUDITED_AT_ONCE && i < exact->count; i++)
            sum += exact->cells[i].weight;
        write_bits(writer, (uint64_t)(sum >> 64), AUDIT_BITS);
    }
    return ROOST_OK;
}

static void find_unequal(struct exact *exact, struct bit_reader *reader, uint64_t block, uint64_t *found, size_t *count)
{
    size_t from = (size_t)block * AUDITED_AT_ONCE;
    for (size_t i = from; i < from + AUDITED_AT_ONCE && i < exact->count; i++) {
        uint64_t here = (uint64_t)(exact->cells[i].weight >> 64) & ((UINT64_C(1) << AUDITED_BITS) - 1);
        if (read_bits(reader, AUDITED_BITS) != here)
            found[(*count)++] = i;
    }
}

/* Both drop all that they believe of such a cell. */
static roost_status reset_unequal(struct roost_reconcile *session, struct bit_writer *writer, uint64_t *found,
                                  size_t count)
{
    struct exact *exact = exact_of(session);
    if (count == 0)
        return exact_restart(session, writer);
    for (size_t i = 0; i < count; i++) {
        cell_reset(session, &exact->cells[found[i]]);
        exact->cells[found[i]].forgotten = ALL_SALTS;
    }
    reported_forget(exact);
    struct verdicts verdicts = {.reset = found, .reset_count = count};
    return write_more(session, writer, &verdicts, 0);
}

roost_status sketch_take_audited(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    const roost_allocator *allocator = session_allocator(session);
    uint64_t blocks, *unequal = read_numbers(reader, &blocks, divide_up(exact->count, AUDITED_AT_ONCE), allocator);
    if (!unequal)
        return reader->failed ? ROOST_CORRUPT : ROOST_NO_MEMORY;
    uint64_t *found = memory_allocate(allocator, exact->count * sizeof *found);
    size_t count = 0;
    for (uint64_t i = 0; found && i < blocks; i++)
        find_unequal(exact, reader, unequal[i], found, &count);
    roost_status status = found ? ROOST_OK : ROOST_NO_MEMORY;
    if (status == ROOST_OK && reader->failed)
        status = ROOST_CORRUPT;
    if (status == ROOST_OK)
        status = reset_unequal(session, writer, found, count);
    memory_release(allocator, found);
    memory_release(allocator, unequal);
    return status;
}

/* ---- what follows ----------------------------------------------------------------------------------------------- */

/* A cell that is alone has only the check of the window. Most likely a hash has collided: a small sketch more. */
static roost_status sketch_afresh(struct roost_reconcile *session, struct bit_writer *writer)
{
    uint64_t only_one = 0;
    struct verdicts verdicts = {.afresh = &only_one, .afresh_count = 1};
    cell_starts_afresh(session, &exact_of(session)->cells[0]);
    return write_more(session, writer, &verdicts, 1);
}

static roost_status resolve_window(struct roost_reconcile *session, struct bit_reader *reader,
                                   struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    uint64_t weight = read_fixed64(reader), only_there = read_varint(reader);
    if (reader->failed || reader_bits_left(reader) != 0)
        return ROOST_CORRUPT;
    session->result.only_there = only_there;
    if (weight == window_check(session, only_there))
        return exact_next_window(session, writer);
    if (window_is_one_cell(exact) && exact->rounds < MOST_SECOND_SKETCHES)
        return sketch_afresh(session, writer);
    if (window_is_one_cell(exact) || exact->rounds > MOST_ROUNDS)
        return exact_restart(session, writer);
    exact->rounds++;
    return write_audit(session, writer);
}

static roost_status follow_up(struct roost_reconcile *session, struct report *report, struct verdicts *verdicts,
                              struct bit_writer *writer)
{
    roost_status status = judge_all(session, report, verdicts);
    read_alignment(report->reader);
    if (status != ROOST_OK)
        return status;
    if (report->reader->failed || report->next != report->position_count)
        return ROOST_CORRUPT;
    if (report->wanting_count == 0 && verdicts->misread_count == 0 && verdicts->afresh_count == 0)
        return resolve_window(session, report->reader, writer);
    struct exact *exact = exact_of(session);
    if (exact->rounds > MOST_ROUNDS)
        return exact_restart(session, writer);
    return write_more(session, writer, verdicts, report->shown);
}

roost_status sketch_take_report(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    const roost_allocator *allocator = session_allocator(session);
    struct report report = {.reader = reader};
    struct verdicts verdicts = {0};
    report.wanting = read_numbers(reader, &report.wanting_count, exact->open_count, allocator);
    if (report.wanting) {
        report.shown = exact->open_count - report.wanting_count;
        report.positions = read_numbers(reader, &report.position_count, report.shown * exact->slot, allocator);
    }
    roost_status status = report.positions ? ROOST_OK : reader->failed ? ROOST_CORRUPT : ROOST_NO_MEMORY;
    verdicts.misread = memory_allocate(allocator, (exact->open_count + 1) * sizeof *verdicts.misread);
    verdicts.afresh = memory_allocate(allocator, (exact->open_count + 1) * sizeof *verdicts.afresh);
    if (status == ROOST_OK && (!verdicts.misread || !verdicts.afresh))
        status = ROOST_NO_MEMORY;
    if (status == ROOST_OK)
        status = follow_up(session, &report, &verdicts, writer);
    memory_release(allocator, verdicts.misread);
    memory_release(allocator, verdicts.afresh);
    memory_release(allocator, report.wanting);
    memory_release(allocator, report.positions);
    return status;
}
