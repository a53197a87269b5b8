/* ROOST.MERGE: a frame into a key. ROOST.MERGESTORE: filters of several keys into one. */
#ifndef MODULE_COMMAND_MERGE_H
#define MODULE_COMMAND_MERGE_H

#include "module/base/server.h"

int merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int mergestore_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
/* From a primary or the AOF: what RedisBloom made, of one key into another. */
int mergeimported_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
