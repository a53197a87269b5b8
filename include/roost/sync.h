/*
 * Sync: two replicas exchange what the other lacks, in messages whose bytes follow what changed.
 *
 * One side asks, the other answers. Whoever asks keeps the course of the exchange; whoever answers keeps nothing
 * between two messages but the filter itself, so that it can be a server with any number of peers. How messages travel
 * is the caller's business: a pipe, a socket, a command of a server. Messages carry no length; they are checked as
 * hostile input.
 *
 *     asking                                   answering
 *     roost_sync_new(...)
 *     roost_sync_next(&request, NULL, 0)  -->  roost_sync_answer(&reply, request)
 *     roost_sync_next(&request, reply)    <--
 *     ... until the request is empty: done
 *
 * The asking side remembers a few bytes about its peer (roost_sync_memory): how far each has told the other. With them
 * a sync costs what changed. Without, version vectors and a digest tree find the difference; the whole state travels
 * only where it is the difference.
 *
 * Both filters may change meanwhile, between any two calls: clients add and remove, others merge and sync. An exchange
 * that ends without an error has told each side everything that the other had when it began, additions and removals,
 * whether the two are equal at its end or not (but for a chance of 2^-32 for each range of the digest tree, which the
 * next exchange makes up for): deltas since cursors of that moment tell the rest. It never sends a whole state merely
 * because somebody came between.
 */
#ifndef ROOST_SYNC_H
#define ROOST_SYNC_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct roost_sync roost_sync;

/* `memory` is what roost_sync_memory gave after an earlier sync of these two replicas, or NULL: bytes that make no
   sense are as good as none. The filter must outlive the sync, and belongs to others between two of its calls. */
ROOST_API ROOST_MUST_CHECK roost_status roost_sync_new(roost_sync **sync, roost_filter *filter, const void *memory,
                                                       size_t size);
ROOST_API void roost_sync_free(roost_sync *sync); /* NULL is fine */

/*
 * The next request, given the reply to the one before (NULL, 0 at first). An empty request: the exchange is over. The
 * filter changes as replies arrive, each time to a valid state; a failure leaves it as the last good reply did.
 * ROOST_MISMATCH: the peer's filter has another configuration. ROOST_PROTOCOL: the peer speaks something else.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_sync_next(roost_sync *sync, roost_buffer *request, const void *reply,
                                                        size_t size);

typedef struct roost_sync_result {
    bool equal;              /* both held the same at the last request and its reply; false: others changed them */
    bool changed;            /* the filter took in something */
    uint32_t rounds;         /* requests */
    uint64_t sent, received; /* bytes of messages */
} roost_sync_result;

ROOST_API roost_sync_result roost_sync_result_of(const roost_sync *sync);

/* To be kept with the filter, and only with the state that it now has or a later one. */
ROOST_API ROOST_MUST_CHECK roost_status roost_sync_memory(const roost_sync *sync, roost_buffer *memory);

/*
 * The answering side: takes one request and makes the reply. *changed (may be NULL) tells whether the filter or its
 * replica changed, so that it has to be stored before the reply is sent. A request that makes no sense gets a reply
 * that says so, and a status to report: ROOST_MISMATCH, ROOST_PROTOCOL, ROOST_CORRUPT; the filter is then as before.
 *
 * ROOST_NO_MEMORY may come at two points: before anything was done, or when what the request brought has been merged
 * and there is no memory for the reply. *changed tells which. In the second case the filter is sound and holds what the
 * request brought, all of it. Nothing was acknowledged, so you may store it or go back to the state that you stored
 * before: the peer sends it again. Do not go on with a state that you have not stored.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_sync_answer(roost_filter *filter, roost_buffer *reply, bool *changed,
                                                          const void *request, size_t size);

#ifdef __cplusplus
}
#endif
#endif
