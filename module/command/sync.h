/* ROOST.SYNC: the responder of a sync (include/roost/sync.h). ask.h has the initiator. */
#ifndef MODULE_COMMAND_SYNC_H
#define MODULE_COMMAND_SYNC_H

#include "module/base/server.h"

int sync_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
