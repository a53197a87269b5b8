/* ROOST.SEEN and ROOST.MSEEN (windows), ROOST.INCR and ROOST.GET (counters). */
#ifndef MODULE_WINDOW_H
#define MODULE_WINDOW_H

#include "server.h"

/* ROOST.SEEN key id [WINDOW ms] */
int seen_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
/* ROOST.MSEEN key id... */
int mseen_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
/* ROOST.INCR key id amount */
int incr_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
/* ROOST.GET key */
int get_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
