/* Digest precomputation: commands that need the digest of a filter, which takes long if much of it has changed. */
#ifndef MODULE_JOB_DIGEST_JOB_H
#define MODULE_JOB_DIGEST_JOB_H

#include "module/key/target.h"

/* What such a command does, and how it replies, which may be later. */
struct digest_verb {
    size_t size; /* of the outcome, which is zeroed before `act` */
    int mode;    /* for opening the key */
    void (*act)(struct target *target, void *outcome, RedisModuleString **argv, int argc);
    int (*reply)(RedisModuleCtx *ctx, const void *outcome);
    void (*release)(void *outcome); /* NULL: there is nothing to release */
};

/* A copy of the buffer for an outcome, since the filter that owns the buffer may be freed before the reply. Releases
   the buffer. NULL: it is empty. */
RedisModuleString *outcome_bytes(roost_buffer *buffer);
void outcome_release(RedisModuleString *bytes);

/* Executes the command: at once, or, if the digest takes long and the client can wait, after its precomputation. The
   target has a filter and is open in the mode of the verb; digest_run closes it. */
int digest_run(struct target *target, const struct digest_verb *verb, RedisModuleString **argv, int argc);

/* Does part of the precomputation; returns whether there is more, so that the client should wait. The second is for
   steps of jobs. */
bool digest_is_long(struct target *target);
bool digest_step(struct target *target);

#endif
