#ifndef MODULE_CREATE_H
#define MODULE_CREATE_H

#include "server.h"

/* ROOST.CREATE key [option value]... */
int create_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

const char *kind_word(roost_kind kind);

#endif
