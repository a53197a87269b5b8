/* Commands that need the digest of a filter, which is long to compute when a lot of it has changed. */
#ifndef MODULE_JOB_DIGEST_JOB_H
#define MODULE_JOB_DIGEST_JOB_H
#include "module/key/target.h"

/* What such a command does, and how it answers: the one may come a while before the other. */
struct digest_verb {
    size_t size; /* of the outcome: all zero when it is handed to `act` */
    int mode;    /* in which the key is opened */
    void (*act)(struct target *target, void *outcome, RedisModuleString **argv, int argc);
    int (*reply)(RedisModuleCtx *ctx, const void *outcome);
    void (*release)(void *outcome); /* NULL: it has nothing of its own */
};

/* Bytes of an outcome: a copy, since the buffer belongs to a filter that may go away before they are told; the buffer
   is released. NULL: there are none. */
RedisModuleString *outcome_bytes(roost_buffer *buffer);
void outcome_release(RedisModuleString *bytes);

/* At once, or where the digest is long to compute, and the client can wait, when that is done. The target has a filter
   and was opened in the verb's mode; it is closed. */
int digest_run(struct target *target, const struct digest_verb *verb, RedisModuleString **argv, int argc);

/* Does some of the work; whether there is so much more that the client should wait for it. In a step of a job: whether
   there is more. */
bool digest_is_long(struct target *target);
bool digest_step(struct target *target);

#endif
