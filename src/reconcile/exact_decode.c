/*
 * The decoding side: decodes sketches of the other's cells, and reports the result.
 *
 *     REPORT    numbers of the open cells that want more | positions of the elements that are only there | for each
 *               cell that was decoded its two checks | if none wants more: check of the window, 8; elements only here
 *     position  number among the cells shown, times slot, plus rank: the other side's hashes in that cell, those that
 *               occur an odd number of times, ascending, are known here by now, and the rank among them is shorter
 *               than the hash
 *     AUDITED   numbers of the blocks that are unequal; 24 bits of weight for each of their cells
 *
 * What is decoded from sums is a set of hashes in which the two cells differ. For each there are, among all our
 * elements of the cell, whether or not they are believed to be only here,
 *
 *     none             it is an element that is only there: reported
 *     one              it is only here; or, if that was believed already, it is not after all: turned
 *     two or more      one of them, but which: another salt will decide
 *
 * A list has all hashes that occur there. Those that none of our elements has are reported; our elements whose hash it
 * does not have are only here, all of them. So a report is never wrong: where we have no element of that hash, any
 * element that has it there is none of ours.
 */
#include "exact.h"

#include <string.h>

#include "../sync/ranges.h"

/* ---- reading sketches ------------------------------------------------------------------------------------------- */

static roost_status read_sums(struct roost_reconcile *session, struct bit_reader *reader, struct cell *cell,
                              uint32_t more)
{
    const roost_allocator *allocator = session_allocator(session);
    unsigned bits = exact_of(session)->plan.bits;
    uint32_t from = cell->known_count, to = from + more;
    if (reader_bits_left(reader) / bits < more)
        return ROOST_CORRUPT;
    uint64_t *known = memory_allocate(allocator, (to + 1) * sizeof *known);
    if (!known)
        return ROOST_NO_MEMORY;
    if (from)
        memcpy(known, cell->known, from * sizeof *known);
    for (uint32_t i = from; i < to; i++)
        known[i] = read_bits(reader, bits);
    memory_release(allocator, cell->known);
    cell->known = known;
    cell->known_count = to;
    return ROOST_OK;
}

static roost_status read_list(struct roost_reconcile *session, struct bit_reader *reader, struct cell *cell)
{
    const roost_allocator *allocator = session_allocator(session);
    uint64_t count = read_gamma(reader) - 1, bound = exact_of(session)->field.mask + 1, next = 0;
    if (reader->failed || count > bound || count > reader_bits_left(reader))
        return ROOST_CORRUPT;
    uint64_t *known = memory_allocate(allocator, (count + 1) * sizeof *known);
    if (!known)
        return ROOST_NO_MEMORY;
    memory_release(allocator, cell->known);
    cell->known = known;
    cell->known_count = (uint32_t)count;
    cell->listed = true;
    unsigned parameter = rice_parameter(bound, count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t gap = read_rice(reader, parameter);
        if (reader->failed || gap >= bound - next)
            return ROOST_CORRUPT;
        known[i] = next + gap;
        next += gap + 1;
    }
    return ROOST_OK;
}

/* ---- decoding a cell -------------------------------------------------------------------------------------------- */

/* The content of a message REPORT. */
struct showing {
    uint64_t *wanting, *positions;
    size_t wanting_count, position_count;
    uint64_t shown;
    struct bit_writer checks;
};

/* Two rows of ascending hashes side by side: ours, and the difference or, where it was listed, theirs. */
struct walk {
    const uint64_t *hashes;
    size_t hash_count;
    bool listed;
    size_t reported, turned; /* how many */
    uint64_t rank;           /* of the next hash of theirs */
    uint64_t glances;
};

static roost_status report_hash(struct roost_reconcile *session, const struct cell *cell, struct walk *walk,
                                struct showing *showing, uint64_t hash)
{
    struct exact *exact = exact_of(session);
    uint64_t name = exact->first + (uint64_t)(cell - exact->cells);
    showing->positions[showing->position_count + walk->reported++] = showing->shown * exact->slot + walk->rank;
    return reported_append(session, (struct reported){(uint32_t)name, cell->salt, hash, 0});
}

/* The elements of ours that have one hash: where they begin in exact->numbers, how many they are, and how many of them
   are not known to be only here. */
struct own {
    size_t from, count, common;
    unsigned shift;
};

static void turn(struct roost_reconcile *session, const struct own *own, struct walk *walk)
{
    struct exact *exact = exact_of(session);
    uint64_t mask = (UINT64_C(1) << own->shift) - 1;
    for (size_t i = own->from; i < own->from + own->count; i++)
        exact->spare[walk->turned++] = exact->numbers[i] & mask;
}

/* What sums say: the hash is in the difference or not. */
static roost_status compare_with_sums(struct roost_reconcile *session, const struct cell *cell, struct walk *walk,
                                      struct showing *showing, uint64_t hash, const struct own *own, bool different)
{
    roost_status status = ROOST_OK;
    if (different && own->count == 0)
        status = report_hash(session, cell, walk, showing, hash);
    else if (different && own->count == 1)
        turn(session, own, walk);
    if ((own->common & 1) != different) {
        walk->glances += glance(hash);
        walk->rank++;
    }
    return status;
}

/* In a list: some element there has the hash, or none has. */
static roost_status compare_with_list(struct roost_reconcile *session, const struct cell *cell, struct walk *walk,
                                      struct showing *showing, uint64_t hash, const struct own *own, bool is_there)
{
    roost_status status = ROOST_OK;
    if (is_there && own->count == 0)
        status = report_hash(session, cell, walk, showing, hash);
    else if (own->count == 1 && is_there != own->common)
        turn(session, own, walk);
    else if (!is_there && own->common == own->count)
        turn(session, own, walk);
    walk->rank += is_there;
    return status;
}

static roost_status walk_cell(struct roost_reconcile *session, const struct cell *cell, struct walk *walk,
                              struct showing *showing)
{
    struct exact *exact = exact_of(session);
    struct own own = {0};
    roost_status status = cell_sort(session, cell, &own.shift);
    const uint64_t *numbers = exact->numbers, mask = (UINT64_C(1) << own.shift) - 1;
    size_t count = cell->to - cell->from;
    for (size_t i = 0, j = 0; status == ROOST_OK && (i < count || j < walk->hash_count);) {
        bool in_row = j < walk->hash_count && (i == count || walk->hashes[j] <= numbers[i] >> own.shift);
        uint64_t hash = in_row ? walk->hashes[j++] : numbers[i] >> own.shift;
        own = (struct own){.from = i, .shift = own.shift};
        for (; i < count && numbers[i] >> own.shift == hash; i++, own.count++)
            own.common += !number_is_only_here(session, cell, numbers[i], mask);
        status =
            (walk->listed ? compare_with_list : compare_with_sums)(session, cell, walk, showing, hash, &own, in_row);
    }
    return status;
}

/* Applies what the walk found to the marks of the elements. */
static void apply_walk(struct roost_reconcile *session, struct cell *cell, const struct walk *walk)
{
    struct exact *exact = exact_of(session);
    struct element_key key = session_key(session, FOR_WEIGHTS);
    cell->weight_before = cell->weight;
    for (uint32_t i = cell->from; i < cell->to; i++)
        session->set.elements[i].marks &= ~(uint32_t)JUST_TURNED;
    for (size_t i = 0; i < walk->turned; i++) {
        struct element *element = &session->set.elements[cell->from + exact->spare[i]];
        uint128 weight = element_weight(key, element);
        cell->weight += element->marks & ONLY_HERE ? weight : -weight;
        element->marks ^= ONLY_HERE | JUST_TURNED;
    }
    for (size_t i = exact->reported_count - walk->reported; i < exact->reported_count; i++) {
        const struct reported *reported = &exact->reported[i];
        cell->weight += reported_weight(session, reported->cell, reported->salt, reported->hash);
    }
}

/* The difference of a cell from its sums, ascending; false where it cannot be had. */
static roost_status decode_sums(struct roost_reconcile *session, const struct cell *cell, uint64_t *hashes,
                                size_t *count, bool *decoded)
{
    struct exact *exact = exact_of(session);
    uint64_t sums[MOST_SUMS], scratch[MOST_SUMS];
    size_t words = pin_sketch_scratch(MOST_FIELD_BITS, MOST_SUMS);
    if (!exact->scratch)
        exact->scratch = memory_allocate(session_allocator(session), words * sizeof *exact->scratch);
    if (!exact->scratch)
        return ROOST_NO_MEMORY;
    memcpy(sums, cell->known, cell->known_count * sizeof *sums);
    cell_add_sums(session, cell, sums, cell->known_count);
    *decoded = pin_sketch_in_use()->decode(&exact->field, hashes, count, sums, cell->known_count, exact->scratch);
    if (*decoded)
        sort_numbers(hashes, scratch, *count, exact->plan.bits);
    return ROOST_OK;
}

static void show(const struct exact *exact, struct cell *cell, const struct walk *walk, struct showing *showing)
{
    cell->state = CELL_SHOWN;
    showing->position_count += walk->reported;
    showing->shown++;
    write_bits(&showing->checks, walk->glances >> 32, decoding_check_bits(exact, cell));
    write_bits(&showing->checks, (uint64_t)(cell->weight >> 32), equality_check_bits(exact));
}

/* Refuses a difference with more hashes than the other side has elements: the decoding went wrong. */
static roost_status decode_cell(struct roost_reconcile *session, size_t number, struct showing *showing)
{
    struct exact *exact = exact_of(session);
    struct cell *cell = &exact->cells[exact->open[number]];
    uint64_t hashes[MOST_SUMS];
    struct walk walk = {.hashes = cell->known, .hash_count = cell->known_count, .listed = cell->listed};
    bool decoded = true;
    roost_status status = ROOST_OK;
    if (!cell->listed) {
        status = decode_sums(session, cell, hashes, &walk.hash_count, &decoded);
        walk.hashes = hashes;
    }
    if (status == ROOST_OK && decoded)
        status = walk_cell(session, cell, &walk, showing);
    if (status != ROOST_OK)
        return status;
    if (decoded && walk.rank <= exact->slot) {
        apply_walk(session, cell, &walk);
        show(exact, cell, &walk, showing);
        return ROOST_OK;
    }
    exact->reported_count -= walk.reported;
    cell->state = CELL_WANTS;
    showing->wanting[showing->wanting_count++] = number;
    return cell->listed ? ROOST_CORRUPT : ROOST_OK;
}

/* ---- reporting --------------------------------------------------------------------------------------------------- */

static uint64_t elements_only_here(const struct roost_reconcile *session)
{
    uint64_t count = 0;
    for (size_t i = 0; i < session->set.count; i++)
        count += session->set.elements[i].marks & ONLY_HERE;
    return count;
}

static void write_told(struct roost_reconcile *session, struct bit_writer *writer, struct showing *showing)
{
    struct exact *exact = exact_of(session);
    write_byte(writer, REPORT);
    write_numbers(writer, showing->wanting, showing->wanting_count, exact->open_count);
    write_numbers(writer, showing->positions, showing->position_count, showing->shown * exact->slot);
    write_alignment(&showing->checks);
    write_bytes(writer, showing->checks.buffer.data, showing->checks.buffer.size);
    if (showing->wanting_count)
        return;
    uint64_t only_here = elements_only_here(session);
    write_fixed64(writer, window_check(session, only_here));
    write_varint(writer, only_here);
}

static roost_status decode_open(struct roost_reconcile *session, struct showing *showing)
{
    struct exact *exact = exact_of(session);
    size_t hashes = 0;
    for (size_t i = 0; i < exact->open_count; i++)
        hashes += exact->cells[exact->open[i]].known_count;
    showing->wanting = memory_allocate(session_allocator(session), (exact->open_count + 1) * sizeof(uint64_t));
    showing->positions = memory_allocate(session_allocator(session), (hashes + 1) * sizeof(uint64_t));
    roost_status status = showing->wanting && showing->positions ? ROOST_OK : ROOST_NO_MEMORY;
    for (size_t i = 0; i < exact->open_count && status == ROOST_OK; i++)
        status = decode_cell(session, i, showing);
    drop_numbers(session);
    session->result.only_there = exact->reported_count;
    return status == ROOST_OK && showing->checks.failed ? ROOST_NO_MEMORY : status;
}

/* Decodes all open cells. The first sketch, should it be too small, is answered with an estimator. */
static roost_status decode_and_report(struct roost_reconcile *session, struct bit_writer *writer, bool is_first)
{
    struct showing showing = {0};
    bit_writer_init(&showing.checks, *session_allocator(session));
    roost_status status = decode_open(session, &showing);
    if (status == ROOST_OK && is_first && showing.wanting_count)
        write_estimated(session, writer);
    else if (status == ROOST_OK)
        write_told(session, writer, &showing);
    bit_writer_release(&showing.checks);
    memory_release(session_allocator(session), showing.wanting);
    memory_release(session_allocator(session), showing.positions);
    return status;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static roost_status end_of(struct bit_reader *reader)
{
    read_alignment(reader);
    return reader->failed || reader_bits_left(reader) != 0 ? ROOST_CORRUPT : ROOST_OK;
}

roost_status decode_first(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    exact->plan = first_plan(session->peer_keys);
    exact->slot = session->peer_keys < UINT32_MAX ? (size_t)session->peer_keys + 1 : UINT32_MAX;
    roost_status status = window_begin(session, 0, 1);
    if (status == ROOST_OK)
        status = read_sums(session, reader, &exact->cells[0], exact->plan.sums);
    if (status == ROOST_OK)
        status = end_of(reader);
    return status == ROOST_OK ? decode_and_report(session, writer, true) : status;
}

/* Windows follow each other; one may be begun again, or all, but not for ever. */
static bool window_is_due(struct exact *exact, const struct plan *plan, uint64_t first, uint64_t count)
{
    uint64_t next = exact->first + exact->count;
    bool goes_on = plan->cells == exact->plan.cells && first == next && first > 0;
    bool again = first == 0 || (plan->cells == exact->plan.cells && first == exact->first);
    if (!goes_on && (!again || ++exact->restarts > 2 * MOST_RESTARTS))
        return false;
    return count > 0 && count <= MOST_CELLS && plan->cells < UINT32_MAX && first < plan->cells &&
           count <= plan->cells - first && plan->bits >= FEWEST_FIELD_BITS && plan->bits <= MOST_FIELD_BITS &&
           plan->sums <= MOST_SUMS;
}

static roost_status read_window(struct roost_reconcile *session, struct bit_reader *reader)
{
    struct exact *exact = exact_of(session);
    struct plan plan;
    plan.cells = read_varint(reader);
    uint64_t first = read_varint(reader), count = read_varint(reader);
    plan.bits = read_byte(reader);
    uint64_t sums = read_varint(reader), slot = read_varint(reader);
    plan.sums = (uint32_t)(sums < MOST_SUMS + 1 ? sums : MOST_SUMS + 1);
    if (reader->failed || !window_is_due(exact, &plan, first, count) || slot == 0 || slot > UINT32_MAX ||
        count > reader_bits_left(reader))
        return ROOST_CORRUPT;
    exact->plan = plan;
    exact->slot = slot;
    roost_status status = window_begin(session, first, count);
    for (size_t i = 0; i < count && status == ROOST_OK; i++)
        status = plan.sums ? read_sums(session, reader, &exact->cells[i], plan.sums)
                           : read_list(session, reader, &exact->cells[i]);
    return status;
}

roost_status decode_window(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    roost_status status = read_window(session, reader);
    if (status == ROOST_OK)
        status = end_of(reader);
    return status == ROOST_OK ? decode_and_report(session, writer, false) : status;
}

/* Three lists of numbers say what became of what we reported. */
struct judgement {
    uint64_t *misread, *afresh, *reset;
    uint64_t misread_count, afresh_count, reset_count;
};

static roost_status read_judgement(struct roost_reconcile *session, struct bit_reader *reader, struct judgement *judged)
{
    struct exact *exact = exact_of(session);
    const roost_allocator *allocator = session_allocator(session);
    uint64_t shown = 0;
    for (size_t i = 0; i < exact->open_count; i++)
        shown += exact->cells[exact->open[i]].state == CELL_SHOWN;
    judged->misread = read_numbers(reader, &judged->misread_count, shown, allocator);
    if (judged->misread)
        judged->afresh = read_numbers(reader, &judged->afresh_count, shown, allocator);
    if (judged->afresh)
        judged->reset = read_numbers(reader, &judged->reset_count, exact->count, allocator);
    return judged->reset ? ROOST_OK : reader->failed ? ROOST_CORRUPT : ROOST_NO_MEMORY;
}

static roost_status apply_judgement(struct roost_reconcile *session, const struct judgement *judged)
{
    struct exact *exact = exact_of(session);
    uint64_t shown = 0, misread = 0, afresh = 0;
    for (size_t i = 0; i < exact->open_count; i++) {
        struct cell *cell = &exact->cells[exact->open[i]];
        if (cell->state != CELL_SHOWN)
            continue;
        cell->state = CELL_CLOSED;
        if (misread < judged->misread_count && judged->misread[misread] == shown) {
            misread++;
            if (cell->listed)
                return ROOST_CORRUPT;
            cell_was_misread(session, cell);
        } else if (afresh < judged->afresh_count && judged->afresh[afresh] == shown) {
            afresh++;
            cell_starts_afresh(session, cell);
        }
        shown++;
    }
    for (uint64_t i = 0; i < judged->reset_count; i++) {
        struct cell *cell = &exact->cells[judged->reset[i]];
        if (cell->state != CELL_CLOSED)
            return ROOST_CORRUPT;
        cell_reset(session, cell);
        cell->forgotten = ALL_SALTS;
    }
    reported_forget(exact);
    return afresh == judged->afresh_count ? ROOST_OK : ROOST_CORRUPT;
}

static roost_status read_open(struct roost_reconcile *session, struct bit_reader *reader)
{
    struct exact *exact = exact_of(session);
    uint64_t more = read_varint(reader), fresh = read_varint(reader), slot = read_varint(reader);
    if (reader->failed || more > MOST_SUMS || fresh > MOST_SUMS || fresh == 0 || slot == 0 || slot > UINT32_MAX)
        return ROOST_CORRUPT;
    exact->slot = slot;
    roost_status status = ROOST_OK;
    for (size_t i = 0; i < exact->open_count && status == ROOST_OK; i++) {
        struct cell *cell = &exact->cells[exact->open[i]];
        uint32_t sums = (uint32_t)(cell->state == CELL_FRESH ? fresh : more ? more : sums_more(cell));
        if (read_bits(reader, 1))
            status = read_list(session, reader, cell);
        else if (!portion_is_fair(cell, sums))
            status = ROOST_CORRUPT;
        else
            status = read_sums(session, reader, cell, sums);
    }
    return status;
}

roost_status decode_more(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    const roost_allocator *allocator = session_allocator(session);
    struct judgement judged = {0};
    if (exact->count == 0 || exact->rounds++ > 2 * MOST_ROUNDS)
        return ROOST_PROTOCOL;
    roost_status status = read_judgement(session, reader, &judged);
    if (status == ROOST_OK)
        status = apply_judgement(session, &judged);
    memory_release(allocator, judged.misread);
    memory_release(allocator, judged.afresh);
    memory_release(allocator, judged.reset);
    if (status != ROOST_OK)
        return status;
    window_open_cells(exact);
    if (exact->open_count == 0)
        return ROOST_CORRUPT;
    status = read_open(session, reader);
    if (status == ROOST_OK)
        status = end_of(reader);
    return status == ROOST_OK ? decode_and_report(session, writer, false) : status;
}

/* ---- audit ------------------------------------------------------------------------------------------------------ */

static uint128 block_weight(const struct exact *exact, size_t from)
{
    uint128 sum = 0;
    for (size_t i = from; i < from + AUDITED_AT_ONCE && i < exact->count; i++)
        sum += exact->cells[i].weight;
    return sum;
}

roost_status decode_audit(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    const roost_allocator *allocator = session_allocator(session);
    size_t blocks = divide_up(exact->count, AUDITED_AT_ONCE), count = 0;
    uint64_t *unequal = memory_allocate(allocator, (blocks + 1) * sizeof *unequal);
    if (!unequal)
        return ROOST_NO_MEMORY;
    for (size_t i = 0; i < blocks; i++) {
        uint64_t here = (uint64_t)(block_weight(exact, i * AUDITED_AT_ONCE) >> 64) & ((1u << AUDIT_BITS) - 1);
        if (read_bits(reader, AUDIT_BITS) != here)
            unequal[count++] = i;
    }
    write_byte(writer, AUDITED);
    write_numbers(writer, unequal, count, blocks);
    for (size_t i = 0; i < count; i++)
        for (size_t j = unequal[i] * AUDITED_AT_ONCE; j < (unequal[i] + 1) * AUDITED_AT_ONCE && j < exact->count; j++)
            write_bits(writer, (uint64_t)(exact->cells[j].weight >> 64), AUDITED_BITS);
    memory_release(allocator, unequal);
    for (size_t i = 0; i < exact->open_count; i++)
        exact->cells[exact->open[i]].state = CELL_CLOSED;
    exact->open_count = 0;
    return exact->count > 0 && exact->rounds++ <= 2 * MOST_ROUNDS ? end_of(reader) : ROOST_PROTOCOL;
}
