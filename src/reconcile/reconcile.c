/*
 * The session: everything about a reconciliation that does not depend on how the difference is found.
 *
 *     OPENING   72 | version | method, bit 7: multiset | salt, 8 | number of keys, varint | of the method
 *     ENDING    65 | bits 64 to 95 of the weight of what both have in common, 4 | where seals are chained: seal, 8
  *     FAILED    58 | status
 *
 * What a peer can make us do is bounded. A message has at most MOST_MESSAGE bytes, and a method has to justify what it
 * allocates by the bytes that came. All messages together have at most ROOM_TO_TALK bytes and so many more for each of
 * our own keys: an honest peer never has to send more than a list of our keys would take, since both methods send the
 * list of the side with fewer keys once that is shorter. That also bounds the number of messages. (A filter of the
 * peer's keys is as large as these want it; a method that sends one whatever the other side has states how much room it
 * needs.) Whatever a session allocates, its own keys included, stays within the memory limit of its environment.
 *
 * Guarantees. Messages that arrive as they were sent: the result is exact, but for a chance of 2^-64. A message that
 * was damaged, cut, replaced or forged on the way, with the right seal or without: an error, or still the exact result;
 * the weights that are compared at the end are keyed hashes of the keys, and cannot be forged without knowing the keys.
 * An attacker who rewrites all messages can impersonate a peer that holds keys which the attacker knows, or none, and a
 * peer may claim to hold any keys: then the result is that for the claimed set. It is one that some set would give
 * (`fits_peer`: keys here, less those only here, plus those only there, are the peer's), it names no key that is not
 * here, and it costs no more than stated above.
 */
#include "reconcile.h"

#include <string.h>

#include "../base/entropy.h"

#define MULTISET            0x80
#define ROOM_TO_TALK        ((uint64_t)64 << 10)
#define ROOM_FOR_KEY        48
#define ENDING_HASH(common) ((uint32_t)((common) >> 64))

static const struct reconcile_method *const methods[] = {
    [ROOST_RECONCILE_AUTO] = &reconcile_exact,
    [ROOST_RECONCILE_RIBLT] = &reconcile_riblt,
    [ROOST_RECONCILE_DBF] = &reconcile_dbf,
    [ROOST_RECONCILE_CCF_QUERY] = &reconcile_ccf_query,
    [ROOST_RECONCILE_CCF_DECODE] = &reconcile_ccf_decode,
};

#define METHODS (sizeof methods / sizeof *methods)

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Before each block stands its size; sixteen bytes, so that what is behind it is aligned for anything. */
#define BLOCK_HEADER 16

static void *budget_allocate(void *context, size_t size)
{
    struct memory_budget *budget = context;
    if (size > SIZE_MAX - BLOCK_HEADER || (budget->limit && size > budget->limit - budget->taken)) {
        budget->refused = true;
        return NULL;
    }
    uint8_t *block = memory_allocate(&budget->outer, size + BLOCK_HEADER);
    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    budget->taken += size;
    return block + BLOCK_HEADER;
}

static void budget_release(void *context, void *memory)
{
    struct memory_budget *budget = context;
    uint8_t *block = (uint8_t *)memory - BLOCK_HEADER;
    size_t size;
    memcpy(&size, block, sizeof size);
    budget->taken -= size;
    memory_release(&budget->outer, block);
}

/* Lack of memory within the budget is a limit, and not the machine's. */
static roost_status status_within(struct roost_reconcile *session, roost_status status)
{
    bool limited = status == ROOST_NO_MEMORY && session->budget.refused;
    session->budget.refused = false;
    return limited ? ROOST_TOO_LARGE : status;
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static roost_status make(struct roost_reconcile **made, const roost_reconcile_config *config,
                         const roost_environment *environment)
{
    *made = NULL;
    roost_environment surroundings = environment ? *environment : (roost_environment){0};
    surroundings.allocator = allocator_or_default(surroundings.allocator);
    surroundings.entropy = entropy_or_default(surroundings.entropy);
    const struct reconcile_method *method = methods[config->method];
    struct roost_reconcile *session = memory_allocate(&surroundings.allocator, sizeof *session);
    if (!session)
        return ROOST_NO_MEMORY;
    session->config = *config;
    session->budget = (struct memory_budget){.outer = surroundings.allocator, .limit = surroundings.memory_limit};
    session->environment = surroundings;
    session->environment.allocator = (roost_allocator){&session->budget, budget_allocate, budget_release};
    session->method = method;
    session->state = memory_allocate(session_allocator(session), method->state_size);
    if (!session->state) {
        roost_status status = status_within(session, ROOST_NO_MEMORY);
        memory_release(&surroundings.allocator, session);
        return status;
    }
    element_set_init(&session->set, config->multiset, &session->environment);
    *made = session;
    return ROOST_OK;
}

roost_status roost_reconcile_new_initiator(roost_reconcile **made, const roost_reconcile_config *config,
                                           const roost_environment *environment)
{
    roost_reconcile_config wanted = config ? *config : (roost_reconcile_config){0};
    *made = NULL;
    if ((unsigned)wanted.method >= METHODS)
        return ROOST_INVALID;
    if (wanted.multiset && methods[wanted.method]->sets_only)
        return ROOST_UNSUPPORTED;
    struct roost_reconcile *session;
    roost_status status = make(&session, &wanted, environment);
    if (status != ROOST_OK)
        return status;
    session->initiator = true;
    if (!entropy_number(&session->environment.entropy, &session->salt)) {
        roost_reconcile_free(session);
        return ROOST_EXHAUSTED;
    }
    *made = session;
    return ROOST_OK;
}

static uint8_t version_of(const struct reconcile_method *method)
{
    return method->chained ? CHAINED_VERSION : RECONCILE_VERSION;
}

struct opening {
    roost_reconcile_config config;
    uint64_t salt, keys;
};

static roost_status read_opening(struct bit_reader *reader, struct opening *opening)
{
    if (read_byte(reader) != OPENING)
        return ROOST_PROTOCOL;
    uint8_t version = read_byte(reader), method = read_byte(reader);
    opening->config = (roost_reconcile_config){(roost_reconcile_method)(method & ~MULTISET), method & MULTISET};
    opening->salt = read_fixed64(reader);
    opening->keys = read_varint(reader);
    if ((unsigned)opening->config.method >= METHODS || version != version_of(methods[opening->config.method]))
        return ROOST_PROTOCOL;
    if (reader->failed)
        return ROOST_CORRUPT;
    return opening->config.multiset && methods[opening->config.method]->sets_only ? ROOST_PROTOCOL : ROOST_OK;
}

roost_status roost_reconcile_new_responder(roost_reconcile **made, const void *message, size_t size,
                                           const roost_environment *environment)
{
    struct bit_reader reader = bit_reader_over(message, size);
    struct opening opening;
    *made = NULL;
    roost_status status = read_opening(&reader, &opening);
    if (status == ROOST_OK)
        status = make(made, &opening.config, environment);
    if (status == ROOST_OK)
        (*made)->salt = opening.salt;
    return status;
}

void roost_reconcile_free(roost_reconcile *session)
{
    if (!session)
        return;
    const roost_allocator *allocator = session_allocator(session), outer = session->budget.outer;
    session->method->release(session);
    element_set_release(&session->set);
    memory_release(allocator, session->changed);
    memory_release(allocator, session->state);
    memory_release(&outer, session);
}

roost_status session_switch(struct roost_reconcile *session, const struct reconcile_method *method)
{
    void *state = memory_allocate(session_allocator(session), method->state_size);
    if (!state)
        return ROOST_NO_MEMORY;
    session->method->release(session);
    memory_release(session_allocator(session), session->state);
    session->method = method;
    session->state = state;
    return ROOST_OK;
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

const roost_reconcile_config *roost_reconcile_get_config(const roost_reconcile *session)
{
    return &session->config;
}

roost_hash roost_reconcile_hash(const roost_reconcile *session, const void *key, size_t size)
{
    return hash_bytes(session->salt, key, size);
}

roost_status roost_reconcile_add(roost_reconcile *session, const void *key, size_t size, uint64_t count)
{
    return roost_reconcile_add_hash(session, roost_reconcile_hash(session, key, size), count);
}

roost_status roost_reconcile_add_hash(roost_reconcile *session, roost_hash hash, uint64_t count)
{
    if (session->begun || count == 0)
        return ROOST_INVALID;
    return status_within(session, element_set_add(&session->set, hash, count));
}

static roost_status begin(struct roost_reconcile *session)
{
    if (session->begun)
        return ROOST_OK;
    session->begun = true;
    roost_status status = element_set_seal(&session->set);
    session->result.keys = session->set.count;
    return status;
}

/* ---- what is in common ------------------------------------------------------------------------------------------ */

uint128 session_common(const struct roost_reconcile *session)
{
    struct element_key key = session_key(session, FOR_WEIGHTS);
    uint128 sum = session_weight(session);
    for (size_t i = 0; i < session->set.count; i++)
        if (!(session->set.elements[i].marks & ONLY_HERE))
            sum += element_weight(key, &session->set.elements[i]);
    return sum;
}

void session_conclude(struct roost_reconcile *session)
{
    uint64_t only_here = 0;
    for (size_t i = 0; i < session->set.count; i++)
        only_here += session->set.elements[i].marks & ONLY_HERE;
    session->result.only_here = only_here;
    session->result.changed = session->changed_count;
    session->result.exact = !session->method->approximate;
    session->result.complete |= session->result.exact;
    session->over = true;
}

bool session_know_peer(struct roost_reconcile *session, uint64_t keys)
{
    bool fits = !session->peer_is_known || session->peer_keys == keys;
    session->peer_keys = keys;
    session->peer_is_known = true;
    return fits && keys <= UINT32_MAX;
}

/* The result is exact: what is in common is as much here as there. */
static roost_status conclude_exactly(struct roost_reconcile *session)
{
    session_conclude(session);
    const roost_reconcile_result *result = &session->result;
    bool fits_peer = result->keys - result->only_here + result->only_there == session->peer_keys;
    session->over = fits_peer || !session->peer_is_known;
    return session->over ? ROOST_OK : ROOST_CORRUPT;
}

roost_status session_end(struct roost_reconcile *session, struct bit_writer *writer)
{
    write_byte(writer, ENDING);
    write_bits(writer, ENDING_HASH(session_common(session)), 32);
    if (session->method->chained)
        session_seal(session, writer);
    return conclude_exactly(session);
}

static roost_status take_ending(struct roost_reconcile *session, struct bit_reader *reader)
{
    uint32_t hash = (uint32_t)read_bits(reader, 32);
    if (session->method->chained && !session_unseal(session, reader))
        return ROOST_CORRUPT;
    if (reader->failed || reader_bits_left(reader) != 0 || hash != ENDING_HASH(session_common(session)))
        return ROOST_CORRUPT;
    return conclude_exactly(session);
}

roost_status session_make_changed(struct roost_reconcile *session, size_t room)
{
    const roost_allocator *allocator = session_allocator(session);
    memory_release(allocator, session->changed);
    session->changed_count = 0;
    session->changed = memory_allocate(allocator, (room + 1) * sizeof *session->changed);
    return session->changed ? ROOST_OK : ROOST_NO_MEMORY;
}

void session_note_changed(struct roost_reconcile *session, const struct element *element, uint64_t there)
{
    session->changed[session->changed_count++] = (struct changed_count){element->index, there};
}

/* ---- seals ------------------------------------------------------------------------------------------------------ */

static uint64_t seal_of(const struct roost_reconcile *session, const void *bytes, size_t size, uint32_t number)
{
    return hash_bytes(session->salt + number + session->last_seal, bytes, size).low;
}

static void chain_seal(struct roost_reconcile *session, uint64_t seal)
{
    session->last_seal = session->method->chained ? seal : 0;
}

/* The message that came last, if any, is not counted yet when its answer is made. */
void session_seal(struct roost_reconcile *session, struct bit_writer *writer)
{
    bool is_opening = session->initiator && session->result.messages == 0;
    uint32_t number = is_opening ? 0 : session->result.messages + 1;
    if (writer->failed)
        return;
    uint64_t seal = seal_of(session, writer->buffer.data, writer->buffer.size, number);
    write_fixed64(writer, seal);
    chain_seal(session, seal);
}

bool session_unseal(struct roost_reconcile *session, struct bit_reader *reader)
{
    size_t sealed = reader->position / 8;
    uint64_t seal = read_fixed64(reader);
    bool right = !reader->failed && reader_bits_left(reader) == 0 &&
                 seal == seal_of(session, reader->bytes, sealed, session->result.messages);
    chain_seal(session, seal);
    return right;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static roost_status write_opening(struct roost_reconcile *session, struct bit_writer *writer)
{
    write_byte(writer, OPENING);
    write_byte(writer, version_of(session->method));
    write_byte(writer, (uint8_t)(session->config.method | (session->config.multiset ? MULTISET : 0)));
    write_fixed64(writer, session->salt);
    write_varint(writer, session->set.count);
    return session->method->open(session, writer);
}

/* A first message that is no opening comes from another protocol. */
static roost_status take_opening(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    struct opening opening;
    roost_status status = read_opening(reader, &opening);
    if (status != ROOST_OK)
        return status;
    if (opening.salt != session->salt || opening.config.method != session->config.method ||
        opening.config.multiset != session->config.multiset)
        return ROOST_PROTOCOL;
    session->peer_keys = opening.keys;
    session->peer_is_known = true;
    return session->method->answer(session, reader, writer);
}

/* The peer says why it gave up; anything that a peer would not say counts as nonsense. */
static roost_status take_failure(struct bit_reader *reader)
{
    uint8_t status = read_byte(reader);
    bool known = !reader->failed && (status == ROOST_NO_MEMORY || status == ROOST_TOO_LARGE || status == ROOST_CORRUPT);
    return known ? (roost_status)status : ROOST_PROTOCOL;
}

static roost_status take_message(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer)
{
    if (!session->initiator && session->result.messages == 0)
        return take_opening(session, reader, writer);
    uint8_t type = read_byte(reader);
    if (reader->failed || session->over)
        return ROOST_PROTOCOL;
    if (type == ENDING)
        return take_ending(session, reader);
    if (type == FAILED)
        return take_failure(reader);
    return session->method->take(session, type, reader, writer);
}

static roost_status next_message(struct roost_reconcile *session, struct bit_writer *writer, const void *received,
                                 size_t size)
{
    roost_status status = begin(session);
    if (status != ROOST_OK)
        return status;
    if (size == 0)
        return session->initiator && session->result.messages == 0 ? write_opening(session, writer) : ROOST_PROTOCOL;
    if (size > MOST_MESSAGE || session->result.received + size >
                                   ROOM_TO_TALK + ROOM_FOR_KEY * (uint64_t)session->set.count + session->method->room)
        return ROOST_PROTOCOL;
    if (session->initiator && session->result.messages == 0)
        return ROOST_PROTOCOL;
    struct bit_reader reader = bit_reader_over(received, size);
    status = take_message(session, &reader, writer);
    session->result.received += size;
    session->result.messages++;
    return status;
}

/* No answer to a peer that has failed itself. */
static void report_failure(struct bit_writer *writer, roost_status status, const void *received, size_t size)
{
    roost_allocator allocator = writer->buffer.allocator;
    bit_writer_release(writer);
    bit_writer_init(writer, allocator);
    if (size > 0 && *(const uint8_t *)received == FAILED)
        return;
    write_byte(writer, FAILED);
    write_byte(writer, (uint8_t)status);
    if (writer->failed)
        bit_writer_release(writer);
}

roost_status roost_reconcile_next(roost_reconcile *session, roost_buffer *message, const void *received, size_t size)
{
    *message = (roost_buffer){0};
    if (session->failed != ROOST_OK)
        return session->failed;
    struct bit_writer writer;
    bit_writer_init(&writer, session->budget.outer);
    roost_status status = next_message(session, &writer, received, size);
    write_alignment(&writer);
    if (status == ROOST_OK && writer.failed)
        status = ROOST_NO_MEMORY;
    status = status_within(session, status);
    if (status != ROOST_OK) {
        session->failed = status;
        session->over = false;
        report_failure(&writer, status, received, size);
    }
    *message = writer.buffer;
    session->result.sent += message->size;
    session->result.messages += message->size > 0;
    return status;
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

bool roost_reconcile_is_done(const roost_reconcile *session)
{
    return session->over;
}

roost_reconcile_result roost_reconcile_get_result(const roost_reconcile *session)
{
    return session->result;
}

static void sift(roost_difference *heap, size_t root, size_t count)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && heap[child].index < heap[child + 1].index)
            child++;
        if (heap[root].index >= heap[child].index)
            return;
        roost_difference swap = heap[root];
        heap[root] = heap[child];
        heap[child] = swap;
    }
}

static void sort_differences(roost_difference *differences, size_t count)
{
    for (size_t root = count / 2; root-- > 0;)
        sift(differences, root, count);
    for (size_t end = count; end-- > 1;) {
        roost_difference swap = differences[0];
        differences[0] = differences[end];
        differences[end] = swap;
        sift(differences, 0, end);
    }
}

/* The difference with this index, which must be in the list. */
static roost_difference *find_difference(roost_difference *differences, size_t count, uint64_t index)
{
    size_t from = 0;
    for (size_t to = count; from < to;) {
        size_t middle = from + (to - from) / 2;
        if (differences[middle].index < index)
            from = middle + 1;
        else
            to = middle;
    }
    return &differences[from];
}

/* Elements are in the order of their hashes. */
void roost_reconcile_get_differences(const roost_reconcile *session, roost_difference *differences)
{
    size_t count = 0;
    for (size_t i = 0; i < session->set.count; i++) {
        const struct element *element = &session->set.elements[i];
        if (element->marks & ONLY_HERE)
            differences[count++] = (roost_difference){element->index, count_of(&session->set, element), 0};
    }
    sort_differences(differences, count);
    for (size_t i = 0; i < session->changed_count; i++)
        find_difference(differences, count, session->changed[i].index)->count_there = session->changed[i].there;
}

/* Keys with the same upper half stand together. */
uint64_t roost_reconcile_count(const roost_reconcile *session, const void *key, size_t size)
{
    roost_hash hash = roost_reconcile_hash(session, key, size);
    const struct element_set *set = &session->set;
    for (size_t i = element_set_find(set, hash.high); i < set->count && set->elements[i].high == hash.high; i++)
        if (low_of_key(set, &set->elements[i]) == hash.low)
            return count_of(set, &set->elements[i]);
    return 0;
}
