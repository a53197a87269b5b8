/* Incremental merges of large frames and of large filters. */
#ifndef MODULE_JOB_MERGING_H
#define MODULE_JOB_MERGING_H

#include "module/key/target.h"

/* Of a part that is merged in one step: with a sparse array each byte may touch a new page. */
#define PART_BYTES ((size_t)4 << 10)

/* The result of a merge. */
struct merged {
    const char *error; /* of the server; NULL: see the status */
    roost_status status;
    bool changed;
    /* If the state was asked for: of the end of the merge, all read at the same time. The range of the journal from
       `from` to `to` has changes of the frame only; it begins after changes that clients made between two steps. */
    uint64_t generation;
    roost_digest digest;
    roost_cursor from, to;
};

struct merge_verb {
    const char *event; /* the keyspace event, at the end */
    bool wants_state;
    int (*reply)(RedisModuleCtx *ctx, const struct merged *merged);
};

/* Whether merging the frame at once would block the server for long. The target has a filter, or its key is missing. */
bool merge_is_long(const struct target *target, roost_bytes frame);

/*
 * Merges the frame while other clients are served, and replies when it is complete. The key is missing, or its filter
 * is merged with the frame at this generation. If the filter has a lower generation, the frame replaces it. Closes the
 * target. Only if can_wait().
 */
int merge_incrementally(struct target *target, RedisModuleString *frame, uint64_t generation,
                        const struct merge_verb *verb);

/*
 * The same for filters of other keys (ROOST.MERGESTORE): they are copied while other clients are served, and the merged
 * filter is stored at the key. If the key is one of the sources, the others are merged into it. `keys` hold filters.
 * Only if can_wait().
 */
int merge_filters_incrementally(struct target *target, RedisModuleString **keys, int count,
                                const struct merge_verb *verb);

#endif
