/*
 * Sets that spread by gossip: each participant holds real elements, sends its neighbours a small Bloom filter of them,
 * and gets the elements that it lacks. The filters may err half the time: every pair of participants has a mapping of
 * its own (the distributed Bloom filter), so that an element that one filter hides is shown by another; with the number
 * of the round in the mapping, every element arrives in the end.
 *
 * A contact is a few messages, which the caller carries over any byte stream:
 *
 *     roost_gossip_begin(here, &message, id of the peer, round);
 *     each side then: roost_gossip_receive(self, &reply, ..., message), until a reply is empty
 *
 * Nothing is kept between messages, and each may be lost or duplicated. Messages may come from anyone: a message is
 * validated before anything of it is taken. The filters hide elements at random; no message proves that two sets are
 * equal.
 *
 * Conventions are those of filter.h.
 */
#ifndef ROOST_GOSSIP_H
#define ROOST_GOSSIP_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One participant: a set of elements. */
typedef struct roost_gossip roost_gossip;

/* How the bits of an element are chosen. */
typedef enum roost_mapping {
    ROOST_ONE_MAPPING = 1,   /* the same for all: a standard Bloom filter, for comparison */
    ROOST_PAIR_MAPPING = 2,  /* another for each pair of ids */
    ROOST_ROUND_MAPPING = 3, /* another for each pair and each round: reaches equality with any neighbours */
} roost_mapping;

/* The configuration of a participant. Mapping and seed are the same for all that talk to each other. */
typedef struct roost_gossip_config {
    uint64_t id;           /* of this participant; no two are alike */
    roost_mapping mapping; /* how the bits of an element are chosen */
    double fpr;            /* of the filters, in (0,1); 0.5 is fine */
    uint64_t expected;     /* elements that the filters are made for; 0: the larger of the two sets, which costs a
                              message */
    uint64_t seed;         /* of the hash of elements; XXH3 is not cryptographic: keep the seed secret if strangers
                              choose elements */
} roost_gossip_config;

/*
 * Returns the default configuration: ROOST_ROUND_MAPPING, 50 %, sizes by the sets, the default seed. The id is 0 and
 * must be set.
 */
ROOST_API roost_gossip_config roost_gossip_config_default(void);

/*
 * Makes a participant with an empty set. The memory limit of the environment holds for the set and for each message
 * that is made. On failure `*gossip` is NULL.
 *
 * Errors: ROOST_INVALID where the configuration makes no sense.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_gossip_new(roost_gossip **gossip, const roost_gossip_config *config,
                                                         const roost_environment *environment);

/* Frees a participant and its elements. NULL is fine. */
ROOST_API void roost_gossip_free(roost_gossip *gossip);

/* Adds an element, which is copied. `*changed` (may be NULL) tells whether it is new. */
ROOST_API ROOST_MUST_CHECK roost_status roost_gossip_add(roost_gossip *gossip, bool *changed, const void *element,
                                                         size_t size);

/* Returns whether the set contains an element; exact. */
ROOST_API bool roost_gossip_contains(const roost_gossip *gossip, const void *element, size_t size);

/* Returns how many elements the set has. */
ROOST_API uint64_t roost_gossip_get_cardinality(const roost_gossip *gossip);

/*
 * Returns element `number` in the order of arrival, from 0 to one below roost_gossip_get_cardinality. The bytes belong
 * to the set and live as long as it does.
 */
ROOST_API roost_bytes roost_gossip_get_element(const roost_gossip *gossip, uint64_t number);

/*
 * Makes the first message of a contact with `peer`, the id of the other participant; the caller releases it. `round`
 * matters to ROOST_ROUND_MAPPING: a counter, or any number that was not used before.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_gossip_begin(const roost_gossip *gossip, roost_buffer *message,
                                                           uint64_t peer, uint64_t round);

/*
 * Takes a message and makes the reply, which the caller releases and which is empty when the contact is over. `*learnt`
 * (may be NULL) is how many elements were new.
 *
 * Errors: ROOST_CORRUPT for bytes that are no message, or a message for another participant. After any failure the set
 * is as before.
 */
ROOST_API ROOST_MUST_CHECK roost_status roost_gossip_receive(roost_gossip *gossip, roost_buffer *reply,
                                                             uint64_t *learnt, const void *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
