/*
 * The window of the exact method. Both sides keep the same cells over their own elements, and change their states by
 * the same rules, so that few bytes say which cells a message is about.
 */
#include "exact.h"

#include <string.h>

#define HASHED_AT_ONCE 256
#define KEPT_NUMBERS   ((size_t)1 << 16)

/* ---- memory ----------------------------------------------------------------------------------------------------- */

roost_status make_numbers(struct roost_reconcile *session, size_t count)
{
    struct exact *exact = exact_of(session);
    const roost_allocator *allocator = session_allocator(session);
    if (count <= exact->room)
        return ROOST_OK;
    memory_release(allocator, exact->numbers);
    memory_release(allocator, exact->spare);
    exact->numbers = memory_allocate(allocator, count * sizeof *exact->numbers);
    exact->spare = memory_allocate(allocator, count * sizeof *exact->spare);
    exact->room = exact->numbers && exact->spare ? count : 0;
    return exact->room ? ROOST_OK : ROOST_NO_MEMORY;
}

void drop_numbers(struct roost_reconcile *session)
{
    struct exact *exact = exact_of(session);
    const roost_allocator *allocator = session_allocator(session);
    if (exact->room <= KEPT_NUMBERS)
        return;
    memory_release(allocator, exact->numbers);
    memory_release(allocator, exact->spare);
    exact->numbers = exact->spare = NULL;
    exact->room = 0;
}

static void forget_sketch(struct roost_reconcile *session, struct cell *cell)
{
    memory_release(session_allocator(session), cell->known);
    cell->known = NULL;
    cell->known_count = 0;
    cell->listed = false;
}

void window_release(struct roost_reconcile *session)
{
    struct exact *exact = exact_of(session);
    for (size_t i = 0; i < exact->count; i++)
        forget_sketch(session, &exact->cells[i]);
    memory_release(session_allocator(session), exact->cells);
    memory_release(session_allocator(session), exact->open);
    exact->cells = NULL;
    exact->open = NULL;
    exact->count = exact->open_count = 0;
}

/* ---- the window ------------------------------------------------------------------------------------------------- */

/* The first element of a cell of the partition. */
static size_t first_of_cell(const struct roost_reconcile *session, uint64_t cell)
{
    uint64_t cells = exact_of(session)->plan.cells;
    if (cell >= cells)
        return session->set.count;
    return element_set_find(&session->set, (uint64_t)((((uint128)cell << 64) + cells - 1) / cells));
}

void cell_reset(struct roost_reconcile *session, struct cell *cell)
{
    struct element_key key = session_key(session, FOR_WEIGHTS);
    forget_sketch(session, cell);
    cell->state = CELL_FRESH;
    cell->weight = 0;
    for (uint32_t i = cell->from; i < cell->to; i++) {
        session->set.elements[i].marks = 0;
        cell->weight += element_weight(key, &session->set.elements[i]);
    }
}

static roost_status make_cells(struct roost_reconcile *session, size_t count)
{
    struct exact *exact = exact_of(session);
    window_release(session);
    exact->cells = memory_allocate(session_allocator(session), count * sizeof *exact->cells);
    exact->open = memory_allocate(session_allocator(session), count * sizeof *exact->open);
    if (!exact->cells || !exact->open)
        return ROOST_NO_MEMORY;
    exact->count = count;
    return ROOST_OK;
}

/* What was reported before the window stands before the rest. A window that follows another leaves both as they are,
   however many follow. */
static void forget_from_window(struct exact *exact, uint64_t first)
{
    if (first == 0)
        exact->reported_count = 0;
    else if (first == exact->first)
        exact->reported_count = exact->reported_before;
    exact->reported_before = exact->reported_count;
}

roost_status window_begin(struct roost_reconcile *session, uint64_t first, size_t count)
{
    struct exact *exact = exact_of(session);
    roost_status status = make_cells(session, count);
    if (status != ROOST_OK)
        return status;
    exact->field = field_of_bits(exact->plan.bits);
    forget_from_window(exact, first);
    exact->first = first;
    exact->rounds = 0;
    size_t from = first_of_cell(session, first);
    for (size_t i = 0; i < count; i++) {
        struct cell *cell = &exact->cells[i];
        size_t to = first_of_cell(session, first + i + 1);
        cell->from = (uint32_t)from;
        cell->to = (uint32_t)to;
        cell_reset(session, cell);
        from = to;
    }
    window_open_cells(exact);
    return ROOST_OK;
}

uint128 window_weight(const struct roost_reconcile *session)
{
    const struct exact *exact = exact_of(session);
    uint128 sum = session_weight(session);
    for (size_t i = 0; i < exact->count; i++)
        sum += exact->cells[i].weight;
    return sum;
}

uint64_t window_check(const struct roost_reconcile *session, uint64_t only_there)
{
    return (uint64_t)window_weight(session) + only_there * UINT64_C(0x9e3779b97f4a7c15);
}

void window_open_cells(struct exact *exact)
{
    exact->salts++;
    exact->open_count = 0;
    for (size_t i = 0; i < exact->count; i++) {
        struct cell *cell = &exact->cells[i];
        if (cell->state == CELL_FRESH)
            cell->salt = exact->salts;
        if (cell->state == CELL_FRESH || cell->state == CELL_WANTS)
            exact->open[exact->open_count++] = i;
    }
}

/* The sketching side has nothing to take back: it looks before it believes. */
void cell_was_misread(struct roost_reconcile *session, struct cell *cell)
{
    struct exact *exact = exact_of(session);
    for (uint32_t i = cell->from; !exact->sketching && i < cell->to; i++) {
        struct element *element = &session->set.elements[i];
        element->marks ^= element->marks & JUST_TURNED ? ONLY_HERE | JUST_TURNED : 0;
    }
    if (!exact->sketching) {
        cell->weight = cell->weight_before;
        cell->forgotten = cell->salt;
    }
    cell->state = CELL_WANTS;
}

void cell_starts_afresh(struct roost_reconcile *session, struct cell *cell)
{
    forget_sketch(session, cell);
    cell->state = CELL_FRESH;
}

/* ---- hashes ----------------------------------------------------------------------------------------------------- */

struct cell_hash cell_hash_of(const struct roost_reconcile *session, uint32_t salt)
{
    return (struct cell_hash){session_key(session, FOR_SKETCH + (uint64_t)salt), exact_of(session)->plan.bits,
                              session->config.multiset ? COUNT_BITS : 0, &session->set};
}

void cell_add_sums(const struct roost_reconcile *session, const struct cell *cell, uint64_t *sums, size_t count)
{
    const struct pin_sketch_kernel *kernel = pin_sketch_in_use();
    struct cell_hash hash = cell_hash_of(session, cell->salt);
    uint64_t hashes[HASHED_AT_ONCE];
    size_t held = 0;
    for (uint32_t i = cell->from; i < cell->to; i++) {
        const struct element *element = &session->set.elements[i];
        if (!(element->marks & ONLY_HERE))
            hashes[held++] = hash_in_cell(&hash, element);
        if (held == HASHED_AT_ONCE) {
            kernel->add(&exact_of(session)->field, sums, count, hashes, held);
            held = 0;
        }
    }
    kernel->add(&exact_of(session)->field, sums, count, hashes, held);
}

roost_status cell_sort(struct roost_reconcile *session, const struct cell *cell, unsigned *shift)
{
    struct exact *exact = exact_of(session);
    size_t count = cell->to - cell->from;
    struct cell_hash hash = cell_hash_of(session, cell->salt);
    roost_status status = make_numbers(session, count + 1);
    *shift = count > 1 ? highest_bit(count - 1) + 1 : 0;
    if (status != ROOST_OK)
        return status;
    uint32_t marks = 0;
    for (size_t i = 0; i < count; i++) {
        const struct element *element = &session->set.elements[cell->from + i];
        exact->numbers[i] = hash_in_cell(&hash, element) << *shift | i;
        marks |= element->marks;
    }
    exact->any_only_here = marks & ONLY_HERE;
    sort_numbers(exact->numbers, exact->spare, count, hash.bits + *shift);
    return ROOST_OK;
}

/* ---- what was reported ------------------------------------------------------------------------------------------- */

uint128 reported_weight(const struct roost_reconcile *session, uint64_t cell, uint32_t salt, uint64_t hash)
{
    uint64_t place = multiply_and_fold(cell ^ session->salt, UINT64_C(0x9fb21c651e98df25)) + salt;
    return hash_number(place, hash);
}

roost_status reported_append(struct roost_reconcile *session, struct reported reported)
{
    struct exact *exact = exact_of(session);
    const roost_allocator *allocator = session_allocator(session);
    if (exact->reported_count == exact->reported_room) {
        size_t room = exact->reported_room ? 2 * exact->reported_room : 64;
        struct reported *larger = memory_allocate(allocator, room * sizeof *larger);
        if (!larger)
            return ROOST_NO_MEMORY;
        if (exact->reported_count)
            memcpy(larger, exact->reported, exact->reported_count * sizeof *larger);
        memory_release(allocator, exact->reported);
        exact->reported = larger;
        exact->reported_room = room;
    }
    exact->reported[exact->reported_count++] = reported;
    return ROOST_OK;
}

static bool is_forgotten(const struct exact *exact, const struct reported *reported)
{
    uint32_t forgotten = exact->cells[reported->cell - exact->first].forgotten;
    return forgotten == ALL_SALTS || (forgotten && forgotten == reported->salt);
}

void reported_forget(struct exact *exact)
{
    size_t kept = exact->reported_before;
    for (size_t i = kept; i < exact->reported_count; i++)
        if (!is_forgotten(exact, &exact->reported[i]))
            exact->reported[kept++] = exact->reported[i];
    exact->reported_count = kept;
    for (size_t i = 0; i < exact->count; i++)
        exact->cells[i].forgotten = 0;
}
