/* ROOST.DELTA: the changes since a cursor. ROOST.DIGEST: equal for equal filters. */
#ifndef MODULE_COMMAND_DELTA_H
#define MODULE_COMMAND_DELTA_H

#include "module/base/server.h"

int delta_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int digest_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
