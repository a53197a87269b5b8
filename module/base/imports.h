/*
 * Whether slots of a cluster are on their way here as a whole. What the other node sends is not refused for its size:
 * Redis 8.4 and later take no notice of a refusal, and the value would be lost with the slot.
 */
#ifndef MODULE_BASE_IMPORTS_H
#define MODULE_BASE_IMPORTS_H

#include "server.h"

/* Servers without such moves have no event for them. */
void imports_watch(RedisModuleCtx *ctx);
bool is_importing(void);
/* How many are under way, for INFO. */
unsigned slot_imports(void);

#endif
