/*
 * ROOST.ASK: the asking side of a sync (include/roost/sync.h) for a key, carried on by whoever passes messages between
 * this server and another one.
 *
 *     ROOST.ASK key generation         [session, request]
 *     ROOST.ASK key session reply      [session, request], and at the end [session, null, equal, digest, cursor]
 *
 * A request is for `ROOST.SYNC key request GENERATION generation` on the other server, whose answer is the reply.
 * A session lives with the value, a minute from its last message; a few are kept, the oldest goes for another one.
 */
#ifndef MODULE_COMMAND_ASK_H
#define MODULE_COMMAND_ASK_H

#include "module/value/filter_value.h"

int ask_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/* The filter is about to be freed, on any thread. */
void sync_sessions_forget(const struct filter_value *filter);
void sync_sessions_end(void);
/* Whether there are sessions about it. */
bool sync_sessions_use(const struct filter_value *filter);

#endif
