/*
 * Commands about many items. A batch is worked off in slices; one that takes longer than a turn goes on as a job
 * (steps.h), and its client waits. Each slice is a change of its own, told as such: to those who look between two of
 * them, and to replicas, it is as if the items had come in several commands.
 */
#ifndef MODULE_JOB_BATCH_H
#define MODULE_JOB_BATCH_H
#include "module/key/target.h"

#define BATCH_SLICE 256

struct batch_items {
    RedisModuleString **items;
    int *results; /* one an item; what they mean is the command's business */
    size_t count;
};

struct batch_verb {
    /* Some items; *done is how many have results. Where that is not all, the batch ends, and the status says why. Tells
       of events. */
    roost_status (*apply)(struct target *target, size_t *done, struct batch_items items);
    /* All results so far; the status is that of the last slice, the error NULL or what the status means. */
    int (*reply)(RedisModuleCtx *ctx, const int *results, size_t done, roost_status status, const char *error);
    const char *(*error)(const struct target *target, roost_status status);
};

/* The target is opened for writing and has a filter; it is closed. The items are arguments of the command. */
int batch_run(struct target *target, const struct batch_verb *verb, RedisModuleString **items, size_t count);

/* The bytes of the items of a slice; booleans as results. */
void batch_keys(const struct batch_items *items, roost_bytes keys[BATCH_SLICE]);
void batch_results(const struct batch_items *items, const bool *changed, size_t count);

/* For verbs that answer with booleans: additions, which end where one is refused. */
roost_status batch_add(struct target *target, size_t *done, struct batch_items items, const char *event);
int batch_reply_booleans(RedisModuleCtx *ctx, const int *results, size_t done, roost_status status, const char *error);

#endif
