/*
 * Reconciliation by counting cuckoo filters, approximately: Li, Luo, Guo: "Multiset Synchronization with Counting
 * Cuckoo Filters" (2020), section 4.1; ../multiset/identify.c has the two ways to find what differs, by query and by
 * decoding.
 *
 * Each side sends a filter of its keys with their counts, and looks its own keys up in that of the other.
 *
 *     initiator                                 responder
 *     OPENING  nothing more                -->
 *                                          <--  FILTER    keys; counting cuckoo filter, a frame
 *     FINDINGS  keys only here; weight of  -->
 *               the rest; filter           <--  FOUND     keys only here; weight of the rest
 *
 * What can go wrong is what the paper says. A key that only one side has, and that falls into the class of a key of the
 * other, is missed; with fingerprints of sixteen bits that is about one in ten thousand. And a count looks different
 * where it is the sum of two keys. But what a filter says to be absent is absent, and where it counts fewer than there
 * are here there are fewer. Both sides compare the weights of what they hold for common, so `complete` reports whether
 * anything was missed. It is not repaired: these methods are for callers who want their two rounds and their bytes; the
 * exact method finds all differences in fewer bytes.
 *
 * Where we differ. (1) In the paper a host sends elements that the other lacks, and makes copies itself of those of
 * which the other has more; here each side names all of its keys whose count differs, so it also marks those of which
 * the other has fewer copies, by the same look-up. (2) Elements follow after the session, when the caller sends them.
 *
 * Bounds. A filter is one message, and as large as the larger set wants, so sets have at most MOST_KEYS keys, for which
 * tables are some twenty megabytes; fewer if their counts are large, and take the filter beyond a message. The
 * responder makes one of that size for any initiator that claims so many keys.
 */
#include "reconcile.h"

#include "roost/multiset.h"

enum ccf_message {
    FILTER = FIRST_OF_METHOD,
    FINDINGS,
    FOUND,
};

#define FINGERPRINT_BITS 16
#define MOST_KEYS        (UINT64_C(1) << 22)
#define MOST_FRAME       (MOST_MESSAGE - 64)
#define SMALL_SET        4096

struct ccf {
    roost_multiset *own;
    bool identified;
    uint64_t only_here;
};

static struct ccf *ccf_of(const struct roost_reconcile *session)
{
    return session->state;
}

static roost_hash key_of(const struct roost_reconcile *session, size_t number)
{
    const struct element *element = &session->set.elements[number];
    return (roost_hash){.low = low_of_key(&session->set, element), .high = element->high};
}

/* ---- own filter ------------------------------------------------------------------------------------------------- */

static roost_status fill(const struct roost_reconcile *session, roost_multiset *filter)
{
    for (size_t i = 0; i < session->set.count; i++) {
        uint64_t copies = count_of(&session->set, &session->set.elements[i]);
        if (copies > ROOST_MOST_COPIES)
            return ROOST_TOO_LARGE;
        roost_status status = roost_multiset_add_hash(filter, NULL, key_of(session, i), copies);
        if (status != ROOST_OK)
            return status == ROOST_FULL ? ROOST_TOO_LARGE : status;
    }
    return ROOST_OK;
}

static roost_status make_own(struct roost_reconcile *session)
{
    uint64_t larger = session->set.count > session->peer_keys ? session->set.count : session->peer_keys;
    if (larger > MOST_KEYS)
        return ROOST_TOO_LARGE;
    roost_multiset_config config = roost_multiset_config_default();
    config.capacity = larger ? larger : 1;
    config.fpr = 0;
    config.fingerprint_bits = FINGERPRINT_BITS;
    config.seed = session->salt;
    roost_status status = roost_multiset_new(&ccf_of(session)->own, &config, &session->environment);
    return status == ROOST_OK ? fill(session, ccf_of(session)->own) : status;
}

static roost_status write_own(struct roost_reconcile *session, struct bit_writer *writer)
{
    roost_buffer frame = {0};
    roost_status status = roost_multiset_encode(ccf_of(session)->own, &frame);
    if (status == ROOST_OK && frame.size > MOST_FRAME)
        status = ROOST_TOO_LARGE;
    if (status == ROOST_OK) {
        write_varint(writer, frame.size);
        write_bytes(writer, frame.data, frame.size);
    }
    roost_buffer_release(&frame);
    return status;
}

/* ---- the other's filter ----------------------------------------------------------------------------------------- */

static roost_bytes read_frame(struct bit_reader *reader)
{
    roost_bytes frame = {.size = read_varint(reader)};
    frame.data = reader->failed || frame.size > reader_bits_left(reader) / 8 ? NULL : read_bytes(reader, frame.size);
    reader->failed |= frame.data == NULL;
    return frame;
}

/* One like our own, and not much larger. */
static roost_status decode_filter(struct roost_reconcile *session, roost_multiset **there, roost_bytes frame)
{
    roost_multiset_info own;
    roost_environment environment = session->environment;
    roost_multiset_get_info(ccf_of(session)->own, &own);
    uint64_t limit = 2 * own.bytes_memory + 64 * (uint64_t)frame.size;
    bool is_limited = environment.memory_limit != 0 && environment.memory_limit <= limit;
    if (!is_limited)
        environment.memory_limit = limit;
    roost_status status = roost_multiset_decode(there, frame.data, frame.size, &environment);
    bool is_ours = status == ROOST_OK || status == ROOST_NO_MEMORY || (status == ROOST_TOO_LARGE && is_limited);
    return is_ours ? status : ROOST_CORRUPT;
}

/* Applies one finding to a key; `theirs` is the other's count of it, which is never too small. */
static void mark(struct roost_reconcile *session, size_t number, const roost_finding *finding, uint64_t theirs)
{
    struct element *element = &session->set.elements[number];
    uint64_t ours = count_of(&session->set, element);
    bool fewer_there = theirs > 0 && theirs < ours, fewer_here = session->config.multiset && finding->fewer_here;
    if (finding->missing_there || fewer_there || fewer_here)
        element->marks = ONLY_HERE;
    if (!finding->missing_there && (fewer_there || fewer_here))
        session_note_changed(session, element, theirs);
    ccf_of(session)->only_here += element->marks & ONLY_HERE;
}

static roost_status mark_all(struct roost_reconcile *session, const roost_multiset *there, roost_copies *copies,
                             roost_finding *findings)
{
    size_t count = session->set.count;
    bool by_query = session->config.method == ROOST_RECONCILE_CCF_QUERY;
    for (size_t i = 0; i < count; i++)
        copies[i] = (roost_copies){key_of(session, i), count_of(&session->set, &session->set.elements[i])};
    roost_status status = roost_multiset_identify(ccf_of(session)->own, findings, there, copies, count,
                                                  by_query ? ROOST_BY_QUERY : ROOST_BY_DECODING);
    if (status == ROOST_OK)
        status = session_make_changed(session, session->config.multiset ? count : 0);
    for (size_t i = 0; i < count && status == ROOST_OK; i++)
        mark(session, i, &findings[i], roost_multiset_count_hash(there, copies[i].hash));
    return status == ROOST_MISMATCH ? ROOST_CORRUPT : status;
}

static roost_status identify(struct roost_reconcile *session, roost_bytes frame)
{
    const roost_allocator *allocator = session_allocator(session);
    roost_multiset *there = NULL;
    roost_status status = decode_filter(session, &there, frame);
    roost_copies *copies = memory_allocate(allocator, (session->set.count + 1) * sizeof *copies);
    roost_finding *findings = memory_allocate(allocator, (session->set.count + 1) * sizeof *findings);
    if (status == ROOST_OK)
        status = copies && findings ? mark_all(session, there, copies, findings) : ROOST_NO_MEMORY;
    ccf_of(session)->identified = true;
    memory_release(allocator, copies);
    memory_release(allocator, findings);
    roost_multiset_free(there);
    return status;
}

/* ---- the conversation ------------------------------------------------------------------------------------------- */

static roost_status open_ccf(struct roost_reconcile *session, struct bit_writer *writer)
{
    session_seal(session, writer);
    return session->set.count > MOST_KEYS ? ROOST_TOO_LARGE : ROOST_OK;
}

static roost_status answer_ccf(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    if (!session_unseal(session, reader))
        return ROOST_CORRUPT;
    roost_status status = make_own(session);
    if (status != ROOST_OK)
        return status;
    write_byte(writer, FILTER);
    write_varint(writer, session->set.count);
    status = write_own(session, writer);
    session_seal(session, writer);
    return status;
}

static void write_result(struct roost_reconcile *session, struct bit_writer *writer, uint8_t type)
{
    write_byte(writer, type);
    write_varint(writer, ccf_of(session)->only_here);
    write_fixed64(writer, (uint64_t)session_common(session));
}

/* A class takes more than a byte, so that no peer causes a large table for keys that it did not send. */
static roost_status take_filter(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    session->peer_keys = read_varint(reader);
    roost_bytes frame = read_frame(reader);
    if (!session_unseal(session, reader) || session->peer_keys > frame.size + SMALL_SET)
        return ROOST_CORRUPT;
    roost_status status = make_own(session);
    if (status == ROOST_OK)
        status = identify(session, frame);
    if (status != ROOST_OK)
        return status;
    write_result(session, writer, FINDINGS);
    status = write_own(session, writer);
    session_seal(session, writer);
    return status;
}

static roost_status conclude(struct roost_reconcile *session, uint64_t only_there, uint64_t weight)
{
    if (only_there > session->peer_keys)
        return ROOST_CORRUPT;
    session->result.only_there = only_there;
    session->result.complete = weight == (uint64_t)session_common(session);
    session_conclude(session);
    return ROOST_OK;
}

static roost_status take_findings(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    uint64_t only_there = read_varint(reader), weight = read_fixed64(reader);
    roost_bytes frame = read_frame(reader);
    if (!session_unseal(session, reader))
        return ROOST_CORRUPT;
    roost_status status = identify(session, frame);
    if (status != ROOST_OK)
        return status;
    write_result(session, writer, FOUND);
    session_seal(session, writer);
    return conclude(session, only_there, weight);
}

static roost_status take_found(struct roost_reconcile *session, struct bit_reader *reader)
{
    uint64_t only_there = read_varint(reader), weight = read_fixed64(reader);
    return session_unseal(session, reader) ? conclude(session, only_there, weight) : ROOST_CORRUPT;
}

static roost_status take_ccf(struct roost_reconcile *session, uint8_t type, struct bit_reader *reader,
                             struct bit_writer *writer)
{
    bool identified = ccf_of(session)->identified;
    if (type == FILTER && session->initiator && !identified)
        return take_filter(session, reader, writer);
    if (type == FINDINGS && !session->initiator && !identified)
        return take_findings(session, reader, writer);
    if (type == FOUND && session->initiator && identified)
        return take_found(session, reader);
    return ROOST_PROTOCOL;
}

static void release_ccf(struct roost_reconcile *session)
{
    roost_multiset_free(ccf_of(session)->own);
}

const struct reconcile_method reconcile_ccf_query = {
    sizeof(struct ccf), open_ccf, answer_ccf, take_ccf, release_ccf, .approximate = true, .room = MOST_MESSAGE};
const struct reconcile_method reconcile_ccf_decode = {
    sizeof(struct ccf), open_ccf, answer_ccf, take_ccf, release_ccf, .approximate = true, .room = MOST_MESSAGE};
