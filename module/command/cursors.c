/* See cursors.h. */
#include "cursors.h"

#include <stdio.h>

#include "module/base/arguments.h"

bool read_cursor(roost_cursor *cursor, const RedisModuleString *argument)
{
    unsigned long long incarnation, sequence;
    char rest;
    *cursor = (roost_cursor){0, 0};
    if (argument_is(argument, "0"))
        return true;
    if (sscanf(RedisModule_StringPtrLen(argument, NULL), "%llx-%llx%c", &incarnation, &sequence, &rest) != 2)
        return false;
    *cursor = (roost_cursor){incarnation, sequence};
    return true;
}

int reply_cursor(RedisModuleCtx *ctx, roost_cursor cursor)
{
    char text[40];
    snprintf(text, sizeof text, "%llx-%llx", (unsigned long long)cursor.incarnation,
             (unsigned long long)cursor.sequence);
    return RedisModule_ReplyWithCString(ctx, text);
}

int reply_digest(RedisModuleCtx *ctx, roost_digest digest)
{
    char text[33];
    roost_digest_text(digest, text);
    return RedisModule_ReplyWithStringBuffer(ctx, text, 32);
}
