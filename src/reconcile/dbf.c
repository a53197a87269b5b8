/*
 * Reconciliation by distributed Bloom filters: Ramabaja, Avdullahu: "The Distributed Bloom Filter", sections 2.1 to 2.3
 * (distributed_bloom.c has the mapping), made exact.
 *
 * A side sends a Bloom filter of its keys. The receiver concludes that each of its own keys that the filter lacks is
 * only here. Those that the filter takes for present by mistake stay hidden, and the next filter, with the number of
 * the filter in the seed of its mapping, shows most of them. Filters go to and fro until both sides weigh the same.
 *
 *     initiator                                responder
 *     OPENING  weight of all keys         -->  ENDING if that is the same here
 *                                         <--  FILTER, or TURN if the initiator has fewer keys
 *     FILTER   keys; keys in it; their    -->
 *              weight; the filter         <--  FILTER, with another mapping ...
 *     ENDING                                   either side, as soon as its weight is that of the filter that came
 *
 * Why it is exact. A filter has no false negatives: a mark ONLY_HERE is right, given that all messages came as they
 * were sent. So all that is common stays unmarked on both sides; when the weights of what is unmarked agree, these are
 * the same keys (but for a chance of 2^-64), and so nothing else is in common. A filter needs to hold only what is
 * unmarked.
 *
 * Why messages came as they were sent. Marks alone do not show it: where a bit is lost on the way, and a key that both
 * have is marked here, the next filter lacks it, the peer marks it too, and what is left is the same on both sides. So
 * each message is sealed, and a seal covers all messages before it (session_seal). That is enough for damage, and for
 * an attacker who changes one message and puts the right seal on it: the next message shows it. Seals are no secret,
 * though. One who changes a message and puts the seal that its receiver expects on each message after it would not be
 * found out. So the weight in a filter is not that of the keys alone, but a hash of it with the seal of the message
 * before, as its sender saw it: who does not know the keys cannot make the weight that the receiver expects from the
 * one that was sent. A side ends the session by a filter only if this weight is that of its own keys and of the
 * messages that it sent and received, so all of them up to this filter came as they were sent. The array of this last
 * filter may be another one; then the marks that it led to are still those under which the weights agree. The other
 * side ends the session by ENDING, which has a hash of the keys in common.
 *
 * What it costs. A filter of n keys that errs once in 2^k times has 1.44 k n bits: the bytes follow the sets and not
 * the difference, which is why this is not what `auto` does. To show d keys wants k = log2 d or more in all, in
 * whatever portions; many small ones cost time on the way, one large one is waste where d is small. So the first has k
 * = 3, and from then on each side knows enough to guess how many keys the other has left to find: the keys in the
 * other's filter, less those in common as far as known here. (The paper's k is 1, in a network where many peers show
 * the rest.) The side with fewer keys begins, with a k so much larger as the other has more keys: after that, what is
 * unmarked there is not much more than here, and no filter is larger than the smaller set wants.
 *
 * Worked example. Here 1,000 keys, there 1,000, of which 900 are the same. FILTER of k = 3 (540 bytes): there, 87 of
 * 100 are found. FILTER back, of 913 keys: about 100 are guessed to be found here, so k = 8 (1,320 bytes), and all are.
 * FILTER of 900 keys for the 13, k = 5 (810 bytes). Weights agree: ENDING.
 */
#include "reconcile.h"

#include <math.h>

#include "../gossip/distributed_bloom.h"

enum dbf_message {
    FILTER = FIRST_OF_METHOD,
    TURN,
};

#define FIRST_PROBES  3
#define FEWEST_PROBES 2
#define MOST_PROBES   32
/* In both directions; an honest pair needs half a dozen, and with 2 bits or more each the last one changes nothing. */
#define MOST_FILTERS     80
#define MOST_FILTER_BITS ((uint64_t)(MOST_MESSAGE - 256) * 8)

struct dbf {
    uint32_t filters; /* sent and received: the round in the seed */
};

static struct dbf *dbf_of(const struct roost_reconcile *session)
{
    return session->state;
}

/* A hash of what is in common, of how many keys the sender has, and of all messages before: `last` is the seal of the
   last one. */
static uint64_t weight_for(const struct roost_reconcile *session, uint64_t keys, uint64_t last)
{
    uint128 common = session_common(session);
    uint8_t bytes[24];
    store_word(bytes, (uint64_t)common);
    store_word(bytes + 8, (uint64_t)(common >> 64));
    store_word(bytes + 16, keys);
    return hash_bytes(last, bytes, sizeof bytes).low;
}

static roost_hash hash_of(const struct element *element)
{
    return (roost_hash){.low = element->low, .high = element->high};
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* What is unmarked; NULL without memory. */
static roost_hash *hashes_in_common(const struct roost_reconcile *session, size_t *count)
{
    roost_hash *hashes = memory_allocate(session_allocator(session), (session->set.count + 1) * sizeof *hashes);
    *count = 0;
    for (size_t i = 0; hashes && i < session->set.count; i++)
        if (!(session->set.elements[i].marks & ONLY_HERE))
            hashes[(*count)++] = hash_of(&session->set.elements[i]);
    return hashes;
}

/* A filter that fits no message is made smaller, and errs more often. */
static struct bloom_mapping make_mapping(struct roost_reconcile *session, uint32_t probes, uint64_t count)
{
    struct bloom_mapping mapping;
    uint64_t bits;
    uint32_t rounded;
    do
        bloom_mapping_size(&bits, &rounded, ldexp(1, -(int)probes), count);
    while (bits > MOST_FILTER_BITS && --probes > 0);
    bits = bits < MOST_FILTER_BITS ? bits : MOST_FILTER_BITS;
    bloom_mapping_init(&mapping, bits, rounded, pair_seed(session->salt, 0, dbf_of(session)->filters++));
    return mapping;
}

/* Should the answer be that it is over, what is in the filter is what is common. */
static roost_status write_filter(struct roost_reconcile *session, struct bit_writer *writer, uint32_t probes)
{
    size_t count;
    roost_hash *hashes = hashes_in_common(session, &count);
    if (!hashes)
        return ROOST_NO_MEMORY;
    session->result.only_there = session->peer_keys > count ? session->peer_keys - count : 0;
    struct bloom_mapping mapping = make_mapping(session, probes, count);
    write_byte(writer, FILTER);
    write_varint(writer, session->set.count);
    write_varint(writer, count);
    write_fixed64(writer, weight_for(session, session->set.count, session->last_seal));
    bool written = write_distributed_bloom(writer, &mapping, hashes, count);
    session_seal(session, writer);
    memory_release(session_allocator(session), hashes);
    return written ? ROOST_OK : ROOST_NO_MEMORY;
}

/* The first filter is that of the side with fewer keys. */
static roost_status write_first_filter(struct roost_reconcile *session, struct bit_writer *writer)
{
    double times = (double)(session->peer_keys + 1) / (double)(session->set.count + 1);
    return write_filter(session, writer, FIRST_PROBES + (times > 1 ? (uint32_t)ceil(log2(times)) : 0));
}

/* ---- receiving -------------------------------------------------------------------------------------------------- */

/* A filter that came, and what was said about it. */
struct heard {
    uint64_t keys, count, weight;
    uint64_t last; /* seal of the message before */
    struct bloom_mapping mapping;
    const uint8_t *array;
};

static bool read_filter(struct roost_reconcile *session, struct heard *heard, struct bit_reader *reader)
{
    heard->keys = read_varint(reader);
    heard->count = read_varint(reader);
    heard->weight = read_fixed64(reader);
    heard->last = session->last_seal;
    read_distributed_bloom(reader, &heard->mapping, &heard->array,
                           pair_seed(session->salt, 0, dbf_of(session)->filters++));
    return !reader->failed && session_unseal(session, reader) && session_know_peer(session, heard->keys) &&
           heard->count <= heard->keys && dbf_of(session)->filters <= MOST_FILTERS;
}

/* Marks what the filter lacks; answers how many are left unmarked. */
static uint64_t mark_missing(struct roost_reconcile *session, const struct heard *heard, uint64_t *marked)
{
    uint64_t left = 0;
    *marked = 0;
    for (size_t i = 0; i < session->set.count; i++) {
        struct element *element = &session->set.elements[i];
        if (element->marks & ONLY_HERE)
            continue;
        bool there = distributed_bloom_contains(&heard->mapping, heard->array, hash_of(element));
        element->marks = there ? 0 : ONLY_HERE;
        *marked += !there;
        left += there;
    }
    return left;
}

/* How many keys the other side may have left to find, and a filter that shows them. */
static uint32_t probes_for(const struct heard *heard, uint64_t left, uint64_t marked)
{
    double hidden = (double)marked / (exp2(heard->mapping.probes) - 1);
    double there = (double)heard->count - ((double)left - hidden);
    double wanted = ceil(log2(fmax(there, 0) + sqrt(hidden) + 1)) + 1;
    return (uint32_t)fmin(fmax(wanted, FEWEST_PROBES), MOST_PROBES);
}

static roost_status take_filter(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct heard heard = {0};
    if (!read_filter(session, &heard, reader))
        return ROOST_CORRUPT;
    uint64_t marked, left = mark_missing(session, &heard, &marked);
    if (left != heard.count || weight_for(session, heard.keys, heard.last) != heard.weight)
        return write_filter(session, writer, probes_for(&heard, left, marked));
    session->result.only_there = heard.keys - left;
    return session_end(session, writer);
}

/* ---- the conversation ------------------------------------------------------------------------------------------- */

static roost_status open_dbf(struct roost_reconcile *session, struct bit_writer *writer)
{
    write_fixed64(writer, weight_for(session, session->set.count, 0));
    session_seal(session, writer);
    return ROOST_OK;
}

static roost_status answer_dbf(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    uint64_t weight = read_fixed64(reader);
    if (!session_unseal(session, reader) || session->peer_keys > UINT32_MAX)
        return ROOST_CORRUPT;
    if (session->peer_keys == session->set.count && weight == weight_for(session, session->peer_keys, 0))
        return session_end(session, writer);
    if (session->set.count <= session->peer_keys)
        return write_first_filter(session, writer);
    write_byte(writer, TURN);
    write_varint(writer, session->set.count);
    session_seal(session, writer);
    return ROOST_OK;
}

static roost_status take_turn(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    uint64_t keys = read_varint(reader);
    if (!session_unseal(session, reader) || !session_know_peer(session, keys))
        return ROOST_CORRUPT;
    return write_first_filter(session, writer);
}

static roost_status take_dbf(struct roost_reconcile *session, uint8_t type, struct bit_reader *reader,
                             struct bit_writer *writer)
{
    if (type == FILTER)
        return take_filter(session, reader, writer);
    bool may_turn = type == TURN && session->initiator && dbf_of(session)->filters == 0;
    return may_turn ? take_turn(session, reader, writer) : ROOST_PROTOCOL;
}

static void release_dbf(struct roost_reconcile *session)
{
    (void)session;
}

const struct reconcile_method reconcile_dbf = {sizeof(struct dbf), open_dbf,          answer_dbf,     take_dbf,
                                               release_dbf,        .sets_only = true, .chained = true};
