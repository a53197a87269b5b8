/* One cell of an experiment: two replicas share a workload, merge as a schedule says, and are then examined. */
#ifndef EVAL_REPLICA_PAIR_H
#define EVAL_REPLICA_PAIR_H

#include <stdbool.h>

#include "roost.h"
#include "script.h"
#include "workload.h"

#define ALL_LOCAL       100
#define ONLY_AT_THE_END 0

struct schedule {
    unsigned first_share; /* per cent of the operations that are the first replica's */
    uint64_t sync_every;  /* operations, counted over both replicas; a last merge follows in any case */
    bool is_in_table;     /* a cell of Table 6.1, whose frame is also gzipped */
};

/* How operations are dealt. */
bool is_first_replicas(uint64_t operation, unsigned first_share);

struct outcome {
    uint64_t elements;        /* adds that were taken, by either replica, less removes */
    uint64_t lookups;         /* of these elements */
    uint64_t false_negatives; /* among these look-ups, at either replica */
    uint64_t removed;         /* elements that were added and removed again */
    uint64_t idle_removes;    /* removes that found nothing */
    uint64_t still_reported;  /* removed elements that the filter reports, as it does any other key now and then */
    bool holds_copies;        /* elements of one class are held apart */
    uint32_t buckets;         /* of the table that it was made with; a merge that needs more room makes more of them */
    bool replicas_agree;      /* equal digests after the last merge */
    bool frame_returns;       /* decoding the frame gives an equal filter, and both pass their check */
    double fpr;               /* measured on the fresh keys of the workload */
    uint64_t frame_bytes;
    uint64_t gzip_bytes; /* of the frame after gzip; 0: not measured */
    roost_digest digest;
    roost_info info;
};

/* Adds all keys of the workload. */
struct outcome replica_pair_run(const roost_config *config, const struct workload *workload, struct schedule schedule);

/* Each replica follows its script, then they merge. `gzips`: also measure the frame after gzip. */
struct outcome replica_pair_play(const roost_config *config, const struct workload *workload,
                                 const struct script scripts[2], bool gzips);

#endif
