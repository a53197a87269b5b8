/*
 * Sync: anti-entropy between two replicas, in messages whose size follows what changed.
 *
 * The initiator keeps the state of the exchange. The responder keeps nothing between two messages but the filter
 * itself, so a server can respond to any number of peers. The caller carries the messages: over a pipe, a socket, or as
 * a command of a server. Messages do not contain their length, and are validated as hostile input.
 *
 *     initiator                                responder
 *     roost_sync_new(...)
 *     roost_sync_next(&request, NULL, 0)  -->  roost_sync_reply(&reply, request)
 *     roost_sync_next(&request, reply)    <--
 *     ... until the request is empty: done
 *
 * The initiator stores a few bytes about its peer (roost_sync_save_memory): the cursors up to which each side has sent
 * its changes to the other. With them a sync costs what changed. Without them, causal contexts and a digest tree find
 * the difference; the whole state is sent only where it is the difference.
 *
 * Both filters may change between any two calls: clients add and remove, other peers merge and sync. An exchange that
 * ends without an error has sent each side everything that the other had when it began, additions and removals,
 * whether the two are equal at its end or not (but for a chance of 2^-32 for each range of the digest tree, which the
 * next exchange makes up for). It never sends a whole state merely because a filter changed meanwhile.
 *
 * Conventions are those of filter.h.
 */
#ifndef ROOST_SYNC_H
#define ROOST_SYNC_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One exchange, at its initiator. */
typedef struct roost_sync roost_sync;

/*
 * Starts an exchange. `memory` is what roost_sync_save_memory returned after an earlier sync of these two replicas, or
 * NULL; bytes that make no sense are treated as none. The exchange keeps the pointer to the filter, which must outlive
 * it and may be used between two calls. On failure `*sync` is NULL.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_sync_new(roost_sync **sync, roost_filter *filter, const void *memory,
                                                       size_t size);

/* Frees an exchange, finished or not. NULL is fine. */
ROOST_API void roost_sync_free(roost_sync *sync);

/*
 * Takes the reply to the request before (NULL and 0 at first) and makes the next request, which the caller releases. An
 * empty request means that the exchange is over. The filter changes as replies arrive, each time to a valid state; a
 * failure leaves it as the last good reply did.
 *
 * Errors: ROOST_MISMATCH where the peer's filter has another configuration, ROOST_PROTOCOL where the peer speaks
 * another protocol, ROOST_CORRUPT for a reply that makes no sense, ROOST_INVALID for a call out of order, and those of
 * roost_filter_merge_frame.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_sync_next(roost_sync *sync, roost_buffer *request, const void *reply,
                                                        size_t size);

/* What an exchange did. */
typedef struct roost_sync_result {
    bool equal;        /* both filters were equal at the last request and its reply; false: one has changed since */
    bool changed;      /* the initiator's filter changed */
    uint32_t rounds;   /* requests */
    uint64_t sent;     /* bytes of requests */
    uint64_t received; /* bytes of replies */
} roost_sync_result;

/* Returns what the exchange has done so far. */
ROOST_API roost_sync_result roost_sync_get_result(const roost_sync *sync);

/*
 * Encodes what the initiator stores about its peer as `*memory`, for the next roost_sync_new. Store it with the filter,
 * with the present state or a later one, never with an earlier one.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_sync_save_memory(const roost_sync *sync, roost_buffer *memory);

/*
 * The responder: takes one request and makes the reply, which the caller releases. `*changed` (may be NULL) tells
 * whether the filter or its replica changed, so that you have to store it before you send the reply.
 *
 * Errors: ROOST_MISMATCH, ROOST_PROTOCOL, ROOST_CORRUPT for a request that makes no sense; the reply then tells the
 * peer so, and the filter is as before.
 *
 * ROOST_NO_MEMORY may come at two points: before anything was done, or when the request has been merged and there is no
 * memory for the reply; `*changed` tells which. In the second case the filter is valid and holds all of the request.
 * Nothing was acknowledged, so you may store it or return to the state that you stored before: the peer sends it again.
 * Do not continue with a state that you have not stored.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_sync_reply(roost_filter *filter, roost_buffer *reply, bool *changed,
                                                         const void *request, size_t size);

#ifdef __cplusplus
}
#endif
#endif
