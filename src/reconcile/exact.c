/*
 * The exact method: bytes follow the difference, whose size need not be known.
 *
 * The idea. PinSketch (pin_sketch.h) finds a difference of t elements from t numbers, the fewest possible, but in time
 * that grows with t squared, and the numbers have to be as wide as the identities of elements. So the elements are cut
 * into cells, by their hashes, so many that each has about a dozen differences; and within a cell of N elements hashes
 * of log2(N) + 5 bits or so do. Such short hashes collide now and then: one difference in thirty or so shares its hash
 * with another element. That is found by a check, and mended by a second, tiny sketch of that cell with another salt.
 * (T. Gong et al., "Space- and Computationally-Efficient Set Reconciliation via Parity Bitmap Sketch" (2020), part the
 * elements for the same reason; cells that are resolved one side at a time, ranks instead of hashes in the answer, and
 * short hashes with repair are ours.)
 *
 *     sketching side                                            decoding side
 *     OPENING  12 sums of all elements, 29 bits each for    -->
 *              a million: ten differences end here
 *                                                           <-- REPORT, or, if these were too few: ESTIMATED,
 *                                                               an estimator
 *     WINDOW   sketches of all cells, sized by the estimate -->
 *                                                           <-- REPORT: which cells want more; the elements that
 *                                                               are only on the sketching side; checks
 *     MORE     more sums, second sketches                   -->
 *                                                           <-- REPORT ...
 *     ENDING                                                -->
 *
 * The initiator begins as the side that sketches. If the responder has far fewer elements, so that listing those is
 * cheapest, START makes the sides change places.
 *
 * What each knows. The decoding side learns hashes of what is only there, and which of its own elements are only here.
 * It knows then all hashes that the sketch of the other was made of, so it names those that are only there by their
 * rank among them, which is shorter than the hash and short compared with log2 of the whole set: the two directions
 * together cost little more than the decoding.
 *
 * Why it is exact. Let A and B be the two sets, and A', B' those parts that each believes in common.
 *   1. The sketching side marks an element only where the other has named its hash, having no element of that hash in
 *      the cell, marked or not: so it is not in B. (Should the decoding have gone wrong, ranks would mean other
 *      elements; a check of 4 or 12 bits for each cell, and the weight of all reported hashes, in the 64-bit weight
 *      at the end, detect that.)
 *   2. At the end the weights of A' and B' are equal, and so A' = B' but for a chance of 2^-64.
 *   3. So A - A' and B - B' are all that is in one set alone: an element of A - A' is not in B by 1, and one of B - B'
 *      would, if it were in A, be in A - A' by 2, and so not in B.
 * The decoding side may mark wrongly on the way (its element shares a hash with one that is only there); the next
 * sketch shows that element as different, and it is turned back.
 *
 * Why it ends. A cell that cannot be decoded gets more sums, and, once that is shorter, the list of its hashes; that
 * cannot fail. Each round has new random hashes, and so other collisions. A cell whose check passed by accident (10
 * bits) is found by an audit when the weights of the whole window disagree, and starts from the beginning. If a window
 * is not resolved within MOST_ROUNDS, everything begins again with longer hashes.
 *
 * Large differences. A message has at most some megabytes, so cells are resolved in windows, one after the other.
 *
 * Worked example. A = {2, 3, 5, 7} and B = {2, 3, 5, 8} in one cell, hashes of 8 bits being the numbers themselves. A's
 * first sums are 2^3^5^7 = 3 and the XOR of the cubes. B adds its own: 7^8 = 15, and 7^3 + 8^3. Two sums, and a
 * recurrence of length two, z^2 + 15 z + c, whose roots are 7 and 8. B has an 8, and marks it. It has no 7: A's hashes
 * were 2, 3, 5, 7, so it reports the rank 3. A marks its fourth. Both weigh {2, 3, 5}.
 */
#include "exact.h"

#include <math.h>

/* Up to this many differences the first sketch is extended instead of replaced. */
#define MOST_IN_ONE_CELL 40
#define FEWEST_MORE      2
/* Where cells cannot be resolved, hashes get this many bits more: an attacker's elements may all be in one cell. */
#define MORE_BITS 8

static roost_status open_exact(struct roost_reconcile *session, struct bit_writer *writer)
{
    return sketch_first(session, writer);
}

static roost_status answer_exact(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    return decode_first(session, reader, writer);
}

static void release_exact(struct roost_reconcile *session)
{
    struct exact *exact = exact_of(session);
    const roost_allocator *allocator = session_allocator(session);
    window_release(session);
    memory_release(allocator, exact->reported);
    memory_release(allocator, exact->numbers);
    memory_release(allocator, exact->spare);
    memory_release(allocator, exact->scratch);
}

/* ---- estimates -------------------------------------------------------------------------------------------------- */

void write_estimated(struct roost_reconcile *session, struct bit_writer *writer)
{
    struct estimator estimator = estimator_of(session, estimator_levels(session->set.count + session->peer_keys));
    write_byte(writer, ESTIMATED);
    write_varint(writer, session->set.count);
    write_byte(writer, (uint8_t)estimator.levels);
    for (unsigned i = 0; i < estimator.levels * LEVEL_WORDS; i++)
        write_fixed64(writer, estimator.parities[i / LEVEL_WORDS][i % LEVEL_WORDS]);
}

/* The other side has fewer elements, and is to list them. */
static roost_status write_start(struct roost_reconcile *session, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    exact->sketching = false;
    exact->restarts = 0;
    window_release(session);
    write_byte(writer, START);
    write_varint(writer, exact->plan.cells);
    write_byte(writer, (uint8_t)exact->plan.bits);
    return ROOST_OK;
}

static roost_status begin_best_plan(struct roost_reconcile *session, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    exact->plan = best_plan(session->set.count, session->peer_keys, exact->difference, session->config.multiset);
    if (exact->plan.sums == 0 && session->peer_keys < session->set.count)
        return write_start(session, writer);
    return sketch_window(session, writer, 0);
}

/* Sums that the first sketch lacks, where it was too small by a little; an estimate that says otherwise is too low. */
static uint32_t more_of_first(const struct exact *exact)
{
    const uint32_t half = exact->plan.sums / 2;
    double more = exact->difference * 1.2 - half;
    return more < FEWEST_MORE ? FEWEST_MORE : (uint32_t)more;
}

static roost_status take_estimated(struct roost_reconcile *session, struct bit_reader *reader,
                                   struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    struct estimator there = {0};
    bool fits = session_know_peer(session, read_varint(reader));
    there.levels = read_byte(reader);
    if (reader->failed || !fits || there.levels == 0 || there.levels > MOST_LEVELS)
        return ROOST_CORRUPT;
    for (unsigned i = 0; i < there.levels * LEVEL_WORDS; i++)
        there.parities[i / LEVEL_WORDS][i % LEVEL_WORDS] = read_fixed64(reader);
    if (reader->failed || reader_bits_left(reader) != 0)
        return ROOST_CORRUPT;
    struct estimator here = estimator_of(session, there.levels);
    exact->difference = estimate_difference(&here, &there, session->set.count, session->peer_keys);
    if (exact->rounds == 0 && !exact->requested_estimate && exact->difference <= MOST_IN_ONE_CELL)
        return sketch_more_of_first(session, writer, more_of_first(exact));
    return begin_best_plan(session, writer);
}

/* ---- windows ---------------------------------------------------------------------------------------------------- */

roost_status exact_next_window(struct roost_reconcile *session, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    uint64_t next = exact->first + exact->count;
    if (next < exact->plan.cells)
        return sketch_window(session, writer, next);
    return session->config.multiset ? request_counts(session, writer) : session_end(session, writer);
}

roost_status exact_restart(struct roost_reconcile *session, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    if (++exact->restarts > MOST_RESTARTS)
        return ROOST_CORRUPT;
    if (!session->initiator || exact->plan.cells > 1) {
        exact->plan.bits =
            exact->plan.bits + MORE_BITS < MOST_FIELD_BITS ? exact->plan.bits + MORE_BITS : MOST_FIELD_BITS;
        return sketch_window(session, writer, 0);
    }
    if (exact->difference > 0)
        return begin_best_plan(session, writer);
    exact->requested_estimate = true;
    write_byte(writer, ESTIMATE);
    return ROOST_OK;
}

static roost_status take_start(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    uint64_t cells = read_varint(reader);
    unsigned bits = read_byte(reader);
    if (reader->failed || reader_bits_left(reader) != 0 || session->initiator || exact->sketching || cells == 0 ||
        cells > session->set.count + 1 || bits < FEWEST_FIELD_BITS || bits > MOST_FIELD_BITS)
        return ROOST_CORRUPT;
    exact->sketching = true;
    exact->plan = (struct plan){cells, bits, 0};
    return sketch_window(session, writer, 0);
}

static roost_status take_estimate(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    if (reader_bits_left(reader) != 0)
        return ROOST_CORRUPT;
    write_estimated(session, writer);
    return ROOST_OK;
}

/* ---- the conversation ------------------------------------------------------------------------------------------- */

static roost_status take_as_sketching(struct roost_reconcile *session, uint8_t type, struct bit_reader *reader,
                                      struct bit_writer *writer)
{
    switch (type) {
    case REPORT:
        return sketch_take_report(session, reader, writer);
    case AUDITED:
        return sketch_take_audited(session, reader, writer);
    case COUNTED:
        return take_counts(session, reader, writer);
    case ESTIMATED:
        return session->initiator ? take_estimated(session, reader, writer) : ROOST_PROTOCOL;
    default:
        return ROOST_PROTOCOL;
    }
}

static roost_status take_as_decoding(struct roost_reconcile *session, uint8_t type, struct bit_reader *reader,
                                     struct bit_writer *writer)
{
    switch (type) {
    case WINDOW:
        return decode_window(session, reader, writer);
    case MORE:
        return decode_more(session, reader, writer);
    case AUDIT:
        return decode_audit(session, reader, writer);
    case COUNTS:
        return session->config.multiset ? answer_counts(session, reader, writer) : ROOST_PROTOCOL;
    case ESTIMATE:
        return session->initiator ? ROOST_PROTOCOL : take_estimate(session, reader, writer);
    case START:
        return take_start(session, reader, writer);
    default:
        return ROOST_PROTOCOL;
    }
}

static roost_status take_exact(struct roost_reconcile *session, uint8_t type, struct bit_reader *reader,
                               struct bit_writer *writer)
{
    return exact_of(session)->sketching ? take_as_sketching(session, type, reader, writer)
                                        : take_as_decoding(session, type, reader, writer);
}

const struct reconcile_method reconcile_exact = {sizeof(struct exact), open_exact,    answer_exact,
                                                 take_exact,           release_exact, .sets_only = false};
