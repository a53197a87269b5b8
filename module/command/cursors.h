/* Cursors and digests as arguments and replies. A cursor is written as two numbers in hexadecimal with a hyphen between
   them; 0 means "nothing so far". It is good for one key of one server as long as that runs. */
#ifndef MODULE_COMMAND_CURSORS_H
#define MODULE_COMMAND_CURSORS_H
#include "module/base/server.h"

bool read_cursor(roost_cursor *cursor, const RedisModuleString *argument);
int reply_cursor(RedisModuleCtx *ctx, roost_cursor cursor);
int reply_digest(RedisModuleCtx *ctx, roost_digest digest);

#endif
