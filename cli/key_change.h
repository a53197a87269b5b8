/* Keys into a filter or out of it: what add and remove have in common. */
#ifndef CLI_KEY_CHANGE_H
#define CLI_KEY_CHANGE_H

#include "cli/base/options.h"
#include "roost.h"

struct key_change {
    /* Whether it can be done to this filter at all, before any key is read; NULL: always. Complains where it cannot. */
    bool (*is_possible)(const char *name, const roost_filter *filter);
    /* Does it to these keys and tells which made a difference. Complains where it cannot. */
    bool (*apply)(const char *name, roost_filter *filter, bool *changed, const roost_bytes *keys, size_t count);
    const char *effect;    /* what a report calls a key that made a difference */
    const char *no_effect; /* and one that did not; NULL: not worth a word */
    bool renews;           /* even without effect, a key leaves something to be kept in an observed-remove filter */
    bool adds;             /* says so where the filter holds more than it was made for by then */
    bool verbose, json;
};

/* Keys as in keys.h, from the second operand on, to the filter in the first; all of them or none. Answers an exit
 * status. */
int change_keys(const struct key_change *change, const struct arguments *arguments);

#endif
