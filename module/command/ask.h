/*
 * ROOST.ASK: the initiator of a sync (include/roost/sync.h) for a key. The client passes the messages between this
 * server and another one.
 *
 *     ROOST.ASK key generation         [session, request]
 *     ROOST.ASK key session reply      [session, request], and at the end [session, null, equal, digest, cursor]
 *
 * The client sends a request to the other server with `ROOST.SYNC key request GENERATION generation`, and its answer
 * back as the reply. Sessions: sync_sessions.h.
 */
#ifndef MODULE_COMMAND_ASK_H
#define MODULE_COMMAND_ASK_H

#include "module/base/server.h"

int ask_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
