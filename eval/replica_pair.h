/* One cell of an experiment: two replicas share a workload, merge as a schedule says, and are then examined. */
#ifndef EVAL_REPLICA_PAIR_H
#define EVAL_REPLICA_PAIR_H

#include <stdbool.h>

#include "roost.h"
#include "workload.h"

#define ALL_LOCAL       100
#define ONLY_AT_THE_END 0

struct schedule {
    unsigned first_share; /* per cent of the operations that are the first replica's */
    uint64_t sync_every;  /* operations, counted over both replicas; a last merge follows in any case */
};

struct outcome {
    uint64_t added;           /* elements: adds that were taken, by either replica */
    uint64_t lookups;         /* of elements that were added */
    uint64_t false_negatives; /* among these, at either replica */
    bool replicas_agree;      /* equal digests after the last merge */
    bool frame_returns;       /* decoding the frame gives an equal filter, and both pass their check */
    double fpr;               /* measured on the fresh keys of the workload */
    uint64_t frame_bytes;
    roost_digest digest;
    roost_info info;
};

struct outcome replica_pair_run(const roost_config *config, const struct workload *workload, struct schedule schedule);

#endif
