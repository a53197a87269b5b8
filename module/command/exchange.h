/* The commands by which filters pass between keys, servers and deployments. */
#ifndef MODULE_COMMAND_EXCHANGE_H
#define MODULE_COMMAND_EXCHANGE_H
#include "module/base/server.h"

int merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int mergestore_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int delta_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int digest_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int dump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int restore_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int sync_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int identity_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
