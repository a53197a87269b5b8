/*
 * Reconcile: two sides hold sets of keys, and each finds out which of its own keys the other lacks, for few bytes.
 *
 * Unlike a sync (sync.h), which makes two filters equal, this is about real sets or multisets, and the result is exact,
 * unless the caller chooses one of the two approximate methods. One side is the initiator, the other the responder;
 * messages go back and forth until both are done. The caller carries them: over a pipe, a socket, or as a command of a
 * server. They do not contain their length, and are validated as hostile input.
 *
 *     initiator                                     responder
 *     roost_reconcile_new_initiator(&session, &config)
 *     roost_reconcile_add(session, key) ...
 *     roost_reconcile_next(&message, NULL, 0)  -->  roost_reconcile_new_responder(&session, message)
 *                                                   roost_reconcile_add(session, key) ...
 *     roost_reconcile_next(&message, reply)   <--   roost_reconcile_next(&reply, message)
 *     ... each passes what it receives to roost_reconcile_next and sends the result, until that is empty
 *
 * Then roost_reconcile_get_differences tells each side which of its keys the other lacks. The caller sends the keys
 * themselves: both sides know by then what the other needs.
 *
 * Keys are represented by 128-bit hashes that are keyed by a number drawn for each session, so that nobody can prepare
 * keys that collide. Both sides compare hashes of all that they believe to have in common before they are done: a wrong
 * result has a chance of about 2^-64, whatever happens on the way. A peer that lies about its own keys gets the result
 * for the keys that it claims to have. The memory of a session stays within the memory limit of its environment, and is
 * in proportion to its own keys and to the bytes that it received.
 *
 * Conventions are those of filter.h.
 */
#ifndef ROOST_RECONCILE_H
#define ROOST_RECONCILE_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One side of a session. */
typedef struct roost_reconcile roost_reconcile;

/* How the difference is found. The initiator chooses. */
typedef enum roost_reconcile_method {
    ROOST_RECONCILE_AUTO = 0,       /* the one with the fewest bytes: partitioned sketches */
    ROOST_RECONCILE_RIBLT = 1,      /* rateless invertible Bloom look-up table; sets only */
    ROOST_RECONCILE_DBF = 2,        /* distributed Bloom filters, another mapping each round, until all is found; sets
                                       only */
    ROOST_RECONCILE_CCF_QUERY = 3,  /* counting cuckoo filters, one each way; may miss differences, and name others */
    ROOST_RECONCILE_CCF_DECODE = 4, /* the same by decoding, which errs more often */
} roost_reconcile_method;

/* The configuration of a session. All zero: the best method, for sets. */
typedef struct roost_reconcile_config {
    roost_reconcile_method method; /* how the difference is found */
    bool multiset;                 /* counts matter: a key with three copies here and five there is a difference */
} roost_reconcile_config;

/*
 * Makes the initiator of a session. `config` may be NULL for all zero. Of the environment the allocator, the entropy
 * and the memory limit matter. On failure `*session` is NULL.
 *
 * Errors: ROOST_INVALID for an unknown method, ROOST_UNSUPPORTED for a method that is for sets only, ROOST_EXHAUSTED
 * where the entropy has no number for this session.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_reconcile_new_initiator(roost_reconcile **session,
                                                                      const roost_reconcile_config *config,
                                                                      const roost_environment *environment);

/*
 * Makes the responder of a session from the first message. Add the keys, then pass the same message to
 * roost_reconcile_next. On failure `*session` is NULL.
 *
 * Errors: ROOST_PROTOCOL where the bytes are no first message, or of a later version or an unknown method;
 * ROOST_CORRUPT.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_reconcile_new_responder(roost_reconcile **session, const void *message,
                                                                      size_t size,
                                                                      const roost_environment *environment);

/* Frees a session, finished or not. NULL is fine. */
ROOST_API void roost_reconcile_free(roost_reconcile *session);

/* Returns the configuration of a session: the initiator's. It belongs to the session and lives as long as it does. */
ROOST_API const roost_reconcile_config *roost_reconcile_get_config(const roost_reconcile *session);

/* Returns the hash of a key in this session, for roost_reconcile_add_hash. */
ROOST_API roost_hash roost_reconcile_hash(const roost_reconcile *session, const void *key, size_t size);

/*
 * Adds a key with `count` copies (1 or more), before the first call of roost_reconcile_next. In a set a key that comes
 * again changes nothing; in a multiset the counts add up. Keys are numbered from 0 in the order of these calls.
 *
 * Errors: ROOST_INVALID after the first call of roost_reconcile_next, or for a count of 0; ROOST_TOO_LARGE also for
 * more than 2^32 - 1 calls.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_reconcile_add(roost_reconcile *session, const void *key, size_t size,
                                                            uint64_t count);

/* As roost_reconcile_add, for the hash of a key. */
ROOST_API ROOST_MUST_CHECK roost_status roost_reconcile_add_hash(roost_reconcile *session, roost_hash hash,
                                                                 uint64_t count);

/*
 * Takes the message that was received (NULL and 0 for the first one of the initiator) and makes the next one to send,
 * which the caller releases. An empty one means that there is nothing more to send or to expect; see
 * roost_reconcile_is_done. After a failure the session only returns the same status again; a message that is made
 * nevertheless tells the peer, and should be sent.
 *
 * Errors: ROOST_PROTOCOL, ROOST_CORRUPT where the message makes no sense, or the peer sent more than any honest peer
 * would; ROOST_TOO_LARGE also, with counting cuckoo filters, for more than 2^22 keys (fewer if their counts are large)
 * or more than ROOST_MOST_COPIES of one.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_reconcile_next(roost_reconcile *session, roost_buffer *message,
                                                             const void *received, size_t size);

/*
 * Returns whether the session is done: this side knows its differences, and has verified them; with an approximate
 * method, all that it finds.
 */
ROOST_API bool roost_reconcile_is_done(const roost_reconcile *session);

/* What a session found. */
typedef struct roost_reconcile_result {
    uint64_t keys;       /* distinct keys on this side */
    uint64_t only_here;  /* of these, the ones that the other side lacks, or has another count of */
    uint64_t only_there; /* keys of the other side that this side lacks, or has another count of */
    uint64_t changed;    /* in a multiset: keys on both sides with different counts; they are in both of the above */
    uint32_t messages;   /* sent and received */
    uint64_t sent;       /* bytes of messages that were sent */
    uint64_t received;   /* bytes of messages that were received */
    bool exact;          /* once done: all of the above is right. False for an approximate method, whatever it found */
    bool complete;       /* once done: no difference was missed; an exact method never misses one */
} roost_reconcile_result;

/* Returns what the session has found so far. */
ROOST_API roost_reconcile_result roost_reconcile_get_result(const roost_reconcile *session);

/* A key of this side that the other side lacks, or has another count of. */
typedef struct roost_difference {
    uint64_t index;       /* the number of the call that first added the key */
    uint64_t count_here;  /* 1 in a set */
    uint64_t count_there; /* 0: the other side lacks the key */
} roost_difference;

/*
 * Writes the differences, by ascending index, once the session is done: as many as `only_here` of its result, for which
 * `differences` has the places.
 */
ROOST_API void roost_reconcile_get_differences(const roost_reconcile *session, roost_difference *differences);

/*
 * Returns how many copies of the key this side has, once roost_reconcile_next was called; in a set, 1 or 0. Use it
 * before you take in a key of the other side: after an approximate method this side may have it already.
 */
ROOST_API uint64_t roost_reconcile_count(const roost_reconcile *session, const void *key, size_t size);

#ifdef __cplusplus
}
#endif
#endif
