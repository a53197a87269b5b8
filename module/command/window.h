/* ROOST.SEEN and ROOST.MSEEN (windows), ROOST.INCR and ROOST.GET (counters). */
#ifndef MODULE_COMMAND_WINDOW_H
#define MODULE_COMMAND_WINDOW_H

#include "module/base/server.h"

/* ROOST.SEEN key id [WINDOW ms] */
int seen_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
/* ROOST.MSEEN key id... */
int mseen_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
/* ROOST.INCR key id amount */
int incr_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
/* ROOST.GET key */
int get_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
