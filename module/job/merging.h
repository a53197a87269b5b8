/* Merges of large frames and of large filters, in steps. */
#ifndef MODULE_JOB_MERGING_H
#define MODULE_JOB_MERGING_H
#include "module/key/target.h"

/* What a merge has led to. */
struct merged {
    const char *error; /* of the server; NULL: see the status */
    roost_status status;
    bool changed;
    /* Where the state was asked for: of the end, all at one moment; and the span of the journal in which there is what
       the frame brought, and nothing else: it begins behind what others have changed between two steps. */
    uint64_t generation;
    roost_digest digest;
    roost_cursor from, to;
};

struct merge_verb {
    const char *event; /* of the keyspace, at the end */
    bool wants_state;
    int (*reply)(RedisModuleCtx *ctx, const struct merged *merged);
};

/* Whether taking in this frame would hold the server for long. The target has a filter, or its key is missing. */
bool merge_is_long(const struct target *target, roost_bytes frame);

/*
 * Takes in the frame while others are served, and answers when all of it is in; the target is closed. The key is
 * missing, or its filter takes the frame in at this generation; where it is at a lower one, a filter of the frame's own
 * takes its place. Only where can_wait().
 */
int merge_incrementally(struct target *target, RedisModuleString *frame, uint64_t generation,
                        const struct merge_verb *verb);

/*
 * The same for filters of other keys (ROOST.MERGESTORE): they are copied while others are served, and the key gets a
 * filter that holds what all of them do, or, where it is one of them, takes in the others. `names` are of keys that
 * hold filters. Only where can_wait().
 */
int merge_filters_incrementally(struct target *target, RedisModuleString **names, int count,
                                const struct merge_verb *verb);

#endif
