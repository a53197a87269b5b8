#ifndef MODULE_COMMAND_CREATE_H
#define MODULE_COMMAND_CREATE_H

#include "module/base/server.h"

/* ROOST.CREATE key [option value]... */
int create_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/* The words of these options; "none" if a kind has no layout or schedule. */
const char *kind_word(roost_kind kind);
const char *layout_word(roost_layout layout);
const char *schedule_word(roost_schedule schedule);
const char *semantics_word(roost_semantics semantics);

#endif
