/*
 * Inside a reconciliation: the session that all methods share, and what a method has to provide.
 *
 * The session (reconcile.c) owns the elements, draws or reads the salt, frames the messages, counts bytes, and refuses
 * a peer that sends too much. A method decides what stands in the messages between the first and the last:
 *
 *     initiator                                      responder
 *     OPENING  version, method, salt, keys here
 *              + what method->open writes       -->  session made, keys added, then method->answer reads and writes
 *     method->take reads and writes             <--  ...
 *     ...                                       -->  method->take reads and writes
 *     ENDING   written by session_end, either side;
 *              the receiver compares
 *     FAILED   status; either side, any time
 *
 * A method whose sides need not agree in the end calls session_conclude on both instead of session_end on one.
 *
 * All of a method's result are the marks ONLY_HERE of the elements, the number `only_there`, and, in a multiset, the
 * counts of the other side in `changed`. When a side has convinced itself that these are right it calls session_end
 * instead of writing a message of its own; the peer compares 32 bits of a hash of what both have in common, which the
 * method had better have compared in full (session_common) before.
 *
 * To add a method: an enumerator in include/roost/reconcile.h, a `struct reconcile_method` in a file of its own, and a
 * line in the table of reconcile.c.
 */
#ifndef RECONCILE_RECONCILE_H
#define RECONCILE_RECONCILE_H

#include "roost/reconcile.h"
#include "../base/bitstream.h"
#include "element_set.h"

#define RECONCILE_VERSION 1
#define CHAINED_VERSION   3 /* of methods whose seals are chained */

/* The first byte of a message. Types from FIRST_OF_METHOD on are the method's own. */
enum reconcile_message {
    OPENING = 0x72, /* 'r': distinguishes a first message from noise */
    ENDING = 0x65,
    FAILED = 0x58,
    FIRST_OF_METHOD = 1,
};

/* No message is longer than this. Methods cut their work accordingly. */
#define MOST_MESSAGE ((size_t)8 << 20)

struct roost_reconcile;

struct reconcile_method {
    size_t state_size; /* of session->state, which begins as zeros */
    /* The initiator: writes what follows the header of the first message. */
    roost_status (*open)(struct roost_reconcile *session, struct bit_writer *writer);
    /* The responder: reads that, and writes a message, from its type on. */
    roost_status (*answer)(struct roost_reconcile *session, struct bit_reader *reader, struct bit_writer *writer);
    /* Either side: what came, behind its type; writes a message, or calls session_end. */
    roost_status (*take)(struct roost_reconcile *session, uint8_t type, struct bit_reader *reader,
                         struct bit_writer *writer);
    void (*release)(struct roost_reconcile *session); /* of what the state points to */
    bool sets_only;
    bool approximate;
    bool chained;  /* every message is sealed, and each seal covers those before it (session_seal) */
    uint64_t room; /* bytes that an honest peer may send on top of what our own keys allow */
};

extern const struct reconcile_method reconcile_exact, reconcile_riblt, reconcile_dbf, reconcile_ccf_query,
    reconcile_ccf_decode;

/* A key of both sides whose count differs. */
struct changed_count {
    uint32_t index;
    uint64_t there;
};

/* What a session has allocated, in bytes, and may: its memory limit, or no limit. */
struct memory_budget {
    roost_allocator outer;
    uint64_t limit, taken;
    bool refused;
};

struct roost_reconcile {
    roost_reconcile_config config;
    struct memory_budget budget;
    roost_environment environment; /* its allocator is the budget's; messages are made by the outer one */
    const struct reconcile_method *method;
    void *state;
    struct element_set set;
    uint64_t salt;
    uint64_t peer_keys; /* as the peer stated */
    bool peer_is_known; /* the peer stated it */
    uint64_t last_seal; /* of the message before, either way; 0 where seals are not chained */
    bool initiator, begun, over;
    roost_status failed; /* ROOST_OK, or why it ended */
    struct changed_count *changed;
    size_t changed_count;
    roost_reconcile_result result;
};

static inline const roost_allocator *session_allocator(const struct roost_reconcile *session)
{
    return &session->environment.allocator;
}

/* ---- hashes of elements: each kind under a key of its own ------------------------------------------------------- */

/* The two keys under which the elements are hashed for one purpose: a sketch, an estimate, ... */
struct element_key {
    uint64_t low, high;
};

enum element_purpose {
    FOR_WEIGHTS = 1,
    FOR_ESTIMATE,
    FOR_COUNTS,
    FOR_SYMBOLS,
    FOR_SKETCH, /* plus the number of the sketch */
};

static inline struct element_key session_key(const struct roost_reconcile *session, uint64_t purpose)
{
    uint128 key = hash_number(session->salt, purpose);
    return (struct element_key){(uint64_t)key, (uint64_t)(key >> 64)};
}

static inline uint64_t element_hash(struct element_key key, const struct element *element)
{
    uint64_t mixed = multiply_and_fold(element->low ^ key.low, element->high ^ key.high);
    return multiply_and_fold(mixed ^ key.high, UINT64_C(0x9fb21c651e98df25));
}

/* The weight of an element in the sums that are compared. */
static inline uint128 element_weight(struct element_key key, const struct element *element)
{
    uint64_t a = multiply_and_fold(element->low ^ key.low, element->high ^ key.high);
    uint64_t b = multiply_and_fold(element->high ^ key.low, rotate_left(element->low, 32) ^ ~key.high);
    return (uint128)(b ^ a * UINT64_C(0xe7037ed1a0b428db)) << 64 | (a + b);
}

/* The weight of an empty set: different in every session, so that two sides with different salts never agree. */
static inline uint128 session_weight(const struct roost_reconcile *session)
{
    return hash_number(~session->salt, (uint64_t)session->config.method << 1 | session->config.multiset);
}

/* The weight of all elements that are not only here, and of the session. */
uint128 session_common(const struct roost_reconcile *session);

/* Goes on with another method, whose `open` or `answer` the caller calls next. */
roost_status session_switch(struct roost_reconcile *session, const struct reconcile_method *method);

/* The peer states how many keys it has. False: it stated another number before. */
bool session_know_peer(struct roost_reconcile *session, uint64_t keys);

/* Writes the last message; the result is final. ROOST_CORRUPT: it does not fit what the peer stated. */
roost_status session_end(struct roost_reconcile *session, struct bit_writer *writer);

/* The result is final; no more is expected from the peer. */
void session_conclude(struct roost_reconcile *session);

/* Room for so many keys whose counts differ, and one of them. */
roost_status session_make_changed(struct roost_reconcile *session, size_t room);
void session_note_changed(struct roost_reconcile *session, const struct element *element, uint64_t there);

/*
 * A seal at the end of a message: eight bytes of a hash of all before it, under the salt and the number of the message.
 * For methods whose verification would not see that a message was damaged. The reader is right before it; false: it is
 * not the seal of these bytes, or something follows.
 *
 * Where seals are chained, each also covers the seal of the message before it, of either side. So a side that unseals
 * a message knows that the peer has seen every earlier message as it was sent.
 */
void session_seal(struct roost_reconcile *session, struct bit_writer *writer);
bool session_unseal(struct roost_reconcile *session, struct bit_reader *reader);

#endif
