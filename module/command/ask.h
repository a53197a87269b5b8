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
#include "module/value/value.h"

int ask_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/* Ends the sessions of a filter that is freed, and keeps the memory of a filter with sessions from being moved. */
extern const struct value_observer sync_sessions_observer;
void sync_sessions_end(void);

#endif
