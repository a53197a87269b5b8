/* Reading the arguments of commands. */
#ifndef MODULE_BASE_ARGUMENTS_H
#define MODULE_BASE_ARGUMENTS_H

#include "server.h"

/* Ignores the case of letters. */
bool argument_is(const RedisModuleString *argument, const char *word);
/* The index of the word in the list, which ends with NULL; -1: not in it. */
int argument_among(const RedisModuleString *argument, const char *const *words);

/* A whole number in the range. */
bool argument_number(const RedisModuleString *argument, long long *number, long long least, long long most);
/* Above 0 and below 1. */
enum rate_argument { RATE_BAD, RATE_GOOD, RATE_OUT_OF_RANGE };
enum rate_argument argument_rate(const RedisModuleString *argument, double *rate);

/* An argument that a thread reads, until it is freed on the main thread. */
RedisModuleString *hold_for_thread(RedisModuleString *argument);

/* The bytes of arguments; booleans that are false. Both are allocated from the pool of the command. */
roost_bytes *argument_keys(RedisModuleCtx *ctx, RedisModuleString **argv, size_t count);
bool *pool_booleans(RedisModuleCtx *ctx, size_t count);

static inline roost_bytes argument_bytes(const RedisModuleString *argument)
{
    roost_bytes bytes;
    bytes.data = RedisModule_StringPtrLen(argument, &bytes.size);
    return bytes;
}

#endif
