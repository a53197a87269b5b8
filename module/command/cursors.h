/* Cursors and digests as arguments and replies. The text of a cursor is two hexadecimal numbers with a hyphen between
   them; 0 is the beginning. A cursor is valid for one key of one server until the server stops. */
#ifndef MODULE_COMMAND_CURSORS_H
#define MODULE_COMMAND_CURSORS_H

#include "module/base/server.h"

bool read_cursor(roost_cursor *cursor, const RedisModuleString *argument);
int reply_cursor(RedisModuleCtx *ctx, roost_cursor cursor);
int reply_digest(RedisModuleCtx *ctx, roost_digest digest);

#endif
