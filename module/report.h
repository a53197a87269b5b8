/* What a filter is (ROOST.INFO), and what the module does (INFO roost). */
#ifndef MODULE_REPORT_H
#define MODULE_REPORT_H

#include "server.h"

int info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int report_register(RedisModuleCtx *ctx);

#endif
