/* Inside the grow-only cuckoo filter, for itself and for tests. `gcuckoo.c` has the essay. */
#ifndef CUCKOO_GCUCKOO_H
#define CUCKOO_GCUCKOO_H

#include "cuckoo_table.h"
#include "../filter/kind.h"

struct gcuckoo {
    struct roost_filter base;
    struct filter_own own;
    struct cuckoo_table table;
    uint128 sum; /* of the hashes of all class keys */
};

#endif
