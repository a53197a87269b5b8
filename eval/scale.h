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
    size_t operations; /* of the workloads with removes */
    unsigned operation_repeats;
    unsigned counted; /* operations of the counters in processes of their own */
    unsigned days;    /* of the simulated counters */
    bool says_where_it_is; /* on stderr */
};

#endif
