/*
 * Two hosts make their multisets equal, in two rounds of messages: ccf-query and ccf-decode. `multiset_exchange.c` has
 * the essay; the caller transports the messages.
 */
#ifndef RECONCILE_MULTISET_EXCHANGE_H
#define RECONCILE_MULTISET_EXCHANGE_H

#include "roost/multiset.h"

/* A distinct element, and how often the host has it: 1 to ROOST_MOST_COPIES. */
struct multiset_member {
    roost_bytes element;
    uint64_t count;
};

struct multiset_exchange;

/* Called for each element of which the host is to have at least so many copies, and now has fewer or none. */
typedef void multiset_lack(void *context, roost_bytes element, uint64_t count);

/*
 * The members are the caller's and must stay until the end; no element is there twice. Both hosts need the same
 * configuration, a counting cuckoo filter: its capacity is best the larger number of members. On failure *exchange is
 * NULL.
 */
roost_status multiset_exchange_open(struct multiset_exchange **exchange, const roost_multiset_config *config,
                                    const struct multiset_member *members, size_t count, roost_identification method,
                                    const roost_environment *environment);
void multiset_exchange_close(struct multiset_exchange *exchange); /* NULL is fine */

/* Round one: what the other host gets first. */
roost_status multiset_exchange_offer(struct multiset_exchange *exchange, roost_buffer *message);

/*
 * Takes the other's offer, reports own elements of which it has more, and makes the message of round two. A failure
 * (ROOST_MISMATCH for another configuration, or what is wrong with the bytes) reports nothing, and the exchange is as
 * before.
 */
roost_status multiset_exchange_identify(struct multiset_exchange *exchange, roost_buffer *message, multiset_lack *lack,
                                        void *context, const void *offer, size_t size);

/* Round two: takes what the other sent and reports those elements, which may be own ones too. ROOST_INVALID before the
   other's offer was taken; ROOST_CORRUPT, with nothing reported, for bytes that belong to no such exchange. */
roost_status multiset_exchange_finish(struct multiset_exchange *exchange, multiset_lack *lack, void *context,
                                      const void *message, size_t size);

#endif
