/*
 * Replies in both protocols. Booleans and maps of RESP3 are integers and flat arrays in RESP2; the calls of the server
 * translate them. All error texts that client libraries know are here.
 */
#ifndef MODULE_BASE_REPLIES_H
#define MODULE_BASE_REPLIES_H

#include "server.h"

#define ERROR_NOT_FOUND "ERR not found"
#define ERROR_EXISTS    "ERR item exists"
#define ERROR_MEMORY    "ERR Insufficient memory: the filter would pass roost.memory-limit"
#define ERROR_MAXMEMORY "OOM command not allowed when used memory > 'maxmemory'."
#define ERROR_STAGED    "ERR the value is not loaded completely yet"
#define ERROR_UNKNOWN   "Unknown argument received"
#define ERROR_BAD_DATA  "ERR received bad data"
#define ERROR_RESERVED                                                                                                 \
    "ERR keys roost:generations and roost:links are reserved for tombstones and links, and those for such keys"
#define ERROR_BF_FULL      "ERR non scaling filter is full"
#define ERROR_CF_FULL      "Filter is full"
#define ERROR_CF_EXPANSION "Maximum expansions reached"

static inline void reply_map_begin(RedisModuleCtx *ctx, long pairs)
{
    RedisModule_ReplyWithMap(ctx, pairs);
}

static inline void reply_name(RedisModuleCtx *ctx, const char *name)
{
    RedisModule_ReplyWithSimpleString(ctx, name);
}

static inline void reply_number_pair(RedisModuleCtx *ctx, const char *name, long long number)
{
    reply_name(ctx, name);
    RedisModule_ReplyWithLongLong(ctx, number);
}

static inline void reply_text_pair(RedisModuleCtx *ctx, const char *name, const char *text)
{
    reply_name(ctx, name);
    RedisModule_ReplyWithCString(ctx, text);
}

static inline int reply_ok(RedisModuleCtx *ctx)
{
    return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

/* An array of booleans. An error, if it is not NULL, is its last element. */
int reply_booleans(RedisModuleCtx *ctx, const bool *booleans, size_t count);
int reply_booleans_until(RedisModuleCtx *ctx, const bool *booleans, size_t done, const char *error);
/* ERROR_MEMORY, which is counted. */
const char *memory_error(void);
/* "ERR " and the text of the library. */
int reply_status(RedisModuleCtx *ctx, roost_status status);

#endif
