/* Slots of a cluster. */
#ifndef MODULE_REGISTRY_SLOTS_H
#define MODULE_REGISTRY_SLOTS_H

#include "module/base/server.h"

#define SLOTS 16384

/* Of a key, or of the part of it that is in braces. */
unsigned slot_of(const char *key, size_t size);
/* A number whose digits hash to the slot. */
unsigned slot_tag(unsigned slot);
/* A slot that this server serves; 0 if it serves none. */
unsigned slot_of_ours(RedisModuleCtx *ctx);
/* Whether there is any. */
bool has_slots(RedisModuleCtx *ctx);
/* Whether this server serves the slot, or is just taking it over. */
bool slot_is_ours(RedisModuleCtx *ctx, unsigned slot);

#endif
