/* Slots of a cluster. */
#ifndef MODULE_REGISTRY_SLOTS_H
#define MODULE_REGISTRY_SLOTS_H

#include "module/base/server.h"

#define SLOTS 16384

/* Of a key, or of the part of it that is in braces. */
unsigned slot_of(const char *key, size_t size);
/* A number whose digits hash to the slot. */
unsigned slot_tag(unsigned slot);
/* A slot that this server serves and that is not on its way to another node; SLOTS: there is none. */
unsigned slot_that_stays(RedisModuleCtx *ctx);
/* Whether this server serves the slot, or is just taking it over. */
bool slot_is_ours(RedisModuleCtx *ctx, unsigned slot);
/* Whether it also keeps the slot. What is created in a slot that leaves may stay behind when the rest has moved: then
   it is lost, or the slot cannot be moved. */
bool slot_takes_new_keys(RedisModuleCtx *ctx, unsigned slot);

#endif
