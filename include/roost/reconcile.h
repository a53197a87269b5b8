/*
 * Reconcile: two sides hold sets of keys, and find out which of their own keys the other lacks, for few bytes.
 *
 * Unlike a sync (sync.h), which makes two filters equal, this is about real sets or multisets, and the answer is exact,
 * unless the caller asks for one of the two approximate methods.
 * One side asks, the other answers; messages go to and fro until both know. How they travel is the caller's business:
 * a pipe, a socket, a command of a server. They carry no length, and are checked as hostile input.
 *
 *     asking                                        answering
 *     roost_reconcile_ask(&session, &config)
 *     roost_reconcile_add(session, key) ...
 *     roost_reconcile_next(&message, NULL, 0)  -->  roost_reconcile_answer(&session, message)
 *                                                   roost_reconcile_add(session, key) ...
 *     roost_reconcile_next(&message, reply)   <--   roost_reconcile_next(&reply, message)
 *     ... each hands what came to `next` and sends what that gives, until it gives nothing
 *
 * Then roost_reconcile_differences tells each side which of its keys the other lacks. To send the keys themselves is up
 * to the caller: both know by then what the other wants.
 *
 * Keys are known by 128-bit hashes that are keyed by a number drawn for each session, so that nobody can prepare keys
 * that collide. Both sides compare hashes of all that they believe to have in common before they say that they are
 * done: a wrong answer has a chance of about 2^-64, whatever happens on the way. A peer that lies about its own keys
 * gets the answer for those that it claims to have. What a session allocates stays within the memory limit of its
 * environment, and is in proportion to its own keys and to the bytes that came.
 */
#ifndef ROOST_RECONCILE_H
#define ROOST_RECONCILE_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct roost_reconcile roost_reconcile;

typedef enum roost_reconcile_method {
    ROOST_RECONCILE_AUTO = 0,  /* the one with the fewest bytes: partitioned sketches */
    ROOST_RECONCILE_RIBLT = 1, /* rateless invertible Bloom look-up table; sets only */
    ROOST_RECONCILE_DBF = 2, /* distributed Bloom filters, another mapping each round, until all is found; sets only */
    ROOST_RECONCILE_CCF_QUERY = 3,  /* counting cuckoo filters, one each way; may miss differences, and name others */
    ROOST_RECONCILE_CCF_DECODE = 4, /* the same by decoding, which errs more often */
} roost_reconcile_method;

typedef struct roost_reconcile_config {
    roost_reconcile_method method;
    bool multiset; /* counts matter: a key that is there three times here and five times there is a difference */
} roost_reconcile_config;

/*
 * The asking side. NULL for a configuration or an environment: all zero. Of the environment the allocator, the entropy
 * and the memory limit matter. ROOST_EXHAUSTED: the entropy has no number for this session. ROOST_UNSUPPORTED: the
 * method is for sets.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_reconcile_ask(roost_reconcile **session,
                                                            const roost_reconcile_config *config,
                                                            const roost_environment *environment);

/* The answering side, made from the first message; which is given to roost_reconcile_next as well once the keys are
   added. ROOST_PROTOCOL: it is no such message, or of a later version, or of a method that is not known here. */
ROOST_API ROOST_MUST_CHECK roost_status roost_reconcile_answer(roost_reconcile **session, const void *message,
                                                               size_t size, const roost_environment *environment);

ROOST_API void roost_reconcile_free(roost_reconcile *session); /* NULL is fine */

ROOST_API const roost_reconcile_config *roost_reconcile_config_of(const roost_reconcile *session);

/* The hash of a key in this session. */
ROOST_API roost_hash roost_reconcile_hash(const roost_reconcile *session, const void *key, size_t size);

/*
 * Adds a key, `count` times (1 or more); before the first call of `next`. In a set a key that comes again changes
 * nothing; in a multiset the counts add up. Keys are numbered from 0 in the order of these calls. ROOST_TOO_LARGE:
 * more than 2^32 - 1 calls, or the memory limit.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_reconcile_add(roost_reconcile *session, const void *key, size_t size,
                                                            uint64_t count);
ROOST_API ROOST_MUST_CHECK roost_status roost_reconcile_add_hash(roost_reconcile *session, roost_hash hash,
                                                                 uint64_t count);

/*
 * The next message to send, given the one that came (NULL, 0 for the first one of the asking side). An empty one: there
 * is nothing more to send or to expect; see roost_reconcile_over. The caller releases it. After a failure the session
 * only repeats it; where a message came out nevertheless, it tells the peer.
 * ROOST_PROTOCOL, ROOST_CORRUPT: what came makes no sense, or more came than any honest peer would send.
 * ROOST_TOO_LARGE: the memory limit; for counting cuckoo filters, more than 2^22 keys (fewer if their counts are large)
 * or more than ROOST_MOST_COPIES of one.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_reconcile_next(roost_reconcile *session, roost_buffer *message,
                                                             const void *received, size_t size);

/* Both sides know all, and have verified it; of an approximate method, all that it finds. */
ROOST_API bool roost_reconcile_over(const roost_reconcile *session);

typedef struct roost_reconcile_result {
    uint64_t keys;       /* different ones on this side */
    uint64_t only_here;  /* of these, the ones that the other side lacks, or has another count of */
    uint64_t only_there; /* and the other way round */
    uint64_t changed;    /* in a multiset: those on both sides with different counts; they are in both of the above */
    uint32_t messages;   /* sent and received */
    uint64_t sent, received; /* bytes of messages */
    bool exact;    /* once over: all of the above is right. False for an approximate method, whatever it found */
    bool complete; /* once over: no difference was missed; an exact method never misses one */
} roost_reconcile_result;

ROOST_API roost_reconcile_result roost_reconcile_result_of(const roost_reconcile *session);

/* A key of this side: `index` is the number of the call that first added it. */
typedef struct roost_difference {
    uint64_t index;
    uint64_t count_here;  /* 1 in a set */
    uint64_t count_there; /* 0: the other side lacks it */
} roost_difference;

/* Once the session is over: as many as `only_here` says, by ascending index. */
ROOST_API void roost_reconcile_differences(const roost_reconcile *session, roost_difference *differences);

/* How often this side has the key, once `next` was called; 1 in a set. For one who takes in what the other side sends:
   after an approximate method that may be there already. */
ROOST_API uint64_t roost_reconcile_count(const roost_reconcile *session, const void *key, size_t size);

#ifdef __cplusplus
}
#endif
#endif
