/*
 * ROOST.ASK: the initiator of a sync (include/roost/sync.h) for a key. The client passes the messages between this
 * server and another one.
 *
 *     ROOST.ASK key generation         [session, request]
 *     ROOST.ASK key session reply      [session, request], and at the end [session, null, equal, digest, cursor]
 *
 * The client sends a request to the other server with `ROOST.SYNC key request GENERATION generation`, and its answer
 * back as the reply. A session ends with its value, or a minute after its last message. Four are kept per key; another
 * one replaces the oldest.
 */
#ifndef MODULE_COMMAND_ASK_H
#define MODULE_COMMAND_ASK_H

#include "module/value/value.h"

int ask_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/* Ends the sessions of a filter that is freed, and keeps the memory of a filter with sessions from being moved. */
extern const struct value_observer sync_sessions_observer;
void sync_sessions_end(void);

#endif
