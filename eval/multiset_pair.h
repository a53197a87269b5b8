/* Two hosts with multisets that have much in common, and how alike they are after a synchronisation. */
#ifndef EVAL_MULTISET_PAIR_H
#define EVAL_MULTISET_PAIR_H

#include <stddef.h>
#include <stdint.h>

#include "roost.h"

/* Elements below `common` are the same in both, those from there on each host's own. */
struct multiset_pair {
    roost_copies *sides[2];
    size_t roots, common;
};

void multiset_pair_draw(struct multiset_pair *pair, uint64_t seed, size_t roots);
void multiset_pair_release(struct multiset_pair *pair);

/* One multiset of a side; false where a counter is too narrow, and then there is none. */
bool multiset_of_side(roost_multiset **multiset, const struct multiset_pair *pair, int side,
                      const roost_multiset_config *config, uint32_t kicks);

enum pair_method { PAIR_QUERY, PAIR_DECODING, PAIR_QUERY_AS_PRINTED, PAIR_METHODS };

/* Both hosts identify and exchange what differs; the part that is then common of all that they hold. Seconds of the
   identification alone are added to *seconds. */
double accuracy_after_sync(const struct multiset_pair *pair, roost_multiset *const multisets[2],
                           enum pair_method method, double *seconds);

double seconds_now(void);

#endif
