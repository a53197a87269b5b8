/* ROOST.DUMP and ROOST.RESTORE: a value in chunks. dumps.h and load_chunk.h do the work, also for BF.* and CF.*. */
#ifndef MODULE_COMMAND_DUMP_RESTORE_H
#define MODULE_COMMAND_DUMP_RESTORE_H

#include "module/base/server.h"

int dump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int restore_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
