/*
 * Why a value was removed from its key, and what follows from it.
 *
 *     deleted, expired, renamed or moved away, overwritten                     the key gets a tombstone (tombstones.h)
 *     evicted                                                                  lost: other regions may bring it back
 *     MIGRATE, a slot of a cluster that goes to another node                   moved: nothing was deleted
 *     FLUSHALL, FLUSHDB                                                        lost, and the tombstones with it
 *     whatever a replica or the AOF repeats                                    decided elsewhere, and replicated
 *
 * The server calls the data type when a value is removed (`unlink`). Only after that, if at all, it tells modules the
 * reason (keyspace events). So a removal is remembered for the moment between the two.
 */
#ifndef MODULE_REGISTRY_KEY_REMOVALS_H
#define MODULE_REGISTRY_KEY_REMOVALS_H

#include "module/value/value.h"

int key_removals_begin(RedisModuleCtx *ctx);
void key_removals_end(void);

/* Sees values that are removed, and values that are written out. */
extern const struct value_observer key_removals_observer;

/* The event is about this key, in the database of the context. */
void key_removals_explain(RedisModuleCtx *ctx, const char *event, RedisModuleString *key);
/* The key is about to get another filter: what was overwritten before, in the same transaction, is deleted now. */
void key_removals_resolve(RedisModuleCtx *ctx, RedisModuleString *key);
/* The caller removed the value and knows why. */
void key_removals_forget(const RedisModuleString *key, int database);

#endif
