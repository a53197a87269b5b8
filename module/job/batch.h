/*
 * Commands with many items. A batch is executed in slices of at most BATCH_SLICE items. If it takes longer than a time
 * slice, it continues as a job (job.h), and its client waits. Each slice is a change of its own and is replicated as
 * such: to other clients and to replicas it looks as if the items had come in several commands.
 */
#ifndef MODULE_JOB_BATCH_H
#define MODULE_JOB_BATCH_H

#include "module/key/target.h"

#define BATCH_SLICE 256

struct batch_items {
    RedisModuleString **items;
    int *results; /* one per item; the command decides what they mean */
    size_t count;
};

struct batch_verb {
    /* Applies a slice, and sends events; *done items have results. If these are not all, the batch ends, and the status
       says why. */
    roost_status (*apply)(struct target *target, size_t *done, struct batch_items items);
    /* All results so far; the status of the last slice; NULL or the error of that status. */
    int (*reply)(RedisModuleCtx *ctx, const int *results, size_t done, roost_status status, const char *error);
    const char *(*error)(const struct target *target, roost_status status);
};

/* The target is open for writing and has a filter; batch_run closes it. The items are arguments of the command. */
int batch_run(struct target *target, const struct batch_verb *verb, RedisModuleString **items, size_t count);

/* Reads the bytes of the items of a slice; sets booleans as results. */
void batch_keys(const struct batch_items *items, roost_bytes keys[BATCH_SLICE]);
void batch_results(const struct batch_items *items, const bool *changed, size_t count);

/* For commands that reply with booleans: additions, up to the first that is refused. */
roost_status batch_add(struct target *target, size_t *done, struct batch_items items, const char *event);
int batch_reply_booleans(RedisModuleCtx *ctx, const int *results, size_t done, roost_status status, const char *error);

#endif
