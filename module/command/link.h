/* ROOST.LINK: the messages of a link to a region. */
#ifndef MODULE_COMMAND_LINK_H
#define MODULE_COMMAND_LINK_H

#include "module/base/server.h"

int link_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
