/* ROOST.GENERATION key generation holder [time [RAISE]]: a tombstone, from a primary or the AOF. */
#ifndef MODULE_COMMAND_GENERATION_H
#define MODULE_COMMAND_GENERATION_H

#include "module/base/server.h"

int generation_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
