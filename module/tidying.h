/* Commands that need the digest of a filter, when a lot of it has changed. */
#ifndef MODULE_TIDYING_H
#define MODULE_TIDYING_H

#include "target.h"

/* Does some of the work at once; whether there is so much more that the client should wait for it. */
bool digest_is_long(struct target *target);

/* Answers as ROOST.DIGEST, or to a message as ROOST.SYNC, when the rest is done. The target is closed. Only where
   can_wait(). */
int digest_in_steps(struct target *target);
int sync_in_steps(struct target *target, RedisModuleString *message);

/* The reply of ROOST.SYNC to one message. A message that makes no sense gets an answer that says so, in the language of
   sync. */
int reply_sync(RedisModuleCtx *ctx, const void *reply, size_t size, roost_status status);

#endif
