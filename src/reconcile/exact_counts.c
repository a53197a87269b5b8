/*
 * The counts of a multiset. Its elements are pairs of a key and a count, so a key that both sides have, in different
 * numbers, shows up as one pair that is only here and one that is only there. Which of those belong together?
 *
 * All pairs of one key are in the same cell, and the reported hashes begin with bits that the key alone determines. So
 * of the few pairs of that cell that are only here, at most one or two come into question for each that is only there,
 * and seven bits more of a hash of the key decide which. A sum over all that were matched, of a hash of the whole key
 * and both counts, proves it, and that the request was understood; if it is wrong, or a key fits two, they are
 * requested again with more bits.
 *
 * What a request costs. Our pairs that are only here are sorted by cell and hash of the key, so that those that come
 * into question stand together. A peer may have put all elements into one cell and ask with a single bit: once it has
 * us look at more than MOST_LOOKS pairs for each pair of either side, the request counts as ambiguous. With more bits
 * fewer come into question. A request has more bits than the one before it, so there are few.
 *
 *     COUNTS    bits | for each reported element, in that order: so many bits of a hash of its key, its count
 *     COUNTED   1: ambiguous, request with more bits | 0, then for each: 1 bit whether the key is here, then by how
 *               much its count differs; sum, 8
 */
#include "exact.h"

#define FIRST_BITS 7
#define MORE_BITS  12
#define MOST_BITS  56
#define MOST_LOOKS 64

static uint64_t key_hash(const struct roost_reconcile *session, const struct element *element, unsigned bits)
{
    struct element key = {.high = element->high, .low = low_of_key(&session->set, element)};
    return element_hash(session_key(session, FOR_COUNTS), &key) >> (64 - bits);
}

/* The weight of a key with both its counts; the sketching side's count is the first. */
static uint64_t match_weight(const struct roost_reconcile *session, const struct element *element, uint64_t first,
                             uint64_t second)
{
    struct element match = {.high = element->high ^ scramble_count(first),
                            .low = low_of_key(&session->set, element) ^ rotate_left(scramble_count(second), 17)};
    return (uint64_t)element_weight(session_key(session, FOR_COUNTS), &match);
}

/* What was requested for one element, so that the answer proves that exactly this was understood. */
static uint64_t question_weight(const struct roost_reconcile *session, size_t number, uint64_t hash, uint64_t count)
{
    return multiply_and_fold(hash ^ session->salt, scramble_count(count) + 2 * number + 1);
}

/* Writes a count as its difference from the other, which both sides know; the two are not equal. */
static void write_count_beside(struct bit_writer *writer, uint64_t count, uint64_t other)
{
    write_bits(writer, count < other, 1);
    write_gamma(writer, count < other ? other - count : count - other);
}

/* Behind a bit that says whether there is any: 0 if not. Nonsense comes out as a count that proves wrong. */
static uint64_t read_count_beside(struct bit_reader *reader, uint64_t other)
{
    if (!read_bits(reader, 1))
        return 0;
    bool below = read_bits(reader, 1);
    uint64_t difference = read_gamma(reader);
    return below ? other - difference : other + difference;
}

/* ---- requesting -------------------------------------------------------------------------------------------------- */

roost_status request_counts(struct roost_reconcile *session, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    if (exact->count_bits > MOST_BITS)
        return ROOST_CORRUPT;
    exact->count_bits = exact->count_bits ? exact->count_bits : FIRST_BITS;
    write_byte(writer, COUNTS);
    write_byte(writer, (uint8_t)exact->count_bits);
    for (size_t i = 0; i < exact->reported_count; i++) {
        const struct element *element = &session->set.elements[exact->reported[i].element];
        write_bits(writer, key_hash(session, element, exact->count_bits), exact->count_bits);
        write_gamma(writer, count_of(&session->set, element));
    }
    return ROOST_OK;
}

static roost_status request_more_bits(struct roost_reconcile *session, struct bit_writer *writer)
{
    exact_of(session)->count_bits += MORE_BITS;
    return request_counts(session, writer);
}

roost_status take_counts(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    uint8_t unclear = read_byte(reader);
    if (reader->failed || unclear > 1 || !exact->count_bits)
        return ROOST_CORRUPT;
    if (unclear)
        return request_more_bits(session, writer);
    uint64_t sum = 0;
    roost_status status = session_make_changed(session, exact->reported_count);
    for (size_t i = 0; i < exact->reported_count && status == ROOST_OK; i++) {
        const struct element *element = &session->set.elements[exact->reported[i].element];
        uint64_t here = count_of(&session->set, element), there = read_count_beside(reader, here);
        if (there)
            session_note_changed(session, element, there);
        sum += question_weight(session, i, key_hash(session, element, exact->count_bits), here);
        sum += there ? match_weight(session, element, here, there) : 0;
    }
    read_alignment(reader);
    uint64_t reported = read_fixed64(reader);
    if (status == ROOST_OK && (reader->failed || reader_bits_left(reader) != 0))
        status = ROOST_CORRUPT;
    if (status != ROOST_OK)
        return status;
    return sum == reported ? session_end(session, writer) : request_more_bits(session, writer);
}

/* ---- responding -------------------------------------------------------------------------------------------------- */

/* Our elements that are only here, sorted by their cells, and within a cell by the hashes of their keys: the key of a
   pair has the number of the cell above 32 bits of the hash. */
struct candidates {
    struct sort_pair *pairs;
    size_t count;
    uint64_t looks; /* at pairs, that are left */
};

static uint64_t cell_of(const struct roost_reconcile *session, const struct element *element)
{
    return scale_to_range(element->high, exact_of(session)->plan.cells);
}

static roost_status find_candidates(const struct roost_reconcile *session, struct candidates *candidates)
{
    size_t room = session->set.count + 1;
    candidates->pairs = memory_allocate(session_allocator(session), 2 * room * sizeof *candidates->pairs);
    if (!candidates->pairs)
        return ROOST_NO_MEMORY;
    for (size_t i = 0; i < session->set.count; i++) {
        const struct element *element = &session->set.elements[i];
        if (element->marks & ONLY_HERE)
            candidates->pairs[candidates->count++] =
                (struct sort_pair){cell_of(session, element) << 32 | key_hash(session, element, 32), i};
    }
    sort_pairs(candidates->pairs, candidates->pairs + room, candidates->count, 64);
    candidates->looks = MOST_LOOKS * (room + exact_of(session)->reported_count);
    return ROOST_OK;
}

static size_t first_candidate(const struct candidates *candidates, uint64_t key)
{
    return place_in_sorted(candidates->pairs, candidates->count, sizeof *candidates->pairs, key);
}

/* How many of our elements may have the key of a reported one; *found is one of them. With the same count it would
   not be different. */
static size_t find_match(const struct roost_reconcile *session, struct candidates *candidates,
                         const struct reported *reported, uint64_t hash, unsigned bits, uint64_t count,
                         const struct element **found)
{
    struct cell_hash of_cell = cell_hash_of(session, reported->salt);
    unsigned unknown = bits < 32 ? 32 - bits : 0;
    uint64_t first = (uint64_t)reported->cell << 32 | (bits < 32 ? hash << unknown : hash >> (bits - 32));
    size_t matches = 0;
    for (size_t i = first_candidate(candidates, first); i < candidates->count && candidates->looks > 0; i++) {
        const struct element *element = &session->set.elements[candidates->pairs[i].value];
        if (candidates->pairs[i].key >> unknown != first >> unknown)
            break;
        candidates->looks--;
        bool same_start = hash_in_cell(&of_cell, element) >> of_cell.count_bits == reported->hash >> of_cell.count_bits;
        if (!same_start || key_hash(session, element, bits) != hash || count_of(&session->set, element) == count)
            continue;
        *found = element;
        matches++;
    }
    return matches;
}

/* Writes behind the byte that says that all is clear; false: it is not. */
static bool answer_all(struct roost_reconcile *session, struct candidates *candidates, struct bit_reader *reader,
                       unsigned bits, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    uint64_t sum = 0;
    for (size_t i = 0; i < exact->reported_count && !reader->failed; i++) {
        const struct element *element = NULL;
        uint64_t hash = read_bits(reader, bits), there = read_gamma(reader);
        size_t matches = find_match(session, candidates, &exact->reported[i], hash, bits, there, &element);
        if (matches > 1 || candidates->looks == 0)
            return false;
        sum += question_weight(session, i, hash, there);
        write_bits(writer, matches, 1);
        if (!element)
            continue;
        uint64_t here = count_of(&session->set, element);
        write_count_beside(writer, here, there);
        session_note_changed(session, element, there);
        sum += match_weight(session, element, there, here);
    }
    write_alignment(writer);
    write_fixed64(writer, sum);
    return true;
}

roost_status answer_counts(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct exact *exact = exact_of(session);
    struct candidates candidates = {0};
    unsigned bits = read_byte(reader);
    if (reader->failed || bits <= exact->count_bits || bits > MOST_BITS)
        return ROOST_CORRUPT;
    exact->count_bits = bits;
    struct bit_writer answer;
    bit_writer_init(&answer, *session_allocator(session));
    roost_status status = session_make_changed(session, exact->reported_count);
    if (status == ROOST_OK)
        status = find_candidates(session, &candidates);
    bool clear = status == ROOST_OK && answer_all(session, &candidates, reader, bits, &answer);
    if (status == ROOST_OK && (reader->failed || answer.failed))
        status = reader->failed ? ROOST_CORRUPT : ROOST_NO_MEMORY;
    write_byte(writer, COUNTED);
    write_byte(writer, !clear);
    if (clear)
        write_bytes(writer, answer.buffer.data, answer.buffer.size);
    bit_writer_release(&answer);
    memory_release(session_allocator(session), candidates.pairs);
    return status;
}
