/*
 * ROOST.PULL and ROOST.PUSH: how `roost link` carries what a key holds from one deployment to another.
 *
 * What a key holds is a pair: a generation, and a value or nothing. A higher generation wins over a lower one, whatever
 * it holds. At equal generations values merge, and nothing is less than any value. So pairs form a lattice: they may be
 * carried in any order, and more than once.
 *
 *     ROOST.PULL key cursor [from-to ...]    [generation, cursor, digest, frame]
 *     ROOST.PUSH key generation frame        [outcome, generation, digest, from, to]
 */
#ifndef MODULE_COMMAND_PULL_PUSH_H
#define MODULE_COMMAND_PULL_PUSH_H

#include "module/base/server.h"

int pull_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
int push_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
