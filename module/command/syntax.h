/*
 * The arguments of a command as a line of text, and what COMMAND DOCS shows of them (redis-cli's hints, generators of
 * clients).
 *
 *     key error:d capacity:i [EXPANSION expansion:i] [NONSCALING]
 *
 * Words in capitals are tokens; a token belongs to the argument behind it. Others are names of arguments, with a type:
 * `:i` an integer, `:d` a double, `:k` a key (`key` is one, too), else a string. `a|b` is one of several words.
 * `name...` may come several times. What is in brackets may be left out; brackets may hold a token, an argument, or
 * several.
 */
#ifndef MODULE_COMMAND_SYNTAX_H
#define MODULE_COMMAND_SYNTAX_H

#include "module/base/server.h"

/* An array for RedisModuleCommandInfo, in memory of the context. */
RedisModuleCommandArg *syntax_arguments(RedisModuleCtx *ctx, const char *syntax);

#endif
