/* What a filter is (ROOST.INFO), and what the module does (INFO roost). */
#ifndef MODULE_COMMAND_INFO_H
#define MODULE_COMMAND_INFO_H
#include "module/base/server.h"

int info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int report_register(RedisModuleCtx *ctx);

#endif
