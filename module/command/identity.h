/* ROOST.IDENTITY key number: the identity of a filter, from a primary or the AOF. */
#ifndef MODULE_COMMAND_IDENTITY_H
#define MODULE_COMMAND_IDENTITY_H

#include "module/base/server.h"

int identity_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
