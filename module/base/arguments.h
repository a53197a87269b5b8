/* Reading the arguments of commands. */
#ifndef MODULE_BASE_ARGUMENTS_H
#define MODULE_BASE_ARGUMENTS_H
#include "server.h"

/* Whatever the case of its letters. */
bool argument_is(const RedisModuleString *argument, const char *word);
/* Which of the words, from 0 on; -1: none. The list ends with NULL. */
int argument_among(const RedisModuleString *argument, const char *const *words);

/* A whole number in the range. */
bool argument_number(const RedisModuleString *argument, long long *number, long long least, long long most);
/* A rate above 0 and below 1; 2 if it is a number but out of range, 0 if it is none. */
enum rate_argument { RATE_BAD, RATE_GOOD, RATE_OUT_OF_RANGE };
enum rate_argument argument_rate(const RedisModuleString *argument, double *rate);

/* The bytes of arguments; from the pool of the command. */
roost_bytes *argument_keys(RedisModuleCtx *ctx, RedisModuleString **argv, size_t count);
bool *pool_booleans(RedisModuleCtx *ctx, size_t count);

static inline roost_bytes argument_bytes(const RedisModuleString *argument)
{
    roost_bytes bytes;
    bytes.data = RedisModule_StringPtrLen(argument, &bytes.size);
    return bytes;
}

#endif
