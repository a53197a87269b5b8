/*
 * Agreement of all regions that they have received each other's tombstones, so that old ones can be dropped; and the
 * decision which regions may be merged at all.
 */
#ifndef LINK_TOMBSTONE_AGREEMENT_H
#define LINK_TOMBSTONE_AGREEMENT_H

#include <stdbool.h>

struct engine;
struct listener;
struct redisReply;

/* Takes the reply to HELLO; false if it is invalid. */
bool agree_take_greeting(struct listener *listener, const struct redisReply *reply);
/* To be called now and then: begins or ends a round of agreement, or reports that a region is away. */
void agree_tick(struct engine *engine);
void agree_end(struct engine *engine);

#endif
