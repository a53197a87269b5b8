/* How large the experiments are. */
#ifndef EVAL_SCALE_H
#define EVAL_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_REPEATS   5
#define MOST_INTERVALS 5

struct scale {
    const char *name;
    size_t keys, fresh_keys; /* of the workloads of adds alone */
    unsigned repeats;
    unsigned intervals; /* merge every `first_interval`, ten times that, ... operations */
    uint64_t first_interval;
    size_t series_fresh_keys; /* of the same workloads for filters that grow */
    unsigned series_repeats;
    size_t healing;    /* elements of a partition that heals; up to twice as many */
    size_t removes;    /* from a filter that has grown */
    size_t operations; /* of the workloads with removes */
    unsigned operation_repeats;
    unsigned picks;    /* trials of removes of colliding elements */
    unsigned networks; /* that gossip */
    size_t roots;      /* distinct elements of a multiset */
    unsigned root_repeats;
    unsigned bit_trials;    /* of tables with and without a differentiated bit */
    unsigned largest_table; /* of counting cuckoo filters: 2^ so many buckets */
    unsigned counted;       /* operations of the counters in processes of their own */
    unsigned days;          /* of the simulated counters */
    unsigned at_once;       /* repeats that run side by side, of the workloads of adds alone */
    uint64_t rare_probes;   /* of a window that seldom errs, at most */
    bool says_where_it_is;  /* on stderr */
    bool gzips;             /* all frames of Table 6.2 and plain sets; otherwise some frames alone */
    bool sample;            /* a few rows of the tables, to be compared with those of a full run; no claims */
};

#endif
