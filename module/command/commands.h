/* The tables of commands: bf.c, cf.c and roost.c have one each; load.c registers them. */
#ifndef MODULE_COMMAND_COMMANDS_H
#define MODULE_COMMAND_COMMANDS_H

#include "module/base/server.h"

enum keys { NO_KEY, ONE_KEY, FIRST_AND_THIRD, KEYS_FROM_FIRST };

struct command {
    const char *name;
    RedisModuleCmdFunc function;
    const char *flags; /* "write deny-oom fast" and the like */
    enum keys keys;
    int arity;
    const char *summary, *complexity;
    const char *syntax; /* of the arguments; syntax.h */
};

extern const struct command bf_commands[], cf_commands[], roost_commands[]; /* each ends with a NULL name */

#endif
