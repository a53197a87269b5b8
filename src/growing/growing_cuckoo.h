/* The scalable cuckoo filter as one set of hash prefixes. `growing_cuckoo.c` has the essay. */
#ifndef GROWING_GROWING_CUCKOO_H
#define GROWING_GROWING_CUCKOO_H

#include "prefix_set.h"
#include "shared.h"

/* Small: servers have many of them. */
struct growing_cuckoo {
    struct roost_filter base; /* slim: `config` and `environment` are those of a struct shared */
    struct prefix_set set;
    uint8_t length;    /* of the prefixes that are added at present; MOST_LENGTH + 1: it is full */
    bool keeps_shared; /* for itself alone */
};

static inline const struct shared *shared_of(const struct growing_cuckoo *growing)
{
    return shared_of_filter(&growing->base);
}

/*
 * For filters that threads share (../concurrent): an empty filter for the hashes that have some first bits in common,
 * without these bits; and one of prefixes in order, about so many, none of which covers another. On failure
 * `*filter` is NULL.
 */
roost_status growing_cuckoo_open_part(roost_filter **filter, const roost_filter *alike, uint8_t cut);
roost_status growing_cuckoo_from(roost_filter **filter, const roost_filter *alike, uint64_t count, next_prefix *next,
                                 void *context);

extern const struct filter_kind growing_cuckoo_kind;

#endif
