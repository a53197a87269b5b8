#ifndef MODULE_COMMAND_CREATE_H
#define MODULE_COMMAND_CREATE_H

#include "module/base/server.h"

/* ROOST.CREATE key [option value]... */
int create_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

const char *kind_word(roost_kind kind);

#endif
