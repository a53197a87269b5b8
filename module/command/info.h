/* ROOST.INFO, about a filter, and INFO roost, about the module. */
#ifndef MODULE_COMMAND_INFO_H
#define MODULE_COMMAND_INFO_H

#include "module/base/server.h"

int info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int report_register(RedisModuleCtx *ctx);

#endif
