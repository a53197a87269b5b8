/*
 * What regions agree on, so that tombstones need not be kept for ever; and which regions may be merged at all.
 */
#ifndef LINK_AGREE_H
#define LINK_AGREE_H

#include <stdbool.h>

struct engine;
struct listener;
struct redisReply;

/* The answer to a greeting; false if it is none. */
bool agree_take_greeting(struct listener *listener, const struct redisReply *reply);
/* Now and then: all regions have all tombstones, or some region is away. */
void agree_tick(struct engine *engine);
void agree_end(struct engine *engine);

#endif
