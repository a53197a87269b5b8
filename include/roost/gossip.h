/*
 * Sets that spread by gossip: each participant holds real elements, tells its neighbours what it has in a small Bloom
 * filter, and gets what it lacks. The filters may err half the time: every pair of participants has a mapping of its
 * own (the distributed Bloom filter), so that what one hides another shows; with a number for each round, everything
 * arrives in the end.
 *
 * A contact is a few messages, which the caller carries over any byte stream:
 *
 *     roost_gossip_begin(here, &message, id of the peer, round);
 *     each side then: roost_gossip_receive(self, &reply, ..., message), until a reply is empty
 *
 * Nothing is kept between messages, and each may be lost or doubled. Messages may come from anyone: all of a message
 * is validated before anything is taken. The filters hide elements at random; no message is proof that two sets are
 * equal.
 */
#ifndef ROOST_GOSSIP_H
#define ROOST_GOSSIP_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct roost_gossip roost_gossip;

typedef enum roost_mapping {
    ROOST_ONE_MAPPING = 1,   /* the same for all: a standard Bloom filter, for comparison */
    ROOST_PAIR_MAPPING = 2,  /* another for each pair of ids */
    ROOST_ROUND_MAPPING = 3, /* another for each pair and each round: reaches equality with any neighbours */
} roost_mapping;

/* The mapping, the seed and the ids of those who talk to each other must fit; the rest is each one's own. */
typedef struct roost_gossip_config {
    uint64_t id; /* of this participant; no two are alike */
    roost_mapping mapping;
    double fpr; /* of the filters, in (0,1); 0.5 is fine */
    uint64_t
        expected;  /* filters are made for so many elements; 0: for the larger of the two sets, which costs a message */
    uint64_t seed; /* of the hash of elements; XXH3 is not cryptographic: keep it secret from strangers' elements */
} roost_gossip_config;

/* ROOST_ROUND_MAPPING, 50 %, sizes by the sets, the default seed. The id is 0 and must be set. */
ROOST_API roost_gossip_config roost_gossip_config_default(void);

/* `environment` may be NULL; its memory limit holds for the set and for each message made. */
ROOST_API ROOST_MUST_CHECK roost_status roost_gossip_new(roost_gossip **gossip, const roost_gossip_config *config,
                                                         const roost_environment *environment);
ROOST_API void roost_gossip_free(roost_gossip *gossip); /* NULL is fine */

/* The element is copied. *changed (may be NULL) tells whether it was new. */
ROOST_API ROOST_MUST_CHECK roost_status roost_gossip_add(roost_gossip *gossip, bool *changed, const void *element,
                                                         size_t size);
ROOST_API bool roost_gossip_contains(const roost_gossip *gossip, const void *element, size_t size);
ROOST_API uint64_t roost_gossip_count(const roost_gossip *gossip);
/* In the order in which they came; numbers below the count. Lives until the set is freed. */
ROOST_API roost_bytes roost_gossip_element(const roost_gossip *gossip, uint64_t number);

/* The first message of a contact. The round matters to ROOST_ROUND_MAPPING: a counter, or any number not used before.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_gossip_begin(const roost_gossip *gossip, roost_buffer *message,
                                                           uint64_t peer, uint64_t round);

/*
 * Takes a message, and makes the reply, which is empty when the contact is over. *learnt (may be NULL) is how many
 * elements were new. ROOST_CORRUPT for bytes that are none of ours or meant for somebody else; then, as after any
 * failure, nothing has changed.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_gossip_receive(roost_gossip *gossip, roost_buffer *reply,
                                                             uint64_t *learnt, const void *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
