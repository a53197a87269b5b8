/* The scalable cuckoo filter as one table of hash prefixes. `growing_cuckoo.c` has the essay. */
#ifndef GROWING_GROWING_CUCKOO_H
#define GROWING_GROWING_CUCKOO_H

#include "budget.h"
#include "table.h"
#include "../filter/kind.h"

struct growing_cuckoo {
    struct roost_filter base;
    struct filter_own own;
    struct prefix_table table;
    uint8_t length;        /* of the prefixes that are added at present; MOST_LENGTH + 1: it is full */
    uint64_t room;         /* how many of them a writer may see before it goes on */
    uint64_t most_of_room; /* from so many on, the table prepares for the length that comes next */
    uint8_t next_length;
};

extern const struct filter_kind growing_cuckoo_kind;

#endif
